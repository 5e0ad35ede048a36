
# A shard moves to a node on which sessions have older snapshots. A running
# query reads what has arrived. A transaction that keeps its snapshot gets an
# error that tells it to repeat. A node refuses its part of a list if the
# caller assumes other shards than it has; the caller then asks again.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 60;

my $cluster = new_cluster('snapshots');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, $POSTS) AS n;
SELECT count(blogstore.create_post(kit.u(n), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n))) FROM generate_series(1, $POSTS) AS n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(m), 'comment', kit.c(100 * n + m), kit.d(n))) FROM generate_series(1, $POSTS) AS n, generate_series(1, 3) AS m;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m))) FROM generate_series(1, $POSTS) AS n, generate_series(1, 2) AS m});
views_right($cluster, 'filled');

my ($post) = posts_on($cluster, $one, 1, 1);
my ($other) = posts_on($cluster, $two, 1, 1);
my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($post))");
# A user whose copies are in the shard that moves
my $user = $coordinator->safe_psql('postgres', qq{SELECT min(n) FROM generate_series(1, $POSTS) AS n
WHERE (SELECT shardminvalue FROM pg_dist_shard WHERE shardid = get_shard_id_for_distribution_column('blogstore.users', kit.u(n))) =
	(SELECT shardminvalue FROM pg_dist_shard WHERE shardid = $shard)});
isnt($user, '', 'a user is at home in the shard');

# ---- Older snapshots

my %call = (
	get_post => "blogstore.get_post(kit.p($post))",
	get_posts => "blogstore.get_posts(ARRAY[kit.p($post), kit.p($other)])",
	list_post_comments => "blogstore.list_post_comments(kit.p($post))",
	list_post_likes => "blogstore.list_post_likes(kit.p($post))",
	list_user_posts => "blogstore.list_user_posts(kit.u($user))",
	list_user_comments => 'blogstore.list_user_comments(kit.u(1))',
	create_comment => "blogstore.create_comment(kit.p($post), kit.u(1), 'late', kit.c(1))",
	edit_post => "blogstore.edit_post(kit.p($post), 'title $post')");
my @queries = grep { /^(get|list)/ } sort keys %call;
my %rows = map { $_ => $two->safe_psql('postgres', "SELECT count(*) FROM $call{$_}") } @queries;
is_deeply(\%rows, { get_post => 1, get_posts => 2, list_post_comments => 3, list_post_likes => 2, list_user_posts => 1, list_user_comments => 20 }, 'before');

my $gate = $two->background_psql('postgres');
my %keeps = map { $_ => $two->background_psql('postgres', on_error_stop => 0) } 'REPEATABLE READ', 'SERIALIZABLE';
my $elsewhere = $two->background_psql('postgres', on_error_stop => 0);

# A transaction of a third member, with a snapshot on each node
my $third = $coordinator->background_psql('postgres', on_error_stop => 0);

$third->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM blogstore.get_post(kit.p($other))");
$gate->query_safe('SELECT pg_advisory_lock(7)');
$_->query_safe('SELECT 1') foreach values %keeps;
$keeps{$_}->query_safe("BEGIN ISOLATION LEVEL $_; SELECT count(*) FROM pg_class") foreach keys %keeps;
$elsewhere->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
my %under_way = map {
	$_ => start_client($two, 'postgres',
		"SELECT count(*) FROM (SELECT pg_advisory_lock_shared(7) OFFSET 0) AS held, LATERAL (SELECT * FROM $call{$_} WHERE held IS NOT NULL OFFSET 0) AS item", "under_way_$_")
} @queries;
wait_until($two, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'under_way%' AND wait_event = 'advisory'}, scalar @queries);

move_shard($cluster, $shard, $one, $two, 'block_writes');
$gate->query_safe('SELECT pg_advisory_unlock(7)');
for my $query (@queries)
{
	my ($out, $err) = finish_client($under_way{$query});

	is("@$out$err", $rows{$query}, "$query() under way finds what has come");
}
for my $level (sort keys %keeps)
{
	for my $name (sort keys %call)
	{
		is($keeps{$level}->query_safe("SELECT kit.try(\$\$$call{$name}\$\$)"), '40001, hint', "$level: $name() has to be run again");
	}
	is($keeps{$level}->query_safe("ROLLBACK; BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM $call{get_post}"), 1, '... and then finds it');
	$keeps{$level}->query_safe("COMMIT");
}
for my $name (sort keys %call)
{
	is($third->query_safe("SELECT kit.try(\$\$$call{$name}\$\$)"), '40001, hint', "forwarded: $name() has to be run again");
}
is($third->query_safe("SELECT count(*) FROM blogstore.get_post(kit.p($other))"), 1, '... and what was there before is there');
$third->query_safe('ROLLBACK');
is($elsewhere->query_safe("SELECT count(*) FROM blogstore.get_post(kit.p($other))"), 1, 'what was there before is there');
is($elsewhere->query_safe("SELECT kit.try('blogstore.create_like(kit.p($other), kit.u(9))')"), 'ok', '... for commands, too');
$elsewhere->query_safe('COMMIT');
$_->quit foreach $gate, $elsewhere, $third, values %keeps;
views_right($cluster, 'after a move');

# ---- verify() beside a writer, who writes while verify() reads the other
# nodes

my $likes = start_client($two, 'postgres', qq{
DO \$\$
BEGIN
	WHILE pg_try_advisory_xact_lock_shared(8) LOOP
		PERFORM blogstore.create_like(kit.p($other), kit.u(20)), blogstore.create_comment(kit.p($other), kit.u(20), 'comment', kit.c(1));
		COMMIT;
		PERFORM blogstore.delete_like(kit.p($other), kit.u(20)), blogstore.delete_comment(kit.p($other), kit.c(1));
		COMMIT;
	END LOOP;
END \$\$}, 'likes');
wait_until($two, 'postgres', "SELECT count(*) > 0 FROM blogstore.get_like(kit.p($other), kit.u(20))");
for my $call (1 .. 10)
{
	is($coordinator->safe_psql('postgres', "SELECT * FROM blogstore.verify() WHERE problem LIKE '%count'"), '', 'verify() finds no wrong count');
	ok(goes_on($likes), '... while likes and comments come and go');
}
my $stop = $two->background_psql('postgres');
$stop->query_safe('SELECT pg_advisory_lock(8)');
my ($written, $errors) = finish_client($likes);
is("@$written$errors", '', 'the writer has ended');
$stop->quit;
views_right($cluster, 'beside a writer');

# ---- A node is asked for a part under the assumption of other shards

my $ids = '{' . $coordinator->safe_psql('postgres', "SELECT kit.p($post)") . '}';
my $part = "SELECT id IS NULL FROM blogstore.serve_post(kit.p($post), 'get_posts', ARRAY['$ids'], true, %d)";

is($coordinator->safe_psql('postgres', sprintf $part, 1), 't', 'a part of other shards is not served');
is($coordinator->safe_psql('postgres', sprintf $part, 0), 'f', 'a part of any is');

# ---- A failed request does not disturb later ones in its session

my $session = $coordinator->background_psql('postgres', on_error_stop => 0);

is($session->query_safe("SELECT kit.try(\$\$blogstore.serve_post(kit.p($post), 'no_such_request', '{}', true, 0)\$\$)"), '42883, hint', 'a request that there is not');
is($session->query_safe("SELECT kit.try(\$\$blogstore.serve_post(kit.p($post), 'delete_post', ARRAY[kit.p($post)::text], false, 0)\$\$)"), '42883, hint',
	'a request with another result type');
is($session->query_safe("SELECT count(*) FROM $call{get_post}"), 1, 'a post of another node is found after it');
$session->quit;

# ---- In a parallel worker, which has the state of the session that started it

is($two->safe_psql('postgres', qq{
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \\g /dev/null
SELECT count(*) FROM $call{list_user_posts}}), 1, 'a parallel worker reads the posts of a user who is at home there');

done_testing();
