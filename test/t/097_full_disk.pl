
# The disk of the tables and the disk of pg_wal are full, as "Full disk" of
# docs/OPERATIONS.md describes, and have room again. full_disk.c fills them for
# this server alone.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreDocument;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('full');
my $disk = $node->basedir . '/disk';
my $posts = 0;

# Fill the disk of the tables or that of wal, or make room on it.
sub fill_disk
{
	my ($which) = @_;

	append_to_file("$disk.$which", '');
	return;
}

sub make_room
{
	my ($which) = @_;

	unlink "$disk.$which" or die "$disk.$which: $!";
	return;
}

# SQL that creates a post with a number of bytes of content, which do not
# compress
sub new_post
{
	my ($bytes) = @_;
	my $n = 1000 + ++$posts;

	return "create_post(kit.u(1 + $n % 9), 'post $n', (SELECT left(string_agg(md5(random()::text), ''), $bytes) FROM generate_series(1, 1 + $bytes / 32)), kit.p($n), kit.d($n))";
}

start_preloaded($node, 'full_disk', FULL_DISK => $disk);
create_store($node, 'postgres');
fill_store($node, 'postgres', 9, 120);
check_store($node, 'postgres', 'filled');

# ---- The disk of the tables

# The worker has to write the copies of posts when it is released.
my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', join '', map { 'SELECT blogstore.' . new_post(1000) . ";\n" } 1 .. 200);
my $offset = log_end($node);
fill_disk('tables');
is(sqlstate($node, 'postgres', new_post(100_000)), '53100, hint', 'the tables are full: a command fails');
is($node->safe_psql('postgres', "SELECT count(*), max(title) FROM kit.implied WHERE id >= kit.p(1000)"),
	'200|post 1200', '... and has written nothing');
is($node->safe_psql('postgres', 'SELECT title FROM blogstore.get_post(kit.p(1200)); SELECT count(*) FROM blogstore.list_feed(NULL)'),
	"post 1200\n120", '... and queries go on');
$holder->quit;
wait_until($node, 'postgres', "SELECT state = 'waiting to restart' FROM blogstore.stat_worker");
like($node->safe_psql('postgres', 'SELECT last_error FROM blogstore.stat_worker'),
	qr/^could not extend file "base\/.*No space left on device$/, 'the worker waits, and says why');
wait_logged($node, $offset, qr/ERROR:  could not extend file "base\/.*No space left on device/, 3);
check_answers($node, 'postgres', 'the worker has failed');
wait_until($node, 'postgres', "SELECT NOT active AND wal_status = 'reserved' AND confirmed_flush_lsn < pg_current_wal_lsn() FROM pg_replication_slots");
pass('the slot keeps WAL');
make_room('tables');
check_store($node, 'postgres', 'the tables have room');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed(NULL); SELECT state, last_error FROM blogstore.stat_worker'),
	"320\nrunning|", '... and the worker goes on');
is(join(', ', slots_made($node, $offset)), '', '... with its slot');

# ---- The disk of pg_wal

# The worker is stopped, and so its slot keeps all WAL.
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
my $oldest = $node->safe_psql('postgres', 'SELECT pg_walfile_name(restart_lsn) FROM pg_replication_slots');
$offset = log_end($node);
fill_disk('wal');
# The segments that the server has made in advance are used up after some
# rounds. Each round prints the post that it has created.
my $client = start_client($node, 'postgres',
	join('', map { 'SELECT id FROM blogstore.' . new_post(1000) . ";\nSELECT WHERE pg_switch_wal() IS NULL;\n" } 1 .. 1000), 'writer');
my ($acknowledged, $told) = finish_client($client);
like($told, qr/server closed the connection|terminating connection because of crash/, 'pg_wal is full: the server has stopped');
cmp_ok(scalar @$acknowledged, '<', 1000, '... and the client has');
is(scalar(wait_logged($node, $offset, qr/PANIC:  could not write to file "pg_wal\/xlogtemp\.[0-9]+": No space left on device/)), 1, '... as the document says');
wait_logged($node, $offset, qr/FATAL:  could not write to file "pg_wal\/xlogtemp\.[0-9]+": No space left on device/);
wait_logged($node, $offset, qr/LOG:  database system is shut down/);
$node->stop('fast', fail_ok => 1);
$offset = log_end($node);
ok(!start_preloaded($node, 'full_disk', FULL_DISK => $disk, fail_ok => 1), 'it does not start while there is no room');
like(join("\n", logged($node, $offset, qr/FATAL/)), qr/could not write to file "pg_wal\/xlogtemp/, '... and says why');

make_room('wal');
start_preloaded($node, 'full_disk', FULL_DISK => $disk);
cmp_ok(scalar @$acknowledged, '>', 0, 'there is room: the client had some posts acknowledged');
my $ids = join ', ', map { "('$_'::uuid)" } @$acknowledged;
is($node->safe_psql('postgres', "SELECT count(*) FROM (VALUES $ids) AS a (id), LATERAL blogstore.get_post(id)"),
	scalar @$acknowledged, '... and none of them is lost');
check_answers($node, 'postgres', 'there is room');
read_document('docs/OPERATIONS.md');
my $slot = worker_slot($node, 'postgres');
like($node->safe_psql('postgres', block('sql', 'Full disk')), qr/^$slot\|postgres\|f\|\w+\|[0-9]+ [kM]B$/, 'the slot that keeps the WAL');
my $kept = "SELECT count(*) FROM pg_ls_waldir() WHERE name = '$oldest'";
$node->safe_psql('postgres', 'CHECKPOINT');
is($node->safe_psql('postgres', $kept), '1', '... which a checkpoint does not remove');
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true); SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'with another slot');
$node->safe_psql('postgres', 'CHECKPOINT');
is($node->safe_psql('postgres', $kept), '0', 'a checkpoint has removed the WAL');
$node->stop;

done_testing();
