"""What the store must show, according to the ledgers of all clients."""

from collections import Counter

from . import properties
from .model import SHORT_FORM


class Expected:
	"""The union of all ledgers. It is made while the clients wait."""

	def __init__(self, ledgers, short_form_keys):
		self._short_form_keys = short_form_keys
		self.users = {}
		self.posts = {}
		self.comments = {}
		self.likes = {}
		self.follows = {}
		for ledger in ledgers:
			self.users.update(ledger.users)
			self.posts.update(ledger.posts)
			self.follows.update(ledger.follows)
		for ledger in ledgers:
			# Comments on a deleted post are gone for good.
			ledger.comments = {key: item for key, item in ledger.comments.items() if item.post in self.posts}
			self.comments.update(ledger.comments)
		for ledger in ledgers:
			# So are likes of a deleted post or comment.
			ledger.likes = {key: date for key, date in ledger.likes.items()
				if key[0] in self.posts and (key[2] is None or key[2] in self.comments)}
			self.likes.update(ledger.likes)
		self.gone_users = [user for ledger in ledgers for user in ledger.gone_users]
		self.gone_posts = [post for ledger in ledgers for post in ledger.gone_posts]
		self.comments_of = {post: [] for post in self.posts}
		self.likes_of = {post: [] for post in self.posts}
		self._comments_by = {}
		self._comment_likes = Counter(comment for _, _, comment in self.likes)
		self._reply_counts = Counter(item.parent for item in self.comments.values() if not item.hidden)
		for key, item in sorted(self.comments.items(), key=lambda pair: (pair[1].date, pair[0]), reverse=True):
			self.comments_of[item.post].append(key)
			self._comments_by.setdefault(item.user, []).append(key)
		for (post, user, comment), date in self.likes.items():
			if comment is None:
				self.likes_of[post].append((user, date))

	def name(self, user):
		"""Return the name of a user."""
		return self.users[user].username

	def user_rows(self):
		"""Return the user items."""
		return [(key, 'user', key, item.username, item.date, item.properties) for key, item in self.users.items()]

	def post_row(self, post, short=False):
		"""Return a post item with its counts."""
		item = self.posts[post]
		return (post, 'post', post, item.user, self.name(item.user), item.title,
			item.content[:SHORT_FORM] if short else item.content,
			sum(not self.comments[key].hidden for key in self.comments_of[post]), len(self.likes_of[post]), item.date,
			item.hidden, item.edited,
			properties.shorten(item.properties, self._short_form_keys) if short else item.properties,
			item.publish)

	def post_rows(self, user=None, short=True, hidden=False):
		"""Return post items, of one user or of all, the newest first."""
		posts = [post for post, item in self.posts.items() if user in (None, item.user) and (hidden or not item.hidden)]
		posts.sort(key=lambda post: (self.posts[post].date, post), reverse=True)
		return [self.post_row(post, short) for post in posts]

	def comment_rows(self, post, parent=None, hidden=False, top_level=False):
		"""Return a post's comments, or the replies to one, the newest first.
		"""
		return [row for row in map(self._comment_row, self.comments_of[post])
			if (hidden or not row[9]) and parent in (None, row[7]) and not (top_level and row[7])]

	def comments_by(self, user, hidden=False):
		"""Return a user's comments, the newest first."""
		return [row for row in map(self._comment_row, self._comments_by.get(user, ())) if hidden or not row[9]]

	def _comment_row(self, key):
		item = self.comments[key]
		return (key, 'comment', item.post, item.user, self.name(item.user), item.content, item.date,
			item.parent, None if item.parent is None else item.parent not in self.comments,
			item.hidden, item.edited, item.properties, self._comment_likes[key], self._reply_counts[key])

	def follow_rows(self):
		"""Return the follow items without their ids, which the store generates.
		"""
		return [('follow', user, self.name(user), followed, self.name(followed), date)
			for (user, followed), date in self.follows.items()]

	def home_rows(self, user):
		"""Return the posts of all whom a user follows, the newest first."""
		followed = {other for reader, other in self.follows if reader == user}
		return [row for row in self.post_rows() if row[3] in followed]

	def like_rows(self, of_posts=True, of_comments=True):
		"""Return the like items without their ids, which the store generates.
		"""
		return [('comment_like' if comment else 'like', post, comment, user, self.name(user), date)
			for (post, user, comment), date in self.likes.items() if (of_comments if comment else of_posts)]
