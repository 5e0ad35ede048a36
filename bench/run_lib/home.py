"""The posts of all whom a user follows, beside the same merge in plain SQL."""

import os
from typing import NamedTuple

from lib.program import Verdict
from lib.server import Failure, say

from . import check
from .contestants import BLOGSTORE, HOME_FEED, IN_ORDER, SQL, Contestant
from .measure import Runner, Timing
from .small import small_site

USERS = 6000
POSTS = 40					# of each user, of which a page has at most 20
READERS = 10				# who follow the same number of users
FOLLOWED = (10, 100, 1000, 5000)


class Plan(Contestant):
	"""A statement on the floor's tables."""

	@property
	def schema(self):
		"""Return the schema of the floor."""
		return 'floor'


# The keys of the newest posts of each followed user, by the index; or those of
# all their posts, by the join that the planner chooses. Both then read the 20
# rows of the page.
LATERAL = Plan('lateral', 'LATERAL with LIMIT', settings=IN_ORDER)
SORTED = Plan('sorted', 'join and sort')


class Home(NamedTuple):
	"""The results of this part."""
	users: int
	posts: int				# of each user
	contestants: list
	timings: dict			# followed users -> Timing
	costs: dict				# the same -> (request, contestant) -> Cost

	def ratios(self, followed):
		"""Return the calls a second to those of the faster plan, by round."""
		timing = self.timings[followed]
		faster = max((LATERAL, SORTED), key=lambda plan: timing.throughput(HOME_FEED, plan, 1))
		return timing.ratios(HOME_FEED, BLOGSTORE, faster, 1)


def home(site, options, _workplace):
	"""Measure pages of 20 of readers who follow ever more users, with one
	client.
	"""
	users, posts, readers, sizes = (40, 30, 3, (2, 5, 10, 20)) if options.quick else (USERS, POSTS, READERS, FOLLOWED)
	once = type(options)(**{**vars(options), 'clients': [1], 'requests': [HOME_FEED.code]})
	other = small_site(site.server, 'home', once, ('blogstore', 'floor'), (users, users * posts))
	other.file(os.path.join(SQL, 'home', 'schema.sql'))
	for number, followed in enumerate(sizes):
		first, last = of_size(number, readers)
		other.file(os.path.join(SQL, 'home', 'follows.sql'), users=users, first=first, last=last, followed=followed)
	other.file(os.path.join(SQL, 'explain.sql'))
	other.contestants = [BLOGSTORE, LATERAL, SORTED]
	other.settle()
	other.sql('VACUUM ANALYZE')
	found = Home(users, posts, other.contestants, {}, {})
	verdict = Verdict()
	runner = Runner(other, once)
	for number, followed in enumerate(sizes):
		other.readers = of_size(number, readers)
		say(f'home feeds of {followed:,} followed users')
		check.answers(other, verdict, readers, other.contestants, requests=[HOME_FEED])
		if verdict.problems:
			raise Failure('\n'.join(verdict.problems))
		found.costs[followed] = runner.costs(False, [HOME_FEED])
		found.timings[followed] = Timing()
		runner.queries(found.timings[followed], [HOME_FEED])
	other.right()
	other.drop()
	return found


def of_size(number, readers):
	"""Return the first and the last reader of a size."""
	return number * readers + 1, (number + 1) * readers
