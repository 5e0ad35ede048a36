
# A standby is promoted. On PostgreSQL 17 and later, sync_replication_slots can
# keep the worker's slot on standbys; the new primary's worker then goes on
# with that slot. Otherwise the worker logs once that it has none and rebuilds
# the views. Answers are right all the time, and include the last changes
# before the failover.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_server('primary');
$primary->append_conf('postgresql.conf', "max_replication_slots = 10\nwal_keep_size = 1GB\n");
$primary->start;
my $version = $primary->safe_psql('postgres', 'SHOW server_version_num');
create_store($primary, 'postgres');
fill_store($primary, 'postgres', 10, 150);
# The number of rows in which list_feed() differs from the posts. Names are not
# compared, because a rename may be writing them.
$primary->safe_psql(
	'postgres', q{
CREATE FUNCTION kit.wrong_feed() RETURNS bigint LANGUAGE sql STABLE AS $$
SELECT count(*) FROM (
	SELECT 'more', * FROM (SELECT id, title, content, comment_count, like_count FROM blogstore.list_feed(NULL) EXCEPT SELECT id, title, content, comment_count, like_count FROM kit.implied) a
	UNION ALL
	SELECT 'less', * FROM (SELECT id, title, content, comment_count, like_count FROM kit.implied EXCEPT SELECT id, title, content, comment_count, like_count FROM blogstore.list_feed(NULL)) b) c
$$});
check_store($primary, 'postgres', 'primary');
my $slot = worker_slot($primary, 'postgres');

my $n = 500;

# Create a standby that streams from the primary through a slot.
sub new_standby
{
	my ($name, $backup, $conf) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('${name}_slot')");
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	$standby->append_conf('postgresql.conf', "primary_slot_name = '${name}_slot'\nhot_standby_feedback = on\n$conf");
	$standby->start;
	return $standby;
}

# Hold the primary's worker, make changes of every kind that it has not
# applied, and stop the primary as in a crash.
sub change_and_fail
{
	my ($standby) = @_;
	my $holder = hold_worker($primary, 'postgres');

	$n += 10;
	$primary->safe_psql(
		'postgres', qq{
SELECT blogstore.create_post(kit.u(1), 'last of $n', 'x', kit.p($n), kit.d($n));
SELECT blogstore.delete_post(kit.p(145 - $n / 10 + 50));
SELECT blogstore.edit_post(kit.p(149), 'edited $n');
SELECT blogstore.create_like(kit.p(149), kit.u(8));
SELECT blogstore.create_comment(kit.p(149), kit.u(8), 'x');
SELECT blogstore.edit_user(kit.u(7), 'name $n');
SELECT blogstore.create_user('user $n', kit.u($n));
SELECT blogstore.create_comment(kit.p(147), kit.u($n), 'x');
SELECT blogstore.delete_user(kit.u($n));
});
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	$primary->stop('immediate');
	$holder->{run}->finish;
	return;
}

# Promote the standby, and compare the feed until the worker is running. The
# reason is the one for which the worker must have created a slot, undef if it
# must have kept its slot.
sub promote_and_check
{
	my ($standby, $name, $reason) = @_;
	my ($looks, $wrong) = (0, 0);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$standby->promote;
	is($standby->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1)'),
		"last of $n", "$name: list_feed() shows the last post at once");
	do
	{
		$wrong += $standby->safe_psql('postgres', 'SELECT kit.wrong_feed()');
		$looks++;
	} while ($standby->safe_psql('postgres', "SELECT state FROM blogstore.stat_worker") ne 'running');
	$wrong += $standby->safe_psql('postgres', 'SELECT kit.wrong_feed()');
	note "$looks looks";
	is($wrong, 0, "$name: list_feed() is right at every moment");
	check_store($standby, 'postgres', $name);
	is( $standby->safe_psql(
			'postgres', "SELECT state, slot, active FROM blogstore.stat_worker JOIN pg_replication_slots ON slot_name = slot"),
		"running|$slot|t",
		"$name: the worker runs on its slot");

	is(join(', ', slots_made($standby, 0)),
		$reason // '', "$name: the log says why the worker created a slot, or nothing");
	is($standby->safe_psql('postgres', 'SELECT last_rebuild_reason FROM blogstore.stat_worker'),
		$reason // '',
		"$name: stat_worker shows the same reason, or nothing");
	is($standby->safe_psql('postgres', 'SELECT last_error FROM blogstore.stat_worker'), '', "$name: no error stays");

	# Further changes and a restart lose no slot.
	my $offset = log_end($standby);
	$standby->safe_psql('postgres', 'SELECT count(blogstore.create_like(kit.p(n), kit.u(9))) FROM generate_series(1, 100) n');
	check_store($standby, 'postgres', "$name, worked on");
	$standby->restart;
	check_store($standby, 'postgres', "$name, restarted");
	is(join(', ', slots_made($standby, $offset)),
		'', "$name, restarted: the worker goes on with its slot");
	return;
}

# Start the old primary again. It does not have what was written to the
# promoted standby.
sub primary_again
{
	$primary->start;
	check_store($primary, 'postgres', 'primary again');
	is($primary->safe_psql('postgres', 'SELECT last_error IS NULL FROM blogstore.stat_worker'),
		't', 'primary again: it has lost nothing');
	return;
}

# ---- A standby without the slot

$primary->backup('backup');
my $plain = new_standby('plain', 'backup', '');
change_and_fail($plain);
promote_and_check($plain, 'promoted', 'The slot was missing.');
$plain->stop;

# ---- A standby that was copied with all files, the slot included: the slot
# has not been moved on with the primary's

primary_again();
$primary->stop;
$primary->backup_fs_cold('cold');
$primary->start;
my $copied = new_standby('copied', 'cold', '');
is($copied->safe_psql('postgres', "SELECT slot_name FROM pg_replication_slots WHERE slot_name = '$slot'"),
	$slot, 'copied: the standby has the slot');
change_and_fail($copied);
promote_and_check($copied, 'copied', 'The slot dated from before a promotion of this server.');
$copied->stop;
primary_again();

# ---- A standby on which the server keeps the slot in step

if ($version < 170000)
{
	ok(!$primary->safe_psql('postgres', "SELECT count(*) FROM pg_attribute WHERE attrelid = 'pg_replication_slots'::regclass AND attname = 'failover'"),
		'this server does not keep slots on standbys');
	done_testing();
	exit;
}

is($primary->safe_psql('postgres', "SELECT failover FROM pg_replication_slots WHERE slot_name = '$slot'"),
	't', 'in step: the slot is one for failover');
$primary->backup('backup_2');
my $conninfo = $primary->connstr . ' dbname=postgres';
my $in_step = new_standby('in_step', 'backup_2', "sync_replication_slots = on\nprimary_conninfo = '$conninfo'\n");
wait_synchronised($primary, $in_step, 'postgres');
change_and_fail($in_step);
promote_and_check($in_step, 'in step');
is($in_step->safe_psql('postgres', "SELECT synced, failover FROM pg_replication_slots WHERE slot_name = '$slot'"),
	't|t', 'in step: the worker uses the slot that was synchronized');
is(join("\n", logged($in_step, 0, qr/rebuilds the views/)),
	'', 'in step: the views are not built anew');

# ---- The primary's slot is dropped and made again while the standby has it

primary_again();
is($primary->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(drop_slot => true); SELECT blogstore.start_worker(); SELECT kit.views_follow()'),
	"\n\nt", 'made again: the views follow');
is($primary->safe_psql('postgres', "SELECT failover FROM pg_replication_slots WHERE slot_name = '$slot'"),
	't', 'made again: the slot is one for failover');

done_testing();
