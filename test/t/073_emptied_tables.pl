
# A test suite, or a site that starts anew, empties all tables. The views are
# right afterwards, whichever of blogstore's tables are emptied, and the worker
# goes on.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('emptied');
$node->start;
create_store($node, 'postgres');
my $served = q{SELECT w.state = 'running' AND v.ready FROM blogstore.stat_worker AS w, blogstore.view_state AS v};
my $tables = q{SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition};

# Fill the store with users and posts, as a suite does, and check it.
sub run_suite
{
	my ($name) = @_;

	$node->safe_psql('postgres', 'SELECT kit.fill(3, 150)');
	wait_until($node, 'postgres', $served);
	check_store($node, 'postgres', $name);
	return;
}

run_suite('at first');
my $all = $node->safe_psql('postgres', $tables);
like($all, qr/view_state/, 'there is a table view_state');
foreach my $empty ("TRUNCATE $all", "TRUNCATE $all RESTART IDENTITY CASCADE",
	join('; ', map { "TRUNCATE $_" } split /, /, $all), join('; ', map { "DELETE FROM $_" } split /, /, $all))
{
	$node->safe_psql('postgres', $empty);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed()'), '0', "$empty: nothing is listed");
	run_suite($empty);
}

# The same during a rebuild. The worker must not take the rebuild for complete.
my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
$node->safe_psql('postgres', 'TRUNCATE blogstore.view_state, blogstore.jobs');
$holder->quit;
wait_until($node, 'postgres', $served);
check_store($node, 'postgres', 'in the midst of a rebuild');

# The same while the server is down
foreach my $table (qw(view_state change_feed jobs))
{
	$node->safe_psql('postgres', "BEGIN; DELETE FROM blogstore.$table; PREPARE TRANSACTION 'emptied'");
	$node->restart;
	$node->safe_psql('postgres', q{COMMIT PREPARED 'emptied'});
	wait_until($node, 'postgres', $served);
	check_store($node, 'postgres', "$table is emptied at a start");
}

# A stopped worker stays stopped. When it is started it builds the views.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', "TRUNCATE $all");
is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'), 'stopped', 'a worker that is stopped is not started by that');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
run_suite('started again');

$node->stop;
done_testing();
