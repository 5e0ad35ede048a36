"""The plan: what each client does, determined by the seed.

Steps are drawn in rows, one step for each client, with a forecast of the store
if all clients keep pace. So the n-th step of client i depends on the seed, i,
n and the number of clients, but not on timing. If clients do not keep pace, a
command may come before its post is created or after its deletion. The model
knows which answers are right then.

A client edits and deletes its own items only. It comments on and likes all
posts, and likes the comments of all clients. Its users follow each other. So
the result of a run does not depend on the order of the clients, except for what
a deletion takes along.

If the connection breaks before a step is acknowledged, the client repeats the
step, which may have been committed. To make the result the same, a step has at
most one command for an item (it does not edit what it has created, or delete
what it has edited), and deletes users and posts before everything else.
"""

import datetime
import random
import threading
import uuid
from collections import deque
from typing import NamedTuple

from . import imports, properties
from .properties import LETTERS

# The most items of each type that a client has. Checks read all of them.
MOST = {'users': 10, 'posts': 40, 'comments': 180, 'likes': 220, 'follows': 50}
LEAST_USERS = 3

WEIGHTS = {
	'create_like': 24, 'delete_like': 10,
	'create_comment': 18, 'edit_comment': 6, 'delete_comment': 6, 'hide_comment': 5,
	'create_post': 9, 'edit_post': 9, 'delete_post': 3, 'hide_post': 4, 'publish_post': 2, 'schedule_post': 3,
	'create_user': 2, 'edit_user': 2, 'delete_user': 0.4, 'follow_user': 5, 'unfollow_user': 2,
}

# Commands on posts of other clients, which may be deleted or hidden
CHILD_COMMANDS = ('create_comment', 'edit_comment', 'hide_comment', 'create_like')
# The share of likes that are of comments
COMMENT_LIKES = 0.5

FIRST_DATE = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
# A publish_date that does not come during a run
NEVER = datetime.datetime(2200, 1, 1, tzinfo=datetime.timezone.utc)
# In how many seconds a publish_date comes that comes during a run
SOON = 1, 5


class Command(NamedTuple):
	"""A call of one of blogstore's functions."""
	function: str
	args: dict
	taken: bool = False		# it asks for a username that exists

	def dated(self, now):
		"""Return the command with dates in the place of times from now."""
		return self._replace(args={name: now + value if isinstance(value, datetime.timedelta) else value
			for name, value in self.args.items()})

	def __str__(self):
		shown = ', '.join(f'{name} => {str(value)[:60]!r}' for name, value in self.args.items())
		return f'{self.function}({shown})'


class Group(NamedTuple):
	"""Commands between two savepoints, which may be rolled back."""
	commands: list
	undone: bool


class Step(NamedTuple):
	"""A transaction of a client."""
	client: int
	number: int
	# plain, commit, rollback, prepare, or prepare rollback
	ending: str
	isolation: str
	groups: list

	@property
	def effective(self):
		"""The commands that are not rolled back."""
		if 'rollback' in self.ending:
			return []
		return [command for group in self.groups if not group.undone for command in group.commands]

	@property
	def gid(self):
		"""The step's name as a prepared transaction."""
		return f'client {self.client} step {self.number}'

	def dated(self, now):
		"""Return the step with dates in the place of times from now."""
		return self._replace(groups=[group._replace(commands=[command.dated(now) for command in group.commands])
			for group in self.groups])


class Forecast:
	"""What a client owns if all its commands succeed."""

	def __init__(self):
		self.users = {}			# id -> name
		self.posts = {}			# id -> user
		self.hidden = set()		# ids of posts and comments
		self.soon = set()		# ids of posts that the worker shows at some time, or has shown
		self.comments = {}		# id -> (post, user)
		self.likes = {}			# (post, user, comment or None) -> None
		self.follows = {}		# (user, followed) -> None
		self.free_names = []
		self.names = 0

	def apply(self, command):
		"""Apply a command."""
		args = command.args
		if command.function == 'create_user':
			self.users[args['user_id']] = args['username']
		elif command.function == 'edit_user' and args['username'] is not None:
			self.free_names.append(self.users[args['user_id']])
			self.users[args['user_id']] = args['username']
		elif command.function == 'create_post':
			self.posts[args['post_id']] = args['user_id']
			self.hide(args['post_id'], args['hidden'])
		elif command.function == 'import':
			imports.forecast_apply(self, args)
		elif command.function in ('hide_post', 'publish_post'):
			self.hide(args['post_id'], args.get('hidden', False))
		elif command.function == 'schedule_post':
			self.hide(args['post_id'], args['publish_date'] == NEVER)
			if isinstance(args['publish_date'], datetime.timedelta):
				self.soon.add(args['post_id'])
		elif command.function == 'hide_comment':
			self.hide(args['comment_id'], args['hidden'])
		elif command.function == 'create_comment':
			self.comments[args['comment_id']] = (args['post_id'], args['user_id'])
			self.hide(args['comment_id'], args['hidden'])
		elif command.function == 'create_like':
			self.likes[args['post_id'], args['user_id'], args['comment_id']] = None
		elif command.function == 'delete_like':
			self.likes.pop((args['post_id'], args['user_id'], args['comment_id']), None)
		elif command.function == 'follow_user':
			self.follows[args['user_id'], args['followed_id']] = None
		elif command.function == 'unfollow_user':
			self.follows.pop((args['user_id'], args['followed_id']), None)
		elif command.function == 'delete_comment':
			self.comments.pop(args['comment_id'], None)
		elif command.function == 'delete_post':
			self._forget_posts([args['post_id']])
		elif command.function == 'delete_user':
			self._forget_user(args['user_id'])
		taken = {name.lower() for name in self.users.values()}
		self.free_names = [name for name in self.free_names[-20:] if name.lower() not in taken]

	def hide(self, item, hidden):
		"""Note that an item is hidden or shown."""
		(self.hidden.add if hidden else self.hidden.discard)(item)
		self.soon.discard(item)

	def _forget_posts(self, posts):
		for post in posts:
			del self.posts[post]
			self.soon.discard(post)

	def _forget_user(self, user):
		self.free_names.append(self.users.pop(user))
		self._forget_posts([post for post, author in self.posts.items() if author == user])
		self.comments = {key: value for key, value in self.comments.items() if value[1] != user}
		self.hidden.intersection_update([*self.posts, *self.comments])
		self.likes = {key: None for key in self.likes if key[1] != user}
		self.follows = {key: None for key in self.follows if user not in key}


class Plan:
	"""Hands out steps. It draws a row when the first client needs it."""

	def __init__(self, seed, clients):
		self._lock = threading.Lock()
		self.random = random.Random(f'{seed}/plan/{clients}')
		self.most = MOST
		self._forecasts = [Forecast() for _ in range(clients)]
		self._queues = [deque() for _ in range(clients)]
		self._row = 0

	def next(self, client, may_draw):
		"""Return a client's next step, or None if it needs a row and may not
		draw."""
		with self._lock:
			if not self._queues[client]:
				if not may_draw:
					return None
				self._draw_row()
			return self._queues[client].popleft()

	def _draw_row(self):
		self._row += 1
		# A deletion takes along what other clients have written on the item.
		posts = {post for forecast in self._forecasts for post in forecast.posts}
		self._all_posts = list(dict.fromkeys(
			post for forecast in self._forecasts for post in forecast.posts))
		self._all_comments = [(item[0], comment)
			for forecast in self._forecasts for comment, item in forecast.comments.items() if item[0] in posts]
		comments = {comment for _, comment in self._all_comments}
		if self._row % 50 == 0:
			for forecast in self._forecasts:
				forecast.comments = {key: value for key, value in forecast.comments.items() if value[0] in posts}
				forecast.likes = {key: None for key in forecast.likes if key[0] in posts and (key[2] is None or key[2] in comments)}
		for client, queue in enumerate(self._queues):
			queue.append(self._draw_step(client))

	def _draw_step(self, client):
		forecast = self._forecasts[client]
		dice = self.random.random() if self._row > 10 else 0.0
		isolation = self.random.choices(
			['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'], [70, 15, 15])[0]
		if dice < 0.70:
			ending, groups = 'plain', [self._draw_group(forecast, 1)]
		elif dice < 0.80:
			ending, groups = 'commit', [self._draw_group(forecast, self.random.randint(2, 5))]
		elif dice < 0.87:
			ending, groups = 'commit', self._draw_savepoints(forecast)
		elif dice < 0.91:
			ending, groups = 'rollback', [self._draw_undone(forecast)]
		elif dice < 0.95:
			ending, groups = 'prepare', [self._draw_group(forecast, self.random.randint(1, 3))]
		elif dice < 0.97:
			ending, groups = 'prepare rollback', [self._draw_undone(forecast)]
		elif dice < 0.985 and forecast.users:
			ending, isolation, groups = 'commit', 'READ COMMITTED', [self._draw_import(forecast)]
		else:
			ending, groups = 'plain', [Group([self._draw_query(forecast)], False)]
		return Step(client, self._row, ending, isolation, groups)

	# -- transactions ----------------------------------------------------

	def _draw_group(self, forecast, number, touched=None):
		"""Draw commands that are not rolled back."""
		commands = []
		touched = set() if touched is None else touched
		while len(commands) < number:
			command = self._draw_command(forecast, touched, may_remove=not touched)
			forecast.apply(command)
			commands.append(command)
		return Group(commands, False)

	def _draw_undone(self, forecast):
		"""Draw commands that are rolled back, so the forecast does not change.
		"""
		number = self.random.randint(1, 4)
		touched = set()
		return Group([self._draw_command(forecast, touched, may_remove=position == number - 1)
			for position in range(number)], True)

	def _draw_savepoints(self, forecast):
		"""Draw a transaction of which a part is rolled back."""
		touched = set()
		groups = [self._draw_group(forecast, self.random.randint(1, 2), touched)]
		for _ in range(self.random.randint(1, 2)):
			groups.append(self._draw_undone(forecast))
			groups.append(self._draw_group(forecast, self.random.randint(0, 2), touched))
		if self.random.random() < 0.3:
			groups.insert(0, self._draw_undone(forecast))
		return groups

	def _draw_import(self, forecast):
		command = Command('import', imports.draw(self, forecast))
		forecast.apply(command)
		return Group([command], False)

	# -- commands --------------------------------------------------------

	def _draw_command(self, forecast, touched, may_remove):
		while True:
			kind = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
			kind = self._within_bounds(forecast, kind)
			if kind in ('delete_post', 'delete_user') and not may_remove:
				continue
			command, key = getattr(self, '_' + kind)(forecast)
			if command is not None and key not in touched:
				touched.add(key)
				return command

	def _within_bounds(self, forecast, kind):
		if len(forecast.users) < LEAST_USERS and (kind == 'delete_user' or not forecast.users):
			return 'create_user'
		if kind == 'delete_user' and len(forecast.users) <= LEAST_USERS:
			return 'create_user'
		for what in ('user', 'post', 'comment', 'like'):
			if kind == 'create_' + what and len(getattr(forecast, what + 's')) >= MOST[what + 's']:
				return 'delete_' + what
		if kind == 'follow_user' and len(forecast.follows) >= MOST['follows']:
			return 'unfollow_user'
		return kind

	def _create_user(self, forecast):
		if forecast.free_names and self.random.random() < 0.3:
			name = self.random.choice(forecast.free_names)
		else:
			name = self.name(forecast)
		user = self.id()
		return Command('create_user', {
			'username': name, 'user_id': user, 'creation_date': self.date(), 'properties': self.properties()}), user

	def _edit_user(self, forecast):
		user = self.one_of(forecast.users)
		name = forecast.users[user].swapcase() if self.random.random() < 0.1 else self.name(forecast)
		which = self.random.randrange(3)
		return Command('edit_user', {
			'user_id': user, 'username': name if which != 0 else None,
			'properties': self._object() if which != 1 else None}), user

	def _delete_user(self, forecast):
		# Half of the users have many items, which a job has to delete.
		user = self._busy_user(forecast) if self.random.random() < 0.5 else self.one_of(forecast.users)
		return Command('delete_user', {'user_id': user}), user

	def _create_post(self, forecast):
		post = self.id()
		return Command('create_post', {
			'user_id': self.one_of(forecast.users), 'title': self.text(1, 40), 'content': self.content(),
			'post_id': post, 'creation_date': self.date(), 'properties': self.properties(),
			'hidden': self.random.random() < 0.12}), post

	def _edit_post(self, forecast):
		if not forecast.posts:
			return None, None
		post = self.one_of(forecast.posts)
		which = self.random.randrange(3)
		return Command('edit_post', {
			'post_id': post, 'title': self.text(1, 40) if which != 0 else None,
			'content': self.content() if which != 1 else None, 'properties': self.properties()}), post

	def _hide_post(self, forecast):
		if not forecast.posts:
			return None, None
		post = self.one_of(forecast.posts)
		return Command('hide_post', {'post_id': post, 'hidden': self.changed(forecast, post)}), post

	def _publish_post(self, forecast):
		hidden = [post for post in forecast.posts if post in forecast.hidden]
		if not hidden and not forecast.posts:
			return None, None
		post = self.one_of(hidden if hidden and self.random.random() < 0.9 else forecast.posts)
		return Command('publish_post', {'post_id': post}), post

	def _schedule_post(self, forecast):
		if not forecast.posts:
			return None, None
		post = self.one_of(forecast.posts)
		dice = self.random.random()
		if dice < 0.6:
			date = NEVER
		elif dice < 0.8:
			# The worker publishes the post. The client adds the present date.
			date = datetime.timedelta(seconds=self.random.uniform(*SOON))
		else:
			# A date that has passed publishes the post at once.
			date = self.date()
		return Command('schedule_post', {'post_id': post, 'publish_date': date}), post

	def _delete_post(self, forecast):
		if not forecast.posts:
			return None, None
		post = self.one_of(forecast.posts)
		return Command('delete_post', {'post_id': post}), post

	def _create_comment(self, forecast):
		post = self._some_post()
		if post is None:
			return None, None
		comment = self.id()
		return Command('create_comment', {
			'post_id': post, 'user_id': self._some_user(forecast), 'content': self.text(1, 120),
			'comment_id': comment, 'creation_date': self.date(), 'properties': self.properties(),
			'hidden': self.random.random() < 0.12, 'parent_id': self.parent(forecast, post)}), comment

	def _edit_comment(self, forecast):
		if not forecast.comments:
			return None, None
		comment = self.one_of(forecast.comments)
		which = self.random.randrange(3)
		return Command('edit_comment', {
			'post_id': forecast.comments[comment][0], 'comment_id': comment,
			'content': self.text(1, 120) if which != 0 else None,
			'properties': self._object() if which != 1 else None}), comment

	def _hide_comment(self, forecast):
		if not forecast.comments:
			return None, None
		comment = self.one_of(forecast.comments)
		return Command('hide_comment', {
			'post_id': forecast.comments[comment][0], 'comment_id': comment,
			'hidden': self.changed(forecast, comment)}), comment

	def _delete_comment(self, forecast):
		if not forecast.comments:
			return None, None
		comment = self.one_of(forecast.comments)
		return Command('delete_comment', {
			'post_id': forecast.comments[comment][0], 'comment_id': comment}), comment

	def _create_like(self, forecast):
		if forecast.likes and self.random.random() < 0.1:
			post, user, comment = self.one_of(forecast.likes)
		else:
			post, user, comment = self._some_post(), self._some_user(forecast), None
			if self._all_comments and self.random.random() < COMMENT_LIKES:
				post, comment = self._some_comment()
		if post is None:
			return None, None
		return Command('create_like', {
			'post_id': post, 'user_id': user, 'creation_date': self.date(), 'comment_id': comment}), (post, user, comment)

	def _delete_like(self, forecast):
		if forecast.likes and self.random.random() < 0.95:
			post, user, comment = self.one_of(forecast.likes)
		else:
			post, user, comment = self._some_post(), self.one_of(forecast.users), None
		if post is None:
			return None, None
		return Command('delete_like', {'post_id': post, 'user_id': user, 'comment_id': comment}), (post, user, comment)

	def _follow_user(self, forecast):
		user, followed = self._some_user(forecast), self.one_of(forecast.users)
		if user == followed:
			return None, None
		return Command('follow_user', {
			'user_id': user, 'followed_id': followed, 'creation_date': self.date()}), (user, followed)

	def _unfollow_user(self, forecast):
		user, followed = self.one_of(forecast.users), self.one_of(forecast.users)
		if forecast.follows and self.random.random() < 0.95:
			user, followed = self.one_of(forecast.follows)
		return Command('unfollow_user', {'user_id': user, 'followed_id': followed}), (user, followed)

	def _draw_query(self, forecast):
		"""Draw a query of own items, or a command with a name that exists."""
		dice = self.random.randrange(5)
		if dice == 0 and forecast.posts:
			return Command('get_post', {'post_id': self.one_of(forecast.posts)})
		if dice == 1 and forecast.likes:
			post, user, comment = self.one_of(forecast.likes)
			return Command('get_like', {'post_id': post, 'user_id': user, 'comment_id': comment})
		user = self.one_of(forecast.users)
		if dice == 2:
			return Command('get_user_by_name', {'username': forecast.users[user].upper()})
		if dice == 3:
			return Command('create_user', {
				'username': forecast.users[user].lower(), 'user_id': self.id(),
				'creation_date': self.date(), 'properties': None}, taken=True)
		return Command('get_user', {'user_id': user})

	# -- values ----------------------------------------------------------

	def one_of(self, items):
		"""Draw one of the items."""
		return self.random.choice(list(items))

	@staticmethod
	def _busy_user(forecast):
		return next(iter(forecast.users))

	def _some_user(self, forecast):
		"""Draw a user, mostly the same one, who gets many items."""
		return self._busy_user(forecast) if self.random.random() < 0.7 else self.one_of(forecast.users)

	def _some_post(self):
		"""Draw a post of any client; in a third of cases one of a few."""
		if not self._all_posts:
			return None
		if self.random.random() < 0.33:
			return self.random.choice(self._all_posts[::max(1, len(self._all_posts) // 4)])
		return self.random.choice(self._all_posts)

	def _some_comment(self):
		"""Draw a comment of any client, with its post; in a third of cases one
		of a few."""
		if self.random.random() < 0.33:
			return self.random.choice(self._all_comments[::max(1, len(self._all_comments) // 4)])
		return self.random.choice(self._all_comments)

	def changed(self, forecast, item):
		"""Draw whether to hide an item, mostly the opposite of its state."""
		return (item not in forecast.hidden) == (self.random.random() < 0.9)

	def parent(self, forecast, post):
		"""Draw a parent: in half of the cases an own comment on the post."""
		own = [comment for comment, item in forecast.comments.items() if item[0] == post]
		return self.one_of(own) if own and self.random.random() < 0.5 else None

	def properties(self):
		"""Draw properties, mostly none."""
		return self._object() if self.random.random() < 0.3 else None

	def _object(self):
		return properties.draw(self.random)

	def id(self):
		"""Draw a new id."""
		return str(uuid.UUID(int=self.random.getrandbits(128)))

	def date(self):
		"""Draw a date. Many are equal, so that ids decide on the order."""
		date = FIRST_DATE + datetime.timedelta(minutes=self.random.randrange(400))
		if self.random.random() < 0.3:
			date += datetime.timedelta(microseconds=self.random.randrange(1000000))
		return date

	def name(self, forecast):
		"""Draw a new username."""
		forecast.names += 1
		owner = self._forecasts.index(forecast)
		return f'{self.random.choice(["Ada", "Éva", "bob", "李"])} {owner}.{forecast.names}'

	def text(self, least, most):
		"""Draw a text with a number of characters between two bounds."""
		text = ''.join(self.random.choices(LETTERS, k=self.random.randint(least, most)))
		return text if text.strip() else 'x' + text

	def content(self):
		"""Draw a content: empty, short, like the short form, long, or out of
		line."""
		least, most = self.random.choices(
			[(0, 0), (1, 80), (190, 210), (300, 900), (4000, 6000)], [4, 50, 25, 19, 2])[0]
		return ''.join(self.random.choices(LETTERS, k=self.random.randint(least, most)))
