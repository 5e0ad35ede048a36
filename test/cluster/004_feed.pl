
# Every node has a feed table of its own, to which all nodes send their posts.
# list_feed() reads it page by page, and returns what plain SQL would. That
# holds after posts were created, deleted, hidden, edited, moved and renamed,
# on a new node, and after a feed was lost. While a node's worker is stopped,
# the others do not use the views that it maintains. A node that is down does
# not delay the views of others, and gets everything when it is back.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The size of the feed. There are more posts, so that pages are before, across
# and behind its end.
my $FEED = 10;
my $POSTS = 40;
my $USERS = 6;

my $cluster = new_cluster('feed', partitions => 8, settings => "blogstore.feed_size = $FEED");
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, $USERS) AS n;
-- two posts with each date, which are ordered by id
SELECT count(blogstore.create_post(kit.u(1 + n % $USERS), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n / 2) + interval '1 microsecond'))
FROM generate_series(1, $POSTS) AS n});

# ---- Checks on every member

# The posts that are not hidden, newest first, as [ id, date ]
sub newest
{
	return map { [ split /\|/ ] } split /\n/, $coordinator->safe_psql('postgres',
		q{SELECT id, creation_date FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE ORDER BY creation_date DESC, id DESC});
}

# Check that pages of the feed are parts of the list of all posts: in both
# directions, of several sizes, from the beginning and from each of several
# places.
sub pages_right
{
	my ($name) = @_;
	my @posts = newest();
	my (@calls, @expected);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $from (-1, 0, $FEED - 4, $FEED - 1, $FEED)
	{
		my $place = $from < 0 ? 'NULL, NULL' : "'$posts[$from][1]', '$posts[$from][0]'";

		foreach my $size (4, $FEED, 'NULL')
		{
			my $limit = $size eq 'NULL' ? @posts : $size;
			my @older = @posts[ $from + 1 .. $#posts ];
			my @newer = reverse $from < 0 ? @posts : @posts[ 0 .. $from - 1 ];

			push @calls, "SELECT string_agg(id::text, ' ') FROM blogstore.list_feed($size, $place)",
			  "SELECT string_agg(id::text, ' ') FROM blogstore.list_feed($size, $place, true)";
			push @expected, map { my @list = @$_; join ' ', map { $_->[0] } @list > $limit ? @list[ 0 .. $limit - 1 ] : @list } \@older, \@newer;
		}
	}
	same_everywhere($cluster, join(";\n", @calls), join("\n", @expected), "$name: pages");
	return;
}

# Returns whether a member reads a page in its own feed or from all nodes.
sub page_from
{
	my ($member, $page) = @_;
	my $plan = $member->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM blogstore.list_feed($page)");

	return $plan =~ /Leaf: feed_post/ ? 'own feed' : 'all nodes';
}

# Check that a member reads a page in its own feed, if need be after a while:
# it asks all nodes as long as it has not heard of one of them for some time.
sub own_feed
{
	my ($member, $page, $name) = @_;
	my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;
	my $from;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	while (($from = page_from($member, $page)) ne 'own feed' && $tries-- > 0)
	{
		select(undef, undef, undef, 0.1);
	}
	is($from, 'own feed', $name);
	return;
}

sub own_feed_everywhere
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	own_feed($_, $FEED, "$name: " . $_->name . ': read in its own feed') foreach members($cluster);
	return;
}

# Wait for the views, and check everything.
sub all_right
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	views_right($cluster, $name);
	pages_right($name);
	own_feed_everywhere($name);
	return;
}

sub wait_running
{
	my ($member, $state) = @_;

	$member->poll_query_until('postgres', "SELECT state = '$state' FROM blogstore.stat_worker")
	  or give_up($cluster, $member->name . " does not come to be $state");
	return;
}

all_right('filled');
is(page_from($coordinator, $FEED + 1), 'all nodes', 'a page longer than the feed is read from all nodes');

# ---- Changes of posts

# Delete more posts than the feed has. Posts from both nodes move up.
$coordinator->safe_psql('postgres', "SELECT blogstore.delete_post(kit.p(n)) FROM generate_series($POSTS - 11, $POSTS - 1) AS n");
all_right('deleted');
my @first = newest();
my @hidden = map { $_->[0] } @first[ 0 .. 3 ];
$coordinator->safe_psql('postgres', "SELECT count(blogstore.hide_post('$_'))") foreach @hidden;
all_right('hidden');
$coordinator->safe_psql('postgres', "SELECT count(blogstore.hide_post('$hidden[1]', false))");
all_right('shown again');
# Older posts than those in the feed, posts among them, and newer ones, from
# each member
my $new = 100;
foreach my $member (members($cluster))
{
	$member->safe_psql('postgres', "SELECT count(blogstore.create_post(kit.u(2), 'late', 'dated ' || n, kit.p($new + n), kit.d(n) + interval '2 microseconds')) FROM unnest(ARRAY[1, 14, 30]) AS n");
	$new += 100;
}
all_right('posts of any date');
# Posts with the same date, without microseconds, as clients with less exact
# dates send it. The ids tell where a page begins.
$coordinator->safe_psql('postgres', "SELECT count(blogstore.create_post(kit.u(2), 'same', 'same', kit.p(n), kit.d(900))) FROM generate_series(700, 703) AS n");
ok(cluster_views_follow($cluster), 'posts of one date: the views follow');
same_everywhere($cluster,
	join(';', map { "SELECT string_agg(id::text, ' ') FROM blogstore.list_feed(2, kit.d(900), kit.p($_))" } 701 .. 703),
	join("\n", map { $coordinator->safe_psql('postgres', "SELECT string_agg(id::text, ' ') FROM (SELECT id FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE AND (creation_date, id) < (kit.d(900), kit.p($_)) ORDER BY creation_date DESC, id DESC LIMIT 2) AS p") } 701 .. 703),
	'posts of one date: pages');
own_feed($_, '2, kit.d(900), kit.p(702)', $_->name . ': pages that begin at one of them') foreach members($cluster);
$coordinator->safe_psql('postgres', 'SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(700, 703) AS n');
$coordinator->safe_psql(
	'postgres', q{
SELECT count(blogstore.edit_post(id, 'edited')) FROM (SELECT id FROM blogstore.posts WHERE type = 'post' ORDER BY creation_date DESC LIMIT 6) AS p;
SELECT count(blogstore.create_like(id, kit.u(1))) FROM (SELECT id FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE) AS p;
SELECT count(blogstore.edit_user(kit.u(2), 'renamed'));
SELECT blogstore.delete_user(kit.u(3))});
wait_jobs($cluster, members($cluster));
all_right('edited, liked, renamed, a user deleted');

# ---- A feed that is lost, in part or as a whole, on a node with posts and on
# one without

foreach my $member ($coordinator, $one)
{
	$member->safe_psql('postgres', 'DELETE FROM blogstore.feed');
	ok($member->poll_query_until('postgres', "SELECT count(*) = $FEED FROM blogstore.list_feed($FEED)"),
		$member->name . ': an emptied feed is filled again');
	all_right($member->name . ' lost its feed');
}
isnt($two->safe_psql('postgres', "DELETE FROM blogstore.feed WHERE id = (SELECT id FROM blogstore.list_feed(1)) RETURNING id;
SELECT id FROM blogstore.list_feed(1)"), '', 'a row is gone');
wait_running($_, 'running') foreach members($cluster);
all_right('a row was gone');
# verify() compares every node's feed. No worker repairs it meanwhile.
$coordinator->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
all_right('built anew');

# ---- A worker that does not maintain the views

$one->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
wait_running($_, 'catching up') foreach $coordinator, $two;
my ($post_one) = posts_on($cluster, $one, 500, 1);
my ($post_two) = posts_on($cluster, $two, 500, 1);
$coordinator->safe_psql('postgres', "SELECT count(blogstore.create_post(kit.u($_->[1]), 'unkept', 'unkept', kit.p($_->[0]), kit.d(1000) + interval '3 microseconds'))")
  foreach [ $post_one, 1 ], [ $post_two, 4 ];
pages_right('a worker is stopped');
foreach my $user (1, 4)
{
	my $expected = $coordinator->safe_psql('postgres', "SELECT id, title FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u($user) AND hidden IS NOT TRUE ORDER BY creation_date DESC, id DESC");

	like($expected, qr/unkept/, "user $user has a new post");
	same_everywhere($cluster, "SELECT id, title FROM blogstore.list_user_posts(kit.u($user), NULL)", $expected, "a worker is stopped: posts of user $user");
}
is(page_from($two, $FEED), 'all nodes', 'a worker is stopped: the feed is read from all nodes');
$one->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_running($_, 'running') foreach members($cluster);
all_right('the worker is back');

# ---- A node that is down

# A user whose views are on the one node and one whose views are on the other,
# with posts on the first node
my ($home_one, $home_two) = map {
	my $port = $_->port;

	$coordinator->safe_psql('postgres', "SELECT n FROM (SELECT n, (blogstore.node_of(kit.u(n))).port AS port FROM generate_series(1000, 1100) AS n OFFSET 0) AS u WHERE port = $port LIMIT 1")
} $one, $two;
my @there = posts_on($cluster, $one, 600, 6);
$coordinator->safe_psql('postgres', "SELECT count(blogstore.create_user('at home ' || n, kit.u(n))) FROM unnest(ARRAY[$home_one, $home_two]) AS n;
SELECT count(blogstore.create_post(kit.u($home_two), 'before', 'before', kit.p(n), kit.d(2000) + interval '3 microseconds')) FROM unnest(ARRAY[$there[0], $there[1]]) AS n");
all_right('before a node is away');
$two->stop('immediate');
$one->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_post(kit.u($home_two), 'away', 'away', kit.p($there[2]), kit.d(2001) + interval '3 microseconds'));
SELECT count(blogstore.edit_post(kit.p($there[0]), 'away'));
SELECT blogstore.delete_post(kit.p($there[1]));
SELECT count(blogstore.create_post(kit.u($home_one), 'at hand', 'at hand', kit.p($there[3]), kit.d(2002) + interval '3 microseconds'))});
my $shown = join ' ', map { $one->safe_psql('postgres', "SELECT kit.p($_)") } @there[ 3, 2, 0 ];
foreach my $member ($coordinator, $one)
{
	ok($member->poll_query_until('postgres', "SELECT string_agg(id::text, ' ') = '$shown' FROM blogstore.list_feed(3)"), $member->name . ': a node is away, and the feed follows');
	own_feed($member, $FEED, $member->name . ': it is read where it was');
}
# The member asks the node that is down as long as it has not heard of another
# one for some time.
ok($one->poll_query_until('postgres', "SELECT title FROM blogstore.list_user_posts(kit.u($home_one))", 'at hand'), 'the copies at another home follow, and are shown');
is($one->safe_psql('postgres', 'SELECT string_agg(post_id::text, chr(32) ORDER BY post_id) FROM blogstore.unsent'),
	$one->safe_psql('postgres', "SELECT string_agg(kit.p(n)::text, chr(32) ORDER BY kit.p(n)) FROM unnest(ARRAY[$there[0], $there[1], $there[2]]) AS n"),
	'the table unsent lists what the node lacks');
# Delete rows of the feed whose posts are on the node that is down. They cannot
# come back before that node does, and until then the feed cannot be answered.
$one->safe_psql('postgres', 'DELETE FROM blogstore.feed');
$one->poll_query_until('postgres', q{SELECT state = 'catching up' FROM blogstore.stat_worker}) or die 'the feed is served';
isnt($one->psql('postgres', "SELECT * FROM blogstore.list_feed($FEED)", stdout => \my $out, stderr => \my $err), 0, 'a feed that has lost rows is not read while one cannot send them');
like($err, qr/connect|could not/i, 'the error says why');
# The worker that keeps the list may end meanwhile, and its slot has moved on.
$one->restart;
start_member($cluster, $two);
wait_running($_, 'running') foreach members($cluster);
all_right('the node is back');
is($one->safe_psql('postgres', 'SELECT count(*) FROM blogstore.unsent'), '0', 'nothing is left to be sent');
same_everywhere($cluster, "SELECT title FROM blogstore.list_user_posts(kit.u($home_two))", "away\naway", 'copies have followed');

# ---- New nodes, and shards that move

my $three = add_node($cluster);
wait_running($three, 'running');
all_right('a node has come');
my ($shard) = shards($cluster, $one);
move_shard($cluster, $shard, $one, $three, 'block_writes');
all_right('a shard has moved');
move_shard($cluster, $shard, $three, $two, 'block_writes');
all_right('it has moved on');

# ---- Posts from each node in turn

my @in_turn = map { [ posts_on($cluster, $_, 3000, $FEED) ] } $one, $two;
foreach my $turn (0 .. $FEED - 1)
{
	foreach my $posts (@in_turn)
	{
		$coordinator->safe_psql('postgres', "SELECT count(blogstore.create_post(kit.u(1), repeat('long ', 100), 'in turn', kit.p($posts->[$turn])))");
		cluster_views_follow($cluster) or give_up($cluster, 'the views do not follow');
	}
}
all_right('in turn');
done_testing();
