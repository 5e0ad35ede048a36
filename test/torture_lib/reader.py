"""The reader looks at the store while clients write, in one snapshot at a time.

The views may lag behind, so it checks what holds in every snapshot: counts are
equal to the items, lists are in order, and no list has an item twice. A delta
may remain whose partition was detached while its post was deleted; the checker
waits until the worker finds it. While a user is being deleted, the container
still has the user's items, although no query returns them, so the reader then
compares counts with the lists.
"""

import random
import threading
import time

import psycopg2

from .model import SHORT_FORM
from .verdict import Divergence

WRONG_COUNTS = """
SELECT c.post_id, g.comment_count, g.like_count, c.comments, c.likes
FROM (
	SELECT post_id, count(*) FILTER (WHERE type = 'comment' AND hidden IS NOT TRUE) AS comments,
		count(*) FILTER (WHERE type = 'like') AS likes
	FROM blogstore.posts GROUP BY post_id HAVING bool_or(type <> 'delta')) c
LEFT JOIN LATERAL blogstore.get_post(c.post_id) g ON true
WHERE (g.comment_count, g.like_count) IS DISTINCT FROM (c.comments, c.likes)
"""

# The rows of a post with wrong counts
ROWS = """
SELECT tableoid::regclass, ctid, xmin, xmax, id, user_id, comment_count, like_count
FROM blogstore.posts WHERE post_id = %s ORDER BY 1, 2
"""

# The posts with most comments and likes
LISTED = """
SELECT p.post_id, g.comment_count, g.like_count,
	(SELECT count(*) FROM blogstore.list_post_comments(p.post_id, NULL)),
	(SELECT count(*) FROM blogstore.list_post_likes(p.post_id, NULL))
FROM (
	SELECT post_id FROM blogstore.posts WHERE type <> 'post'
	GROUP BY post_id ORDER BY count(*) DESC LIMIT 15) p,
	LATERAL blogstore.get_post(p.post_id) g
"""


# Hidden posts that a list returns in the same snapshot
HIDDEN_IN_LISTS = """
WITH hidden AS (SELECT post_id, user_id FROM blogstore.posts WHERE type = 'post' AND hidden)
SELECT 'list_feed()', post_id FROM blogstore.list_feed(NULL) JOIN hidden USING (post_id)
UNION ALL
SELECT 'list_user_posts()', l.post_id FROM (SELECT DISTINCT user_id FROM hidden) u,
	LATERAL blogstore.list_user_posts(u.user_id, NULL) l JOIN hidden h ON h.post_id = l.post_id
UNION ALL
SELECT 'get_posts()', g.post_id FROM hidden h JOIN blogstore.get_posts(ARRAY(SELECT post_id FROM hidden)) g USING (post_id)
WHERE NOT g.hidden
"""

# Differences of get_posts() and get_likes() from get_post() and get_like()
MANY = """
WITH asked AS MATERIALIZED (
	SELECT post_id, row_number() OVER () AS n FROM (
		SELECT post_id FROM (SELECT post_id FROM blogstore.posts WHERE type = 'post' ORDER BY random() LIMIT 20) p, generate_series(1, 2)
		ORDER BY random()) p),
one AS (SELECT array_agg(g ORDER BY a.n) AS posts FROM asked a, LATERAL blogstore.get_post(a.post_id) g),
liker AS (SELECT user_id FROM blogstore.posts WHERE type = 'like' ORDER BY random() LIMIT 1)
SELECT 'get_posts()', many.posts::text, one.posts::text
FROM one, (SELECT array_agg(g) AS posts FROM blogstore.get_posts(ARRAY(SELECT post_id FROM asked ORDER BY n)) g) many
WHERE many.posts IS DISTINCT FROM one.posts
UNION ALL
SELECT 'get_likes()', many.likes::text, one.likes::text
FROM liker, LATERAL (SELECT array_agg(g ORDER BY a.n) AS likes FROM asked a, LATERAL blogstore.get_like(a.post_id, liker.user_id) g) one,
	LATERAL (SELECT array_agg(g) AS likes FROM blogstore.get_likes(liker.user_id, ARRAY(SELECT post_id FROM asked ORDER BY n)) g) many
WHERE many.likes IS DISTINCT FROM one.likes
"""


# Comments on a post with replies for which two requests differ
REPLIES = """
WITH post AS (SELECT post_id FROM blogstore.posts WHERE type = 'comment' AND parent_id IS NOT NULL ORDER BY random() LIMIT 1),
c AS MATERIALIZED (SELECT l.* FROM post, LATERAL blogstore.list_post_comments(post.post_id, NULL, include_hidden => true) l)
SELECT 'parent_deleted of a list', id FROM c
WHERE parent_deleted IS DISTINCT FROM CASE WHEN parent_id IS NOT NULL THEN NOT EXISTS (SELECT FROM c AS p WHERE p.id = c.parent_id) END
UNION ALL
SELECT 'reply_count of a list', id FROM c
WHERE reply_count <> (SELECT count(*) FROM c AS r WHERE r.parent_id = c.id AND NOT r.hidden)
UNION ALL
SELECT 'like_count of a list', id FROM c
WHERE like_count <> (SELECT count(*) FROM blogstore.list_comment_likes(c.post_id, c.id, NULL))
UNION ALL
SELECT 'get_comment()', id FROM c WHERE c IS DISTINCT FROM (SELECT g FROM blogstore.get_comment(c.post_id, c.id) g)
UNION ALL
SELECT 'list_post_comments() of the top level', post_id FROM post
WHERE ARRAY(SELECT id FROM c WHERE parent_id IS NULL ORDER BY creation_date DESC, id DESC LIMIT 10) <>
	ARRAY(SELECT t.id FROM blogstore.list_post_comments(post.post_id, 10, include_hidden => true, top_level => true) WITH ORDINALITY t
		ORDER BY t.ordinality)
UNION ALL
SELECT 'list_comment_replies()', parent_id FROM (SELECT DISTINCT post_id, parent_id FROM c WHERE parent_id IS NOT NULL) p
WHERE ARRAY(SELECT id FROM c WHERE c.parent_id = p.parent_id ORDER BY creation_date DESC, id DESC) <>
	ARRAY(SELECT r.id FROM blogstore.list_comment_replies(p.post_id, p.parent_id, NULL, include_hidden => true) WITH ORDINALITY r
		ORDER BY r.ordinality)
"""


# A user's comments and likes by the lists of the posts
COMMENTS_OF_POSTS = """
SELECT l.* FROM (SELECT DISTINCT post_id FROM blogstore.posts WHERE type = 'comment' AND user_id = %(user)s) p,
	LATERAL blogstore.list_post_comments(p.post_id, NULL, include_hidden => %(hidden)s) l
WHERE l.user_id = %(user)s ORDER BY l.creation_date DESC, l.id DESC
"""
LIKES_OF_POSTS = """
SELECT l.* FROM (
	SELECT l.* FROM (SELECT post_id FROM blogstore.posts WHERE type = 'like' AND user_id = %(user)s) p,
		LATERAL blogstore.list_post_likes(p.post_id, NULL) l
	UNION ALL
	SELECT l.* FROM (SELECT post_id, comment_id FROM blogstore.posts WHERE type = 'comment_like' AND user_id = %(user)s) p,
		LATERAL blogstore.list_comment_likes(p.post_id, p.comment_id, NULL) l) l
WHERE l.user_id = %(user)s ORDER BY """
# A user, preferably one with items on posts of users who are being deleted
SOMEBODY = """
SELECT i.user_id FROM blogstore.posts i WHERE type IN ('comment', 'like', 'comment_like') AND user_id IS NOT NULL
ORDER BY random() < 0.8 AND post_id IN (SELECT p.post_id FROM blogstore.posts p, blogstore.jobs j
	WHERE p.type = 'post' AND j.kind = 'deletion' AND p.user_id = j.id) DESC, random() LIMIT 1
"""
COMMENT_DATE, LIKE_DATE, LIKE_POST, LIKE_COMMENT = 6, 5, 2, 6		# indexes in a row


class Reader(threading.Thread):
	"""Reads in a loop until the run ends."""

	def __init__(self, server, verdict, alterations, seed):
		super().__init__(name='reader', daemon=True)
		self.server = server
		self.verdict = verdict
		self.alterations = alterations
		self.random = random.Random(f'{seed}/reader')

	def run(self):
		connection = None
		while not self.verdict.over.is_set():
			started = time.monotonic()
			try:
				if connection is None or connection.closed:
					connection = self.server.connect_patiently()
				self._look(connection.cursor())
				self.verdict.count('snapshots read')
			except Divergence as divergence:
				# While a partition is detached, counts may differ.
				if not self.alterations.beside(started):
					self.verdict.fail(str(divergence))
				connection.cursor().execute('ROLLBACK')
			except (psycopg2.Error, ConnectionError) as error:
				if not self._excusable(error, connection) and not self.alterations.excuse(error, started, direct=True):
					self.verdict.fail(f'reader: {error.pgcode} {str(error).strip()}')
				if connection is not None:
					connection.close()
				connection = None
			time.sleep(0.05)

	@staticmethod
	def _excusable(error, connection):
		code = getattr(error, 'pgcode', None)
		if code is None or connection is None or connection.closed:
			return True
		return code.startswith(('57P', '08')) or code in ('40001', '40P01')

	def _look(self, cursor):
		cursor.execute('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
		cursor.execute("SELECT count(*) FROM blogstore.jobs WHERE kind = 'deletion'")
		if cursor.fetchone()[0] == 0:
			self._look_at_counts(cursor)
		self._look_at_children(cursor)
		self._look_at_lists(cursor)
		self._look_at_hidden(cursor)
		self._look_at_many(cursor)
		self._look_at_replies(cursor)
		self._look_at_users(cursor)
		cursor.execute('COMMIT')

	def _look_at_counts(self, cursor):
		cursor.execute(WRONG_COUNTS)
		for post, *numbers in cursor.fetchall():
			raise Divergence(
				f'reader: in one snapshot get_post({post}) counts {numbers[0]} comments and {numbers[1]} likes, '
				f'and there are {numbers[2]} and {numbers[3]}{self._rows_of(cursor, post)}')
		self.verdict.count('snapshots with counts compared')

	def _look_at_children(self, cursor):
		cursor.execute(LISTED)
		wrong = [row for row in cursor.fetchall() if row[1:3] != row[3:]]
		if wrong:
			# A user's deletion by COMMIT PREPARED may become visible between
			# two queries. A wrong snapshot stays wrong, so read it again.
			self.verdict.count('second looks')
			time.sleep(0.05)
			cursor.execute(LISTED)
			for post, *numbers in [row for row in cursor.fetchall() if row[1:3] != row[3:]]:
				raise Divergence(
					f'reader: in one snapshot get_post({post}) counts {numbers[0]} comments and {numbers[1]} likes, '
					f'and {numbers[2]} and {numbers[3]} are listed{self._rows_of(cursor, post)}')

	@staticmethod
	def _rows_of(cursor, post):
		"""Return a post's rows in this snapshot and in the next one."""
		text = ''
		try:
			for name in ('that snapshot', 'the next one'):
				cursor.execute('SELECT pg_current_snapshot()::text')
				text += f'\n  {name}, {cursor.fetchone()[0]}:'
				cursor.execute(ROWS, (post,))
				text += ''.join('\n    ' + ' | '.join(str(value) for value in row) for row in cursor.fetchall())
				cursor.execute('SELECT * FROM blogstore.get_post(%s)', (post,))
				text += ''.join(f'\n    get_post(): {row[7]} comments, {row[8]} likes' for row in cursor.fetchall())
				cursor.execute('COMMIT')
		except psycopg2.Error as error:
			text += f'\n  {error}'
		return text

	def _look_at_lists(self, cursor):
		page = self.random.choice([None, 1, 20, 100])
		cursor.execute('SELECT * FROM blogstore.list_feed(%s)', (page,))
		self._judge_list(f'list_feed({page})', cursor.fetchall(), page)
		cursor.execute("SELECT user_id FROM blogstore.users WHERE type = 'user' ORDER BY random() LIMIT 3")
		for (user,) in cursor.fetchall():
			cursor.execute('SELECT * FROM blogstore.list_user_posts(%s, %s)', (user, page))
			self._judge_list(f'list_user_posts({user}, {page})', cursor.fetchall(), page, user)

	def _look_at_hidden(self, cursor):
		"""Check that a hidden post is in no list from its commit on."""
		cursor.execute(HIDDEN_IN_LISTS)
		for call, post in cursor.fetchall():
			raise Divergence(f'reader: in one snapshot {call} gives post {post}, which is hidden{self._rows_of(cursor, post)}')

	def _look_at_many(self, cursor):
		cursor.execute(MANY)
		for call, many, one in cursor.fetchall():
			raise Divergence(f'reader: in one snapshot {call} gives\n  {many}\n  and one by one\n  {one}')

	def _look_at_replies(self, cursor):
		cursor.execute(REPLIES)
		if cursor.fetchall():
			# as in _look_at_children()
			self.verdict.count('second looks')
			time.sleep(0.05)
			cursor.execute(REPLIES)
			for call, comment in cursor.fetchall():
				raise Divergence(f'reader: in one snapshot {call} differs from list_post_comments() for {comment}')

	def _look_at_users(self, cursor):
		"""Check the lists of a user's comments and likes, and pages of them.
		"""
		cursor.execute(SOMEBODY)
		for (user,) in cursor.fetchall():
			hidden = self.random.random() < 0.5
			if any(found != expected for _, found, expected in self._lists_of(cursor, user, hidden)):
				# as in _look_at_children()
				self.verdict.count('second looks')
				time.sleep(0.05)
				for call, found, expected in self._lists_of(cursor, user, hidden):
					if found != expected:
						raise Divergence(f'reader: in one snapshot {call} gives\n  {found}\n  and by the lists of posts\n  {expected}')
			self.verdict.count('users whose lists were compared')

	def _lists_of(self, cursor, user, hidden):
		"""Return the lists of a user, with the rows found and expected."""
		def ask(query, **values):
			cursor.execute(query, {'user': user, 'hidden': hidden, **values})
			return cursor.fetchall()

		rows = ask(COMMENTS_OF_POSTS)
		arguments = '%(user)s, %(size)s, %(date)s, %(id)s, %(oldest)s'
		yield from self._pages_of('list_user_comments', f'{arguments}, include_hidden => %(hidden)s', rows, COMMENT_DATE, ask)
		arguments = '%(user)s, %(size)s, NULL, true, %(date)s, %(id)s, %(oldest)s'
		yield from self._pages_of('list_user_likes', arguments, ask(LIKES_OF_POSTS + 'l.creation_date DESC, l.id DESC'), LIKE_DATE, ask)
		rows = ask(LIKES_OF_POSTS + 'l.post_id, l.comment_id NULLS FIRST')
		yield 'list_user_likes()', ask('SELECT * FROM blogstore.list_user_likes(%(user)s, NULL)'), rows
		if rows:
			place = self.random.randrange(len(rows))
			yield 'list_user_likes() behind a like', ask(
				'SELECT * FROM blogstore.list_user_likes(%(user)s, 5, %(post)s, after_comment_id => %(comment)s)',
				post=rows[place][LIKE_POST], comment=rows[place][LIKE_COMMENT]), rows[place + 1:place + 6]

	def _pages_of(self, function, arguments, rows, date, ask):
		"""Return calls for a list by date: all rows, and pages from a row on.
		"""
		query = f'SELECT * FROM blogstore.{function}({arguments})'
		for oldest in (False, True):
			order = rows[::-1] if oldest else rows
			yield f'{function}(), oldest_first {oldest}', ask(query, size=None, date=None, id=None, oldest=oldest), order
			if not rows:
				continue
			place = self.random.randrange(len(order))
			at = order[place][date]
			# Cut the date like a client with milliseconds.
			if self.random.random() < 0.5:
				at = at.replace(microsecond=at.microsecond // 1000 * 1000)
			yield f'{function}() from {at}, oldest_first {oldest}', ask(
				query, size=7, date=at, id=order[place][0], oldest=oldest), order[place + 1:place + 8]

	@staticmethod
	def _judge_list(call, rows, page, user=None):
		keys = [(row[9], row[0]) for row in rows]
		if any(later >= earlier for earlier, later in zip(keys, keys[1:])):
			raise Divergence(f'reader: {call} is out of order, or has a post twice: {keys}')
		if len({row[0] for row in rows}) < len(rows):
			raise Divergence(f'reader: {call} has a post twice: {keys}')
		if page is not None and len(rows) > page:
			raise Divergence(f'reader: {call} gives {len(rows)} posts')
		for row in rows:
			if len(row[6]) > SHORT_FORM or row[1] != 'post' or user not in (None, row[3]):
				raise Divergence(f'reader: {call} gives {row}')
