# An open transaction that has written keeps the worker's slot from letting WAL
# go, in whichever database it is, and keeps a new slot from being created.
# stat_worker shows how much WAL is retained, and names the transaction.
# stat_workers shows the workers of all databases.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('retained');
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_slot_wal_keep_size = -1\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 3, 10);
check_store($node, 'postgres', 'filled');
$node->safe_psql('postgres', 'CREATE DATABASE second');
create_store($node, 'second');
check_store($node, 'second', 'a second database');
$node->safe_psql('postgres', 'CREATE DATABASE other; CREATE ROLE watcher LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor');
$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA blogstore TO watcher; GRANT EXECUTE ON FUNCTION blogstore.get_worker_status TO watcher');
is($node->safe_psql('postgres', 'SELECT retained_bytes >= 0, wal_status, safe_wal_size, hint FROM blogstore.stat_worker'),
	't|reserved||', 'nothing is in the way');

# Let the end of WAL move on by some MB.
sub write_wal
{
	my ($megabytes) = @_;
	my $segments = $node->safe_psql('postgres', "SELECT 1 + $megabytes * 1024 * 1024 / setting::int FROM pg_settings WHERE name = 'wal_segment_size'");

	$node->safe_psql('postgres', q{SELECT pg_logical_emit_message(false, 'other', 'text'); SELECT pg_switch_wal()}) for 1 .. $segments;
	return;
}

# Open a transaction that writes. Returns its session and pid.
sub open_writer
{
	my ($dbname, $table) = @_;
	my $session = $node->background_psql($dbname);

	return ($session, $session->query_safe("BEGIN; CREATE TABLE $table (); SELECT pg_backend_pid()") =~ /(\d+)\s*$/);
}

# ---- WAL is retained

my ($writer, $pid) = open_writer('other', 'written');
$node->safe_psql('other', "BEGIN; CREATE TABLE prepared (); PREPARE TRANSACTION 'left over'");
write_wal(80);
my $keeps = 'The replication slot keeps % MB of WAL until this transaction ends: ';
my $process = qq{process $pid in database "other", open since 20__-__-__ __:__:__%.};
my $prepared = 'prepared transaction "left over" in database "other", prepared at 20__-__-__ __:__:__%.';
# A transaction is named when it has been open for 30 seconds.
wait_until($node, 'postgres', "SELECT hint LIKE '$keeps$process' FROM blogstore.stat_worker");
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
# Other processes may write WAL at any time.
wait_until($node, 'postgres', q{SELECT state = 'running' AND lag_bytes = 0 FROM blogstore.stat_worker});
my $before = $node->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
is($node->safe_psql('postgres', qq{
SELECT w.retained_bytes > 64 * 1024 * 1024,
	w.retained_bytes BETWEEN '$before' - restart_lsn AND pg_current_wal_lsn() - restart_lsn,
	w.wal_status = s.wal_status, w.safe_wal_size IS NULL, s.safe_wal_size IS NULL
FROM blogstore.stat_worker w, pg_replication_slots s WHERE s.slot_name = w.slot}),
	't|t|t|t|t', 'stat_worker shows what the slot retains');
is($node->safe_psql('postgres', "SELECT hint LIKE '$keeps$process' FROM blogstore.cluster_stat_worker"), 't', 'cluster_stat_worker shows the hint');
is(run_as($node, 'postgres', 'monitor', "SELECT hint LIKE '$keeps$process' FROM blogstore.stat_worker"), 't', '... to a member of pg_monitor');
is(run_as($node, 'postgres', 'watcher', "SELECT hint LIKE '$keeps$process' FROM blogstore.get_worker_status()"), 't', '... and to a role that may execute the function alone');
is(run_as($node, 'postgres', 'watcher', q{SET search_path = public, pg_catalog; SELECT current_user; SELECT hint IS NOT NULL, current_user FROM blogstore.get_worker_status(); SHOW search_path}),
	"watcher\nt|watcher\npublic, pg_catalog", 'the caller stays who it is');

is(run_as($node, $_, 'monitor', "SELECT database, state, retained_bytes > 64 * 1024 * 1024, wal_status, hint LIKE '$keeps$process' FROM blogstore.stat_workers ORDER BY 1"),
	"postgres|running|t|reserved|t\nsecond|running|t|reserved|t", "$_: stat_workers shows both workers") for 'postgres', 'second';

$writer->query_safe('COMMIT');
wait_until($node, 'postgres', "SELECT hint LIKE '$keeps$prepared' FROM blogstore.stat_worker");
pass('then the prepared transaction is named');

# ---- The slot is lost, and is created again

set_and_reload($node, max_slot_wal_keep_size => '1GB');
is($node->safe_psql('postgres', 'SELECT w.wal_status, w.safe_wal_size > 0, w.safe_wal_size = s.safe_wal_size FROM blogstore.stat_worker w, pg_replication_slots s WHERE s.slot_name = w.slot'),
	'reserved|t|t', 'stat_worker shows how much more can be written');
($writer, $pid) = open_writer('other', 'written_later');
set_and_reload($node, max_slot_wal_keep_size => '16MB');
is($node->safe_psql('postgres', 'SELECT wal_status, safe_wal_size < 0 FROM blogstore.stat_worker'), 'unreserved|t', 'a checkpoint will take WAL from the slot');
$node->safe_psql('postgres', 'CHECKPOINT');
my $made = 'The replication slot will be created when this transaction ends: ';
wait_until($node, 'postgres', "SELECT state = 'catching up' AND hint LIKE '$made$prepared' FROM blogstore.stat_worker");
pass('the new slot waits for the prepared transaction');
set_and_reload($node, max_slot_wal_keep_size => '-1');
$node->safe_psql('other', q{ROLLBACK PREPARED 'left over'});
wait_until($node, 'postgres', qq{SELECT state = 'catching up' AND hint LIKE '${made}process $pid in database "other", open since 20%' FROM blogstore.stat_worker});
pass('... then for the open one');
$writer->query_safe('ROLLBACK');
$writer->quit;
check_store($node, 'postgres', 'the slot is created');
is($node->safe_psql('postgres', 'SELECT state, wal_status, hint FROM blogstore.stat_worker'), 'running|reserved|', 'nothing is in the way any more');

# ---- The workers of all databases

# Only the worker's database can tell since when it is stopped, and how old the
# oldest WAL is that the views do not show.
my $all = 'SELECT database, state, pid, slot, batches, changes, started_at, wal_status, last_error, hint FROM blogstore.stat_workers ORDER BY 1';
my $own = 'SELECT current_database(), state, pid, slot, batches, changes, started_at, wal_status, last_error, hint FROM blogstore.stat_worker';

# Check the row of the second database, and that both databases and stat_worker
# show the same. Returns the hint.
sub check_second
{
	my ($state, $slots, $name) = @_;

	wait_until($node, 'postgres', "SELECT state = '$state' FROM blogstore.stat_workers WHERE database = 'second'");
	my $rows = $node->safe_psql('postgres', $all);
	is($rows, $node->safe_psql('postgres', $own) . "\n" . $node->safe_psql('second', $own), "$name: stat_workers shows what stat_worker does");
	is($node->safe_psql('second', $all), $rows, "$name: ... in each database");
	is($node->safe_psql('postgres', q{SELECT count(slot) FROM blogstore.stat_workers WHERE database = 'second'}), $slots, "$name: the slot");
	return $node->safe_psql('postgres', q{SELECT hint FROM blogstore.stat_workers WHERE database = 'second'});
}

check_store($node, 'second', 'the slot of the second database is created');
is(check_second('running', 1, 'running'), '', 'running: no hint');
$node->safe_psql('second', 'CREATE INDEX odd ON blogstore.feed_post (title)');
like(check_second('blocked', 0, 'blocked'), qr/^Drop it: the worker alone writes this table\.$/, 'blocked: the hint says what to do');
$node->safe_psql('second', 'DROP INDEX blogstore.odd');
check_store($node, 'second', 'no longer blocked');
$node->safe_psql('second', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
like(check_second('stopped', 1, 'stopped'), qr/Call blogstore.start_worker\(\).* keeps \d+ kB/, 'stopped: the hint says what the slot keeps');
# Nobody can look into a database that accepts no connections.
$node->safe_psql('postgres', 'ALTER DATABASE second ALLOW_CONNECTIONS false');
$node->reload;
wait_until($node, 'postgres', q{SELECT state = 'disabled' AND slot IS NOT NULL AND last_error = 'the slot has no worker' AND hint ~ 'pg_drop_replication_slot' FROM blogstore.stat_workers WHERE database = 'second'});
pass('a database that accepts no connections: its slot is shown');
$node->safe_psql('postgres', 'ALTER DATABASE second ALLOW_CONNECTIONS true');
$node->safe_psql('second', 'SELECT blogstore.stop_worker(drop_slot => true)');
like(check_second('stopped', 0, 'stopped without a slot'), qr/^Call blogstore.start_worker\(\)[^;]*$/, 'stopped without a slot: the hint says how to start it');
$node->safe_psql('second', 'SELECT blogstore.start_worker()');
check_store($node, 'second', 'started again');
$node->safe_psql('second', 'DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.topics CASCADE');
wait_until($node, 'postgres', q{SELECT count(*) = 0 FROM blogstore.stat_workers WHERE database <> 'postgres'});
is($node->safe_psql('postgres', $all), $node->safe_psql('postgres', $own), 'containers dropped: the other row is left');
is($node->safe_psql('second', $all), $node->safe_psql('postgres', $own), '... in each database');

$node->stop;
done_testing();
