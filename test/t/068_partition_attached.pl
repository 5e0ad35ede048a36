# A partition is attached while a session reads the list of partitions. The
# server gets the invalidation in the midst of the reading, but its cache entry
# keeps the old list. The session must not keep it too, or it would miss the
# partition until the next DDL command.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_server('attached');
# Autovacuum would cause invalidations of its own.
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 3, 20);
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
my $read = 'SELECT count(*) FROM blogstore.list_user_comments(kit.u(1), 100)';
my $there = $node->safe_psql('postgres', $read);
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00');

# The reader has cached everything it needs, except the partitions of the
# container and the pg_class row of an existing partition.
my $reader = $node->background_psql('postgres', on_error_stop => 0);
$reader->query($read);
$node->safe_psql('postgres', 'ALTER TABLE ONLY blogstore.posts ALTER content SET STATISTICS 99; GRANT SELECT ON blogstore.posts_p01 TO PUBLIC');
$reader->query("BEGIN; SELECT FROM ONLY blogstore.posts; SELECT 'blogstore.posts'::regclass::text; COMMIT");

# A session that can query pg_locks while pg_class is locked
my $watcher = $node->background_psql('postgres');
my $waits = 'SELECT count(*) FROM pg_locks WHERE relation = 1259 AND NOT granted';
$watcher->query_safe($waits) for 1 .. 2;

my $attacher = $node->background_psql('postgres');
$attacher->query_safe('BEGIN; ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0); LOCK TABLE pg_class');
$reader->query_until(qr/started/, "\\echo started\n$read;\n");
my $waiting = 0;
for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
{
	$waiting = $watcher->query_safe($waits);
	last if $waiting;
	usleep(10_000);
}
is($waiting, '1', 'the reader waits in the midst of its reading');
$attacher->query_safe('COMMIT');

is($reader->query($read) =~ s/.*\n//sr, $there, 'after that the reader finds the partition');
is($node->safe_psql('postgres', $read), $there, 'other sessions find it, too');
$_->quit for $reader, $watcher, $attacher;

$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'the worker goes on');
$node->stop;
done_testing();
