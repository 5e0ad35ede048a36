
# The worker after a restart of the server: it starts by itself, resumes where
# it stopped, and stays stopped after stop_worker().

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->start;

# A server that preloads the library, without containers, runs only a launcher.
ok($node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'blogstore launcher'"),
	'there is a launcher');
$node->safe_psql('postgres', 'CREATE DATABASE blog');
$node->safe_psql('blog', 'CREATE EXTENSION blogstore');
is($node->safe_psql('blog', 'SELECT state FROM blogstore.stat_worker'),
	'no containers', 'stat_worker: no containers');

# create_containers() starts the worker.
$node->safe_psql('blog', 'SELECT blogstore.create_containers(4)');
create_kit($node, 'blog');
is($node->safe_psql('blog', 'SELECT kit.views_follow()'),
	't', 'the worker starts with the containers');
is( $node->safe_psql(
		'postgres',
		"SELECT datname FROM pg_stat_activity WHERE backend_type = 'blogstore worker'"
	),
	'blog',
	'one worker, in the database with containers');
is( $node->safe_psql(
		'blog',
		'SELECT w.state, s.plugin, s.slot_type, s.database, s.active, s.active_pid = w.pid FROM blogstore.stat_worker w JOIN pg_replication_slots s ON s.slot_name = w.slot'
	),
	'running|blogstore|logical|blog|t|t',
	'the worker holds a slot of the plugin blogstore');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'),
	'1', 'and it is the only slot');
my $slot = $node->safe_psql('blog', 'SELECT slot FROM blogstore.stat_worker');

fill_store($node, 'blog', 10, 130);
check_store($node, 'blog', 'filled');

# Restart fast, immediately, and fast while clients write.
for my $mode ('fast', 'immediate')
{
	$node->safe_psql('blog',
		"SELECT blogstore.create_post(kit.u(1), 'before $mode', 'x')");
	$node->stop($mode);
	$node->start;
	check_store($node, 'blog', "after a stop in mode $mode");
	is( $node->safe_psql(
			'blog', 'SELECT title FROM blogstore.feed ORDER BY creation_date DESC LIMIT 1'
		),
		"before $mode",
		'what was committed before is in the views');
	is($node->safe_psql('blog', 'SELECT slot FROM blogstore.stat_worker'),
		$slot, 'the slot is the same');
	is($node->safe_psql('blog', 'SELECT state FROM blogstore.stat_worker'),
		'running', 'the worker runs');
}

# stop_worker() returns when the worker has ended ...
$node->safe_psql('blog', 'SELECT blogstore.stop_worker()');
is(worker_pid($node, 'blog'), '', 'stopped: there is no worker');
is($node->safe_psql('blog', 'SELECT state FROM blogstore.stat_worker'),
	'stopped', 'stat_worker: stopped');
$node->safe_psql('blog',
	"SELECT blogstore.create_post(kit.u(1), 'while stopped', 'x')");
is($node->safe_psql('blog', 'SELECT title FROM blogstore.list_feed(1)'),
	'while stopped', 'stopped: list_feed() answers from the posts container');

# ... and the worker stays stopped after a restart
$node->restart;
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'blogstore launcher'"
) or die 'no launcher';
is($node->safe_psql('blog', 'SELECT state FROM blogstore.stat_worker'),
	'stopped', 'after a restart: stopped');
$node->safe_psql('blog',
	"SELECT blogstore.create_post(kit.u(1), 'still stopped', 'x')");
is( $node->safe_psql(
		'blog', 'SELECT title FROM blogstore.list_feed(2)'),
	"still stopped\nwhile stopped",
	'after a restart: list_feed() answers from the posts container');
is(sqlstate($node, 'blog', 'wait_for_views()'),
	'55000, hint', 'after a restart: wait_for_views() says so');
# The launcher examines each database once, by a worker that then ends.
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
pass('after a restart: there is no worker');
is( $node->safe_psql(
		'postgres', 'SELECT slot_name, active FROM pg_replication_slots'),
	"$slot|f",
	'the slot is kept');

# stop_worker() does not affect the worker of another database.
$node->safe_psql('postgres', 'CREATE DATABASE other');
create_store($node, 'other');
fill_store($node, 'other', 5, 20);
check_store($node, 'other', 'another database');
is(worker_pid($node, 'blog'), '', 'the first worker is still stopped');
isnt($node->safe_psql('other', 'SELECT slot FROM blogstore.stat_worker'),
	$slot, 'each worker has a slot of its own');

# After start_worker() the worker resumes where it stopped.
$node->safe_psql('blog', 'SELECT blogstore.start_worker()');
check_store($node, 'blog', 'started again');
is($node->safe_psql('blog', 'SELECT slot FROM blogstore.stat_worker'),
	$slot, 'started again: the slot is the same');
$node->restart;
check_store($node, 'blog', 'restarted after start_worker()');
check_store($node, 'other', 'restarted, the other database');

# A terminated worker is started again.
my $pid = worker_pid($node, 'blog');
is( $node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)"),
	't', 'the worker is terminated');
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
  or die 'the worker does not end';
check_store($node, 'blog', 'terminated');
isnt(worker_pid($node, 'blog'), $pid, 'another process has taken over');

# wait_for_views() returns at its timeout; a later call still succeeds.
my $holder = $node->background_psql('blog');
$holder->query_safe(
	"BEGIN; LOCK TABLE blogstore.feed IN EXCLUSIVE MODE");
$node->safe_psql('blog',
	"SELECT blogstore.create_post(kit.u(1), 'held back', 'x')");
is($node->safe_psql('blog', "SELECT blogstore.wait_for_views('300 ms')"),
	'f', 'wait_for_views() is false while the worker is held back');
is($node->safe_psql('blog', "SELECT blogstore.wait_for_views('0')"),
	'f', 'wait_for_views() with no time looks once');
is( $node->safe_psql('blog',
		'SELECT lag_bytes > 0 AND lag_time > interval \'0\' FROM blogstore.stat_worker'),
	't',
	'stat_worker shows the lag');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'blog', 'released');

# The server shuts down while a worker runs. If the worker did not end, pg_ctl
# would time out.
ok($node->stop('fast', fail_ok => 1), 'a fast shutdown does not hang');

done_testing();
