"""The server of a run, with functions that kill and start it."""

import os
import signal
import time

import psycopg2
import psycopg2.extras

from lib import server
from lib.server import PATIENCE

from .properties import SHORT_FORMS, TOPIC_PROPERTY
from .verdict import Divergence

DATABASE = 'torture'
CLIENT_ROLE = 'torture_client'

# A startup process whose postmaster was killed may look for a checkpointer for
# a minute (RequestCheckpoint()). No server can start in the directory
# meanwhile.
START_PATIENCE = 60.0 + PATIENCE

# fsync = off does not weaken the test: what a process has written survives
# kill -9 without it. Small buffers and little WAL make the server write pages
# and checkpoints at all sorts of moments. A checkpoint writes a slot's
# position to disk.
SETTINGS = server.WITH_WORKER + """
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
blogstore.topic_property = '{topic_property}'
blogstore.notify = on
"""

# The owner of the containers, an ordinary role, and another role
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


# Keep jsonb as text, because numbers would lose digits.
psycopg2.extras.register_default_jsonb(globally=True, loads=lambda text: text)


class Server(server.Server):
	"""A server with a database that has blogstore."""

	def __init__(self, installation, workplace, feed_size, name='data', settings=''):
		self.feed_size = feed_size
		self.short_form, self.short_form_keys = SHORT_FORMS[0]
		super().__init__(installation, workplace, name, SETTINGS.format(feed_size=feed_size, topic_property=TOPIC_PROPERTY) + settings,
			('--no-sync', '--wal-segsize=4'))

	def create(self):
		"""Start the server, and create extension, containers and roles."""
		self.start()
		connection = self.connect(database='postgres')
		connection.cursor().execute(f'CREATE DATABASE {DATABASE}')
		connection.close()
		connection = self.connect()
		cursor = connection.cursor()
		cursor.execute('CREATE EXTENSION blogstore')
		cursor.execute(OWNER_ROLES)
		cursor.execute("SELECT blogstore.create_containers(4, 'torture_owner')")
		for leaf in ('p00', 'p01', 'p02', 'p03'):		# for likes by date
			cursor.execute(f'CREATE INDEX ON blogstore.posts_{leaf}_like (user_id, creation_date, id)')
			cursor.execute(f'CREATE INDEX ON blogstore.posts_{leaf}_comment_like (user_id, creation_date, id)')
		cursor.execute(f'CREATE ROLE {CLIENT_ROLE} LOGIN')
		cursor.execute(f'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO {CLIENT_ROLE}')
		# Do not log refused commands, which are frequent.
		cursor.execute(f"ALTER ROLE {CLIENT_ROLE} SET log_min_messages = 'fatal'")
		cursor.execute(f"ALTER ROLE {CLIENT_ROLE} SET statement_timeout = '{int(PATIENCE)}s'")
		connection.close()

	def connect(self, user='postgres', database=DATABASE):
		"""Return a connection in autocommit mode. Raises OperationalError."""
		# libpq would print messages that arrive while it connects.
		connection = psycopg2.connect(
			host=self.socket, port=self.port, user=user, dbname=database, application_name='torture',
			options='-c client_min_messages=error')
		connection.autocommit = True
		return connection

	def connect_patiently(self, user='postgres'):
		"""Return a connection when the server accepts one."""
		deadline = time.monotonic() + START_PATIENCE
		while True:
			try:
				return self.connect(user)
			except psycopg2.OperationalError as error:
				if time.monotonic() > deadline:
					raise Divergence(f'the server takes no connections for {START_PATIENCE:.0f} s: {error}') from error
				time.sleep(0.02)

	def ask(self, query, *parameters):
		"""Return the rows of a query in a new connection."""
		connection = self.connect_patiently()
		try:
			cursor = connection.cursor()
			cursor.execute(query, parameters)
			return cursor.fetchall() if cursor.description else []
		finally:
			connection.close()

	def change_short_form(self, choice):
		"""Change short_form_properties. Return whether the value is new."""
		before = self.short_form
		self.ask('ALTER SYSTEM SET blogstore.short_form_properties = %s', SHORT_FORMS[choice][0])
		self.short_form, self.short_form_keys = SHORT_FORMS[choice]
		self.ask('SELECT pg_reload_conf()')
		deadline = time.monotonic() + PATIENCE
		while self.ask("SELECT current_setting('blogstore.short_form_properties')")[0][0] != self.short_form:
			if time.monotonic() > deadline:
				raise Divergence(f'blogstore.short_form_properties does not become {self.short_form!r}')
			time.sleep(0.02)
		return self.short_form != before

	def pid_of(self, backend_type):
		"""Return the process id of a backend type, in this database or in
		none."""
		rows = self.ask(
			'SELECT pid FROM pg_stat_activity WHERE backend_type = %s AND coalesce(datname, %s) = %s',
			backend_type, DATABASE, DATABASE)
		return rows[0][0] if rows else None

	# -- starting and ending ---------------------------------------------

	def start(self):
		"""Start the server when the processes of a killed postmaster have
		ended."""
		deadline = time.monotonic() + START_PATIENCE
		while time.monotonic() < deadline:
			self.launch()
			if self.accepts(deadline):
				return
			time.sleep(0.1)
		raise Divergence(f'the server does not start within {START_PATIENCE:.0f} s')

	def kill_postmaster(self):
		"""kill -9 of the postmaster. Its child processes then exit."""
		self.process.kill()
		self.process.wait()

	def kill_process(self, pid):
		"""kill -9 of a process. Returns when the server has restarted."""
		before = self.pid_of('checkpointer')
		if not self._is_child(pid):
			return False
		os.kill(pid, signal.SIGKILL)
		# A new checkpointer shows that the server has restarted. Before that
		# the postmaster may not have noticed the kill.
		deadline = time.monotonic() + PATIENCE
		# A process that has ended itself just before causes no restart.
		ended = time.monotonic() + 30
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
		"""Return whether a process is one of this server and still exists."""
		try:
			with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
				return int(stat.read().rpartition(')')[2].split()[1]) == self.process.pid
		except FileNotFoundError:
			return False

	# -- looking at it ---------------------------------------------------

	def activity(self):
		"""Return the sessions and their locks, as lines of text."""
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
