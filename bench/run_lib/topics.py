"""A page of a topic's posts, beside a page of a user's posts."""

import os
from typing import NamedTuple

from lib.program import turns
from lib.server import Failure

from .contestants import BLOGSTORE, BY_NAME, SQL, TOPIC_POSTS
from .measure import PLANNED, Length, Runner, Timing, keys_for, query_rounds
from .site import ID
from .small import small_site

USERS = 2000				# and as many topics
POSTS = 50					# of each user, and of each topic
REQUESTS = (BY_NAME['list_user_posts'], TOPIC_POSTS)


class Topics(NamedTuple):
	"""The results of this part."""
	posts: int
	timing: Timing
	buffers: dict			# request -> of a call

	def ratios(self):
		"""Return how many times as long the topic's page takes, by round."""
		user, topic = (self.timing.tps[request.name, BLOGSTORE.name, 1] for request in REQUESTS)
		return [a / b for a, b in zip(user, topic)]


def topics(site, options, _workplace):
	"""Measure pages of 20 of both lists, in turn.

	The topics are of posts of different users.
	"""
	users, each = (20, 30) if options.quick else (USERS, POSTS)
	site.server.change(**{'blogstore.topic_property': 'tags'})
	other = small_site(site.server, 'topics', options, ('blogstore',), (users, 0))
	other.posts = users * each
	other.file(os.path.join(SQL, 'small', 'topics.sql'), users=users, posts=other.posts, seed=other.seed)
	other.file(os.path.join(SQL, 'explain.sql'))
	other.settle()
	other.sql('VACUUM ANALYZE')
	short = other.value(f"SELECT count(*) FROM generate_series(1, {users}) AS n WHERE (SELECT count(*) FROM blogstore.list_topic_posts('topic ' || ({ID} + n))) <> 20")
	if short != '0':
		raise Failure(f'{short} topics have no page of 20 posts')
	runner, timing = Runner(other, options), Timing()
	keys = list(other.keys(runner.warm_up + runner.calls, 'topics'))
	buffers = {request.name: runner.explained(request, BLOGSTORE, [keys_for(request, key) for key in keys])[0] for request in REQUESTS}
	rounds, seconds = query_rounds(options)
	rate, _ = runner.run(TOPIC_POSTS, BLOGSTORE, 1, ['-t', str(2 * runner.warm_up)])
	length = Length(runner.warm_up + PLANNED + int(rate * seconds), runner.warm_up)
	for number in range(rounds):
		for request in turns(REQUESTS, number):
			runner.timed(request, BLOGSTORE, 1, length, number, timing)
	other.right()
	other.drop()
	site.server.change(**{'blogstore.topic_property': None})
	return Topics(other.posts, timing, buffers)
