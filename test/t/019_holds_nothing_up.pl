
# The worker must not hold up the removal of WAL and dead catalog rows while
# other databases are busy, the views while one commit waits for a dead
# standby, or a shutdown. The test also covers servers without a free
# background worker or replication slot.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::Local;

my $node = new_server('idle');
$node->append_conf('postgresql.conf', "max_wal_size = 32MB\nmin_wal_size = 32MB\nautovacuum = off\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 120);
check_store($node, 'postgres', 'filled');
my $slot = worker_slot($node, 'postgres');
$node->safe_psql('postgres', 'CREATE DATABASE busy');
$node->safe_psql('busy', 'CREATE TABLE t (a text)');

# Write about 5 MB of WAL and dead catalog rows, and make a checkpoint.
my $traffic = q{
INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 4000);
DO $$
BEGIN
	FOR n IN 1 .. 100 LOOP
		EXECUTE 'CREATE TEMP TABLE x (a int) ON COMMIT DROP';
		EXECUTE 'DROP TABLE x';
	END LOOP;
END $$;
CHECKPOINT;
};

# ---- Idle beside a busy database

for my $round (1 .. 3)
{
	my ($from, $xid) = split /\|/, $node->safe_psql('busy', 'SELECT pg_current_wal_lsn(), pg_current_xact_id()::xid');
	# A checkpoint logs the running transactions, from which a slot learns that
	# it needs less WAL. Checkpoints do not come in regular intervals here.
	$node->safe_psql('busy', 'CHECKPOINT') if $round > 1;
	$node->safe_psql('postgres', 'SELECT kit.views_follow()');
	$node->safe_psql('busy', $traffic);
	cmp_ok($node->safe_psql('busy', "SELECT pg_current_wal_lsn() - '$from'::pg_lsn"),
		'>', 4000000, "round $round: the other database has written WAL");
	# Without further writes the slot moves on after some checkpoints.
	my $let_go = "SELECT restart_lsn > '$from' AND confirmed_flush_lsn > '$from' AND age(catalog_xmin) < age('$xid'::xid) AND pg_current_wal_lsn() - restart_lsn < 500000 FROM pg_replication_slots WHERE slot_name = '$slot'";
	for (1 .. $PostgreSQL::Test::Utils::timeout_default)
	{
		$node->safe_psql('postgres', 'SELECT kit.views_follow()');
		$node->safe_psql('busy', 'CHECKPOINT');
		last if $node->safe_psql('busy', $let_go) eq 't';
		# The worker reports its position about that often.
		sleep 1;
	}
	wait_until($node, 'busy', $let_go);
	pass("round $round: the slot moves on, and keeps no more than a few hundred kB");
}
is($node->safe_psql('postgres', 'SELECT state, batches < 1000 FROM blogstore.stat_worker'),
	'running|t', 'idle: the worker runs on');
check_store($node, 'postgres', 'idle');

# ---- Stopped

my ($rc, $out, $err) = $node->psql('postgres', 'SELECT blogstore.stop_worker()');
like($err, qr/WARNING:  replication slot "$slot" keeps all WAL from now on\nDETAIL:  It keeps \d+ (bytes|kB) already\.\nHINT:  \S/,
	'stopped: stop_worker() warns, with what the slot keeps');
$node->safe_psql('busy', $traffic);
is($node->safe_psql('postgres', q{SELECT state, lag_bytes > 4000000, lag_time BETWEEN '1 ms' AND '10 min', hint ~ 'keeps [0-9]+ kB' FROM blogstore.stat_worker}),
	'stopped|t|t|t', 'stopped: stat_worker shows how far the views are behind, and what the slot keeps');
my $lag = $node->safe_psql('postgres', 'SELECT lag_time FROM blogstore.stat_worker');
cmp_ok($node->safe_psql('postgres', "SELECT lag_time > '$lag' FROM blogstore.stat_worker"),
	'eq', 't', 'stopped: the lag grows');
check_answers($node, 'postgres', 'stopped');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'started');
wait_until($node, 'busy', "SELECT pg_current_wal_lsn() - restart_lsn < 500000 FROM pg_replication_slots WHERE slot_name = '$slot'");
pass('started: what the slot kept is let go');
($rc, $out, $err) = $node->psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true); SELECT blogstore.start_worker()');
is($err, '', 'stopped, and the slot dropped: no warning');
check_store($node, 'postgres', 'started without a slot');

# ---- A standby that is dead: commits hang

$node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
$node->reload;
wait_until($node, 'postgres', "SELECT setting = 'nobody' FROM pg_settings WHERE name = 'synchronous_standby_names'");
my $local = 'SET synchronous_commit = local;';
my @stuck;
for my $n (1 .. 3)
{
	push @stuck, $node->background_psql('postgres', on_error_stop => 0);
	$stuck[-1]->query_until(qr/start/,
		"\\echo start\nSELECT blogstore.create_post(kit.u(1), 'stuck $n', 'x', kit.p(500 + $n), kit.d(500 + $n)), blogstore.create_like(kit.p(54 + $n), kit.u(9)), blogstore.edit_user(kit.u($n), 'stuck $n');\n");
}
my $waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
wait_until($node, 'postgres', "SELECT count(*) = 3 $waiting");

for my $n (1 .. 3)
{
	is( $node->safe_psql('postgres',
			"$local SELECT title FROM blogstore.create_post(kit.u(5), 'local $n', 'x', kit.p(600 + $n), kit.d(600 + $n)); SELECT kit.views_follow(); SELECT title FROM blogstore.feed ORDER BY creation_date DESC LIMIT 1"),
		"local $n\nt\nlocal $n", "commits hang: others are shown, $n");
}
$node->safe_psql('postgres', "$local SELECT blogstore.edit_post(kit.p(19), 'edited'); SELECT blogstore.delete_post(kit.p(20)); SELECT blogstore.create_like(kit.p(18), kit.u(9))");
check_store($node, 'postgres', 'commits hang');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.list_feed() WHERE title LIKE 'stuck%'"),
	'0', 'commits hang: what hangs is not shown');
is($node->safe_psql('postgres', "SELECT confirmed_flush_lsn <= applied_lsn FROM pg_replication_slots, blogstore.change_feed WHERE slot_name = '$slot'"),
	't', 'commits hang: the slot is not confirmed past what is applied');

# One of the waiting commits is cancelled, which makes it visible.
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $waiting AND query LIKE '%stuck 2%'");
wait_until($node, 'postgres', "SELECT count(*) = 2 $waiting");
wait_until($node, 'postgres', "SELECT string_agg(title, ',') = 'stuck 2' FROM blogstore.feed WHERE title LIKE 'stuck%'");
pass('a commit gets through: it is shown');
wait_until($node, 'postgres', "SELECT array_agg(DISTINCT user_username) = '{stuck 2}' FROM blogstore.posts WHERE user_id = kit.u(2)");
pass('a commit gets through: its rename is carried out');
is($node->safe_psql('postgres', "SELECT title || ' ' || like_count FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(56)"),
	'title 56 6', 'a commit gets through: its like is counted in the views');

# A fast shutdown does not wait for the others.
ok($node->stop('fast', fail_ok => 1), 'commits hang: a fast shutdown does not wait for them');
$_->{run}->finish for @stuck;
$node->adjust_conf('postgresql.auto.conf', 'synchronous_standby_names', "''");
my $offset = log_end($node);
$node->start;
check_store($node, 'postgres', 'standby given up');
is($node->safe_psql('postgres', "SELECT string_agg(title, ',' ORDER BY title) FROM blogstore.feed WHERE title LIKE 'stuck%'"),
	'stuck 1,stuck 2,stuck 3', 'standby given up: what hung is shown');
is(join(', ', slots_made($node, $offset)), '', 'standby given up: the worker goes on with its slot');

# All waiting commits are released while the server is running.
$node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
$node->reload;
wait_until($node, 'postgres', "SELECT setting = 'nobody' FROM pg_settings WHERE name = 'synchronous_standby_names'");
my $large = $node->background_psql('postgres');
$large->query_until(qr/start/,
	"\\echo start\nSELECT count(blogstore.create_post(kit.u(1), 'hung ' || n, 'x', kit.p(700 + n), kit.d(700 + n))) FROM generate_series(1, 120) n;\n");
wait_until($node, 'postgres', "SELECT count(*) = 1 $waiting");
is($node->safe_psql('postgres', "$local SELECT blogstore.edit_post(kit.p(601), 'beside') IS NULL; SELECT kit.views_follow()"),
	"f\nt", 'a large commit hangs: others are shown');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
$node->reload;
wait_until($node, 'postgres', 'SELECT title FROM blogstore.feed ORDER BY creation_date DESC, id DESC LIMIT 1', 'hung 120');
pass('a large commit gets through: it is shown');
check_store($node, 'postgres', 'a large commit gets through');
$large->quit;

# ---- No replication slot left

# Check that messages are logged ever more rarely: after at least half a
# second, then after at least twice as long each time.
sub check_gaps
{
	my ($name, @lines) = @_;
	my @at = map { /^(\d+)-(\d+)-(\d+) (\d+):(\d+):([\d.]+)/ or die $_; timegm(0, $5, $4, $3, $2 - 1, $1) + $6 } @lines;
	my $pause = 0.5;

	for my $n (1 .. 3)
	{
		# The log rounds times to milliseconds.
		cmp_ok($at[$n] - $at[ $n - 1 ], '>', $pause - 0.01, "$name: ever more seldom, $n");
		$pause *= 2;
	}
	return;
}

$node->append_conf('postgresql.conf', 'max_replication_slots = 1');
$node->restart;
$node->safe_psql('postgres', 'CREATE DATABASE second');
$offset = log_end($node);
create_store($node, 'second');
fill_store($node, 'second', 3, 10);
my $full = qr/ERROR:  all replication slots are in use/;
my @lines = wait_logged($node, $offset, $full, 4);
pass('no slot left: the log says so');
check_gaps('no slot left', @lines);
is($node->safe_psql('second', 'SELECT last_error FROM blogstore.stat_worker'),
	'all replication slots are in use', 'no slot left: stat_worker shows it');
check_answers($node, 'second', 'no slot left');
check_store($node, 'postgres', 'no slot left for another');
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
check_store($node, 'second', 'a slot is free again');

# ---- No background worker left: the launchers of the server and of blogstore
# have one each, and one worker has the third

$node->append_conf('postgresql.conf', "max_replication_slots = 10\nmax_worker_processes = 3\n");
$node->restart;
check_store($node, 'second', 'one worker left');
$offset = log_end($node);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
$full = qr/LOG:  no background worker slot is free for the blogstore worker of database "postgres"/;
@lines = wait_logged($node, $offset, $full, 4);
pass('no worker left: the log says so');
check_gaps('no worker left', @lines);
my $shown = 'SELECT state, last_error, hint FROM blogstore.stat_worker';
is($node->safe_psql('postgres', $shown),
	'waiting to restart|no free background worker slot|Raise max_worker_processes and restart the server.',
	'no worker left: stat_worker shows it, and what to raise');
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(1), 'unattended', 'x', kit.p(900), kit.d(900))");
check_answers($node, 'postgres', 'no worker left');
check_store($node, 'second', 'no worker left for another');

# The launcher wants a worker to look at the slot of a stopped one.
my $unused = 'blogstore_' . $node->safe_psql('postgres', 'SELECT oid FROM pg_database WHERE datname = current_database()');
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', qq{
SELECT set_config(name, 'blogstore', false) FROM pg_settings WHERE name = 'output_plugin_libraries';
SELECT pg_create_logical_replication_slot('$unused', 'blogstore')});
$offset = log_end($node);
$node->reload;
wait_logged($node, $offset, $full);
like($node->safe_psql('postgres', $shown), qr/^stopped\|\|Call blogstore.start_worker\(\) .* the slot keeps \d+ kB of WAL\.$/,
	'no worker left to look at a slot: the worker is still shown as stopped');
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$unused'); SELECT blogstore.start_worker()");

# When the other database's worker stops, the waiting worker starts by itself.
$node->safe_psql('second', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
check_store($node, 'postgres', 'a worker is free again');

# Without room for the launcher, stat_worker says so.
$node->adjust_conf('postgresql.conf', 'max_worker_processes', '1');
$node->restart;
is($node->safe_psql('postgres', 'SELECT state, pid, last_error, hint FROM blogstore.stat_worker'),
	q{starting|||The launcher does not run. If the server's log says "too many background workers", raise max_worker_processes and restart the server.},
	'no launcher: stat_worker says so');
like($node->safe_psql('postgres', q{SELECT hint FROM blogstore.stat_workers WHERE database = 'second'}),
	qr/^The launcher does not run\./, '... and stat_workers of the other database');
check_answers($node, 'postgres', 'no launcher');
like($node->safe_psql('second', q{SELECT state || ': ' || hint FROM blogstore.stat_workers WHERE database = 'postgres'}),
	qr/^starting: The launcher does not run\./, '... and stat_workers of a database whose worker is to start');
$node->adjust_conf('postgresql.conf', 'max_worker_processes', '3');
$node->restart;
check_store($node, 'postgres', 'a launcher again');

# ---- The launcher warns of WAL that the slot of a stopped worker keeps. It
# looks for that when it has something else to do, here to start the worker of
# a third database.

my $other = worker_slot($node, 'second');
$node->safe_psql('postgres', 'CREATE DATABASE third');
$offset = log_end($node);
$node->safe_psql('busy', 'INSERT INTO t VALUES (0); SELECT pg_switch_wal()') for 1 .. 3;
create_store($node, 'third');
@lines = wait_logged($node, $offset, qr/WARNING:  replication slot/);
like($lines[0] // '', qr/WARNING:  replication slot "$other" keeps (\d+) MB of WAL, and no blogstore worker uses it/,
	'stopped for long: the launcher warns of what the slot keeps');
is(scalar @lines, 1, 'stopped for long: it warns once');
$node->safe_psql('second', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
is($node->safe_psql('third', 'SELECT kit.views_follow()'),
	't', 'the third database has its turn');

done_testing();
