
# A hot standby answers every query and refuses commands. After promotion a
# worker starts by itself.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_server('primary');
$primary->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
$primary->start;
create_store($primary, 'postgres');
fill_store($primary, 'postgres', 10, 150);
fill_lists($primary, 'postgres', 10);
# Replies, which remain when their parents are deleted
$primary->safe_psql('postgres', q{
SELECT blogstore.create_comment(kit.p(7), kit.u(1), 'parent', kit.c(900001), kit.d(300));
SELECT blogstore.create_comment(kit.p(7), kit.u(2), 'reply ' || n, kit.c(900001 + n), kit.d(300 + n), parent_id => kit.c(900001)) FROM generate_series(1, 3) n;
SELECT blogstore.delete_comment(kit.p(7), kit.c(900001));
});
check_store($primary, 'postgres', 'primary');

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my @queries = (
	'get_user(kit.u(1))',
	"get_user_by_name('USER 2')",
	'get_post(kit.p(7))',
	'list_user_posts(kit.u(1))',
	'list_user_posts(kit.u(2), NULL)',
	'list_user_posts(kit.u(1), 3, kit.d(100), kit.p(100))',
	'list_user_posts(kit.u(1), 3, kit.d(20), kit.p(20), true)',
	'list_post_comments(kit.p(7))',
	'list_comment_replies(kit.p(7), kit.c(900001))',
	'list_comment_replies(kit.p(7), kit.c(900001), 1, oldest_first => true)',
	'list_post_likes(kit.p(7))',
	'list_user_comments(kit.u(1), 5)',
	'list_user_comments(kit.u(1), NULL, kit.d(60), kit.c(60), oldest_first => true, include_hidden => true)',
	'list_user_likes(kit.u(1), NULL)',
	'list_comment_likes(kit.p(7), kit.c(900001))',
	'get_comment_likes(kit.u(1), kit.p(7))',
	'list_user_likes(kit.u(1), 5, kit.p(7))',
	'list_feed()',
	'list_feed(NULL)',
	'list_feed(10, kit.d(55), kit.p(55))',
	'list_feed(oldest_first => true)',
	'list_feed(10, kit.d(55), kit.p(55), true)',
	'get_like(kit.p(7), kit.u(1))',
	'get_like(kit.p(7), kit.u(9))',
	'get_posts(ARRAY[kit.p(7), kit.p(999), kit.p(3), NULL, kit.p(7)])',
	'get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(150, 1, -1) n))',
	'get_users(ARRAY[kit.u(2), kit.u(99), kit.u(1)])',
	'get_likes(kit.u(1), ARRAY(SELECT kit.p(n) FROM generate_series(150, 1, -1) n))',
	'get_follows(kit.u(1), ARRAY[kit.u(2), kit.u(3), kit.u(99)])',
	'list_following(kit.u(1), NULL)',
	'list_followers(kit.u(1), 3, kit.d(600), kit.p(1))',
	'list_followers(kit.u(2), NULL, oldest_first => true)',
	'list_home_feed(kit.u(1))',
	'list_home_feed(kit.u(2), NULL)',
	'list_home_feed(kit.u(1), 10, kit.d(55), kit.p(55), true)',
	'get_post(kit.p(900))');
# Queries that are answered only while the primary keeps the views
my @topics = (
	'list_topics()',
	q{list_topics('topic', 1, 'topic 0')},
	q{list_topic_posts('all')},
	q{list_topic_posts('Topic 1', NULL, oldest_first => true)});

# Wait until the standby has replayed all commits of the primary. A commit
# flushes the WAL of earlier commits too.
sub catch_up
{
	$primary->safe_psql('postgres', 'SELECT txid_current()');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	return;
}

sub check_queries
{
	my ($name, @more) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	catch_up();
	is( $standby->safe_psql('postgres', "SELECT * FROM blogstore.$_"),
		$primary->safe_psql('postgres', "SELECT * FROM blogstore.$_"),
		"$name: $_")
	  for @queries, @more;
	is($standby->safe_psql('postgres', 'SELECT * FROM kit.wrong_counts()'),
		'', "$name: counts are exact");
	is($standby->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'),
		'', "$name: verify() shows nothing");
	return;
}

check_queries('standby', @topics);

# Hidden items of the primary are hidden on the standby too, also from callers
# of wrappers who are not the author.
$primary->safe_psql('postgres', "SELECT blogstore.hide_post(kit.p(81)), blogstore.create_comment(kit.p(7), kit.u(1), 'held', kit.c(900), hidden => true)");
$primary->safe_psql('postgres', q{
CREATE ROLE site;
CREATE ROLE web;
SELECT blogstore.grant_requests('site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
CREATE SCHEMA web AUTHORIZATION site;
SET ROLE site;
SELECT blogstore.create_api('web', 'web', as_caller => true);
});
catch_up();
is($standby->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed(NULL) WHERE id = kit.p(81)'), '0', 'standby: a hidden post is in no feed');
my $author = $primary->safe_psql('postgres', 'SELECT user_id FROM blogstore.get_post(kit.p(81))');
my $post = $primary->safe_psql('postgres', 'SELECT kit.p(81)');
sub sees
{
	my ($who) = @_;

	return $standby->safe_psql('postgres', "SET blogstore.current_user_id = '$who'; SET ROLE web; SELECT count(*) FROM web.get_post('$post')");
}
is(sees($author) . sees('') . sees('00000000-0000-7000-8000-000000000099'), '100', 'standby: wrappers show it to its author alone');
is($standby->safe_psql('postgres', "SELECT hidden FROM blogstore.list_user_posts('$author', NULL, include_hidden => true) WHERE id = kit.p(81)"),
	't', 'standby: its author finds it');
is($standby->safe_psql('postgres', 'SELECT (SELECT count(*) FROM blogstore.list_post_comments(kit.p(7), NULL, include_hidden => true)) - count(*) FROM blogstore.list_post_comments(kit.p(7), NULL)'),
	'1', 'standby: and whoever asks for them hidden comments');
$primary->safe_psql('postgres', "SELECT blogstore.hide_post(kit.p(81), false), blogstore.delete_comment(kit.p(7), kit.c(900))");
is($standby->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'"),
	'0', 'standby: no worker');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM blogstore.stat_worker'),
	'1', 'standby: stat_worker answers');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM blogstore.progress'),
	'0', 'standby: progress answers');

is(sqlstate($standby, 'postgres', $_), '25006, hint', "standby: $_ is refused")
  for "create_user('x')", "edit_user(kit.u(1), 'x')",
  'follow_user(kit.u(1), kit.u(2))', 'unfollow_user(kit.u(1), kit.u(3))',
  'hide_post(kit.p(1))', 'publish_post(kit.p(900))', "schedule_post(kit.p(1), '2200-01-01')",
  "create_post(kit.u(1), 'x', 'x')", "edit_post(kit.p(1), 'x')",
  "create_comment(kit.p(1), kit.u(1), 'x')",
  'create_like(kit.p(1), kit.u(9))', "edit_comment(kit.p(1), kit.c(11), 'x')",
  'delete_like(kit.p(1), kit.u(1))', 'delete_comment(kit.p(1), kit.c(11))',
  'delete_post(kit.p(1))', 'delete_user(kit.u(1))', 'wait_for_views()', 'wait_for_posts()',
  'rebuild_views()', 'repair()', 'start_worker()', 'stop_worker()';

# A standby has no topics of another property.
set_and_reload($standby, 'blogstore.topic_property', 'other');
is(sqlstate($standby, 'postgres', 'list_topics()'), '55000, hint', 'standby: there are no topics of another property');
set_and_reload($standby, 'blogstore.topic_property', 'tags');
is($standby->safe_psql('postgres', 'SELECT topic, post_count FROM blogstore.list_topics(page_size => 1)'), 'all|20', 'standby: there are those of the same property');

# Changes of every kind reach the standby.
$primary->safe_psql(
	'postgres', q{
SELECT blogstore.create_post(kit.u(1), 'newest', repeat('x', 300), kit.p(500), kit.d(500));
SELECT blogstore.create_like(kit.p(500), kit.u(1));
SELECT blogstore.delete_post(kit.p(150));
SELECT blogstore.edit_post(kit.p(149), 'edited');
SELECT blogstore.edit_user(kit.u(2), 'renamed');
SELECT blogstore.delete_user(kit.u(3));
SELECT kit.views_follow();
});
$queries[1] = "get_user_by_name('RENAMED')";
check_queries('after changes', @topics);

# A session that has read before learns that the views are no longer kept
my $session = $standby->background_psql('postgres');
is($session->query_safe('SELECT title FROM blogstore.list_feed(1)'),
	'newest', 'standby: a session reads the feed');
$primary->safe_psql(
	'postgres', q{
SET client_min_messages = error;
SELECT blogstore.stop_worker();
SELECT blogstore.create_post(kit.u(1), 'without a worker', 'x', kit.p(501), kit.d(501));
});
catch_up();
is($session->query_safe('SELECT title FROM blogstore.list_feed(1)'),
	'without a worker', 'standby: stopped on the primary, list_feed() answers from the posts container');
is($session->query_safe('SELECT title FROM blogstore.list_user_posts(kit.u(1), 1)'),
	'without a worker', 'standby: and list_user_posts() too');
check_queries('stopped on the primary');
is(sqlstate($standby, 'postgres', $_), '55000, hint', "standby: stopped on the primary, no $_") for @topics;
my $gate = $primary->background_psql('postgres');
$gate->query_safe('BEGIN; LOCK TABLE blogstore.feed IN SHARE MODE');
$primary->safe_psql('postgres', 'SELECT blogstore.start_worker()');
catch_up();
is($session->query_safe('SELECT title FROM blogstore.list_feed(1)'),
	'without a worker', 'standby: until the views are built, list_feed() answers from the posts container');
$gate->query_safe('COMMIT');
$gate->quit;
check_store($primary, 'postgres', 'started again on the primary');
check_queries('started again on the primary', @topics);
is($session->query_safe('SELECT title FROM blogstore.list_feed(1)'),
	'without a worker', 'standby: the session reads the feed again');
$session->quit;

# After promotion the worker starts, creates a slot and builds the views
# without manual steps. They include what the primary's worker had not yet
# written.
my $holder = $primary->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE blogstore.feed IN SHARE MODE');
$primary->safe_psql('postgres',
	"SELECT blogstore.create_post(kit.u(1), 'not shown', 'x', kit.p(502), kit.d(502))");
catch_up();
$primary->stop('immediate');
$holder->{run}->finish;
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1)'),
	'not shown', 'promoted: list_feed() is right at once');
check_store($standby, 'postgres', 'promoted');
is($standby->safe_psql('postgres', q{SELECT string_agg(topic || ' ' || post_count, ', ') FROM blogstore.list_topics(); SELECT hidden, publish_date = '2200-01-01' FROM blogstore.get_post(kit.p(900))}),
	"all 18, topic 0 5, topic 1 7, topic 2 6\nt|t", 'promoted: topics and a scheduled post');
is( $standby->safe_psql(
		'postgres', 'SELECT w.state, s.plugin, s.active FROM blogstore.stat_worker w JOIN pg_replication_slots s ON s.slot_name = w.slot'),
	'running|blogstore|t',
	'promoted: a worker runs on a slot of its own');
$standby->safe_psql('postgres',
	"SELECT blogstore.create_like(kit.p(502), kit.u(1))");
check_store($standby, 'postgres', 'promoted, worked on');

done_testing();
