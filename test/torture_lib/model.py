"""The model: what the acknowledged commands imply.

Each client keeps a ledger of what it owns, changed only when a step is
acknowledged. What the store must show is the union of all ledgers, without
the comments and likes whose post is gone: posts are deleted by their owner
alone, and never come back, so that is all there is between clients.

An answer is judged when it comes, by what was acknowledged before the
command was sent: after that nothing but what has happened may be answered.
While a deletion is under way both answers are right.
"""

from time import monotonic
from typing import NamedTuple

from .verdict import Divergence

SHORT_FORM = 200

# outcomes beside the row that a command returns
REFUSED = 'refused'		# 23503
TAKEN = 'taken'			# 23505


class User(NamedTuple):
	"""A user as the ledger has it."""
	username: str
	date: object


class Post(NamedTuple):
	"""A post as the ledger has it."""
	user: str
	title: str
	content: str
	date: object


class Comment(NamedTuple):
	"""A comment as the ledger has it."""
	post: str
	user: str
	content: str
	date: object


class Attempt(NamedTuple):
	"""How a step came to be acknowledged."""
	started: float			# when the attempt that was acknowledged began
	first: bool				# no attempt before it was in doubt
	outcomes: list			# one for each command, in order


class Lifetimes:
	"""When posts came and went, for all clients; ids are never used again."""

	def __init__(self):
		self.born = {}			# post -> when its creation was acknowledged
		self.doomed = {}		# post -> when its deletion was first sent
		self.dead = {}			# post -> when its deletion was acknowledged

	def may_be_missing(self, post, started):
		"""Whether a command sent then may have found no such post."""
		return post in self.doomed or self.born.get(post, started) >= started

	def must_be_missing(self, post, started):
		"""Whether a command sent then cannot have found it."""
		return self.dead.get(post, started) < started


class Ledger:
	"""What one client owns."""

	def __init__(self, lifetimes):
		self.lifetimes = lifetimes
		self.users = {}			# id -> User
		self.posts = {}			# id -> Post
		self.comments = {}		# id -> Comment
		self.likes = {}			# (post, user) -> date
		self.gone_users = []	# the last ones deleted
		self.gone_posts = []
		self._touched = []		# posts with items of the user deleted last

	def doom(self, step):
		"""Before a step is first sent: from now on others may miss what it deletes."""
		for command in step.effective:
			for post in self._posts_deleted(command):
				self.lifetimes.doomed.setdefault(post, monotonic())

	def _posts_deleted(self, command):
		if command.function == 'delete_post':
			return [command.args['post_id']]
		if command.function == 'delete_user':
			return [post for post, item in self.posts.items() if item.user == command.args['user_id']]
		return []

	def settle(self, step, attempt):
		"""A step is acknowledged: judge its answers, and take it into account."""
		outcomes = iter(attempt.outcomes)
		for group in step.groups:
			for command in group.commands:
				outcome = next(outcomes)
				if group.undone or 'rollback' in step.ending:
					continue
				complaint = getattr(self, '_' + command.function)(command, outcome, attempt)
				if complaint:
					raise Divergence(
						f'client {step.client}, step {step.number} ({step.ending}): {command}\n'
						f'  returned {outcome!r}\n  {complaint}')

	# -- one method for each command: judge, then change the ledger -------

	def _create_user(self, command, outcome, attempt):
		args = command.args
		if command.taken:
			return None if outcome == TAKEN else 'the name is taken'
		if outcome in (REFUSED, TAKEN):
			return 'the name is free and the id is new'
		self.users[args['user_id']] = User(args['username'], args['creation_date'])
		return self._compare(outcome, id=args['user_id'], type='user', user_id=args['user_id'],
			username=args['username'], creation_date=args['creation_date'])

	def _edit_user(self, command, outcome, attempt):
		args = command.args
		if outcome in (REFUSED, TAKEN):
			return 'the user exists and the name is free'
		self.users[args['user_id']] = self.users[args['user_id']]._replace(username=args['username'])
		return self._compare(outcome, id=args['user_id'], username=args['username'],
			creation_date=self.users[args['user_id']].date)

	def _delete_user(self, command, outcome, attempt):
		user = command.args['user_id']
		self._touched = [item.post for item in self.comments.values() if item.user == user][:3]
		self._touched += [post for post, liker in self.likes if liker == user][:3]
		for post in self._posts_deleted(command):
			self._forget_post(post)
		del self.users[user]
		self.comments = {key: item for key, item in self.comments.items() if item.user != user}
		self.likes = {key: date for key, date in self.likes.items() if key[1] != user}
		self.gone_users = self.gone_users[-20:] + [user]
		return self._compare_deletion(outcome, attempt, True)

	def _create_post(self, command, outcome, attempt):
		args = command.args
		if outcome in (REFUSED, TAKEN):
			return 'the author exists and the id is new'
		self.posts[args['post_id']] = Post(args['user_id'], args['title'], args['content'], args['creation_date'])
		self.lifetimes.born[args['post_id']] = monotonic()
		return self._compare(outcome, id=args['post_id'], type='post', post_id=args['post_id'],
			user_id=args['user_id'], user_username=self.users[args['user_id']].username if attempt.first else None,
			title=args['title'], content=args['content'], creation_date=args['creation_date'],
			comment_count=0 if attempt.first else None, like_count=0 if attempt.first else None)

	def _edit_post(self, command, outcome, attempt):
		args = command.args
		if outcome == REFUSED:
			return 'the post exists'
		post = self.posts[args['post_id']]
		post = post._replace(
			title=post.title if args['title'] is None else args['title'],
			content=post.content if args['content'] is None else args['content'])
		self.posts[args['post_id']] = post
		return self._compare(outcome, id=args['post_id'], user_id=post.user, title=post.title,
			content=post.content, creation_date=post.date)

	def _delete_post(self, command, outcome, attempt):
		post = command.args['post_id']
		self._forget_post(post)
		return self._compare_deletion(outcome, attempt, True)

	def _forget_post(self, post):
		del self.posts[post]
		self.lifetimes.dead[post] = monotonic()
		self.gone_posts = self.gone_posts[-20:] + [post]

	def _create_comment(self, command, outcome, attempt):
		args = command.args
		if outcome == REFUSED:
			return self._judge_refusal(args['post_id'], attempt)
		if self.lifetimes.must_be_missing(args['post_id'], attempt.started):
			return 'the post was deleted before'
		self.comments[args['comment_id']] = Comment(
			args['post_id'], args['user_id'], args['content'], args['creation_date'])
		return self._compare(outcome, id=args['comment_id'], type='comment', post_id=args['post_id'],
			user_id=args['user_id'], user_username=self.users[args['user_id']].username if attempt.first else None,
			content=args['content'], creation_date=args['creation_date'])

	def _edit_comment(self, command, outcome, attempt):
		args = command.args
		comment = self.comments.get(args['comment_id'])
		if outcome == REFUSED:
			return self._judge_refusal(args['post_id'], attempt) if comment else None
		if comment is None:
			return 'the comment was never made'
		if self.lifetimes.must_be_missing(args['post_id'], attempt.started):
			return 'the post was deleted before'
		self.comments[args['comment_id']] = comment._replace(content=args['content'])
		return self._compare(outcome, id=args['comment_id'], post_id=comment.post, user_id=comment.user,
			content=args['content'], creation_date=comment.date)

	def _delete_comment(self, command, outcome, attempt):
		comment = self.comments.pop(command.args['comment_id'], None)
		return self._judge_child_deletion(command, outcome, attempt, comment is not None)

	def _create_like(self, command, outcome, attempt):
		args = command.args
		key = args['post_id'], args['user_id']
		if outcome == REFUSED:
			return self._judge_refusal(args['post_id'], attempt)
		if self.lifetimes.must_be_missing(args['post_id'], attempt.started):
			return 'the post was deleted before'
		new = key not in self.likes
		self.likes.setdefault(key, args['creation_date'])
		return self._compare(outcome, type='like', post_id=args['post_id'], user_id=args['user_id'],
			user_username=self.users[args['user_id']].username if attempt.first and new else None,
			creation_date=self.likes[key])

	def _delete_like(self, command, outcome, attempt):
		date = self.likes.pop((command.args['post_id'], command.args['user_id']), None)
		return self._judge_child_deletion(command, outcome, attempt, date is not None)

	# -- queries of one's own items --------------------------------------

	def _get_user(self, command, outcome, attempt):
		user = self.users[command.args['user_id']]
		return self._compare(outcome, id=command.args['user_id'], username=user.username, creation_date=user.date)

	def _get_user_by_name(self, command, outcome, attempt):
		name = command.args['username'].lower()
		key, user = next(item for item in self.users.items() if item[1].username.lower() == name)
		return self._compare(outcome, id=key, username=user.username, creation_date=user.date)

	def _get_post(self, command, outcome, attempt):
		post = self.posts[command.args['post_id']]
		return self._compare(outcome, id=command.args['post_id'], user_id=post.user, title=post.title,
			content=post.content, creation_date=post.date)

	def _get_like(self, command, outcome, attempt):
		key = command.args['post_id'], command.args['user_id']
		if outcome is None:
			return self._judge_refusal(key[0], attempt) if key in self.likes else None
		if key not in self.likes:
			return 'there is no such like'
		return self._compare(outcome, post_id=key[0], user_id=key[1], creation_date=self.likes[key])

	# -- judging ---------------------------------------------------------

	@staticmethod
	def _compare(row, **expected):
		"""What differs in the row, leaving out what is expected to be None."""
		if row is None:
			return f'no row, expected {expected!r}'
		wrong = {name: value for name, value in expected.items() if value is not None and row[name] != value}
		return f'expected {wrong!r}' if wrong else None

	@staticmethod
	def _compare_deletion(outcome, attempt, expected):
		found = outcome != REFUSED and next(iter(outcome.values()))
		if found == expected or (expected and not attempt.first):
			return None
		return f'expected {expected}'

	def _judge_refusal(self, post, attempt):
		if self.lifetimes.may_be_missing(post, attempt.started):
			return None
		return 'the post exists, and nobody asked for its deletion'

	def _judge_child_deletion(self, command, outcome, attempt, expected):
		post = command.args['post_id']
		if self.lifetimes.must_be_missing(post, attempt.started):
			expected = False
		elif post in self.lifetimes.doomed:
			return None
		return self._compare_deletion(outcome, attempt, expected)

	def absent(self, step):
		"""Queries that give no row from now on, since this step's deletions are acknowledged.

		A deleted post may still be in the views for a moment; the posts of a
		deleted user may not.
		"""
		queries = []
		for command in step.effective:
			post = command.args.get('post_id')
			user = command.args.get('user_id')
			if command.function == 'delete_like':
				queries.append(('blogstore.get_like(%s, %s)', (post, user)))
			if command.function == 'delete_user':
				queries.append(('blogstore.get_user(%s)', (user,)))
				queries.append(('blogstore.list_user_posts(%s)', (user,)))
				queries.append(('blogstore.list_feed(NULL) WHERE user_id = %s', (user,)))
				for post in self._touched:
					queries.append(('blogstore.get_like(%s, %s)', (post, user)))
					queries.append(('blogstore.list_post_likes(%s, NULL) WHERE user_id = %s', (post, user)))
					queries.append(('blogstore.list_post_comments(%s, NULL) WHERE user_id = %s', (post, user)))
			if command.function in ('delete_user', 'delete_post'):
				for post in self.gone_posts[-3:]:
					queries.append(('blogstore.get_post(%s)', (post,)))
					queries.append(('blogstore.list_post_comments(%s)', (post,)))
					queries.append(('blogstore.list_post_likes(%s)', (post,)))
		return queries


class Expected:
	"""What the store must show, from all ledgers; made while clients wait."""

	def __init__(self, ledgers):
		self.users = {}
		self.posts = {}
		self.comments = {}
		self.likes = {}
		for ledger in ledgers:
			self.users.update(ledger.users)
			self.posts.update(ledger.posts)
		for ledger in ledgers:
			# a deleted post has taken these along, for good
			ledger.comments = {key: item for key, item in ledger.comments.items() if item.post in self.posts}
			ledger.likes = {key: date for key, date in ledger.likes.items() if key[0] in self.posts}
			self.comments.update(ledger.comments)
			self.likes.update(ledger.likes)
		self.gone_users = [user for ledger in ledgers for user in ledger.gone_users]
		self.gone_posts = [post for ledger in ledgers for post in ledger.gone_posts]
		self.comments_of = {post: [] for post in self.posts}
		self.likes_of = {post: [] for post in self.posts}
		for key, item in sorted(self.comments.items(), key=lambda pair: (pair[1].date, pair[0]), reverse=True):
			self.comments_of[item.post].append(key)
		for (post, user), date in self.likes.items():
			self.likes_of[post].append((user, date))

	def name(self, user):
		"""A user's name."""
		return self.users[user].username

	def user_rows(self):
		"""user items."""
		return [(key, 'user', key, item.username, item.date) for key, item in self.users.items()]

	def post_row(self, post, short=False):
		"""A post item with its counts."""
		item = self.posts[post]
		return (post, 'post', post, item.user, self.name(item.user), item.title,
			item.content[:SHORT_FORM] if short else item.content,
			len(self.comments_of[post]), len(self.likes_of[post]), item.date)

	def post_rows(self, user=None, short=True):
		"""Post items, of one user or of all, newest first."""
		posts = [post for post, item in self.posts.items() if user in (None, item.user)]
		posts.sort(key=lambda post: (self.posts[post].date, post), reverse=True)
		return [self.post_row(post, short) for post in posts]

	def comment_rows(self, post):
		"""A post's comment items, newest first."""
		rows = []
		for key in self.comments_of[post]:
			item = self.comments[key]
			rows.append((key, 'comment', item.post, item.user, self.name(item.user), item.content, item.date))
		return rows

	def like_rows(self):
		"""Like items without their ids, which the store makes."""
		return [('like', post, user, self.name(user), date) for (post, user), date in self.likes.items()]
