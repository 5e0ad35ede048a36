"""The cost of verify(), beside plain SQL and by number of partitions."""

import math
import os
import statistics
import time
from typing import NamedTuple

from lib.server import Failure, say

from .contestants import SQL
from .measure import documents
from .small import small_site

PARTITIONS = (16, 256, 1024)
ASKED = 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM blogstore.verify()'


class Against(NamedTuple):
	"""Seconds of each round."""
	items: int
	verify: list
	plain: list

	def ratios(self):
		"""Return the rows per second of verify() relative to plain SQL's."""
		return [plain / ours for ours, plain in zip(self.verify, self.plain)]


class ByPartitions(NamedTuple):
	"""The first call of a session, with the same data in a number of
	partitions.
	"""
	buffers: float
	times: list				# ms


def exponent(found, value):
	"""By which power of the number of partitions a value grows between the two largest."""
	(some, less), (many, more) = sorted(found.items())[-2:]
	return math.log(value(more) / value(less)) / math.log(many / some)


def against_plain(site, rounds):
	"""Measure verify() and plain SQL that counts the same rows, in turn,
	without parallel plans.
	"""
	site.worker(True)
	items = int(site.value("SELECT count(*) FROM blogstore.posts WHERE type IN ('post', 'comment', 'like')"))
	found = Against(items, [], [])
	for number in range(rounds):
		for which in (found.verify, found.plain) if number % 2 == 0 else (found.plain, found.verify):
			start = time.monotonic()
			out = site.file(os.path.join(SQL, 'blogstore', 'verify.sql' if which is found.verify else 'count.sql'))
			which.append(time.monotonic() - start)
			if which is found.verify and out:
				raise Failure(f'verify() shows {out[:3]}')
		say(f'verify() of {items:,} items {found.verify[-1]:.2f} s, counting in plain SQL {found.plain[-1]:.2f} s')
	return found


def by_partitions(server, options):
	"""Measure the same few posts with different numbers of partitions: number
	-> ByPartitions.
	"""
	found = {}
	for partitions in PARTITIONS[:2] if options.quick else PARTITIONS:
		site = small_site(server, f'verify_{partitions}', options, ('blogstore',), (100, 500), partitions)
		plans = [next(documents(site.server.psql(site.database, '-c', ASKED))) for _ in range(1 if options.quick else 5)]
		found[partitions] = ByPartitions(statistics.median(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] for plan in plans),
			[plan['Actual Total Time'] for plan in plans])
		say(f'verify() in {partitions} partitions: {found[partitions].buffers:,.0f} buffers, {statistics.median(found[partitions].times):,.0f} ms')
		site.drop()
	return found


def verify(site, options, _workplace):
	"""Measure both: Against, and {partitions: ByPartitions}."""
	return against_plain(site, options.rounds), by_partitions(site.server, options)
