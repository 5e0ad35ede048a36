# The worker's writes to the views are rolled back: it waits for a lock in
# vain, it is terminated, or a trigger of the owner rolls back a savepoint
# while the worker folds counts. No other process ends.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('rolled_back');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 3, 20);
check_store($node, 'postgres', 'filled');
my $log = log_end($node);
my $began = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

# A row of the feed is locked. The worker writes copies, and then waits for the
# row.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; SELECT FROM blogstore.feed WHERE id = kit.p(20) FOR UPDATE');
$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(n), 'edited') FROM generate_series(1, 20) n");

# ---- The worker gives up waiting

wait_until($node, 'postgres', "SELECT last_error LIKE 'could not write the views: %' FROM blogstore.stat_worker");
pass('the worker has waited in vain, and goes on');

# ---- The worker is terminated while it waits

is( $node->safe_psql(
		'postgres', q{
CREATE PROCEDURE kit.terminate_waiting(times int) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
BEGIN
	WHILE n < times LOOP
		n := n + (SELECT count(pg_terminate_backend(a.pid)) FROM blogstore.stat_worker w JOIN pg_stat_activity a USING (pid)
			WHERE EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted)
			AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'));
		COMMIT;
	END LOOP;
END $$;
SET statement_timeout = '10min';
CALL kit.terminate_waiting(5);
SELECT pg_postmaster_start_time()}), $began, 'the server goes on');
$holder->query_safe('ROLLBACK');
$holder->quit;
check_store($node, 'postgres', 'terminated');

# ---- A trigger with an exception block, while counts are folded

$node->safe_psql(
	'postgres', q{
CREATE TABLE kit.seen (n int PRIMARY KEY);
CREATE SEQUENCE kit.by_worker;
CREATE FUNCTION kit.see() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	BEGIN
		INSERT INTO seen VALUES (1), (1);
	EXCEPTION WHEN unique_violation THEN
		PERFORM nextval('by_worker') WHERE pg_backend_pid() = (SELECT pid FROM blogstore.stat_worker);
	END;
	RETURN NEW;
END $$;
CREATE TRIGGER see BEFORE UPDATE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.see();});
# Counts that change while the counters are locked become deltas, which the
# worker folds later.
my $counters = q{type = 'delta' AND id = '00000000-0000-0000-0000-000000000000'};
$holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; SELECT FROM blogstore.posts WHERE $counters FOR NO KEY UPDATE");
$node->safe_psql('postgres', 'SELECT blogstore.delete_like(kit.p(n), kit.u(2)) FROM generate_series(1, 20) n');
$holder->query_safe('ROLLBACK');
$holder->quit;
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM blogstore.posts WHERE type = 'delta' AND NOT ($counters)");
cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM kit.by_worker WHERE is_called') || 0, '>', 0, 'the trigger has fired in the worker');
check_store($node, 'postgres', 'folded');

is(join("\n", logged($node, $log, qr/terminated by signal|TRAP:|PANIC/)), '', 'no process has crashed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_origin_status'), '0', 'no progress of an origin is tracked');
$node->stop;
done_testing();
