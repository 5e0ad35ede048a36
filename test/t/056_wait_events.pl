
# What the processes of blogstore wait for, by name, in pg_stat_activity. Each
# wait lasts, or recurs, until the test ends it.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($version) = qx{$ENV{PG_CONFIG} --version} =~ /(\d+)/;
plan skip_all => 'before PostgreSQL 17, extensions have no names for wait events' if $version < 17;

my $node = new_server('waits');
# Only the walwriter and commits flush the WAL then.
$node->append_conf('postgresql.conf', "autovacuum = off\ncheckpoint_timeout = 1d\nblogstore.view_refresh_delay = '1s'\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 3, 10);
check_store($node, 'postgres', 'at first');

my $worker = "backend_type = 'blogstore worker'";

sub waits
{
	my ($condition, $name, $event) = @_;

	wait_until($node, 'postgres', "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE $condition", "Extension $event");
	pass("$name waits for $event");
	return;
}

# End a client that would run on.
sub end_client
{
	my ($client, $name) = @_;

	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$name'");
	finish_client($client);
	return;
}

# ---- Idle

waits("backend_type = 'blogstore launcher'", 'the launcher', 'BlogstoreLauncherMain');
waits($worker, 'the worker', 'BlogstoreWorkerMain');

# ---- Sessions that wait for the worker, which is stopped by a signal

my $held = stop_worker($node, 'postgres');
my $client = start_client($node, 'postgres', "SELECT blogstore.wait_for_views('1 h');", 'views');
waits("application_name = 'views'", 'wait_for_views()', 'BlogstoreViews');
kill 'CONT', $held;
finish_client($client);

$held = stop_worker($node, 'postgres');
$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(1), 'edited')");
$client = start_client($node, 'postgres', "SELECT blogstore.wait_for_posts('1 min') FROM generate_series(1, 60);", 'posts');
waits("application_name = 'posts'", 'wait_for_posts()', 'BlogstoreViews');
kill 'CONT', $held;
finish_client($client);

# Each verify() waits for some seconds only.
$held = stop_worker($node, 'postgres');
$client = start_client($node, 'postgres', 'DO $$ BEGIN LOOP PERFORM blogstore.verify(); END LOOP; END $$;', 'verify');
waits("application_name = 'verify'", 'verify()', 'BlogstoreVerify');
kill 'CONT', $held;
end_client($client, 'verify');

$held = stop_worker($node, 'postgres');
$client = start_client($node, 'postgres', 'BEGIN; SELECT blogstore.stop_worker(); ROLLBACK;', 'stop');
waits("application_name = 'stop'", 'stop_worker()', 'BlogstoreWorkerEnd');
kill 'CONT', $held;
finish_client($client);
check_store($node, 'postgres', 'the worker runs again');

# ---- The worker on a busy site

$node->safe_psql(
	'postgres', q{
CREATE PROCEDURE public.edit() LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		PERFORM blogstore.edit_post(kit.p(1), gen_random_uuid()::text);
		COMMIT;
	END LOOP;
END $$});
$client = start_client($node, 'postgres', 'SET synchronous_commit = off; CALL public.edit();', 'busy');
waits($worker, 'the worker', 'BlogstoreWorkerPause');
end_client($client, 'busy');

# ---- The worker without its tables

$node->safe_psql('postgres', 'ALTER TABLE blogstore.feed RENAME COLUMN title TO caption');
wait_until($node, 'postgres', 'SELECT state FROM blogstore.stat_worker', 'blocked');
waits($worker, 'the worker', 'BlogstoreWorkerTables');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.feed RENAME COLUMN caption TO title');
check_store($node, 'postgres', 'mended');

# ---- The worker, while it creates its slot

# It waits for the end of a transaction, and then for the WAL that it writes
# itself, which the walwriter does not flush.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
my $open = $node->background_psql('postgres');
$open->query_safe("BEGIN; SELECT blogstore.edit_post(kit.p(2), 'edited')");
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE $worker", 'Lock transactionid');
my $walwriter = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";
$held = $node->safe_psql('postgres', $walwriter);
until ($node->safe_psql('postgres', "$walwriter AND wait_event = 'WalWriterMain'") eq $held && kill('STOP', $held)
	&& $node->safe_psql('postgres', "$walwriter AND wait_event = 'WalWriterMain'") eq $held)
{
	kill 'CONT', $held;
}
$open->query_safe('COMMIT');
$open->quit;
waits($worker, 'the worker', 'BlogstoreWorkerSlot');
kill 'CONT', $held;
check_store($node, 'postgres', 'with a new slot');

# ---- The names

is($node->safe_psql('postgres', "SELECT name FROM pg_wait_events WHERE type = 'Extension' AND name <> 'Extension' ORDER BY name COLLATE \"C\""),
	join("\n", sort(slurp_file("$FindBin::RealBin/../../docs/REFERENCE.md") =~ /^\| `(Blogstore\w+)` \|/mg)),
	'the reference lists each wait event, and no other');

done_testing();
