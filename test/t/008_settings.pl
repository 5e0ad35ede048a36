
# The views follow feed_size and short_form_length. Answers follow a change of
# these settings at once. Usernames are unique regardless of case, in any
# script.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('settings');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 150);
check_store($node, 'postgres', 'defaults');

# What feed and users must contain under the present settings
sub views_are
{
	my ($size, $length, $name) = @_;
	my $columns = "id, user_id, user_username, title, content, comment_count, like_count, creation_date";
	my $short = $columns =~ s/content/left(content, $length)/r;
	my $posts = "FROM kit.posts ORDER BY creation_date DESC, id DESC";

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', "SELECT kit.views_follow()"),
		't', "$name: the views follow");
	ok( $node->safe_psql('postgres', "SELECT $columns FROM blogstore.feed ORDER BY creation_date DESC, id DESC") eq
		  $node->safe_psql('postgres', "SELECT $short $posts LIMIT $size"),
		"$name: feed holds the newest $size posts in short form of $length");
	ok( $node->safe_psql('postgres', "SELECT $columns FROM blogstore.users WHERE type = 'post' ORDER BY creation_date DESC, id DESC") eq
		  $node->safe_psql('postgres', "SELECT $short $posts"),
		"$name: users holds short forms of $length");
	ok( $node->safe_psql('postgres', "SELECT $columns FROM blogstore.list_feed(NULL)") eq
		  $node->safe_psql('postgres', "SELECT $short $posts"),
		"$name: list_feed() lists all posts in one form");
	is( $node->safe_psql('postgres', 'SELECT max(length(content)) FROM blogstore.list_user_posts(kit.u(1), NULL)'),
		$length, "$name: list_user_posts() has short forms of $length");
	is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'),
		'', "$name: verify() shows nothing");
	return;
}

# A session cannot set them, because all sessions share the views.
is( $node->safe_psql(
		'postgres', q{SELECT string_agg(name || ' ' || context, ', ' ORDER BY name) FROM pg_settings WHERE name IN ('blogstore.feed_size', 'blogstore.short_form_length')}),
	'blogstore.feed_size sighup, blogstore.short_form_length sighup',
	'settings of the server');

views_are(100, 200, 'defaults');
my $step = 0;
for my $case ([ 10, 200 ], [ 130, 200 ], [ 130, 20 ], [ 1, 300 ], [ 100, 200 ])
{
	my ($size, $length) = @$case;
	$step++;
	$node->safe_psql('postgres', "ALTER SYSTEM SET blogstore.feed_size = $size");
	$node->safe_psql('postgres', "ALTER SYSTEM SET blogstore.short_form_length = $length");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('blogstore.feed_size') = '$size' AND current_setting('blogstore.short_form_length') = '$length'")
	  or die 'no reload';
	# Until the worker has applied the new settings, requests apply them to the
	# posts container.
	wait_until($node, 'postgres', "SELECT short_form_length = $length FROM blogstore.view_state");
	is( $node->safe_psql('postgres', 'SELECT max(length(content)) FROM blogstore.list_feed()'),
		$length, "feed_size $size, short_form_length $length: list_feed() is right at once");
	$node->poll_query_until('postgres', "SELECT kit.views_follow() AND count(*) = $size AND max(length(content)) = $length FROM blogstore.feed")
	  or die 'the views do not follow';
	views_are($size, $length, "feed_size $size, short_form_length $length");
	# A larger feed than there are posts
	$node->safe_psql('postgres', "SELECT count(blogstore.create_post(kit.u(1), 'more', repeat('z', 400), kit.p(1000 * $step + n), kit.d(1000 * $step + n))) FROM generate_series(1, 20) n");
	views_are($size, $length, "feed_size $size, short_form_length $length, more posts");
}

# The same with settings that change while the server is down
$node->append_conf('postgresql.conf', "blogstore.feed_size = 7\nblogstore.short_form_length = 5");
$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
$node->restart;
$node->poll_query_until('postgres', 'SELECT kit.views_follow() AND count(*) = 7 AND max(length(content)) = 5 FROM blogstore.feed')
  or die 'the views do not follow';
views_are(7, 5, 'changed at a restart');

# Usernames are unique regardless of case, in any script.
my %pair = (
	'latin' => [ "\x{c9}va", "\x{e9}VA" ],
	'greek' => [ "\x{391}\x{3b8}\x{3b7}\x{3bd}\x{3ac}", "\x{3b1}\x{398}\x{397}\x{39d}\x{386}" ],
	'cyrillic' => [ "\x{418}\x{432}\x{430}\x{43d}", "\x{438}\x{412}\x{410}\x{41d}" ]);
for my $script (sort keys %pair)
{
	my ($name, $same) = map { my $s = $_; utf8::encode($s); $s } @{ $pair{$script} };

	is($node->safe_psql('postgres', "SELECT username FROM blogstore.create_user('$name')"),
		$name, "$script: a name");
	is(sqlstate($node, 'postgres', "create_user('$same')"),
		'23505, hint', "$script: the same in another case is taken");
	is($node->safe_psql('postgres', "SELECT username FROM blogstore.get_user_by_name('$same')"),
		$name, "$script: and finds the user");
}
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'),
	'', 'names: verify() shows nothing');

done_testing();
