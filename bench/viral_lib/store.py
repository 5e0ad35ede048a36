"""Contestants, the data they are given, and pgbench runs on them."""

import os
import time
from dataclasses import dataclass
from typing import NamedTuple

from lib import pgbench
from lib.server import DURABLE, WITH_WORKER, Failure, Server
from lib.store import DATASET, settle, verify

SQL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'viral_sql')
LOADED = 'loaded'		# the database with users and posts that others are copied from

SETTINGS = DURABLE + """
checkpoint_timeout = 30min
"""

# contestants: title, and where their files are looked for, in this order
CONTESTANTS = {
	'blogstore': ('blogstore', ['blogstore']),
	'row_update': ('row-update counter', ['row_update', 'peers']),
	'trigger': ('trigger counter', ['trigger', 'peers']),
}


class Table(NamedTuple):
	"""A kind of table: its size, and what has been written to it."""
	bytes: int
	inserted: int
	updated: int
	updated_hot: int

	def minus(self, other):
		"""What has been added since."""
		return Table(*(mine - before for mine, before in zip(self, other)))


NOTHING = Table(0, 0, 0, 0)


@dataclass
class Pool:
	"""Posts that are liked together, and what is on them by what pgbench said."""
	first: int
	posts: int
	runs: int = 0
	likes: int = 0
	comments: int = 0

	def count(self, request, transactions):
		"""Transactions of a request were acknowledged."""
		if request == 'create_comment':
			self.comments += transactions
		else:
			self.likes += transactions if request == 'create_like' else -transactions


class Contestant:
	"""One way of counting, on a server of its own: only one works at a time."""

	def __init__(self, name, installation, workplace, options):
		self.name = name
		self.title, self.directories = CONTESTANTS[name]
		self.is_blogstore = name == 'blogstore'
		self.options = options
		self.installation = installation
		settings = SETTINGS.format(buffers=options.shared_buffers)
		if self.is_blogstore:
			settings += WITH_WORKER
		self.server = Server(installation, workplace, name, settings)
		self.server.start()

	def path(self, name):
		"""The contestant's own file of that name, or the peers' common one."""
		paths = [os.path.join(SQL, directory, name) for directory in self.directories]
		return next(path for path in paths if os.path.exists(path))

	def sql_file(self, database, name, **variables):
		"""Run a file; returns its rows."""
		with open(self.path(name), encoding='utf-8') as file:
			return self.server.sql(database, file.read(), **variables)

	def load(self):
		"""Make the database that is copied: users, and the two pools of posts."""
		options = self.options
		self.server.sql('postgres', f'CREATE DATABASE {LOADED}')
		self.server.psql(LOADED, '-f', DATASET)
		for directory in reversed(self.directories):
			schema = os.path.join(SQL, directory, 'schema.sql')
			if os.path.exists(schema):
				with open(schema, encoding='utf-8') as file:
					self.server.sql(LOADED, file.read())
		self.sql_file(LOADED, 'users.sql', users=options.users)
		self.sql_file(LOADED, 'posts.sql', first=1, posts=options.posts_large + options.posts_small,
			users=options.users)
		self.server.sql(LOADED, 'VACUUM ANALYZE')


class Store:
	"""A copy of a contestant's database, for one part of the benchmark."""

	def __init__(self, contestant, verdict):
		options = contestant.options
		self.contestant = contestant
		self.verdict = verdict
		self.database = 'measured'
		self.hot_posts = 0
		self.pools = {options.posts_large: Pool(1, options.posts_large),
			options.posts_small: Pool(options.posts_large + 1, options.posts_small)}
		contestant.server.sql('postgres', f'CREATE DATABASE {self.database} TEMPLATE {LOADED}')
		if contestant.is_blogstore:
			self.sql('SELECT blogstore.start_worker()')
			self.settle()
		self.sql('VACUUM ANALYZE')

	def sql(self, text, **variables):
		"""Run SQL in this database."""
		return self.contestant.server.sql(self.database, text, **variables)

	def sql_file(self, name, **variables):
		"""Run a file in this database."""
		return self.contestant.sql_file(self.database, name, **variables)

	def pool(self, posts):
		"""The pool of so many posts; a single post is made anew, and the newest."""
		if posts != 1:
			return self.pools[posts]
		options = self.contestant.options
		self.hot_posts += 1
		hot = Pool(options.posts_large + options.posts_small + self.hot_posts, 1)
		self.sql_file('posts.sql', first=hot.first, posts=1, users=options.users)
		return hot

	def script(self, name, *paths):
		"""A pgbench script, put together from files."""
		script = os.path.join(self.contestant.server.socket, f'{self.contestant.name}-{name}.sql')
		with open(script, 'w', encoding='utf-8') as out:
			for path in paths:
				with open(path, encoding='utf-8') as file:
					out.write(file.read())
		return script

	def pgbench(self, script, clients, options, variables):
		"""A call of pgbench."""
		return pgbench.command(self.contestant.server, self.database, script, clients, options, variables)

	def writer(self, request, pool, clients, amount, share=None):
		"""The call for a request on a pool's posts."""
		users = self.contestant.options.users
		script = self.script(request, os.path.join(SQL, 'choose.sql'), self.contestant.path(request + '.sql'))
		return self.pgbench(script, clients, amount, {'i': 0, 'first': pool.first, 'posts': pool.posts,
			'run': pool.runs, 'clients': clients, 'share': share or users // clients})

	def reader(self, post, seconds, prefix):
		"""The call for one client's get_post, with a log of every transaction."""
		script = self.script('get_post', self.contestant.path('get_post.sql'))
		return self.pgbench(script, 1, ['-T', str(seconds), '--log', '--log-prefix=' + prefix], {'post': post})

	def start(self, command, **settings):
		"""Start a pgbench."""
		return pgbench.start(self.contestant.server, command, **settings)

	def run(self, request, pool, clients, amount, share=None, durable=True):
		"""Run a request with pgbench; what is on the pool's posts is kept account of."""
		options = '-c client_min_messages=warning'
		if not durable:
			options += ' -c synchronous_commit=off'
		done = pgbench.finish(self.start(self.writer(request, pool, clients, amount, share), PGOPTIONS=options))
		pool.count(request, done.transactions)
		return done

	def create(self, request, pool, clients, amount):
		"""A run that creates items, each for a user that had none."""
		pool.runs += 1
		return self.no_overrun(self.run(request, pool, clients, amount))

	@staticmethod
	def no_overrun(done):
		"""Returns the run, in which no client may have come to the end of its share."""
		if done.overrun:
			raise Failure('a client has run out of users; give more of them with --users')
		return done

	def delete(self, pool, clients, amount, likes):
		"""A run of delete_like on likes put there before; overrun if they were not enough."""
		share = min(likes // clients + 50, self.contestant.options.users // clients)
		pool.runs += 1
		self.no_overrun(self.run('create_like', pool, clients, ['-t', str(share)], durable=False))
		self.settle()
		return self.run('delete_like', pool, clients, amount, share)

	def check(self, pool):
		"""Counts shown, items there and transactions acknowledged have to be the same."""
		likes, comments, wrong = map(int, self.sql_file('check.sql', first=pool.first, posts=pool.posts)[0])
		self.verdict.checks += 1
		if (likes, comments, wrong) != (pool.likes, pool.comments, 0):
			self.verdict.problems.append(f'{self.contestant.title}, posts {pool.first} to {pool.first + pool.posts - 1}: '
				f'{pool.likes} likes and {pool.comments} comments acknowledged, {likes} and {comments} there, '
				f'{wrong} posts with wrong counts')

	def deltas(self):
		"""Deltas of the post with most, of all posts; bytes of posts, of deltas."""
		return list(map(int, self.sql_file('deltas.sql')[0]))

	def settle(self):
		"""Have background work done: views shown, deltas folded; peers' statistics fresh for the planner."""
		if self.contestant.is_blogstore:
			settle(self.contestant.server, self.database)
		else:
			self.sql('ANALYZE likes, comments')

	def tables(self):
		"""Sizes and statistics by kind of table; to be called when sessions have ended."""
		if self.contestant.is_blogstore:
			time.sleep(1.5)		# the worker reports its statistics when idle
		return {row[0]: Table(*map(int, row[1:])) for row in self.sql_file('tables.sql')}

	def wal(self):
		"""WAL written so far: bytes, full pages."""
		row = self.sql("SELECT pg_current_wal_insert_lsn() - '0/0', wal_fpi FROM pg_stat_wal")[0]
		return int(row[0]), int(row[1])

	def close(self):
		"""Check everything there is, and drop the copy."""
		self.settle()
		for pool in self.pools.values():
			self.check(pool)
		if self.contestant.is_blogstore:
			verify(self.contestant.server, self.database, self.verdict)
		self.contestant.server.sql('postgres', f'DROP DATABASE {self.database}')
