
# Transactions with several hundred thousand changes, with thousands of
# savepoints, and prepared ones. The views are right afterwards, and the
# worker's memory has a bound that does not depend on their size.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Bounds in MB: for logical decoding, and for all else in the worker
my $DECODING = 1;
my $BESIDE = 64;

my $node = new_server('large');
$node->append_conf(
	'postgresql.conf', qq{
logical_decoding_work_mem = ${DECODING}MB
max_prepared_transactions = 5
# Pages of shared buffers that a process has touched count as its memory.
shared_buffers = 8MB
autovacuum = off
});
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 120);
check_store($node, 'postgres', 'filled');
my $slot = worker_slot($node, 'postgres');

# The most memory that the worker has used so far, in kB
sub worker_memory
{
	my $pid = worker_pid($node, 'postgres');
	my $status = slurp_file("/proc/$pid/status");

	$status =~ /^VmHWM:\s*(\d+) kB$/m or die $status;
	return $1;
}

# Let the worker use what any batch and any rebuild takes, and measure that
# first.
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views(); SELECT kit.views_follow()');
my $memory = worker_memory();
my $pid = worker_pid($node, 'postgres');
note "$memory kB at first";

sub check_large
{
	my ($name, $spilled) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	# Wait in many short queries. One long query would hold back the removal of
	# dead rows.
	wait_until($node, 'postgres', "SELECT blogstore.wait_for_views('1 s')");
	is(worker_pid($node, 'postgres'), $pid, "$name: the worker is the same");
	my $now = worker_memory();
	note "$now kB";
	cmp_ok($now - $memory, '<=', 1024 * ($DECODING + $BESIDE), "$name: the worker's memory is bounded");
	is(scalar(() = glob($node->data_dir . "/pg_replslot/$slot/*.spill")) > 0,
		$spilled // '', "$name: only a transaction that has not ended has files of spilled changes");
	check_store($node, 'postgres', $name);
	return;
}

my $rebuilds = "SELECT count(*) FROM blogstore.progress WHERE kind = 'rebuild'";
my $post_columns = '(id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)';

# ---- More changed posts than the worker's list of them can hold: it rebuilds
# the views

my $holder = hold_worker($node, 'postgres');
$node->safe_psql(
	'postgres', qq{
BEGIN;
INSERT INTO blogstore.posts $post_columns
SELECT kit.p(n), 'post', kit.p(n), kit.u(1 + n % 10), 'user ' || 1 + n % 10, 'title ' || n, '', 0, 0, kit.d(n) FROM generate_series(100001, 310000) n;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id > kit.p(101000);
SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(1, 20) n;
COMMIT;
});
$holder->query_safe('COMMIT');
$holder->quit;
check_large('210,000 posts in a transaction');
is($node->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1)'),
	'title 101000', '210,000 posts in a transaction: the remaining ones are shown');

# The same in a transaction that is rolled back, which is not decoded
$node->safe_psql(
	'postgres', qq{
BEGIN;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id > kit.p(100100);
INSERT INTO blogstore.posts $post_columns
SELECT kit.p(n), 'post', kit.p(n), kit.u(1 + n % 10), 'nobody', 'title ' || n, '', 0, 0, kit.d(n) FROM generate_series(200001, 250000) n;
ROLLBACK;
});
is($node->safe_psql('postgres', $rebuilds), '0', 'rolled back: nothing is built anew');
check_large('50,000 posts rolled back');

# ---- Many changes of few posts

my $changes = $node->safe_psql('postgres', 'SELECT changes FROM blogstore.stat_worker');
$node->safe_psql(
	'postgres', q{
DO $$
BEGIN
	FOR n IN 1 .. 20 LOOP
		UPDATE blogstore.posts SET title = 'title ' || n WHERE type = 'post';
	END LOOP;
END $$;
});
check_large('20,000 changes of 1,000 posts');
cmp_ok($node->safe_psql('postgres', 'SELECT changes FROM blogstore.stat_worker') - $changes,
	'>=', 20000, '20,000 changes of 1,000 posts: all of them were decoded');
is($node->safe_psql('postgres', "SELECT DISTINCT title FROM blogstore.users WHERE type = 'post'"),
	'title 20', '20,000 changes of 1,000 posts: the last one is shown');

# ---- Savepoints

$node->safe_psql(
	'postgres', q{
DO $$
BEGIN
	FOR n IN 1 .. 5000 LOOP
		BEGIN
			PERFORM blogstore.create_like(kit.p(21 + n % 50), kit.u(6 + n % 3));
			PERFORM blogstore.create_post(kit.u(1), 'savepoint ' || n, 'x', kit.p(400000 + n), kit.d(400000 + n));
			IF n % 3 = 0 THEN
				RAISE 'undo' USING ERRCODE = 'P0099';
			END IF;
		EXCEPTION WHEN SQLSTATE 'P0099' THEN
			NULL;
		END;
	END LOOP;
END $$;
});
check_large('5,000 savepoints');
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE right(post_id::text, 6)::int % 3 = 2), count(*), max(title) FROM blogstore.list_user_posts(kit.u(1), NULL) WHERE title LIKE 'savepoint %'"),
	# Ids of posts are 400000 + n, without those where n is divisible by 3.
	'1667|3334|savepoint 998', '5,000 savepoints: the posts that were not undone are shown');

$node->safe_psql(
	'postgres', q{
BEGIN;
SAVEPOINT a;
SELECT blogstore.create_like(kit.p(100), kit.u(9));
ROLLBACK TO a;
SELECT blogstore.create_like(kit.p(101), kit.u(9));
SAVEPOINT b;
SELECT blogstore.create_post(kit.u(2), 'undone', 'x', kit.p(500001), kit.d(500001));
SELECT blogstore.edit_post(kit.p(102), 'undone');
SELECT blogstore.edit_user(kit.u(3), 'undone');
SELECT blogstore.delete_user(kit.u(4));
ROLLBACK TO b;
SELECT blogstore.edit_post(kit.p(103), 'kept');
RELEASE a;
COMMIT;
});
check_large('rolled back to a savepoint');
is($node->safe_psql('postgres', q{
SELECT count(*) FROM blogstore.get_like(kit.p(100), kit.u(9));
SELECT count(*) FROM blogstore.get_like(kit.p(101), kit.u(9));
SELECT string_agg(like_count || ' ' || title, ', ' ORDER BY post_id) FROM blogstore.users WHERE type = 'post' AND post_id BETWEEN kit.p(100) AND kit.p(103);
SELECT count(*) FROM blogstore.progress}),
	"0\n1\n5 title 20, 6 title 20, 5 title 20, 5 kept\n0", 'rolled back to a savepoint: the rest is shown');

# ---- Prepared

$node->safe_psql(
	'postgres', qq{
BEGIN;
INSERT INTO blogstore.posts $post_columns
SELECT kit.p(n), 'post', kit.p(n), kit.u(1 + n % 10), 'user ' || 1 + n % 10, 'prepared ' || n, '', 0, 0, kit.d(n) FROM generate_series(600001, 620000) n;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id BETWEEN kit.p(600101) AND kit.p(620000);
SAVEPOINT a;
SELECT count(blogstore.create_like(kit.p(n), kit.u(10))) FROM generate_series(21, 120) n;
ROLLBACK TO a;
SELECT count(blogstore.create_like(kit.p(n), kit.u(9))) FROM generate_series(21, 60) n;
PREPARE TRANSACTION 'large';
});
check_large('prepared', 1);
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.list_feed(NULL) WHERE title LIKE 'prepared %'"),
	'0', 'prepared: it is not shown');
$node->safe_psql('postgres', "COMMIT PREPARED 'large'");
check_large('committed');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.list_feed() WHERE title LIKE 'prepared %'"),
	'100', 'committed: it is shown');

# ---- Many comments on few posts

$node->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n))) FROM generate_series(11, 70) n;
BEGIN;
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, content, creation_date)
SELECT kit.c(1000000 + n), 'comment', kit.p(21 + n % 20), kit.u(11 + n % 60), 'user ' || 11 + n % 60, 'one of many', kit.d(n) FROM generate_series(1, 300000) n;
UPDATE blogstore.posts SET comment_count = comment_count + 15000 WHERE type = 'post' AND post_id BETWEEN kit.p(21) AND kit.p(40);
COMMIT;
});
check_large('300,000 comments on 20 posts');
is($node->safe_psql('postgres', 'SELECT min(comment_count), max(comment_count) FROM blogstore.users WHERE post_id BETWEEN kit.p(21) AND kit.p(40)'),
	'15003|15003', '300,000 comments on 20 posts: the copies count them');

# ---- A rebuild, a rename and a deletion do not take more

$node->safe_psql('postgres', "SELECT blogstore.rebuild_views(); SELECT blogstore.edit_user(kit.u(11), 'renamed'); SELECT blogstore.delete_user(kit.u(12))");
check_large('rebuild, rename and deletion of 10,000 items');

# ---- Follows of more users than the server has room for locks

$node->safe_psql('postgres', q{SELECT count(blogstore.create_user('follower ' || n, kit.u(n))) FROM generate_series(1001, 16000) AS n});
is($node->safe_psql('postgres', 'SELECT count(blogstore.follow_user(kit.u(n), kit.u(1))) FROM generate_series(1001, 16000) AS n; SELECT count(*) FROM blogstore.list_followers(kit.u(1), NULL)'),
	"15000\n15000", 'follows of 15,000 users');
check_large('follows of 15,000 users');

done_testing();
