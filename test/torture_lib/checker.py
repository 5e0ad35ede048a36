"""The checker compares everything that the store shows with the model.

It runs while the clients wait at the gate, so that their ledgers, the records
of acknowledged commands, do not change. Each comparison counts as a check.
"""

import itertools
import random
import time
from collections import Counter
from datetime import datetime, timezone

import psycopg2

from lib.server import PATIENCE

from . import hostile_caller, hostile_owner
from .expected import Expected
from .properties import TOPIC_PROPERTY
from .reader import WRONG_COUNTS
from .verdict import Divergence

ARTICLE = 'id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date'
POST_COLUMNS = f'{ARTICLE}, coalesce(hidden, false), modification_date, properties, publish_date'
HIDDEN = -4			# its index in a post's row; the feed has no such column, and no publish_date
NEWEST_FIRST = 'ORDER BY creation_date DESC, id DESC'

# The id of a permanent delta
COUNTER = '00000000-0000-0000-0000-000000000000'
DELTAS = "SELECT post_id, count(*) FROM blogstore.posts WHERE type = 'delta' GROUP BY post_id"
PARKED = "SELECT kind, user_id FROM blogstore.progress WHERE phase = 'parked'"

# Log lines that the test itself does not cause: its kill -9 is signal 9.
OWN_CRASH = r'PANIC: |TRAP: |was terminated by signal (?!9\b)'


def differences(expected, found):
	"""Describe the difference of two lists of rows; None if there is none."""
	if expected == found:
		return None
	missing = list((Counter(expected) - Counter(found)).elements())
	extra = list((Counter(found) - Counter(expected)).elements())
	if not missing and not extra:
		place = next(n for n, pair in enumerate(zip(expected, found)) if pair[0] != pair[1])
		return f'row {place} of {len(expected)}: expected {expected[place]!r}\n  found    {found[place]!r}'
	lines = [f'expected {len(expected)} rows, found {len(found)}']
	lines += [f'  missing  {shorten(row)}' for row in missing[:4]]
	lines += [f'  extra    {shorten(row)}' for row in extra[:4]]
	return '\n'.join(lines)


def shorten(row):
	"""Return a row with its texts cut."""
	return '(' + ', '.join(
		repr(value) if not isinstance(value, str) or len(value) < 60 else repr(value[:57] + '...')
		for value in row) + ')'


class Checker:
	"""Compares the whole store with the model."""

	def __init__(self, server, clients, verdict, seed, alterations=None):
		self.server = server
		self.clients = clients
		self.alterations = alterations	# None in a run without hostile roles
		self.verdict = verdict
		self.random = random.Random(f'{seed}/checker')
		self.cursor = None

	def check(self, when):
		"""Make all checks, and note those that fail."""
		connection = self.server.connect_patiently()
		self.cursor = connection.cursor()
		failures = []
		self._publish(when)
		expected = Expected([client.ledger for client in self.clients], self.server.short_form_keys)
		try:
			for part in self.parts():
				for name, outcome in part(expected):
					if outcome:
						failures.append(f'{when}: {name}: {outcome}')
					else:
						self.verdict.passes()
				if any('wait_for_views' in failure for failure in failures):
					# Other views would differ for the same reason.
					break
		except psycopg2.Error as error:
			raise Divergence(f'{when}: {error.pgcode} {str(error).strip()}, in\n'
				+ (self.cursor.query or b'').decode(errors='replace')[:500]) from error
		finally:
			connection.close()
		self.verdict.count('rounds of checks')
		for failure in failures:
			self.verdict.fail(failure)

	def _publish(self, when):
		"""Wait until the worker has published the posts that have a date."""
		dates = {}
		for client in self.clients:
			dates.update(client.ledger.scheduled())
		if not dates:
			return
		self.verdict.count('posts to be published', len(dates))
		time.sleep(max(0, (max(dates.values()) - datetime.now(timezone.utc)).total_seconds()))
		late = self._lasting("SELECT post_id FROM blogstore.posts WHERE type = 'post' AND hidden AND post_id = ANY (%s::uuid[])", list(dates))
		if late:
			raise Divergence(f'{when}: not published in {PATIENCE:.0f} s: {late}')
		for client in self.clients:
			client.ledger.publish()

	def parts(self):
		"""Return the parts of a check, in their order."""
		return (self._settled, self._containers, self._views, self._users, self._posts,
			self._children, self._lists, self._of_users, self._follows, self._many, self._paging, self._gone, self._folded)

	def _rows(self, query, *parameters):
		self.cursor.execute(query, parameters)
		return self.cursor.fetchall()

	def _same(self, expected, query, *parameters):
		"""Compare the rows of a query in any order."""
		return self._same_rows(expected, self._rows(query, *parameters))

	# -- the parts -------------------------------------------------------

	def _settled(self, expected):
		yield 'no prepared transaction is left', differences([], self._rows('SELECT gid FROM pg_prepared_xacts'))
		yield 'the worker goes by blogstore.short_form_properties', differences([], self._lasting(
			'SELECT short_form FROM blogstore.view_state WHERE short_form <> %s', self._short_form_stamp()))
		yield from self._views_follow()
		if self.alterations is not None and self.alterations.since_check:
			self.alterations.since_check = False
			yield from self._parked()
		yield 'verify()', differences([], self._rows('SELECT * FROM blogstore.verify()'))
		crashes = self.server.log_lines(OWN_CRASH)
		yield 'nothing crashes by itself', '\n'.join(crashes[:3])
		if self.alterations is not None:
			yield from self._hostile()

	def _short_form_stamp(self):
		"""The value by which the worker stores the setting of the views."""
		kept = ('', 2) if self.server.short_form_keys is None else (self.server.short_form, 0)
		number, = self._rows('SELECT hashtextextended(%s, hashtextextended(%s, %s))', TOPIC_PROPERTY, *kept)[0]
		return (number % 2 ** 64 >> 1) + 1

	def _views_follow(self):
		yield 'wait_for_views()', differences([(True,)], self._rows(
			'SELECT blogstore.wait_for_views(%s)', f'{PATIENCE:.0f} s'))

	def _parked(self):
		"""Check that failed jobs get done; a new worker tries them at once."""
		if not self._rows(PARKED):
			return
		self.verdict.count('rounds with parked jobs')
		self._rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = current_database()")
		yield 'parked jobs are tried again', differences([], self._lasting(PARKED))
		yield from self._views_follow()

	def _hostile(self):
		"""Check that attached code ran as the owner, and planted code as its
		caller."""
		number, wrong = hostile_owner.audit_problems(self.cursor)
		self.verdict.count('audited comments', number)
		yield 'the audit trigger ran as the owner, with safe settings', differences([], wrong)
		yield 'no planted code ran as another role', differences([], hostile_caller.loot(self.cursor))
		loot = [line for line in self.server.log_lines('torture_loot taken as')
			if not line.endswith(f'as {hostile_caller.CALLER}')]
		yield 'no planted code ran as another role, and was rolled back', '\n'.join(loot[:3])

	def _containers(self, expected):
		yield 'user items', self._same(expected.user_rows(), """
			SELECT id, type, user_id, username, creation_date, properties FROM blogstore.users WHERE type = 'user'""")
		yield from self._items(expected)
		yield 'get_post() counts what count(*) counts', differences([], self._rows(WRONG_COUNTS))
		yield 'deltas of counts have their posts', differences([], self._lasting(
			DELTAS + ' HAVING NOT post_id = ANY (%s::uuid[])', list(expected.posts)))

	def _items(self, expected):
		# Deltas may hold a part of the counts. get_post() is checked below.
		yield 'post items', self._same(
			[row[:7] + row[9:] for row in expected.post_rows(short=False, hidden=True)], """
			SELECT id, type, post_id, user_id, user_username, title, content, creation_date,
				coalesce(hidden, false), modification_date, properties, publish_date
			FROM blogstore.posts WHERE type = 'post'""")
		yield 'comment items', self._same(
			[row[:8] + row[9:-2] for post in expected.posts for row in expected.comment_rows(post, hidden=True)], """
			SELECT id, type, post_id, user_id, user_username, content, creation_date,
				parent_id, coalesce(hidden, false), modification_date, properties
			FROM blogstore.posts WHERE type = 'comment'""")
		yield 'like items', self._same(expected.like_rows(), """
			SELECT type, post_id, comment_id, user_id, user_username, creation_date
			FROM blogstore.posts WHERE type IN ('like', 'comment_like')""")

	def _views(self, expected):
		yield 'copies of posts in users', differences(expected.post_rows(hidden=True), self._rows(
			f"SELECT {POST_COLUMNS} FROM blogstore.users WHERE type = 'post' {NEWEST_FIRST}"))
		yield 'posts in feed', differences(
			[row[:HIDDEN] + row[HIDDEN + 1:-1] for row in expected.post_rows()[:self.server.feed_size]],
			self._rows(f'SELECT {ARTICLE}, modification_date, properties FROM blogstore.feed {NEWEST_FIRST}'))
		# verify() has compared the table with the posts.
		rows = {row[0]: row for row in expected.post_rows()}
		topics = self._rows("SELECT topic, id FROM blogstore.topics WHERE type = 'topic_post' ORDER BY topic, creation_date DESC, id DESC")
		self.verdict.count('posts of topics', len(topics))
		yield 'list_topics()', differences(
			sorted(Counter(topic for topic, _ in topics).items(), key=lambda pair: pair[0].encode()),
			self._rows('SELECT topic, post_count FROM blogstore.list_topics(page_size => NULL)'))
		yield 'list_topic_posts()', differences(
			[(topic, *rows[post]) for topic, post in topics if post in rows], self._rows(f"""
			SELECT t.topic, {POST_COLUMNS} FROM blogstore.list_topics(page_size => NULL) WITH ORDINALITY t (topic, post_count, n),
				LATERAL blogstore.list_topic_posts(t.topic, NULL) WITH ORDINALITY l ORDER BY t.n, l.ordinality"""))

	def _users(self, expected):
		users = expected.user_rows()
		yield 'get_user()', self._same(users, """
			SELECT g.* FROM unnest(%s::uuid[]) u, LATERAL blogstore.get_user(u) g""", [row[0] for row in users])
		yield 'get_user_by_name()', self._same(users, """
			SELECT g.* FROM unnest(%s::text[]) n, LATERAL blogstore.get_user_by_name(upper(n)) g""",
			[row[3] for row in users])

	def _posts(self, expected):
		rows = expected.post_rows(short=False, hidden=True)
		yield 'get_post()', self._same(rows, """
			SELECT g.* FROM unnest(%s::uuid[]) p, LATERAL blogstore.get_post(p) g""", [row[0] for row in rows])

	def _children(self, expected):
		posts = list(expected.posts)
		for hidden, oldest_first in itertools.product((False, True), repeat=2):
			rows = [expected.comment_rows(post, hidden=hidden)[::-1 if oldest_first else 1] for post in posts]
			yield f'list_post_comments(), include_hidden {hidden}, oldest_first {oldest_first}', differences(
				[row for comments in rows for row in comments], self._rows("""
				SELECT c.id, c.type, c.post_id, c.user_id, c.user_username, c.content, c.creation_date,
					c.parent_id, c.parent_deleted, c.hidden, c.modification_date, c.properties, c.like_count, c.reply_count
				FROM unnest(%s::uuid[]) WITH ORDINALITY p(id, n),
					LATERAL blogstore.list_post_comments(p.id, NULL, oldest_first => %s, include_hidden => %s) WITH ORDINALITY c
				ORDER BY p.n, c.ordinality""", posts, oldest_first, hidden))
			rows = [expected.comment_rows(post, hidden=hidden, top_level=True)[::-1 if oldest_first else 1][:5] for post in posts]
			yield f'list_post_comments() of the top level, include_hidden {hidden}, oldest_first {oldest_first}', differences(
				[(row[0], *row[-2:]) for comments in rows for row in comments], self._rows("""
				SELECT c.id, c.like_count, c.reply_count
				FROM unnest(%s::uuid[]) WITH ORDINALITY p(id, n), LATERAL blogstore.list_post_comments(
					p.id, 5, oldest_first => %s, include_hidden => %s, top_level => true) WITH ORDINALITY c
				ORDER BY p.n, c.ordinality""", posts, oldest_first, hidden))
			parents = list({(item.post, item.parent): None for item in expected.comments.values() if item.parent})
			rows = [expected.comment_rows(*parent, hidden=hidden)[::-1 if oldest_first else 1] for parent in parents]
			yield f'list_comment_replies(), include_hidden {hidden}, oldest_first {oldest_first}', differences(
				[row for comments in rows for row in comments], self._rows("""
				SELECT c.id, c.type, c.post_id, c.user_id, c.user_username, c.content, c.creation_date,
					c.parent_id, c.parent_deleted, c.hidden, c.modification_date, c.properties, c.like_count, c.reply_count
				FROM unnest(%s::uuid[], %s::uuid[]) WITH ORDINALITY p(post_id, id, n),
					LATERAL blogstore.list_comment_replies(p.post_id, p.id, NULL, oldest_first => %s, include_hidden => %s) WITH ORDINALITY c
				ORDER BY p.n, c.ordinality""", [post for post, _ in parents], [parent for _, parent in parents], oldest_first, hidden))
		# The store generates the ids of likes. Check the order by the result.
		likes = self._rows("""
			SELECT p.n, c.id, c.type, c.post_id, c.comment_id, c.user_id, c.user_username, c.creation_date
			FROM unnest(%s::uuid[]) WITH ORDINALITY p(id, n),
				LATERAL blogstore.list_post_likes(p.id, NULL) WITH ORDINALITY c
			ORDER BY p.n, c.ordinality""", posts)
		yield 'list_post_likes()', self._same_rows(expected.like_rows(of_comments=False), [row[2:] for row in likes])
		yield 'list_post_likes() in order', self._in_order(likes)
		comments = list(expected.comments)
		likes = self._rows("""
			SELECT p.n, c.id, c.type, c.post_id, c.comment_id, c.user_id, c.user_username, c.creation_date
			FROM unnest(%s::uuid[], %s::uuid[]) WITH ORDINALITY p(post, id, n),
				LATERAL blogstore.list_comment_likes(p.post, p.id, NULL) WITH ORDINALITY c
			ORDER BY p.n, c.ordinality""", [expected.comments[key].post for key in comments], comments)
		yield 'list_comment_likes()', self._same_rows(expected.like_rows(of_posts=False), [row[2:] for row in likes])
		yield 'list_comment_likes() in order', self._in_order(likes)
		pairs = list(dict.fromkeys((user, post) for post, user, comment in expected.likes if comment))
		yield 'get_comment_likes()', self._same(
			[row for row in expected.like_rows(of_posts=False) if not expected.comments[row[2]].hidden], """
			SELECT g.type, g.post_id, g.comment_id, g.user_id, g.user_username, g.creation_date
			FROM unnest(%s::uuid[], %s::uuid[]) l(u, p), LATERAL blogstore.get_comment_likes(l.u, l.p) g""",
			[user for user, _ in pairs], [post for _, post in pairs])
		yield 'get_like()', self._same(expected.like_rows(), """
			SELECT g.type, g.post_id, g.comment_id, g.user_id, g.user_username, g.creation_date
			FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) l(p, u, c), LATERAL blogstore.get_like(l.p, l.u, l.c) g""",
			*([key[n] for key in expected.likes] for n in range(3)))
		rows = [row for post in expected.posts for row in expected.comment_rows(post, hidden=True)]
		yield 'get_comment()', self._same(rows, """
			SELECT c.id, c.type, c.post_id, c.user_id, c.user_username, c.content, c.creation_date,
				c.parent_id, c.parent_deleted, c.hidden, c.modification_date, c.properties, c.like_count, c.reply_count
			FROM unnest(%s::uuid[], %s::uuid[]) l(p, c), LATERAL blogstore.get_comment(l.p, l.c) c""",
			[row[2] for row in rows], [row[0] for row in rows])

	@staticmethod
	def _same_rows(expected, found):
		"""Compare rows in any order."""
		return differences(sorted(expected, key=str), sorted(found, key=str))

	@staticmethod
	def _in_order(likes):
		"""Compare the order of lists, which begin with their number and the id."""
		keys = [(-row[0], row[-1], row[1]) for row in likes]
		return differences(sorted(keys, reverse=True), keys)

	def _lists(self, expected):
		yield 'list_feed()', differences(
			expected.post_rows(), self._rows('SELECT * FROM blogstore.list_feed(NULL)'))
		users = list(expected.users)
		for hidden, oldest_first in itertools.product((False, True), repeat=2):
			rows = [expected.post_rows(user, hidden=hidden)[::-1 if oldest_first else 1] for user in users]
			yield f'list_user_posts(), include_hidden {hidden}, oldest_first {oldest_first}', differences(
				[row for posts in rows for row in posts], self._rows(f"""
				SELECT {POST_COLUMNS} FROM unnest(%s::uuid[]) WITH ORDINALITY u(user_key, n),
					LATERAL blogstore.list_user_posts(u.user_key, NULL, oldest_first => %s, include_hidden => %s) WITH ORDINALITY c
				ORDER BY u.n, c.ordinality""", users, oldest_first, hidden))

	def _of_users(self, expected):
		"""Check the lists of users' comments and likes."""
		users = list(expected.users)
		for hidden, oldest_first in itertools.product((False, True), repeat=2):
			rows = [expected.comments_by(user, hidden)[::-1 if oldest_first else 1] for user in users]
			yield f'list_user_comments(), include_hidden {hidden}, oldest_first {oldest_first}', differences(
				[row for comments in rows for row in comments], self._rows("""
				SELECT c.id, c.type, c.post_id, c.user_id, c.user_username, c.content, c.creation_date,
					c.parent_id, c.parent_deleted, c.hidden, c.modification_date, c.properties, c.like_count, c.reply_count
				FROM unnest(%s::uuid[]) WITH ORDINALITY u(user_key, n),
					LATERAL blogstore.list_user_comments(u.user_key, NULL, oldest_first => %s, include_hidden => %s) WITH ORDINALITY c
				ORDER BY u.n, c.ordinality""", users, oldest_first, hidden))
		place = {user: n for n, user in enumerate(users)}
		query = """
			SELECT c.type, c.post_id, c.comment_id, c.user_id, c.user_username, c.creation_date, c.id
			FROM unnest(%s::uuid[]) WITH ORDINALITY u(user_key, n),
				LATERAL blogstore.list_user_likes(u.user_key, NULL, by_date => %s) WITH ORDINALITY c
			ORDER BY u.n, c.ordinality"""
		yield 'list_user_likes()', differences(
			sorted(expected.like_rows(), key=lambda row: (place[row[3]], row[1], row[2] or '')),
			[row[:-1] for row in self._rows(query, users, False)])
		# The store generates the ids of likes. Check the order by the result.
		likes = self._rows(query, users, True)
		yield 'list_user_likes() by date', self._same_rows(expected.like_rows(), [row[:-1] for row in likes])
		keys = [(-place[row[3]], row[5], row[6]) for row in likes]
		yield 'list_user_likes() by date in order', differences(sorted(keys, reverse=True), keys)

	def _follows(self, expected):
		"""Check follows, their lists from both ends, and home feeds."""
		columns = 'c.type, c.user_id, c.user_username, c.followed_id, c.followed_username, c.creation_date'
		yield 'follow items', self._same(expected.follow_rows(), f"SELECT {columns} FROM blogstore.users c WHERE type = 'follow'")
		users = list(expected.users)
		for function in ('list_following', 'list_followers'):
			# The store generates the ids. Check the order by the result.
			rows = self._rows(f"""
				SELECT u.n, c.id, {columns} FROM unnest(%s::uuid[]) WITH ORDINALITY u(user_key, n),
					LATERAL blogstore.{function}(u.user_key, NULL) WITH ORDINALITY c ORDER BY u.n, c.ordinality""", users)
			yield f'{function}()', self._same_rows(expected.follow_rows(), [row[2:] for row in rows])
			yield f'{function}() in order', self._in_order(rows)
		yield 'get_follows()', self._same(expected.follow_rows(), f"""
			SELECT {columns} FROM unnest(%s::uuid[]) u(user_key), LATERAL blogstore.get_follows(u.user_key, %s::uuid[]) c""", users, users)
		readers = list({user: None for user, _ in expected.follows})[:8]
		for oldest_first in (False, True):
			rows = [expected.home_rows(user)[::-1 if oldest_first else 1] for user in readers]
			yield f'list_home_feed(), oldest_first {oldest_first}', differences(
				[row for posts in rows for row in posts], self._rows(f"""
				SELECT {POST_COLUMNS} FROM unnest(%s::uuid[]) WITH ORDINALITY u(user_key, n),
					LATERAL blogstore.list_home_feed(u.user_key, NULL, oldest_first => %s) WITH ORDINALITY c
				ORDER BY u.n, c.ordinality""", readers, oldest_first))

	def _many(self, expected):
		"""Check calls with lists of ids, with duplicates, unknown ids and
		NULL."""
		def asked(ids):
			return self.random.choices([*ids, *expected.gone_posts, *expected.gone_users, None], k=300)

		posts, users = asked(expected.posts), asked(expected.users)
		yield 'get_posts()', differences(
			[expected.post_row(post) for post in posts if post in expected.posts],
			self._rows('SELECT * FROM blogstore.get_posts(%s::uuid[])', posts))
		user_rows = {row[0]: row for row in expected.user_rows()}
		yield 'get_users()', differences(
			[user_rows[user] for user in users if user in user_rows],
			self._rows('SELECT * FROM blogstore.get_users(%s::uuid[])', users))
		for user in list(expected.users)[:5]:
			yield 'get_likes()', differences(
				[(post, user, expected.likes[post, user, None]) for post in posts if (post, user, None) in expected.likes],
				self._rows('SELECT post_id, user_id, creation_date FROM blogstore.get_likes(%s, %s::uuid[])', user, posts))

	def _paging(self, expected):
		"""Page through the feed in both directions, from the ends and from a
		place."""
		page = self.random.randint(3, 60)
		rows = expected.post_rows()
		for oldest_first in (False, True):
			found = self._pages(page, (None, None), oldest_first, len(rows))
			yield (f'list_feed() in pages of {page}, oldest_first {oldest_first}',
				differences(rows[::-1] if oldest_first else rows, found))
		if rows:
			place = self.random.randrange(len(rows))
			cursor = rows[place][9], rows[place][0]
			yield (f'list_feed() in pages of {page} from row {place} to the newest',
				differences(rows[:place][::-1], self._pages(page, cursor, True, len(rows))))
			yield (f'list_feed() in pages of {page} from row {place} to the oldest',
				differences(rows[place + 1:], self._pages(page, cursor, False, len(rows))))

	def _pages(self, page, cursor, oldest_first, most):
		"""Return all rows of the feed from a place on."""
		rows = []
		while len(rows) <= most:
			more = self._rows('SELECT * FROM blogstore.list_feed(%s, %s, %s, %s)', page, *cursor, oldest_first)
			if not more:
				break
			rows += more
			cursor = (more[-1][9], more[-1][0])
		return rows

	def _gone(self, expected):
		yield 'get_user() of deleted users', differences([], self._rows(
			'SELECT g.* FROM unnest(%s::uuid[]) u, LATERAL blogstore.get_user(u) g', expected.gone_users))
		yield 'list_user_posts() of deleted users', differences([], self._rows(
			'SELECT g.* FROM unnest(%s::uuid[]) u, LATERAL blogstore.list_user_posts(u, NULL) g',
			expected.gone_users))
		yield 'list_user_comments() of deleted users', differences([], self._rows(
			'SELECT g.* FROM unnest(%s::uuid[]) u, LATERAL blogstore.list_user_comments(u, NULL, include_hidden => true) g',
			expected.gone_users))
		yield 'list_user_likes() of deleted users', differences([], self._rows(
			'SELECT g.* FROM unnest(%s::uuid[]) u, LATERAL blogstore.list_user_likes(u, NULL) g', expected.gone_users))
		yield 'get_post() of deleted posts', differences([], self._rows(
			'SELECT g.* FROM unnest(%s::uuid[]) p, LATERAL blogstore.get_post(p) g', expected.gone_posts))
		yield 'list_post_comments() of deleted posts', differences([], self._rows(
			'SELECT g.* FROM unnest(%s::uuid[]) p, LATERAL blogstore.list_post_comments(p, NULL) g',
			expected.gone_posts))

	def _folded(self, expected):
		if self.random.random() > 0.2:
			return				# the worker leaves very new deltas alone
		yield 'deltas of counts are folded', differences([], self._lasting(
			DELTAS.replace("'delta'", f"'delta' AND id <> '{COUNTER}'")))

	def _lasting(self, query, *arguments):
		"""Return the rows of a query that the worker does not remove in time.
		"""
		deadline = time.monotonic() + PATIENCE
		rows = self._rows(query, *arguments)
		while rows and time.monotonic() < deadline:
			time.sleep(0.05)
			rows = self._rows(query, *arguments)
		return rows
