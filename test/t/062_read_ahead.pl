# A list whose pages are not in the cache prefetches the next ones, as many as
# effective_io_concurrency allows, and none behind its end. So do requests that
# read several posts. Answers do not change. pages_asked.c counts the
# prefetches in the calls of the server.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('read_ahead');
my $calls = $node->basedir . '/asked';

$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
create_store($node, 'postgres');

# Comments are written to 200 posts in turn, so that the comments of one post
# are in different pages. Some comments are hidden, edited or deleted, and
# leave entries in the indexes.
$node->safe_psql(
	'postgres', q{
SELECT kit.fill(60, 200, repeat('a post ', 200));
SELECT count(blogstore.create_comment(kit.p(post), kit.u(1 + (post + n) % 3), repeat('a comment ', 100), kit.c(n * 1000 + post),
	kit.d(n * 1000 + post))) FROM generate_series(1, 60) n, generate_series(1, 200) post;
SELECT count(blogstore.hide_comment(kit.p(post), kit.c(n * 1000 + post))) FROM generate_series(5, 60, 20) n, generate_series(1, 19) post;
SELECT count(blogstore.edit_comment(kit.p(post), kit.c(n * 1000 + post), repeat('edited ', 100))) FROM generate_series(3, 60, 9) n, generate_series(1, 19) post;
SELECT count(blogstore.delete_comment(kit.p(post), kit.c(n * 1000 + post))) FROM generate_series(7, 60, 10) n, generate_series(1, 19) post;
SELECT count(blogstore.create_post(kit.u(1), 'of one partition', 'content', kit.p(1001)));
SELECT count(blogstore.create_comment(kit.p(1001), kit.u(60), repeat('a comment ', 100))) FROM generate_series(1, 60) n;
SELECT kit.views_follow();
});
# A deleted post, posts that are close together, and one post of each partition
my $gone = $node->safe_psql('postgres',
	"SELECT id FROM blogstore.posts WHERE type = 'post' AND tableoid = 'blogstore.posts_p03_post'::regclass AND id <= kit.p(200) ORDER BY id DESC LIMIT 1");
$node->safe_psql('postgres', "SELECT blogstore.delete_post('$gone')");
my $posts = "SELECT id FROM blogstore.posts WHERE type = 'post' AND tableoid = 'blogstore.posts_p00_post'::regclass ORDER BY id LIMIT 30";
my $apart = "SELECT DISTINCT ON (tableoid) id FROM blogstore.posts WHERE type = 'post' AND id > kit.p(30) ORDER BY tableoid, id";
my ($together, $of_each) = map { "ARRAY['" . join("', '", split /\n/, $node->safe_psql('postgres', $_)) . "']::uuid[]" } ($posts, $apart);

# Stop the worker, which could read pages before the queries do.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->stop;

# Run a query whose pages are not in the cache, with a limit of concurrent
# prefetches. Returns its rows and the number of prefetches. A second run, with
# all pages in the cache, must prefetch nothing.
sub look
{
	my ($query, $pages, $name) = @_;
	my ($rows, $again);
	my @asked = -s $calls || 0;

	start_preloaded($node, 'pages_asked', PAGES_ASKED => $calls);
	my $session = $node->background_psql('postgres');
	$session->query_safe("SET effective_io_concurrency = $pages");
	foreach (1, 2)
	{
		$again = $rows;
		$rows = $session->query_safe($query);
		push @asked, -s $calls || 0;
	}
	$session->quit;
	$node->stop;
	is($rows, $again, "$name, $pages pages at a time: the answer is that of the cache");
	is($asked[2], $asked[1], 'with all pages in the cache nothing is prefetched');
	return ($rows, $asked[1] - $asked[0]);
}

# Lists with several pages
my %lists = (
	(map { $_ => $_ } (
		'list_post_comments(kit.p(1))',
		'list_post_comments(kit.p(2), NULL)',
		'list_post_comments(kit.p(3), 20, kit.d(30003), kit.c(30003))',
		'list_post_comments(kit.p(4), 20, kit.d(20004), kit.c(20004), oldest_first => true)',
		'list_post_comments(kit.p(5), 40, include_hidden => true)',
		'list_user_comments(kit.u(1))',
		'list_user_comments(kit.u(2), NULL)')),
	'posts that lie together' => "get_posts($together)",
	'a post of each partition' => "get_posts($of_each)");
foreach my $list (sort keys %lists)
{
	my $query = "SELECT * FROM blogstore.$lists{$list}";
	my ($rows, $asked) = look($query, 0, $list);
	is($asked, 0, "$list: nothing is prefetched with a limit of 0");

	my ($same, $ahead) = look($query, 16, $list);
	is($same, $rows, "$list: the answer is the same");
	cmp_ok($ahead, '>', 2, "$list: pages are prefetched");
}

# A list of one row prefetches nothing, nor does a limit of one page.
foreach (['get_post(kit.p(1))', 16], ['list_post_comments(kit.p(1), 1)', 16], ["get_posts($together)", 1], ["get_posts($of_each)", 1])
{
	my ($call, $pages) = @$_;
	my (undef, $asked) = look("SELECT * FROM blogstore.$call", $pages, $call);
	is($asked, 0, "$call, $pages at a time: nothing is prefetched");
}

# Each page but the first is prefetched once, and none behind the end of the
# list. A page of the index may end before that.
$node->start;
my $pages = $node->safe_psql(
	'postgres', q{
SELECT count(DISTINCT (p.ctid::text::point)[0]) FROM blogstore.list_post_comments(kit.p(20), 20) c
	JOIN blogstore.posts p ON p.post_id = kit.p(20) AND p.type = 'comment' AND p.id = c.id});
my $pages_together = $node->safe_psql('postgres',
	"SELECT count(DISTINCT (tableoid, (ctid::text::point)[0])) FROM blogstore.posts WHERE type IN ('post', 'delta') AND post_id = ANY ($together)");
$node->stop;
foreach my $most (1, 4, 100)
{
	my (undef, $asked) = look('SELECT * FROM blogstore.list_post_comments(kit.p(20), 20)', $most, 'a list');
	cmp_ok($asked, '<', $pages, "$most at a time: none of $pages pages is prefetched twice, and no other is");
	cmp_ok($asked, '>=', $pages - 3, "$asked pages are prefetched");
}

foreach my $most (2, 8, 100)
{
	my (undef, $asked) = look("SELECT * FROM blogstore.get_posts($together)", $most, 'posts that lie together');
	cmp_ok($asked, '<', $pages_together, "posts, $most at a time: none of $pages_together pages is prefetched twice");
}

# A list over all partitions prefetches the first page of each of the four,
# except the one that is read first.
foreach ([1, 0], [2, 2], [16, 3])
{
	my ($most, $expected) = @$_;
	my (undef, $asked) = look('SELECT id FROM blogstore.list_user_comments(kit.u(1), 1)', $most, 'one of all partitions');
	is($asked, $expected, "the first pages of partitions, $most at a time");
}

# It prefetches of each partition a part of what it returns, not as much as a
# whole page of the list.
my (undef, $asked_of_four) = look('SELECT id FROM blogstore.list_user_comments(kit.u(1), 40)', 64, 'forty of all partitions');
cmp_ok($asked_of_four, '<=', 50, "a list over all partitions prefetches $asked_of_four pages");

# The user has written in one partition alone, so there is nothing to read in
# the others.
my ($written) = look('SELECT * FROM blogstore.list_user_comments(kit.u(60), NULL)', 16, 'one partition');
is(scalar(split /\n/, $written), 60, 'all that somebody has written in one partition');

# A list of which one row is read prefetches no more than the limit.
my $one = 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM blogstore.list_post_comments(kit.p(20), NULL); FETCH 1 FROM c; ROLLBACK';
foreach my $most (1, 2)
{
	my (undef, $asked) = look($one, $most, 'a list');
	is($asked, $most, "the first row of a list, $most at a time");
}

# ------------------------------------------------------------------------
# Beside writers
# ------------------------------------------------------------------------

# get_posts() does not wait for a lock that it does not need: that of the
# counts of a deleted post.
$node->append_conf('postgresql.conf', "effective_io_concurrency = 16\n");
$node->start;
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE blogstore.posts_p03_delta');
is( $node->safe_psql('postgres', "SET lock_timeout = '20s'; SELECT count(p.like_count) FROM blogstore.get_posts((${of_each})[1:3] || ARRAY['$gone']::uuid[]) p"),
	'3', 'posts are read beside a lock that none of them needs');
$locker->quit;
$node->restart;
my $list = 'SELECT id FROM blogstore.list_post_comments(kit.p(11), NULL, oldest_first => true)';
my $before = $node->safe_psql('postgres', $list);
$node->restart;
my @shown = split /\n/, $node->safe_psql(
	'postgres', qq{
BEGIN;
DECLARE c CURSOR FOR $list;
FETCH 5 FROM c;
SELECT count(blogstore.create_comment(kit.p(11), kit.u(1), 'new', kit.c(90000 + n))) FROM generate_series(1, 50) n;
SELECT count(blogstore.delete_comment(kit.p(11), id)) FROM blogstore.list_post_comments(kit.p(11), 40);
FETCH ALL FROM c;
COMMIT;
});
is(join(' ', splice @shown, 5, 2), '50 40', 'comments come and go');
is(join("\n", @shown), $before, 'an open list shows its snapshot');

# The worker and deletions prefetch too.
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
$node->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(2), 'another'); SELECT blogstore.delete_post(kit.p(12)); SELECT blogstore.delete_user(kit.u(3))});
$node->safe_psql('postgres', 'SELECT kit.views_follow()');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'after a rename and two deletions verify() shows nothing');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FILTER (WHERE user_id = kit.u(2) AND user_username <> 'another'), count(*) FILTER (WHERE user_id = kit.u(3)),
count(*) FILTER (WHERE post_id = kit.p(12)) FROM blogstore.posts}),
	'0|0|0', 'all items have the new name, and nothing deleted is left');
$node->stop;

done_testing();
