# A job of the worker that waits for a transaction uses neither memory nor
# transaction ids. A job that continues in a new worker returns to items that
# were locked. Vacuum, locks and failing jobs do not hold up other jobs.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('waiting_jobs');
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 6, 60);
$node->safe_psql('postgres',
	q{SELECT count(blogstore.create_comment(kit.p(1 + n % 60), kit.u(1), 'x')) FROM generate_series(1, 6000) n});
check_store($node, 'postgres', 'filled');

# The private memory of the worker, in kB
sub worker_memory
{
	my $status =
	  slurp_file('/proc/' . worker_pid($node, 'postgres') . '/status');

	return $status =~ /^RssAnon:\s+(\d+) kB/m ? $1 : die 'no RssAnon';
}

my $next_xid =
  'SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint';
my $stale =
  q{SELECT count(*) FROM blogstore.posts p JOIN blogstore.users u ON u.user_id = p.user_id AND u.type = 'user' WHERE p.user_username <> u.username};

# A rename and a deletion wait for an open transaction that has written.
my $late = $node->background_psql('postgres');
$late->query_safe(
	q{BEGIN; SELECT blogstore.create_comment(kit.p(7), kit.u(1), 'late', kit.c(77))});
$node->safe_psql('postgres',
	q{SELECT blogstore.edit_user(kit.u(1), 'renamed'); SELECT blogstore.delete_user(kit.u(2))});
wait_until($node, 'postgres',
	q{SELECT count(*) = 2 FROM blogstore.progress WHERE phase = 'waiting' AND done > 0 OR kind = 'deletion' AND phase = 'waiting'});
wait_until($node, 'postgres', "$stale AND p.user_id = kit.u(1)", '0');
$node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('1 s')});
my $memory = worker_memory();
my $xid = $node->safe_psql('postgres', $next_xid);
is($node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('3 s')}),
	'f', 'the jobs wait for the transaction');
cmp_ok(worker_memory() - $memory, '<', 400, 'waiting takes no memory');
cmp_ok($node->safe_psql('postgres', $next_xid) - $xid,
	'<', 10, 'waiting takes no transaction ids');
$late->query_safe('COMMIT');
$late->quit;
check_store($node, 'postgres', 'the transaction has ended');
is($node->safe_psql('postgres', $stale), '0', 'no stale name');

# Items are locked when the worker is killed, and free when the next one
# starts.
for my $job (
	q{edit_user(kit.u(1), 'resumed')}, q{delete_user(kit.u(1))})
{
	my $locker = $node->background_psql('postgres');

	$locker->query_safe(
		q{BEGIN; SELECT FROM blogstore.posts WHERE type = 'comment' AND user_id = kit.u(1) AND post_id IN (SELECT kit.p(n) FROM generate_series(1, 30) n) FOR UPDATE});
	$node->safe_psql('postgres', "SELECT blogstore.$job");
	wait_until($node, 'postgres',
		'SELECT count(*) = 0 OR bool_or(done > 1000) FROM blogstore.progress');
	# The restart of the server also ends the session with the locks.
	kill_worker($node, 'postgres');
	check_store($node, 'postgres', "killed beside locks: $job");
	is($node->safe_psql('postgres', $stale), '0', "$job: no stale name");
}
is( $node->safe_psql('postgres',
		'SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(1)'),
	'0', 'nothing of the deleted user is left');

# Another session holds a post by FOR KEY SHARE. delete_user() does not wait
# for that.
$node->safe_psql('postgres',
	q{SELECT count(blogstore.create_post(kit.u(3), 'x', 'x')) FROM generate_series(1, 300) n});
my $keeper = $node->background_psql('postgres');
$keeper->query_safe(
	q{BEGIN; SELECT FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u(3) ORDER BY post_id LIMIT 1 FOR KEY SHARE});
is( $node->safe_psql('postgres',
		q{SET statement_timeout = '200 s'; SELECT blogstore.delete_user(kit.u(3))}),
	't', 'deleting a user does not wait for a post that is kept');
wait_until($node, 'postgres',
	q{SELECT count(*) FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u(3)},
	'1');
$keeper->query_safe('COMMIT');
$keeper->quit;
check_store($node, 'postgres', 'a post was kept');

# A rename waits for transactions that write, but not for VACUUM.
my $vacuum = start_client(
	$node, 'postgres', q{SET vacuum_cost_delay = '100 ms'; SET vacuum_cost_limit = 1;
VACUUM (DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON) blogstore.posts_p00_comment}, 'vacuum');
my $vacuums = 'SELECT count(*) FROM pg_stat_progress_vacuum';
# Stop the VACUUM while it sleeps; it then holds no lock that others need.
my $sleeping = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'vacuum' AND wait_event = 'VacuumDelay'};
my $vacuum_pid;
for (;;)
{
	wait_until($node, 'postgres', "SELECT count(*) = 1 FROM ($sleeping) x");
	$vacuum_pid = $node->safe_psql('postgres', $sleeping) || next;
	kill 'STOP', $vacuum_pid;
	last if $node->safe_psql('postgres', $sleeping);
	kill 'CONT', $vacuum_pid;
}
$node->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(4), 'beside a vacuum')});
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'),
	't', 'a rename does not wait for a vacuum');
is($node->safe_psql('postgres', $vacuums), '1', 'the vacuum is still under way');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($vacuum_pid)");
kill 'CONT', $vacuum_pid;
finish_client($vacuum);

# More jobs fail than the worker looks at in one round. Other jobs are done.
$node->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_like(kit.p(3), user_id)) FROM generate_series(1, 120) n, blogstore.create_user('fails ' || n);
CREATE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	IF new.user_username LIKE 'refused%' THEN
		RAISE 'no such name here';
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.refuse();
SELECT count(blogstore.edit_user(user_id, 'refused ' || username)) FROM blogstore.users WHERE username LIKE 'fails%';
SELECT blogstore.edit_user(kit.u(4), 'behind them')});
wait_until($node, 'postgres', "$stale AND p.user_id = kit.u(4)", '0');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.progress'),
	'120', 'the jobs that failed are still there');
like($node->safe_psql('postgres', 'SELECT last_error FROM blogstore.stat_worker'),
	qr/no such name here/, 'stat_worker shows why');
$node->safe_psql('postgres', 'DROP TRIGGER refuse ON blogstore.posts');
# A new worker does not wait until the failed jobs are due again.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'the reason is gone');
is($node->safe_psql('postgres', $stale), '0', 'the reason is gone: no stale name');

my ($rc, $out, $err) = $node->psql('postgres',
	'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT blogstore.stop_worker(true)',
	extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
like($err, qr/25001/, 'stop_worker() refuses a snapshot of the past');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots WHERE active'),
	'1', 'its slot is still there');

done_testing();
