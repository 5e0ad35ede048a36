
# Unusual transactions: prepared ones, large ones, long ones, and ones that
# wait for a synchronous standby that does not exist.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('transactions');
$node->append_conf('postgresql.conf', 'logical_decoding_work_mem = 64kB');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 110);
check_store($node, 'postgres', 'filled');

sub titles
{
	my ($n) = @_;

	return $node->safe_psql('postgres',
		"SELECT string_agg(title, ', ' ORDER BY creation_date DESC, id DESC) FROM (SELECT * FROM blogstore.feed ORDER BY creation_date DESC, id DESC LIMIT $n) x");
}

# ---- PREPARE TRANSACTION

$node->safe_psql(
	'postgres', q{
BEGIN;
SELECT blogstore.create_post(kit.u(1), 'prepared', 'x', kit.p(200), kit.d(200));
SELECT blogstore.create_like(kit.p(1), kit.u(9));
SELECT blogstore.edit_user(kit.u(2), 'prepared name');
PREPARE TRANSACTION 'one';
});
is($node->safe_psql('postgres', "SELECT kit.views_follow()"),
	't', 'prepared: wait_for_views() does not wait for it');
is(titles(1), 'title 110', 'prepared: not shown');
is($node->safe_psql('postgres', 'SELECT username FROM blogstore.get_user(kit.u(2))'),
	'user 2', 'prepared: not renamed');
is($node->safe_psql('postgres', 'SELECT * FROM kit.wrong_counts()'),
	'', 'prepared: counts are exact');
$node->restart;
is(titles(1), 'title 110', 'prepared, restarted: not shown');
$node->safe_psql('postgres', "COMMIT PREPARED 'one'");
check_store($node, 'postgres', 'committed');
is(titles(2), 'prepared, title 110', 'committed: shown');
is($node->safe_psql('postgres', "SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(2)"),
	'prepared name', 'committed: renamed');
# A prepared hide_post(): the post is served until COMMIT PREPARED, also after
# a restart, and then is in no list.
my $lists = 'SELECT (SELECT count(*) FROM blogstore.list_feed(NULL) WHERE id = kit.p(110)) + (SELECT count(*) FROM blogstore.get_post(kit.p(110)) p, blogstore.list_user_posts(p.user_id, NULL) l WHERE l.id = p.id)';
$node->safe_psql('postgres', "BEGIN; SELECT blogstore.hide_post(kit.p(110)); PREPARE TRANSACTION 'hidden'");
is($node->safe_psql('postgres', $lists), '2', 'hidden, prepared: served');
$node->restart;
is($node->safe_psql('postgres', $lists), '2', 'hidden, prepared, restarted: served');
is($node->safe_psql('postgres', "COMMIT PREPARED 'hidden'; $lists"), '0', 'hidden, committed: served no more');
is($node->safe_psql('postgres', 'SELECT hidden FROM blogstore.hide_post(kit.p(110), false)'), 'f', 'shown again');
check_store($node, 'postgres', 'shown again');
is($node->safe_psql('postgres', $lists), '2', 'shown again: served');
# A prepared follow and a prepared end of one
my $followers = q{SELECT concat_ws(' ', (SELECT string_agg(user_username, ', ') FROM blogstore.list_followers(kit.u(5))), '|', (SELECT string_agg(user_username, ', ') FROM blogstore.list_followers(kit.u(6))))};
$node->safe_psql(
	'postgres', q{
SELECT blogstore.follow_user(kit.u(1), kit.u(5));
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT blogstore.follow_user(kit.u(4), kit.u(6)), blogstore.unfollow_user(kit.u(1), kit.u(5));
PREPARE TRANSACTION 'follows';
});
is($node->safe_psql('postgres', $followers), 'user 1 |', 'follows, prepared: as before');
foreach my $when ('prepared', 'prepared, restarted')
{
	my ($status, $out, $error) = $node->psql('postgres', "SET lock_timeout = '10ms'; SELECT blogstore.follow_user(kit.u(4), kit.u(1))");

	like($error, qr/canceling statement due to lock timeout/, "follows, $when: another follow of that user waits");
	is($node->safe_psql('postgres', "SELECT username FROM blogstore.edit_user(kit.u(4), 'user 4, $when')"), "user 4, $when", "follows, $when: a rename of that user does not");
	$node->restart if $when eq 'prepared';
}
is($node->safe_psql('postgres', "COMMIT PREPARED 'follows'; SELECT kit.views_follow()"), 't', 'follows, committed: the views follow');
is($node->safe_psql('postgres', $followers), '| user 4, prepared, restarted', 'follows, committed');
is($node->safe_psql('postgres', "SELECT username FROM blogstore.edit_user(kit.u(4), 'user 4'); SELECT followed_username FROM blogstore.follow_user(kit.u(4), kit.u(1))"),
	"user 4\nuser 1", 'follows, committed: another follow of that user');
$node->safe_psql(
	'postgres', q{
BEGIN;
SELECT blogstore.create_post(kit.u(1), 'rolled back', 'x', kit.p(201), kit.d(201));
SELECT blogstore.delete_user(kit.u(3));
PREPARE TRANSACTION 'two';
ROLLBACK PREPARED 'two';
});
check_store($node, 'postgres', 'rolled back');
is(titles(2), 'prepared, title 110', 'rolled back: not shown');
is($node->safe_psql('postgres', 'SELECT username FROM blogstore.get_user(kit.u(3))'),
	'user 3', 'rolled back: not deleted');

# The author is renamed after the transaction was prepared. At COMMIT PREPARED,
# after a restart too, the item has the old name, and the worker then corrects
# it.
$node->safe_psql(
	'postgres', q{
BEGIN;
SELECT blogstore.create_comment(kit.p(60), kit.u(5), 'prepared', kit.c(5000));
SELECT blogstore.create_like(kit.p(60), kit.u(8));
PREPARE TRANSACTION 'three';
});
$node->safe_psql('postgres',
	"SELECT blogstore.edit_user(kit.u(5), 'five'); SELECT blogstore.edit_user(kit.u(8), 'eight')");
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('500 ms')"),
	'f', 'prepared before a rename: the rename is not done');
is($node->safe_psql('postgres', 'SELECT kind FROM blogstore.progress'),
	"rename\nrename", 'prepared before a rename: progress shows it');
$node->restart;
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('500 ms')"),
	'f', 'prepared before a rename, restarted: the rename is not done');
$node->safe_psql('postgres', "COMMIT PREPARED 'three'");
check_store($node, 'postgres', 'prepared before a rename, committed');
is($node->safe_psql('postgres', "SELECT DISTINCT user_id = kit.u(5), user_username FROM blogstore.posts WHERE user_id IN (kit.u(5), kit.u(8)) ORDER BY 1"),
	"f|eight\nt|five", 'prepared before a rename, committed: no stale name');

# ---- Large: many more changes than fit into the decoder's memory, so that it
# spills them to disk

$node->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_post(kit.u(1 + n % 10), 'large ' || n, 'x', kit.p(1000 + n), kit.d(1000 + n))),
	count(blogstore.create_comment(kit.p(1 + n % 100), kit.u(1 + n % 10), 'large', kit.c(10000 + n)))
FROM generate_series(1, 20000) n;
});
check_store($node, 'postgres', 'large');
is(titles(1), 'large 20000', 'large: shown');
$node->psql(
	'postgres', q{
BEGIN;
SELECT count(blogstore.delete_post(kit.p(1000 + n))) FROM generate_series(1, 20000) n;
ROLLBACK;
});
check_store($node, 'postgres', 'large, rolled back');
$node->safe_psql('postgres',
	'SELECT count(blogstore.delete_post(kit.p(1000 + n))) FROM generate_series(1, 20000) n');
check_store($node, 'postgres', 'large, deleted');
is(titles(1), 'prepared', 'large, deleted: the feed is refilled');

# ---- Long: an open transaction does not delay others' posts

my $open = $node->background_psql('postgres');
$open->query_safe(
	"BEGIN; SELECT blogstore.create_post(kit.u(1), 'open', 'x', kit.p(300), kit.d(300)); SELECT blogstore.create_like(kit.p(50), kit.u(9));");
$node->safe_psql('postgres',
	"SELECT blogstore.create_post(kit.u(1), 'beside', 'x', kit.p(301), kit.d(301))");
check_store($node, 'postgres', 'beside an open transaction');
is(titles(1), 'beside', 'beside an open transaction: shown');
# A worker that starts meanwhile does not wait for the transaction either.
$node->safe_psql('postgres',
	'SET client_min_messages = error; SELECT blogstore.stop_worker(); SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'started beside an open transaction');
$open->query_safe('COMMIT');
$open->quit;
check_store($node, 'postgres', 'no longer open');
is(titles(2), 'beside, open', 'no longer open: shown');

# ---- A synchronous standby that does not exist: commits wait for ever. The
# worker goes on, and does not delay a shutdown.

$node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
$node->reload;
$node->poll_query_until('postgres', "SELECT setting = 'nobody' FROM pg_settings WHERE name = 'synchronous_standby_names'")
  or die 'no reload';
my $local = 'SET synchronous_commit = local;';
$node->safe_psql('postgres',
	"$local SELECT blogstore.create_post(kit.u(1), 'local', 'x', kit.p(400), kit.d(400))");
is($node->safe_psql('postgres', "$local SELECT kit.views_follow()"),
	't', 'dead standby: the views follow');
is(titles(1), 'local', 'dead standby: shown');
my $stuck = $node->background_psql('postgres');
$stuck->query_until(qr/start/,
	"\\echo start\nSELECT blogstore.create_post(kit.u(1), 'stuck', 'x', kit.p(401), kit.d(401));\n");
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
  or die 'no commit waits';
# The restarted worker decodes the waiting transaction, which is not visible
# yet.
$node->safe_psql('postgres',
	"$local SET client_min_messages = error; SELECT blogstore.stop_worker(); SELECT blogstore.start_worker()");
is($node->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1)'),
	'local', 'dead standby: the post whose commit waits is not shown');
ok($node->stop('fast', fail_ok => 1), 'dead standby: a fast shutdown does not hang');
eval { $stuck->quit };
$node->adjust_conf('postgresql.auto.conf', 'synchronous_standby_names', "''");
$node->start;
check_store($node, 'postgres', 'standby given up');
is(titles(2), 'stuck, local', 'standby given up: the commit that waited is shown');

done_testing();
