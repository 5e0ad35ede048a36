"""A hostile caller: a role with EXECUTE, TEMP and a schema of its own.

It gets the errors of its own statements, or what it asks for. No process ends,
no code that it plants runs as another role, and it leaves nothing in the
store: it deletes the users that it creates in the same transaction.
"""

import collections
import random
import threading
import time
import uuid

import psycopg2

from lib.server import PATIENCE

from .verdict import Divergence

CALLER = 'torture_caller'

# Tables, functions, a domain and a sequence with names that the owner's
# trigger, its expressions and blogstore's own statements use. Their code
# records the role that it runs as.
SETUP = f"""
CREATE ROLE {CALLER} LOGIN;
GRANT USAGE ON SCHEMA blogstore TO {CALLER};
CREATE SCHEMA {CALLER} AUTHORIZATION {CALLER};
SET ROLE {CALLER};
GRANT USAGE ON SCHEMA {CALLER} TO PUBLIC;
CREATE TABLE {CALLER}.loot (who name);
GRANT ALL ON {CALLER}.loot TO PUBLIC;
CREATE FUNCTION {CALLER}.take() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE LOG 'torture_loot taken as %', current_user;
	INSERT INTO {CALLER}.loot VALUES (current_user);
END $$;
CREATE FUNCTION {CALLER}.steal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM {CALLER}.take(); RETURN coalesce(NEW, OLD); END $$;
CREATE FUNCTION {CALLER}.steal_same(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM {CALLER}.take(); RETURN true; END $$;
CREATE FUNCTION {CALLER}.steal_value(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM {CALLER}.take(); RETURN true; END $$;
CREATE OPERATOR {CALLER}.= (FUNCTION = {CALLER}.steal_same, LEFTARG = uuid, RIGHTARG = uuid);
RESET ROLE;
"""

PLANTED_TABLES = ('audit_log', 'users', 'posts', 'feed', 'jobs', 'usernames', 'view_state', 'change_feed', 'mark')
PLANTED_FUNCTIONS = (
	('current_setting', 'text', 'text'), ('lower', 'text', 'text'), ('upper', 'text', 'text'), ('md5', 'text', 'text'),
	('random', '', 'double precision'), ('now_and_then', 'uuid', 'boolean'), ('hashtext', 'text', 'integer'))

SETTINGS = (
	f'search_path = {CALLER}, pg_catalog, blogstore', f'search_path = pg_temp, {CALLER}, public', "search_path = ''",
	f'search_path = {CALLER}, blogstore, pg_temp, pg_catalog', "DateStyle = 'German, DMY'", "DateStyle = 'SQL, MDY'",
	"IntervalStyle = 'sql_standard'", "TimeZone = 'Asia/Kathmandu'", "TimeZone = 'FOO-25'", "lc_numeric = 'C'",
	'standard_conforming_strings = off', 'transform_null_equals = on', 'array_nulls = off', 'row_security = off',
	'enable_indexscan = off', 'enable_seqscan = off', "work_mem = '64kB'", 'debug_parallel_query = on',
	'session_replication_role = replica', 'default_transaction_read_only = on', 'plan_cache_mode = force_generic_plan',
	"bytea_output = 'escape'", 'extra_float_digits = -15', 'constraint_exclusion = on', 'temp_buffers = 100',
	"client_encoding = 'SQL_ASCII'", "local_preload_libraries = 'nothing'", 'check_function_bodies = off')

# Statements that the grammar allows. They are forbidden to this role, or have
# no effect.
STATEMENTS = (
	'CREATE DATABASE x TEMPLATE 5', 'CREATE DATABASE x TEMPLATE = true', 'CREATE DATABASE x TEMPLATE DEFAULT',
	'CREATE DATABASE x TEMPLATE torture', 'DROP DATABASE torture', 'DROP DATABASE torture WITH (FORCE)',
	'ALTER DATABASE torture SET TABLESPACE pg_default', 'ALTER DATABASE torture RENAME TO x',
	'DROP SCHEMA blogstore CASCADE', 'DROP EXTENSION blogstore CASCADE', 'DROP EXTENSION IF EXISTS nothing, "5"',
	'DROP SCHEMA IF EXISTS nothing, blogstore_not', 'ALTER EXTENSION blogstore UPDATE', 'DROP OWNED BY torture_owner',
	'CREATE EXTENSION blogstore SCHEMA "6" VERSION "7" CASCADE', 'TRUNCATE blogstore.posts', 'LOCK TABLE blogstore.posts',
	'TRUNCATE blogstore.nothing, blogstore.jobs', 'DELETE FROM blogstore.jobs', 'COPY blogstore.posts TO STDOUT',
	'CREATE TABLE blogstore.jobs2 ()', 'CREATE TABLE blogstore.change_feed ()', 'ALTER TABLE blogstore.posts OWNER TO CURRENT_USER',
	'SELECT blogstore.create_containers(1, NULL)', 'SELECT blogstore.create_containers(-1)', 'SELECT blogstore.stop_worker(true)',
	'SELECT blogstore.start_worker()', 'SELECT blogstore.rebuild_views()', 'SELECT blogstore.repair()',
	"SELECT pg_create_logical_replication_slot('x', 'blogstore')", "SELECT blogstore_launcher_main(0)",
	'DISCARD ALL', 'DISCARD TEMP', 'RESET ALL', "SET blogstore.feed_size = 5", "SET blogstore.feed_size = 'x'",
	'SET ROLE torture_owner', 'SET SESSION AUTHORIZATION torture_owner', 'REINDEX SCHEMA blogstore', 'VACUUM blogstore.posts',
	'ANALYZE', 'CHECKPOINT', 'REFRESH MATERIALIZED VIEW blogstore.posts', 'LISTEN blogstore', "NOTIFY blogstore, 'x'",
	"COMMIT PREPARED ''", "ROLLBACK PREPARED 'nothing'", 'SELECT * FROM blogstore.stat_worker', 'SELECT 1 / 0',
	'DO $$ BEGIN PERFORM blogstore.list_feed(NULL); COMMIT; ROLLBACK; END $$',
	"DO $$ BEGIN FOR i IN 1 .. 30 LOOP BEGIN PERFORM blogstore.get_user(NULL); EXCEPTION WHEN OTHERS THEN END; END LOOP; END $$",
	'CREATE TEMP TABLE t AS SELECT * FROM blogstore.list_feed(NULL)', 'ALTER TABLE blogstore.posts ADD COLUMN x int',
	'CREATE TABLE torture_caller.child () INHERITS (blogstore.jobs)',
	'CREATE TABLE torture_caller.part PARTITION OF blogstore.posts DEFAULT',
	'CREATE TABLE torture_caller.ref (id uuid REFERENCES blogstore.posts_p00_post)',
	'EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM blogstore.list_feed(NULL)',
	'SELECT (blogstore.list_feed(10)).*', 'SELECT blogstore.get_request_stats()', 'SELECT blogstore.reset_request_stats()')

HUGE = (
	"SELECT blogstore.create_user(repeat('x', 50000000), %(id)s)", "SELECT blogstore.get_user_by_name(repeat('é', 20000000))",
	"SELECT blogstore.create_post(%(user)s, repeat('t', 3000000), repeat('c', 3000000))",
	"SELECT blogstore.create_comment(%(post)s, %(user)s, repeat('c', 4000000))",
	"SELECT blogstore.edit_post(%(own_post)s, properties => jsonb_build_object(repeat('k', 70000), 1))",
	"SELECT blogstore.edit_post(%(own_post)s, properties => (repeat('{\"a\":', 3000) || '1' || repeat('}', 3000))::jsonb)",
	"SELECT blogstore.edit_user(%(user)s, properties => (SELECT jsonb_object_agg('k' || n, NULL) FROM generate_series(1, 3000) n))",
	"SELECT blogstore.edit_user(%(user)s, properties => '{\"a\": 1e20000}')", "SELECT blogstore.edit_user(%(user)s, properties => '[]')",
	"SELECT count(*) FROM blogstore.get_posts(array_fill(%(post)s::uuid, ARRAY[100, 100]))", "SELECT blogstore.key_id('post', repeat('é', 1000000))",
	'SELECT blogstore.list_feed(2147483647)', 'SELECT blogstore.list_feed(-2147483648)', 'SELECT blogstore.list_feed(0)',
	"SELECT blogstore.list_feed(5, 'infinity', %(post)s)", "SELECT blogstore.list_feed(5, '-infinity', %(post)s)",
	"SELECT blogstore.list_user_posts(%(user)s, NULL, '4714-11-24 BC', %(post)s)",
	"SELECT blogstore.create_post(%(user)s, 't', 'c', creation_date => '294276-12-31')",
	"SELECT blogstore.create_user(E'a\\u0001b')", 'SELECT blogstore.create_user(NULL)', 'SELECT blogstore.get_post(NULL)',
	"SELECT blogstore.follow_user(%(user)s, %(followed)s, 'infinity')", 'SELECT blogstore.follow_user(%(user)s, %(user)s)',
	'SELECT blogstore.unfollow_user(%(user)s, NULL)',
	"SELECT count(*) FROM blogstore.get_follows(%(user)s, array_fill(%(followed)s::uuid, ARRAY[100, 100]))",
	"SELECT blogstore.list_following(%(user)s, 2147483647, 'infinity', %(id)s)",
	"SELECT blogstore.list_followers(%(followed)s, 2147483647, '4714-11-24 BC', %(id)s, true)",
	"SELECT blogstore.list_home_feed(%(user)s, 2147483647, '-infinity', %(id)s)", 'SELECT blogstore.list_home_feed(%(user)s, -2147483648)',
	"SELECT blogstore.list_topics(repeat('é', 20000000))", "SELECT blogstore.list_topics('', 2147483647, repeat('x', 3000000))",
	'SELECT blogstore.list_topics(NULL, 0)', "SELECT blogstore.list_topic_posts(repeat('t', 50000000), 2147483647)",
	"SELECT blogstore.list_topic_posts('hostile', 5, 'infinity', %(id)s)", 'SELECT blogstore.list_topic_posts(NULL)',
	"SELECT blogstore.edit_post(%(own_post)s, properties => jsonb_build_object('tags', (SELECT jsonb_agg(repeat('t', n)) FROM generate_series(1, 300) n)))",
	"SELECT blogstore.create_like(%(post)s, %(user)s, 'infinity')", "SELECT blogstore.new_id() FROM generate_series(1, 1000)")

SETS = (
	'get_user(%(user)s)', "get_user_by_name('x')", 'get_post(%(post)s)', 'get_like(%(post)s, %(user)s)',
	'get_comment(%(post)s, %(id)s)', 'get_like(%(post)s, %(user)s, %(id)s)', 'get_comment_likes(%(user)s, %(post)s)',
	'list_comment_likes(%(post)s, %(id)s, NULL)', 'list_user_likes(%(user)s, 5, %(post)s, after_comment_id => %(id)s)',
	'get_posts(ARRAY[%(post)s, NULL, %(post)s]::uuid[])', 'get_users(ARRAY[%(user)s]::uuid[])', 'get_likes(%(user)s, ARRAY[[%(post)s]]::uuid[])',
	'list_user_posts(%(user)s, NULL, include_hidden => true)', 'list_comment_replies(%(post)s, %(id)s, NULL, oldest_first => true, include_hidden => true)',
	'list_user_posts(%(user)s, NULL)', 'list_post_comments(%(post)s)', 'list_post_likes(%(post)s, NULL)', 'list_feed(NULL)',
	'list_feed(NULL, oldest_first => true)', 'list_user_comments(%(user)s, NULL, include_hidden => true)',
	'list_user_likes(%(user)s, NULL)', "list_user_likes(%(user)s, by_date => true, before_date => '2025-01-01', before_id => %(id)s)",
	'get_follows(%(user)s, ARRAY[%(followed)s, NULL, %(followed)s]::uuid[])', 'list_following(%(user)s, NULL)',
	"list_followers(%(followed)s, NULL, '2020-01-01', %(id)s, true)", 'list_home_feed(%(user)s, NULL)',
	"list_home_feed(%(user)s, 5, '2025-01-01', %(id)s)", "list_topics('h', NULL)", "list_topics(page_size => 2, after_topic => 'a')",
	"list_topic_posts('Hostile', NULL)", "list_topic_posts('slug', 5, '2025-01-01', %(id)s, true)",
	'verify()', 'get_workers_status()', 'get_progress()', 'get_request_stats()', 'export_documents()',
	"import(users => 'torture_caller.some_users')", "import_documents('torture_caller.some_documents')",
	"import('torture_caller.some_numbers', key_prefix => 'x', changed => 'update')")

GRANTED = """
DO $$ DECLARE f regprocedure; BEGIN
	FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace AND prokind = 'f' AND proname <> ALL (ARRAY[
		'create_containers', 'start_worker', 'stop_worker', 'repair', 'rebuild_views', 'reset_request_stats', 'wait_for_views'])
	LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO torture_caller', f);
	END LOOP;
END $$;
CREATE TABLE torture_caller.some_users AS
	SELECT blogstore.new_id() AS user_id, 'imported ' || n AS username, now() AS creation_date FROM generate_series(1, 3) n;
CREATE TABLE torture_caller.some_numbers AS SELECT n AS user_id, 'number ' || n AS username, now() AS creation_date FROM generate_series(1, 3) n;
CREATE TABLE torture_caller.some_documents AS SELECT jsonb_build_object('type', 'user', 'id', n) AS document FROM generate_series(1, 3) n;
ALTER TABLE torture_caller.some_users OWNER TO torture_caller;
ALTER TABLE torture_caller.some_numbers OWNER TO torture_caller;
ALTER TABLE torture_caller.some_documents OWNER TO torture_caller;
"""


def plant(place):
	"""Return statements that create such objects in a schema."""
	for table in PLANTED_TABLES:
		yield (f'CREATE TABLE {place}.{table} (who name, path text, date_style text, time_zone text, user_id uuid, id uuid, '
			'title text, username text, username_key text)')
		yield f'GRANT ALL ON {place}.{table} TO PUBLIC'
		yield (f'CREATE TRIGGER steal BEFORE INSERT OR UPDATE OR DELETE ON {place}.{table} '
			f'FOR EACH ROW EXECUTE FUNCTION {CALLER}.steal()')
	yield f'CREATE DOMAIN {place}.status AS text CHECK ({CALLER}.steal_value(VALUE))'
	yield f'CREATE SEQUENCE {place}.numbers'
	yield f'GRANT ALL ON {place}.numbers TO PUBLIC'
	for name, argument, result in PLANTED_FUNCTIONS:
		yield (f'CREATE FUNCTION {place}.{name}({argument}) RETURNS {result} LANGUAGE plpgsql AS '
			f'$$ BEGIN PERFORM {CALLER}.take(); RETURN NULL; END $$')


def set_up(server):
	"""Create the role and its permanent objects."""
	connection = server.connect()
	try:
		cursor = connection.cursor()
		cursor.execute(SETUP)
		cursor.execute(GRANTED)
		cursor.execute(f'SET ROLE {CALLER}')
		for statement in plant(CALLER):
			cursor.execute(statement)
	finally:
		connection.close()


def loot(cursor):
	"""Return the roles other than the caller as which planted code has run."""
	cursor.execute(f'SELECT DISTINCT who FROM {CALLER}.loot WHERE who <> %s', (CALLER,))
	return cursor.fetchall()


class HostileCaller(threading.Thread):
	"""Runs one odd transaction after the other."""

	def __init__(self, number, server, gate, verdict, seed, pids):
		super().__init__(name=f'hostile caller {number}', daemon=True)
		self.number = number
		self.server = server
		self.gate = gate
		self.verdict = verdict
		self.random = random.Random(f'{seed}/caller/{number}')
		# The process ids of the backends of all hostile callers
		self.pids = pids
		self.codes = collections.Counter()
		self.gid = f'hostile {number}'
		self._connection = None
		self._transactions = 0
		self._in_doubt = False	# whether its transaction may be prepared

	def run(self):
		try:
			while not self.verdict.over.is_set():
				if self.gate.closed or self._in_doubt:
					self._settle()
				if self.gate.closed:
					self.gate.wait(self.verdict.over)
				else:
					self._attack()
		except Divergence as divergence:
			self.verdict.fail(str(divergence))
		except Exception as error:		# a fault of the program fails the run
			self.verdict.fail(f'{self.name}: {type(error).__name__}: {error}')
			raise

	def _attack(self):
		"""Run a transaction. Only errors of the caller itself are right."""
		said = []
		try:
			cursor = self._cursor()
			self._transactions += 1
			self._play(cursor, said)
			self.codes['done'] += 1
		except (psycopg2.Error, ConnectionError) as error:
			self._judge(error, said)
		self.verdict.count('hostile transactions')
		self.verdict.over.wait(self.random.uniform(0, 0.05))

	def _judge(self, error, said):
		code = getattr(error, 'pgcode', None)
		self.codes[code or 'connection lost'] += 1
		if code is not None and code.startswith(('XX', '58')) or 'not an error' in str(error):
			raise Divergence(f'{self.name}: {code} {str(error).strip()}\n  ' + '\n  '.join(said)[-3000:]) from error
		if code is None or code.startswith(('57P', '08')) or self._connection.closed:
			self._disconnect()
			time.sleep(0.1)
			return
		try:
			self._connection.cursor().execute('ROLLBACK')
		except (psycopg2.Error, ConnectionError):
			self._disconnect()

	def _settle(self):
		"""End the transaction, also if it was prepared."""
		deadline = time.monotonic() + PATIENCE
		self._disconnect()
		while not self.verdict.over.is_set():
			if time.monotonic() > deadline:
				raise Divergence(f'{self.name} cannot finish its prepared transaction')
			try:
				connection = self.server.connect_patiently(CALLER)
				try:
					cursor = connection.cursor()
					cursor.execute('SELECT count(*) FROM pg_prepared_xacts WHERE gid = %s', (self.gid,))
					if cursor.fetchone()[0] == 0:
						self._in_doubt = False
						return
					cursor.execute(self.random.choice(('COMMIT', 'ROLLBACK')) + ' PREPARED %s', (self.gid,))
				finally:
					connection.close()
			except (psycopg2.Error, ConnectionError):
				time.sleep(0.1)

	# -- a session -------------------------------------------------------

	def _disconnect(self):
		self.pids[self.number] = None
		if self._connection is not None:
			try:
				self._connection.close()
			except psycopg2.Error:
				pass
		self._connection = None

	def _cursor(self):
		if self._connection is None or self._connection.closed or self._transactions > 40:
			self._disconnect()
			self._transactions = 0
			self._connection = self.server.connect_patiently(CALLER)
			self.pids[self.number] = self._connection.info.backend_pid
			cursor = self._connection.cursor()
			cursor.execute(f"SET statement_timeout = '{int(PATIENCE)}s'")
			if self.random.random() < 0.5:
				for statement in plant('pg_temp'):
					cursor.execute(statement)
		return self._connection.cursor()

	def _say(self, cursor, said, statement, parameters=None):
		said.append(f'{statement} {parameters or ""}'[:300])
		cursor.execute(statement, parameters)

	def _try(self, cursor, said, statement, parameters=None):
		"""Run a statement in a savepoint, so that an error does not end the
		transaction."""
		self._say(cursor, said, 'SAVEPOINT attempt')
		try:
			self._say(cursor, said, statement, parameters)
		except psycopg2.Error as error:
			code = error.pgcode
			if code is None or code.startswith(('57P', '08', 'XX', '58')):
				raise
			self.codes[code] += 1
			self._say(cursor, said, 'ROLLBACK TO SAVEPOINT attempt')
			return
		if self.random.random() < 0.5:
			self._say(cursor, said, self.random.choice(('RELEASE', 'ROLLBACK TO')) + ' SAVEPOINT attempt')

	# -- a transaction ---------------------------------------------------

	def _play(self, cursor, said):
		"""Change settings, write own items with attacks in between, and end.
		"""
		if self.random.random() < 0.2:
			self._say(cursor, said, self.random.choice(STATEMENTS))
			return
		timer = None
		if self.random.random() < 0.1:
			timer = threading.Timer(self.random.uniform(0, 0.05), self._cancel, (self._connection,))
			timer.start()
		try:
			self._say(cursor, said, 'BEGIN ISOLATION LEVEL ' + self.random.choice(
				('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')))
			for setting in self.random.sample(SETTINGS, self.random.randrange(4)):
				self._try(cursor, said, 'SET ' + self.random.choice(('LOCAL ', '')) + setting)
			if self.random.random() < 0.5:
				self._say(cursor, said, 'SET CONSTRAINTS ALL DEFERRED')
			values = self._own_items(cursor, said)
			for _ in range(self.random.randrange(4)):
				self.random.choice((self._statement, self._huge, self._open_cursor, self._hurry, self._hurt, self._more))(
					cursor, said, values)
			self._say(cursor, said, 'SELECT blogstore.delete_user(%(user)s)', values)
			self._finish(cursor, said)
		finally:
			if timer is not None:
				timer.cancel()

	def _cancel(self, connection):
		try:
			connection.cancel()
		except (psycopg2.Error, ConnectionError):
			pass

	def _own_items(self, cursor, said):
		values = {name: str(uuid.UUID(int=self.random.getrandbits(128), version=4)) for name in ('user', 'own_post', 'id')}
		values['post'] = values['own_post']
		self._say(cursor, said, "SELECT blogstore.create_user(%(name)s, %(user)s)", {**values, 'name': f'hostile {values["user"]}'})
		self._say(cursor, said, "SELECT blogstore.create_post(%(user)s, 'hostile', 'post', %(own_post)s)", values)
		values['followed'] = values['user']
		self._say(cursor, said, 'SELECT post_id::text, user_id::text FROM blogstore.list_feed(20)')
		rows = cursor.fetchall()
		if rows and self.random.random() < 0.5:
			values['post'], values['followed'] = self.random.choice(rows)
		self._more(cursor, said, values)
		return values

	def _more(self, cursor, said, values):
		for call in ("create_comment(%(post)s, %(user)s, 'hostile', %(id)s, properties => '{\"__proto__\": {\"\": null}}')", 'create_like(%(post)s, %(user)s)',
				'create_like(%(post)s, %(user)s, comment_id => %(id)s)', 'delete_like(%(post)s, %(user)s, %(id)s)',
				"edit_post(%(own_post)s, content => 'edited')", 'delete_like(%(post)s, %(user)s)', "edit_user(%(user)s, %(user)s::text)",
				"create_comment(%(post)s, %(user)s, 'reply', parent_id => %(id)s, hidden => true)", 'hide_comment(%(post)s, %(id)s)',
				'hide_post(%(own_post)s)', 'publish_post(%(own_post)s)', "schedule_post(%(own_post)s, now() + interval '1 s')", 'own_hide_post(%(user)s, %(post)s)',
				'follow_user(%(user)s, %(followed)s)', 'follow_user(%(followed)s, %(user)s)', 'unfollow_user(%(user)s, %(followed)s)',
				"edit_post(%(own_post)s, properties => '{\"tags\": [\"hostile\", \"\", {\"a\": null}, \"a\\\\\\u0001\"]}')",
				'own_create_like(%(user)s, %(post)s, %(user)s)', "own_edit_comment(%(user)s, %(post)s, %(id)s, 'own')"):
			if self.random.random() < 0.6:
				self._try(cursor, said, 'SELECT blogstore.' + call, values)

	def _statement(self, cursor, said, _values):
		self._try(cursor, said, self.random.choice(STATEMENTS))

	def _huge(self, cursor, said, values):
		self._try(cursor, said, self.random.choice(HUGE), values)

	def _open_cursor(self, cursor, said, values):
		name = self.random.choice(('c', ' ', '"<unnamed portal 2>"', '"C"', 'zz')).replace(' ', '" "')
		hold = self.random.choice(('CURSOR WITH HOLD', 'SCROLL CURSOR WITH HOLD', 'CURSOR', 'SCROLL CURSOR'))
		inside = self.random.random() < 0.5
		query = self.random.choice(SETS)
		if 'import' in query:
			return self._import(cursor, said, query)
		if inside:
			self._say(cursor, said, 'SAVEPOINT around')
		self._try(cursor, said, f'DECLARE {name} {hold} FOR SELECT * FROM blogstore.{query}', values)
		for _ in range(self.random.randrange(3)):
			way = self.random.choice(('MOVE 1', 'MOVE ALL', 'FETCH 3', 'MOVE BACKWARD 1', 'MOVE 1'))
			self._try(cursor, said, f'{way} FROM {name}')
		if inside and self.random.random() < 0.7:
			self._say(cursor, said, self.random.choice(('ROLLBACK TO', 'RELEASE')) + ' SAVEPOINT around')
			self._try(cursor, said, f'MOVE ALL FROM {name}')
		if self.random.random() < 0.4:
			self._try(cursor, said, f'CLOSE {name}')
		return None

	def _import(self, cursor, said, query):
		"""Begin an import, and always roll it back."""
		self._say(cursor, said, 'SAVEPOINT import')
		self._try(cursor, said, f'DECLARE c CURSOR FOR SELECT * FROM blogstore.{query}')
		self._try(cursor, said, 'MOVE 1 FROM c')
		self._say(cursor, said, 'ROLLBACK TO SAVEPOINT import')

	def _hurry(self, cursor, said, values):
		"""Set short timeouts, in a savepoint."""
		kind = self.random.choice(('statement_timeout', 'lock_timeout'))
		self._say(cursor, said, f"SET LOCAL {kind} = '{self.random.randint(1, 9)}ms'")
		self._try(cursor, said, 'SELECT * FROM blogstore.' + self.random.choice(SETS[:-3]), values)
		self._try(cursor, said, f"SET LOCAL {kind} = '{int(PATIENCE)}s'")
		self._try(cursor, said, 'SELECT * FROM blogstore.' + self.random.choice(SETS[:-3]), values)

	def _hurt(self, cursor, said, _values):
		"""Cancel or terminate a session of a hostile caller, maybe its own."""
		pid = self.random.choice(self.pids)
		if pid is not None and self.random.random() < 0.5:
			function = self.random.choice(('pg_cancel_backend', 'pg_cancel_backend', 'pg_terminate_backend'))
			self._try(cursor, said, f'SELECT pg_catalog.{function}({pid})')

	def _finish(self, cursor, said):
		ending = self.random.choice(('COMMIT', 'COMMIT', 'ROLLBACK', 'prepare', 'leave'))
		if ending == 'leave':
			self._disconnect()
		elif ending == 'prepare':
			# Its locks would block all sessions, this one too.
			self._in_doubt = True
			self._say(cursor, said, 'PREPARE TRANSACTION %s', (self.gid,))
			self._settle()
		else:
			self._say(cursor, said, ending)
