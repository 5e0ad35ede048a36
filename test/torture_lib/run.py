"""A run: the server, clients, the killer, the checks and the report."""

import collections
import os
import random
import shlex
import signal
import sys
import tempfile
import time
import traceback

import psycopg2

from lib.server import PATIENCE, Failure, Installation, Workplace

from . import hostile_caller, hostile_owner
from .alterations import Alterations
from .checker import Checker
from .client import Client
from .cluster import Cluster, ClusterChecker, ClusterClient, ClusterKiller, ClusterPlan
from .hostile_caller import HostileCaller
from .hostile_owner import HostileOwner
from .killer import Killer
from .lifetimes import Lifetimes
from .plan import Plan
from .reader import Reader
from .server import Server
from .verdict import Divergence, Gate, Verdict

# The feed is smaller than the number of posts, so that its end moves, and
# older posts return to it after deletions.
FEED_SIZE = 50

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def say(text):
	"""Print a line, and flush it for readers of a pipe."""
	print(text, flush=True)


class Run:
	"""The objects of a run."""

	def __init__(self, options, installation, workplace):
		self.options = options
		self.workplace = workplace
		self.seed = random.SystemRandom().randrange(10 ** 9) if options.seed is None else options.seed
		self.verdict = Verdict()
		self.server = Cluster(installation, workplace, FEED_SIZE, self.seed) if options.cluster else \
			Server(installation, workplace, FEED_SIZE)
		self.alterations = Alterations()
		self.hostile = []		# an owner, and half as many callers as clients
		if not options.no_hostile:
			callers = (options.clients + 1) // 2
			self.gate = Gate(options.clients + 1 + callers)
			self.hostile = [HostileOwner(self.server, self.gate, self.verdict, self.alterations, self.seed)]
			pids = [None] * callers
			for number in range(callers):
				self.hostile.append(HostileCaller(number, self.server, self.gate, self.verdict, self.seed, pids))
		else:
			self.gate = Gate(options.clients)
		plan = (ClusterPlan if options.cluster else Plan)(self.seed, options.clients)
		lifetimes = Lifetimes()
		client = ClusterClient if options.cluster else Client
		self.clients = [client(number, self.server, plan, self.gate, self.verdict, lifetimes, self.alterations)
			for number in range(options.clients)]
		# A cluster has no snapshot over all nodes.
		self.readers = [] if options.cluster else [Reader(self.server, self.verdict, self.alterations, self.seed)]
		self.killer = (ClusterKiller if options.cluster else Killer)(self.server, self.clients, self.verdict, self.seed)
		self.checker = (ClusterChecker if options.cluster else Checker)(self.server, self.clients, self.verdict, self.seed,
			self.alterations if self.hostile else None)

	def repetition(self):
		"""Return the command line that repeats the run."""
		command = ['test/torture', '--seed', str(self.seed), '--clients', str(self.options.clients),
			'--duration', f'{self.options.duration:g}', '--pg-config', self.options.pg_config]
		command += [option for option, given in (('--cluster', self.options.cluster), ('--no-kills', self.options.no_kills),
			('--no-hostile', self.options.no_hostile and not self.options.cluster)) if given]
		return shlex.join(command)

	def play(self):
		"""Run the test. Return the exit status."""
		say(f'seed {self.seed}; the same again: {self.repetition()}')
		try:
			self.server.create()
			if self.hostile:
				hostile_owner.set_up(self.server)
				hostile_caller.set_up(self.server)
			say(f'{self._version()} in {self.server.socket}, {self.options.clients} clients, '
				f'{self.options.duration:g} s')
			self._torture()
		except (Divergence, Failure) as failure:
			self.verdict.fail(str(failure))
		except KeyboardInterrupt:
			self.verdict.over.set()
			say('interrupted')
			return 130
		except Exception:		# a fault of the program fails the run
			self.verdict.fail(traceback.format_exc())
		finally:
			for number in ENDING_SIGNALS:
				signal.signal(number, signal.SIG_IGN)
			self._end()
		return 1 if self.verdict.divergences else 0

	def _end(self):
		"""Report and clean up, even if the report cannot be printed."""
		self.verdict.over.set()
		try:
			self._report()
		finally:
			self.workplace.close()
			for thread in (*self.clients, *self.hostile, *self.readers):
				if thread.is_alive():
					thread.join(2)

	def _version(self):
		return 'PostgreSQL ' + self.server.ask("SELECT current_setting('server_version')")[0][0]

	def _torture(self):
		started = time.monotonic()
		shown = started
		for thread in (*self.clients, *self.hostile, *self.readers):
			thread.start()
		while time.monotonic() - started < self.options.duration and not self.verdict.over.is_set():
			self.verdict.over.wait(self.killer.pause())
			if self.verdict.over.is_set():
				break
			self._strike()
			self._check(f'after {time.monotonic() - started:.0f} s')
			if time.monotonic() - shown > 20:
				shown = time.monotonic()
				self._progress(shown - started)
		self._check('in the end')

	def _strike(self):
		if self.options.no_kills:
			return
		started = time.monotonic()
		try:
			self.killer.strike()
		except psycopg2.Error as error:
			# The killer locks the feed from its root, an alteration a leaf.
			deadlock = error.pgcode == '40P01' and self.alterations.beside(started)
			if deadlock or self.alterations.excuse(error, started, direct=True):
				self.verdict.count('kills that an alteration was in the way of')
				self.killer.clean_up()
				return
			raise Divergence(f'{", then ".join(self.killer.last)}: {error.pgcode} {str(error).strip()}') from error

	def _check(self, when):
		"""Gather the clients between two steps, and check the store."""
		if not self.gate.close(self.verdict.over, 3 * PATIENCE):
			waiting = [client.name for client in (*self.clients, *self.hostile) if client.is_alive()]
			raise Divergence(f'{when}: of {", ".join(waiting)} not all end their steps within {3 * PATIENCE:.0f} s')
		if self.verdict.over.is_set():
			return
		last = ', '.join(self.killer.last) or 'no kill yet'
		self.checker.check(f'{when} ({last})')
		self.killer.last.clear()
		self.gate.open()

	def _progress(self, seconds):
		counts = self.verdict.counts
		say(f'{seconds:.0f} s: {counts["commands acknowledged"]} commands, '
			f'{sum(self.verdict.kills.values())} kills, {self.verdict.passed} checks')

	# -- the report ------------------------------------------------------

	def _report(self):
		verdict = self.verdict
		for divergence in verdict.divergences:
			say('\nDIVERGENCE ' + divergence)
		if verdict.divergences:
			self._explain()
		else:
			self._report_worker_errors()
		kinds = ', '.join(f'{number} {kind}' for kind, number in sorted(verdict.kills.items()))
		say(f'\nkills: {sum(verdict.kills.values())} ({kinds})')
		if self.hostile:
			self._report_hostile()
		for what in ('commands acknowledged', 'in-doubt retries'):
			say(f'{what}: {verdict.counts[what]}')
		others = (f'{number} {what}' for what, number in sorted(verdict.counts.items())
			if what not in ('commands acknowledged', 'in-doubt retries'))
		say('also: ' + ', '.join(others))
		say(f'checks: {verdict.passed}')
		say(f'divergences: {len(verdict.divergences)}')
		say(f'seed {self.seed}; the same again: {self.repetition()}')
		say(f'{verdict.passed} passed, {len(verdict.divergences)} failed')

	def _report_hostile(self):
		altered = self.verdict.altered
		say(f'alterations: {sum(altered.values())} ('
			+ ', '.join(f'{number} {kind}' for kind, number in sorted(altered.items())) + ')')
		codes = sum((thread.codes for thread in self.hostile[1:]), collections.Counter())
		say('hostile callers got: ' + ', '.join(f'{number} {code}' for code, number in sorted(codes.items())))

	def _explain(self):
		"""Print what helps to understand a divergence."""
		say('\nin the server:')
		for line in self.server.activity():
			say('  ' + line)
		say(f'the end of its log{", " + self.server.log if self.options.keep else ""}:')
		for line in self.server.log_lines()[-40:]:
			say('  | ' + line)

	def _report_worker_errors(self):
		"""Print the worker's errors. They are no failure, because it starts
		again."""
		errors = {}
		for line in self.server.log_lines(r'\] blogstore (worker|launcher) (ERROR|FATAL|WARNING): '):
			text = line.split('] ', 1)[1]
			if 'due to administrator command' not in text:
				errors[text] = errors.get(text, 0) + 1
		for text, number in sorted(errors.items(), key=lambda item: -item[1])[:5]:
			say(f'in the log, {number} times: {text}')


def silence_libpq():
	"""Discard what libpq prints to stderr when a server crashes."""
	sys.stderr = os.fdopen(os.dup(2), 'w', buffering=1)
	nowhere = os.open(os.devnull, os.O_WRONLY)
	os.dup2(nowhere, 2)
	os.close(nowhere)


def main(options):
	"""Check the preconditions, and run the test."""
	if os.geteuid() == 0:
		print(f'{os.path.basename(sys.argv[0])}: PostgreSQL does not run as root: run this as an unprivileged user,\n'
			f'for example: runuser -u postgres -- {shlex.join(sys.argv)}', file=sys.stderr)
		return 2
	os.chdir('/')				# accessible to any user
	silence_libpq()
	for number in ENDING_SIGNALS:
		signal.signal(number, signal.default_int_handler)
	try:
		installation = Installation(options.pg_config)
		with Workplace(installation, tempfile.gettempdir(), 'torture', options.keep) as workplace:
			return Run(options, installation, workplace).play()
	except Failure as failure:
		say(f'torture: {failure}')
		return 2
