"""The cost of the first request of a session."""

import re
import statistics
import time
from typing import NamedTuple

from lib.server import Failure

from .contestants import BY_NAME, fill_in
from .measure import keys_for
from .small import small_site

SESSIONS = 20
PARTITIONS = (16, 1024)
NAMES = ('get_post', 'list_feed', 'create_like')
# the others are compared with this
PLAIN = 'plain table, by its primary key'
# the cost of a session that asks for nothing
NOTHING = 'SELECT 1'

# a table as plain as can be
PLAIN_TABLE = '''
CREATE TABLE staging.plain AS SELECT post_id, title FROM staging.posts;
ALTER TABLE staging.plain ADD PRIMARY KEY (post_id);
VACUUM ANALYZE staging.plain;
'''
PLAIN_READ = "SELECT * FROM staging.plain WHERE post_id = ('0190000000007000' || :post)::uuid"

# an id that a statement makes from a number; the server has to look up an
# operator for it
MADE_ID = re.compile(r"\('([0-9a-f]+)' \|\| '([0-9]+)'\)::uuid")

# When only the server's own sessions are left, all others have reported their
# statistics.
GONE = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND backend_type = 'client backend'"
BUFFERS = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = '{}'"


class First(NamedTuple):
	"""The results for one kind of first request: buffers and ms by session."""
	buffers: list
	times: list

	def median(self):
		"""Return the median of the buffers."""
		return statistics.median(self.buffers)


def first(site, options, _workplace):
	"""Measure first requests of sessions: number of partitions -> {title:
	First}.
	"""
	found = {}
	for partitions in PARTITIONS[:1] if options.quick else PARTITIONS:
		other = small_site(site.server, f'first_{partitions}', options, ('blogstore',), (100, 500), partitions)
		other.sql(PLAIN_TABLE)
		found[partitions] = sessions(other, 3 if options.quick else SESSIONS)
		other.drop()
	return found


def sessions(site, count):
	"""Measure all kinds of first request on a site, each in sessions of its
	own.

	The cost of a session that runs no request is subtracted.
	"""
	blogstore, = site.contestants
	found = {}
	asked = [(NOTHING, NOTHING, None), (PLAIN, PLAIN_READ, None)]
	asked += [(name, blogstore.statement(BY_NAME[name]), BY_NAME[name]) for name in NAMES]
	for title, statement, request in asked:
		# The worker would read buffers while a write is measured.
		site.worker(not (request and request.writes))
		found[title] = First([], [])
		for keys in site.keys(count, 'first ' + title):
			session(site, fill_in(statement, keys_for(request, keys) if request else keys), found[title])
	nothing = found[NOTHING].median()
	for title in set(found) - {NOTHING}:
		found[title] = found[title]._replace(buffers=[buffers - nothing for buffers in found[title].buffers])
	return found


def session(site, statement, found):
	"""Run a session with one statement.

	No other session is connected, so the database's statistics are those of
	this session.
	"""
	before = counted(site)
	statement = MADE_ID.sub(r"'\1\2'::uuid", statement)
	out = site.server.psql(site.database, '-f', '-', text=f'\\timing on\n{statement.strip().rstrip(";")};\n')
	found.buffers.append(counted(site) - before)
	found.times.append(float(re.search(r'^Time: ([\d.]+) ms', out, re.M)[1]))


def counted(site):
	"""Return the buffers that sessions of the database have accessed, after
	all sessions have ended and reported.
	"""
	limit = time.monotonic() + 60
	while site.server.sql('postgres', GONE.format(site.database)) != [['0']]:
		if time.monotonic() > limit:
			raise Failure('a session does not end')
		time.sleep(0.01)
	return int(site.server.sql('postgres', BUFFERS.format(site.database))[0][0])
