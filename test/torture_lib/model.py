"""The model: what the acknowledged commands imply.

Each client has a ledger of what it owns, which changes only when a step is
acknowledged. The store must show the union of all ledgers, without the
comments and likes of deleted posts, and the likes of deleted comments. Only its
owner deletes a post or comment, and neither is created again, so there is no
other interaction between clients.

An answer is judged by what was acknowledged before the command was sent. While
a deletion is under way, the answers from before and after it are right.
"""

from datetime import datetime, timezone
from time import monotonic
from typing import NamedTuple

from . import properties
from .verdict import Divergence

SHORT_FORM = 200

# Outcomes of a command other than a row, and their SQLSTATEs
REFUSED = 'refused'		# 23503
TAKEN = 'taken'			# 23505
HIDDEN = 'hidden'		# 23514, the post or comment is hidden

# A publish_date that does not come during a run
NEVER = datetime(2200, 1, 1, tzinfo=timezone.utc)

# An item of a list that was read before a date
BEFORE = 'WHERE id = %s AND clock_timestamp() < %s'


class User(NamedTuple):
	"""A user in a ledger."""
	username: str
	date: object
	properties: str		# in the form of jsonb's output


class Post(NamedTuple):
	"""A post in a ledger."""
	user: str
	title: str
	content: str
	date: object
	hidden: bool
	edited: object		# the date of the last edit, or None
	properties: str
	publish: object = None		# its publish_date


class Comment(NamedTuple):
	"""A comment in a ledger."""
	post: str
	user: str
	content: str
	date: object
	hidden: bool
	edited: object
	properties: str
	parent: str			# the comment that it replies to, even if deleted


class Attempt(NamedTuple):
	"""The attempt of a step that was acknowledged."""
	since: object			# the date of the first attempt
	started: float			# when this attempt began, on the monotonic clock
	first: bool				# whether no earlier attempt may have committed
	outcomes: list			# the commands' outcomes, in order


class Ledger:
	"""The items that a client owns."""

	def __init__(self, lifetimes):
		self.lifetimes = lifetimes
		self.users = {}			# id -> User
		self.posts = {}			# id -> Post
		self.comments = {}		# id -> Comment
		self.likes = {}			# (post, user, comment or None) -> date
		self.follows = {}		# (user, followed) -> date
		self.gone_users = []	# the users deleted last
		self.gone_posts = []
		self._touched = []		# posts with items of the user deleted last
		self._touched_comments = []		# likes of comments by that user
		self._touched_follows = []		# follows by and of that user

	def doom(self, step, since):
		"""Note that a step is about to be sent: others may see its effects."""
		for command in step.effective:
			for item in self._posts_deleted(command) + self._comments_deleted(command):
				self.lifetimes.doomed.setdefault(item, monotonic())
			if command.function in ('create_post', 'hide_post', 'publish_post'):
				self.lifetimes.change(command.args['post_id'], command.args.get('hidden', False))
			if command.function == 'schedule_post':
				date = command.args['publish_date']
				self.lifetimes.change(command.args['post_id'], date > since)
				if since < date < NEVER:
					self.lifetimes.change(command.args['post_id'], False, due=date)
			if command.function in ('create_comment', 'hide_comment'):
				self.lifetimes.change(command.args['comment_id'], command.args['hidden'])
			if command.function == 'import':
				for row in command.args['posts']:
					self.lifetimes.change(row['post_id'], row['hidden'])
				for row in command.args['comments']:
					self.lifetimes.change(row['comment_id'], row['hidden'])

	def _posts_deleted(self, command):
		if command.function == 'delete_post':
			return [command.args['post_id']]
		if command.function == 'delete_user':
			return [post for post, item in self.posts.items() if item.user == command.args['user_id']]
		return []

	def _comments_deleted(self, command):
		"""Return the comments that a command deletes by their author."""
		if command.function == 'delete_comment':
			return [command.args['comment_id']]
		if command.function == 'delete_user':
			return [comment for comment, item in self.comments.items() if item.user == command.args['user_id']]
		return []

	def settle(self, step, attempt):
		"""Judge the answers of an acknowledged step, and apply it."""
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
		user = self.users[args['user_id']] = User(
			args['username'], args['creation_date'], properties.stored(args['properties']))
		return self._compare(outcome, id=args['user_id'], type='user', user_id=args['user_id'],
			username=args['username'], creation_date=args['creation_date']) or self._same(outcome, properties=user.properties)

	def _edit_user(self, command, outcome, attempt):
		args = command.args
		if outcome in (REFUSED, TAKEN):
			return 'the user exists and the name is free'
		user = self.users[args['user_id']] = self._changed(self.users[args['user_id']], args)
		return self._compare(outcome, id=args['user_id'], username=user.username,
			creation_date=user.date) or self._same(outcome, properties=user.properties)

	def _delete_user(self, command, outcome, attempt):
		user = command.args['user_id']
		self._touched = [item.post for item in self.comments.values() if item.user == user][:3]
		self._touched += [post for post, liker, _ in self.likes if liker == user][:3]
		self._touched_comments = [key for key in self.likes if key[1] == user and key[2]][:3]
		self._touched_follows = [key for key in self.follows if user in key]
		for post in self._posts_deleted(command):
			self._forget_post(post)
		for comment in self._comments_deleted(command):
			self.lifetimes.dead[comment] = monotonic()
		del self.users[user]
		self.comments = {key: item for key, item in self.comments.items() if item.user != user}
		self.likes = {key: date for key, date in self.likes.items() if key[1] != user}
		self.follows = {key: date for key, date in self.follows.items() if user not in key}
		self.gone_users = self.gone_users[-20:] + [user]
		return self._compare_deletion(outcome, attempt, True)

	def _create_post(self, command, outcome, attempt):
		args = command.args
		if outcome in (REFUSED, TAKEN):
			return 'the author exists and the id is new'
		post = self.posts[args['post_id']] = Post(
			args['user_id'], args['title'], args['content'], args['creation_date'],
			args['hidden'], None, properties.stored(args['properties']))
		self.lifetimes.acknowledge(args['post_id'])
		self.lifetimes.born[args['post_id']] = monotonic()
		return self._compare(outcome, id=args['post_id'], type='post', post_id=args['post_id'],
			user_id=args['user_id'], user_username=self.users[args['user_id']].username if attempt.first else None,
			title=args['title'], content=args['content'], creation_date=args['creation_date'],
			comment_count=0 if attempt.first else None, like_count=0 if attempt.first else None
			) or self._same(outcome, hidden=post.hidden, modification_date=None, properties=post.properties)

	def _edit_post(self, command, outcome, attempt):
		args = command.args
		if outcome == REFUSED:
			return 'the post exists'
		self._see(args['post_id'], outcome)
		post, complaint = self._edited(self.posts[args['post_id']], args, outcome, attempt)
		self.posts[args['post_id']] = post
		return complaint or self._compare_post(args['post_id'], post, outcome)

	def _hide_post(self, command, outcome, attempt):
		args = command.args
		if outcome == REFUSED:
			return 'the post exists'
		post = self.posts[args['post_id']] = self._found(args['post_id'], outcome)._replace(hidden=args['hidden'], publish=None)
		self.lifetimes.acknowledge(args['post_id'])
		return self._compare_post(args['post_id'], post, outcome)

	def _publish_post(self, command, outcome, attempt):
		args = command.args
		if outcome == REFUSED:
			return 'the post exists'
		post = self._found(args['post_id'], outcome)
		if post.hidden and not self._within(outcome['creation_date'], attempt):
			return 'it is to be dated now'
		if post.hidden:
			post = post._replace(hidden=False, date=outcome['creation_date'], publish=None)
		self.posts[args['post_id']] = post
		self.lifetimes.acknowledge(args['post_id'])
		return self._compare_post(args['post_id'], post, outcome)

	def _schedule_post(self, command, outcome, attempt):
		args = command.args
		if outcome == REFUSED:
			return 'the post exists'
		date = args['publish_date']
		post = self._found(args['post_id'], outcome)
		# The date may come while the command is under way, also between an
		# attempt that has committed and the next one.
		if date > datetime.now(timezone.utc) or (date > attempt.since and outcome['hidden']):
			post = post._replace(hidden=True, publish=date)
		elif post.hidden or (not attempt.first and outcome['creation_date'] == date):
			post = post._replace(hidden=False, date=date, publish=None)
		self.posts[args['post_id']] = post
		self.lifetimes.acknowledge(args['post_id'], scheduled=post.hidden and date < NEVER)
		return self._compare_post(args['post_id'], post, outcome)

	def _found(self, key, row):
		"""Return a post as it was before the command that returned a row: the
		worker may have published it."""
		post = self.posts[key]
		if post.publish is not None and row and row['creation_date'] == post.publish <= datetime.now(timezone.utc):
			return self._published(post)
		return post

	def _see(self, key, row):
		"""Note that the worker has published a post, if a row shows it."""
		post = self._found(key, row)
		if post != self.posts[key]:
			self.posts[key] = post
			self.lifetimes.acknowledge(key)

	@staticmethod
	def _published(post):
		return post._replace(hidden=False, date=post.publish, publish=None)

	def scheduled(self):
		"""Return the dates of the posts that the worker is to publish: post ->
		date."""
		return {key: post.publish for key, post in self.posts.items() if post.publish is not None and post.publish < NEVER}

	def publish(self):
		"""Note that the worker has published all these posts."""
		for key in self.scheduled():
			self.posts[key] = self._published(self.posts[key])
			self.lifetimes.acknowledge(key)

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
		parent = self.comments.get(args['parent_id'])
		if outcome == REFUSED:
			return self._judge_refusal(args['post_id'], attempt) if parent or args['parent_id'] is None else None
		if outcome == HIDDEN:
			return self._judge_hidden(args['post_id'], attempt) if parent is None or not parent.hidden else None
		complaint = self._judge_success(args['post_id'], attempt, repeated=not attempt.first)
		if attempt.first and args['parent_id'] is not None and (parent is None or parent.hidden):
			complaint = complaint or 'its parent is not there, or hidden'
		if complaint:
			return complaint
		comment = self.comments[args['comment_id']] = Comment(
			args['post_id'], args['user_id'], args['content'], args['creation_date'],
			args['hidden'], None, properties.stored(args['properties']), args['parent_id'])
		self._comment_acknowledged(args['comment_id'])
		return self._compare(outcome, id=args['comment_id'], type='comment', post_id=args['post_id'],
			user_id=args['user_id'], user_username=self.users[args['user_id']].username if attempt.first else None,
			content=args['content'], creation_date=args['creation_date']) or self._same(
			outcome, hidden=comment.hidden, modification_date=None, properties=comment.properties,
			parent_id=comment.parent, parent_deleted=self._parent_deleted(comment)
			) or self._compare(outcome, like_count=0 if attempt.first else None, reply_count=0 if attempt.first else None)

	def _comment_acknowledged(self, comment):
		self.lifetimes.acknowledge(comment)
		self.lifetimes.born.setdefault(comment, monotonic())

	def _edit_comment(self, command, outcome, attempt):
		args = command.args
		comment = self.comments.get(args['comment_id'])
		complaint = self._judge_known(comment, args, outcome, attempt)
		if outcome == REFUSED or complaint:
			return complaint
		comment, complaint = self._edited(comment, args, outcome, attempt)
		self.comments[args['comment_id']] = comment
		return complaint or self._compare_comment(args['comment_id'], comment, outcome, attempt)

	def _hide_comment(self, command, outcome, attempt):
		args = command.args
		comment = self.comments.get(args['comment_id'])
		complaint = self._judge_known(comment, args, outcome, attempt)
		if outcome == REFUSED or complaint:
			return complaint
		comment = self.comments[args['comment_id']] = comment._replace(hidden=args['hidden'])
		self.lifetimes.acknowledge(args['comment_id'])
		return self._compare_comment(args['comment_id'], comment, outcome, attempt)

	def _delete_comment(self, command, outcome, attempt):
		comment = self.comments.pop(command.args['comment_id'], None)
		self.lifetimes.dead[command.args['comment_id']] = monotonic()
		return self._judge_child_deletion(command, outcome, attempt, comment is not None)

	def _create_like(self, command, outcome, attempt):
		args = command.args
		key = self._like_key(args)
		if outcome == REFUSED:
			return self._judge_each(self._judge_refusal, key, attempt)
		new = key not in self.likes
		if outcome == HIDDEN:
			return self._judge_each(self._judge_hidden, key, attempt) if new else 'the like was there'
		for item in self._liked(key):
			complaint = self._judge_success(item, attempt, repeated=not new or not attempt.first)
			if complaint:
				return complaint
		self.likes.setdefault(key, args['creation_date'])
		return self._compare(outcome, type='comment_like' if key[2] else 'like', post_id=key[0], user_id=key[1],
			user_username=self.users[args['user_id']].username if attempt.first and new else None,
			creation_date=self.likes[key]) or self._same(outcome, comment_id=key[2])

	def _delete_like(self, command, outcome, attempt):
		key = self._like_key(command.args)
		date = self.likes.pop(key, None)
		return self._judge_child_deletion(command, outcome, attempt, date is not None, key[2])

	def _follow_user(self, command, outcome, attempt):
		args = command.args
		key = args['user_id'], args['followed_id']
		if outcome in (REFUSED, TAKEN):
			return 'both users exist'
		names = [self.users[user].username if attempt.first and key not in self.follows else None for user in key]
		date = self.follows.setdefault(key, args['creation_date'])
		return self._compare(outcome, type='follow', user_id=key[0], followed_id=key[1],
			user_username=names[0], followed_username=names[1], creation_date=date)

	def _unfollow_user(self, command, outcome, attempt):
		date = self.follows.pop((command.args['user_id'], command.args['followed_id']), None)
		return self._compare_deletion(outcome, attempt, date is not None)

	@staticmethod
	def _like_key(args):
		return args['post_id'], args['user_id'], args.get('comment_id')

	@staticmethod
	def _liked(key):
		"""Return the post and the comment that a like needs."""
		return [item for item in (key[0], key[2]) if item]

	def _judge_each(self, judge, key, attempt):
		"""Return a complaint unless the post or the comment explains it."""
		complaints = [judge(item, attempt) for item in self._liked(key)]
		return complaints[0] if all(complaints) else None

	# -- an import: rows that are there become what they say --------------

	def _import(self, command, outcome, attempt):
		complaints = []
		for row in command.args['users']:
			user = self.users[row['user_id']] = self._changed(self.users[row['user_id']], row)
			given = outcome['users'].get(row['user_id'])
			complaints.append(self._compare(given, username=user.username, creation_date=user.date)
				or self._same(given, properties=user.properties))
		for row in command.args['posts']:
			key = row['post_id']
			new = Post(row['user_id'], row['title'], row['content'], row['creation_date'], row['hidden'], None, None)
			given = outcome['posts'].get(key)
			known = self._found(key, given) if key in self.posts else None
			self.posts[key], complaint = self._imported(known, new, row, given, attempt)
			self.lifetimes.acknowledge(key)
			self.lifetimes.born.setdefault(key, monotonic())
			complaints.append(complaint or self._compare_post(key, self.posts[key], given))
		for row in command.args['comments']:
			key = row['comment_id']
			new = Comment(row['post_id'], row['user_id'], row['content'], row['creation_date'], row['hidden'], None, None,
				row['parent_id'])
			given = outcome['comments'].get(key)
			self.comments[key], complaint = self._imported(self.comments.get(key), new, row, given, attempt)
			self._comment_acknowledged(key)
			complaints.append(complaint)
		# After all are known, because they may reply to each other
		complaints += [self._compare_comment(key, self.comments[key], row, attempt) for key, row in outcome['comments'].items()]
		for row in command.args['likes']:
			key = self._like_key(row)
			given = outcome['likes'].get(key)
			if given and key not in self.likes:
				self.likes[key] = given['creation_date']
				complaints.append(None if self._within(self.likes[key], attempt) else 'a like is to be dated now')
			complaints.append(self._compare(given, post_id=key[0], user_id=key[1], creation_date=self.likes.get(key)))
		return '; '.join(filter(None, complaints))

	def _imported(self, known, new, row, given, attempt):
		"""Return an imported post or comment, and what is wrong with its edit
		date."""
		if given is None:
			return known or new, 'it is not there'
		if known is None:
			new = new._replace(properties=properties.stored(row['properties']), date=new.date or given['creation_date'])
			return new, None if row['creation_date'] or self._within(new.date, attempt) else 'it is to be dated now'
		item, complaint = self._edited(known, {**row, 'hidden': None, 'parent': row.get('parent_id')}, given, attempt)
		if known.hidden and not new.hidden and new.date is not None:
			item = item._replace(date=new.date)
		if not new.hidden and isinstance(item, Post):
			item = item._replace(publish=None)
		return item._replace(hidden=new.hidden), complaint

	# -- queries of one's own items --------------------------------------

	def _get_user(self, command, outcome, attempt):
		user = self.users[command.args['user_id']]
		return self._compare(outcome, id=command.args['user_id'], username=user.username,
			creation_date=user.date) or self._same(outcome, properties=user.properties)

	def _get_user_by_name(self, command, outcome, attempt):
		name = command.args['username'].lower()
		key, user = next(item for item in self.users.items() if item[1].username.lower() == name)
		return self._compare(outcome, id=key, username=user.username, creation_date=user.date)

	def _get_post(self, command, outcome, attempt):
		self._see(command.args['post_id'], outcome)
		return self._compare_post(command.args['post_id'], self.posts[command.args['post_id']], outcome)

	def _get_like(self, command, outcome, attempt):
		key = self._like_key(command.args)
		if outcome is None:
			return self._judge_each(self._judge_refusal, key, attempt) if key in self.likes else None
		if key not in self.likes:
			return 'there is no such like'
		return self._compare(outcome, post_id=key[0], user_id=key[1], creation_date=self.likes[key])

	# -- judging ---------------------------------------------------------

	@staticmethod
	def _compare(row, **expected):
		"""Return the columns that differ, except where None is expected."""
		if row is None:
			return f'no row, expected {expected!r}'
		wrong = {name: value for name, value in expected.items() if value is not None and row[name] != value}
		return f'expected {wrong!r}' if wrong else None

	@staticmethod
	def _same(row, **expected):
		"""Return the columns that differ, including those where None is
		expected."""
		wrong = {name: value for name, value in expected.items() if row[name] != value}
		return f'expected {wrong!r}' if wrong else None

	def _compare_post(self, key, post, row):
		return self._compare(row, id=key, user_id=post.user, title=post.title, content=post.content,
			creation_date=post.date) or self._same(
			row, hidden=post.hidden, modification_date=post.edited, properties=post.properties,
			**({'publish_date': post.publish} if 'publish_date' in row else {}))

	def _compare_comment(self, key, comment, row, attempt):
		# Later commands of a step that is repeated may have committed.
		replies = sum(item.parent == key and not item.hidden for item in self.comments.values()) if attempt.first else None
		return self._compare(row, id=key, post_id=comment.post, user_id=comment.user, content=comment.content,
			creation_date=comment.date, reply_count=replies) or self._same(
			row, hidden=comment.hidden, modification_date=comment.edited, properties=comment.properties,
			parent_id=comment.parent, parent_deleted=self._parent_deleted(comment))

	def _parent_deleted(self, comment):
		"""Return parent_deleted of a comment; its parent is of the same
		client."""
		return None if comment.parent is None else comment.parent not in self.comments

	@staticmethod
	def _within(date, attempt):
		return date is not None and attempt.since <= date <= datetime.now(timezone.utc)

	@staticmethod
	def _changed(item, args):
		"""Return the item with the arguments that are not NULL."""
		changes = {name: value for name, value in args.items() if name in item._fields and value is not None}
		if 'properties' in changes:
			changes['properties'] = properties.stored(changes['properties'])
		return item._replace(**changes)

	def _edited(self, item, args, row, attempt):
		"""Return the edited item, and what is wrong with its edit date."""
		changed = self._changed(item, args)
		if changed == item:
			return item, None
		if not self._within(row['modification_date'], attempt):
			return changed, 'modification_date is to be now'
		return changed._replace(edited=row['modification_date']), None

	@staticmethod
	def _compare_deletion(outcome, attempt, expected):
		found = outcome != REFUSED and next(iter(outcome.values()))
		if found == expected or (expected and not attempt.first):
			return None
		return f'expected {expected}'

	def _judge_refusal(self, item, attempt):
		if self.lifetimes.may_be_missing(item, attempt.started):
			return None
		return f'{item} exists, and nobody asked for its deletion'

	def _judge_hidden(self, item, attempt):
		if self.lifetimes.may_be_hidden(item, attempt.started):
			return None
		return f'{item} is shown, and nobody asked for hiding it'

	def _judge_success(self, item, attempt, repeated):
		"""Judge the success of writing a comment or like."""
		if self.lifetimes.must_be_missing(item, attempt.started):
			return f'{item} was deleted before'
		if not repeated and not self.lifetimes.may_be_shown(item, attempt.started):
			return f'{item} was hidden before'
		return None

	def _judge_known(self, comment, args, outcome, attempt):
		"""Judge the outcome for a comment that must exist."""
		if outcome == REFUSED:
			return self._judge_refusal(args['post_id'], attempt) if comment else None
		if comment is None:
			return 'the comment was never made'
		if self.lifetimes.must_be_missing(args['post_id'], attempt.started):
			return 'the post was deleted before'
		return None

	def _judge_child_deletion(self, command, outcome, attempt, expected, comment=None):
		"""Judge the deletion of a comment, or of a like of a comment or post."""
		items = [item for item in (command.args['post_id'], comment) if item]
		if any(self.lifetimes.must_be_missing(item, attempt.started) for item in items):
			expected = False
		elif any(item in self.lifetimes.doomed for item in items):
			return None
		return self._compare_deletion(outcome, attempt, expected)

	def absent(self, step):
		"""Return queries that find nothing from now on, after this step.

		A deleted post may still be in the views for a moment; the posts of a
		deleted user, and what is hidden, may not. A scheduled post may be there
		after its date.
		"""
		queries = []
		for command in step.effective:
			post = command.args.get('post_id')
			user = command.args.get('user_id')
			posts = [post] if command.function in ('hide_post', 'schedule_post') else [row['post_id'] for row in command.args.get('posts', ())]
			for key in posts:
				if key in self.posts and self.posts[key].hidden:
					until = self.posts[key].publish or NEVER
					queries.append((f'blogstore.list_feed(NULL) {BEFORE}', (key, until)))
					queries.append((f'blogstore.list_user_posts(%s, NULL) {BEFORE}', (self.posts[key].user, key, until)))
					queries += [(f'blogstore.list_home_feed(%s, NULL) {BEFORE}', (follow[0], key, until))
						for follow in self.follows if follow[1] == self.posts[key].user][:2]
			comment = command.args.get('comment_id')
			if command.function == 'hide_comment' and comment in self.comments and self.comments[comment].hidden:
				queries.append(('blogstore.list_post_comments(%s, NULL) WHERE id = %s', (post, comment)))
				queries.append(('blogstore.list_user_comments(%s, NULL) WHERE id = %s', (self.comments[comment].user, comment)))
			if command.function == 'delete_like':
				queries.append(('blogstore.get_like(%s, %s, %s)', (post, user, comment)))
				queries.append(('blogstore.list_user_likes(%s, NULL) WHERE post_id = %s AND comment_id IS NOT DISTINCT FROM %s::uuid',
					(user, post, comment)))
			if command.function == 'delete_like' and comment:
				queries.append(('blogstore.get_comment_likes(%s, %s) WHERE comment_id = %s', (user, post, comment)))
				queries.append(('blogstore.list_comment_likes(%s, %s, NULL) WHERE user_id = %s', (post, comment, user)))
			if command.function == 'unfollow_user':
				queries.append(('blogstore.get_follows(%s, ARRAY[%s]::uuid[])', (user, command.args['followed_id'])))
				queries.append(('blogstore.list_home_feed(%s, NULL) WHERE user_id = %s', (user, command.args['followed_id'])))
			if command.function == 'delete_comment':
				queries.append(('blogstore.get_comment(%s, %s)', (post, comment)))
				queries.append(('blogstore.list_comment_likes(%s, %s)', (post, comment)))
			if command.function == 'delete_user':
				queries.append(('blogstore.get_user(%s)', (user,)))
				queries.append(('blogstore.list_user_posts(%s)', (user,)))
				queries.append(('blogstore.list_user_comments(%s, include_hidden => true)', (user,)))
				queries.append(('blogstore.list_user_likes(%s)', (user,)))
				queries.append(('blogstore.list_feed(NULL) WHERE user_id = %s', (user,)))
				for follow in self._touched_follows[:4]:
					queries.append(('blogstore.get_follows(%s, ARRAY[%s]::uuid[])', follow))
					queries.append(('blogstore.list_home_feed(%s, NULL) WHERE user_id = %s', follow))
					queries.append(('blogstore.list_followers(%s, NULL) WHERE user_id = %s', (follow[1], follow[0])))
				for post in self._touched:
					queries.append(('blogstore.get_like(%s, %s)', (post, user)))
					queries.append(('blogstore.list_post_likes(%s, NULL) WHERE user_id = %s', (post, user)))
					queries.append(('blogstore.list_post_comments(%s, NULL) WHERE user_id = %s', (post, user)))
				for post, _, comment in self._touched_comments:
					queries.append(('blogstore.list_comment_likes(%s, %s, NULL) WHERE user_id = %s', (post, comment, user)))
					queries.append(('blogstore.get_comment_likes(%s, %s)', (user, post)))
			if command.function in ('delete_user', 'delete_post'):
				for post in self.gone_posts[-3:]:
					queries.append(('blogstore.get_post(%s)', (post,)))
					queries.append(('blogstore.list_post_comments(%s)', (post,)))
					queries.append(('blogstore.list_post_likes(%s)', (post,)))
				for other in list(self.users)[:2]:
					queries.append(('blogstore.list_user_comments(%s, NULL, include_hidden => true) WHERE post_id = ANY (%s::uuid[])',
						(other, self.gone_posts[-3:])))
					queries.append(('blogstore.list_user_likes(%s, NULL, by_date => true) WHERE post_id = ANY (%s::uuid[])',
						(other, self.gone_posts[-3:])))
		return queries
