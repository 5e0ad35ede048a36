"""blogstore in a database: wait until the worker is idle, and verify."""

import os
import time

from .server import Failure

# Functions that generate the data of the demonstration and the benchmarks.
DATASET = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'sql', 'dataset.sql')

PATIENCE = 60			# seconds until the worker has folded the last delta

# Whether deltas are left to fold. A post's counter, which stays, is a delta as
# well; its id is zero.
LEFT = "SELECT EXISTS (SELECT 1 FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000')"


def settle(server, database):
	"""Wait until the views are up to date and all counts are folded."""
	if server.sql(database, "SELECT blogstore.wait_for_views('1 hour')") != [['t']]:
		raise Failure('the views do not follow:\n' + server.end_of_log())
	limit = time.monotonic() + PATIENCE
	while server.sql(database, LEFT) == [['t']]:
		if time.monotonic() > limit:
			raise Failure('deltas are left a minute after the last write')
		time.sleep(0.1)


def verify(server, database, verdict):
	"""Compare counts, names and views with the items by blogstore.verify()."""
	verdict.checks += 1
	verdict.problems += ['verify(): ' + ' '.join(row) for row in
		server.sql(database, 'SELECT * FROM blogstore.verify() LIMIT 10')]
