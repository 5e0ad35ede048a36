"""The hostile owner alters the containers beside the work of all others.

It makes one alteration at a time, in a transaction that also leaves a mark. The
transaction that undoes it removes the mark, so whatever is killed, the owner
knows what it has to undo. Nothing is altered while the gate is closed.

After most damages the owner waits until the worker is blocked. After the end of
any damage it waits until the worker serves the views again.
"""

import random
import re
import threading
import time

import psycopg2

from lib.server import PATIENCE

from .alterations import INTRUDER, OWNER, TABLE, draw
from .server import CLIENT_ROLE, START_PATIENCE
from .verdict import Divergence

# The audit trigger uses its table, a domain and a sequence without a schema,
# like an ordinary trigger. It also tries forbidden statements, and records
# those that succeed.
SETUP = f"""
CREATE SCHEMA {OWNER} AUTHORIZATION {OWNER};
GRANT CREATE ON SCHEMA blogstore TO {OWNER}, {INTRUDER};
SET ROLE {OWNER};
CREATE TABLE {OWNER}.mark (name text);
CREATE TABLE {OWNER}.audit_log (who name, path text);
CREATE DOMAIN {OWNER}.status AS text;
CREATE SEQUENCE {OWNER}.numbers;
CREATE FUNCTION {OWNER}.audit() RETURNS trigger LANGUAGE plpgsql SET search_path = {OWNER}, pg_temp AS $$
DECLARE
	what	status := NEW.type;
	attempt	text;
BEGIN
	INSERT INTO audit_log VALUES (current_user, current_setting('search_path'));
	PERFORM nextval('numbers'), set_config('work_mem', '77kB', false);
	IF random() < 0.1 THEN
		FOREACH attempt IN ARRAY ARRAY['CREATE TEMP TABLE torture_left ()', 'CREATE DOMAIN pg_temp.torture_left AS text',
			'SET ROLE torture_caller', 'RESET SESSION AUTHORIZATION', 'PREPARE torture_left AS SELECT 1', 'LISTEN torture_left',
			'DECLARE torture_left CURSOR WITH HOLD FOR SELECT 1', 'SET CONSTRAINTS ALL DEFERRED'] LOOP
			BEGIN
				EXECUTE attempt;
				INSERT INTO audit_log VALUES (current_user, attempt);
			EXCEPTION WHEN insufficient_privilege THEN NULL;
			END;
		END LOOP;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON blogstore.posts
	FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION {OWNER}.audit();
CREATE DOMAIN {OWNER}.odd_text AS text;
CREATE FUNCTION {OWNER}.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = {OWNER}, pg_temp AS $$
BEGIN
	IF random() < 0.3 THEN
		RAISE 'torture_odd refuses';
	END IF;
	RETURN coalesce(NEW, OLD);
END $$;
CREATE FUNCTION {OWNER}.now_and_then(uuid) RETURNS boolean LANGUAGE sql RETURN random() > 0.3;
RESET ROLE;
"""

WRONG_AUDIT = f"""
SELECT DISTINCT who, path FROM {OWNER}.audit_log WHERE who <> '{OWNER}' OR path <> '{OWNER}, pg_temp'
"""


BLOCKED = """
SELECT state, last_error, hint, (SELECT count(*) FROM pg_replication_slots) FROM blogstore.stat_worker
"""
# The worker also compares the names on all items, which code of the owner may
# have postponed for ten minutes.
SERVED = """
SELECT state, (SELECT ready FROM blogstore.view_state),
	(SELECT count(*) FROM blogstore.progress WHERE kind = 'rename' AND user_id IS NULL AND phase <> 'parked')
FROM blogstore.stat_worker
"""


def set_up(server):
	"""Create the owner's objects. Its roles exist."""
	connection = server.connect()
	try:
		connection.cursor().execute(SETUP)
		connection.cursor().execute(f'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO {OWNER}, {CLIENT_ROLE}')
	finally:
		connection.close()


def audit_problems(cursor):
	"""Return wrong entries of the audit trigger, and empty its table."""
	cursor.execute(WRONG_AUDIT)
	wrong = cursor.fetchall()
	cursor.execute(f'SELECT count(*) FROM {OWNER}.audit_log')
	number = cursor.fetchone()[0]
	cursor.execute(f'TRUNCATE {OWNER}.audit_log')
	return number, wrong


class HostileOwner(threading.Thread):
	"""Makes an alteration, waits, and undoes it."""

	def __init__(self, server, gate, verdict, alterations, seed):
		super().__init__(name='hostile owner', daemon=True)
		self.server = server
		self.gate = gate
		self.verdict = verdict
		self.alterations = alterations
		self.random = random.Random(f'{seed}/owner')
		self.connections = {}

	def run(self):
		try:
			while not self.verdict.over.is_set():
				if self.gate.closed:
					self.gate.wait(self.verdict.over)
				else:
					self._alter(draw(self.random))
					self.verdict.over.wait(self.random.uniform(0.1, 0.5))
		except Divergence as divergence:
			self.verdict.fail(str(divergence))
		except Exception as error:		# a fault of the program fails the run
			self.verdict.fail(f'{self.name}: {type(error).__name__}: {error}')
			raise

	def _alter(self, alteration):
		effect = alteration.effect
		self._await(alteration, 'no connection', lambda: (not self._marked(alteration.role), None))
		self.alterations.begin(alteration)
		pause = self.random.uniform(0.02, 0.6)
		noticed = effect.blocks and self.random.random() < 0.6
		if self._done(alteration):
			if noticed:
				self._await(alteration, 'the worker is not blocked', lambda: self._is_blocked(alteration))
			self.verdict.over.wait(pause)
		self._undo(alteration)
		if effect.may_block:
			self._await(alteration, 'undone, and the views are not served again', self._is_served)
		self.alterations.end()

	def _await(self, alteration, otherwise, look):
		"""Wait until look() returns that the worker is as it should be."""
		deadline = time.monotonic() + PATIENCE
		there, found = False, None
		while not there and not self.verdict.over.is_set():
			if time.monotonic() > deadline:
				raise Divergence(f'{self.name}: {otherwise}: {alteration}: {found}')
			time.sleep(0.05)
			try:
				there, found = look()
			except (psycopg2.Error, ConnectionError) as error:
				found = error

	def _is_blocked(self, alteration):
		"""Return whether the worker is blocked, or need not be."""
		if not self._marked(alteration.role):
			return True, None
		state, error, hint, slots = found = self.server.ask(BLOCKED)[0]
		if state == 'blocked' and re.search(TABLE, error or '') and hint and slots == 0:
			self.verdict.count('damages that blocked the worker')
			return True, found
		# A worker that the killer has stopped may not start before undo.
		return state == 'stopped', found

	def _is_served(self):
		found = self.server.ask(SERVED)[0]
		return found == ('running', True, 0), found

	def _done(self, alteration):
		"""Make the alteration; return False if it is certainly refused."""
		try:
			self._transaction(alteration.role, '700ms', [
				f"INSERT INTO {OWNER}.mark VALUES ('{alteration.name}')", *alteration.do])
		except (psycopg2.Error, ConnectionError) as error:
			if getattr(error, 'pgcode', None) is None:
				self.verdict.count('alterations in doubt')
				time.sleep(0.1)		# like Client._broken()
				return True
			# Another session has a lock, or the state does not allow it.
			self.verdict.count(f'alterations refused ({alteration.name}, {error.pgcode})')
			if error.pgcode.startswith('XX'):
				raise Divergence(f'{self.name}: {alteration}: {error.pgcode} {str(error).strip()}') from error
			return False
		self.verdict.altered[alteration.name] += 1
		return True

	def _undo(self, alteration):
		deadline = time.monotonic() + PATIENCE + START_PATIENCE
		last = None
		while not self.verdict.over.is_set():
			if time.monotonic() > deadline:
				raise Divergence(f'{self.name}: cannot be undone: {alteration}: {last}')
			try:
				if not self._marked(alteration.role):
					return
				self._transaction(alteration.role, '20s', [*alteration.undo, f'DELETE FROM {OWNER}.mark'])
				return
			except (psycopg2.Error, ConnectionError) as error:
				last = f'{getattr(error, "pgcode", None)} {str(error).strip()}'
				if last.startswith('XX'):
					raise Divergence(f'{self.name}: undoing {alteration}: {last}') from error
				time.sleep(0.05)

	# -- connections -----------------------------------------------------

	def _cursor(self, role):
		connection = self.connections.get(role)
		if connection is None or connection.closed:
			connection = self.connections[role] = self.server.connect_patiently(role)
		return connection.cursor()

	def _marked(self, role):
		cursor = self._cursor(role)
		cursor.execute(f'SELECT count(*) FROM {OWNER}.mark')
		return cursor.fetchone()[0] > 0

	def _transaction(self, role, lock_timeout, statements):
		cursor = self._cursor(role)
		try:
			cursor.execute('BEGIN')
			cursor.execute(f"SET LOCAL lock_timeout = '{lock_timeout}'")
			for statement in statements:
				cursor.execute(statement)
			cursor.execute('COMMIT')
		except (psycopg2.Error, ConnectionError) as error:
			try:
				cursor.execute('ROLLBACK')
			except (psycopg2.Error, ConnectionError):
				self.connections.pop(role).close()
			code = getattr(error, 'pgcode', None)
			if code is not None and code.startswith(('57P', '08')):
				raise ConnectionError(str(error)) from error
			raise
