
# pg_upgrade keeps the store, its views and queued jobs. The test first stops
# the worker and drops its slot, as the manual advises. Then it leaves that
# out, which works where pg_upgrade ignores logical slots.

use strict;
use warnings;
use Cwd;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $bindir;

# Run pg_upgrade from a stopped server to a new one. Returns whether it
# succeeded, and its output.
sub upgrade
{
	my ($old, $new) = @_;
	my $cwd = getcwd();
	my ($out, $err) = ('', '');

	# pg_upgrade writes a script to the current directory.
	chdir $PostgreSQL::Test::Utils::tmp_check;
	my $done = IPC::Run::run(
		[
			'pg_upgrade', '--no-sync',
			'--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
			'--old-bindir', $bindir, '--new-bindir', $bindir,
			'--socketdir', $new->host,
			'--old-port', $old->port, '--new-port', $new->port
		],
		'>', \$out,
		'2>&1');
	chdir $cwd;
	note $out unless $done;
	return ($done, $out);
}

# Start a server with a store, in which a rename and a deletion are queued and
# changes are not in the views yet.
sub old_server
{
	my ($name) = @_;
	my $node = new_server($name);

	$node->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE second');
	for my $dbname ('postgres', 'second')
	{
		create_store($node, $dbname);
		fill_store($node, $dbname, 10, 130);
		fill_lists($node, $dbname, 10);
		check_store($node, $dbname, "$name, $dbname");
	}
	my $lists = show_lists($node, 'second');
	like($lists, qr/^all\|20\|.*\|scheduled\|/ms, "$name: there are topics, and a scheduled post");
	my $holder = hold_worker($node, 'postgres');
	$node->safe_psql(
		'postgres', q{
SELECT blogstore.create_post(kit.u(1), 'not shown', 'x', kit.p(500), kit.d(500));
SELECT blogstore.delete_post(kit.p(129));
SELECT blogstore.edit_post(kit.p(128), 'edited');
SELECT blogstore.edit_user(kit.u(3), 'renamed');
SELECT blogstore.delete_user(kit.u(4));
SELECT blogstore.rebuild_views();
});
	return ($node, $holder, $lists);
}

# "lists" is what show_lists() returned for the database "second".
sub check_upgraded
{
	my ($node, $name, $lists) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	check_store($node, $_, "$name, $_") for 'postgres', 'second';
	is($node->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1); SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(3); SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(4); SELECT count(*) FROM blogstore.progress'),
		"not shown\nrenamed\n0\n0", "$name: the queued jobs are done");
	ok(show_lists($node, 'second') eq $lists, "$name: follows, home feeds, topics and scheduled posts are as before");
	is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT user_username, ', ') FROM blogstore.list_following(kit.u(3), NULL);
SELECT count(*) FROM blogstore.users WHERE type = 'follow' AND kit.u(4) IN (user_id, followed_id);
SELECT string_agg(topic || ' ' || post_count, ', ') FROM blogstore.list_topics();
SELECT g.title, q.publish_date = g.publish_date, g.publish_date = '2200-01-01', g.hidden FROM blogstore.publish_queue AS q, blogstore.get_post(q.post_id) AS g}),
		"renamed\n0\nall 18, topic 0 5, topic 1 6, topic 2 7\nscheduled|t|t|t", "$name: so are those that changed");
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_replication_slots WHERE plugin = 'blogstore' AND active"),
		'2', "$name: each worker has its slot");
	is(scalar slots_made($node, 0), 2, "$name: each worker logs once that it rebuilds the views");
	is($node->safe_psql($_, 'SELECT last_error FROM blogstore.stat_worker'), '', "$name, $_: no error stays") for 'postgres', 'second';
	$node->safe_psql($_, "SELECT blogstore.create_like(kit.p(500), kit.u(9)) FROM blogstore.get_post(kit.p(500)); SELECT blogstore.create_post(kit.u(1), 'new', 'x', kit.p(501), kit.d(501))")
	  for 'postgres', 'second';
	check_store($node, $_, "$name, worked on, $_") for 'postgres', 'second';
	return;
}

# ---- As advised

my ($old, $holder, $lists) = old_server('old');
$bindir = $old->config_data('--bindir');
$holder->quit;
$old->safe_psql($_, 'SELECT blogstore.stop_worker(drop_slot => true)') for 'postgres', 'second';
$old->stop;
my $new = new_server('new');
$new->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
my ($done, $out) = upgrade($old, $new);
ok($done, 'as advised: pg_upgrade succeeds');
$new->start;
# The launcher looks at each database once, and finds the worker stopped.
wait_until($new, 'postgres', 'SELECT state FROM blogstore.stat_worker', 'stopped');
is($new->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'),
	'0', 'as advised: the worker stays stopped');
is($new->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1); SELECT count(*) FROM blogstore.list_feed(NULL); SELECT count(*) FROM blogstore.get_user(kit.u(4))'),
	"not shown\n117\n0", 'as advised: before it starts, requests are answered rightly');
is($new->safe_psql('postgres', q{SELECT string_agg(right(user_id::text, 2), ' ' ORDER BY user_id) FROM blogstore.list_followers(kit.u(1), NULL);
SELECT count(*) FROM blogstore.list_followers(kit.u(4), NULL);
SELECT count(DISTINCT user_id) FROM blogstore.list_home_feed(kit.u(1), NULL);
SELECT hidden, publish_date = '2200-01-01' FROM blogstore.get_post(kit.p(900))}),
	"03 06 07 09 10\n0\n5\nt|t", 'as advised: follows and scheduled posts, too');
$new->safe_psql($_, 'SELECT blogstore.start_worker()') for 'postgres', 'second';
check_upgraded($new, 'as advised', $lists);
my $version = $new->safe_psql('postgres', 'SHOW server_version_num');
$new->stop;

# ---- Without the manual's advice

my $careless;
($careless, $holder, $lists) = old_server('careless');
$careless->stop('fast');
$holder->{run}->finish;
my $copy = new_server('copy');
$copy->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
($done, $out) = upgrade($careless, $copy);
if ($version < 170000)
{
	ok($done, 'without advice: pg_upgrade succeeds');
	$copy->start;
	check_upgraded($copy, 'without advice', $lists);
}
else
{
	# This pg_upgrade migrates logical slots, and refuses slots that are not
	# read to the end.
	ok(!$done, 'without advice: pg_upgrade refuses');
	like($out, qr/Checking (for valid )?logical replication slots\s+fatal/i,
		'without advice: because of the slots');
	$careless->start;
	check_store($careless, $_, "without advice, the old server again, $_") for 'postgres', 'second';
}

done_testing();
