"""The contestants, and the requests."""

import os
import re
from typing import NamedTuple

SQL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'run_sql')


class Request(NamedTuple):
	"""A request.

	keys names the files of run_sql/keys that are put before the statement.
	"""
	code: str
	name: str
	title: str
	keys: tuple

	@property
	def writes(self):
		"""Return whether the request is a command."""
		return self.code[0] == 'C'


REQUESTS = (
	Request('C1', 'create_user', 'create a user', ('number', 'new_user')),
	Request('C1', 'edit_user', 'edit a user without items', ('number', 'idle_user')),
	Request('Q1', 'get_user', 'retrieve a user', ('user',)),
	Request('C2', 'create_post', 'create a post', ('number', 'author')),
	Request('C2', 'edit_post', 'edit a post', ('number', 'edited_post')),
	Request('Q2', 'get_post', 'retrieve a post', ('post',)),
	Request('Q3', 'list_user_posts', 'list a user\'s posts', ('user',)),
	Request('C3', 'create_comment', 'create a comment', ('number', 'commented_post')),
	Request('Q4', 'list_post_comments', 'list a post\'s comments', ('post',)),
	Request('C4', 'create_like', 'like a post', ('number', 'liked_post')),
	Request('Q5', 'list_post_likes', 'list a post\'s likes', ('post',)),
	Request('Q6', 'list_feed', 'list the newest 100 posts', ('none',)),
)
CODES = tuple(dict.fromkeys(request.code for request in REQUESTS))
# lists of ids, which no version of the article has; compared only with the
# floor
BY_IDS = (
	Request('Q1', 'get_users_20', '20 users by their ids', ('user',)),
	Request('Q2', 'get_posts_20', '20 posts by their ids', ('post',)),
	Request('Q2', 'get_posts_100', '100 posts by their ids', ('post',)),
	Request('Q5', 'get_likes_20', 'which of 20 posts a user has liked', ('post', 'user')),
)
# what the article does not have, on data of their own (beyond.py); compared
# only with the floor
BEYOND = (
	Request('C2', 'create_post_properties', 'create a post with properties', ('number', 'author')),
	Request('Q2', 'get_post_properties', 'retrieve a post with properties', ('post',)),
	Request('C3', 'create_reply', 'answer a comment', ('number', 'answering')),
	Request('Q4', 'list_comment_replies', 'list a comment\'s answers', ('answered_post',)),
	Request('Q4', 'list_user_comments', 'list a user\'s comments', ('user',)),
	Request('Q5', 'list_user_likes', 'list a user\'s likes', ('user',)),
)
# only in a part of its own (viral.py)
COMMENT_LIKE = Request('C4', 'create_comment_like', 'like a comment', ('number',))
# only in a part of its own (topics.py): there are as many topics as users
TOPIC_POSTS = Request('Q3', 'list_topic_posts', 'list a topic\'s posts', ('user',))
# only in a part of its own (home.py), beside two plans on the floor's tables
HOME_FEED = Request('Q6', 'list_home_feed', 'list the posts of all followed users', ('reader',))
BY_NAME = {request.name: request for request in (*REQUESTS, *BY_IDS, *BEYOND, COMMENT_LIKE, TOPIC_POSTS, HOME_FEED)}


class Contestant:
	"""A contestant, in a schema of its own.

	Each of its files comes from the first directory that has it.
	"""

	def __init__(self, name, title, *directories, settings=()):
		self.name = name
		self.title = title
		self.directories = directories or (name,)
		# of sessions, 'name=value'; added to the common ones
		self.settings = settings

	@property
	def is_blogstore(self):
		"""Return whether a worker belongs to the contestant."""
		return self.directories[0] == 'blogstore'

	@property
	def schema(self):
		"""Return the schema of its tables.

		blogstore's own tables are elsewhere; its schema holds views for
		comparison.
		"""
		return 'measured_blogstore' if self.is_blogstore else self.name

	def options(self):
		"""Return the options with which its sessions start."""
		return f'-c client_min_messages=warning -c search_path={self.schema}' + ''.join(f' -c {setting}' for setting in self.settings)

	def set(self):
		"""Return the same settings as SQL."""
		return '\n'.join(f'SET {setting};' for setting in (f'search_path = {self.schema}', *self.settings))

	def path(self, name):
		"""Return the path of its file with that name, or None."""
		paths = (os.path.join(SQL, directory, name) for directory in self.directories)
		return next((path for path in paths if os.path.exists(path)), None)

	def statement(self, request):
		"""Return the statement of a request, with pgbench's variables."""
		with open(self.path(request.name + '.sql'), encoding='utf-8') as file:
			return file.read()


# The floor reads in the order of the index, and plans once. The planner would
# use bitmaps and sorts for little data, and plan each call, which costs more.
IN_ORDER = ('enable_seqscan=off', 'enable_bitmapscan=off', 'enable_sort=off', 'plan_cache_mode=force_generic_plan')

BLOGSTORE = Contestant('blogstore', 'blogstore')
CONTESTANTS = (
	Contestant('v1', 'V1'),
	Contestant('v2', 'V2', 'v2', 'v1'),
	Contestant('v3', 'V3'),
	BLOGSTORE,
	Contestant('floor', 'floor', settings=IN_ORDER),
)

# the same on data with what the article's items do not have
BEYOND_CONTESTANTS = (
	BLOGSTORE,
	Contestant('floor', 'floor', 'beyond', 'floor', settings=IN_ORDER),
)

# Q2 is compared with this: the posts of the floor, with counts in a table of
# their own
JOINED = Contestant('joined', 'a join with counters', settings=IN_ORDER)

# what import() is compared with: the floor's rows alone
PLAIN = Contestant('plain', 'plain INSERTs', 'floor')

VARIABLE = re.compile(r'(?<!:):([a-z]+)\b')


def fill_in(statement, values):
	"""Return the statement with values in place of its variables."""
	return VARIABLE.sub(lambda match: f"'{values[match[1]]}'", statement)


def prepare(statement):
	"""Return the statement with numbered parameters, as pgbench makes it, and
	the variables in their order.
	"""
	names = []

	def parameter(match):
		names.append(match[1])
		return f'${len(names)}'

	return VARIABLE.sub(parameter, statement), names


def script(request, contestant, path):
	"""Write the pgbench script of a request."""
	with open(path, 'w', encoding='utf-8') as out:
		for key in request.keys:
			with open(os.path.join(SQL, 'keys', key + '.sql'), encoding='utf-8') as file:
				out.write(file.read())
		out.write(contestant.statement(request))
	return path
