# A session reads which partitions a container has while one is being attached. The server, told
# of the partition while it reads them, keeps what it had read before. The session must not: it
# would take the partition for missing until another DDL command.

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
# which would tell sessions of changes of catalogs
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 3, 20);
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
my $read = 'SELECT count(*) FROM blogstore.list_user_comments(kit.u(1), 100)';
my $there = $node->safe_psql('postgres', $read);
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00');

# it has looked up all that it needs, but for the root's partitions and the row of a partition that is there
my $reader = $node->background_psql('postgres', on_error_stop => 0);
$reader->query($read);
$node->safe_psql('postgres', 'ALTER TABLE ONLY blogstore.posts ALTER content SET STATISTICS 99; GRANT SELECT ON blogstore.posts_p01 TO PUBLIC');
$reader->query("BEGIN; SELECT FROM ONLY blogstore.posts; SELECT 'blogstore.posts'::regclass::text; COMMIT");

# a session that can look while nobody can open pg_class
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
is($waiting, '1', 'the reader is held in the midst of its look');
$attacher->query_safe('COMMIT');

is($reader->query($read) =~ s/.*\n//sr, $there, 'then it knows the partition');
is($node->safe_psql('postgres', $read), $there, 'as others do');
$_->quit for $reader, $watcher, $attacher;

$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'the worker goes on');
$node->stop;
done_testing();
