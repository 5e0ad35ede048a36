"""What the first request of a session costs."""

import re
import statistics
import time
from typing import NamedTuple

from lib.server import Failure

from .contestants import BY_NAME, fill_in
from .measure import keys_for
from .small import drop, small_site

SESSIONS = 20
PARTITIONS = (16, 1024)
PLAIN = 'plain get_post'		# what the others are compared with, by title
ASKED = (('floor', 'get_post'), ('blogstore', 'get_post'), ('blogstore', 'list_feed'), ('blogstore', 'create_like'))

# an id as statements make it of a number, which has the server look up an operator and its kin
MADE_ID = re.compile(r"\('([0-9a-f]+)' \|\| '([0-9]+)'\)::uuid")

# no session but the server's own is there, so what all others have counted can be read
GONE = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND backend_type = 'client backend'"
BUFFERS = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = '{}'"


class First(NamedTuple):
	"""One kind of first request: of each session buffers, and ms of the statement."""
	buffers: list
	times: list

	def median(self):
		"""Of the buffers."""
		return statistics.median(self.buffers)


def first(site, options, _workplace):
	"""First requests of sessions: number of partitions -> {title: First}."""
	found = {}
	for partitions in PARTITIONS[:1] if options.quick else PARTITIONS:
		other = small_site(site.server, f'first_{partitions}', options, ('floor', 'blogstore'), 100, 500, partitions)
		found[partitions] = sessions(other, 3 if options.quick else SESSIONS)
		drop(other)
	return found


def sessions(site, count):
	"""Of a site: a session of nothing but SELECT 1, then all that is asked, each in as many sessions of its own."""
	by_name = {contestant.name: contestant for contestant in site.contestants}
	found = {'SELECT 1': First([], [])}
	site.worker(True)
	for _ in range(count):
		session(site, 'SELECT 1;', None, found['SELECT 1'])
	for contestant, name in ASKED:
		request = BY_NAME[name]
		site.worker(not request.writes)		# it would read for a write, meanwhile
		title = f'{"plain" if contestant == "floor" else contestant} {name}'
		found[title] = First([], [])
		for keys in site.keys(count, 'first ' + name):
			session(site, fill_in(by_name[contestant].statement(request), keys_for(request, keys)), by_name[contestant], found[title])
	return found


def session(site, statement, contestant, found):
	"""One session with one statement; all that is counted for the database meanwhile is its own."""
	before = counted(site)
	statement = MADE_ID.sub(r"'\1\2'::uuid", statement)
	options = contestant.options() if contestant else ''
	out = site.server.psql(f"dbname={site.database} options='{options}'", '-f', '-', text=f'\\timing on\n{statement}\n')
	found.buffers.append(counted(site) - before)
	found.times.append(float(re.search(r'^Time: ([\d.]+) ms', out, re.M)[1]))


def counted(site):
	"""Buffers that sessions of the database have asked for, once all have ended; a session reports them before it goes."""
	limit = time.monotonic() + 60
	while site.server.sql('postgres', GONE.format(site.database)) != [['0']]:
		if time.monotonic() > limit:
			raise Failure('a session does not end')
		time.sleep(0.01)
	return int(site.server.sql('postgres', BUFFERS.format(site.database))[0][0])
