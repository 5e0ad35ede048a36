
# A PostGraphile client pages through 1,100 rows of each list, by first, after
# and hasNextPage, and by date and id. It gets one item as one object, and
# waits for its own posts. The schemas have wrappers of both kinds.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreGraphql;
use BlogstoreTest;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

install_postgraphile();

# PostGraphile, for each schema
my %graphql;

my $node = new_server('graphql_pages');
$node->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', $_) foreach split /^--\n/m, q{
CREATE ROLE site; CREATE ROLE web; CREATE ROLE app; CREATE ROLE door LOGIN;
GRANT web, app TO door;
GRANT SET ON PARAMETER blogstore.current_user_id TO door;
SELECT blogstore.grant_requests('site');
SELECT blogstore.grant_requests('app');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
CREATE SCHEMA web AUTHORIZATION site;
CREATE SCHEMA api AUTHORIZATION site;
SET ROLE site;
SELECT blogstore.create_api('web', 'web', as_caller => true);
SELECT blogstore.create_api('api', 'app');
--
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 1100) AS n;
SELECT count(blogstore.create_post(kit.u(1), 'post ' || n, 'content', kit.p(n), kit.d(10 + n / 3), jsonb_build_object('tags', ARRAY['All', 'Tag ' || n]))) FROM generate_series(1, 1100) AS n;
SELECT count(blogstore.create_comment(kit.p(7), kit.u(2), 'comment ' || n, kit.c(n), kit.d(2000) + n / 7 * interval '1 microsecond')) FROM generate_series(1, 1100) AS n;
SELECT count(blogstore.create_like(kit.p(7), kit.u(n), kit.d(3000 + n / 5))) FROM generate_series(1, 1100) AS n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(3), kit.d(4000))) FROM generate_series(1, 1100) AS n;
SELECT count(blogstore.create_like(kit.p(7), kit.u(n), kit.d(5000 + n / 5), kit.c(1))) FROM generate_series(1, 1100) AS n;
};
ok($node->safe_psql('postgres', 'SELECT kit.views_follow()') eq 't', 'the views follow');

my %id = map { $_ => $node->safe_psql('postgres', "SELECT kit.$_") } 'u(1)', 'u(2)', 'u(3)', 'p(7)', 'c(1)';
my $nodes = 'nodes { id } pageInfo { hasNextPage endCursor }';
my $first = 'pageSize: 2147483647, first: 100, after: $after';

# Each list: its name, the query, the path of its connection, and the call that
# returns all its rows
my @lists = (
	[ 'feed', "listFeed($first) { $nodes }", 'listFeed', 'list_feed(NULL)' ],
	[ 'posts of a user', qq{user(userId: "$id{'u(1)'}") { posts($first) { $nodes } }}, 'user.posts', 'list_user_posts(kit.u(1), NULL)' ],
	[ 'comments on a post', qq{post(postId: "$id{'p(7)'}") { comments($first) { $nodes } }}, 'post.comments', 'list_post_comments(kit.p(7), NULL)' ],
	[ 'likes of a post', qq{post(postId: "$id{'p(7)'}") { likes($first) { $nodes } }}, 'post.likes', 'list_post_likes(kit.p(7), NULL)' ],
	[ 'likes of a comment', qq{comment(postId: "$id{'p(7)'}", commentId: "$id{'c(1)'}") { likes($first) { $nodes } }}, 'comment.likes', 'list_comment_likes(kit.p(7), kit.c(1), NULL)' ],
	[ 'comments of a user', qq{listUserComments(userId: "$id{'u(2)'}", $first) { $nodes }}, 'listUserComments', 'list_user_comments(kit.u(2), NULL)' ],
	[ 'likes of a user', qq{user(userId: "$id{'u(3)'}") { likes($first) { $nodes } }}, 'user.likes', 'list_user_likes(kit.u(3), NULL)' ],
	[ 'posts of a topic', "listTopicPosts(topic: \"ALL\", $first) { $nodes }", 'listTopicPosts', "list_topic_posts('all', NULL)" ],
	[ 'topics', "listTopics($first) { nodes { id: topic } pageInfo { hasNextPage endCursor } }", 'listTopics', 'list_topics(page_size => NULL) AS topic (id)' ],
	[ 'the feed, oldest first', "listFeed(oldestFirst: true, $first) { $nodes }", 'listFeed', 'list_feed(NULL, oldest_first => true)' ]);

foreach my $kind ([ 'api', 'app' ], [ 'web', 'web' ])
{
	my ($schema, $role) = @$kind;
	my @answers = @{ ask($schema, $role, map { { query => "query (\$after: Cursor) { $_->[1] }", pages => $_->[2] } } @lists) };

	for my $i (0 .. $#lists)
	{
		my ($name, undef, undef, $truth) = @{ $lists[$i] };
		my $answer = $answers[$i];

		is($answer->{errors}, undef, "$schema: $name") or diag explain $answer;
		my @true = split /\n/, $node->safe_psql('postgres', "SELECT id FROM blogstore.$truth");
		is_deeply([ map { $_->{id} } @{ $answer->{nodes} // [] } ], \@true, "$schema: $name: all rows, in their order, once");
		my $rows = @true;
		is($rows >= 1100 ? 'enough' : $rows, 'enough', "$schema: $name: 1,100 rows");
		my @sizes = ((100) x int($rows / 100), $rows % 100 ? $rows % 100 : ());
		is_deeply($answer->{sizes}, \@sizes, "$schema: $name: pages of 100, and then no next one");
	}

	# Pages by date and id: one row more than the page shows
	my ($date, $id, @seen, @more) = (undef, undef);
	for (1 .. 20)
	{
		my $page = ask($schema, $role, {
			query => 'query ($date: Datetime, $id: UUID) { listFeed(pageSize: 101, first: 100, beforeDate: $date, beforeId: $id) { nodes { id creationDate } pageInfo { hasNextPage } } }',
			variables => { date => $date, id => $id } })->[0]{data}{listFeed};

		push @seen, map { $_->{id} } @{ $page->{nodes} };
		push @more, $page->{pageInfo}{hasNextPage} ? 1 : 0;
		last if !$more[-1];
		($date, $id) = @{ $page->{nodes}[-1] }{qw(creationDate id)};
	}
	is_deeply(\@seen, [ split /\n/, $node->safe_psql('postgres', 'SELECT id FROM blogstore.list_feed(NULL)') ], "$schema: by date and id: the same");
	is(join('', @more), '11111111110', "$schema: by date and id: the last page knows that it is");

	# Pages of topics, behind a topic, with the posts of each
	my ($behind, @topics);
	for (1 .. 2)
	{
		my $page = ask($schema, $role, {
			query => 'query ($behind: String) { listTopics(prefix: "T", pageSize: 801, first: 800, afterTopic: $behind) { nodes { topic postCount posts(pageSize: 1) { nodes { title } } } pageInfo { hasNextPage } } }',
			variables => { behind => $behind } })->[0]{data}{listTopics};

		push @topics, map { "$_->{topic}, $_->{postCount}: $_->{posts}{nodes}[0]{title}" } @{ $page->{nodes} };
		push @topics, 'more' if $page->{pageInfo}{hasNextPage};
		$behind = $page->{nodes}[-1]{topic};
	}
	my @expected = map { "tag $_, 1: post $_" } sort 1 .. 1100;
	is_deeply(\@topics, [ @expected[0 .. 799], 'more', @expected[800 .. 1099] ], "$schema: topics with their posts, behind a topic");

	# The default size is 20 rows, or 100 for the feed.
	my ($left_out) = @{ ask($schema, $role, { query => qq{{ listFeed { $nodes } post(postId: "$id{'p(7)'}") { comments { $nodes } } }} }) };
	is(scalar @{ $left_out->{data}{listFeed}{nodes} }, 100, "$schema: a page of the feed where no size is given");
	is(scalar @{ $left_out->{data}{post}{comments}{nodes} }, 20, "$schema: and of comments");

	# One item as one object
	my ($one) = @{ ask($schema, $role, { query => qq{{ post(postId: "$id{'p(7)'}") { title likeCount commentCount author { username } }
		user(userId: "$id{'u(2)'}") { username } userByName(username: "USER 2") { userId } like(postId: "$id{'p(7)'}", userId: "$id{'u(3)'}") { userUsername }
		nobody: user(userId: "$id{'c(1)'}") { username } nothing: post(postId: "$id{'c(1)'}") { title } noName: userByName(username: "nobody") { userId }
		noLike: like(postId: "$id{'c(1)'}", userId: "$id{'u(3)'}") { id } }} }) };
	is($one->{errors}, undef, "$schema: one object each") or diag explain $one;
	is_deeply($one->{data}, {
		post => { title => 'post 7', likeCount => '1100', commentCount => '1100', author => { username => 'user 1' } },
		user => { username => 'user 2' }, userByName => { userId => $id{'u(2)'} }, like => { userUsername => 'user 3' },
		nobody => undef, nothing => undef, noName => undef, noLike => undef }, "$schema: objects, and null where there is none");
}

# ---- Functions that REST calls by name: rows, or one

is($node->safe_psql('postgres', qq{SET ROLE app; SELECT (p = (SELECT r FROM api.get_post('$id{'p(7)'}') AS r))::text FROM api.one_post('$id{'p(7)'}') AS p}), 'true', 'one_post() is the row of get_post()');
is($node->safe_psql('postgres', qq{SET ROLE app; SELECT api.one_post('$id{'c(1)'}') IS NULL}), 't', '... and NULL where there is none');

# ---- Only the author sees a hidden post

$node->safe_psql('postgres', 'SELECT blogstore.hide_post(kit.p(8))');
my $hidden = $node->safe_psql('postgres', 'SELECT kit.p(8)');
my @as = map { ask('web', 'web', { query => qq{{ post(postId: "$hidden") { title } }}, settings => $_ })->[0]{data}{post} }
  {}, { 'blogstore.current_user_id' => $id{'u(2)'} }, { 'blogstore.current_user_id' => $id{'u(1)'} };
is_deeply(\@as, [ undef, undef, { title => 'post 8' } ], 'a hidden post is its author\'s alone');
my $of_topic = ask('web', 'web', { query => '{ listTopicPosts(topic: "tag 8") { nodes { title } } }', settings => { 'blogstore.current_user_id' => $id{'u(1)'} } })->[0]{data};
is_deeply($of_topic, { listTopicPosts => { nodes => [] } }, '... and is listed by no topic');

# ---- A new post, with a wait for it, in one request

my @as_ann = (settings => { 'blogstore.current_user_id' => $id{'u(1)'} });
my $lists = 'query { listFeed(pageSize: 1) { nodes { title } } }';
my @late = map {
	my @answers = @{ ask('web', 'web',
			{ query => qq{mutation { createPost(input: { title: "new $_", content: "content" }) { post { id } } }}, @as_ann },
			{ query => qq{mutation { waitForPosts(input: { timeout: { minutes: 1 } }) { boolean $lists } }} }) };
	my $waited = $answers[1]{data}{waitForPosts};
	$waited->{boolean} && $waited->{query}{listFeed}{nodes}[0]{title} eq "new $_" ? () : explain \@answers
} 1 .. 10;
is_deeply(\@late, [], 'a post is in the list that comes with the wait');
my $both = ask('web', 'web', { query => qq{mutation { createPost(input: { title: "both", content: "content" }) { post { id } } waitForPosts(input: {}) { boolean } }}, @as_ann })->[0];
like($both->{errors}[0]{message}, qr/^lists cannot show what this transaction has written/, 'not in the request that writes it');

$_->end foreach values %graphql;
$node->stop;
done_testing();

# Returns PostGraphile's answers to queries by a role of which door is a
# member.
sub ask
{
	my ($schema, $role, @queries) = @_;

	$graphql{$schema} //= BlogstoreGraphql->new($node, $schema);
	return [ $graphql{$schema}->ask(map { { role => $role, %$_ } } @queries) ];
}
