"""A cluster of Citus with three servers, in the place of one server.

Clients and checks connect to any of them. The killer does harm to one of them
while the others go on, or while a shard moves.
"""

import random
import re
import threading
import time

import psycopg2

from lib.server import PATIENCE, call

from .checker import DELTAS, NEWEST_FIRST, OWN_CRASH, POST_COLUMNS, Checker, differences
from .client import Client
from .killer import Killer
from .plan import Plan
from .server import CLIENT_ROLE, DATABASE, OWNER_ROLES, START_PATIENCE, Server
from .verdict import Divergence

MEMBERS = 3
SHARDS = 8

SETTINGS = """
shared_preload_libraries = 'citus, blogstore'
shared_buffers = 16MB
max_connections = 120
max_prepared_transactions = 100
max_worker_processes = 40
max_replication_slots = 40
max_wal_senders = 40
max_locks_per_transaction = 256
citus.local_hostname = '{host}'
citus.node_conninfo = 'sslmode=prefer'
citus.recover_2pc_interval = '1s'
"""
# For servers that have the setting
LIBRARIES = "output_plugin_libraries = 'pgoutput, citus'\n"

# Errors of a move that a lock or the end of a member has interrupted
MOVE_GIVES_WAY = ('40P01', '55P03', '57014')
# The error of a move after one that Citus had no time to clean up
LEFT_OVER = 'leftover from the previous move'
# A process in a line of the log
PROCESS = re.compile(r'\[\d+\]')
# Errors of a member that has lost its connection to another one
LOST = re.compile('failure on connection|server closed the connection|could not|connection|postmaster was shut down')
# How a backend of Citus ends if its postmaster has been killed and it may not
# raise an error
ENDED_BY_CITUS = re.compile('ERRORDATA_STACK_SIZE|cannot abort transaction')
# How long a killed member may take to learn the outcome of transactions
RECOVERY = PATIENCE
IN_DOUBT = "SELECT gid FROM pg_prepared_xacts WHERE starts_with(gid, 'citus_')"


class Member(Server):
	"""A server of the cluster. After the end of one of its processes clients
	wait for recover()."""

	def __init__(self, cluster, *arguments):
		super().__init__(*arguments)
		self.cluster = cluster

	def kill_postmaster(self):
		self.cluster.settled.clear()
		super().kill_postmaster()

	def kill_process(self, pid):
		self.cluster.settled.clear()
		return super().kill_process(pid)

	def stop(self, mode):
		self.cluster.settled.clear()
		super().stop(mode)


class Cluster:
	"""All members, with the methods of a single Server."""

	def __init__(self, installation, workplace, feed_size, seed):
		settings = SETTINGS.format(host=workplace.path)
		if 'output_plugin_libraries\t' in call([installation.program('postgres'), '--describe-config']):
			settings += LIBRARIES
		self.settled = threading.Event()
		self.settled.set()
		self.members = [Member(self, installation, workplace, feed_size, f'data{number}', settings)
			for number in range(MEMBERS)]
		self.coordinator = self.members[0]
		self.socket = workplace.path
		self.feed_size = feed_size
		self.short_form = self.coordinator.short_form
		self.short_form_keys = self.coordinator.short_form_keys
		self.random = random.Random(f'{seed}/members')
		self.log = ', '.join(member.log for member in self.members)

	def create(self):
		"""Start the members, and create extensions, containers and the
		clients' role."""
		for member in self.members:
			member.start()
			connection = member.connect(database='postgres')
			connection.cursor().execute(f'CREATE DATABASE {DATABASE}')
			connection.close()
			member.ask('CREATE EXTENSION citus')
		ask = self.coordinator.ask
		ask('SELECT citus_set_coordinator_host(%s, %s)', self.socket, self.coordinator.port)
		for node in self.members[1:]:
			ask('SELECT citus_add_node(%s, %s)', self.socket, node.port)
		ask('CREATE EXTENSION blogstore')
		ask(f'CREATE ROLE {CLIENT_ROLE} LOGIN')
		for role in ('torture_owner LOGIN', 'torture_intruder'):
			ask(f'CREATE ROLE {role}')
		for member in self.members:
			connection = member.connect()
			cursor = connection.cursor()
			cursor.execute('SET citus.enable_ddl_propagation = off')
			cursor.execute('\n'.join(line for line in OWNER_ROLES.split('\n') if not line.startswith('CREATE')))
			cursor.execute(f'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO {CLIENT_ROLE}')
			# Do not set log_min_messages: Citus then reports no deadlocks.
			cursor.execute(f"ALTER ROLE {CLIENT_ROLE} SET statement_timeout = '{int(PATIENCE)}s'")
			connection.close()
		ask(f"SELECT blogstore.create_containers({SHARDS}, 'torture_owner')")
		# The index for lists of likes by date
		ask('CREATE INDEX ON blogstore.posts_like (user_id, creation_date, id)')
		ask('CREATE INDEX ON blogstore.posts_comment_like (user_id, creation_date, id)')

	# -- as one server ---------------------------------------------------

	def connect_patiently(self, user='postgres'):
		"""Return a connection to any member that accepts one."""
		deadline = time.monotonic() + START_PATIENCE
		while True:
			try:
				return self.random.choice(self.members).connect(user)
			except psycopg2.OperationalError as error:
				if time.monotonic() > deadline:
					raise Divergence(f'no member takes connections for {START_PATIENCE:.0f} s: {error}') from error
				time.sleep(0.02)

	def ask(self, query, *parameters):
		"""Return the rows of a query on the coordinator."""
		return self.coordinator.ask(query, *parameters)

	def activity(self):
		"""Return the activity of each member, as lines of text."""
		return [f'{member.port}: {line}' for member in self.members for line in member.activity()]

	def log_lines(self, pattern=''):
		"""Return the matching lines of all logs, or the ends of the logs."""
		return [f'{member.port}: {line}' for member in self.members
			for line in (member.log_lines(pattern) if pattern else member.log_lines()[-13:])]

	# -- two-phase commit ------------------------------------------------

	def recover(self):
		"""Wait until no member has a prepared transaction of Citus; return the
		rest."""
		deadline = time.monotonic() + RECOVERY
		while True:
			left = [row for member in self.members for row in member.ask(IN_DOUBT)]
			if not left or time.monotonic() > deadline:
				return left
			time.sleep(0.05)


class ClusterPlan(Plan):
	"""A plan without PREPARE TRANSACTION, which Citus refuses, and without
	imports."""

	def _draw_step(self, client):
		step = super()._draw_step(client)
		return step._replace(ending={'prepare': 'commit', 'prepare rollback': 'rollback'}.get(step.ending, step.ending))

	def _draw_import(self, forecast):
		return self._draw_group(forecast, 1)


class ClusterClient(Client):
	"""A client that may see its changes late on a member that was killed."""

	def _broken(self, error):
		# Citus has several messages for a lost connection between members.
		if error.pgcode == 'XX000' and LOST.search(str(error)):
			self._disconnect()
			time.sleep(0.1)
			return True
		return super()._broken(error)

	def _attempt(self, step, first):
		self.server.settled.wait(PATIENCE)
		return super()._attempt(step, first)

	def _given(self, query, parameters):
		deadline = time.monotonic() + RECOVERY
		while True:
			rows = super()._given(query, parameters)
			if not rows or time.monotonic() > deadline or self.verdict.over.is_set():
				return rows
			self.verdict.count('second looks for deleted and hidden items')
			time.sleep(0.2)


class ClusterKiller(Killer):
	"""Does harm to one member at a time."""

	def __init__(self, cluster, clients, verdict, seed):
		super().__init__(cluster.coordinator, clients, verdict, seed)
		self.cluster = cluster

	def harms(self):
		return [
			self.kill_worker, self.kill_worker_in_mid_batch,
			self.kill_launcher, self.kill_backend, self.kill_checkpointer, self.kill_walwriter,
			self.kill_postmaster, self.kill_postmaster, self.kill_postmaster_in_recovery,
			self.kill_postmaster_in_mid_batch, self.kill_while_worker_is_stopped,
			self.stop_immediately, self.restart_fast, self.terminate_worker, self.terminate_client,
			self.drop_slot, self.invalidate_slot, self.rebuild,
			self.move, self.move, self.move, self.move_online, self.kill_postmaster_in_move, self.kill_worker_in_move]

	def strike(self):
		super().strike()
		left = self.cluster.recover()
		if left:
			raise Divergence(f'in doubt for {RECOVERY:.0f} s: {left}')
		self.cluster.settled.set()

	def _deal(self):
		self.server = self.random.choice(self.cluster.members)
		super()._deal()
		self.last[-1] += f' ({self.server.port})'

	def _hold_worker_in_mid_batch(self):
		if self.server == self.cluster.coordinator:
			# The coordinator has no items.
			self.server = self.random.choice(self.cluster.members[1:])
		return super()._hold_worker_in_mid_batch()

	def kill_backend(self):
		"""kill -9 of a backend that serves a client or another member."""
		pids = self.server.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = %s ORDER BY pid", DATABASE)
		return bool(pids) and self.server.kill_process(pids[int(self.dice * len(pids))][0])

	def terminate_client(self):
		"""pg_terminate_backend() of a backend that serves a client or a
		member."""
		self.cluster.settled.clear()
		pids = self.server.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = %s ORDER BY pid", DATABASE)
		return bool(pids) and self.server.ask('SELECT pg_terminate_backend(%s)', pids[int(self.dice * len(pids))][0])[0][0]

	# -- moves -----------------------------------------------------------

	def _move(self, mode, beside=None):
		"""Move a shard to the other node, beside another harm; return success.
		"""
		ask = self.cluster.coordinator.ask
		shards = ask("""
			SELECT s.shardid, n.nodeport FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
			WHERE s.logicalrelid = 'blogstore.posts'::regclass ORDER BY s.shardid""")
		shard, port = shards[int(self.dice * len(shards))]
		target = next(node.port for node in self.cluster.members[1:] if node.port != port)
		problem = []

		def run():
			try:
				connection = self.cluster.coordinator.connect_patiently()
				try:
					connection.cursor().execute('SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, shard_transfer_mode => %s)',
						(shard, self.cluster.socket, port, self.cluster.socket, target, mode))
				finally:
					connection.close()
			except psycopg2.Error as error:
				problem.append(error)

		mover = threading.Thread(target=run, daemon=True)
		mover.start()
		done = beside is None or beside()
		mover.join(PATIENCE)
		if mover.is_alive():
			raise Divergence(f'a move of shard {shard} does not come to its end in {PATIENCE:.0f} s')
		if problem:
			error = problem[0]
			if beside is None and error.pgcode not in MOVE_GIVES_WAY and LEFT_OVER not in str(error):
				raise Divergence(f'a move of shard {shard}: {error.pgcode} {str(error).strip()}')
			self.verdict.count('moves that came to nothing')
			self.cluster.coordinator.ask('CALL citus_cleanup_orphaned_resources()')
		else:
			self.verdict.count('moves')
		return done and (beside is not None or not problem)

	def move(self):
		"""Move a shard while writers wait."""
		return self._move('block_writes')

	def move_online(self):
		"""Move a shard beside writers."""
		return self._move('force_logical')

	def _after_a_while(self, harm):
		time.sleep(self.random.random() * 1.5)
		return harm()

	def kill_postmaster_in_move(self):
		"""kill -9 of a member's postmaster while a shard moves."""
		return self._move('block_writes', lambda: self._after_a_while(self.kill_postmaster))

	def kill_worker_in_move(self):
		"""kill -9 of a member's worker while a shard moves."""
		return self._move('block_writes', lambda: self._after_a_while(self.kill_worker))


class ClusterChecker(Checker):
	"""The checks that work on a cluster, on the member of the connection."""

	def _settled(self, expected):
		yield 'no transaction is left in doubt', differences([], self.server.recover())
		for member in self.server.members:
			yield f'wait_for_views() of {member.port}', differences([(True,)], member.ask(
				'SELECT blogstore.wait_for_views(%s)', f'{PATIENCE:.0f} s'))
		yield 'verify()', differences([], self._rows('SELECT * FROM blogstore.verify()'))
		yield 'nothing crashes by itself', '\n'.join(self._crashes()[:3])

	def _crashes(self):
		"""Return crashes, without errors that Citus raises after its
		postmaster's end."""
		ended = {match.group() for line in self.server.log_lines('ERROR:  postmaster was shut down, exiting')
			for match in [PROCESS.search(line)]}
		return [line for line in self.server.log_lines(OWN_CRASH)
			if not ENDED_BY_CITUS.search(line) or PROCESS.search(line).group() not in ended]

	def _containers(self, expected):
		yield 'user items', self._same(expected.user_rows(), """
			SELECT id, type, user_id, username, creation_date, properties FROM blogstore.user_items""")
		yield from self._items(expected)
		yield 'deltas of counts have their posts', differences([], self._lasting(
			DELTAS + ' HAVING NOT post_id = ANY (%s::uuid[])', list(expected.posts)))

	def _views(self, expected):
		yield 'copies of posts in users', differences(expected.post_rows(hidden=True), self._rows(
			f"SELECT {POST_COLUMNS} FROM blogstore.users WHERE type = 'post' {NEWEST_FIRST}"))
