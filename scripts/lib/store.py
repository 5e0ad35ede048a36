"""blogstore in a database: what is put into it, when it is at rest, and whether it is right."""

import os
import time

from .server import Failure

# functions that make data, of the demonstration and of all benchmarks
DATASET = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'sql', 'dataset.sql')

PATIENCE = 60			# seconds until the last delta is folded

# deltas that are to be folded; the counter of a post is one that stays
LEFT = "SELECT EXISTS (SELECT 1 FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000')"


def settle(server, database):
	"""Wait until the views show all, and counts are folded."""
	if server.sql(database, "SELECT blogstore.wait_for_views('1 hour')") != [['t']]:
		raise Failure('the views do not follow:\n' + server.end_of_log())
	limit = time.monotonic() + PATIENCE
	while server.sql(database, LEFT) == [['t']]:
		if time.monotonic() > limit:
			raise Failure('deltas are left a minute after the last write')
		time.sleep(0.1)


def verify(server, database, verdict):
	"""blogstore compares counts, names and views with its items itself."""
	verdict.checks += 1
	verdict.problems += ['verify(): ' + ' '.join(row) for row in
		server.sql(database, 'SELECT * FROM blogstore.verify() LIMIT 10')]
