
# edit_user() returns at once, however much the user has written. The worker
# writes the new name on all items. No item keeps an old name, not after a
# transaction that read it before commits late, not after a second rename, and
# not after a crash.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 1500;

my $node = new_server('rename');
$node->start;
create_store($node, 'postgres');

# User 1 is the author of a fifth of the posts, and has four comments and a
# like on each post. User 2 has as many posts and nothing else.
$node->safe_psql(
	'postgres', qq{
SELECT kit.fill(5, $POSTS, 'x');
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1), 'comment', kit.c(10 * n + m), kit.d(n + m)))
FROM generate_series(1, $POSTS) n, generate_series(1, 4) m;
SELECT count(blogstore.create_like(kit.p(n), kit.u(1), kit.d(n))) FROM generate_series(1, $POSTS) n;
CREATE VIEW kit.names AS
SELECT DISTINCT right(user_id::text, 12)::int AS who, user_username AS name FROM blogstore.posts
UNION SELECT right(user_id::text, 12)::int, user_username FROM blogstore.feed
UNION SELECT right(user_id::text, 12)::int, coalesce(user_username, username) FROM blogstore.users;
});
check_store($node, 'postgres', 'filled');

my $job = "FROM blogstore.progress WHERE kind = 'rename'";

sub check_names
{
	my ($name, $expected) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	check_store($node, 'postgres', $name);
	is($node->safe_psql('postgres', "SELECT name FROM kit.names WHERE who = 1"),
		$expected, "$name: no other name is left");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.progress'),
		'0', "$name: the job is done");
	return;
}

# ---- The rename at once, and its progress

my $holder = hold_worker($node, 'postgres');
sub edit_user_buffers
{
	my ($user, $name) = @_;
	my $plan = $node->safe_psql('postgres',
		"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT blogstore.edit_user(kit.u($user), '$name')");
	my ($buffers) = $plan =~ /Buffers: shared(.*)/ or die $plan;
	my $sum = 0;

	$sum += $1 while $buffers =~ /(?:hit|read)=(\d+)/g;
	return $sum;
}
my $nothing = edit_user_buffers(5, 'five');
my $much = edit_user_buffers(1, 'one');
note "$nothing and $much buffers";
cmp_ok($much, '<', $nothing + 100, 'buffers of a rename do not grow with what the user has written');
is($node->safe_psql('postgres', "SELECT username FROM blogstore.get_user(kit.u(1)); SELECT username FROM blogstore.get_user_by_name('ONE'); SELECT count(*) FROM blogstore.get_user_by_name('user 1')"),
	"one\none\n0", 'renamed: the user has the new name at once');
is($node->safe_psql('postgres', "SELECT user_id = kit.u(1), phase, done $job AND user_id = kit.u(1)"),
	't|waiting|0', 'renamed: progress shows it');
is($node->safe_psql('postgres', "SELECT user_username FROM blogstore.create_comment(kit.p(1), kit.u(1), 'new')"),
	'one', 'renamed: what is written now bears the new name');

# ---- kill -9 in the middle: the next worker continues

# The rename goes through posts, then comments, then likes.
my $comments = 'LOCK TABLE ONLY blogstore.posts_p02_comment IN SHARE MODE';
my $likes = 'LOCK TABLE ONLY blogstore.posts_p02_like IN SHARE MODE';
close_gate($node, 'postgres', 'comments', $comments);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');

my $place = job_place($node, 'postgres', 'rename', 1);
my $done = $node->safe_psql('postgres', "SELECT done $job AND user_id = kit.u(1)");
cmp_ok($done, '>', 0, 'half done: some of it is done');
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE user_username = 'one') >= $done, count(*) FILTER (WHERE user_username = 'user 1') > 0 FROM blogstore.posts WHERE user_id = kit.u(1)"),
	't|t', 'half done: some items have the new name, some the old one');
is($node->safe_psql('postgres', "SELECT phase, done, rows_per_second > 0 $job AND user_id = kit.u(1)"),
	"sweep|$done|t", 'half done: progress shows it');
# The gate holds the next worker before it does anything.
close_gate($node, 'postgres', 'all', 'LOCK TABLE blogstore.feed IN SHARE MODE');
kill_worker($node, 'postgres');
eval { $holder->quit };
await_gate($node, 'postgres');
is(job_place($node, 'postgres', 'rename', 1), $place, 'worker killed: nothing of the rename is lost or done again');
# Give the old name to an item of a partition that is done. A rename that began
# anew would correct it.
my $behind = "type = 'post' AND post_id = (SELECT min(post_id::text)::uuid FROM blogstore.posts_p00_post WHERE user_id = kit.u(1))";
$node->safe_psql('postgres', "UPDATE blogstore.posts SET user_username = 'user 1' WHERE $behind");
close_gate($node, 'postgres', 'likes', $likes);
open_gate($node, 'postgres', 'comments');
open_gate($node, 'postgres', 'all');
wait_until($node, 'postgres', "SELECT done > $done $job AND user_id = kit.u(1)");
is($node->safe_psql('postgres', "SELECT phase $job AND user_id = kit.u(1)"),
	'sweep', 'worker killed: the rename goes on');
is($node->safe_psql('postgres', "SELECT user_username FROM blogstore.posts WHERE $behind"),
	'user 1', 'worker killed: the rename has not begun anew');
open_gate($node, 'postgres', 'likes');
check_names('renamed', 'one');

# ---- Two renames in a row: both before the first begins, and one in the
# middle

$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(1), 'second')");
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(1), 'third')");
close_gate($node, 'postgres', 'comments', $comments);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', "SELECT count(*), bool_and(done > 0) $job AND user_id = kit.u(1)"),
	'1|t', 'two renames: one job does both, and is under way');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(1) AND user_username = 'second'"),
	'0', 'two renames: the first name is written nowhere');
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(1), 'fourth')");
open_gate($node, 'postgres', 'comments');
$holder->query_safe('COMMIT');
$holder->quit;
check_names('two renames', 'fourth');
# Rename the user back while the first rename is under way.
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(1), 'fifth')");
close_gate($node, 'postgres', 'comments', $comments);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', "SELECT done > 0 $job AND user_id = kit.u(1)"), 't', 'to and fro: the first is under way');
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(1), 'fourth')");
open_gate($node, 'postgres', 'comments');
$holder->query_safe('COMMIT');
$holder->quit;
check_names('to and fro', 'fourth');

# ---- Writers that have read the old name: a trigger holds them while the user
# is renamed and the job goes on

my $gate = hold_writers($node, 'postgres');
my $writer = $node->background_psql('postgres', on_error_stop => 0);
my $n = 100;
for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	each_late(\$n, $isolation, sub {
		my ($what, $user, $call) = @_;

		$node->safe_psql('postgres', "SELECT blogstore.create_user('old $n', $user)");
		begin_late($node, 'postgres', $gate, $writer, $isolation, "SELECT user_username FROM blogstore.$call");
		is($node->safe_psql('postgres', "SELECT username FROM blogstore.edit_user($user, 'new $n')"),
			"new $n", "$what: the rename does not wait");
		wait_until($node, 'postgres', "SELECT phase = 'waiting' AND started_at IS NOT NULL $job AND user_id = $user");
		is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('0')"),
			'f', "$what: the rename is not done");
		$gate->query_safe('SELECT pg_advisory_unlock(1)');
		is($writer->query_safe("SELECT 'there'"), "old $n\nthere", "$what: a command that read the old name writes it");
		$writer->query_safe('COMMIT');
		is($node->safe_psql('postgres', "SELECT kit.views_follow(); SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = $user"),
			"t\nnew $n", "$what: no stale name");
	});

	# A transaction whose snapshot is from before the rename, and whose
	# commands come after the job is done
	my $user = 'kit.u(' . ++$n . ')';
	$node->safe_psql('postgres', "SELECT blogstore.create_user('old $n', $user)");
	$writer->query_safe("BEGIN ISOLATION LEVEL $isolation; SELECT username FROM blogstore.get_user($user)");
	$node->safe_psql('postgres', "SELECT blogstore.edit_user($user, 'new $n'); SELECT kit.views_follow()");
	$writer->query_safe("SELECT blogstore.create_comment(kit.p(9), $user, 'late'); SELECT blogstore.create_like(kit.p(9), $user); SELECT blogstore.create_post($user, 'late', 'x'); COMMIT");
	is($node->safe_psql('postgres', "SELECT kit.views_follow(); SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = $user"),
		"t\nnew $n", "a command after the rename under $isolation: no stale name");
}
check_store($node, 'postgres', 'writers that read the old name');

# A transaction with items from before the rename and after it
$node->safe_psql('postgres', "SELECT blogstore.create_user('old', kit.u(99))");
$writer->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT blogstore.create_comment(kit.p(10), kit.u(99), 'before')");
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(99), 'new')");
wait_until($node, 'postgres', "SELECT phase = 'waiting' AND started_at IS NOT NULL $job");
$writer->query_safe("SELECT blogstore.create_comment(kit.p(11), kit.u(99), 'after')");
# kill -9 restarts the server, so the writer is gone when the next worker
# starts.
kill_worker($node, 'postgres');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(99)'),
	'0', 'writer killed: nothing of it is there');
$writer->quit;
$gate->quit;
check_store($node, 'postgres', 'writer killed');

# A prepared transaction survives the restart: the next worker has to find out
# that it must wait for it.
$node->safe_psql(
	'postgres', q{
BEGIN;
SELECT blogstore.create_comment(kit.p(10), kit.u(99), 'prepared');
PREPARE TRANSACTION 'old name';
SELECT blogstore.edit_user(kit.u(99), 'newest');
});
wait_until($node, 'postgres', "SELECT phase = 'waiting' AND started_at IS NOT NULL $job");
kill_worker($node, 'postgres');
wait_until($node, 'postgres', 'SELECT state FROM blogstore.stat_worker', 'running');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('200 ms')"),
	'f', 'worker killed: the rename waits for a writer from before');
$node->safe_psql('postgres', "COMMIT PREPARED 'old name'");
is($node->safe_psql('postgres', 'SELECT kit.views_follow(); SELECT user_username FROM blogstore.posts WHERE user_id = kit.u(99)'),
	"t\nnewest", 'worker killed: no stale name');
check_store($node, 'postgres', 'worker killed');

# ---- A row that is locked for long: the worker writes the name on all others

my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; SELECT FROM blogstore.posts WHERE id = kit.c(101) FOR UPDATE');
$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u(1), 'last')");
wait_until($node, 'postgres', "SELECT array_agg(id) = ARRAY[kit.c(101)] FROM blogstore.posts WHERE user_id = kit.u(1) AND user_username <> 'last'");
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(5), 'beside', 'x', kit.p(9000), kit.d(9000))");
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM blogstore.feed WHERE post_id = kit.p(9000)');
pass('an item is locked: all others are relabelled, and views follow');
$locker->query_safe('COMMIT');
$locker->quit;
check_names('no longer locked', 'last');

done_testing();
