
# The worker loses its replication slot: the slot is dropped, invalidated,
# created again, advanced, owned by something else, or missing because the
# server was restored from a base backup. The worker logs this once, shows it
# in stat_worker, creates a slot and rebuilds the views. Readers get right
# answers meanwhile.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use File::Path qw(rmtree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('slot');
# The slot and the position have to survive a crash, which needs fsync.
$node->append_conf('postgresql.conf', "fsync = on\nmax_slot_wal_keep_size = -1\n");
my $start = 0;
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 120);
check_store($node, 'postgres', 'filled');
my $slot = worker_slot($node, 'postgres');
my $last_error = 'SELECT last_error FROM blogstore.stat_worker';

is(join(', ', slots_made($node, $start)),
	'There was no slot yet.', 'filled: the log says why the worker created its slot');
is($node->safe_psql('postgres', "$last_error WHERE last_error IS NOT NULL"),
	'', 'filled: nothing was lost');

# ---- The applied position is stored before the slot is confirmed

$node->safe_psql(
	'postgres', q{
CREATE TABLE kit.too_far (confirmed pg_lsn, applied pg_lsn);
CREATE TABLE kit.confirmed (lsn pg_lsn PRIMARY KEY);
-- The procedure reads the slot before the applied position. The position can
-- only have advanced in between, so confirmed > applied is an error.
CREATE PROCEDURE kit.compare_positions(slot name, moves int) LANGUAGE plpgsql AS $$
DECLARE
	confirmed	pg_lsn;
	applied		pg_lsn;
BEGIN
	LOOP
		SELECT confirmed_flush_lsn INTO STRICT confirmed FROM pg_replication_slots WHERE slot_name = slot;
		SELECT applied_lsn INTO STRICT applied FROM blogstore.change_feed;
		INSERT INTO kit.confirmed VALUES (confirmed) ON CONFLICT DO NOTHING;
		INSERT INTO kit.too_far SELECT confirmed, applied WHERE confirmed > applied;
		COMMIT;
		EXIT WHEN (SELECT count(*) > moves FROM kit.confirmed);
		PERFORM blogstore.create_like(kit.p(1 + n), kit.u(1 + n % 10)) FROM generate_series(1, 100) n;
		PERFORM blogstore.delete_like(kit.p(1 + n), kit.u(1 + n % 10)) FROM generate_series(1, 100) n;
		COMMIT;
	END LOOP;
END $$;
});
$node->safe_psql('postgres', "CALL kit.compare_positions('$slot', 3)");
is($node->safe_psql('postgres', 'SELECT * FROM kit.too_far'),
	'', 'the slot is never confirmed past what is applied');
is($node->safe_psql('postgres', 'SELECT count(*), bool_and(applied_at BETWEEN pg_postmaster_start_time() AND now()) FROM blogstore.change_feed'),
	'1|t', 'change_feed holds one row, with a time since the start of the server');

# After a restart, and after crashes at any moment, the worker goes on with its
# slot.
$start = log_end($node);
$node->restart;
check_store($node, 'postgres', 'restarted');
for my $n (1 .. 2)
{
	# Each request is a statement of its own: between two statements a backend
	# notices that the postmaster is gone.
	my $client = start_client($node, 'postgres',
		join('', map {
			"SELECT blogstore.create_like(kit.p(1 + $_ % 120), kit.u(1 + $_ % 10));\nSELECT blogstore.delete_like(kit.p(1 + $_ % 120), kit.u(1 + $_ % 10));\n"
		} 1 .. 20000),
		"crash_$n");
	my $from = $node->safe_psql('postgres', 'SELECT count(*) FROM kit.confirmed');
	$node->safe_psql('postgres', "CALL kit.compare_positions('$slot', $from + 1)");
	$node->kill9;
	finish_client($client);
	start_again($node);
}
check_store($node, 'postgres', 'crashed');
is($node->safe_psql('postgres', 'SELECT * FROM kit.too_far'),
	'', 'crashed: the slot was never confirmed past what is applied');
is(join(', ', slots_made($node, $start)),
	'', 'restarted and crashed: the worker goes on with its slot');

# ---- Slots that are not where the views are

my $change = 0;

# Write, change and delete posts while no worker decodes.
sub change_posts
{
	my $n = ++$change;
	my $date = 500 + 10 * $n;

	$node->safe_psql(
		'postgres', qq{
SELECT count(blogstore.create_post(kit.u(1 + n), 'new ' || n, 'x', kit.p($date + n), kit.d($date + n))) FROM generate_series(1, 5) n;
SELECT blogstore.delete_post(kit.p(119 - $n));
SELECT blogstore.edit_post(kit.p(120), 'edited $n');
SELECT blogstore.create_like(kit.p(119), kit.u(3));
SELECT blogstore.edit_user(kit.u(7), 'name $n');
SELECT blogstore.delete_like(kit.p(119), kit.u(3));
});
	return;
}

sub have_it_stopped
{
	$node->safe_psql('postgres',
		'SET client_min_messages = error; SELECT blogstore.stop_worker()');
	return;
}

# Start the worker with the given sub, and check that it loses its slot once,
# for the given reason. If a session already holds the worker, the sub leads to
# the loss, and this function ends that session afterwards.
sub check_lost
{
	my ($name, $start_it, $reason, $server_is_down, $holder) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $offset = log_end($node);
	# The held worker can create its slot, but cannot build the views yet.
	$holder //= hold_worker($node, 'postgres') unless $server_is_down;
	$start_it->();
	# The worker logs this line after it has queued the rebuild.
	wait_logged($node, $offset, qr/blogstore worker created replication slot "$slot"/);
	is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.progress WHERE kind = 'rebuild'"),
		'1', "$name: a rebuild is queued")
	  if $holder;
	like($node->safe_psql('postgres', 'SELECT last_rebuild_reason FROM blogstore.stat_worker'),
		qr/^$reason/,
		"$name: stat_worker shows why the slot was lost");
	like($node->safe_psql('postgres', $last_error),
		qr/^rebuilding the views because replication slot "$slot" was lost: $reason/,
		"$name: that is the last error until the views are rebuilt")
	  if $holder;
	check_answers($node, 'postgres', "$name, before the views are rebuilt");
	$holder->quit if $holder;
	check_store($node, 'postgres', $name);
	is($node->safe_psql('postgres', $last_error), '', "$name: and no error afterwards");
	my @made = slots_made($node, $offset);
	is(scalar @made, 1, "$name: the log reports the new slot once");
	like($made[0] // '', qr/^$reason/, "$name: the log gives the reason");
	is( $node->safe_psql(
			'postgres',
			"SELECT plugin, database, active FROM pg_replication_slots WHERE slot_name = '$slot'"
		),
		'blogstore|postgres|t',
		"$name: the worker runs on its slot");
	return;
}

my $start_worker =
  sub { $node->safe_psql('postgres', 'SELECT blogstore.start_worker()') };

# The slot of a stopped worker is dropped on purpose.
have_it_stopped();
change_posts();
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
$start = log_end($node);
$start_worker->();
check_store($node, 'postgres', 'dropped');
is($node->safe_psql('postgres', "$last_error WHERE last_error IS NOT NULL"),
	'', 'dropped while the worker was stopped: nothing was lost');
is(join(', ', slots_made($node, $start)),
	'The slot had been dropped.', 'dropped while the worker was stopped: the log reports the new slot');

have_it_stopped();
change_posts();
$node->safe_psql('postgres',
	"SELECT pg_replication_slot_advance('$slot', pg_current_wal_flush_lsn())");
check_lost('advanced by hand', $start_worker,
	qr/The slot was ahead of the applied position\./);

# Newer minor releases refuse output plugins that this setting does not list.
my $allow =
  "SELECT set_config(name, 'blogstore', false) FROM pg_settings WHERE name = 'output_plugin_libraries';";

have_it_stopped();
change_posts();
$node->safe_psql(
	'postgres', qq{
$allow
SELECT pg_drop_replication_slot('$slot');
SELECT pg_create_logical_replication_slot('$slot', 'blogstore');
});
check_lost('made again by hand', $start_worker,
	qr/The slot was ahead of the applied position\./);

# A slot of the same name in another database
$node->safe_psql('postgres', 'CREATE DATABASE other');
have_it_stopped();
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
$node->safe_psql('other',
	"$allow SELECT pg_create_logical_replication_slot('$slot', 'blogstore')");
change_posts();
check_lost('of another database', $start_worker,
	qr/The slot did not belong to these containers\./);
$node->safe_psql('postgres', 'DROP DATABASE other');

# The slot's files are removed while the server is down.
change_posts();
my $holder = hold_worker($node, 'postgres');
change_posts();
$node->stop('immediate');
$holder->{run}->finish;
rmtree($node->data_dir . "/pg_replslot/$slot");
check_lost('lost with the server down', sub { $node->start },
	qr/The slot was missing\./, 1);

my $invalidated = qr/The slot had been invalidated: it needed more WAL than max_slot_wal_keep_size allows\./;

# The slot is invalidated while a worker that lags behind is using it.
$holder = hold_worker($node, 'postgres');
change_posts();
$node->safe_psql('postgres', "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
$node->reload;
my $pid = worker_pid($node, 'postgres');
$node->safe_psql('postgres', 'SELECT pg_switch_wal(); SELECT txid_current()')
  for 1 .. 5;
check_lost(
	'invalidated in use',
	sub {
		$node->safe_psql('postgres', 'CHECKPOINT');
		$node->safe_psql('postgres', 'ALTER SYSTEM RESET max_slot_wal_keep_size');
		$node->reload;
	},
	$invalidated, 0, $holder);

# The slot is invalidated while no process is using it.
have_it_stopped();
change_posts();
$node->safe_psql('postgres', "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
$node->reload;
$node->safe_psql('postgres', 'SELECT pg_switch_wal(); SELECT txid_current()')
  for 1 .. 5;
$node->safe_psql('postgres', 'CHECKPOINT');
is( $node->safe_psql(
		'postgres',
		"SELECT wal_status FROM pg_replication_slots WHERE slot_name = '$slot'"),
	'lost',
	'invalidated: the slot has lost its WAL');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET max_slot_wal_keep_size');
$node->reload;
check_lost('invalidated', $start_worker, $invalidated);

# From PostgreSQL 18 on, a checkpoint also invalidates a slot that no process
# has used for some time.
if ($node->pg_version->major >= 18)
{
	have_it_stopped();
	change_posts();
	set_and_reload($node, 'idle_replication_slot_timeout', '1s');
	wait_until($node, 'postgres', "CHECKPOINT; SELECT invalidation_reason FROM pg_replication_slots WHERE slot_name = '$slot'", 'idle_timeout');
	is($node->safe_psql('postgres', 'SELECT hint, wal_status, retained_bytes FROM blogstore.stat_worker'),
		'Call blogstore.start_worker() to have the views updated again.|lost|',
		'idle: the slot retains no WAL any more');
	set_and_reload($node, 'idle_replication_slot_timeout', '0');
	$start = log_end($node);
	check_lost('idle', $start_worker,
		qr/The slot had been invalidated: it was not used for idle_replication_slot_timeout\./);
	is(scalar logged($node, $start, qr/HINT:  Set idle_replication_slot_timeout = 0, or stop the worker with /), 1,
		'idle: the log says what to do');
}

# The worker does not touch a slot of its name that is not one of blogstore's.
have_it_stopped();
change_posts();
$node->safe_psql(
	'postgres', qq{
SELECT pg_drop_replication_slot('$slot');
SELECT pg_create_physical_replication_slot('$slot');
});
$start_worker->();
wait_until($node, 'postgres',
	qq{SELECT last_error = 'replication slot "$slot" exists but does not belong to blogstore' FROM blogstore.stat_worker}
);
check_answers($node, 'postgres', "somebody else's slot");
is($node->safe_psql('postgres', "SELECT slot_type FROM pg_replication_slots WHERE slot_name = '$slot'"),
	'physical', "somebody else's slot: it is left alone");
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
check_store($node, 'postgres', "somebody else's slot given up");

# ---- A base backup has no slots in it

# The backup's views lag behind its posts.
$holder = hold_worker($node, 'postgres');
change_posts();
$node->backup('backup');
$holder->quit;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'backup');
$copy->start;
$node->safe_psql('postgres',
	"SELECT blogstore.create_post(kit.u(1), 'only here', 'x', kit.p(1000), kit.d(1000))");
check_store($copy, 'postgres', 'base backup');
is(join(', ', slots_made($copy, 0)),
	'The slot was missing.', 'base backup: the log reports the new slot once, with the reason');
is($copy->safe_psql('postgres', "SELECT count(*) FROM blogstore.list_feed() WHERE title = 'only here'"),
	'0', 'base backup: the copy gets no posts of the other server');
$copy->safe_psql('postgres', 'SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(1, 10) n');
check_store($copy, 'postgres', 'base backup, worked on');
check_store($node, 'postgres', 'the server it was taken from');

done_testing();
