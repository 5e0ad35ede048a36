"""A client runs its steps, and repeats those that were not acknowledged."""

import datetime
import threading
import time

import psycopg2

from lib.server import PATIENCE

from . import imports, model
from .plan import CHILD_COMMANDS
from .server import CLIENT_ROLE, START_PATIENCE
from .verdict import Divergence

# Serialization failure and deadlock
RETRYABLE = ('40001', '40P01')
# A prepared transaction that a killed process still holds
BUSY = ' is busy'
# Errors of objects that the owner has attached, such as a unique index
OWNERS_OWN = 'torture_odd'
REFUSALS = {'23503': model.REFUSED, '23505': model.TAKEN}
# A comment on a hidden post or comment, or a like of one
POST_HIDDEN = ' is hidden'


class Client(threading.Thread):
	"""A client. Its ledger has the effects of its acknowledged commands."""

	def __init__(self, number, server, plan, gate, verdict, lifetimes, alterations):
		super().__init__(name=f'client {number}', daemon=True)
		self.number = number
		self.server = server
		self.plan = plan
		self.gate = gate
		self.verdict = verdict
		self.alterations = alterations
		self.ledger = model.Ledger(lifetimes)
		self.step = None
		self.pid = None			# the process id of its backend
		self._connection = None
		self._prepared = None	# the attempt that reached PREPARE TRANSACTION
		self._finishing = False
		self._since = None		# when the client first sent the step

	def run(self):
		try:
			while not self.verdict.over.is_set():
				step = self.plan.next(self.number, may_draw=not self.gate.closed)
				if step is None:
					self.gate.wait(self.verdict.over)
				else:
					self.step = step
					self._play(step)
		except Divergence as divergence:
			self.verdict.fail(str(divergence))
		except Exception as error:		# a fault of the program fails the run
			self.verdict.fail(f'{self.name}, {self._describe()}: {type(error).__name__}: {error}')
			raise
		finally:
			self._disconnect()

	def _describe(self):
		if self.step is None:
			return 'no step yet'
		commands = [('undone ' if group.undone else '') + str(command)
			for group in self.step.groups for command in group.commands]
		return f'step {self.step.number} ({self.step.ending}, {self.step.isolation})\n  ' + '\n  '.join(commands)

	# -- a step ----------------------------------------------------------

	def _play(self, step):
		"""Attempt a step until it is acknowledged. Then judge the answers."""
		first = True
		began = time.monotonic()
		self._since = datetime.datetime.now(datetime.timezone.utc)
		step = self.step = step.dated(self._since)
		deadline = began + PATIENCE + START_PATIENCE
		self._prepared = None
		self._finishing = False
		self.ledger.doom(step, self._since)
		while not self.verdict.over.is_set():
			if time.monotonic() > deadline:
				raise Divergence(f'{self.name} gets no answer in {PATIENCE + START_PATIENCE:.0f} s to {self._describe()}')
			started = time.monotonic()
			try:
				attempt = self._attempt(step, first)
			except (psycopg2.Error, ConnectionError) as error:
				if self._broken(error):
					first = False
					self.verdict.count('in-doubt retries')
				elif error.pgcode in RETRYABLE or (error.pgcode == '55000' and BUSY in str(error)):
					first = self._rolled_back() and first
					self.verdict.count('serialization and deadlock retries')
				elif self.alterations.excuse(error, started):
					# Nothing has changed, so attempt the same step again.
					first = self._rolled_back() and first
					self.verdict.count('refused because of an alteration')
				else:
					raise Divergence(f'{self.name}: {error.pgcode} {str(error).strip()}\n  {self._describe()}') from error
				continue
			self.ledger.settle(step, attempt)
			self._count(step, attempt)
			self._look_for_removed(step)
			return

	def _count(self, step, attempt):
		self.verdict.count('steps acknowledged')
		self.verdict.count('commands acknowledged', len(step.effective))
		self.verdict.count('refused, rightly', attempt.outcomes.count(model.REFUSED))
		self.verdict.count('imports', sum(command.function == 'import' for command in step.effective))
		self.verdict.count('refused on hidden posts', attempt.outcomes.count(model.HIDDEN))
		if 'prepare' in step.ending:
			self.verdict.count('transactions prepared')

	def _broken(self, error):
		"""Return whether the connection, and with it the answer, is lost."""
		if self._connection is not None and not self._connection.closed and error.pgcode is not None:
			if not error.pgcode.startswith(('57P', '08')):
				return False
		self._disconnect()
		# A process that was killed leaves its transaction open until the
		# postmaster has seen it: do not ask a server that is still to restart.
		time.sleep(0.1)
		return True

	def _disconnect(self):
		if self._connection is not None:
			try:
				self._connection.close()
			except psycopg2.Error:
				pass
		self._connection = None
		self.pid = None

	def _rolled_back(self):
		"""Roll back; return False if the connection broke."""
		try:
			if self._connection.info.transaction_status != psycopg2.extensions.TRANSACTION_STATUS_IDLE:
				self._connection.cursor().execute('ROLLBACK')
		except (psycopg2.Error, ConnectionError) as error:
			if self._broken(error):
				return False
			raise
		time.sleep(0.01)
		return True

	def _cursor(self):
		if self._connection is None:
			self._connection = self.server.connect_patiently(CLIENT_ROLE)
			self.pid = self._connection.info.backend_pid
		return self._connection.cursor()

	def _attempt(self, step, first):
		"""Run a step once. Return the acknowledged attempt."""
		cursor = self._cursor()
		if 'prepare' in step.ending and not first:
			attempt = self._finish_found(cursor, step)
			if attempt is not None:
				return attempt._replace(first=False)
		attempt = model.Attempt(self._since, time.monotonic(), first, [])
		if step.ending == 'plain':
			attempt.outcomes.append(self._call(cursor, step.groups[0].commands[0]))
			return attempt
		cursor.execute('BEGIN ISOLATION LEVEL ' + step.isolation)
		for group in step.groups:
			self._play_group(cursor, group, attempt)
		if 'prepare' in step.ending:
			self._prepared = attempt
			cursor.execute('PREPARE TRANSACTION %s', (step.gid,))
			self._finish_prepared(cursor, step)
		else:
			cursor.execute(step.ending.upper())
		return attempt

	def _play_group(self, cursor, group, attempt):
		if group.undone:
			cursor.execute('SAVEPOINT undone')
		for command in group.commands:
			# A savepoint keeps a refused command from undoing the rest.
			guarded = group.undone or command.function in CHILD_COMMANDS
			if guarded:
				cursor.execute('SAVEPOINT guard')
			outcome = self._call(cursor, command, guarded)
			if guarded:
				refused = outcome in (model.REFUSED, model.TAKEN, model.HIDDEN)
				cursor.execute(('ROLLBACK TO' if refused else 'RELEASE') + ' SAVEPOINT guard')
			attempt.outcomes.append(outcome)
		if group.undone:
			cursor.execute('ROLLBACK TO SAVEPOINT undone')

	def _call(self, cursor, command, guarded=True):
		"""Return a command's row (a dict), None, or the reason of its refusal.
		"""
		arguments = ', '.join(f'{name} => %({name})s' for name in command.args)
		if command.function == 'import':
			return imports.play(cursor, command.args)
		try:
			cursor.execute(f'SELECT * FROM blogstore.{command.function}({arguments})', command.args)
		except psycopg2.Error as error:
			if guarded and error.pgcode in REFUSALS and OWNERS_OWN not in str(error):
				return REFUSALS[error.pgcode]
			if guarded and error.pgcode == '23514' and POST_HIDDEN in str(error):
				return model.HIDDEN
			raise
		row = cursor.fetchone()
		if row is None:
			return None
		return dict(zip((column.name for column in cursor.description), row))

	# -- two-phase commit ------------------------------------------------

	def _finish_prepared(self, cursor, step):
		self._finishing = True
		cursor.execute(('ROLLBACK' if 'rollback' in step.ending else 'COMMIT') + ' PREPARED %s', (step.gid,))

	def _finish_found(self, cursor, step):
		"""After a lost connection, return the attempt; None to run it again.
		"""
		if self._prepared is None:
			return None
		cursor.execute('SELECT count(*) FROM pg_prepared_xacts WHERE gid = %s', (step.gid,))
		if cursor.fetchone()[0] > 0:
			self._finish_prepared(cursor, step)
			return self._prepared
		# No other session ends it, so the lost command has done so.
		return self._prepared if self._finishing else None

	# -- what is deleted or hidden is not served -------------------------

	def _look_for_removed(self, step):
		"""Check that no query returns what the step has deleted or hidden."""
		for query, parameters in self.ledger.absent(step):
			started = time.monotonic()
			try:
				rows = self._given(query, parameters)
			except (psycopg2.Error, ConnectionError) as error:
				if self._broken(error):
					return
				if error.pgcode in RETRYABLE or self.alterations.excuse(error, started):
					continue
				raise
			if rows:
				raise Divergence(
					f'{self.name}: {query % parameters} gives what was deleted or hidden before\n'
					f'  {rows[:3]!r}\n  by {self._describe()}')
			self.verdict.count('looks for deleted and hidden items')

	def _given(self, query, parameters):
		"""Return the present rows of a query."""
		cursor = self._cursor()
		cursor.execute('SELECT * FROM ' + query, parameters)
		return cursor.fetchall()
