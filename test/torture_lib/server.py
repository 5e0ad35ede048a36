"""A private server: made, started, hurt, started again, removed.

The postmaster is a child of this program, so that its end is seen at once
and leaves no zombie behind that pg_ctl would take for a running server.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg2

from .verdict import Divergence

DATABASE = 'torture'
CLIENT_ROLE = 'torture_client'

# How long anything may take that has to happen by itself: recovery, a lock,
# the views. Far above what it takes on a machine that is overloaded, so that only
# what hangs is reported.
PATIENCE = 300.0

# A startup process that outlives its postmaster, and finds no checkpointer, goes
# on looking for one for a minute (RequestCheckpoint()), and nobody else can start.
START_PATIENCE = 60.0 + PATIENCE

# fsync = off takes nothing from the test: what a process has written survives
# kill -9, whether or not it was synced. Small buffers and a small WAL have
# pages written and checkpoints made (which is when a slot's position reaches
# the disk) at all sorts of moments.
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{directory}'
unix_socket_permissions = 0700
shared_preload_libraries = 'blogstore'
wal_level = logical
restart_after_crash = on
fsync = off
shared_buffers = 4MB
max_connections = 50
max_prepared_transactions = 40
max_wal_size = 32MB
min_wal_size = 16MB
checkpoint_timeout = 30s
deadlock_timeout = 100ms
autovacuum_naptime = 5s
timezone = 'UTC'
log_line_prefix = '%m [%p] %b '
log_checkpoints = off
log_min_error_statement = panic
blogstore.feed_size = {feed_size}
"""

# whose the containers are, an ordinary role; and somebody it knows
OWNER_ROLES = """
CREATE ROLE torture_owner LOGIN;
CREATE ROLE torture_intruder;
GRANT CREATE ON SCHEMA blogstore TO torture_owner;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO torture_owner;
"""

ACTIVITY = """
SELECT pid, backend_type, state, wait_event_type, wait_event,
	pg_blocking_pids(pid) AS waits_for, left(query, 120) AS query
FROM pg_stat_activity
WHERE backend_type IN ('client backend', 'blogstore worker', 'blogstore launcher')
	AND pid <> pg_backend_pid()
"""


class Server:
	"""One server in a temporary directory."""

	def __init__(self, pg_config, feed_size, keep):
		self.bindir = subprocess.run(
			[pg_config, '--bindir'], check=True, capture_output=True, text=True).stdout.strip()
		self.feed_size = feed_size
		self.keep = keep
		self.directory = tempfile.mkdtemp(prefix='torture-')
		self.data = os.path.join(self.directory, 'data')
		self.log = os.path.join(self.directory, 'server.log')
		self.process = None

	def create(self):
		"""initdb, first start, extension, containers, the clients' role."""
		made = subprocess.run(
			[os.path.join(self.bindir, 'initdb'), '-D', self.data, '-U', 'postgres', '--auth=trust',
				'--encoding=UTF8', '--locale=C.UTF-8', '--no-sync', '--wal-segsize=4'],
			stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
		if made.returncode != 0:
			raise RuntimeError('initdb failed:\n' + made.stdout)
		with open(os.path.join(self.data, 'postgresql.conf'), 'a', encoding='utf-8') as conf:
			conf.write(SETTINGS.format(directory=self.directory, feed_size=self.feed_size))
		self.start()
		connection = self.connect(database='postgres')
		connection.cursor().execute(f'CREATE DATABASE {DATABASE}')
		connection.close()
		connection = self.connect()
		cursor = connection.cursor()
		cursor.execute('CREATE EXTENSION blogstore')
		cursor.execute(OWNER_ROLES)
		cursor.execute("SELECT blogstore.create_containers(4, 'torture_owner')")
		cursor.execute(f'CREATE ROLE {CLIENT_ROLE} LOGIN')
		cursor.execute(f'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO {CLIENT_ROLE}')
		# refusals are part of the clients' life: not worth a line each
		cursor.execute(f"ALTER ROLE {CLIENT_ROLE} SET log_min_messages = 'fatal'")
		cursor.execute(f"ALTER ROLE {CLIENT_ROLE} SET statement_timeout = '{int(PATIENCE)}s'")
		connection.close()

	def connect(self, user='postgres', database=DATABASE):
		"""A connection in autocommit mode; raises OperationalError."""
		# what libpq is told while it connects, it would print by itself
		connection = psycopg2.connect(
			host=self.directory, port=5432, user=user, dbname=database, application_name='torture',
			options='-c client_min_messages=error')
		connection.autocommit = True
		return connection

	def connect_patiently(self, user='postgres'):
		"""A connection as soon as the server takes one."""
		deadline = time.monotonic() + START_PATIENCE
		while True:
			try:
				return self.connect(user)
			except psycopg2.OperationalError as error:
				if time.monotonic() > deadline:
					raise Divergence(f'the server takes no connections for {START_PATIENCE:.0f} s: {error}') from error
				time.sleep(0.02)

	def ask(self, query, *parameters):
		"""The rows of one query, in a connection of its own."""
		connection = self.connect_patiently()
		try:
			cursor = connection.cursor()
			cursor.execute(query, parameters)
			return cursor.fetchall() if cursor.description else []
		finally:
			connection.close()

	def pid_of(self, backend_type):
		"""The process of that type in this database or in none, or None."""
		rows = self.ask(
			'SELECT pid FROM pg_stat_activity WHERE backend_type = %s AND coalesce(datname, %s) = %s',
			backend_type, DATABASE, DATABASE)
		return rows[0][0] if rows else None

	# -- starting and ending ---------------------------------------------

	def start(self):
		"""Start it; what a killed postmaster left behind may take a while to end."""
		deadline = time.monotonic() + START_PATIENCE
		while time.monotonic() < deadline:
			self.launch()
			if self._accepts(deadline):
				return
			time.sleep(0.1)
		raise Divergence(f'the server does not start within {START_PATIENCE:.0f} s')

	def launch(self):
		"""Start the postmaster, and do not wait for what comes of it."""
		with open(self.log, 'ab') as log:
			self.process = subprocess.Popen(
				[os.path.join(self.bindir, 'postgres'), '-D', self.data],
				stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

	def _accepts(self, deadline):
		"""Wait until it takes connections (True) or gives up (False)."""
		while self.process.poll() is None and time.monotonic() < deadline:
			try:
				self.connect(database='postgres').close()
				return True
			except psycopg2.OperationalError:
				time.sleep(0.02)
		return False

	def stop(self, mode):
		"""pg_ctl stop in that mode."""
		stopped = subprocess.run(
			[os.path.join(self.bindir, 'pg_ctl'), '-D', self.data, '-m', mode, '-w', '-t', str(int(PATIENCE)), '-s', 'stop'],
			stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
		if stopped.returncode != 0:
			raise Divergence(f'pg_ctl stop -m {mode} failed: {stopped.stdout.strip()}')
		self.process.wait()

	def kill_postmaster(self):
		"""kill -9, which its children notice by themselves."""
		self.process.kill()
		self.process.wait()

	def kill_process(self, pid):
		"""kill -9 of one process; returns when the server has taken itself down and up again."""
		before = self.pid_of('checkpointer')
		if not self._is_child(pid):
			return False
		os.kill(pid, signal.SIGKILL)
		# a new checkpointer is what tells a server after the restart from one
		# whose postmaster has not looked yet
		deadline = time.monotonic() + PATIENCE
		ended = time.monotonic() + 30		# by itself, just before the signal: nobody restarts
		while time.monotonic() < deadline:
			try:
				if self.pid_of('checkpointer') == before and time.monotonic() > ended and not self._is_child(pid):
					return False
				if self.pid_of('checkpointer') not in (before, None):
					return True
			except psycopg2.Error:
				pass
			time.sleep(0.02)
		raise Divergence(f'the server does not come back within {PATIENCE:.0f} s')

	def _is_child(self, pid):
		"""Whether it is a process of this server: it may have ended meanwhile."""
		try:
			with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
				return int(stat.read().rpartition(')')[2].split()[1]) == self.process.pid
		except FileNotFoundError:
			return False

	def remove(self):
		"""End it, whatever state it is in, and remove the directory."""
		if self.process is not None and self.process.poll() is None:
			self.process.send_signal(signal.SIGQUIT)
			try:
				self.process.wait(20)
			except subprocess.TimeoutExpired:
				self.process.kill()
				self.process.wait()
		if not self.keep:
			shutil.rmtree(self.directory, ignore_errors=True)

	# -- looking at it ---------------------------------------------------

	def log_lines(self, pattern):
		"""The lines of the log in which the pattern is found."""
		if not os.path.exists(self.log):
			return []
		with open(self.log, encoding='utf-8', errors='replace') as log:
			return [line.rstrip('\n') for line in log if re.search(pattern, line)]

	def log_tail(self, lines=40):
		"""The end of the log."""
		return self.log_lines('')[-lines:]

	def activity(self):
		"""Who does what and waits for whom, as lines of text."""
		try:
			connection = self.connect()
			try:
				cursor = connection.cursor()
				cursor.execute(ACTIVITY)
				return [' | '.join(str(value) for value in row) for row in cursor.fetchall()]
			finally:
				connection.close()
		except psycopg2.Error as error:
			return [f'(no answer: {str(error).strip()})']
