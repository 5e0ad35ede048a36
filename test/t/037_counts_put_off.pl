
# While the counts of many posts change, copies and feed show the new counts
# once in an interval. They show them at once if a session waits for the views,
# or if few posts have changed. Postponed counts survive kill -9 of the worker,
# and delay nothing else.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('put_off');
# So long that no postponed count becomes due during the test
$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = '60s'\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', 'SELECT kit.fill(20, 100)');
check_store($node, 'postgres', 'filled');

my $stale = "SELECT count(*) FROM blogstore.users c, blogstore.get_post(c.post_id) p WHERE c.type = 'post' AND c.like_count <> p.like_count";

# Like each post, by a user who has not liked a post before.
my $likes = 0;
sub like_all
{
	$likes++;
	$node->safe_psql('postgres', "SELECT count(blogstore.create_like(kit.p(n), kit.u($likes))) FROM generate_series(1, 100) n");
	return;
}

# Like all posts, and wait until the worker has read that: it shows an edit
# that was made later. Then run a query in one snapshot. If the interval ended
# meanwhile, the counts were written, and the next attempt has a whole
# interval.
sub put_off
{
	my ($look, $expected, $name) = @_;
	my $found;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (1 .. 5)
	{
		like_all();
		$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(1), 'edited $likes')");
		wait_until($node, 'postgres', "SELECT title = 'edited $likes' FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1)");
		$found = $node->safe_psql('postgres', $look);
		last if $found eq $expected;
		$node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')");
	}
	is($found, $expected, $name);
	return;
}

# ---- Postponed

# stat_worker says that the views are behind. Copies have old counts, but
# list_user_posts() and get_post() return new ones.
put_off(
	qq{SELECT lag_bytes > 0, ($stale),
	(SELECT count(*) FROM blogstore.list_user_posts(kit.u(3)) c JOIN blogstore.get_post(c.post_id) p ON c.like_count = p.like_count),
	(SELECT count(*) FILTER (WHERE like_count <> (SELECT count(*) FROM blogstore.posts l WHERE l.post_id = kit.p(n) AND l.type = 'like')) FROM generate_series(1, 100) n, blogstore.get_post(kit.p(n)))
	FROM blogstore.stat_worker}, 't|99|0|0', 'an edit shows while the counts of the others do not');

# ---- At once if a session waits

is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')"), 't', 'waited');
is($node->safe_psql('postgres', $stale), '0', 'all counts show');
check_store($node, 'postgres', 'waited for');

# ---- After kill -9

put_off($stale, '99', 'the worker has read the likes and put them off');
$node->stop('immediate');
$node->start;
check_store($node, 'postgres', 'after a crash');
is($node->safe_psql('postgres', $stale), '0', 'no count is lost');

# ---- At once for few posts, and with an interval of zero for all

$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = 0\n");
$node->reload;
ok($node->poll_query_until('postgres', "SELECT setting = '0' FROM pg_settings WHERE name = 'blogstore.count_refresh_interval'"),
	'the interval is zero');
# After this the worker uses the new setting.
$node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')");
like_all();
ok($node->poll_query_until('postgres', "SELECT ($stale) = 0"), 'all counts show without a wait');
check_store($node, 'postgres', 'at the end');

# ---- In parts, so that a new post does not wait for thousands of counts

$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = '60s'\n");
$node->reload;
ok($node->poll_query_until('postgres', "SELECT setting = '60000' FROM pg_settings WHERE name = 'blogstore.count_refresh_interval'"),
	'the interval is long');
my $changes = $node->safe_psql('postgres', 'SELECT changes FROM blogstore.stat_worker');
$node->safe_psql('postgres', 'SELECT count(blogstore.create_post(kit.u(1), $$title$$, $$content$$, kit.p(n))) FROM generate_series(1001, 2000) n');
$node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')");
is($node->safe_psql('postgres', "SELECT changes - $changes FROM blogstore.stat_worker"), '1000',
	'the empty counters of new posts are not counted as changes');
my $batches = $node->safe_psql('postgres', 'SELECT batches FROM blogstore.stat_worker');
$node->safe_psql('postgres', 'SELECT count(blogstore.create_like(kit.p(n), kit.u(2))) FROM generate_series(1001, 2000) n');
$node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')");
is($node->safe_psql('postgres', $stale), '0', 'a session that waits sees all parts');
cmp_ok($node->safe_psql('postgres', 'SELECT batches FROM blogstore.stat_worker') - $batches, '>=', 5, 'there were several parts');

$batches = $node->safe_psql('postgres', 'SELECT batches FROM blogstore.stat_worker');
$node->safe_psql('postgres', 'SELECT count(blogstore.create_like(kit.p(n), kit.u(3))) FROM generate_series(1001, 2000) n');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
check_store($node, 'postgres', 'after parts');
is($node->safe_psql('postgres', $stale), '0', 'no count is lost if the worker ends');

# ---- A counter that is inserted by hand, with comments or with likes

my $counter = "FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(1001)";
for my $counts ('5, 0', '0, 7')
{
	$node->safe_psql('postgres', "DELETE $counter; SELECT blogstore.wait_for_views('5 min')");
	$node->safe_psql('postgres', "INSERT INTO blogstore.posts (id, type, post_id, item_id, comment_count, like_count) SELECT id, type, kit.p(1001), kit.p(1001), $counts FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(1002); SELECT blogstore.wait_for_views('5 min')");
	is($node->safe_psql('postgres', "SELECT comment_count, like_count FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1001)"),
		$counts =~ s/, /|/r, "the copy shows $counts of a counter written by hand");
}
$node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.repair()');

# ---- At once if a session waits, though the first attempt to write fails

my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE blogstore.users IN SHARE MODE');
like_all();
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('2 s')"), 'f', 'the views cannot be written');
$holder->query_safe('COMMIT');
$holder->quit;
$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(1), 'at last')");
ok($node->poll_query_until('postgres', "SELECT title = 'at last' FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1)"),
	'the views are written when the lock is released');
is($node->safe_psql('postgres', $stale), '0', 'the counts that a session waited for were written with them');
check_store($node, 'postgres', 'after a lock');

$node->stop;
done_testing();
