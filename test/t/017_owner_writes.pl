
# The owner of the tables may write to containers and views directly, add
# columns, and replace partitions. The views and the names on items are right
# afterwards without a manual step.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('owner_tables');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 150);
# Posts without comments and likes
$node->safe_psql('postgres',
	q{SELECT count(blogstore.create_post(kit.u(1 + n % 10), 'bare ' || n, 'x', kit.p(n), kit.d(n))) FROM generate_series(151, 200) n}
);
check_store($node, 'postgres', 'filled');

# Run statements of the owner, and check that everything is right afterwards.
sub check_after
{
	my ($name, $sql) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', $sql);
	check_store($node, 'postgres', $name);
	return;
}

# ---- Usernames

check_after('a username', q{
UPDATE blogstore.users SET username = 'USER 1' WHERE user_id = kit.u(1) AND type = 'user'});
is($node->safe_psql('postgres', 'SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(1)'),
	'USER 1', 'a username: the items bear it');
check_after('a username and its registration', q{
BEGIN;
UPDATE blogstore.users SET username = 'Anna' WHERE user_id = kit.u(1) AND type = 'user';
UPDATE blogstore.usernames SET username_key = 'anna' WHERE user_id = kit.u(1);
COMMIT});
is($node->safe_psql('postgres', "SELECT user_id = kit.u(1) FROM blogstore.get_user_by_name('ANNA')"),
	't', 'a username and its registration: the user is found by it');
check_after('all usernames, twice', q{
UPDATE blogstore.users SET username = upper(username) WHERE type = 'user';
UPDATE blogstore.users SET username = initcap(username) WHERE type = 'user'});
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT user_username, ',' ORDER BY user_username) FROM blogstore.posts WHERE user_id < kit.u(4)"),
	'Anna,User 2,User 3', 'all usernames, twice: the items bear the last ones');
# A change of another column does not queue a rename.
my $jobs = $node->safe_psql('postgres', q{
UPDATE blogstore.users SET creation_date = creation_date - interval '1 day' WHERE type = 'user';
SELECT kit.views_follow();
SELECT count(*) FROM blogstore.progress});
is($jobs, "t\n0", 'a change of a column without copies queues no job');
$node->safe_psql('postgres', q{UPDATE blogstore.users SET username = 'unregistered' WHERE user_id = kit.u(2) AND type = 'user'});
is($node->safe_psql('postgres', 'SELECT kit.views_follow(); SELECT DISTINCT problem, user_id = kit.u(2) FROM blogstore.verify()'),
	"t\nregistry|t", 'a username without its registration: verify() shows that, and no stale name');
$node->safe_psql('postgres', 'SELECT blogstore.repair()');
check_store($node, 'postgres', 'a username without its registration, repaired');

# ---- Posts

check_after('posts updated', q{
UPDATE blogstore.posts SET title = 'by hand', content = repeat('y', 300) WHERE type = 'post' AND post_id > kit.p(100)});
check_after('posts dated back and forth', q{
UPDATE blogstore.posts SET creation_date = kit.d(1000) WHERE type = 'post' AND post_id = kit.p(5);
UPDATE blogstore.posts SET creation_date = kit.d(-1000) WHERE type = 'post' AND post_id = kit.p(195)});
check_after('a post given to somebody else', q{
UPDATE blogstore.posts SET user_id = kit.u(7), user_username = 'User 7' WHERE type = 'post' AND post_id = kit.p(5)});
check_after('a post given another id', q{
UPDATE blogstore.posts SET id = kit.p(9190), post_id = kit.p(9190) WHERE type = 'post' AND post_id = kit.p(190)});
check_after('posts deleted', q{
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id BETWEEN kit.p(191) AND kit.p(199)});
check_after('posts inserted', q{
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(3), 'User 3', 'inserted', 'x', 0, 0, kit.d(n) FROM generate_series(2001, 2010) n});
check_after('posts copied in', q{
COPY blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date) FROM stdin;
00000000-0000-7000-8001-000000003001	post	00000000-0000-7000-8001-000000003001	00000000-0000-7000-8000-000000000003	User 3	copied	x	0	0	2024-02-01 00:00:00+00
00000000-0000-7000-8001-000000003002	post	00000000-0000-7000-8001-000000003002	00000000-0000-7000-8000-000000000003	User 3	copied	x	0	0	2024-02-01 00:00:00+00
\.
});
# The post is inserted with its author's name, and the author is renamed then.
check_after('posts inserted with a name that is stale', q{
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(2020), 'post', kit.p(2020), user_id, username, 'inserted', 'x', 0, 0, kit.d(2020) FROM blogstore.get_user(kit.u(4));
SELECT blogstore.edit_user(kit.u(4), 'Dora')});

# ---- Views

check_after('copies updated', q{UPDATE blogstore.users SET title = 'x', user_username = 'nobody' WHERE type = 'post' AND post_id > kit.p(50)});
check_after('copies moved', q{UPDATE blogstore.users SET user_id = kit.u(9) WHERE type = 'post' AND post_id = kit.p(6)});
check_after('copies deleted', q{DELETE FROM blogstore.users WHERE type = 'post' AND post_id > kit.p(70)});
check_after('copies inserted', q{
INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(3), 'User 3', 'of nothing', 'x', 0, 0, kit.d(n) FROM generate_series(4001, 4010) n});
check_after('copies truncated', 'TRUNCATE blogstore.users_p00_post');
check_after('feed updated', q{UPDATE blogstore.feed SET title = 'x', like_count = 77});
check_after('feed deleted from', q{DELETE FROM blogstore.feed WHERE creation_date > kit.d(100)});
check_after('feed inserted into', q{
INSERT INTO blogstore.feed (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(3), 'User 3', 'of nothing', 'x', 0, 0, kit.d(n) FROM generate_series(4001, 4010) n});
check_after('feed truncated', 'TRUNCATE blogstore.feed');
check_after('all views truncated, and a post beside', q{
BEGIN;
SELECT blogstore.create_post(kit.u(1), 'beside', 'x', kit.p(5001), kit.d(5001));
TRUNCATE blogstore.feed, blogstore.users_p00_post, blogstore.users_p01_post, blogstore.users_p02_post, blogstore.users_p03_post;
SELECT blogstore.create_post(kit.u(1), 'beside', 'x', kit.p(5002), kit.d(5002));
COMMIT});
$node->safe_psql('postgres', q{
BEGIN;
UPDATE blogstore.posts SET title = 'undone' WHERE type = 'post';
UPDATE blogstore.users SET username = 'undone ' || user_id WHERE type = 'user';
TRUNCATE blogstore.feed;
ROLLBACK});
check_store($node, 'postgres', 'rolled back');

# ---- Columns that the owner adds while the decoder is behind: it decodes each
# change with the columns of that time

my $n = 6000;

sub some_changes
{
	my $a = $n + 1;
	my $b = $n += 5;

	return qq{
SELECT count(blogstore.create_post(kit.u(1 + n % 10), 'columns ' || n, repeat('z', 3000), kit.p(n), kit.d(n))) FROM generate_series($a, $b) n;
SELECT blogstore.edit_post(kit.p($a), 'edited', 'short');
SELECT blogstore.create_like(kit.p($a), kit.u(1));
SELECT blogstore.delete_post(kit.p($b));
UPDATE blogstore.posts SET title = title || '!' WHERE type = 'post' AND post_id = kit.p($a);
UPDATE blogstore.users SET username = 'columns $a' WHERE type = 'user' AND user_id = kit.u(8);
UPDATE blogstore.usernames SET username_key = 'columns $a' WHERE user_id = kit.u(8);
};
}

my $columns = join '', map { some_changes() . "$_;\n" } (
	'ALTER TABLE blogstore.posts ADD COLUMN note text',
	'ALTER TABLE blogstore.users ADD COLUMN note text',
	'ALTER TABLE blogstore.posts ADD COLUMN rank integer NOT NULL DEFAULT 7',
	'ALTER TABLE blogstore.users ADD COLUMN rank integer DEFAULT 8',
	# These rewrite the tables.
	'ALTER TABLE blogstore.posts ADD COLUMN mark uuid DEFAULT gen_random_uuid()',
	'ALTER TABLE blogstore.users ADD COLUMN mark uuid DEFAULT gen_random_uuid()',
	'ALTER TABLE blogstore.posts DROP COLUMN note',
	'ALTER TABLE blogstore.users DROP COLUMN note',
	'BEGIN; ' . some_changes() . 'ALTER TABLE blogstore.posts ADD COLUMN note bigint; ALTER TABLE blogstore.users ADD COLUMN note bigint; ' . some_changes() . ' COMMIT',
	'VACUUM FULL blogstore.posts_p00_post',
	'VACUUM FULL blogstore.users_p00_user',
	'ALTER TABLE blogstore.feed ADD COLUMN note text DEFAULT $$feed$$',
	"UPDATE blogstore.posts SET rank = 9 WHERE type = 'post'");

$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', $columns . some_changes());
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'columns, the decoder behind');
is($node->safe_psql('postgres', 'SELECT blogstore.edit_post(kit.p(6001), content => $$new$$) IS NULL; SELECT rank, note, mark IS NOT NULL FROM blogstore.posts WHERE id = kit.p(6001)'),
	"f\n9||t", 'columns: a request keeps their values');
is($node->safe_psql('postgres', q{SELECT blogstore.create_post(kit.u(1), 'default', 'x', kit.p(7000), kit.d(7000)) IS NULL; SELECT rank, mark IS NOT NULL FROM blogstore.posts WHERE id = kit.p(7000)}),
	"f\n7|t", 'columns: a request fills in their defaults');
check_store($node, 'postgres', 'columns, in use');

# The same beside a worker that keeps up, while columns are dropped
my $writer = start_client($node, 'postgres', join('', map { some_changes() } 1 .. 60), 'writer');
for my $sql (
	'ALTER TABLE blogstore.posts DROP COLUMN rank',
	'ALTER TABLE blogstore.users DROP COLUMN rank',
	'ALTER TABLE blogstore.posts DROP COLUMN note',
	'ALTER TABLE blogstore.posts ADD COLUMN again integer DEFAULT 5',
	'ALTER TABLE blogstore.users DROP COLUMN mark',
	'ALTER TABLE blogstore.feed DROP COLUMN note')
{
	$node->safe_psql('postgres', $sql);
}
my ($rows, $err) = finish_client($writer);
is($err, '', 'columns beside a writer: no request fails');
check_store($node, 'postgres', 'columns beside a writer');

# ---- Partitions

# Wait until the worker has noticed that a partition is missing.
sub await_damage
{
	wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
	return;
}

# Change posts of a partition while it is not attached.
my $alone = "UPDATE blogstore.posts_p00_post SET title = 'changed alone', content = 'x'";

$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00');
await_damage();
$node->safe_psql('postgres', $alone);
check_after('a partition attached', 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0)');
is($node->safe_psql('postgres', q{SELECT count(*) > 0, count(*) = (SELECT count(*) FROM blogstore.posts_p00_post) FROM blogstore.users WHERE title = 'changed alone'}),
	't|t', 'a partition attached: its posts are in the views, as they are now');
check_after('detached and attached at once',
	"BEGIN; ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00; UPDATE blogstore.posts_p00_post SET title = 'changed again'; ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0); COMMIT");
check_after('a leaf detached and attached',
	"BEGIN; ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post; UPDATE blogstore.posts_p00_post SET title = 'changed as a table'; ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post'); COMMIT");
# The owner deletes a post while its partition for counts is detached. verify()
# lists the count that is left, and repair() deletes it.
$node->safe_psql('postgres', q{
CREATE TABLE kit.short_lived AS
SELECT id FROM (SELECT gen_random_uuid() FROM generate_series(1, 100)) n(id)
WHERE satisfies_hash_partition('blogstore.posts'::regclass, 4, 0, id) LIMIT 1;
SELECT blogstore.create_post(kit.u(1), 'short-lived', 'x', id) FROM kit.short_lived;
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_delta;
INSERT INTO blogstore.posts_p00_delta (id, type, post_id, item_id, comment_count, like_count)
SELECT gen_random_uuid(), 'delta', id, id, 0, 1 FROM kit.short_lived;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id IN (SELECT id FROM kit.short_lived);
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_delta FOR VALUES IN ('delta')});
is($node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min'); SELECT problem, type FROM blogstore.verify(); SELECT blogstore.repair()}),
	"t
orphan|delta
1", 'a leaf of counts detached, and a post deleted: repair() deletes its count');
check_store($node, 'postgres', 'a leaf of counts detached, and a post deleted');

check_after('a partition of copies',
	"BEGIN; ALTER TABLE blogstore.users DETACH PARTITION blogstore.users_p01; UPDATE blogstore.users_p01_post SET title = 'changed alone'; ALTER TABLE blogstore.users ATTACH PARTITION blogstore.users_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1); COMMIT");
check_after('the feed',
	"BEGIN; ALTER TABLE blogstore.feed DETACH PARTITION blogstore.feed_post; TRUNCATE blogstore.feed_post; ALTER TABLE blogstore.feed ATTACH PARTITION blogstore.feed_post FOR VALUES IN ('post'); COMMIT");

# A DETACH CONCURRENTLY that was cancelled half-way. The partition is no longer
# read through its parent, but can be written. A worker that starts now finds
# it in this state.
my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT count(*) FROM blogstore.posts');
my $detaching = start_client($node, 'postgres',
	'ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post CONCURRENTLY', 'detaching');
wait_until($node, 'postgres', "SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = 'blogstore.posts_p00_post'::regclass");
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE%CONCURRENTLY'});
my (undef, $given_up) = finish_client($detaching);
$reader->query_safe('COMMIT');
$reader->quit;
like($given_up, qr/canceling statement due to user request/, 'detached by half: given up');
is($node->safe_psql('postgres', "SELECT inhdetachpending, relispartition FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhrelid = 'blogstore.posts_p00_post'::regclass"),
	't|t', 'detached by half: pending');
my $log_before = log_end($node);
kill_worker($node, 'postgres');
$node->safe_psql('postgres', "UPDATE blogstore.posts_p00_post SET title = 'changed by half'");
await_damage();
is(join("\n", logged($node, $log_before, qr/terminated by signal (?!9)|crash of another/)),
	'', 'detached by half: nothing else has crashed');
check_after('detached by half, and the rest',
	'ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post FINALIZE; ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ($$post$$)');
is($node->safe_psql('postgres', q{SELECT count(*) > 0, count(*) = (SELECT count(*) FROM blogstore.posts_p00_post) FROM blogstore.users WHERE title = 'changed by half'}),
	't|t', 'detached by half, and the rest: the views show what was changed');

# Build a replacement of a partition, and put it in the old one's place.
my $replace = q{
CREATE TABLE blogstore.new_p02 (LIKE blogstore.posts_p02 INCLUDING ALL) PARTITION BY LIST (type);
DO $$
DECLARE
	t	text;
BEGIN
	FOREACH t IN ARRAY ARRAY['post', 'comment', 'like', 'comment_like', 'delta'] LOOP
		EXECUTE format('CREATE TABLE blogstore.new_p02_%s (LIKE blogstore.posts_p02_%s INCLUDING ALL)', t, t);
		EXECUTE format('ALTER TABLE blogstore.new_p02 ATTACH PARTITION blogstore.new_p02_%s FOR VALUES IN (%L)', t, t);
	END LOOP;
	EXECUTE format('ALTER TABLE blogstore.new_p02_post REPLICA IDENTITY USING INDEX %I',
		(SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		 WHERE i.indrelid = 'blogstore.new_p02_post'::regclass AND i.indisunique AND i.indnatts = 3));
END $$;
BEGIN;
LOCK TABLE blogstore.posts;
INSERT INTO blogstore.new_p02 SELECT * FROM blogstore.posts_p02;
UPDATE blogstore.new_p02 SET title = 'replaced' WHERE type = 'post';
DELETE FROM blogstore.new_p02 WHERE post_id IN (SELECT post_id FROM blogstore.new_p02_post ORDER BY post_id LIMIT 10);
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p02;
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.new_p02 FOR VALUES WITH (MODULUS 4, REMAINDER 2);
COMMIT;
};
check_after('a partition replaced', $replace);
is($node->safe_psql('postgres', q{SELECT count(*) > 0, count(*) = (SELECT count(*) FROM blogstore.new_p02_post) FROM blogstore.users WHERE title = 'replaced'}),
	't|t', 'a partition replaced: the views show the new one');
check_after('a partition replaced, worked on', some_changes() . q{
SELECT count(blogstore.create_like(post_id, kit.u(9))), count(blogstore.edit_post(post_id, 'worked on')) FROM blogstore.new_p02_post;
SELECT count(blogstore.delete_post(post_id)) FROM (SELECT post_id FROM blogstore.new_p02_post ORDER BY post_id LIMIT 10) x});

# The same while no worker runs, and over a restart of the server without a
# worker
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', "ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00; UPDATE blogstore.posts_p00_post SET title = 'changed meanwhile'; ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0)");
check_answers($node, 'postgres', 'worker stopped');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'detached and attached without a worker');
is($node->safe_psql('postgres', q{SELECT count(*) > 0, count(*) = (SELECT count(*) FROM blogstore.posts_p00_post) FROM blogstore.users WHERE title = 'changed meanwhile'}),
	't|t', 'detached and attached without a worker: the views show it');
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p01');
$node->restart;
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
await_damage();
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)');
check_store($node, 'postgres', 'attached');
# A restarted worker finds nothing to rebuild.
my $offset = log_end($node);
$node->restart;
check_store($node, 'postgres', 'restarted');
is(join("\n", logged($node, $offset, qr/rebuilds the views/)),
	'', 'restarted: the worker finds the layout that it knows');

# CREATE TRIGGER locks a leaf before its container, while the worker looks at
# the containers' definition. There must be no deadlock, even with a short
# deadlock_timeout.
$node->safe_psql('postgres', 'CREATE FUNCTION kit.nothing() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RETURN NULL; END $$');
is( $node->psql(
		'postgres',
		"SET deadlock_timeout = '400ms'; SET client_min_messages = error;\n"
		  . q{CREATE TRIGGER nothing AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.nothing();
SELECT count(*) FROM blogstore.create_like((SELECT max(post_id::text)::uuid FROM blogstore.feed), kit.u(9));
DROP TRIGGER nothing ON blogstore.posts;
} x 400,
		on_error_stop => 1),
	0, 'triggers made and dropped: no deadlock');

is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.get_post(kit.p(6001))'), '1', 'a post to write to is there');

# Rows are written while a column has another name. The change feed cannot
# decode such changes.
for my $rename (['posts', 'creation_date'], ['posts', 'user_id'], ['posts', 'like_count'], ['users', 'creation_date'])
{
	my ($container, $column) = @$rename;

	check_after("$container.$column renamed meanwhile", qq{
BEGIN;
ALTER TABLE blogstore.$container RENAME $column TO other;
INSERT INTO blogstore.posts SELECT (jsonb_populate_record(p, jsonb_build_object('id', new, 'post_id', new))).*
FROM blogstore.posts p, gen_random_uuid() new WHERE p.id = kit.p(6001) AND type = 'post';
UPDATE blogstore.users SET title = 'changed in a copy' WHERE type = 'post' AND id = kit.p(6001);
ALTER TABLE blogstore.$container RENAME other TO $column;
COMMIT});
}

# All posts are truncated.
check_after('posts truncated', 'TRUNCATE blogstore.posts');
is($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM blogstore.feed), (SELECT count(*) FROM blogstore.users WHERE type = 'post'), (SELECT count(*) FROM blogstore.list_feed())}),
	'0|0|0', 'posts truncated: nothing is left in the views');

done_testing();
