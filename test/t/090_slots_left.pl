
# No slot is left behind for good. The launcher drops the slot of a stopped
# worker when its containers are gone, and warns of a slot whose database it
# cannot look into. stop_worker(drop_slot => true) works in every state.
# drop_slots() drops all slots. A server starts with a lower wal_level after
# the steps that the manual names, and not before.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('slots');
$node->start;

my $quiet = 'SET client_min_messages = error;';

sub create_stopped
{
	my ($dbname, $owner) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	$node->safe_psql($dbname, 'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(4' . ($owner ? ", owner => '$owner'" : '') . ')');
	is($node->safe_psql($dbname, "SELECT blogstore.wait_for_views('10 min')"), 't', "$dbname: the worker runs");
	$node->safe_psql($dbname, "$quiet SELECT blogstore.stop_worker()");
	is(slots("database = '$dbname'"), 1, "$dbname: stopped, with a slot");
	return;
}

sub slots
{
	my ($condition) = @_;

	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_replication_slots WHERE plugin = 'blogstore' AND $condition");
}

sub refused
{
	my ($dbname, $sql) = @_;
	my $told = ($node->psql($dbname, $sql, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]))[2];

	return $told =~ /ERROR:  (\w+)/ ? $1 : 'ok';
}

# The launcher looks once a minute, and when the configuration is reloaded.
sub slot_goes
{
	my ($dbname, $name) = @_;

	$node->reload;
	wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_replication_slots WHERE database = '$dbname'");
	pass("$name: the launcher has the slot dropped");
	return;
}

# ---- The containers of a stopped worker are gone

$node->safe_psql('postgres', 'CREATE ROLE blog');
create_stopped('owned', 'blog');
create_stopped('dropped');
create_stopped('stays');
$node->safe_psql('owned', 'DROP OWNED BY blog');
# Before the commit, no worker finds the containers dropped.
like($node->safe_psql('dropped', 'BEGIN; DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.topics CASCADE; SELECT state, hint FROM blogstore.stat_worker; COMMIT'),
	qr/^no containers\|.*stop_worker\(drop_slot => true\) to drop the slot/, 'stat_worker says that a slot was left behind');
slot_goes('owned', 'DROP OWNED');
slot_goes('dropped', 'DROP TABLE');
# The launcher starts one worker after another, in the order of the databases'
# entries. So when the slot of a later database is gone, a worker has been
# started in this one.
create_stopped('later');
$node->safe_psql('later', 'DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.topics CASCADE');
slot_goes('later', 'a later one');
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
is(slots("database = 'stays'"), 1, 'a stopped worker with containers keeps its slot');
is($node->safe_psql('stays', 'SELECT state FROM blogstore.stat_worker'), 'stopped', '... and stays stopped');

$node->safe_psql('stays', 'SELECT blogstore.start_worker()');
is($node->safe_psql('stays', "SELECT blogstore.wait_for_views('10 min')"), 't', '... until it is started');
$node->safe_psql('stays', "$quiet SELECT blogstore.stop_worker()");

# The launcher of a server that starts looks at all databases, so no process
# has to remember what was dropped before.
create_stopped('restarted', 'blog');
create_stopped('restarted_too');
create_stopped('restarted_template');
$node->safe_psql('restarted', 'DROP OWNED BY blog');
$node->safe_psql('restarted_too', 'DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.topics CASCADE');
$node->safe_psql('postgres', 'ALTER DATABASE restarted_template IS_TEMPLATE true');
$node->stop('immediate');
$node->start;
slot_goes($_, "$_ at once") foreach 'restarted', 'restarted_too', 'restarted_template';
is(slots("database = 'stays'"), 1, '... and a stopped worker with containers keeps its slot');

# ---- A template, and a database that accepts no connections

create_stopped('pattern');
$node->safe_psql('postgres', 'ALTER DATABASE pattern IS_TEMPLATE true');
slot_goes('pattern', 'IS_TEMPLATE');
$node->safe_psql('postgres', 'ALTER DATABASE pattern IS_TEMPLATE false');
$node->safe_psql('pattern', 'SELECT blogstore.start_worker()');
is($node->safe_psql('pattern', "SELECT blogstore.wait_for_views('10 min')"), 't', 'it has a worker again once it is no template');
$node->safe_psql('pattern', 'SELECT blogstore.stop_worker(drop_slot => true)');

create_stopped('closed');
# A worker that still runs in such a database uses its slot.
$node->safe_psql('stays', 'SELECT blogstore.start_worker()');
is($node->safe_psql('stays', "SELECT blogstore.wait_for_views('10 min')"), 't', 'a worker runs');
my $dump = $PostgreSQL::Test::Utils::tmp_check . '/tables.sql';
$node->command_ok([ 'pg_dump', '--file', $dump, '--dbname', $node->connstr('stays'), '--schema', 'blogstore' ], 'its tables are dumped');
my $log = -s $node->logfile;
$node->safe_psql('postgres', 'ALTER DATABASE stays ALLOW_CONNECTIONS false; ALTER DATABASE closed ALLOW_CONNECTIONS false');
$node->reload;
my $closed = qr/WARNING:.*replication slot "blogstore_[0-9]+" of database "closed" keeps [0-9]+ MB of WAL/;
$node->wait_for_log($closed, $log);
like(slurp_file($node->logfile, $log), qr/$closed.*?HINT:[^\n]*pg_drop_replication_slot\('blogstore_[0-9]+'\)/s,
	'the launcher warns of a slot in a database that accepts no connections');
unlike(slurp_file($node->logfile, $log), qr/database "stays"/, '... but not while a worker uses it');
$node->safe_psql('postgres', 'ALTER DATABASE stays ALLOW_CONNECTIONS true');
$node->safe_psql('stays', "$quiet SELECT blogstore.stop_worker()");
is(slots("database = 'closed'"), 1, '... and leaves it');
# The slot of another database gets the place in memory of one that is dropped.
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = 'closed'");
create_stopped('closed_too');
$node->safe_psql('postgres', 'ALTER DATABASE closed_too ALLOW_CONNECTIONS false');
$node->reload;
$node->wait_for_log(qr/WARNING:.*of database "closed_too" keeps [0-9]+ MB of WAL/, $log);
pass('the launcher warns of a slot in the place of one that it has warned of');

# ---- stop_worker() and drop_slots() in odd states

create_stopped('bare');
$node->safe_psql('bare', 'DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.topics CASCADE');
like(($node->psql('bare', 'SELECT blogstore.stop_worker()'))[2], qr/containers/, 'without containers there is nothing to stop');
$node->safe_psql('bare', 'SELECT blogstore.stop_worker(drop_slot => true)');
is(slots("database = 'bare'"), 0, '... but the slot can be dropped');
$node->safe_psql('bare', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->safe_psql('bare', 'SELECT blogstore.create_containers(4)');
is($node->safe_psql('bare', "SELECT blogstore.wait_for_views('10 min')"), 't', 'new containers have a worker');
# Tables that a dump restores are found, too.
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', 'CREATE EXTENSION blogstore; SELECT blogstore.stop_worker(drop_slot => true)');
$node->command_ok([ 'psql', '-X', '-q', '-f', $dump, $node->connstr('restored') ], 'tables are restored by a dump');
wait_until($node, 'restored', "SELECT state = 'running' FROM blogstore.stat_worker");
$node->safe_psql('restored', 'SELECT blogstore.stop_worker(drop_slot => true)');

$node->safe_psql('postgres', 'CREATE ROLE visitor');
is(refused('bare', 'SET ROLE visitor; SELECT blogstore.drop_slots()'), '42501', 'drop_slots() is for superusers');
my $used = $node->safe_psql('postgres', "SELECT slot_name FROM pg_replication_slots WHERE database = 'bare'");
my ($status, $out, $told) = $node->psql('bare', 'SELECT count(*) FROM blogstore.drop_slots()');
is($out, '2', 'drop_slots() drops the slots of all databases');
like($told, qr/WARNING:  replication slot "$used" was not dropped, because a process uses it\nHINT:  Call blogstore.stop_worker\(drop_slot => true\) in database "bare"\./,
	'... but not that of a running worker');
is(slots("slot_name <> '$used'"), 0, '... and leaves no other one');
$node->safe_psql('bare', "$quiet SELECT blogstore.stop_worker()");
is($node->safe_psql('bare', 'SELECT * FROM blogstore.drop_slots()'), $used, '... until that worker is stopped');
is(slots('true'), 0, '... and none is left');

# ---- The library is removed first

$node->safe_psql($_, 'SELECT blogstore.start_worker()') foreach 'bare', 'stays';
is($node->safe_psql($_, "SELECT blogstore.wait_for_views('10 min'); SELECT last_error IS NULL FROM blogstore.stat_worker"), "t\nt", "$_: a worker again, without an error")
  foreach 'bare', 'stays';
$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->start;
like($node->safe_psql('bare', 'SELECT state, hint FROM blogstore.stat_worker'),
	qr/^disabled\|.*does not start with wal_level below (?:logical|replica); blogstore.stop_worker\(drop_slot => true\)/, 'stat_worker names the danger and the call');
$node->safe_psql('bare', 'SELECT blogstore.stop_worker(drop_slot => true)');
is(slots("database = 'bare'"), 0, 'stop_worker() drops the slot without the library');
is(refused('bare', 'SELECT blogstore.stop_worker()'), '55000', '... and without drop_slot asks for the library');
my $left = worker_slot($node, 'stays');
$node->safe_psql('stays', 'DROP EXTENSION blogstore');
is(slots('true'), 1, 'DROP EXTENSION leaves the slot then');

# ---- wal_level is lowered before the slot is dropped

$log = -s $node->logfile;
$node->stop;
wal_level_too_low($node);
ok(!$node->start(fail_ok => 1), 'the server does not start with a lower wal_level');
like(slurp_file($node->logfile, $log), qr/FATAL: .* replication slot "$left" exists, but "?wal_level"? < "?@{[ decoding_level($node) ]}/, '... because of the slot');
$node->append_conf('postgresql.conf', 'wal_level = ' . decoding_level($node) . "\n");
$node->start;
is($node->safe_psql('bare', 'SELECT * FROM blogstore.drop_slots()'), $left, 'with the old wal_level it starts, and drop_slots() drops the slot');
$node->stop;
wal_level_too_low($node);
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'then it starts with a lower wal_level');
$node->stop;

done_testing();
