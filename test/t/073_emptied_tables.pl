
# A test suite, or who starts a site anew, empties all tables between two runs. The views follow
# whichever of blogstore's tables are emptied, and the worker goes on.

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

# A store as after a run of a suite, with a post by whom nobody has seen before
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

# The same in the midst of a rebuild, which is not taken for done
my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
$node->safe_psql('postgres', 'TRUNCATE blogstore.view_state, blogstore.jobs');
$holder->quit;
wait_until($node, 'postgres', $served);
check_store($node, 'postgres', 'in the midst of a rebuild');

# ... and while the server is down
foreach my $table (qw(view_state change_feed jobs))
{
	$node->safe_psql('postgres', "BEGIN; DELETE FROM blogstore.$table; PREPARE TRANSACTION 'emptied'");
	$node->restart;
	$node->safe_psql('postgres', q{COMMIT PREPARED 'emptied'});
	wait_until($node, 'postgres', $served);
	check_store($node, 'postgres', "$table is emptied at a start");
}

# A worker that is stopped stays so until it is started; then it builds the views
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', "TRUNCATE $all");
is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'), 'stopped', 'a worker that is stopped is not started by that');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
run_suite('started again');

$node->stop;
done_testing();
