"""How the containers' owner alters them, and undoes that.

Some alterations are allowed: attached code may refuse rows, and nothing else
changes. Others damage the containers. Then requests that need the altered
table are refused, and the worker does not maintain the views until that is
undone.

An alteration has two lists of statements, to make and to undo it. Each list is
a transaction. Afterwards every item is as the clients have it. Names of the
owner's objects begin with torture_odd, which tells their errors from those of
blogstore.

No alteration rewrites a table. PostgreSQL's table rewrites are not MVCC-safe:
a transaction with an older snapshot finds the table empty, so that clients
could not know the right answer.
"""

import re
import threading
import time
import uuid
from typing import NamedTuple

OWNER = 'torture_owner'
INTRUDER = 'torture_intruder'
PARTITIONS = 4

POST_LEAVES = ('post', 'comment', 'like', 'comment_like', 'delta')
COLUMNS = {
	'posts': ('title', 'content', 'user_username', 'like_count', 'creation_date', 'type', 'user_id', 'id'),
	'users': ('username', 'title', 'creation_date', 'comment_count'),
	'feed': ('title', 'content', 'post_id'),
	'usernames': ('user_id', 'username_key'), 'jobs': ('phase', 'kind', 'position_last'),
	'view_state': ('ready', 'enabled'), 'change_feed': ('layout', 'applied_lsn'),
}
ODD_SHAPES = (
	'PARTITION BY RANGE (creation_date)', 'PARTITION BY LIST (user_username)', 'PARTITION BY HASH (type)',
	'PARTITION BY LIST (like_count)', 'PARTITION BY LIST (lower(type))', 'PARTITION BY LIST (type text_pattern_ops)',
	'PARTITION BY LIST (type COLLATE "C")', '')

# Errors and stat_worker name an altered table like this.
TABLE = r'"(blogstore\.)?(users|posts|feed|usernames|jobs|view_state|change_feed|publish_queue|torture_odd)(_\w+)?"'


class Effect(NamedTuple):
	"""The effect of an alteration on requests and on the worker."""
	refusals: dict			# SQLSTATE -> a pattern of the error's message
	blocks: bool = False	# the worker stops, and reports why
	may_block: bool = False	# it may do so, if it comes to the item


NOTHING = Effect({})
# Code of the owner refuses some rows.
REFUSES = Effect({'P0001': 'torture_odd', '23514': 'torture_odd', '23505': 'torture_odd'})
# Requests cannot write to the table. The worker postpones its writes to it.
UNWRITABLE = Effect({'55000': TABLE})
# Row-level security is forced on a container.
FORCED = Effect({'55000': 'policies on'})
# An item lacks a value.
INCOMPLETE = Effect({'22004': ' has no '}, may_block=True)
DAMAGE = Effect({'55000': TABLE + '|likes (of comments )?have no index', '22004': ' has no '}, blocks=True, may_block=True)
# An object that is declared on users applies to its partitions, too.
BOTH = DAMAGE._replace(refusals={**DAMAGE.refusals, **REFUSES.refusals})

# Errors of statements that name damaged tables or columns directly
DIRECT = {'42703': 'does not exist', '42P01': 'does not exist'}


class Alteration(NamedTuple):
	"""An alteration: statements to make and undo it, and its effect."""
	name: str
	effect: Effect
	do: list
	undo: list
	role: str = OWNER


class Alterations:
	"""The present and the past alterations, for all threads."""

	def __init__(self):
		self._lock = threading.Lock()
		self._on = None
		self._past = []			# effects and the times of their end
		self.since_check = False

	def begin(self, alteration):
		"""Note that an alteration is about to be made."""
		with self._lock:
			self._on = alteration.effect
			self.since_check = True

	def end(self):
		"""Note that the present alteration is undone."""
		with self._lock:
			self._past.append((self._on, time.monotonic()))
			self._on = None

	def _since(self, started):
		with self._lock:
			effects = [effect for effect, ended in self._past if ended >= started]
			return effects + [self._on] if self._on else effects

	def beside(self, started):
		"""Return whether there was an alteration at any time since then."""
		return any(effect.may_block for effect in self._since(started))

	def excuse(self, error, started, direct=False):
		"""Return whether an alteration explains the error of a command.

		started is when the command began. direct: it is not a request, but
		names tables and columns itself.
		"""
		return any(
			error.pgcode in refusals and re.search(refusals[error.pgcode], str(error))
			for effect in self._since(started)
			for refusals in ({**effect.refusals, **DIRECT} if direct and effect.blocks else effect.refusals,))


def draw(random):
	"""Draw an alteration."""
	return random.choice(KINDS)(random)


def _partition(random, container):
	number = random.randrange(PARTITIONS)
	return f'blogstore.{container}_p{number:02d}', f'FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})'


def _leaf(random):
	container = random.choice(('posts', 'posts', 'users'))
	leaf_type = random.choice(POST_LEAVES if container == 'posts' else ('user', 'post'))
	partition = _partition(random, container)[0]
	return partition, f'{partition}_{leaf_type}', leaf_type


# -- partitions ----------------------------------------------------------

def detached(random):
	"""Detach a hash partition."""
	container = random.choice(('posts', 'users'))
	partition, bound = _partition(random, container)
	return Alteration('a partition detached', DAMAGE, [f'ALTER TABLE blogstore.{container} DETACH PARTITION {partition}'],
		[f'ALTER TABLE blogstore.{container} ATTACH PARTITION {partition} {bound}'])


def leaf_detached(random):
	"""Detach the table with a partition's items of one type."""
	partition, leaf, leaf_type = _leaf(random)
	return Alteration('a leaf detached', DAMAGE, [f'ALTER TABLE {partition} DETACH PARTITION {leaf}'],
		[f"ALTER TABLE {partition} ATTACH PARTITION {leaf} FOR VALUES IN ('{leaf_type}')"])


def other_shape(random):
	"""Put a table with other properties in the place of a partition."""
	container = random.choice(('posts', 'users'))
	partition, bound = _partition(random, container)
	shape = random.choice(ODD_SHAPES)
	return Alteration('a partition of another shape', DAMAGE, [
		f'ALTER TABLE blogstore.{container} DETACH PARTITION {partition}',
		f'CREATE TABLE blogstore.torture_odd (LIKE blogstore.{container} INCLUDING ALL) {shape}',
		f'ALTER TABLE blogstore.{container} ATTACH PARTITION blogstore.torture_odd {bound}'], [
		'DROP TABLE blogstore.torture_odd',
		f'ALTER TABLE blogstore.{container} ATTACH PARTITION {partition} {bound}'])


def partitioned_leaf(random):
	"""Put a partitioned table in the place of a leaf."""
	partition, leaf, leaf_type = _leaf(random)
	return Alteration('a leaf that is partitioned', DAMAGE, [
		f'ALTER TABLE {partition} DETACH PARTITION {leaf}',
		f'CREATE TABLE blogstore.torture_odd (LIKE {leaf} INCLUDING DEFAULTS) PARTITION BY RANGE (creation_date)',
		f"ALTER TABLE {partition} ATTACH PARTITION blogstore.torture_odd FOR VALUES IN ('{leaf_type}')"], [
		'DROP TABLE blogstore.torture_odd',
		f"ALTER TABLE {partition} ATTACH PARTITION {leaf} FOR VALUES IN ('{leaf_type}')"])


def leaf_for_two(random):
	"""Let one leaf take two types of items."""
	partition = _partition(random, 'posts')[0]
	return Alteration('a leaf for two types', DAMAGE, [
		f'ALTER TABLE {partition} DETACH PARTITION {partition}_comment',
		f'ALTER TABLE {partition} DETACH PARTITION {partition}_like',
		f"ALTER TABLE {partition} ATTACH PARTITION {partition}_comment FOR VALUES IN ('comment', 'like')"], [
		f'ALTER TABLE {partition} DETACH PARTITION {partition}_comment',
		f"ALTER TABLE {partition} ATTACH PARTITION {partition}_like FOR VALUES IN ('like')",
		f"ALTER TABLE {partition} ATTACH PARTITION {partition}_comment FOR VALUES IN ('comment')"])


def another_owner(random):
	"""Give a table to another role."""
	partition, leaf, _ = _leaf(random)
	table = random.choice((partition, leaf, leaf, 'blogstore.usernames', 'blogstore.feed_post'))
	return Alteration('another owner', DAMAGE, [f'ALTER TABLE {table} OWNER TO {INTRUDER}'],
		[f'ALTER TABLE {table} OWNER TO {OWNER}'], role='postgres')


# -- columns -------------------------------------------------------------

def renamed_column(random):
	"""Rename a column of blogstore."""
	table = random.choice(list(COLUMNS))
	column = random.choice(COLUMNS[table])
	return Alteration('a column renamed', DAMAGE, [f'ALTER TABLE blogstore.{table} RENAME COLUMN {column} TO torture_odd'],
		[f'ALTER TABLE blogstore.{table} RENAME COLUMN torture_odd TO {column}'])


def dropped_column(_random):
	"""Drop the column title; undo adds it as the last one."""
	leaves = [f'blogstore.posts_p{number:02d}_post' for number in range(PARTITIONS)]
	return Alteration('a column dropped', DAMAGE, [
		"CREATE TABLE torture_owner.kept AS SELECT id, title FROM blogstore.posts WHERE false",
		'LOCK TABLE blogstore.posts IN ACCESS EXCLUSIVE MODE',
		'DROP VIEW IF EXISTS blogstore.posts_with_counts',
		"INSERT INTO torture_owner.kept SELECT id, title FROM blogstore.posts WHERE type = 'post'",
		'ALTER TABLE blogstore.posts DROP COLUMN title'], [
		'ALTER TABLE blogstore.posts ADD COLUMN title text',
		"UPDATE blogstore.posts p SET title = k.title FROM torture_owner.kept k WHERE p.id = k.id AND p.type = 'post'",
		*[f'ALTER TABLE {leaf} ALTER COLUMN title SET NOT NULL' for leaf in leaves],
		'DROP TABLE torture_owner.kept'])


def retyped_column(random):
	"""Change the type of a column."""
	table, column, odd, right = random.choice((
		('posts', 'title', 'varchar', 'text'), ('posts', 'content', 'torture_owner.odd_text', 'text'),
		('users', 'username', 'varchar', 'text'), ('feed', 'title', 'torture_owner.odd_text', 'text'),
		('posts', 'creation_date', 'timestamp', 'timestamptz'), ('jobs', 'kind', 'varchar', 'text'),
		('usernames', 'username_key', 'varchar', 'text COLLATE "C"')))
	return Alteration('a column retyped', DAMAGE, ['DROP VIEW IF EXISTS blogstore.posts_with_counts', f'ALTER TABLE blogstore.{table} ALTER COLUMN {column} TYPE {odd}'],
		[f'ALTER TABLE blogstore.{table} ALTER COLUMN {column} TYPE {right}'])


def lost_value(random):
	"""Set a column of a client's item to NULL that must have a value."""
	leaf_type, column = random.choice((('post', 'title'), ('post', 'content'), ('post', 'like_count'),
		('comment', 'content'), ('comment', 'creation_date'), ('like', 'creation_date'), ('user', 'username'),
		('delta', 'like_count')))
	leaf = f'{_partition(random, "users" if leaf_type == "user" else "posts")[0]}_{leaf_type}'
	# The id of a delta is unique for its post only.
	same = 'FROM torture_owner.kept k WHERE l.id = k.id AND l.post_id IS NOT DISTINCT FROM k.post_id'
	return Alteration('a value lost', INCOMPLETE, [
		f'ALTER TABLE {leaf} ALTER COLUMN {column} DROP NOT NULL',
		f'CREATE TABLE torture_owner.kept AS SELECT id, post_id, {column} AS value FROM {leaf} '
		f"ORDER BY md5(id::text || '{random.random()}') LIMIT 1",
		f'UPDATE {leaf} l SET {column} = NULL {same}'], [
		f'UPDATE {leaf} l SET {column} = k.value {same} AND l.{column} IS NULL',
		f'ALTER TABLE {leaf} ALTER COLUMN {column} SET NOT NULL',
		'DROP TABLE torture_owner.kept'])


def item_of_nobody(random):
	"""Insert items of the owner, and take away their author for a while."""
	user, post, comment = (str(uuid.UUID(int=random.getrandbits(128), version=4)) for _ in range(3))
	leaf_type, column, item = random.choice((('comment', 'user_id', comment), ('comment', 'user_username', comment),
		('like', 'user_username', None), ('post', 'user_username', post)))
	leaves = [f'blogstore.posts_p{number:02d}_{leaf_type}' for number in range(PARTITIONS)]
	where = f"type = '{leaf_type}' AND " + (f"id = '{item}'" if item else f"user_id = '{user}' AND post_id = '{post}'")
	back = f"'{user}'" if column == 'user_id' else f"'odd {user}'"
	return Alteration('an item of nobody', INCOMPLETE, [
		f"SELECT blogstore.create_user('odd {user}', '{user}')",
		f"SELECT blogstore.create_post('{user}', 'odd', 'odd', '{post}')",
		f"SELECT blogstore.create_comment('{post}', '{user}', 'odd', '{comment}')",
		f"SELECT blogstore.create_like('{post}', '{user}')",
		*[f'ALTER TABLE {leaf} ALTER COLUMN {column} DROP NOT NULL' for leaf in leaves],
		f'UPDATE blogstore.posts SET {column} = NULL WHERE {where}'], [
		f'UPDATE blogstore.posts SET {column} = {back} WHERE {where}',
		*[f'ALTER TABLE {leaf} ALTER COLUMN {column} SET NOT NULL' for leaf in leaves],
		f"SELECT blogstore.delete_post('{post}'), blogstore.delete_user('{user}')"])


# -- what is attached ----------------------------------------------------

def _to_attach_to(random, *tables):
	"""Draw a table, and return it with the effect of attached code."""
	_, leaf, leaf_type = _leaf(random)
	served = [leaf, 'blogstore.posts'] if '.posts' in leaf or leaf_type == 'user' else ['blogstore.posts']
	table = random.choice((*served, *served, leaf, *tables))
	return table, BOTH if table == 'blogstore.users' else REFUSES if table in served else DAMAGE


def failing_trigger(random):
	"""A trigger that refuses some rows; it is a damage on a view's table."""
	table, effect = _to_attach_to(random, *[f'blogstore.{name}' for name in ('users', 'feed', 'usernames', 'jobs', 'view_state')])
	event = random.choice(('INSERT', 'UPDATE', 'DELETE', 'INSERT OR UPDATE OR DELETE'))
	return Alteration('a failing trigger', effect, [
		f'CREATE TRIGGER torture_odd BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION torture_owner.refuse()'],
		[f'DROP TRIGGER torture_odd ON {table}'])


def failing_check(random):
	"""A CHECK that refuses some rows; it is a damage on a view's table."""
	table, effect = _to_attach_to(random, 'blogstore.feed', 'blogstore.users', 'blogstore.usernames')
	return Alteration('a failing CHECK', effect, [
		f'ALTER TABLE {table} ADD CONSTRAINT torture_odd CHECK (torture_owner.now_and_then(user_id)) NOT VALID'],
		[f'ALTER TABLE {table} DROP CONSTRAINT torture_odd'])


def foreign_key(random):
	"""A foreign key to posts or the feed, deferred or not."""
	leaf = random.choice((f'{_partition(random, "posts")[0]}_post', 'blogstore.feed_post'))
	when = random.choice(('NOT DEFERRABLE', 'DEFERRABLE'))
	effect = DAMAGE if 'feed' in leaf else NOTHING if when == 'NOT DEFERRABLE' else UNWRITABLE
	return Alteration('a foreign key', effect, [f'CREATE TABLE torture_owner.refers (post_id uuid REFERENCES {leaf} {when})'],
		['DROP TABLE torture_owner.refers'])


def deferred_trigger(random):
	"""A deferred trigger."""
	leaf = f'{_partition(random, "posts")[0]}_{random.choice(POST_LEAVES)}'
	return Alteration('a deferred trigger', UNWRITABLE, [
		f'CREATE CONSTRAINT TRIGGER torture_odd AFTER INSERT ON {leaf} DEFERRABLE INITIALLY DEFERRED '
		'FOR EACH ROW EXECUTE FUNCTION torture_owner.refuse()'], [f'DROP TRIGGER torture_odd ON {leaf}'])


def unpinned_function(_random):
	"""Reset the search_path of the audit trigger's function."""
	return Alteration('an unpinned function', UNWRITABLE, ['ALTER FUNCTION torture_owner.audit() RESET search_path'],
		['ALTER FUNCTION torture_owner.audit() SET search_path = torture_owner, pg_temp'])


def unique_index(random):
	"""A unique index that some new items violate."""
	_, leaf, leaf_type = _leaf(random)
	container = leaf.split('_', maxsplit=1)[0]
	effect = DAMAGE if container == 'blogstore.users' and leaf_type == 'post' else REFUSES
	return Alteration('a unique index', effect, [
		f'ALTER TABLE {container} ADD COLUMN torture_odd integer',
		f'ALTER TABLE {container} ALTER COLUMN torture_odd SET DEFAULT (random() * 9)::integer',
		f'CREATE UNIQUE INDEX torture_odd_key ON {leaf} (torture_odd)'], [
		f'ALTER TABLE {container} DROP COLUMN torture_odd'])


def policy(random):
	"""Enable row-level security, forced or not."""
	table = random.choice(('posts', 'users', 'feed', 'usernames', 'jobs'))
	forced = random.random() < 0.5
	effect = NOTHING if not forced else DAMAGE if table in ('usernames', 'jobs') else FORCED
	return Alteration('a policy', effect, [
		f'CREATE POLICY torture_odd ON blogstore.{table} USING (torture_owner.now_and_then(user_id))',
		f'ALTER TABLE blogstore.{table} ENABLE ROW LEVEL SECURITY',
		*([f'ALTER TABLE blogstore.{table} FORCE ROW LEVEL SECURITY'] if forced else [])], [
		f'ALTER TABLE blogstore.{table} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
		f'DROP POLICY torture_odd ON blogstore.{table}'])


def rule_or_child(random):
	"""A rule on a table that is no container, or a child table of it."""
	table = random.choice(('usernames', 'jobs', 'view_state', 'change_feed'))
	return random.choice((
		Alteration('a rule', DAMAGE, [f'CREATE RULE torture_odd AS ON INSERT TO blogstore.{table} DO INSTEAD NOTHING'],
			[f'DROP RULE torture_odd ON blogstore.{table}']),
		Alteration('a child', DAMAGE, [f'CREATE TABLE torture_owner.child () INHERITS (blogstore.{table})'],
			['DROP TABLE torture_owner.child'])))


# -- bookkeeping and the feed --------------------------------------------

def garbage_jobs(random):
	"""Insert jobs that make no sense."""
	ids = [str(uuid.UUID(int=random.getrandbits(128), version=4)) for _ in range(8)]
	return Alteration('garbage jobs', NOTHING, [f"""
		INSERT INTO blogstore.jobs (id, kind, user_id, phase, partition_number) VALUES
			('{ids[0]}', 'deletion', NULL, 0, 0), ('{ids[1]}', 'rename', NULL, 1, 2),
			('{ids[2]}', 'rename', '{ids[6]}', 77, -5), ('{ids[3]}', 'rename', '{ids[7]}', 1, 100000),
			('{ids[4]}', 'rename', '{ids[7]}', -1, 3), ('{ids[5]}', 'rebuild', '{ids[6]}', 99, 100000)"""],
		[f"DELETE FROM blogstore.jobs WHERE id::text = ANY ('{{{','.join(ids)}}}')"])


def dropped_table(random):
	"""Drop a table that create_containers() can create again."""
	table = random.choice(('feed', 'feed', 'usernames', 'view_state', 'change_feed'))
	return Alteration('a table dropped', DAMAGE, [f'DROP TABLE blogstore.{table}'],
		[f"SELECT blogstore.create_containers({PARTITIONS}, '{OWNER}')"])


def index_on_copies(random):
	"""Create an index on a view's table."""
	leaf = random.choice((f'{_partition(random, "users")[0]}_post', 'blogstore.feed_post', 'blogstore.usernames'))
	return Alteration('an index on a view', DAMAGE, [f'CREATE INDEX torture_odd ON {leaf} (user_id)'], ['DROP INDEX blogstore.torture_odd'])


def harmless(random):
	"""Do something that an owner may do. No client may notice it."""
	partition, leaf, leaf_type = _leaf(random)
	container = partition.rsplit('_', maxsplit=1)[0]
	indexed = leaf if container == 'blogstore.posts' or leaf_type == 'user' else 'blogstore.posts_p00_post'
	return Alteration('a harmless one', NOTHING, *random.choice((
		([f"ALTER TABLE {container} ADD COLUMN torture_odd text DEFAULT 'odd'"],
			[f'ALTER TABLE {container} DROP COLUMN torture_odd']),
		([f'ALTER TABLE {container} ADD COLUMN torture_odd text', f'ALTER TABLE {container} ALTER torture_odd SET DEFAULT md5(now()::text)'],
			[f'ALTER TABLE {container} DROP COLUMN torture_odd']),
		([f'CREATE INDEX torture_odd ON {indexed} (lower(user_username))'], ['DROP INDEX blogstore.torture_odd']),
		([f'ALTER TABLE {leaf} SET (parallel_workers = 3)'], [f'ALTER TABLE {leaf} RESET (parallel_workers)']),
		([f'CREATE STATISTICS torture_owner.torture_odd ON user_id, creation_date FROM {leaf}'],
			['DROP STATISTICS torture_owner.torture_odd']),
		([f'ANALYZE {leaf}', f'CLUSTER {leaf} USING {leaf.split(".")[1]}_pkey'], [f'ALTER TABLE {leaf} SET WITHOUT CLUSTER']))))


# An alteration that damages the containers takes as long as several others,
# because the worker rebuilds the views after it.
KINDS = (
	detached, leaf_detached, other_shape, partitioned_leaf, leaf_for_two, another_owner, renamed_column, dropped_column, retyped_column,
	rule_or_child, dropped_table, index_on_copies,
	lost_value, lost_value, item_of_nobody, item_of_nobody, failing_trigger, failing_trigger, failing_check, failing_check, foreign_key,
	deferred_trigger, unpinned_function, unpinned_function, unique_index, unique_index, policy, garbage_jobs, harmless, harmless, harmless)
