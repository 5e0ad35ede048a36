"""Mixed traffic for a while: disk space, and whether requests become slower.
"""

import os
from array import array
from collections import defaultdict
from typing import NamedTuple

from lib import pgbench, processors
from lib.server import DURABLE, WITH_WORKER, Server, say
from lib.store import settle

from .contestants import BY_NAME, PLAIN, SQL
from .site import Site

CLIENTS = 8
LOAD = 0.4				# of the maximum rate of calls
ENOUGH = 200			# calls needed for a p99

# Weight of each script of run_sql/traffic, in ten thousandths. The peers come
# in addition.
WEIGHTS = {
	'get_post': 3000, 'list_post_comments': 1500, 'list_feed': 1000, 'list_user_posts': 1000, 'get_user': 800, 'list_post_likes': 600,
	'create_like': 1200, 'create_comment': 500, 'create_post': 100, 'edit_post': 60, 'create_user': 40, 'edit_user': 20,
	'delete_like': 129, 'delete_comment': 50, 'delete_post': 1,
	'plain_read': 300, 'plain_write': 150,
}
# whether a script writes -> the script it is compared with
PEERS = {False: 'plain_read', True: 'plain_write'}

# Checkpoints and autovacuum have the server's defaults.
SETTINGS = DURABLE + WITH_WORKER + """
max_wal_size = 1GB
"""


class Span(NamedTuple):
	"""Times in ms of a script in the first and last sixth of a run."""
	p50: tuple
	p99: tuple
	calls: int				# in the one that has fewer

	def slower(self):
		"""Return the ratio of the last p99 to the first."""
		return self.p99[1] / self.p99[0]


class Traffic(NamedTuple):
	"""The results of a run."""
	scale: float
	seconds: int
	rate: float				# calls a second: asked for
	done: int				# calls
	before: int				# bytes on disk
	after: int
	# of the same data, imported into a new database and vacuumed
	fresh: int
	checkpoints: int
	vacuums: int			# by autovacuum
	times: dict				# script -> Span
	# kind of process -> (CPU seconds a second in the first sixth, in the last)
	processors: dict

	def slower(self):
		"""Return the ratio of the last p99 to the first, for each of the
		article's requests.
		"""
		return {name: of.slower() for name, of in self.times.items() if name in BY_NAME and of.calls >= ENOUGH}

	def against_plain(self, name):
		"""Return how much slower a script has become, relative to its peer."""
		peer = self.times.get(PEERS[writes(name)])
		return self.times[name].slower() / peer.slower() if peer else None

	def slower_than_plain(self):
		"""Return the same for each of the article's requests."""
		return {name: self.against_plain(name) for name in self.slower() if PEERS[writes(name)] in self.times}


def writes(name):
	"""Return whether a script writes."""
	return not name.startswith(('get_', 'list_', 'plain_read'))


def traffic(measured, options, workplace):
	"""Run mixed traffic on a server of its own, with autovacuum and
	checkpoints.
	"""
	server = Server(measured.server.installation, workplace, 'traffic', SETTINGS.format(buffers=options.shared_buffers))
	server.start()
	site = Site(server, 'traffic', options.traffic_scale, options, ['blogstore'])
	site.create(compare_import=False)
	site.worker(True)
	site.prepare(PLAIN)
	site.sql('VACUUM ANALYZE plain.users')
	seconds = 3 if options.quick else options.traffic_seconds
	rate = options.traffic_rate or LOAD * found_rate(site, min(30, seconds // 3))
	before, checkpoints = site.size(site.contestants[0]), finished(server)
	say(f'traffic: {rate:,.0f} calls a second for {seconds} s')
	log = os.path.join(server.socket, 'traffic_log')
	watcher = processors.ByKind(server.process.pid)
	watcher.start()
	done = run(site, seconds, '-R', f'{rate:.1f}', '--log', '--log-prefix=' + log)
	taken = watcher.stop()
	times, spans = sixths(log, seconds)
	site.right()
	result = Traffic(options.traffic_scale, seconds, rate, done.transactions, before, site.size(site.contestants[0]), fresh(site),
		finished(server) - checkpoints, int(site.value('SELECT sum(autovacuum_count) FROM pg_stat_user_tables')), times, shares(taken, spans))
	server.stop('fast')
	return result


def finished(server):
	"""Return the number of checkpoints so far."""
	return len(server.log_lines('checkpoint complete'))


def found_rate(site, seconds):
	"""Return the calls per second of all clients without a rate limit."""
	return run(site, seconds).tps


def run(site, seconds, *options):
	"""Run all scripts, each with its weight."""
	scripts = [f'{os.path.join(SQL, "traffic", name)}.sql@{weight}' for name, weight in WEIGHTS.items()]
	others = [word for script in scripts[1:] for word in ('-f', script)]
	variables = {'users': site.users, 'idle_users': site.idle_users, 'live': site.posts * 3 // 4, 'posts': site.posts,
		'clients': CLIENTS, 'default_seed': site.seed}
	return pgbench.finish(pgbench.start(site.server, pgbench.command(site.server, site.database, scripts[0], CLIENTS,
		[*others, '-T', str(seconds), '--random-seed', str(site.seed), *options], variables), PGOPTIONS=site.contestants[0].options()))


def sixths(log, seconds):
	"""Return the times of each script in the first and last sixth of the run,
	and the bounds of these in seconds.
	"""
	of_second = defaultdict(lambda: defaultdict(lambda: array('d')))
	for transaction in pgbench.transactions(log):
		of_second[int(transaction.moment)][transaction.script].append(transaction.taken)
	begin, end = min(of_second), max(of_second)
	length = max(1, seconds // 6)
	spans = range(begin, begin + length), range(end - length, end)
	found = {}
	for script, name in enumerate(WEIGHTS):
		both = [[taken for second in span for taken in of_second[second][script]] for span in spans]
		if all(both):
			p50, p99 = (tuple(pgbench.percentile(times, percent) for times in both) for percent in (50, 99))
			found[name] = Span(p50, p99, min(map(len, both)))
	return found, spans


def shares(taken, spans):
	"""Return the processor time per second of each kind of process, in both
	spans.
	"""
	kinds = sorted({kind for of in taken.values() for kind in of})
	return {kind: tuple(sum(taken[second][kind] for second in span) / len(span) for span in spans) for kind in kinds}


def fresh(site):
	"""Return the bytes on disk of the same data, imported into a new database.
	"""
	site.file(os.path.join(SQL, 'fresh', 'out.sql'), directory=site.server.socket)
	site.server.sql('postgres', 'CREATE DATABASE fresh')
	site.server.psql('fresh', '-f', os.path.join(SQL, 'fresh', 'in.sql'), directory=site.server.socket)
	settle(site.server, 'fresh')
	site.server.sql('fresh', 'VACUUM ANALYZE')
	other = Site(site.server, 'fresh', site.scale, site.options, ['blogstore'])
	return other.size(other.contestants[0])
