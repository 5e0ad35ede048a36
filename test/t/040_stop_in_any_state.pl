
# stop_worker(drop_slot => true) leaves no slot and no worker that makes one,
# whatever state the worker is in: between failures, blocked, in a template
# database. On a standby it says where to call it.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('any_state');
$node->start;

my $state = 'SELECT state FROM blogstore.stat_worker';
my $drop_slot = 'SELECT blogstore.stop_worker(drop_slot => true)';

sub new_store
{
	my ($dbname) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	create_store($node, $dbname);
	fill_store($node, $dbname, 3, 10);
	check_store($node, $dbname, "$dbname at first");
	return;
}

sub slots
{
	my ($dbname) = @_;

	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_replication_slots WHERE plugin = 'blogstore' AND database = '$dbname'");
}

# Have the launcher look at all slots. It has done so when it has started a
# worker that ends afterwards.
sub launcher_looks
{
	my $pid = worker_pid($node, 'zz_last');

	$node->reload;
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	wait_until($node, 'postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = 'zz_last' AND pid <> $pid");
	return;
}

# ---- A worker that fails again and again

new_store('failing');
my $slot = worker_slot($node, 'failing');
$node->safe_psql('failing', $drop_slot);
$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('$slot')");
$node->safe_psql('failing', 'SELECT blogstore.start_worker()');
wait_until($node, 'failing', $state, 'waiting to restart');
$node->safe_psql('failing', $drop_slot);
is($node->safe_psql('failing', $state), 'stopped', 'waiting to restart: the worker is stopped');
is($node->safe_psql('postgres', "SELECT slot_type FROM pg_replication_slots WHERE slot_name = '$slot'"), 'physical',
	"... and the slot of another program is left");
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
new_store('zz_last');
launcher_looks();
is($node->safe_psql('failing', $state) . slots('failing'), 'stopped0', '... and stays so');
$node->safe_psql('failing', 'SELECT blogstore.start_worker()');
check_store($node, 'failing', 'failing, started');
is($node->safe_psql('failing', 'SELECT last_error FROM blogstore.stat_worker'), '', '... without an error');

# ---- A blocked worker

new_store('altered');
$node->safe_psql('altered', 'ALTER TABLE blogstore.feed RENAME COLUMN title TO caption');
wait_until($node, 'altered', $state, 'blocked');
$node->safe_psql('altered', $drop_slot);
is($node->safe_psql('altered', $state), 'stopped', 'blocked by the feed: the worker is stopped');
launcher_looks();
is($node->safe_psql('altered', $state) . slots('altered'), 'stopped0', '... and stays so');
$node->safe_psql('altered', 'ALTER TABLE blogstore.feed RENAME COLUMN caption TO title; SELECT blogstore.start_worker()');
check_store($node, 'altered', 'altered, mended');

# As long as the containers cannot be served, a worker looks at them.
foreach my $container (qw(users posts))
{
	my $name = "without $container";

	new_store("no_$container");
	$node->safe_psql("no_$container", "ALTER TABLE blogstore.$container RENAME TO other");
	wait_until($node, "no_$container", $state, 'blocked');
	$node->safe_psql("no_$container", $drop_slot);
	wait_until($node, "no_$container", $state, 'blocked');
	is(slots("no_$container"), 0, "$name: there is no slot");
	launcher_looks();
	is(slots("no_$container"), 0, '... and none is made');
	$node->safe_psql("no_$container", "ALTER TABLE blogstore.other RENAME TO $container");
	check_store($node, "no_$container", "$name, mended");
}

# ---- A stopped worker whose tables were altered

# The launcher has a worker look at the slot. Without a container the worker
# cannot read that it was stopped, so it is blocked, which drops the slot.
foreach my $container (qw(users posts))
{
	my $name = "stopped, without $container";
	my $dbname = "no_$container";

	$node->safe_psql($dbname, 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
	is(slots($dbname), 1, "$name: there is a slot at first");
	$node->safe_psql($dbname, "ALTER TABLE blogstore.$container RENAME TO other");
	$node->reload;
	wait_until($node, $dbname, 'SELECT state, last_error FROM blogstore.stat_worker', qq{blocked|container "$container" is missing});
	is(slots($dbname), 0, '... which is dropped');
	$node->safe_psql($dbname, $drop_slot);
	wait_until($node, $dbname, $state, 'blocked');
	$node->safe_psql($dbname, "ALTER TABLE blogstore.other RENAME TO $container");
	wait_until($node, $dbname, 'SELECT state, hint FROM blogstore.stat_worker', 'stopped|Call blogstore.start_worker() to have the views updated again.');
	is(slots($dbname), 0, '... and once it is mended, the worker is stopped');
	$node->safe_psql($dbname, 'SELECT blogstore.start_worker()');
	check_store($node, $dbname, "$name, started");
}

# ---- A template database

new_store('pattern');
$node->safe_psql('postgres', 'ALTER DATABASE pattern IS_TEMPLATE true');
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = 'pattern'");
is($node->safe_psql('pattern', 'SELECT state, last_error, hint FROM blogstore.stat_worker'),
	'disabled|the database is a template|Run ALTER DATABASE ... IS_TEMPLATE false.', 'a template: stat_worker says why no worker runs');
is(sqlstate($node, 'pattern', $_), '55000, hint', "... and so does $_") foreach 'wait_for_views()', 'rebuild_views()', 'start_worker()';
$node->safe_psql('pattern', $drop_slot);
is($node->safe_psql('pattern', $state) . slots('pattern'), 'stopped0', '... and the worker is stopped');
$node->safe_psql('postgres', 'ALTER DATABASE pattern IS_TEMPLATE false');
launcher_looks();
is($node->safe_psql('pattern', $state) . slots('pattern'), 'stopped0', '... and stays so when it is no template any more');
$node->safe_psql('pattern', 'SELECT blogstore.start_worker()');
check_store($node, 'pattern', 'no template, started');

# ---- A standby

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $told = ($standby->psql('altered', $drop_slot, extra_params => [ '-v', 'VERBOSITY=verbose' ]))[2];
like($told, qr/ERROR:  25006: cannot execute stop_worker\(\) during recovery\nHINT:  Connect to the primary\.$/m, 'a standby: refused, with a hint');
is($node->safe_psql('altered', $state) . slots('altered'), 'running1', '... and the worker of the primary runs on');
$standby->stop;
$node->stop;

done_testing();
