"""Private servers: made for one run of a program, with data directories of their own.

PostgreSQL refuses to run as root, so root drops to user postgres for it, and
an ordinary user stays who he is. Clients connect through a socket in the same
directory, which nobody else may enter. The postmaster is a child of this
program, so that its end is seen at once and leaves no zombie behind that pg_ctl
would take for a running server.
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

# What servers are measured with, but for checkpoints; {buffers} is in MB.
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
# What blogstore's worker needs
WITH_WORKER = """
wal_level = logical
shared_preload_libraries = 'blogstore'
"""

SOCKET_ROOM = 80		# a socket's path has room for 107 characters

# Seconds that a start or a stop may take; far above what they take on a machine that is
# overloaded, so that only what hangs is reported.
PATIENCE = 300.0


class Failure(Exception):
	"""The program cannot go on; says why."""

	found = None			# what had been measured until then, if that is of use


def say(text):
	"""Progress, on stderr, with the seconds since the beginning."""
	print(f'{time.monotonic() - BEGAN:6.0f} s  {text}', file=sys.stderr, flush=True)


def environment():
	"""This process's environment, without what leads clients elsewhere."""
	clean = {name: value for name, value in os.environ.items()
		if not name.startswith(('PG', 'LC_', 'LANG'))}
	clean['LANG'] = 'C.UTF-8'
	return clean


def dropped_to(user):
	"""The arguments that make a process of subprocess run as that user, or as who runs this program."""
	return {} if user is None else {'user': user.pw_uid, 'group': user.pw_gid, 'extra_groups': []}


def call(command, text=None, user=None, settings=None, cwd=None):
	"""Run a command, with text as its input; returns its output, or raises Failure."""
	done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=cwd,
		env={**environment(), **(settings or {})}, check=False, **dropped_to(user))
	if done.returncode != 0:
		raise Failure(f'{os.path.basename(command[0])} failed:\n{done.stderr or done.stdout}')
	return done.stdout


def end_on_signals():
	"""Have SIGTERM and SIGHUP end the program by way of its clean-up, which a second one does not interrupt."""
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
		"""The path of a program of this installation."""
		return os.path.join(self.bindir, name)


class Workplace:
	"""A directory for servers and logs; at the end the servers are ended, and it is removed with all in it, unless it is to be kept."""

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
		"""End the servers, and clean up."""
		for server in self.servers:
			server.end()
		if not self.keep:
			shutil.rmtree(self.path, ignore_errors=True)


class Server:
	"""A server of a workplace; one socket directory for all, told apart by port."""

	def __init__(self, installation, workplace, name, settings, initdb_options=()):
		"""Make its data directory; start() is the caller's."""
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
		"""Run a server program as the user who owns the data directory."""
		call([self.installation.program(program), *arguments], user=self.installation.user,
			cwd=self.socket)

	# -- starting and ending ---------------------------------------------

	def launch(self, under=()):
		"""Start the postmaster, under another program if one is given, and do not wait for what comes of it."""
		with open(self.log, 'ab') as log:
			self.process = subprocess.Popen([*under, self.installation.program('postgres'), '-D', self.data],
				stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), cwd=self.socket,
				start_new_session=True, **dropped_to(self.installation.user))

	def accepts(self, deadline):
		"""Wait until it takes connections (True), or has ended or come to the deadline (False)."""
		while self.process.poll() is None and time.monotonic() < deadline:
			if self._is_ready():
				return True
			time.sleep(0.02)
		return False

	def _is_ready(self):
		"""What the postmaster says of itself, where pg_ctl reads it: the first line is its pid, the eighth its state."""
		try:
			with open(os.path.join(self.data, 'postmaster.pid'), encoding='utf-8') as file:
				lines = file.read().split('\n')
		except OSError:
			return False
		return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == 'ready'

	def start(self, under=()):
		"""Start it, and return when it takes connections."""
		self.launch(under)
		if not self.accepts(time.monotonic() + PATIENCE):
			raise Failure('the server does not start:\n' + self.end_of_log())

	def stop(self, mode):
		"""Stop it as pg_ctl does in that mode."""
		self._as_owner('pg_ctl', '-D', self.data, '-m', mode, '-w', '-t', str(int(PATIENCE)), '-s', 'stop')
		self.process.wait()

	def end(self):
		"""End it at once, whatever state it is in; nothing is kept."""
		if self.process is None or self.process.poll() is not None:
			return
		self.process.send_signal(signal.SIGQUIT)
		try:
			self.process.wait(20)
		except subprocess.TimeoutExpired:
			self.process.kill()
			self.process.wait()

	# -- looking at it ---------------------------------------------------

	def log_lines(self, pattern=''):
		"""The lines of the log in which the pattern is found."""
		if not os.path.exists(self.log):
			return []
		with open(self.log, encoding='utf-8', errors='replace') as log:
			return [line.rstrip('\n') for line in log if re.search(pattern, line)]

	def end_of_log(self, lines=20):
		"""The last lines of the log, as one text."""
		return '\n'.join(self.log_lines()[-lines:])

	# -- asking it -------------------------------------------------------

	def address(self):
		"""What clients need to connect."""
		return {'PGHOST': self.socket, 'PGPORT': str(self.port), 'PGUSER': 'postgres',
			'PGOPTIONS': '-c client_min_messages=warning'}

	def psql(self, database, *arguments, text=None, **variables):
		"""Run psql, one transaction a statement; returns what it prints."""
		sets = [f'--set={name}={value}' for name, value in variables.items()]
		return call([self.installation.program('psql'), '-X', '-q', '-At', '-F', '\t',
			'--set=ON_ERROR_STOP=1', *sets, '-d', database, *arguments], text, settings=self.address())

	def sql(self, database, text, **variables):
		"""Run SQL as psql does; returns all rows, as strings."""
		out = self.psql(database, '-f', '-', text=text, **variables)
		return [line.split('\t') for line in out.splitlines()]

	def change(self, **settings):
		"""Change settings, or set them back (None), and give the processes a moment to hear of it."""
		for name, value in settings.items():
			self.sql('postgres', f'ALTER SYSTEM RESET {name}' if value is None else f"ALTER SYSTEM SET {name} = '{value}'")
		self.sql('postgres', 'SELECT pg_reload_conf()')
		self.sql('postgres', 'SELECT pg_sleep(0.2)')
