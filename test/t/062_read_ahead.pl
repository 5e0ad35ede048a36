# A list whose pages are not in the cache asks the system for those that come next before it
# comes to them, as many as effective_io_concurrency allows, and for none past its end; so do
# posts that are read together. That changes nothing of what is read. What is asked is counted
# where the server's calls pass by (pages_asked.c).

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

# Comments on 200 posts in turn, so that those of one lie in pages apart; of some posts some are hidden,
# edited and deleted, and entries of these are left in the indexes
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
# A post that is gone; posts that lie together, and one of each partition
my $gone = $node->safe_psql('postgres',
	"SELECT id FROM blogstore.posts WHERE type = 'post' AND tableoid = 'blogstore.posts_p03_post'::regclass AND id <= kit.p(200) ORDER BY id DESC LIMIT 1");
$node->safe_psql('postgres', "SELECT blogstore.delete_post('$gone')");
my $posts = "SELECT id FROM blogstore.posts WHERE type = 'post' AND tableoid = 'blogstore.posts_p00_post'::regclass ORDER BY id LIMIT 30";
my $apart = "SELECT DISTINCT ON (tableoid) id FROM blogstore.posts WHERE type = 'post' AND id > kit.p(30) ORDER BY tableoid, id";
my ($together, $of_each) = map { "ARRAY['" . join("', '", split /\n/, $node->safe_psql('postgres', $_)) . "']::uuid[]" } ($posts, $apart);

# There is no worker, who would have read something before
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->stop;

# What a query, named as given, returns whose pages have to be read, where so many may be asked for at a time; and
# how many it has asked for, then and again when all is in the cache.
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
	is($asked[2], $asked[1], 'and in the cache nothing is asked for');
	return ($rows, $asked[1] - $asked[0]);
}

# Of several pages
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
	is($asked, 0, "$list: nothing is asked for where nothing may be");

	my ($same, $ahead) = look($query, 16, $list);
	is($same, $rows, "$list: the answer is the same");
	cmp_ok($ahead, '>', 2, "$list: pages are asked for");
}

# One row is not worth it, nor a page that is read next
foreach (['get_post(kit.p(1))', 16], ['list_post_comments(kit.p(1), 1)', 16], ["get_posts($together)", 1], ["get_posts($of_each)", 1])
{
	my ($call, $pages) = @$_;
	my (undef, $asked) = look("SELECT * FROM blogstore.$call", $pages, $call);
	is($asked, 0, "$call, $pages at a time: nothing is asked for");
}

# Each page once, but for the first, and none behind the list's end. A page of the index may end on the way.
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
	cmp_ok($asked, '<', $pages, "$most at a time: none of $pages pages is asked for twice, and no other");
	cmp_ok($asked, '>=', $pages - 3, "and they are: $asked");
}

foreach my $most (2, 8, 100)
{
	my (undef, $asked) = look("SELECT * FROM blogstore.get_posts($together)", $most, 'posts that lie together');
	cmp_ok($asked, '<', $pages_together, "posts, $most at a time: none of $pages_together pages is asked for twice");
}

# Of a list over all partitions the first page of each of the four, but for the one that is read first
foreach ([1, 0], [2, 2], [16, 3])
{
	my ($most, $expected) = @$_;
	my (undef, $asked) = look('SELECT id FROM blogstore.list_user_comments(kit.u(1), 1)', $most, 'one of all partitions');
	is($asked, $expected, "the first pages of partitions, $most at a time");
}

# Of each its part of the page, and not a whole one
my (undef, $asked_of_four) = look('SELECT id FROM blogstore.list_user_comments(kit.u(1), 40)', 64, 'forty of all partitions');
cmp_ok($asked_of_four, '<=', 50, "a list over all partitions asks for $asked_of_four pages");

# Of somebody who has written in one partition alone there is nothing to be read of the others
my ($written) = look('SELECT * FROM blogstore.list_user_comments(kit.u(60), NULL)', 16, 'one partition');
is(scalar(split /\n/, $written), 60, 'all that somebody has written in one partition');

# A list of which one row is read: no more than may be asked for at a time
my $one = 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM blogstore.list_post_comments(kit.p(20), NULL); FETCH 1 FROM c; ROLLBACK';
foreach my $most (1, 2)
{
	my (undef, $asked) = look($one, $most, 'a list');
	is($asked, $most, "the first row of a list, $most at a time");
}

# ------------------------------------------------------------------------
# While others write
# ------------------------------------------------------------------------

# What is not read for an answer is not waited for: the counts of a post that is gone
$node->append_conf('postgresql.conf', "effective_io_concurrency = 16\n");
$node->start;
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE blogstore.posts_p03_delta');
is( $node->safe_psql('postgres', "SET lock_timeout = '20s'; SELECT count(p.like_count) FROM blogstore.get_posts((${of_each})[1:3] || ARRAY['$gone']::uuid[]) p"),
	'3', 'posts are read beside somebody who has locked what none of them needs');
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
is(join("\n", @shown), $before, 'a list that is open shows what its snapshot does');

# The worker and whole deletions read as lists do
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
$node->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(2), 'another'); SELECT blogstore.delete_post(kit.p(12)); SELECT blogstore.delete_user(kit.u(3))});
$node->safe_psql('postgres', 'SELECT kit.views_follow()');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'after a rename and two deletions all is as it should be');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FILTER (WHERE user_id = kit.u(2) AND user_username <> 'another'), count(*) FILTER (WHERE user_id = kit.u(3)),
count(*) FILTER (WHERE post_id = kit.p(12)) FROM blogstore.posts}),
	'0|0|0', 'the new name is on all, and nothing is left');
$node->stop;

done_testing();
