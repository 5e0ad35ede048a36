
# What the worker tells an administrator. stat_worker counts the rebuilds of
# the views, and shows the last error with its hint until the worker has
# recovered. Its lag is right after the clock was set, and on a standby. The
# log names the database, the reason of a rebuild or of a lost slot, and the
# time that a rebuild took.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('tells');
my $clock = $node->basedir . '/clock';
set_clock($clock, 0);
start_preloaded($node, 'set_back', CLOCK_OFFSET => $clock);
create_store($node, 'postgres');
fill_store($node, 'postgres', 9, 120);
check_store($node, 'postgres', 'filled');
my $slot = worker_slot($node, 'postgres');

sub worker
{
	my ($columns, $server) = @_;

	return ($server // $node)->safe_psql('postgres', "SELECT $columns FROM blogstore.stat_worker");
}

# The lines of the log about rebuilds, and their DETAIL, without their prefix
# and with n instead of numbers
sub rebuilds_logged
{
	my ($offset) = @_;
	my @lines = logged($node, $offset, qr/(LOG|DETAIL):  /);
	my @result;

	while (defined(my $line = shift @lines))
	{
		next unless $line =~ /LOG:  (blogstore worker (?:rebuilds the views of|has built) .*)/;
		push @result, $1 =~ s/\d+\.\d{3}/n/r;
		push @result, $1 if @lines && $lines[0] =~ /DETAIL:  (.*)/;
	}
	return join "\n", @result;
}

my $begins = 'blogstore worker rebuilds the views of database "postgres"';
my $ends = 'blogstore worker has built the views of database "postgres" in n s, and readers use them';

# ---- Rebuilds, with their reasons, in stat_worker and in the log

my $rebuilds = 'rebuilds, last_rebuild_reason';
is(worker("$rebuilds, last_rebuild_at BETWEEN pg_postmaster_start_time() AND now()"),
	'1|There was no slot yet.|t', 'created: stat_worker has the first build');
is(rebuilds_logged(0), "$begins\nThere was no slot yet.\n$ends", 'created: the log too');

my $log = log_end($node);
my $at = worker('last_rebuild_at');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
check_store($node, 'postgres', 'asked for');
is(worker("$rebuilds, last_rebuild_at > '$at'"),
	'2|blogstore.rebuild_views() was called.|t', 'asked for: stat_worker counts it');
wait_logged($node, $log, qr/has built the views/);
is(rebuilds_logged($log), "$begins\nblogstore.rebuild_views() was called.\n$ends", 'asked for: the log too');

$log = log_end($node);
set_and_reload($node, 'blogstore.short_form_length', 150);
wait_logged($node, $log, qr/has built the views/);
is(worker($rebuilds), '3|The settings of short forms or topics have changed.', 'another length: stat_worker counts the rebuild');
is(rebuilds_logged($log), "$begins\nThe settings of short forms or topics have changed.\n$ends", 'another length: the log too');
set_and_reload($node, 'blogstore.short_form_length', 200);
wait_until($node, 'postgres', 'SELECT rebuilds = 4 FROM blogstore.stat_worker');
check_store($node, 'postgres', 'the length of before');

$log = log_end($node);
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'started again');
is(worker($rebuilds), '5|The worker had been stopped, or the last rebuild had not finished.', 'started again: stat_worker counts the rebuild');

# A rebuild that is asked for before the worker has started
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(); SELECT blogstore.rebuild_views()');
$log = log_end($node);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_logged($node, $log, qr/has built the views/);
check_store($node, 'postgres', 'asked for early');
is(worker($rebuilds), '6|The worker had been stopped, or the last rebuild had not finished.', 'asked for early: stat_worker counts it');
is(rebuilds_logged($log), "$begins\nThe worker had been stopped, or the last rebuild had not finished.\n$ends", 'asked for early: the log too');

# ---- A lost slot

$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
set_and_reload($node, 'max_slot_wal_keep_size', '1MB');
$node->safe_psql('postgres', 'SELECT pg_switch_wal(); SELECT txid_current()') for 1 .. 5;
$node->safe_psql('postgres', 'CHECKPOINT');
my $holder = hold_worker($node, 'postgres');
$log = log_end($node);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_logged($node, $log, qr/blogstore worker created replication slot "$slot"/);
my $reason = 'The slot had been invalidated: it needed more WAL than max_slot_wal_keep_size allows.';
my $hint = 'Raise max_slot_wal_keep_size, and end transactions that stay open for long.';
is(worker("$rebuilds, last_error, hint"),
	"7|$reason|rebuilding the views because replication slot \"$slot\" was lost: $reason|$hint",
	'slot lost: stat_worker says so, and names the setting');
my @told = map { s/.*?(WARNING|DETAIL|HINT|CONTEXT):  /$1: /r } logged($node, $log, qr/WARNING|DETAIL|HINT|CONTEXT/);
is(join("\n", @told[ 0 .. 3 ]),
	qq{WARNING: replication slot "$slot" of database "postgres" was lost\nDETAIL: $reason\nHINT: $hint\nCONTEXT: blogstore worker of database "postgres"},
	'slot lost: the log warns of it');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'slot lost');
is(worker('state, last_error, last_error_at, hint'), 'running|||', 'slot lost: the error is gone when the views are built');
wait_logged($node, $log, qr/has built the views/);
is(rebuilds_logged($log), "$begins\n$reason\n$ends", 'slot lost: the log tells of the rebuild');
set_and_reload($node, 'max_slot_wal_keep_size', '-1');

# ---- Errors, their hints, and recovery without a restart

$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; SELECT FROM blogstore.feed WHERE id = kit.p(120) FOR UPDATE');
$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(120), 'edited')");
wait_until($node, 'postgres', "SELECT last_error LIKE 'could not write the views: %' FROM blogstore.stat_worker");
my $pid = worker('pid');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'a locked row');
is(worker("last_error, last_error_at, pid = $pid"), '||t', 'a locked row: the error is gone when the views are written');

$log = log_end($node);
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'not this one' USING HINT = 'Take another one.';
END $$;
CREATE TRIGGER odd BEFORE UPDATE ON blogstore.posts FOR EACH ROW
WHEN (NEW.type = 'comment' AND NEW.user_username = 'refused') EXECUTE FUNCTION kit.refuse();
SELECT blogstore.edit_user(kit.u(3), 'refused')});
wait_until($node, 'postgres', 'SELECT last_error IS NOT NULL FROM blogstore.stat_worker');
is(worker('state, last_error, hint'), 'running|not this one|Take another one.', 'a failed job: stat_worker has the hint of the error');
wait_logged($node, $log, qr/blogstore job failed and will be retried/);
like(join("\n", logged($node, $log, qr/job failed|DETAIL:  The user|CONTEXT:  PL/)),
	qr{job failed and will be retried in [0-9]+ s: not this one\n.*DETAIL:  The user is 00000000-0000-7000-8000-000000000003\.\n.*CONTEXT:  PL/pgSQL function refuse\(\) line 3 at RAISE},
	'a failed job: the log names the user and the function');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'a failed job: the views are built beside it');
is(worker('last_error'), 'not this one', 'a failed job: its error stays while it is parked');
$node->safe_psql('postgres', 'DROP TRIGGER odd ON blogstore.posts');
# The worker tries the job again after half a minute.
wait_until($node, 'postgres', 'SELECT count(*) = 0 FROM blogstore.progress');
check_store($node, 'postgres', 'a failed job');
wait_until($node, 'postgres', 'SELECT last_error IS NULL AND hint IS NULL FROM blogstore.stat_worker');
pass('a failed job: its error is gone when it is done');

$log = log_end($node);
$node->safe_psql('postgres', "SET client_min_messages = error; SELECT blogstore.stop_worker(drop_slot => true); SELECT pg_create_physical_replication_slot('$slot')");
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', 'SELECT last_error IS NOT NULL FROM blogstore.stat_worker');
is(worker('last_error, hint'),
	qq{replication slot "$slot" exists but does not belong to blogstore|Drop the slot. If a client still reads from it, copy it under another name first.},
	'a slot of its name: stat_worker has the hint');
like(join("\n", logged($node, $log, qr/ERROR|CONTEXT/)),
	qr/ERROR:  replication slot "$slot" exists but does not belong to blogstore\n.*CONTEXT:  blogstore worker of database "postgres"/,
	'a slot of its name: the log names the database');
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
check_store($node, 'postgres', 'a slot of its name');
is(worker('last_error, last_error_at, hint'), '||', 'a slot of its name: the error is gone');

# ---- A standby

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;

# Write a post, and wait until the standby has replayed it.
sub write_post
{
	my ($n) = @_;

	$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(1), 'new', repeat('x', 300), kit.p($n), kit.d($n))");
	my $lsn = $node->lsn('flush');
	$node->wait_for_catchup($standby, 'replay', $lsn);
	return $lsn;
}

# The table change_feed gets the position of the last commit that the worker
# has applied. That can be before $lsn, since other records may follow the
# commit: the worker's own, for example. So a second post follows.
my $lsn = write_post(201);
write_post(203);
wait_until($node, 'postgres', "SELECT applied_lsn >= '$lsn' FROM blogstore.change_feed");
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is($standby->safe_psql('postgres', "SELECT w.state, w.applied_lsn >= '$lsn', w.applied_lsn = f.applied_lsn, w.lag_time, w.pid, w.hint FROM blogstore.stat_worker AS w, blogstore.change_feed AS f"),
	'disabled|t|t|||This is a standby; the worker runs on the primary.', 'standby: stat_worker shows how far its views are');
$holder = hold_worker($node, 'postgres');
my $applied = worker('applied_lsn', $standby);
my $behind = write_post(202);
is(worker("applied_lsn = '$applied', applied_lsn < '$behind', lag_bytes = pg_wal_lsn_diff(pg_last_wal_replay_lsn(), applied_lsn), lag_bytes >= pg_wal_lsn_diff('$behind', '$applied')", $standby),
	't|t|t|t', 'standby: its views are as far behind as those of the primary');
is(worker("applied_lsn < '$behind', lag_bytes > 0"), 't|t', 'primary: stat_worker shows that the views are behind');

# ---- The clock is set while the views are behind

set_clock($clock, 86400);
is(worker("lag_time BETWEEN '0' AND '1 hour'"), 't', 'a day ahead: the lag does not grow');
set_clock($clock, -86400);
is(worker("lag_time BETWEEN '0' AND '1 hour'"), 't', 'a day back: the lag is not negative');
set_clock($clock, 0);
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'a clock that was set');
is(worker("applied_lsn >= '$behind'"), 't', 'a clock that was set: the views are there');
write_post(204);
wait_until($standby, 'postgres', "SELECT applied_lsn >= '$behind' FROM blogstore.stat_worker");
pass('standby: its views follow');
$standby->stop;

$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
is(worker("state, applied_lsn >= '$behind', lag_time BETWEEN '0' AND '1 hour'"), 'stopped|t|t', 'stopped: stat_worker shows since when');
set_clock($clock, 86400);
is(worker("lag_time BETWEEN '0' AND '1 hour'"), 't', 'stopped, a day ahead: the lag does not grow');
set_clock($clock, -86400);
is(worker("lag_time BETWEEN '0' AND '1 hour'"), 't', 'stopped, a day back: the lag is not negative');
# pg_ctl does not wait for a server that has another time.
set_clock($clock, 0);
$node->stop;
start_preloaded($node, 'set_back', CLOCK_OFFSET => $clock);
set_clock($clock, -86400);
is(worker("state, lag_time BETWEEN '0' AND '1 hour'"), 'stopped|t', 'stopped, restarted, a day back: the lag is not negative');
set_clock($clock, 0);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'a clock that was set right');

# ---- A restored database: each message names it, and tells what to do

$log = log_end($node);
my $dump = $PostgreSQL::Test::Utils::tmp_check . '/tells.dump';
command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'restored');
check_store($node, 'restored', 'restored');
my $restored = worker_slot($node, 'restored');
is(join("\n", map { s/.*?WARNING:  //r } logged($node, $log, qr/WARNING: /)),
	qq{replication slot "$restored" of database "restored" was lost}, 'restored: the log warns of the slot alone');
is(join("\n", logged($node, $log, qr/ERROR|FATAL|have not been created/)), '', 'restored: no error puzzles');

# A worker that starts during the restore finds that some containers are
# missing. Its message says what to do.
$log = log_end($node);
$node->safe_psql('restored', 'ALTER TABLE blogstore.feed RENAME TO away');
my @lines = wait_logged($node, $log, qr/ (LOG|HINT|CONTEXT):  .*(container|database "restored")/, 3);
is(join("\n", map { s/.*?(LOG|HINT|CONTEXT):  /$1: /r } @lines[ 0 .. 2 ]), <<'END' =~ s/\n\z//r, 'half restored: the log says what to do');
LOG: blogstore worker is blocked, and readers use posts instead of the views: container "feed" is missing
HINT: Call blogstore.create_containers() to create it again. The other containers stay unchanged. If a dump is being restored, wait until that is done.
CONTEXT: blogstore worker of database "restored"
END
is($node->safe_psql('restored', 'SELECT state, last_error, hint FROM blogstore.stat_worker'),
	'blocked|container "feed" is missing|Call blogstore.create_containers() to create it again. The other containers stay unchanged. If a dump is being restored, wait until that is done.',
	'half restored: stat_worker too');
$node->safe_psql('restored', 'ALTER TABLE blogstore.away RENAME TO feed');
check_store($node, 'restored', 'restored whole');
is($node->safe_psql('restored', 'SELECT last_error FROM blogstore.stat_worker'), '', 'restored whole: the error is gone');

done_testing();
