"""The data set in a database of its own, loaded for every contestant."""

import os
import random
import time
from typing import NamedTuple

from lib.program import Verdict
from lib.server import Failure, say
from lib.store import DATASET, settle, verify

from .contestants import CONTESTANTS, PLAIN, SQL

STRIDE = 7919			# as in dataset.sql and keys/liked_post.sql
APART = 10 ** 9			# numbers from here on are for single calls
ID = 8 * 10 ** 15		# ids are numbers above it
SLICE = 140000			# posts made and loaded at once: a twentieth of scale 1
# max_wal_size while loading, so that a load of any size needs no more disk for
# WAL
LOADING_WAL = '4GB'


class Import(NamedTuple):
	"""Times of loading, in seconds."""
	items: int
	plain: float
	blogstore: float
	views: float			# until the worker had built them


class Site:
	"""The data set at one scale, in one database; a contestant is a schema."""

	def __init__(self, server, name, scale, options, contestants=None):
		self.server = server
		self.database = name
		self.scale = scale
		self.options = options
		self.seed = options.seed
		self.users = max(20, round(100000 * scale))
		self.idle_users = max(100, self.users // 10)
		self.most_likes = 0
		self.posts = 0
		self.items = {}
		self.sizes = {}				# contestant -> bytes once loaded
		self.imported = None
		self.written = {}			# (contestant, request) -> how many
		self.series = 0				# of single calls
		self.worker_runs = False
		self.readers = (1, 1)		# of home feeds (home.py): first and last
		wanted = contestants or [contestant.name for contestant in CONTESTANTS]
		self.contestants = [contestant for contestant in CONTESTANTS if contestant.name in wanted]

	def sql(self, text, contestant=None, **variables):
		"""Run SQL in a contestant's schema."""
		if contestant is not None:
			text = f'SET search_path = {contestant.schema};\n{text}'
		return self.server.sql(self.database, text, **variables)

	def file(self, path, contestant=None, **variables):
		"""Run a file in a contestant's schema."""
		where = ['-c', f'SET search_path = {contestant.schema}'] if contestant else []
		out = self.server.psql(self.database, *where, '-f', path, **variables)
		return [line.split('\t') for line in out.splitlines()]

	def value(self, text):
		"""Return the one value of a query."""
		return self.sql(text)[0][0]

	def begin(self):
		"""Make the database, its users, and the list of posts with their
		authors.
		"""
		self.server.sql('postgres', f'CREATE DATABASE {self.database}')
		self.sql('CREATE EXTENSION blogstore')
		say(f'{self.database}: making the data set of {self.users:,} users')
		self.file(DATASET)
		self.most_likes = int(self.value(f'SELECT dataset.most_likes({self.users})'))
		self.file(os.path.join(SQL, 'data.sql'), users=self.users, idle_users=self.idle_users, seed=self.seed)
		self.file(os.path.join(SQL, 'explain.sql'))
		self.items = {'users': self.users + self.idle_users}
		self.posts = int(self.value('SELECT count(*) FROM staging.all_posts'))

	def create(self, compare_import=True):
		"""Make the data set, and load it for every contestant, slice by slice.
		"""
		self.begin()
		self.server.change(max_wal_size=LOADING_WAL)
		loading = ([PLAIN] if compare_import else []) + [
			*(contestant for contestant in self.contestants if not contestant.is_blogstore),
			*(contestant for contestant in self.contestants if contestant.is_blogstore)]
		seconds = {contestant.name: self.prepare(contestant) for contestant in loading}
		for first in range(1, self.posts + 1, SLICE):
			self.slice(first, min(first + SLICE - 1, self.posts))
			for contestant in loading:
				seconds[contestant.name] += self.timed(contestant, 'load.sql')
		if compare_import:
			self.sql(f'DROP SCHEMA {PLAIN.schema} CASCADE')
		views = sum(self.complete(contestant) for contestant in self.contestants)
		self.sql('TRUNCATE staging.posts, staging.comments, staging.likes')
		if compare_import:
			self.imported = Import(sum(self.items.values()), seconds[PLAIN.name], seconds['blogstore'], views)
		say(f'{self.database}: vacuuming')
		self.sql('VACUUM ANALYZE')
		self.settle()
		for contestant in self.contestants:
			self.sizes[contestant.name] = self.size(contestant)
		self.sql('CHECKPOINT')
		self.server.change(max_wal_size=None)

	def prepare(self, contestant):
		"""Make tables and users, and return the seconds that loading the users
		took.
		"""
		self.sql(f'CREATE SCHEMA {contestant.schema}')
		self.file(contestant.path('schema.sql'), contestant)
		if contestant is PLAIN:
			self.file(contestant.path('keys.sql'), contestant)
		return self.timed(contestant, 'users.sql') if contestant.path('users.sql') else 0

	def slice(self, first, last):
		"""Put a slice of the posts into staging, with their comments and
		likes.
		"""
		say(f'{self.database}: making posts {first:,} to {last:,} of {self.posts:,}')
		self.file(os.path.join(SQL, 'slice.sql'), users=self.users, seed=self.seed, first=first, last=last)
		for kind in ('posts', 'comments', 'likes'):
			self.items[kind] = self.items.get(kind, 0) + int(self.value(f'SELECT count(*) FROM staging.{kind}'))

	def timed(self, contestant, name):
		"""Return the seconds that a file takes."""
		self.sql('CHECKPOINT')
		start = time.monotonic()
		self.file(contestant.path(name), contestant)
		seconds = time.monotonic() - start
		say(f'{self.database}: {name} of {contestant.title}: {seconds:.1f} s')
		return seconds

	def complete(self, contestant):
		"""Make copies, indexes and triggers after all rows are loaded.

		Return the seconds that blogstore's views took.
		"""
		start = time.monotonic()
		if contestant.is_blogstore:
			self.worker(True)
		seconds = time.monotonic() - start if contestant.is_blogstore else 0
		for name in ('copies.sql', 'indexes.sql', 'items.sql'):
			path = contestant.path(name)
			if path:
				self.file(path, contestant)
		return seconds

	def size(self, contestant):
		"""Return the bytes of all tables and indexes of a contestant."""
		schema = 'blogstore' if contestant.is_blogstore else contestant.schema
		return int(self.value('SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class '
			f"WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'm')"))

	def contestant(self, name):
		"""Return the contestant with that name."""
		return next(contestant for contestant in self.contestants if contestant.name == name)

	def worker(self, runs):
		"""Start blogstore's worker and wait until its views are up to date, or
		stop the worker.
		"""
		if runs and not self.worker_runs:
			self.sql('SELECT blogstore.start_worker()')
		elif not runs and self.worker_runs:
			self.sql('SELECT blogstore.stop_worker()')
		self.worker_runs = runs
		if runs:
			self.settle()

	def drop(self):
		"""Remove the database, and the worker's slot with it."""
		self.worker(False)
		self.sql('SELECT blogstore.stop_worker(drop_slot => true)')
		self.server.sql('postgres', f'DROP DATABASE {self.database}')

	def right(self):
		"""Raise Failure unless verify() finds nothing, when the worker is
		idle.
		"""
		self.settle()
		verdict = Verdict()
		verify(self.server, self.database, verdict)
		if verdict.problems:
			raise Failure('\n'.join(verdict.problems))

	def settle(self):
		"""Wait until the views are up to date and all counts are folded."""
		if self.worker_runs:
			settle(self.server, self.database)

	def variables(self):
		"""Return pgbench's variables for the scripts in run_sql/keys."""
		return {'users': self.users, 'idle_users': self.idle_users, 'posts': self.posts, 'most_likes': self.most_likes,
			'first': self.readers[0], 'last': self.readers[1],
			# of permute(); without it each client has another one
			'default_seed': self.seed}

	def room_for(self, request):
		"""Return how many writes of a request are possible without a
		duplicate.
		"""
		if request.name != 'create_like':
			return 10 ** 9
		return self.posts * (self.users - self.most_likes - 1)

	def keys(self, count, salt):
		"""Return the variables for single calls, each with another post."""
		choose = random.Random(f'{self.seed} {salt}')
		posts = choose.sample(range(1, self.posts + 1), min(count, self.posts))
		for n, post in enumerate(posts):
			# the last user who likes the post
			liker = (post * STRIDE + self.users - 1) % self.users + 1
			yield {'post': ID + post, 'comment': ID + 32 * post + 26, 'user': ID + choose.randint(1, self.users), 'liker': ID + liker,
				'idle_user': ID + self.users + 1 + n % self.idle_users,
				'number': APART + self.series * 10 ** 6 + n,
				'reader': ID + choose.randint(*self.readers)}
