
# Scheduled posts on a cluster: the worker of the node that has a post
# publishes it, and every member shows it, also after the post's shard was
# moved.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 60;

my $cluster = new_cluster('scheduled');
my ($coordinator, $one, $two) = members($cluster);

$coordinator->safe_psql('postgres', q{SELECT blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, 8) n;
SELECT blogstore.create_post(kit.u(1 + n % 8), 'title ' || n, 'content', kit.p(n), kit.d(n)) FROM generate_series(1, 10) n});

# The owner lets the dates of posts pass.
sub let_pass
{
	my ($date, @posts) = @_;

	$coordinator->safe_psql('postgres',
		"UPDATE blogstore.posts SET publish_date = '$date' WHERE type = 'post' AND post_id IN (" . join(', ', map { "kit.p($_)" } @posts) . ')');
	return;
}

sub wait_published
{
	my ($date, $n) = @_;

	wait_until($_, 'postgres', "SELECT count(*) FROM blogstore.list_feed(NULL) WHERE creation_date = '$date' AND NOT hidden AND publish_date IS NULL", $n) foreach members($cluster);
	return;
}

# ---- Created, changed and cancelled through any member

$coordinator->safe_psql('postgres',
	"SELECT blogstore.create_post(kit.u(1 + n % 8), 'scheduled ' || n, 'content', kit.p(1000 + n), publish_date => '2200-01-01') FROM generate_series(1, $POSTS) n");
$one->safe_psql('postgres', "SELECT blogstore.schedule_post(kit.p(1000 + n), '2201-01-01') FROM generate_series(1, 10) n");
$two->safe_psql('postgres', 'SELECT blogstore.schedule_post(kit.p(1000 + n), NULL) FROM generate_series(6, 10) n');
cluster_views_follow($cluster);
same_everywhere($cluster, "SELECT count(*), count(publish_date), max(publish_date)::date, bool_and(hidden) FROM blogstore.get_posts(ARRAY(SELECT kit.p(1000 + n) FROM generate_series(1, $POSTS) n))",
	"$POSTS|" . ($POSTS - 5) . '|2201-01-01|t', 'all members show the dates');
same_everywhere($cluster, 'SELECT count(*), count(publish_date) FROM generate_series(1, 8) u, blogstore.list_user_posts(kit.u(u), NULL, include_hidden => true) WHERE hidden',
	"$POSTS|" . ($POSTS - 5), 'and so do lists of users\' posts');
views_right($cluster, 'scheduled');

# ---- Each node's worker publishes the posts of its node

my @of_one = posts_on($cluster, $one, 1011, 5);
my $moved = pop @of_one;
my @due = (@of_one, posts_on($cluster, $two, 1011, 4));
let_pass('2016-03-01', @due);
wait_published('2016-03-01', scalar @due);
is(scalar @due, 8, 'posts of both nodes are published');
views_right($cluster, 'published');
counts_right($cluster, 'published');

# ---- A damaged queue on each node

my $found = 'SELECT container, problem, type, count(*) FROM blogstore.verify() GROUP BY 1, 2, 3 ORDER BY 1, 2, 3';
my @damaged = map { posts_on($cluster, $_, 1030, 2) } $one, $two;
$one->safe_psql('postgres', "DELETE FROM blogstore.publish_queue WHERE post_id IN (kit.p($damaged[0]), kit.p($damaged[1]))");
$two->safe_psql('postgres', "DELETE FROM blogstore.publish_queue WHERE post_id = kit.p($damaged[2]); UPDATE blogstore.publish_queue SET publish_date = '2300-01-01' WHERE post_id = kit.p($damaged[3])");
is($_->safe_psql('postgres', $found), "publish_queue|missing copy|post|3\npublish_queue|stale copy|post|1", $_->name . ': a damaged queue') foreach members($cluster);
is($coordinator->safe_psql('postgres', 'SELECT blogstore.repair()'), '4', 'repair() mends it');
cluster_views_follow($cluster);
is($_->safe_psql('postgres', $found), '', $_->name . ': after that') foreach members($cluster);
$two->safe_psql('postgres', "ALTER TABLE blogstore.publish_queue ALTER publish_date DROP NOT NULL; UPDATE blogstore.publish_queue SET publish_date = NULL WHERE post_id = kit.p($damaged[3])");
is($_->safe_psql('postgres', $found), "publish_queue|invalid||1\npublish_queue|missing copy|post|1", $_->name . ': a date that is NULL') foreach members($cluster);
is($one->safe_psql('postgres', 'SELECT blogstore.repair()'), '2', 'repair() mends it');
cluster_views_follow($cluster);
is($two->safe_psql('postgres', "SELECT publish_date::date FROM blogstore.publish_queue WHERE post_id = kit.p($damaged[3])"), '2200-01-01', 'the row has its date');
# A worker is late.
my $holder = hold_worker($two, 'postgres');
$one->safe_psql('postgres', "SELECT blogstore.schedule_post(kit.p($damaged[2]), '2202-01-01'), blogstore.schedule_post(kit.p($damaged[3]), NULL)");
is($_->safe_psql('postgres', $found), '', $_->name . ': a worker is held') foreach members($cluster);
$holder->quit;
cluster_views_follow($cluster);
views_right($cluster, 'after the queue was damaged');

# ---- A shard is moved while its posts are scheduled

my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($moved))");
move_shard($cluster, $shard, $one, $two, 'block_writes');
wait_until($two, 'postgres', "SELECT count(*) = 1 FROM blogstore.publish_queue WHERE post_id = kit.p($moved)");
is($coordinator->safe_psql('postgres', $found), '', 'after a move: verify() shows nothing');
pass('the node that gets a shard queues its scheduled posts');
let_pass('2016-03-02', $moved);
wait_published('2016-03-02', 1);
views_right($cluster, 'moved');

# ---- Imported, and a draft again at the source

is($one->safe_psql('postgres', q{
CREATE TEMP TABLE site AS SELECT n AS post_id, kit.u(1) AS user_id, 'imported ' || n AS title, 'content' AS content, NULL::timestamptz AS creation_date, true AS hidden, timestamptz '2200-01-01' AS publish_date FROM generate_series(1, 8) n;
SELECT imported FROM blogstore.import(posts => 'site', key_prefix => 's:') WHERE type = 'post';
UPDATE site SET publish_date = NULL WHERE post_id <= 5;
SELECT updated FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE type = 'post';
SELECT count(*), bool_and(hidden), count(publish_date) FROM blogstore.get_posts(ARRAY(SELECT blogstore.key_id('post', 's:' || n) FROM generate_series(1, 8) n))}),
	"8\n5\n8|t|3", 'an import takes dates back');
views_right($cluster, 'imported');
is($coordinator->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');

done_testing();
