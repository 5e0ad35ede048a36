
# A rebuild goes in chunks beside live traffic: it shows how far it is, holds no
# snapshot for longer than a chunk, and after kill -9 goes on from where it
# stood.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 8000;

my $node = new_server('rebuild');
# statistics come when they are asked for
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 5) n;
SELECT count(blogstore.create_post(kit.u(1 + n % 5), 'title ' || n, 'x', kit.p(n), kit.d(n))) FROM generate_series(1, $POSTS) n;
});
check_store($node, 'postgres', 'filled');

my $job = "FROM blogstore.progress WHERE kind = 'rebuild'";
my $worker = "FROM pg_stat_activity WHERE backend_type = 'blogstore worker'";

# ---- How far it is, without statistics

my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
is($node->safe_psql('postgres', "SELECT phase, done, total IS NOT NULL, user_id IS NULL $job"),
	'waiting|0|t|t', 'waiting: progress shows it');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('0')"),
	'f', 'waiting: wait_for_views() does, too');
$holder->query_safe('COMMIT');
$holder->quit;
$holder = hold_worker($node, 'postgres', "EXISTS (SELECT $job AND done >= 2000)");
is($node->safe_psql('postgres', "SELECT phase, total >= done, rows_per_second > 0, started_at < now(), estimated_end > started_at $job"),
	'copies|t|t|t|t', 'under way: progress shows how far it is');
is($node->safe_psql('postgres', "SELECT count(*) $worker AND backend_xmin IS NULL AND backend_xid IS NULL"),
	'1', 'under way: the worker holds no snapshot between chunks');
check_answers($node, 'postgres', 'under way');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'built anew');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.progress"),
	'0', 'built anew: nothing is left to do');

# ---- With statistics, from views that are wrong, and over a crash

$node->safe_psql('postgres', 'ANALYZE blogstore.posts; ANALYZE blogstore.users');
$node->safe_psql(
	'postgres', q{
SET client_min_messages = error;
SELECT blogstore.stop_worker(drop_slot => true);
DELETE FROM blogstore.users WHERE type = 'post' AND post_id < kit.p(3000);
UPDATE blogstore.users SET title = 'wrong' WHERE type = 'post' AND post_id > kit.p(6000);
INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(1), 'nobody', 'never written', 'x', 0, 0, kit.d(n) FROM generate_series(20001, 20100) n;
TRUNCATE blogstore.feed;
});
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE blogstore.feed IN SHARE MODE');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', "SELECT count(*) = 1 $job");
is($node->safe_psql('postgres', "SELECT abs(total - 2 * $POSTS) < 0.2 * $POSTS $job"),
	't', 'wrong views: total is near to what there is to look at');
check_answers($node, 'postgres', 'wrong views');
$holder->query_safe('COMMIT');
$holder->quit;

my $done = 0;
for my $kill (1, 2)
{
	$holder = hold_worker($node, 'postgres', "EXISTS (SELECT $job AND done >= $done + 2000)");
	my $before = $done;
	($done, my $total) = split /\|/, $node->safe_psql('postgres', "SELECT done, total $job");
	cmp_ok($done, '<', $total, "kill $kill: in the middle of it");
	# on both sides of where it stands
	$node->safe_psql(
		'postgres', qq{
SELECT blogstore.edit_post(kit.p(n), 'edited $kill') IS NULL FROM generate_series(100 + $kill, 7900, 100) n;
SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(110 + $kill, 7900, 100) n;
SELECT blogstore.create_post(kit.u(1 + n % 5), 'new', 'x', kit.p(10000 + 100 * $kill + n), kit.d(100 * n)) IS NULL FROM generate_series(1, 50) n;
});
	check_answers($node, 'postgres', "kill $kill");
	kill_worker($node, 'postgres');
	eval { $holder->quit };
	$holder = hold_worker($node, 'postgres', "NOT EXISTS (SELECT $job AND done = $done)");
	my $after = $node->safe_psql('postgres', "SELECT coalesce((SELECT done $job), 1000000)");
	cmp_ok($after, '>', $done, "kill $kill: the rebuild goes on from where it stood");
	check_answers($node, 'postgres', "kill $kill, gone on");
	$done = $after;
	$holder->query_safe('COMMIT');
	$holder->quit;
}
check_store($node, 'postgres', 'built over crashes');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE title IN ('wrong', 'never written')"),
	'0', 'built over crashes: what was wrong is gone');

# A restart of the server does not lose it either
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
$holder->query_safe('COMMIT');
$holder->quit;
$holder = hold_worker($node, 'postgres', "EXISTS (SELECT $job AND done >= 3000)");
$done = $node->safe_psql('postgres', "SELECT done $job");
$node->stop('fast');
eval { $holder->quit };
$node->start;
$holder = hold_worker($node, 'postgres', "NOT EXISTS (SELECT $job AND done = $done)");
cmp_ok($node->safe_psql('postgres', "SELECT coalesce((SELECT done $job), 1000000)"),
	'>', $done, 'restarted: the rebuild goes on from where it stood');
# asked for again in the middle of it: what is there now is built
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'asked for again');

# ---- No snapshot is held for long: the oldest that the worker needs moves on,
# while others write

$node->safe_psql(
	'postgres', q{
CREATE TABLE kit.horizons (at_xid xid8, worker_xmin xid, done bigint);
CREATE PROCEDURE kit.watch_rebuild() LANGUAGE plpgsql AS $$
DECLARE
	n	int := 0;
BEGIN
	WHILE EXISTS (SELECT FROM blogstore.progress WHERE kind = 'rebuild') LOOP
		n := n + 1;
		PERFORM blogstore.edit_post(kit.p(50 + 100 * (n % 70)), 'edit ' || n);
		COMMIT;
		INSERT INTO kit.horizons
		SELECT pg_current_xact_id(), backend_xmin, (SELECT done FROM blogstore.progress WHERE kind = 'rebuild')
		FROM pg_stat_activity WHERE backend_type = 'blogstore worker';
		COMMIT;
	END LOOP;
END $$;
});
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
$node->safe_psql('postgres', 'CALL kit.watch_rebuild()');
note $node->safe_psql('postgres', 'SELECT count(*), count(worker_xmin), count(DISTINCT worker_xmin::text), count(DISTINCT done) FROM kit.horizons');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT done) > 5, count(DISTINCT worker_xmin::text) > 5 FROM kit.horizons'),
	't|t', 'beside writers: the snapshot of the worker moves on with the chunks');
# between two looks at the same chunk at most it stays where it is
is($node->safe_psql(
		'postgres', q{
SELECT count(*) FROM kit.horizons a JOIN kit.horizons b ON a.worker_xmin = b.worker_xmin AND b.done > a.done
WHERE (SELECT count(DISTINCT c.done) FROM kit.horizons c WHERE c.done > a.done AND c.done < b.done) > 1}),
	'0', 'beside writers: no snapshot outlives its chunk');
check_store($node, 'postgres', 'beside writers');

done_testing();
