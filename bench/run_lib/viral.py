"""Likes of one post and of many, beside version 2, which counts in the post.
"""

from collections import defaultdict
from typing import NamedTuple

from lib.program import turns
from lib.server import say

from .contestants import BY_NAME
from .measure import Runner
from .small import small_site

CLIENTS = 64
# likes in a second that are expected; in a run every user likes once
RATE = 8000
SKIPPED = 20			# the first calls of each client, which do not count
KINDS = {'one post': 'everybody', 'all posts': 'everywhere'}


class Viral(NamedTuple):
	"""The results of this part."""
	contestants: list
	likes: int				# of a run
	tps: dict				# (contestant, kind) -> of each round

	def ratios(self, contestant):
		"""Return the ratios of one post to many posts, by round."""
		return [one / many for one, many in zip(*(self.tps[contestant, kind] for kind in KINDS))]


def viral(site, options, _workplace):
	"""Measure likes of one post by all users, and of another post by each
	user.
	"""
	users = CLIENTS * ((1 if options.quick else RATE * options.seconds) // CLIENTS + 2)
	posts = users + 2 * options.rounds
	other = small_site(site.server, 'viral', options, ('v2', 'blogstore'), (users, posts))
	runner, found = Runner(other, options), defaultdict(list)
	for number in range(options.rounds):
		for contestant in turns(other.contestants, number):
			other.worker(contestant.is_blogstore)
			for kind in turns(KINDS, number):
				request = BY_NAME['create_like']._replace(keys=('number', KINDS[kind]))
				tps, _ = runner.run(request, contestant, CLIENTS, ['-t', str(users // CLIENTS)], skip=SKIPPED)
				found[contestant.name, kind].append(tps)
				say(f'round {number + 1}: likes of {kind}, {contestant.title}: {tps:,.0f}/s')
				other.settle()
	other.worker(True)
	other.right()
	other.drop()
	return Viral(other.contestants, users, dict(found))
