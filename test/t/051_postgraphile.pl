
# The GraphQL schema that PostGraphile makes of the wrappers: types, relations,
# pages by cursors, and commands of the signed-in user.

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

my $node = new_server('postgraphile');
$node->start;
create_store($node, 'postgres');
# Comments within one millisecond, which JavaScript's dates cannot tell apart
$node->safe_psql('postgres', $_) foreach split /^--\n/m, q{
CREATE ROLE site; CREATE ROLE web; CREATE ROLE door LOGIN;
GRANT web TO door;
GRANT SET ON PARAMETER blogstore.current_user_id TO door;
SELECT blogstore.grant_requests('site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
CREATE SCHEMA web AUTHORIZATION site;
SET ROLE site;
SELECT blogstore.create_api('web', 'web', as_caller => true);
--
SELECT blogstore.create_user('Ann', kit.u(1), kit.d(1)), blogstore.create_user('Bob', kit.u(2), kit.d(2));
SELECT blogstore.create_post(kit.u(1), 'post ' || i, 'content', kit.p(i), kit.d(10 + i)) FROM generate_series(1, 3) i;
SELECT blogstore.create_comment(kit.p(3), kit.u(2), 'comment ' || i, kit.c(i), kit.d(20) + i * interval '1 microsecond') FROM generate_series(1, 5) i;
};

my %user = map { $_ => $node->safe_psql('postgres', "SELECT kit.u($_)") } 1, 2;
my %post = map { $_ => $node->safe_psql('postgres', "SELECT kit.p($_)") } 1 .. 3;

# ---- The schema

my $web = BlogstoreGraphql->new($node, 'web');
my $types = $web->types;
is($types->{User}{posts}{type}, 'PostsConnection!', 'a user has posts');
is($types->{Post}{author}{type}, 'User', 'a post has an author');
is($types->{Post}{comments}{type}, 'CommentsConnection!', '... comments');
is($types->{Post}{likes}{type}, 'LikesConnection!', '... and likes');
is($types->{Comment}{post}{type}, 'Post', 'a comment has its post');
is($types->{Comment}{replies}{type}, 'CommentsConnection!', '... and replies');
is($types->{Comment}{likes}{type}, 'LikesConnection!', '... and likes');
is($types->{$_}{myLike}{type}, 'Like', "... and a $_ the user's own like") foreach qw(Comment Post);
is($types->{Like}{comment}{type}, 'Comment', 'a like its comment');
is($types->{Comment}{parentDeleted}{type}, 'Boolean', '... and tells whether its parent was deleted');
is($types->{Like}{author}{type}, 'User', 'a like its author');
is($types->{Like}{post}{type}, 'Post', '... and its post');
is($types->{Topic}{posts}{type}, 'PostsConnection!', 'a topic has posts');
is($types->{Query}{listTopics}{args}{afterTopic}, 'String', 'topics go on behind a topic');
is($types->{User}{comments}{type}, 'CommentsConnection!', 'a user has comments');
is($types->{User}{likes}{type}, 'LikesConnection!', '... and likes');
is($types->{User}{likes}{args}{afterPostId}, 'UUID', '... which go on behind a post');
is($types->{User}{$_}{type}, 'FollowsConnection!', "... and $_") foreach qw(following followers);
is($types->{Follow}{$_}{type}, 'User', "a follow has its $_") foreach qw(follower followed);
my $columns = $node->safe_psql('postgres', q{SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'blogstore.post_item'::regclass AND attnum > 0});
my @columns = map { s/_(\w)/\u$1/gr } split / /, $columns;
is(join(' ', grep { !$types->{Post}{$_} } @columns), '', 'each property of a post is a field');
ok(scalar @columns >= 10, '... and they are many');
is($types->{Post}{commentCount}{type}, 'BigInt', 'counts are big');
is(join(' ', grep { exists $types->{Query}{$_} } qw(allPostItems allPosts postItem allUsers)), '', 'tables are not exposed');
my @requests = split / /, $node->safe_psql('postgres', 'SELECT string_agg(function, $$ $$) FROM blogstore.stat_requests WHERE function <> $$hide_comment$$');
my @fields = map { s/_(\w)/\u$1/gr } @requests;
is(join(' ', grep { !$types->{Query}{$_} && !$types->{Mutation}{$_} } @fields), '', 'each request is a field, except hide_comment()');
is_deeply($types->{Post}{comments}{args}{pageSize}, 'Int', 'a page has a size');

# ---- A user with posts, and comments in pages

my $nested = q{query ($size: Int, $date: Datetime, $id: UUID) { getUserByName(username: "ANN") { nodes { username posts(pageSize: 2) { nodes {
	title commentCount author { username } comments(pageSize: $size, first: 2, beforeDate: $date, beforeId: $id) {
		nodes { id content creationDate author { username } } pageInfo { hasNextPage } } } } } } }};
my $result = ask({ query => $nested, variables => { size => 3 } })->[0];
is($result->{errors}, undef, 'no error') or diag explain $result;
my $ann = $result->{data}{getUserByName}{nodes}[0];
is($ann->{username}, 'Ann', 'a user');
is(join(', ', map { "$_->{title} ($_->{commentCount}) by $_->{author}{username}" } @{ $ann->{posts}{nodes} }), 'post 3 (5) by Ann, post 2 (0) by Ann', 'with posts');
my $comments = $ann->{posts}{nodes}[0]{comments};
my @seen;
for (my $page = 1; $page <= 3; $page++)
{
	my @nodes = @{ $comments->{nodes} };
	push @seen, join '+', map { "$_->{content} by $_->{author}{username}" } @nodes;
	is($comments->{pageInfo}{hasNextPage} ? 1 : 0, $page < 3 ? 1 : 0, "page $page: is there a next one?");
	last if !$comments->{pageInfo}{hasNextPage};
	$result = ask({ query => $nested, variables => { size => 3, date => $nodes[-1]{creationDate}, id => $nodes[-1]{id} } })->[0];
	$comments = $result->{data}{getUserByName}{nodes}[0]{posts}{nodes}[0]{comments};
}
is(join(', ', @seen), 'comment 5 by Bob+comment 4 by Bob, comment 3 by Bob+comment 2 by Bob, comment 1 by Bob', 'with comments, page by page');

# The same with PostGraphile's own cursors
my $relay = q{query ($post: UUID, $after: Cursor) { getPost(postId: $post) { nodes { comments(pageSize: null, first: 2, after: $after) { nodes { content } pageInfo { hasNextPage endCursor } } } } }};
my ($after, $more) = (undef, 1);
@seen = ();
while ($more && @seen < 10)
{
	$result = ask({ query => $relay, variables => { post => $post{3}, after => $after } })->[0];
	$comments = $result->{data}{getPost}{nodes}[0]{comments};
	push @seen, map { $_->{content} } @{ $comments->{nodes} };
	($after, $more) = ($comments->{pageInfo}{endCursor}, $comments->{pageInfo}{hasNextPage});
}
is(join(', ', @seen), join(', ', map { "comment $_" } reverse 1 .. 5), 'cursors page through all of them');

# ---- The comments and likes of a user on all posts

$node->safe_psql('postgres', 'SELECT blogstore.create_comment(kit.p(i), kit.u(2), $$on post $$ || i, kit.c(10 + i), kit.d(30 + i)) FROM generate_series(1, 2) i');
$node->safe_psql('postgres', 'SELECT blogstore.create_like(kit.p(i), kit.u(2), kit.d(40 - i)) FROM generate_series(1, 3) i');
my $written = q{query ($user: UUID!, $size: Int, $date: Datetime, $id: UUID, $post: UUID, $oldest: Boolean) { getUser(userId: $user) { nodes {
	comments(pageSize: $size, beforeDate: $date, beforeId: $id, oldestFirst: $oldest) { nodes { id content creationDate post { title } } }
	likes(pageSize: $size, afterPostId: $post) { nodes { postId post { title author { username } } } } } } }};
my (@comments, @likes);
my %cursor;
for (my $page = 1; $page <= 5; $page++)
{
	$result = ask({ query => $written, variables => { user => $user{2}, size => 2, %cursor } })->[0];
	is($result->{errors}, undef, "page $page of a user's") or diag explain $result;
	my ($c, $l) = map { $result->{data}{getUser}{nodes}[0]{$_}{nodes} } qw(comments likes);
	push @comments, join '+', map { "$_->{content} < $_->{post}{title}" } @$c;
	push @likes, join '+', map { "$_->{post}{title} by $_->{post}{author}{username}" } @$l;
	last if !@$c;
	%cursor = (date => $c->[-1]{creationDate}, id => $c->[-1]{id}, post => @$l ? $l->[-1]{postId} : $post{3});
}
is(join(', ', @comments), 'on post 2 < post 2+on post 1 < post 1, comment 5 < post 3+comment 4 < post 3, comment 3 < post 3+comment 2 < post 3, comment 1 < post 3, ',
	'comments, the newest first, page by page');
is(join(', ', @likes), 'post 1 by Ann+post 2 by Ann, post 3 by Ann, , , ', 'likes, by their posts');
$result = ask({ query => $written, variables => { user => $user{2}, size => 1, oldest => JSON::PP::true } })->[0];
is($result->{data}{getUser}{nodes}[0]{comments}{nodes}[0]{content}, 'comment 1', 'the oldest first');
# The same with PostGraphile's own cursors, and by the requests themselves
$result = ask({ query => sprintf q{{ getUser(userId: "%s") { nodes { comments(pageSize: null, first: 3) { nodes { content } pageInfo { hasNextPage endCursor } } } } }}, $user{2} })->[0];
my $part = $result->{data}{getUser}{nodes}[0]{comments};
is(join(', ', map { $_->{content} } @{ $part->{nodes} }), 'on post 2, on post 1, comment 5', 'a part of the comments');
ok($part->{pageInfo}{hasNextPage}, '... of which there are more');
$result = ask({ query => sprintf q{{ listUserComments(userId: "%s", pageSize: null, first: 9, after: "%s") { nodes { content } } listUserLikes(userId: "%s", pageSize: 1) { nodes { postId } } }},
	$user{2}, $part->{pageInfo}{endCursor}, $user{2} })->[0];
is(join(', ', map { $_->{content} } @{ $result->{data}{listUserComments}{nodes} }), join(', ', map { "comment $_" } reverse 1 .. 4), 'behind a cursor');
is_deeply($result->{data}{listUserLikes}{nodes}, [ { postId => $post{1} } ], 'a page of likes');
$result = ask({ query => sprintf q{{ listUserLikes(userId: "%s", byDate: true) { nodes { postId } } }}, $user{2} })->[0];
is($result->{errors}[0]{message}, 'likes have no index by user and date', 'likes by date, which the site has no index for');
$node->safe_psql('postgres', "CREATE INDEX ON blogstore.posts (user_id, creation_date, id)");
$result = ask({ query => sprintf q{{ listUserLikes(userId: "%s", byDate: true, pageSize: 2) { nodes { postId } } }}, $user{2} })->[0];
is_deeply($result->{data}{listUserLikes}{nodes}, [ map { { postId => $post{$_} } } 1, 2 ], '... and where it has one');
# Only the author of a hidden post sees comments and likes on it.
$node->safe_psql('postgres', 'SELECT blogstore.hide_post(kit.p(1))');
my %seen = map {
	my ($name, @settings) = @$_;
	my $of = ask({ query => $written, variables => { user => $user{2}, size => 2 }, @settings })->[0]{data}{getUser}{nodes}[0];
	$name => join ' ', map { my $list = $_; map { $_->{post}{title} } @{ $of->{$list}{nodes} } } qw(comments likes)
} [ 'nobody' ], [ 'ann', settings => { 'blogstore.current_user_id' => $user{1} } ], [ 'bob', settings => { 'blogstore.current_user_id' => $user{2} } ];
is_deeply(\%seen, { nobody => 'post 2 post 3 post 2 post 3', ann => 'post 2 post 1 post 1 post 2', bob => 'post 2 post 3 post 2 post 3' }, 'of what is on hidden posts');
$node->safe_psql('postgres', 'SELECT blogstore.hide_post(kit.p(1), false)');
$node->safe_psql('postgres', 'SELECT blogstore.delete_comment(kit.p(i), kit.c(10 + i)), blogstore.delete_like(kit.p(i), kit.u(2)) FROM generate_series(1, 3) i');

# ---- Comments with replies, which remain when their parents are deleted

my @results;
my @as_bob = (settings => { 'blogstore.current_user_id' => $user{2} });
my @as_ann = (settings => { 'blogstore.current_user_id' => $user{1} });
my $reply = q{mutation ($post: UUID!, $parent: UUID!, $content: String!) { createComment(input: { postId: $post, parentId: $parent, content: $content })
	{ comment { id content parentId parentDeleted author { username } } } }};
my $threads = q{query ($post: UUID!) { listPostComments(postId: $post, pageSize: 3, oldestFirst: true) { nodes { content parentDeleted
	replies(oldestFirst: true) { nodes { content author { username } replies { nodes { content } } } } } } }};
my %to_one = (post => $post{3}, parent => $node->safe_psql('postgres', 'SELECT kit.c(1)'));
@results = @{ ask({ query => $reply, variables => { %to_one, content => 'reply 1' }, @as_ann },
		{ query => $reply, variables => { %to_one, content => 'reply 2' }, @as_bob }, { query => $reply, variables => { %to_one, content => 'nobody' } },
		{ query => $reply, variables => { %to_one, post => $post{2}, content => 'elsewhere' }, @as_bob }) };
my $first = $results[0]{data}{createComment}{comment};
is_deeply([ @$first{qw(content parentId parentDeleted)}, $first->{author}{username} ], [ 'reply 1', $to_one{parent}, JSON::PP::false, 'Ann' ], 'a reply');
is($results[1]{data}{createComment}{comment}{author}{username}, 'Bob', 'another');
is($results[2]{errors}[0]{message}, 'nobody is signed in', '... but not without a signed-in user');
like($results[3]{errors}[0]{message}, qr/^comment .* on post .* does not exist$/, '... nor on another post');
ok(!ask({ query => $reply, variables => { %to_one, parent => $first->{id}, content => 'reply to a reply' }, @as_bob })->[0]{errors}, 'a reply to a reply');
my $thread = ask({ query => $threads, variables => { post => $post{3} } })->[0]{data}{listPostComments}{nodes};
is(join(', ', map { "$_->{content} (" . join('+', map { "$_->{content} by $_->{author}{username}" . join('', map { " < $_->{content}" } @{ $_->{replies}{nodes} }) } @{ $_->{replies}{nodes} }) . ')' } @$thread),
	'comment 1 (reply 1 by Ann < reply to a reply+reply 2 by Bob), comment 2 (), comment 3 ()', 'comments with replies with replies');
$node->safe_psql('postgres', 'SELECT blogstore.delete_comment(kit.p(3), kit.c(1))');
$result = ask({ query => sprintf q{{ listCommentReplies(postId: "%s", parentId: "%s") { nodes { content parentDeleted } } }}, @to_one{qw(post parent)} })->[0];
is_deeply($result->{data}{listCommentReplies}{nodes}, [ map { { content => "reply $_", parentDeleted => JSON::PP::true } } 2, 1 ], 'replies to what is gone say so');

# ---- Likes of comments

my $comment = $node->safe_psql('postgres', 'SELECT kit.c(2)');
my $heart = sprintf q{mutation { createLike(input: { postId: "%s", commentId: "%s" }) { like { comment { content likeCount myLike { author { username } } } } } }}, $post{3}, $comment;
my $hearts = sprintf q{{ post(postId: "%s") { likeCount myLike { id } comments(oldestFirst: true, pageSize: 2, topLevel: true) { nodes { content likeCount myLike { userUsername comment { content } } likes { nodes { userUsername post { title } } } } } }
	getCommentLikes(userId: "%s", postId: "%s") { nodes { commentId } } comment(postId: "%s", commentId: "%s") { likeCount }
	like(postId: "%s", userId: "%s", commentId: "%s") { comment { content } } user(userId: "%s") { likes { nodes { comment { content } } } } }},
  $post{3}, $user{2}, $post{3}, $post{3}, $comment, $post{3}, $user{2}, $comment, $user{2};
@results = @{ ask({ query => $heart, @as_bob }, { query => $heart }, { query => $hearts, @as_bob }, { query => $hearts, @as_ann }, { query => $hearts }) };
is_deeply($results[0]{data}{createLike}{like}{comment}, { content => 'comment 2', likeCount => '1', myLike => { author => { username => 'Bob' } } }, 'a comment is liked');
is($results[1]{errors}[0]{message}, 'nobody is signed in', '... but not without a signed-in user');
my %of_bob = (userUsername => 'Bob', comment => { content => 'comment 2' });
foreach my $asked ([ 2, 'Bob', \%of_bob ], [ 3, 'Ann', undef ], [ 4, 'nobody', undef ])
{
	my ($n, $who, $mine) = @$asked;

	is_deeply(
		$results[$n]{data}, {
			post => { likeCount => '0', myLike => undef, comments => { nodes => [
				{ content => 'comment 2', likeCount => '1', myLike => $mine, likes => { nodes => [ { userUsername => 'Bob', post => { title => 'post 3' } } ] } },
				{ content => 'comment 3', likeCount => '0', myLike => undef, likes => { nodes => [] } } ] } },
			getCommentLikes => { nodes => [ { commentId => $comment } ] }, comment => { likeCount => '1' },
			like => { comment => { content => 'comment 2' } }, user => { likes => { nodes => [ { comment => { content => 'comment 2' } } ] } } },
		"$who sees it") or diag explain $results[$n];
}
is(ask({ query => sprintf(q{mutation { deleteLike(input: { postId: "%s", commentId: "%s" }) { boolean } }}, $post{3}, $comment), @as_bob })->[0]{data}{deleteLike}{boolean},
	JSON::PP::true, 'and the like is taken back');

# ---- Commands of the signed-in user

my $create = q{mutation { createPost(input: { title: "new", content: "content" }) { post { postId title author { username } } } }};
my $like = sprintf q{mutation { createLike(input: { postId: "%s" }) { like { post { likeCount likes { nodes { userUsername } } } } } }}, $post{3};
my $edit = sprintf q{mutation { editPost(input: { postId: "%s", title: "edited" }) { post { title } } }}, $post{3};
my $delete = sprintf q{mutation { deletePost(input: { postId: "%s" }) { boolean } }}, $post{3};
@results = @{ ask(
	{ query => $create }, { query => $create, @as_bob }, { query => $like, @as_bob }, { query => $edit, @as_bob }, { query => $delete, @as_bob },
	{ query => $edit, @as_ann }, { query => $delete, @as_ann }, { query => $create }) };
is($results[$_]{errors}[0]{message}, 'nobody is signed in', 'commands need a signed-in user') foreach 0, 7;
is($results[1]{data}{createPost}{post}{author}{username}, 'Bob', 'a post of who has signed in');
is_deeply($results[2]{data}{createLike}{like}{post}, { likeCount => '1', likes => { nodes => [ { userUsername => 'Bob' } ] } }, 'a like, and the post as it is then');
is($results[3]{errors}[0]{message}, "the post is another user's", q{nobody edits another's post});
ok(!$results[4]{data}{deletePost}{boolean}, '... or deletes it');
is($results[5]{data}{editPost}{post}{title}, 'edited', 'the author edits it');
ok($results[6]{data}{deletePost}{boolean}, '... and deletes it');
is($node->safe_psql('postgres', q{SELECT string_agg(title, ', ' ORDER BY title) FROM blogstore.list_feed()}), 'new, post 1, post 2', 'the store has the remaining posts');
check_store($node, 'postgres', 'at the end');
$web->end;
$node->stop;
done_testing();

# Returns PostGraphile's answers to queries of the role web.
sub ask
{
	return [ $web->ask(map { { role => 'web', %$_ } } @_) ];
}
