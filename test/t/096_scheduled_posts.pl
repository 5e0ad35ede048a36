
# Scheduled posts are published when their date has come, or when a worker runs
# again after it. set_back.c changes the clocks of these servers alone.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use BlogstoreWorker qw(:DEFAULT hold release);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $HOUR = 3600;
my $node = new_server('scheduled');
my $clock = $node->basedir . '/clock';

set_clock($clock, 0);
start_preloaded($node, 'set_back', CLOCK_OFFSET => $clock);
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 20);

# The dates of this test, in hours after its beginning
my $begin = $node->safe_psql('postgres', "SELECT date_trunc('second', now())");
sub hour { return "(timestamptz '$begin' + interval '$_[0] hours')" }

sub schedule
{
	my ($server, $from, $n, $hour, $user) = @_;

	$user //= 1;
	$server->safe_psql('postgres',
		"SELECT blogstore.create_post(kit.u($user), 'scheduled ' || n, 'content', kit.p(n), publish_date => "
		  . hour($hour) . ") FROM generate_series($from, $from + $n - 1) n; SELECT blogstore.wait_for_views('10 min')");
	return;
}

# How many of n posts are hidden, scheduled, and shown with the date of an hour
sub states
{
	my ($server, $from, $n, $hour) = @_;

	return $server->safe_psql('postgres',
		"SELECT count(*) FILTER (WHERE hidden), count(publish_date), count(*) FILTER (WHERE NOT hidden AND creation_date = "
		  . hour($hour) . ") FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM generate_series($from, $from + $n - 1) n))");
}

sub wait_published
{
	my ($server, $n, $hour) = @_;

	wait_until($server, 'postgres',
		"SELECT count(*) FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE AND creation_date = " . hour($hour), $n);
	return;
}

# Check that the views are right, also where posts are hidden.
sub check_views
{
	my ($server, $dbname, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($server->safe_psql($dbname, q{SELECT blogstore.wait_for_views('10 min'); SELECT * FROM blogstore.verify(); SELECT * FROM kit.wrong_counts()}),
		't', "$name: the views and counts are right");
	return;
}

# ---- A thousand at once. Some of them change before, or are locked

schedule($node, 1001, 1000, 1);
schedule($node, 3001, 10, 1, 5);
schedule($node, 3101, 5, 1);
is(states($node, 1001, 1000, 1), '1000|1000|0', 'posts are scheduled');
check_views($node, 'postgres', 'scheduled');
$node->safe_psql('postgres', "SELECT blogstore.delete_user(kit.u(5)), blogstore.delete_post(kit.p(3101)), blogstore.hide_post(kit.p(3102)),
	blogstore.schedule_post(kit.p(3103), NULL), blogstore.schedule_post(kit.p(3104), " . hour(3) . '), blogstore.publish_post(kit.p(3105))');
# Two transactions change scheduled posts, and end after the date.
my @open = (
	hold($node, 'postgres', 'SELECT blogstore.hide_post(kit.p(1001)), blogstore.edit_post(kit.p(1002), content => $$edited$$)'),
	hold($node, 'postgres', 'SELECT blogstore.schedule_post(kit.p(1003), ' . hour(3) . '), blogstore.delete_post(kit.p(1004))'),
	hold($node, 'postgres', 'SELECT FROM blogstore.posts WHERE type = $$post$$ AND post_id = kit.p(1005) FOR UPDATE'));
set_clock($clock, 2 * $HOUR);
wait_published($node, 995, 1);
wait_until($node, 'postgres', 'SELECT count(*) FROM blogstore.publish_queue WHERE retry_at IS NOT NULL', 5);
is(states($node, 1001, 5, 1), '5|5|0', 'those that are locked wait, and no others');
release($_) for @open;
wait_published($node, 997, 1);
is(states($node, 1001, 1, 1), '1|0|0', 'hidden at the same moment: hidden');
is(states($node, 1002, 1, 1), '0|0|1', 'edited at the same moment: published');
is($node->safe_psql('postgres', 'SELECT content FROM blogstore.get_post(kit.p(1002))'), 'edited', 'and edited');
is(states($node, 1003, 1, 1), '1|1|0', 'given a later date at the same moment: scheduled');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.get_posts(ARRAY[kit.p(1004), kit.p(3101), kit.p(3001)])'), '0', 'deleted posts do not come back');
is(states($node, 3102, 4, 1), '3|1|0', 'changed before: hidden, cancelled, later, published');
wait_until($node, 'postgres', 'SELECT count(*) FROM blogstore.publish_queue', 2);
check_views($node, 'postgres', 'a thousand at once');
is($node->safe_psql('postgres', 'SELECT count(*), bool_and(creation_date = ' . hour(1) . ') FROM blogstore.list_feed(50)'), '50|t', 'they head the feed');

# ---- The clock is set back, and forward again

set_clock($clock, 0);
is(states($node, 1006, 995, 1), '0|0|995', 'set back: what is published stays so');
schedule($node, 3201, 1, 0.5);
is(states($node, 3201, 1, 0.5), '1|1|0', 'set back: a date is to come again');
set_clock($clock, 1 * $HOUR);
wait_published($node, 1, 0.5);
is(states($node, 3104, 1, 3), '1|1|0', 'the others wait');
set_clock($clock, 4 * $HOUR);
wait_published($node, 2, 3);
check_views($node, 'postgres', 'clock set back');

# ---- A post that the worker cannot change, and the clock set back meanwhile

$node->safe_psql('postgres', q{
CREATE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN EXECUTE 'DO $x$ BEGIN RAISE ''refused''; END $x$'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON blogstore.posts FOR EACH ROW WHEN (OLD.title = 'scheduled 3301') EXECUTE FUNCTION kit.refuse()});
my $log = log_end($node);
schedule($node, 3301, 1, 4.5);
set_clock($clock, 1000 * $HOUR);
wait_until($node, 'postgres', 'SELECT count(*) FROM blogstore.publish_queue WHERE retry_at IS NOT NULL', 1);
is($node->safe_psql('postgres', 'SELECT last_error, state FROM blogstore.stat_worker'), 'refused|running', 'stat_worker tells what is refused');
like(join("\n", logged($node, $log, qr/could not publish|DETAIL:  The post|PL.pgSQL function/)),
	qr{could not publish a scheduled post and will retry in [0-9]+ s: refused\n.*DETAIL:  The post is [-0-9a-f]{36}\.\n.*CONTEXT:  PL/pgSQL function inline_code_block line 1 at RAISE\n\s*PL/pgSQL function kit\.refuse\(\) line 1 at EXECUTE},
	'the log names the post and the function');
# An error that tells of another transaction, if it lasts, or that a remote
# server has sent
foreach my $code ('55P03', '40001', '57014')
{
	$node->safe_psql('postgres', "CREATE OR REPLACE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS \$\$ BEGIN RAISE 'refused, %', '$code' USING ERRCODE = '$code'; END \$\$; UPDATE blogstore.publish_queue SET retry_at = NULL; SELECT blogstore.rebuild_views()");
	wait_until($node, 'postgres', 'SELECT last_error FROM blogstore.stat_worker', "refused, $code");
	is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'), 'running', "an error $code is shown");
}
$node->safe_psql('postgres', 'DROP TRIGGER refuse ON blogstore.posts');
set_clock($clock, 5 * $HOUR);
wait_published($node, 1, 4.5);
pass('it is tried again, although the clock was set back');
wait_until($node, 'postgres', 'SELECT last_error IS NULL FROM blogstore.stat_worker');

# ---- verify() beside a worker that is late, and a damaged queue

# Under this origin, the worker does not notice a change.
my $UNNOTICED = q{SELECT pg_replication_origin_session_setup('blogstore_worker')};
my $found = 'SELECT container, problem, count(*) FROM blogstore.verify() GROUP BY 1, 2 ORDER BY 1, 2';

schedule($node, 3401, 20, 2000);
schedule($node, 3431, 4, 2000);
$node->safe_psql('postgres', q{SELECT blogstore.schedule_post(kit.p(3430 + n), NULL) FROM generate_series(1, 4) n; DELETE FROM blogstore.publish_queue WHERE post_id IN (SELECT kit.p(3430 + n) FROM generate_series(1, 4) n); SELECT blogstore.wait_for_views('10 min')});
my $holder = hold_worker($node, 'postgres');
my %change = (
	'posts are scheduled' => 'blogstore.create_post(kit.u(2), $$later$$, $$content$$, kit.p(3420 + n), publish_date => ' . hour(2000) . ')',
	'drafts are scheduled' => 'blogstore.schedule_post(kit.p(3430 + n), ' . hour(2000) . ')',
	'dates are changed' => 'blogstore.schedule_post(kit.p(3400 + n), ' . hour(2001) . ')',
	'schedules are cancelled' => 'blogstore.schedule_post(kit.p(3405 + n), NULL)',
	'posts are published' => 'blogstore.publish_post(kit.p(3410 + n))',
	'posts are deleted' => 'blogstore.delete_post(kit.p(3415 + n))');
foreach my $name (sort keys %change)
{
	$node->safe_psql('postgres', "SELECT count($change{$name}) FROM generate_series(1, 4) n");
	is($node->safe_psql('postgres', $found), '', "the worker is late: $name");
}
$node->safe_psql('postgres', 'DELETE FROM blogstore.publish_queue WHERE post_id = kit.p(3405)');
is($node->safe_psql('postgres', $found), 'publish_queue|missing copy|1', 'beside that, damage is shown');
$holder->quit;
$node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')});
is($node->safe_psql('postgres', $found), 'publish_queue|missing copy|1', 'and when the worker has caught up');
# A post whose date has come, which the worker does not know
$node->safe_psql('postgres', "$UNNOTICED; UPDATE blogstore.posts SET publish_date = " . hour(4.75) . ' WHERE type = $$post$$ AND post_id = kit.p(3402)');
is($node->safe_psql('postgres', $found), "publish_queue|missing copy|1\npublish_queue|stale copy|1\nusers|stale copy|1", 'a date that the worker does not know');
is($node->safe_psql('postgres', 'SELECT blogstore.repair()'), '3', 'repair()');
wait_published($node, 1, 4.75);
is(states($node, 3405, 1, 2000), '1|1|0', 'the worker publishes the post whose date has come');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.publish_queue WHERE post_id = kit.p(3405) AND publish_date = ' . hour(2000)), '1', 'and will look at the other');
check_views($node, 'postgres', 'a damaged queue');

# ---- No server, no worker at that moment

schedule($node, 4001, 20, 6);
$node->stop;
set_clock($clock, 7 * $HOUR);
start_preloaded($node, 'set_back', CLOCK_OFFSET => $clock);
wait_published($node, 20, 6);
is(states($node, 4001, 20, 6), '0|0|20', 'the server was down');

$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(2), 'scheduled ' || n, 'content', kit.p(n), publish_date => " . hour(8) . ') FROM generate_series(4101, 4120) n');
set_clock($clock, 9 * $HOUR);
is(states($node, 4101, 20, 8), '20|20|0', 'without a worker nothing is published');
is($node->safe_psql('postgres', 'SELECT hidden, creation_date = ' . hour(8.5) . ", publish_date FROM blogstore.create_post(kit.u(2), 'past', 'x', kit.p(4121), publish_date => " . hour(8.5) . ')'),
	'f|t|', 'but a request does it if the date has passed');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_published($node, 20, 8);
check_views($node, 'postgres', 'the worker was stopped');

# ---- kill -9 of the worker while it publishes

schedule($node, 5001, 600, 10);
schedule($node, 5701, 50, 10.5);
close_gate($node, 'postgres', 'gate', 'LOCK TABLE ONLY blogstore.posts_p02_post IN SHARE MODE');
my ($there, $later) = split /\|/, $node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE title < 'scheduled 5700'), count(*) FILTER (WHERE title > 'scheduled 5700') FROM blogstore.posts_p02_post WHERE title LIKE 'scheduled 5___'});
set_clock($clock, 11 * $HOUR);
wait_published($node, 600 - $there, 10);
wait_published($node, 50 - $later, 10.5);
cmp_ok($there, '>', 100, 'a locked table holds up its posts alone, although they are more than the worker reads at once, and due first');
kill_worker($node, 'postgres');
is($node->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts_p02_post WHERE title LIKE 'scheduled 5___' AND hidden}), $there + $later, 'they are left when the worker is killed');
open_gate($node, 'postgres', 'gate');
wait_published($node, 600, 10);
wait_published($node, 50, 10.5);
check_views($node, 'postgres', 'worker killed while it publishes');
is(states($node, 5001, 600, 10), '0|0|600', 'each is published with its date');

# ---- A dump that is restored after the date

schedule($node, 6001, 20, 12);
my $dump = $node->basedir . '/dump';
command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
set_clock($clock, 13 * $HOUR);
wait_published($node, 20, 12);
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'restore');
# The first request starts the worker of the restored database.
is($node->safe_psql('restored', "SELECT blogstore.wait_for_views('10 min')"), 't', 'restored: the views follow');
wait_until($node, 'restored', "SELECT count(*) FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE AND creation_date = " . hour(12), 20);
check_views($node, 'restored', 'a dump restored after the date');

# ---- A standby, whose clock is ahead

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
my $ahead = $standby->basedir . '/clock';
set_clock($ahead, 15 * $HOUR);
start_preloaded($standby, 'set_back', CLOCK_OFFSET => $ahead);
schedule($node, 7001, 20, 14);
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is(states($standby, 7001, 20, 14), '20|20|0', 'a standby publishes nothing');
is(sqlstate($standby, 'postgres', 'schedule_post(kit.p(7001), NULL)'), '25006, hint', 'and cancels nothing');
$node->stop;
$standby->promote;
wait_published($standby, 20, 14);
check_views($standby, 'postgres', 'promoted');

# ---- Topics, and the home feed of a follower

my $lists = new_server('lists');
my $lists_clock = $lists->basedir . '/clock';

$lists->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\ntrack_commit_timestamp = on");
set_clock($lists_clock, 0);
start_preloaded($lists, 'set_back', CLOCK_OFFSET => $lists_clock);
create_store($lists, 'postgres');
$lists->safe_psql('postgres', q{
SELECT blogstore.create_user('user ' || n, kit.u(n)) FROM generate_series(1, 2) AS n;
SELECT blogstore.follow_user(kit.u(2), kit.u(1));
SELECT blogstore.create_post(kit.u(1), 'shown', 'content', kit.p(1), properties => '{"tags": "old"}')});
$lists->safe_psql('postgres', q{SELECT blogstore.create_post(kit.u(1), 'draft', 'content', kit.p(2), properties => '{"tags": ["old", "new"]}', publish_date => } . hour(1) . ')');

# The lists of topics, of the posts of each topic, and the home feed
sub lists
{
	return $lists->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min');
SELECT (SELECT string_agg(topic || ' ' || post_count, ', ' ORDER BY topic) FROM blogstore.list_topics()),
	(SELECT string_agg(title, ', ' ORDER BY creation_date) FROM blogstore.list_topic_posts('old')),
	(SELECT string_agg(title, ', ' ORDER BY creation_date) FROM blogstore.list_topic_posts('new')),
	(SELECT string_agg(title, ', ' ORDER BY creation_date) FROM blogstore.list_home_feed(kit.u(2)))});
}

is(lists(), "t\nold 1|shown||shown", 'before its date a post is in no topic, nor in the home feed of a follower');
set_clock($lists_clock, 2 * $HOUR);
wait_published($lists, 1, 1);
is(lists(), "t\nnew 1, old 2|shown, draft|draft|shown, draft", 'after its date it is in both');
check_views($lists, 'postgres', 'topics and home feeds');

# ---- A worker that has nothing else to do wakes for a date
#
# Each post is due 300 ms after its commit, for which the worker wakes. Then
# nothing is written, so the worker's next sleep decides when the post is
# published. If this sleep were not cut short for the date, it would last a
# second, and each post would be published 400 ms late or later. On a slow
# machine a correct worker may be late, too, but not with 98 of 100 posts.

my $in_time = 0;
for my $n (101 .. 200)
{
	last if $in_time == 3;
	my $hidden = $lists->safe_psql('postgres', "SELECT hidden FROM blogstore.create_post(kit.u(1), 'soon', 'content', kit.p($n), publish_date => clock_timestamp() + interval '300 ms')");
	wait_until($lists, 'postgres', "SELECT NOT hidden FROM blogstore.get_post(kit.p($n))");
	$in_time++ if $hidden eq 't' && $lists->safe_psql('postgres', "SELECT pg_xact_commit_timestamp(xmin) - creation_date FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p($n)") =~ /^00:00:00\.[01]/;
}
is($in_time, 3, 'posts are published within 200 ms of the date');

done_testing();
