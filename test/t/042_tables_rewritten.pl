
# A rebuild writes stale copies where it has found them, so their tables are not written
# anew (VACUUM FULL) between its look and its writing.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('moved');
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', "SELECT kit.fill(20, 6000, 'x')");
check_store($node, 'postgres', 'filled');

my $copies = "FROM blogstore.users WHERE type = 'post'";

# All copies are stale, and lie behind dead ones: written anew, a table ends before them
my $log_end = -s $node->logfile;
for my $round (1 .. 3)
{
	$node->safe_psql(
		'postgres', qq{
SET client_min_messages = error;
SELECT blogstore.stop_worker(drop_slot => true);
UPDATE blogstore.users SET title = 'wrong once' WHERE type = 'post';
UPDATE blogstore.users SET title = 'wrong' WHERE type = 'post';
SELECT blogstore.start_worker();
});
	my $leaves = join ' ', map { "VACUUM FULL blogstore.users_p0${_}_post;" } 0 .. 3;
	my $vacuum = $node->background_psql('postgres');
	$vacuum->query_until(qr/begun/, "\\echo begun\n" . "$leaves\n" x 10);
	is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', "round $round: the views are built");
	$vacuum->quit;
}
check_store($node, 'postgres', 'moved');
is($node->safe_psql('postgres', "SELECT count(*) $copies AND title = 'wrong'"), '0', 'moved: all copies are right');
is(join("\n", grep { /ERROR|WARNING/ } split /\n/, slurp_file($node->logfile, $log_end)), '', 'moved: nothing has failed');

done_testing();
