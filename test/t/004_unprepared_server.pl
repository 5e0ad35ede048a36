
# A server that is not prepared for the views: every request answers rightly,
# only slower, and everything says what to set. Once it is set, the views of
# what is there are built. When the library is taken out again, readers do not
# get views that nobody keeps.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('unprepared', prepared => 0);
$node->start;
is($node->safe_psql('postgres', 'SHOW wal_level'), 'replica', 'wal_level');
is($node->safe_psql('postgres', 'SHOW shared_preload_libraries'),
	'', 'shared_preload_libraries');

# create_containers() works and says what to set
$node->safe_psql('postgres', 'CREATE EXTENSION blogstore');
my ($rc, $stdout, $stderr) =
  $node->psql('postgres', 'SELECT blogstore.create_containers(4)');
is($rc, 0, 'create_containers() works');
like($stderr, qr/HINT:.*shared_preload_libraries/s, 'and says to preload the library');
like($stderr, qr/HINT:.*wal_level/s, 'and to raise wal_level');
create_kit($node, 'postgres');
fill_store($node, 'postgres', 10, 150);

# Nobody would come back to what is in a partition that is away
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00');
is(sqlstate($node, 'postgres', $_), '55000, hint', "a partition is away: $_ is refused")
  for ("edit_user(kit.u(1), 'somebody')", 'delete_user(kit.u(1))');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0)');

# Partitions get other numbers when one begins to be detached, which no lock on the
# container keeps out: every item is relabelled, and nobody else's
my $gate = $node->background_psql('postgres');
$gate->query_safe('BEGIN; LOCK TABLE ONLY blogstore.posts_p01_post IN SHARE MODE');
my $rename = start_client($node, 'postgres', q{SELECT username FROM blogstore.edit_user(kit.u(1), 'somebody')}, 'rename');
wait_until($node, 'postgres', "SELECT count(*) = 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE application_name = 'rename' AND relation = 'blogstore.posts_p01_post'::regclass AND NOT granted");
my $detaching = start_client($node, 'postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00 CONCURRENTLY', 'detaching');
wait_until($node, 'postgres', "SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = 'blogstore.posts_p00'::regclass");
$gate->query_safe('COMMIT');
$gate->quit;
is(join(' ', @{ (finish_client($rename))[0] }), 'somebody', 'a user is renamed while a partition begins to be detached');
is((finish_client($detaching))[1], '', 'and then it is detached');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0)');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT p.tableoid) FROM blogstore.posts p WHERE user_id = kit.u(1)'), '12', 'the user has items in all leaves');
is($node->safe_psql('postgres', q{
SELECT count(*) FROM blogstore.posts p JOIN blogstore.users u ON u.type = 'user' AND u.user_id = p.user_id
WHERE p.user_username IS DISTINCT FROM u.username}), '0', 'all items have the names of their authors');
$node->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(1), 'User 1')});

# repair() lets a name be that nobody seemed to have, because its user was away when it
# looked, and has come back since
$node->safe_psql('postgres', q{
ALTER TABLE blogstore.users DETACH PARTITION blogstore.users_p01;
UPDATE blogstore.posts SET like_count = like_count + 1 WHERE type = 'post' AND post_id = kit.p(1)});
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM blogstore.verify() WHERE problem = 'registry'}), '>', 0, 'users are away');
$gate = $node->background_psql('postgres');
$gate->query_safe(q{BEGIN; SELECT FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(1) FOR NO KEY UPDATE});
my $repair = start_client($node, 'postgres', 'SELECT blogstore.repair() > 0', 'repair');
wait_until($node, 'postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'repair' AND wait_event_type = 'Lock'});
$node->safe_psql('postgres', 'ALTER TABLE blogstore.users ATTACH PARTITION blogstore.users_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)');
$gate->query_safe('COMMIT');
$gate->quit;
is(join(' ', @{ (finish_client($repair))[0] }), 't', 'users come back beside repair()');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.verify()'), '0', 'their names are still theirs');

# A session that has not loaded the library plans a query as the server does, and as a
# scan from then on; it answers alike
my $feed = 'SELECT id, title FROM blogstore.list_feed(3)';
my ($plan_before, $rows_before, $plan_after, $rows_after) = split /^--\n/m, $node->safe_psql('postgres', qq{
EXPLAIN (COSTS OFF) $feed;
\\echo --
$feed;
\\echo --
EXPLAIN (COSTS OFF) $feed;
\\echo --
$feed;
});
is($plan_before, "Function Scan on list_feed\n", 'at first a query is a function scan');
like($plan_after, qr/^Custom Scan \(blogstore\.list_feed\)\n/, 'once the library is there, a scan of its own');
is(scalar(() = $rows_before =~ /\n/g), 3, 'three rows');
is("$rows_after\n", $rows_before, 'the same rows');

# Every query answers, from the posts container
sub check_requests
{
	my ($name) = @_;
	my $columns = 'id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date';
	my $order = 'ORDER BY creation_date DESC, id DESC';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $case (
		[ 'Q6', 'list_feed()', "$order LIMIT 100" ],
		[ 'Q6, all', 'list_feed(NULL)', $order ],
		[ 'Q6, a page', 'list_feed(10, kit.d(50), kit.p(50))', "$order LIMIT 10",
			"WHERE (creation_date, id) < (kit.d(50), kit.p(50))" ],
		[ 'Q3', 'list_user_posts(kit.u(1))', "$order LIMIT 20", 'WHERE user_id = kit.u(1)' ],
		[ 'Q3, all', 'list_user_posts(kit.u(2), NULL)', $order, 'WHERE user_id = kit.u(2)' ],
		[ 'Q3, a page', 'list_user_posts(kit.u(1), 3, kit.d(100), kit.p(100))', "$order LIMIT 3",
			'WHERE user_id = kit.u(1) AND (creation_date, id) < (kit.d(100), kit.p(100))' ])
	{
		my ($request, $call, $tail, $where) = @$case;
		is( $node->safe_psql('postgres', "SELECT $columns FROM blogstore.$call"),
			$node->safe_psql('postgres', "SELECT $columns FROM kit.implied " . ($where // '') . " $tail"),
			"$name: $request");
	}
	is($node->safe_psql('postgres', 'SELECT * FROM kit.wrong_counts()'),
		'', "$name: Q2 counts are exact");
	is( $node->safe_psql('postgres', 'SELECT id FROM blogstore.list_post_comments(kit.p(7), 2)'),
		$node->safe_psql('postgres', "SELECT id FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p(7) $order LIMIT 2"),
		"$name: Q4");
	is( $node->safe_psql('postgres', 'SELECT user_id FROM blogstore.list_post_likes(kit.p(7), 2)'),
		$node->safe_psql('postgres', "SELECT user_id FROM blogstore.posts WHERE type = 'like' AND post_id = kit.p(7) $order LIMIT 2"),
		"$name: Q5");
	is( $node->safe_psql('postgres', 'SELECT username FROM blogstore.get_user(kit.u(1))'),
		$node->safe_psql('postgres', "SELECT username FROM blogstore.users WHERE type = 'user' AND user_id = kit.u(1)"),
		"$name: Q1");
	is( $node->safe_psql('postgres', "SELECT $columns FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(150, 1, -7) n))"),
		$node->safe_psql('postgres', "SELECT $columns FROM kit.posts JOIN generate_series(150, 1, -7) n ON post_id = kit.p(n) ORDER BY n DESC"),
		"$name: posts by a list of ids");
	is( $node->safe_psql('postgres', 'SELECT username FROM blogstore.get_users(ARRAY[kit.u(2), kit.u(1)])'),
		$node->safe_psql('postgres', "SELECT username FROM blogstore.users WHERE type = 'user' AND user_id IN (kit.u(1), kit.u(2)) ORDER BY user_id DESC"),
		"$name: users by a list of ids");
	is( $node->safe_psql('postgres', 'SELECT post_id FROM blogstore.get_likes(kit.u(1), ARRAY(SELECT kit.p(n) FROM generate_series(1, 150) n))'),
		$node->safe_psql('postgres', "SELECT post_id FROM blogstore.posts WHERE type = 'like' AND user_id = kit.u(1) AND post_id IN (SELECT kit.p(n) FROM generate_series(1, 150) n) ORDER BY post_id"),
		"$name: likes by a list of ids");
	is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'),
		'', "$name: verify() shows nothing");
	return;
}

sub check_disabled
{
	my ($name, @settings) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'),
		'disabled', "$name: stat_worker: disabled");
	like($node->safe_psql('postgres', 'SELECT hint FROM blogstore.stat_worker'),
		qr/$_/, "$name: its hint names $_")
	  for @settings;
	is(sqlstate($node, 'postgres', $_), '55000, hint', "$name: $_ says so")
	  for 'wait_for_views()', 'rebuild_views()', 'start_worker()';
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'"),
		'0', "$name: no worker");
	return;
}

check_disabled('unprepared', 'shared_preload_libraries', 'wal_level');
check_requests('unprepared');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'),
	'0', 'unprepared: no slot');

# Commands: renames show on the items at once, deletions take all along
is( $node->safe_psql(
		'postgres', q{
SELECT username FROM blogstore.edit_user(kit.u(3), 'renamed');
SELECT DISTINCT type, user_username FROM blogstore.posts WHERE user_id = kit.u(3) ORDER BY 1, 2;
SELECT DISTINCT user_username FROM blogstore.list_user_posts(kit.u(3));
}),
	"renamed\ncomment|renamed\nlike|renamed\npost|renamed\nrenamed",
	'unprepared: a rename shows at once');
is( $node->safe_psql(
		'postgres', q{
SELECT blogstore.delete_user(kit.u(4));
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(4);
SELECT blogstore.delete_post(kit.p(150));
SELECT blogstore.delete_like(kit.p(1), kit.u(1));
SELECT title FROM blogstore.edit_post(kit.p(2), 'edited');
SELECT title FROM blogstore.create_post(kit.u(1), 'newest', repeat('x', 300), kit.p(500), kit.d(500));
}),
	"t\n0\nt\nt\nedited\nnewest",
	'unprepared: commands work');
check_requests('unprepared, after commands');
is(sqlstate($node, 'postgres', "create_user('USER 1')"),
	'23505, hint', 'unprepared: usernames are unique');

# An error planted is found and mended
$node->safe_psql('postgres',
	"UPDATE blogstore.posts SET like_count = 99 WHERE type = 'delta' AND post_id = kit.p(9)");
is( $node->safe_psql(
		'postgres', 'SELECT container, problem, type, id = kit.p(9), actual FROM blogstore.verify()'),
	'posts|like_count|post|t|99',
	'unprepared: verify() shows a wrong count');
is($node->safe_psql('postgres', 'SELECT blogstore.repair()'),
	'1', 'unprepared: repair() mends it');
check_requests('unprepared, repaired');

# Preloaded, with wal_level still too low
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'blogstore'");
$node->restart;
check_disabled('preloaded only', 'wal_level');
check_requests('preloaded only');
is( $node->safe_psql(
		'postgres', q{
SELECT username FROM blogstore.edit_user(kit.u(3), 'renamed again');
SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(3);
}),
	"renamed again\nrenamed again",
	'preloaded only: a rename shows at once');

# Prepared: the views of what was there before are built
$node->append_conf('postgresql.conf', 'wal_level = logical');
$node->restart;
check_store($node, 'postgres', 'prepared');
is($node->safe_psql('postgres', 'SELECT state, hint FROM blogstore.stat_worker'),
	'running|', 'prepared: stat_worker: running');
check_requests('prepared');

# Taken out again, with wal_level as it is: the views are no longer kept, and
# nobody gets them
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'),
	'disabled', 'taken out: stat_worker: disabled');
$node->safe_psql(
	'postgres', q{
SELECT blogstore.create_post(kit.u(1), 'not preloaded', 'x', kit.p(501), kit.d(501));
SELECT blogstore.edit_post(kit.p(149), 'not preloaded either');
SELECT blogstore.edit_user(kit.u(5), 'renamed while taken out');
SELECT blogstore.delete_post(kit.p(148));
});
check_requests('taken out');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'blogstore'");
$node->restart;
check_store($node, 'postgres', 'prepared again');
check_requests('prepared again');

# A server with logical decoding but no slot to spare says that
my $full = new_server('full');
$full->append_conf('postgresql.conf', 'max_replication_slots = 0');
$full->start;
$full->safe_psql('postgres',
	'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(2)');
is($full->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'),
	'disabled', 'no slots: stat_worker: disabled');
like($full->safe_psql('postgres', 'SELECT hint FROM blogstore.stat_worker'),
	qr/max_replication_slots/, 'no slots: the hint names the setting');
is( $full->safe_psql('postgres',
		"SELECT username FROM blogstore.create_user('x', '00000000-0000-7000-8000-000000000001');
		SELECT title FROM blogstore.create_post('00000000-0000-7000-8000-000000000001', 't', 'c');
		SELECT title FROM blogstore.list_feed()"),
	"x\nt\nt", 'no slots: requests work');

done_testing();
