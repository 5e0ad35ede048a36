# The worker's life: stop, start, DROP and CREATE of containers and extension,
# and layouts that it refuses. It gives its rights to nobody.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('lifecycle');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 3, 10);
check_store($node, 'postgres', 'at first');

my $state = 'SELECT state FROM blogstore.stat_worker';
my $slots = 'SELECT count(*) FROM pg_replication_slots';

# A stop_worker() that is rolled back
for my $sql (
	'BEGIN; SELECT blogstore.stop_worker(); ROLLBACK',
	'BEGIN; SELECT blogstore.stop_worker(); SELECT blogstore.start_worker(); ROLLBACK',
	'BEGIN; SELECT blogstore.stop_worker(); SAVEPOINT a; ROLLBACK TO a; ROLLBACK',
	'BEGIN; SAVEPOINT a; SELECT blogstore.stop_worker(); ROLLBACK TO a; COMMIT')
{
	$node->safe_psql('postgres', $sql);
	ok($node->poll_query_until('postgres', $state, 'running'),
		"the worker runs again after: $sql");
}
my ($rc, $out, $err) = $node->psql('postgres',
	"BEGIN; SELECT blogstore.stop_worker(); PREPARE TRANSACTION 'stop'");
like($err, qr/cannot PREPARE/, 'stop_worker() cannot be prepared');
ok($node->poll_query_until('postgres', $state, 'running'),
	'the worker runs again after a refused PREPARE');

# What processes wait for, in pg_stat_activity
sub waits
{
	my ($condition, $name, $event) = @_;
	my $wanted = wait_event($node, $event);

	wait_until($node, 'postgres', "SELECT wait_event_type || ' ' || wait_event = 'Extension $wanted' FROM pg_stat_activity WHERE $condition");
	pass("$name waits for $wanted");
	return;
}
waits("backend_type = 'blogstore launcher'", 'the launcher', 'BlogstoreLauncherMain');
waits("backend_type = 'blogstore worker' AND datname = 'postgres'", 'the worker', 'BlogstoreWorkerMain');
my $held = stop_worker($node, 'postgres');
my $waiter = start_client($node, 'postgres', "SELECT blogstore.wait_for_views('1 h');", 'waiter');
waits("application_name = 'waiter'", 'wait_for_views()', 'BlogstoreViews');
kill 'CONT', $held;
finish_client($waiter);
$held = stop_worker($node, 'postgres');
$waiter = start_client($node, 'postgres', 'BEGIN; SELECT blogstore.stop_worker(); ROLLBACK;', 'stopper');
waits("application_name = 'stopper'", 'stop_worker()', 'BlogstoreWorkerEnd');
kill 'CONT', $held;
finish_client($waiter);
ok($node->poll_query_until('postgres', $state, 'running'), 'the worker runs again');

# Containers that are dropped and created again in one transaction
my $drop = 'DROP SCHEMA kit CASCADE; DROP VIEW blogstore.posts_with_counts; DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.usernames, blogstore.jobs, blogstore.view_state';
$node->safe_psql('postgres',
	"BEGIN; $drop; SELECT blogstore.create_containers(3); COMMIT");
create_kit($node, 'postgres');
fill_store($node, 'postgres', 3, 10);
ok( $node->poll_query_until('postgres',
		'SELECT ready AND enabled FROM blogstore.view_state'),
	'the views of containers made again are completed');
check_store($node, 'postgres', 'made again');

# Containers that are dropped and created again while the worker is stopped
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', $drop);
$node->safe_psql('postgres', 'SELECT blogstore.create_containers(2)');
create_kit($node, 'postgres');
ok($node->poll_query_until('postgres', $state, 'running'),
	'containers made after a stop have a worker');
fill_store($node, 'postgres', 3, 10);
check_store($node, 'postgres', 'made after a stop');

# DROP EXTENSION drops the slot of a stopped worker.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
is($node->safe_psql('postgres', $slots), '1', 'a stopped worker has a slot');
$node->safe_psql('postgres', 'DROP EXTENSION blogstore');
ok($node->poll_query_until('postgres', $slots, '0'),
	'DROP EXTENSION lets the slot of a stopped worker go');
$node->safe_psql('postgres', 'CREATE EXTENSION blogstore; SELECT blogstore.start_worker()');
ok($node->poll_query_until('postgres', $state, 'running'),
	'the extension made again has a worker');
check_store($node, 'postgres', 'extension made again');

# A request that times out while it reads the containers' layout leaves nothing
# wrong: the next request reads the layout anew.
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE ONLY blogstore.posts_p01 IN ACCESS EXCLUSIVE MODE');
my $reader = $node->background_psql('postgres', on_error_stop => 0);
$reader->query("SET lock_timeout = '50ms'; SELECT count(*) FROM blogstore.list_feed(NULL)");
$locker->query_safe('COMMIT');
is($reader->query('SELECT count(*) FROM blogstore.list_feed(NULL)'),
	'10', 'a session whose first request timed out goes on');
$reader->quit;
$locker->quit;

# Partitions with unequal moduli
wait_until($node, 'postgres', q{SELECT count(*) = 0 FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000'});
$node->safe_psql(
	'postgres', q{
BEGIN;
CREATE TEMP TABLE kept AS SELECT * FROM blogstore.posts_p00;
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00;
DROP TABLE blogstore.posts_p00;
DO $$
DECLARE r int; t text; leaf text;
BEGIN
	FOREACH r IN ARRAY ARRAY[0, 2] LOOP
		EXECUTE format('CREATE TABLE blogstore.split_%s PARTITION OF blogstore.posts FOR VALUES WITH (MODULUS 4, REMAINDER %s) PARTITION BY LIST (type)', r, r);
		FOREACH t IN ARRAY ARRAY['post', 'comment', 'like', 'comment_like', 'delta'] LOOP
			leaf := format('blogstore.split_%s_%s', r, t);
			EXECUTE format('CREATE TABLE %s (LIKE blogstore.posts_p01_%s INCLUDING ALL)', leaf, t);
			EXECUTE format('ALTER TABLE blogstore.split_%s ATTACH PARTITION %s FOR VALUES IN (%L)', r, leaf, t);
		END LOOP;
		EXECUTE format('ALTER TABLE blogstore.split_%s_post REPLICA IDENTITY USING INDEX split_%s_post_user_id_creation_date_id_idx', r, r);
	END LOOP;
END $$;
INSERT INTO blogstore.posts SELECT * FROM kept;
COMMIT;
});
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed(NULL)'),
	'10', 'each post is listed once with unequal partitions');
$node->safe_psql('postgres', 'SELECT count(blogstore.create_like(kit.p(n), kit.u(1))), count(blogstore.delete_post(kit.p(10))) FROM generate_series(1, 9) n');
check_store($node, 'postgres', 'unequal partitions');

# A column whose type was changed is refused. Its values are not read as if
# they had the old type.
$node->safe_psql('postgres', 'CREATE DATABASE typed');
create_store($node, 'typed');
fill_store($node, 'typed', 2, 2);
$node->safe_psql('typed', 'DROP VIEW kit.implied, kit.posts, blogstore.posts_with_counts');
$node->safe_psql('typed', 'ALTER TABLE blogstore.posts ALTER COLUMN content TYPE bigint USING 1234567890123');
is(sqlstate($node, 'typed', 'get_post(kit.p(1))'),
	'55000, hint', 'a column of another type is refused');
$node->safe_psql('typed', q{ALTER TABLE blogstore.posts ALTER COLUMN content TYPE text});
is(sqlstate($node, 'typed', 'get_post(kit.p(1))'), 'ok', 'and served again');

# A trigger of the containers' owner runs in the worker, but not as a
# superuser.
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE DATABASE owned OWNER mallory');
$node->safe_psql('owned', 'CREATE EXTENSION blogstore; GRANT ALL ON SCHEMA blogstore TO mallory; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO mallory');
$node->safe_psql(
	'owned', q{
SET SESSION AUTHORIZATION mallory;
SELECT blogstore.create_containers(2);
CREATE SCHEMA m;
CREATE TABLE m.seen (who text);
CREATE FUNCTION m.attack() RETURNS trigger LANGUAGE plpgsql SET search_path = m, pg_temp AS $$
BEGIN
	INSERT INTO m.seen VALUES (current_user);
	BEGIN
		ALTER ROLE mallory SUPERUSER;
	EXCEPTION WHEN insufficient_privilege THEN NULL;
	END;
	RETURN NULL;
END $$;
CREATE TRIGGER attack AFTER UPDATE ON blogstore.posts FOR EACH ROW WHEN (NEW.user_username = 'renamed') EXECUTE FUNCTION m.attack();
SELECT blogstore.create_post(user_id, 'bait', '') FROM blogstore.create_user('mallory');
SELECT blogstore.edit_user(user_id, 'renamed') FROM blogstore.get_user_by_name('mallory');
});
is($node->safe_psql('owned', 'SELECT blogstore.wait_for_views($$10 min$$)'),
	't', 'the views of an owner with triggers follow');
is($node->safe_psql('owned', 'SELECT DISTINCT who FROM m.seen'),
	'mallory', 'triggers run as the owner in the worker');
is($node->safe_psql('owned', "SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"),
	'f', 'the owner is no superuser');

# A job that fails does not stop the upkeep of the views.
$node->safe_psql('postgres', 'CREATE DATABASE poisoned');
create_store($node, 'poisoned');
fill_store($node, 'poisoned', 3, 3);
is($node->safe_psql('poisoned', 'SELECT kit.views_follow()'), 't', 'views before the poison');
$node->safe_psql('poisoned', q{
ALTER TABLE blogstore.posts ADD CONSTRAINT poison CHECK (user_username <> 'Poison');
SELECT blogstore.edit_user(kit.u(1), 'Poison')});
ok( $node->poll_query_until('poisoned',
		q{SELECT last_error LIKE '%poison%' AND state = 'running' FROM blogstore.stat_worker}),
	'a failed job is shown, and the worker runs on');
$node->safe_psql('poisoned', q{SELECT blogstore.edit_post(kit.p(2), 'after the poison')});
ok( $node->poll_query_until('poisoned',
		q{SELECT title = 'after the poison' FROM blogstore.feed WHERE id = kit.p(2)}),
	'views follow beside a failed job');
$node->safe_psql('poisoned', q{SELECT blogstore.edit_user(kit.u(2), 'Other')});
ok( $node->poll_query_until('poisoned',
		q{SELECT bool_and(user_username = 'Other') FROM blogstore.posts WHERE user_id = kit.u(2)}),
	'other jobs are done beside it');

# A template database gets no worker.
$node->safe_psql('postgres', 'CREATE DATABASE mold');
create_store($node, 'mold');
ok($node->poll_query_until('mold', $state, 'running'), 'a worker runs');
$node->safe_psql('postgres', 'ALTER DATABASE mold IS_TEMPLATE true');
ok( $node->poll_query_until('postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = 'mold'}, '0'),
	'the worker leaves a database that becomes a template');
$node->safe_psql('postgres', 'CREATE DATABASE cast_from_mold TEMPLATE mold');
is($node->safe_psql('cast_from_mold', 'SELECT kit.views_follow()'),
	't', 'a database made from it has a worker');

done_testing();
