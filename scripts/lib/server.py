"""Private servers, each made for one run of a program.

PostgreSQL refuses to run as root, so root drops to user postgres to run a
server. An ordinary user keeps his identity. Clients connect through a socket
in a directory that is closed to other users. The postmaster is a child of
this program. So the program notices its end at once and reaps the process,
which pg_ctl would otherwise take for a running server.
"""

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SERVER_USERS = ('postgres', 'nobody')
BEGAN = time.monotonic()

# Settings of measured servers, except for checkpoints. {buffers} is in MB.
DURABLE = """
fsync = on
synchronous_commit = on
full_page_writes = on
shared_buffers = {buffers}MB
max_wal_size = 16GB
max_connections = 200
random_page_cost = 1.1
jit = off
"""
# Settings that blogstore's worker needs.
WITH_WORKER = """
wal_level = logical
shared_preload_libraries = 'blogstore'
"""

SOCKET_ROOM = 80		# a socket's path has room for 107 characters

# Seconds that a start or a stop may take. This is much longer than they take
# on an overloaded machine, so that only a server that hangs is reported.
PATIENCE = 300.0


class Failure(Exception):
	"""An error that ends the program."""

	found = None			# the results until then, if they are of use


def say(text):
	"""Print progress on stderr, with the seconds since the program began."""
	print(f'{time.monotonic() - BEGAN:6.0f} s  {text}', file=sys.stderr, flush=True)


def environment():
	"""Return this process's environment without its PG* and locale variables,
	which would affect clients.
	"""
	clean = {name: value for name, value in os.environ.items()
		if not name.startswith(('PG', 'LC_', 'LANG'))}
	clean['LANG'] = 'C.UTF-8'
	return clean


def dropped_to(user):
	"""Return arguments of subprocess that run a process as the user, or as the
	current user if it is None.
	"""
	return {} if user is None else {'user': user.pw_uid, 'group': user.pw_gid, 'extra_groups': []}


def call(command, text=None, user=None, settings=None, cwd=None):
	"""Run a command with text as its input, and return its output.

	Raise Failure if the command fails.
	"""
	done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=cwd,
		env={**environment(), **(settings or {})}, check=False, **dropped_to(user))
	if done.returncode != 0:
		raise Failure(f'{os.path.basename(command[0])} failed:\n{done.stderr or done.stdout}')
	return done.stdout


def end_on_signals():
	"""Make SIGTERM and SIGHUP end the program through its clean-up.

	A second signal does not interrupt the clean-up.
	"""
	numbers = (signal.SIGTERM, signal.SIGHUP)

	def end(number, _frame):
		for other in numbers:
			signal.signal(other, signal.SIG_IGN)
		sys.exit(128 + number)

	for number in numbers:
		signal.signal(number, end)


class Installation:
	"""An installed PostgreSQL, and the user that servers run as."""

	def __init__(self, pg_config):
		self.bindir = call([pg_config, '--bindir']).strip()
		self.version = call([self.program('postgres'), '--version']).strip()
		self.user = None
		if os.geteuid() == 0:
			known = {entry.pw_name: entry for entry in pwd.getpwall()}
			self.user = next((known[name] for name in SERVER_USERS if name in known), None)
			if self.user is None:
				raise Failure('PostgreSQL does not run as root, and there is no user postgres')

	def program(self, name):
		"""Return the path of a program of this installation."""
		return os.path.join(self.bindir, name)


class Workplace:
	"""A directory for servers and logs.

	close() ends the servers, and removes the directory unless keep is true.
	"""

	def __init__(self, installation, parent, name, keep=False):
		try:
			self.path = tempfile.mkdtemp(prefix=name + '-', dir=parent)
		except OSError as error:
			raise Failure(f'cannot make a directory in {parent}: {error.strerror}') from error
		self.servers = []
		self.keep = keep
		if len(self.path) > SOCKET_ROOM:
			os.rmdir(self.path)
			raise Failure(f'the path of {parent} is too long for a socket')
		if installation.user is not None:
			os.chown(self.path, installation.user.pw_uid, installation.user.pw_gid)

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()

	def close(self):
		"""End the servers, and remove the directory unless it is kept."""
		for server in self.servers:
			server.end()
		if not self.keep:
			shutil.rmtree(self.path, ignore_errors=True)


class Server:
	"""A server of a workplace.

	The servers of a workplace share a directory for sockets. Each has a port
	of its own.
	"""

	def __init__(self, installation, workplace, name, settings, initdb_options=()):
		"""Make the data directory. The caller calls start()."""
		self.installation = installation
		self.socket = workplace.path
		self.port = 50000 + len(workplace.servers)
		self.data = os.path.join(workplace.path, name)
		self.log = os.path.join(workplace.path, name + '.log')
		self.process = None
		workplace.servers.append(self)
		self._as_owner('initdb', '-D', self.data, '-U', 'postgres', '--encoding=UTF8',
			'--locale=C.UTF-8', '--auth=trust', *initdb_options)
		with open(os.path.join(self.data, 'postgresql.conf'), 'a', encoding='utf-8') as conf:
			conf.write(f"\nlisten_addresses = ''\nport = {self.port}\n"
				f"unix_socket_directories = '{self.socket}'\n{settings}")

	def _as_owner(self, program, *arguments):
		"""Run a server program as the owner of the data directory."""
		call([self.installation.program(program), *arguments], user=self.installation.user,
			cwd=self.socket)

	# -- starting and ending ---------------------------------------------

	def launch(self, under=()):
		"""Start the postmaster, and do not wait until it is ready.

		under is the command line of a program that runs the postmaster.
		"""
		with open(self.log, 'ab') as log:
			self.process = subprocess.Popen([*under, self.installation.program('postgres'), '-D', self.data],
				stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), cwd=self.socket,
				start_new_session=True, **dropped_to(self.installation.user))

	def accepts(self, deadline):
		"""Wait until the server accepts connections, and return True.

		Return False if the server ends, or at the deadline.
		"""
		while self.process.poll() is None and time.monotonic() < deadline:
			if self._is_ready():
				return True
			time.sleep(0.02)
		return False

	def _is_ready(self):
		"""Return whether postmaster.pid, which pg_ctl reads as well, says that
		the server is ready. Its first line is the pid, its eighth the state.
		"""
		try:
			with open(os.path.join(self.data, 'postmaster.pid'), encoding='utf-8') as file:
				lines = file.read().split('\n')
		except OSError:
			return False
		return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == 'ready'

	def start(self, under=()):
		"""Start the server, and return when it accepts connections."""
		self.launch(under)
		if not self.accepts(time.monotonic() + PATIENCE):
			raise Failure('the server does not start:\n' + self.end_of_log())

	def stop(self, mode):
		"""Stop the server with pg_ctl, in the given mode."""
		self._as_owner('pg_ctl', '-D', self.data, '-m', mode, '-w', '-t', str(int(PATIENCE)), '-s', 'stop')
		self.process.wait()

	def end(self):
		"""End the server at once, in whatever state it is. Its data are not
		needed any more.
		"""
		if self.process is None or self.process.poll() is not None:
			return
		self.process.send_signal(signal.SIGQUIT)
		try:
			self.process.wait(20)
		except subprocess.TimeoutExpired:
			self.process.kill()
			self.process.wait()

	# -- log -------------------------------------------------------------

	def log_lines(self, pattern=''):
		"""Return the lines of the log that match the pattern."""
		if not os.path.exists(self.log):
			return []
		with open(self.log, encoding='utf-8', errors='replace') as log:
			return [line.rstrip('\n') for line in log if re.search(pattern, line)]

	def end_of_log(self, lines=20):
		"""Return the last lines of the log as one text."""
		return '\n'.join(self.log_lines()[-lines:])

	# -- clients ---------------------------------------------------------

	def address(self):
		"""Return the environment that clients need to connect."""
		return {'PGHOST': self.socket, 'PGPORT': str(self.port), 'PGUSER': 'postgres',
			'PGOPTIONS': '-c client_min_messages=warning'}

	def psql(self, database, *arguments, text=None, **variables):
		"""Run psql, one transaction per statement, and return its output."""
		sets = [f'--set={name}={value}' for name, value in variables.items()]
		return call([self.installation.program('psql'), '-X', '-q', '-At', '-F', '\t',
			'--set=ON_ERROR_STOP=1', *sets, '-d', database, *arguments], text, settings=self.address())

	def sql(self, database, text, **variables):
		"""Run SQL with psql, and return all rows as lists of strings."""
		out = self.psql(database, '-f', '-', text=text, **variables)
		return [line.split('\t') for line in out.splitlines()]

	def change(self, **settings):
		"""Change settings; reset those that are None.

		Wait a moment, so that the server's processes reload them.
		"""
		for name, value in settings.items():
			self.sql('postgres', f'ALTER SYSTEM RESET {name}' if value is None else f"ALTER SYSTEM SET {name} = '{value}'")
		self.sql('postgres', 'SELECT pg_reload_conf()')
		self.sql('postgres', 'SELECT pg_sleep(0.2)')
