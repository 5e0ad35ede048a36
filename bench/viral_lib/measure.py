"""The parts of the benchmark: what is run, in which order."""

import os
import threading
import time
from collections import defaultdict
from typing import NamedTuple

from lib import pgbench
from lib.program import turns
from lib.server import say

from .store import NOTHING, Store, Table

REQUESTS = ('create_like', 'create_comment', 'delete_like')
MOST_CLIENTS = 64		# how many make a post viral
KINDS = ('likes', 'posts', 'deltas', 'others')


class Latencies(NamedTuple):
	"""Of one run of get_post, in ms; and of its last third alone."""
	p50: float
	p99: float
	late_p50: float
	late_p99: float


class Storage(NamedTuple):
	"""What a number of likes left behind; all per like, but for the ratios."""
	wal_first: float		# bytes of WAL, right after a checkpoint
	pages_first: float		# full pages in that WAL
	wal_next: float			# of as many likes more
	pages_next: float
	grown: list				# bytes on disk of each of KINDS, after folding and VACUUM
	grown_before: float		# of all of them, before
	posts: Table			# what was written to posts
	deltas: Table			# and to deltas


class Sustained(NamedTuple):
	"""What a long run of likes of one post after another came to."""
	likes: int
	posts: int
	seconds: float
	most_of_post: int		# deltas
	most: int
	sizes: dict				# moment -> (bytes of posts, bytes of deltas)
	fresh: list				# leaf of posts, bytes of it, of a copy, of its indexes, of a copy's
	written: list			# what was written to posts, to deltas; not per like


def spreads(options):
	"""Over how many posts requests are spread."""
	return 1, options.posts_small, options.posts_large


def throughput(stores, options):
	"""Transactions per second: (contestant, request, posts, clients) -> one for each round."""
	tps = defaultdict(list)
	for store in stores:
		for posts in spreads(options):
			store.create('create_like', store.pool(posts), MOST_CLIENTS, options.amount())
	for number in range(options.rounds):
		for clients in options.clients:
			for request in options.requests:
				for posts in turns(spreads(options), number):
					for store in turns(stores, number):
						done = one_run(store, request, posts, clients, tps, options)
						tps[store.contestant.title, request, posts, clients].append(done.tps)
						say(f'round {number + 1}: {request} on {posts} posts, {clients} clients, '
							f'{store.contestant.title}: {done.tps:.0f}/s')
	return tps


def one_run(store, request, posts, clients, tps, options):
	"""One cell of the table, once, with its counts checked."""
	pool = store.pool(posts)
	if request == 'delete_like':
		before = tps.get((store.contestant.title, 'create_like', posts, clients), [1000])
		likes = 2 * int(max(before) * options.seconds if options.seconds else clients * options.transactions)
		while (done := store.delete(pool, clients, options.amount(), likes)).overrun:
			store.check(pool)
			pool, likes = store.pool(posts), 2 * likes
			if likes > 4 * options.users:
				store.no_overrun(done)
	else:
		done = store.create(request, pool, clients, options.amount())
	store.check(pool)
	if not options.quick:
		store.settle()
	return done


def latency(stores, options):
	"""Latencies of get_post in ms: (contestant, situation) -> Latencies of each round."""
	found = defaultdict(list)
	for number in range(options.rounds):
		for store in turns(stores, number):
			title = store.contestant.title
			idle = store.pool(options.posts_small)
			store.settle()
			found[title, 'idle'].append(probe(store, idle, None, options))
			for situation in turns(('other', 'hot'), number):
				hot = store.pool(1)
				found[title, situation].append(probe(store, hot if situation == 'hot' else idle, hot, options))
				store.check(hot)
			say(f'round {number + 1}: get_post, {title}: '
				+ ', '.join(f'{situation} p50 {found[title, situation][-1].p50:.3f} p99 '
					f'{found[title, situation][-1].p99:.3f} ms' for situation in ('idle', 'other', 'hot')))
	return found


def probe(store, pool, hot, options):
	"""One client's get_post of the pool's first post, while the hot post is liked, if there is one."""
	seconds = options.latency_seconds
	prefix = os.path.join(store.contestant.server.socket, 'get_post_log')
	background = None
	if hot is not None:
		background = store.start(store.writer('create_like', hot, MOST_CLIENTS, ['-T', str(seconds + 1)]))
		time.sleep(0.5)
	else:
		seconds = min(seconds, options.seconds or 1)
	pgbench.finish(store.start(store.reader(pool.first, seconds, prefix)))
	if background is not None:
		hot.count('create_like', store.no_overrun(pgbench.finish(background)).transactions)
	times = pgbench.read_log(prefix)
	end = max(transaction.moment for transaction in times)
	late = [transaction.taken for transaction in times if transaction.moment > end - seconds / 3]
	return Latencies(*percentiles(transaction.taken for transaction in times), *percentiles(late))


def percentiles(times):
	"""p50 and p99."""
	times = list(times)
	return pgbench.percentile(times, 50), pgbench.percentile(times, 99)


def storage(contestants, options, verdict):
	"""What a like costs in WAL and on disk: (contestant, posts) -> Storage."""
	found = {}
	each = ['-t', str(max(1, options.storage_likes // MOST_CLIENTS))]
	for posts in spreads(options)[:1] if options.quick else spreads(options):
		for contestant in contestants:
			store = Store(contestant, verdict)
			found[contestant.title, posts] = store_likes(store, posts, each)
			store.close()
			say(f'storage: {contestant.title}, likes on {posts} posts: '
				f'{found[contestant.title, posts].wal_next:.0f} bytes of WAL a like')
	return found


def store_likes(store, posts, each):
	"""Likes to warm up, a checkpoint, likes, and as many again; each on another post if on one."""
	store.create('create_like', store.pool(posts), MOST_CLIENTS, each)
	store.settle()
	store.sql('VACUUM')
	tables = [store.tables()]
	store.sql('CHECKPOINT')
	wal, likes = [store.wal()], 0
	for _ in range(2):
		pool = store.pool(posts)
		likes += store.create('create_like', pool, MOST_CLIENTS, each).transactions
		unfolded = store.sql_file('tables.sql')
		store.settle()
		tables.append(store.tables())
		wal.append(store.wal())
		store.check(pool)
	store.sql('VACUUM')
	vacuumed = store.tables()

	def grown(kind):
		return vacuumed.get(kind, NOTHING).minus(tables[0].get(kind, NOTHING)).bytes / likes

	def written(kind):
		return Table(*(n / likes for n in tables[2].get(kind, NOTHING).minus(tables[0].get(kind, NOTHING))))

	before = sum(int(row[1]) for row in unfolded) - sum(table.bytes for table in tables[0].values())
	return Storage((wal[1][0] - wal[0][0]) / (likes / 2), (wal[1][1] - wal[0][1]) / (likes / 2),
		(wal[2][0] - wal[1][0]) / (likes / 2), (wal[2][1] - wal[1][1]) / (likes / 2),
		[grown(kind) for kind in KINDS], before / likes, written('posts'), written('deltas'))


class Sampler(threading.Thread):
	"""Once a second: how many deltas there are, and how large posts and deltas are."""

	def __init__(self, store):
		super().__init__(daemon=True)
		self.store = store
		self.ended = threading.Event()
		self.most = [0, 0, 0, 0]

	def run(self):
		while not self.ended.wait(1):
			self.most = list(map(max, self.most, self.store.deltas()))

	def end(self):
		"""Stop sampling."""
		self.ended.set()
		self.join()


def sustain(contestant, options, verdict):
	"""Likes of one post by everyone, then of the next, until there are enough of them."""
	store = Store(contestant, verdict)
	sizes = {'before': tuple(store.deltas()[2:])}
	tables = store.tables()
	sampler = Sampler(store)
	sampler.start()
	start, likes = time.monotonic(), 0
	while likes < options.sustain:
		each = min(options.users, options.sustain - likes) // MOST_CLIENTS + 1
		pool = store.pool(1)
		done = store.create('create_like', pool, MOST_CLIENTS, ['-t', str(min(each, options.users // MOST_CLIENTS))])
		store.check(pool)
		likes += done.transactions
		say(f'sustained: {likes} likes, {done.tps:.0f}/s, at most {sampler.most[0]} deltas of a post')
	seconds = time.monotonic() - start
	sampler.end()
	sizes['largest'] = tuple(sampler.most[2:])
	store.settle()
	sizes['after'] = tuple(store.deltas()[2:])
	fresh = [(row[0], *map(int, row[1:])) for row in store.sql_file('fresh.sql')]
	after = store.tables()
	store.sql('VACUUM')
	sizes['after VACUUM'] = tuple(store.deltas()[2:])
	written = [after.get(kind, NOTHING).minus(tables.get(kind, NOTHING)) for kind in ('posts', 'deltas')]
	result = Sustained(likes, store.hot_posts, seconds, sampler.most[0], sampler.most[1], sizes, fresh, written)
	store.close()
	return result
