
# A standby has the worker's slot in step with the primary's, and later loses
# it: because the primary removes catalog rows that the slot needs, or because
# the primary disables logical decoding. After the promotion the worker logs
# which of them it was, creates a slot and rebuilds the views.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($version) = qx{$ENV{PG_CONFIG} --version} =~ /(\d+)/;
plan skip_all => 'before PostgreSQL 17, the server keeps no slots on standbys' if $version < 17;

my $primary = new_server('primary');
$primary->append_conf('postgresql.conf', 'wal_level = ' . decoding_level($primary) . "\n");
$primary->start;
create_store($primary, 'postgres');
fill_store($primary, 'postgres', 10, 120);
check_store($primary, 'postgres', 'primary');
my $slot = worker_slot($primary, 'postgres');
my $on_standby = "SELECT %s FROM pg_replication_slots WHERE slot_name = '$slot'";

# Create a standby that has the worker's slot. From then on the server does not
# keep the slot in step.
sub new_standby
{
	my ($name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	my $conninfo = $primary->connstr . ' dbname=postgres';

	$primary->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('$name', true)");
	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', qq{
primary_slot_name = '$name'
primary_conninfo = '$conninfo'
hot_standby_feedback = on
sync_replication_slots = on
wal_receiver_status_interval = 1s
});
	$standby->start;
	wait_synchronised($primary, $standby, 'postgres');
	# The primary knows which catalog rows the standby's slot needs.
	wait_until($primary, 'postgres', "SELECT catalog_xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = '$name'");
	set_and_reload($standby, 'sync_replication_slots', 'off');
	wait_until($standby, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'slotsync worker'");
	is($standby->safe_psql('postgres', sprintf($on_standby, 'synced, invalidation_reason')), 't|', "$name: the standby has the slot");
	return $standby;
}

# Promote a standby that has lost the slot, and check what its worker does and
# says.
sub check_lost
{
	my ($standby, $name, $reason, $hint) = @_;
	my $offset = log_end($standby);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$standby->promote;
	check_store($standby, 'postgres', $name);
	like(slurp_file($standby->logfile, $offset),
		qr/WARNING:  replication slot "$slot" of database "postgres" was lost\n.*DETAIL:  \Q$reason\E\n.*HINT:  \Q$hint\E\n/,
		"$name: the log says why the slot was lost, and what to do");
	is(scalar logged($standby, $offset, qr/WARNING:  replication slot .* was lost/), 1, "$name: the log says so once");
	is(join(', ', slots_made($standby, $offset)), $reason, "$name: the log says why the worker created a slot");
	is($standby->safe_psql('postgres', 'SELECT last_rebuild_reason, last_error FROM blogstore.stat_worker'),
		"$reason|", "$name: stat_worker shows the reason, and no error afterwards");
	is($standby->safe_psql('postgres', sprintf($on_standby, 'active, failover, synced, invalidation_reason')),
		't|t|f|', "$name: the worker runs on a slot of its own");

	$standby->safe_psql('postgres', 'SELECT count(blogstore.create_like(kit.p(n), kit.u(9))) FROM generate_series(1, 50) n');
	check_store($standby, 'postgres', "$name, worked on");
	$standby->stop;
	return;
}

# ---- The primary removes catalog rows

my $standby = new_standby('rows');

# The primary's own slot moves on, so nothing on the primary holds back vacuum
# for the standby's.
set_and_reload($standby, 'hot_standby_feedback', 'off');
wait_until($primary, 'postgres',
	"SELECT xmin IS NULL AND catalog_xmin IS NULL FROM pg_replication_slots WHERE slot_name = 'rows'");
move_slot($primary, $standby, 'postgres', sprintf($on_standby, "invalidation_reason = 'rows_removed'"),
	'CREATE TABLE kit.dropped (id int); DROP TABLE kit.dropped; VACUUM pg_class, pg_attribute, pg_type, pg_depend');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
check_lost($standby, 'rows', 'The slot had been invalidated: catalog rows that it needed were removed on the primary.',
	'On a standby, set hot_standby_feedback = on.');
check_store($primary, 'postgres', 'rows, the primary');

# ---- The primary disables logical decoding

$standby = new_standby('level');

# Drop the slot without stop_worker(), which would store that there is none.
# PostgreSQL 19 disables logical decoding when the last slot is dropped, older
# servers when wal_level is lowered.
$primary->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$primary->restart;
$primary->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
$primary->append_conf('postgresql.conf', "wal_level = replica\n");
$primary->restart;
wait_until($standby, 'postgres', sprintf($on_standby, "invalidation_reason = 'wal_level_insufficient'"));
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
$primary->stop;
check_lost($standby, 'level', 'The slot had been invalidated: logical decoding was disabled on the primary.',
	'Set wal_level = logical on the primary and on its standbys.');

done_testing();
