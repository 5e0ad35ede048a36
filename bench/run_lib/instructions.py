"""Instructions that the server executes for a query, by valgrind's callgrind.
"""

import glob
import os
import re
import shutil
import time
from typing import NamedTuple

from lib import pgbench
from lib.server import DURABLE, WITH_WORKER, Failure, Server, say

from .contestants import BY_IDS, REQUESTS, prepare
from .measure import Runner
from .site import Site

SCALE = 0.002			# a callgrind's server is fifty times slower
# calls of two sessions; the difference is that of warm calls
SHORT, LONG = 400, 1600

SETTINGS = DURABLE + WITH_WORKER + """
autovacuum = off
max_parallel_workers_per_gather = 0
"""


class Counted(NamedTuple):
	"""The results for a query: contestant's name -> instructions of a call."""
	floor: float
	blogstore: float

	@property
	def ratio(self):
		"""Return the floor's instructions relative to blogstore's."""
		return self.floor / self.blogstore


def instructions(site, options, workplace):
	"""Measure the instructions of warm calls: request's name -> Counted.

	Return None if valgrind is not installed.
	"""
	valgrind = shutil.which('valgrind')
	if valgrind is None:
		say('instructions are not counted: valgrind is not installed')
		return None
	server = Server(site.server.installation, workplace, 'callgrind', SETTINGS.format(buffers=128))
	server.start()
	small = type(options)(**{**vars(options), 'quick': True})
	other = Site(server, 'counted', 0.0005 if options.quick else SCALE, small, ['floor', 'blogstore'])
	other.create(compare_import=False)
	other.worker(True)
	queries = [request for request in REQUESTS + BY_IDS if not request.writes and request.code in options.requests]
	for request in queries:
		in_order(other, request)
	server.stop('fast')
	logs = os.path.join(workplace.path, 'callgrind.{}.log')
	server.start([valgrind, '--tool=callgrind', '--callgrind-out-file=/dev/null', '--log-file=' + logs.format('%p')])
	found = {}
	for request in queries:
		counts = {contestant.name: call(Runner(other, small), request, contestant, logs.format('*')) for contestant in other.contestants}
		found[request.name] = Counted(**counts)
		say(f'{request.name}: floor {counts["floor"]:,.0f} instructions, blogstore {counts["blogstore"]:,.0f}, {found[request.name].ratio:.3f}')
	server.end()
	return found


def in_order(site, request):
	"""Raise Failure unless the floor reads in its index's order."""
	floor = next(contestant for contestant in site.contestants if contestant.name == 'floor')
	statement, names = prepare(floor.statement(request))
	arguments = f"({', '.join(['8000000000000001::text'] * len(names))})" if names else ''
	plan = '\n'.join(row[0] for row in site.sql(f'{floor.set()}\nPREPARE request AS {statement}\nEXPLAIN EXECUTE request{arguments}'))
	if not re.search(r'Index Scan', plan) or re.search(r'Sort|Bitmap|Seq Scan', plan):
		raise Failure(f'the floor does not read in the order of its index for {request.name}:\n{plan}')


def call(runner, request, contestant, pattern):
	"""Instructions of one warm call: what a longer session takes more than a shorter one with the same keys first.

	A session before them is not counted: the first of a server begins otherwise than all others, because nobody has
	read the tables' layout before it, and that would be taken for a difference of the calls.
	"""
	session(runner, request, contestant, SHORT, pattern)
	short, long = (session(runner, request, contestant, number, pattern) for number in (SHORT, LONG))
	return (long - short) / (LONG - SHORT)


def session(runner, request, contestant, calls, pattern):
	"""Return the instructions of a session with this number of calls."""
	return ended_sessions(pattern, lambda: pgbench.finish(runner.start(request, contestant, 1, ['-t', str(calls)])))


def ended_sessions(pattern, run):
	"""Run a pgbench with one client, and return the instructions of its session.

	pgbench starts two sessions; those of the one that runs the calls count.
	pattern is that of callgrind's logs.
	"""
	before = set(glob.glob(pattern))
	run()
	limit = time.monotonic() + 120
	while True:
		ended = [count for path in set(glob.glob(pattern)) - before if (count := collected(path)) is not None]
		if len(ended) >= 2:
			return max(ended)
		if time.monotonic() > limit:
			raise Failure('callgrind says nothing of a session')
		time.sleep(0.1)


def collected(path):
	"""Return callgrind's result for a process that has ended, or None."""
	with open(path, encoding='utf-8', errors='replace') as log:
		found = re.search(r'Collected : (\d+)', log.read())
	return int(found[1]) if found else None
