"""Likes at full rate, with live hints (blogstore.notify) and without them."""

import contextlib
import os
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from typing import NamedTuple

from lib import pgbench
from lib.program import turns
from lib.server import Failure, environment, say

from .contestants import BLOGSTORE, BY_NAME
from .measure import Runner
from .small import small_site

USERS = 2000
POSTS = 4000
LIKE = BY_NAME['create_like']
# the size of the server's queue of notifications, the server's default
QUEUE = 8 * 2 ** 30

# What a session does that has executed LISTEN. psql reads what the server has
# sent after each query. A session in a transaction is sent nothing, and the
# server keeps all that it has not been sent.
READS = '\\o /dev/null\nSELECT 1 \\watch 0.1\n'
SLEEPS = 'BEGIN;\n'


class Way(NamedTuple):
	"""A way to run the server."""
	title: str
	notify: str				# the setting
	listener: str			# what a session that listens does; None: there is none


WAYS = (
	Way('off', 'off', None),
	Way('on, no session listens', 'on', None),
	Way('on, a session listens', 'on', READS),
	Way('on, a session listens and stays in a transaction', 'on', SLEEPS),
)


class Hints(NamedTuple):
	"""The results of this part, by way and round."""
	clients: int
	tps: dict				# way -> likes in a second
	delays: dict			# way -> (p50, p99) in ms from commit to visible
	grown: dict				# way -> bytes by which the queue grows in a second

	def ratios(self, way):
		"""Return the ratios of the likes to those without hints, by round."""
		return [on / off for on, off in zip(self.tps[way], self.tps[WAYS[0]])]

	def medians(self, way):
		"""Return the medians of the rounds: likes, both delays, and bytes."""
		return (statistics.median(self.tps[way]), *map(statistics.median, zip(*self.delays[way])), statistics.median(self.grown[way]))


@contextlib.contextmanager
def listening(site, does):
	"""Run a session that listens, if it is to do anything."""
	if does is None:
		yield
		return
	server = site.server
	psql = subprocess.Popen([server.installation.program('psql'), '-X', '-q', '-At', '-d', site.database], stdin=subprocess.PIPE,
		stdout=subprocess.PIPE, text=True, cwd=server.socket, env={**environment(), **server.address()})
	try:
		psql.stdin.write("LISTEN blogstore;\nSELECT 'listens';\n" + does)
		psql.stdin.flush()
		if psql.stdout.readline() != 'listens\n':
			raise Failure('a session cannot listen:\n' + server.end_of_log())
		yield
	finally:
		psql.kill()
		psql.communicate()


def queue_usage(site):
	"""Return the bytes of notifications that not all sessions have read."""
	return QUEUE * float(site.value('SELECT pg_notification_queue_usage()'))


def hints(site, options, _workplace):
	"""Measure likes, and meanwhile the time from the commit of a post to the
	feed.
	"""
	users, posts = (200, 400) if options.quick else (USERS, POSTS)
	seconds = 1 if options.quick else 5 * options.seconds
	other = small_site(site.server, 'hints', options, ('blogstore',), (users, posts))
	runner, clients = Runner(other, options), max(options.clients)
	found, first = (Hints(clients, defaultdict(list), defaultdict(list), defaultdict(list)) for _ in range(2))
	# A first run, which does not count, makes the tables as they then are.
	likes(runner, WAYS[0], seconds, first)
	for number in range(options.rounds):
		for way in turns(WAYS, number):
			site.server.change(**{'blogstore.notify': way.notify})
			with listening(other, way.listener):
				likes(runner, way, seconds, found)
			other.settle()
			say(f'round {number + 1}: {way.title}: {found.tps[way][-1]:,.0f} likes a second, p50 {found.delays[way][-1][0]:.1f} ms, '
				f'the queue grows by {found.grown[way][-1] / 1000:,.1f} kB a second')
	site.server.change(**{'blogstore.notify': None})
	other.right()
	other.drop()
	return found


def likes(runner, way, seconds, found):
	"""Measure one way once."""
	site, log = runner.site, os.path.join(runner.site.server.socket, 'log')
	base = site.written.get((BLOGSTORE.name, LIKE.name), 0)
	began, before = time.monotonic(), queue_usage(site)
	background = runner.start(LIKE, BLOGSTORE, found.clients, ['-T', str(seconds + 1)], log=log)
	time.sleep(0.5)
	out = site.server.psql(site.database, '-f', BLOGSTORE.path('probe.sql'), seconds=seconds)
	runner.finish(LIKE, BLOGSTORE, background)
	found.grown[way].append((queue_usage(site) - before) / (time.monotonic() - began))
	done = pgbench.read_log(log)
	# A client that was faster than the others has taken numbers beyond theirs.
	site.written[BLOGSTORE.name, LIKE.name] = base + found.clients * max(Counter(like.client for like in done).values())
	found.tps[way].append(pgbench.steady(done, runner.warm_up)[0])
	delays = [float(line) for line in out.split()]
	found.delays[way].append(tuple(pgbench.percentile(delays, percent) for percent in (50, 99)))
