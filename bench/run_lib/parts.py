"""The parts beside the requests: one function for each name of --only."""

import copy
import os
import time
from typing import NamedTuple

from lib import pgbench
from lib.server import Failure, say

from .beyond import beyond
from .cold import cold
from .contestants import BLOGSTORE, BY_NAME, JOINED, fill_in
from .first import first
from .hints import hints
from .home import home
from .instructions import instructions
from .measure import Runner, Timing
from .site import ID
from .topics import topics
from .traffic import traffic
from .verified import Against, against_plain, verify
from .viral import viral
from .wal import wal

# those with files of their own come first
__all__ = ('wal', 'first', 'instructions', 'verify', 'traffic', 'beyond', 'cold', 'viral', 'topics', 'home', 'hints', 'joined', 'freshness', 'rebuild', 'rename', 'scaling')

BUSY_ITEMS = 20000			# of the user who is renamed


class Freshness(NamedTuple):
	"""Times in ms from commit to visible, with a number of concurrent writers.
	"""
	writers: int
	rate: float				# what they wrote in a second
	times: list

	def percentile(self, percent):
		"""Return a percentile of the times."""
		return pgbench.percentile(self.times, percent)


class Rename(NamedTuple):
	"""The results of renaming a user with many items under a concurrent load.
	"""
	title: str
	items: int
	call: float				# seconds until edit_user returns
	done: float				# and until all items have the new name
	before: dict			# request -> (p50, p99) in ms of the others
	meanwhile: dict


class Scale(NamedTuple):
	"""The results for one size of the data set."""
	scale: float
	items: int
	sizes: dict				# contestant's name -> bytes
	contestants: list
	costs: dict
	timing: Timing
	verified: Against		# None: that failed


def freshness(site, options, _workplace):
	"""Measure the time from commit to visible, without a load and with
	writers.
	"""
	runner, found = Runner(site, options), []
	blogstore, request = site.contestant('blogstore'), BY_NAME['create_like']
	seconds = 1 if options.quick else 5 * options.seconds
	site.worker(True)
	for writers in (0, *options.clients):
		background = None
		if writers:
			background = runner.start(request, blogstore, writers, ['-T', str(seconds + 1)])
			time.sleep(0.5)
		out = site.server.psql(site.database, '-f', blogstore.path('probe.sql'), seconds=seconds)
		done = runner.finish(request, blogstore, background) if background else pgbench.Run(0.0, 0)
		found.append(Freshness(writers, done.tps, [float(line) for line in out.split()]))
		say(f'freshness beside {writers} writers: p50 {found[-1].percentile(50):.1f}, p99 {found[-1].percentile(99):.1f} ms')
		site.settle()
	return found


def rebuild(site, options, _workplace):
	"""Measure rebuild_views() and a plain copy: seconds and rows of both."""
	blogstore = site.contestant('blogstore')
	site.worker(True)
	rows = int(site.value("SELECT count(*) FROM blogstore.posts WHERE type = 'post'"))
	views, plain = [], []
	for number in range(options.rounds):
		start = time.monotonic()
		site.sql('SELECT blogstore.rebuild_views()')
		if site.value("SELECT blogstore.wait_for_views('1 hour')") != 't':
			raise Failure('rebuild_views() does not end:\n' + site.server.end_of_log())
		views.append(time.monotonic() - start)
		site.sql('DROP TABLE IF EXISTS staging.copy')
		start = time.monotonic()
		site.file(blogstore.path('copy.sql'))
		plain.append(time.monotonic() - start)
		say(f'round {number + 1}: rebuild of {rows:,} copies {views[-1]:.2f} s, plain copy {plain[-1]:.2f} s')
	site.sql('DROP TABLE staging.copy')
	return rows, views, plain


def rename(site, options, _workplace):
	"""Rename a user with many items while other sessions read and like posts.
	"""
	runner, found = Runner(site, options), []
	likes = BY_NAME['create_like']._replace(keys=('number', 'busy_user'))
	count = min(site.posts, 500 if options.quick else BUSY_ITEMS)
	for contestant in site.contestants:
		if contestant.name in ('v1', 'floor'):		# there a rename is one row
			continue
		site.worker(contestant.is_blogstore)
		pgbench.finish(pgbench.start(site.server, runner.call(likes, contestant, 1, ['-t', str(count)]),
			PGOPTIONS=contestant.options() + ' -c synchronous_commit=off'))
		site.settle()
		found.append(renamed(runner, contestant, count))
		say(f'rename in {contestant.title}: {found[-1].done:.2f} s')
	site.worker(True)
	return found


def renamed(runner, contestant, items):
	"""Rename the user after a third of the concurrent runs."""
	site = runner.site
	seconds = 3 if runner.options.quick else 5 * runner.options.seconds
	others = {}
	for name in ('get_post', 'create_like'):
		log = os.path.join(site.server.socket, name + '_log')
		others[name] = log, runner.start(BY_NAME[name], contestant, 2, ['-T', str(seconds)], log=log)
	time.sleep(seconds / 3)
	begin = time.time()
	name = f'renamed in {contestant.title}'
	site.sql(fill_in(contestant.statement(BY_NAME['edit_user']), {'user': ID + 1, 'number': name}), contestant)
	call = time.time()
	if contestant.is_blogstore and site.value("SELECT blogstore.wait_for_views('1 hour')") != 't':
		raise Failure('a rename does not end:\n' + site.server.end_of_log())
	done = time.time()
	before, meanwhile = {}, {}
	for name, (log, process) in others.items():
		runner.finish(BY_NAME[name], contestant, process)
		times = pgbench.read_log(log)
		for found, those in (
				(before, [of.taken for of in times if of.moment < begin]),
				(meanwhile, [of.taken for of in times if of.moment >= begin and of.moment - of.taken / 1000 <= done])):
			found[name] = tuple(pgbench.percentile(those, percent) for percent in (50, 99)) if those else None
	return Rename(contestant.title, items, call - begin, done - begin, before, meanwhile)


def joined(site, options, _workplace):
	"""Measure Q2 beside plain SQL that joins a table of counters."""
	site.sql(f'CREATE SCHEMA {JOINED.schema}')
	site.file(JOINED.path('schema.sql'), JOINED)
	both, timing = copy.copy(site), Timing()
	both.contestants = [BLOGSTORE, JOINED]
	site.worker(True)
	Runner(both, options).queries(timing, [BY_NAME['get_post']])
	site.sql(f'DROP SCHEMA {JOINED.schema} CASCADE')
	return timing


def scaling(site, options, _workplace):
	"""Measure cost and time at other sizes of the data set: a list of Scale.

	A Failure carries the results until then.
	"""
	found = []
	try:
		grow(site, options, found)
	except Failure as failure:
		failure.found = found
		raise
	return found


def grow(site, options, found):
	"""Measure one size after another."""
	once = type(options)(**{**vars(options), 'rounds': 1, 'clients': [1]})
	for number, scale in enumerate(options.scales):
		other = type(site)(site.server, f'scale_{number}', scale, options, options.growing)
		other.create(compare_import=False)
		runner, timing = Runner(other, once), Timing()
		costs = runner.costs(writes=False)
		runner.queries(timing)
		runner.commands(timing)
		costs.update(runner.costs(writes=True))
		found.append(Scale(scale, sum(other.items.values()), other.sizes, other.contestants, costs, timing, None))
		found[-1] = found[-1]._replace(verified=against_plain(other, 1))
		other.drop()
