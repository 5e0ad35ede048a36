"""Likes of one post and of many, beside version 2, which counts in the post.
Then likes of one comment and of many.
"""

import os
from collections import defaultdict
from typing import NamedTuple

from lib.program import turns
from lib.server import say

from .contestants import BY_NAME, SQL
from .measure import Runner
from .small import small_site

CLIENTS = 64
# likes in a second that are expected; in a run every user likes once
RATE = 8000
SKIPPED = 20			# the first calls of each client, which do not count
KINDS = {'one post': 'everybody', 'all posts': 'everywhere'}
# of the comments on these posts, one on each
COMMENT_KINDS = {'one comment': 'everybody', 'all comments': 'everywhere'}


class Viral(NamedTuple):
	"""The results of this part."""
	contestants: list
	likes: int				# of a run
	tps: dict				# (contestant, kind) -> of each round

	def ratios(self, contestant):
		"""Return the ratios of one post to many posts, by round."""
		return [one / many for one, many in zip(*(self.tps[contestant, kind] for kind in KINDS))]

	def comment_ratios(self):
		"""Return blogstore's ratios of one comment to many comments, by
		round.
		"""
		return [one / many for one, many in zip(*(self.tps['blogstore', kind] for kind in COMMENT_KINDS))]


def viral(site, options, _workplace):
	"""Measure likes of one post by all users, and of another post by each
	user. Then the same of comments.
	"""
	users = CLIENTS * ((1 if options.quick else RATE * options.seconds) // CLIENTS + 2)
	posts = users + 2 * options.rounds
	other = small_site(site.server, 'viral', options, ('v2', 'blogstore'), (users, posts))
	runner, found = Runner(other, options), defaultdict(list)

	def likes(number, contestant, name, kinds):
		"""Measure a round of a contestant."""
		for kind in turns(kinds, number):
			request = BY_NAME[name]._replace(keys=('number', kinds[kind]))
			tps, _ = runner.run(request, contestant, CLIENTS, ['-t', str(users // CLIENTS)], skip=SKIPPED)
			found[contestant.name, kind].append(tps)
			say(f'round {number + 1}: likes of {kind}, {contestant.title}: {tps:,.0f}/s')
			other.settle()

	for number in range(options.rounds):
		for contestant in turns(other.contestants, number):
			other.worker(contestant.is_blogstore)
			likes(number, contestant, 'create_like', KINDS)
	other.worker(True)
	other.file(os.path.join(SQL, 'small', 'liked_comments.sql'), users=users, posts=posts)
	other.settle()
	blogstore = next(contestant for contestant in other.contestants if contestant.is_blogstore)
	for number in range(options.rounds):
		likes(number, blogstore, 'create_comment_like', COMMENT_KINDS)
	other.right()
	other.drop()
	return Viral(other.contestants, users, dict(found))
