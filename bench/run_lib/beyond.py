"""Requests that the article does not have, with properties and replies."""

import os
from typing import NamedTuple

from lib.program import Verdict
from lib.server import Failure, say

from . import check
from .contestants import BEYOND, BEYOND_CONTESTANTS, BY_NAME, SQL
from .measure import Runner, Timing
from .site import Site

DEFAULT = 16				# partitions that create_containers() makes
PARTITIONS = (4, 16, 64, 256)
PARTITIONED_SCALE = 0.002	# of the stores of ever more partitions
# the lists that read all partitions
OVER_ALL = ('list_user_comments', 'list_user_likes')


class Beyond(NamedTuple):
	"""The results of this part."""
	contestants: list
	timing: Timing
	costs: dict				# (request, contestant) -> Cost
	scale: float			# of the stores of these numbers of partitions
	# number -> (costs, timing) of the lists that read all partitions
	partitions: dict


class BeyondSite(Site):
	"""The data set with properties and replies, for blogstore and the floor.
	"""

	def __init__(self, server, name, scale, options, partitions=DEFAULT):
		super().__init__(server, name, scale, options, ['blogstore', 'floor'])
		self.contestants = list(BEYOND_CONTESTANTS)
		self.partitions = partitions

	def slice(self, first, last):
		"""Load a slice, with properties and replies."""
		super().slice(first, last)
		self.file(os.path.join(SQL, 'beyond', 'slice.sql'))

	def prepare(self, contestant):
		"""Create blogstore's containers with the given number of partitions.
		"""
		if not contestant.is_blogstore or self.partitions == DEFAULT:
			return super().prepare(contestant)
		self.sql(f'CREATE SCHEMA {contestant.schema}')
		self.sql(f'SELECT blogstore.create_containers({self.partitions})')
		return 0


def beyond(site, options, _workplace):
	"""Measure time and cost of these requests, and of those that read all
	partitions by number of partitions.
	"""
	found = measured(site.server, 'beyond', options.scale, options, BEYOND)
	partitions = {}
	scale = options.scale if options.quick else PARTITIONED_SCALE
	for number in PARTITIONS[:2] if options.quick else PARTITIONS:
		once = type(options)(**{**vars(options), 'clients': [1]})
		_, timing, costs = measured(site.server, f'beyond_{number}', scale, once, [BY_NAME[name] for name in OVER_ALL], number)
		partitions[number] = costs, timing
	return Beyond(*found, scale, partitions)


def measured(server, name, scale, options, requests, partitions=DEFAULT):
	"""Make a store, compare its answers with the floor's, measure it, and
	remove it.

	Return (contestants, timing, costs).
	"""
	site = BeyondSite(server, name, scale, options, partitions)
	site.create(compare_import=False)
	verdict = Verdict()
	check.answers(site, verdict, 20 if options.quick else 100, site.contestants, requests=requests)
	runner, timing, costs = Runner(site, options), Timing(), {}
	if not verdict.problems:
		costs = runner.costs(False, requests)
		runner.queries(timing, requests)
		runner.commands(timing, requests)
		costs.update(runner.costs(True, requests))
		check.verify(site, verdict)
	if verdict.problems:
		raise Failure('\n'.join(verdict.problems))
	contestants = site.contestants
	say(f'{name}: right')
	site.drop()
	return contestants, timing, costs
