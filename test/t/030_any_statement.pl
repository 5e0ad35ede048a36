# The library looks at every statement on the server. It accepts any parse tree
# that the grammar allows. It stops a worker only for a role that may run the
# command. It does not prevent PREPARE TRANSACTION, and no session undoes what
# an open transaction of another has done.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('statements');
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\n");
$node->start;
$node->safe_psql('postgres', q{
CREATE ROLE outsider LOGIN;
CREATE ROLE maker LOGIN CREATEDB;
CREATE ROLE landlord LOGIN;
});
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'blog', 'second', 'plain', 'rented';
for my $dbname ('blog', 'second', 'rented')
{
	create_store($node, $dbname);
	fill_store($node, $dbname, 3, 10);
	check_store($node, $dbname, $dbname);
}
$node->safe_psql('postgres', 'ALTER DATABASE rented OWNER TO landlord');

# Run a statement as a role, as a superuser if no role is given. Returns the
# SQLSTATE of its error, or nothing.
sub state_of
{
	my ($role, $dbname, $sql) = @_;
	my ($rc, $out, $err) = $node->psql($dbname, "\\set VERBOSITY verbose\nSET client_min_messages = error;\n$sql;",
		extra_params => $role ? [ '-U', $role ] : []);

	return $err =~ /(?:ERROR|FATAL):  (\w{5})/ ? $1 : $err;
}

# The process ids of the workers, by database
sub workers
{
	return $node->safe_psql('postgres',
		"SELECT datname, pid FROM pg_stat_activity WHERE backend_type = 'blogstore worker' ORDER BY datname");
}

# ---- Statements that the grammar allows and the server refuses

my $workers = workers();
my @odd = map { ("CREATE DATABASE odd TEMPLATE $_", "CREATE DATABASE odd TEMPLATE = $_", "CREATE DATABASE odd OWNER DEFAULT ENCODING DEFAULT TEMPLATE $_ CONNECTION LIMIT 7") }
  '5', '-5', '+5', '2147483647', 'true', 'off', q{''}, q{'a'}, '"a b"', 'template', q{'true'}, 'a TEMPLATE b', '5 TEMPLATE 5',
  'DEFAULT TEMPLATE blog', 'blog TEMPLATE DEFAULT', 'blog TEMPLATE 5', '5 nonsense 5', '5 IS_TEMPLATE 7 ALLOW_CONNECTIONS maybe';
push @odd, 'CREATE DATABASE odd OWNER 5', 'CREATE DATABASE odd TABLESPACE true', 'CREATE DATABASE odd nonsense',
  map { ("ALTER DATABASE blog TABLESPACE $_", "ALTER DATABASE blog WITH TABLESPACE = $_ TABLESPACE = $_", "ALTER DATABASE blog SET TABLESPACE \"$_\"") }
  '5', 'true', '"a b"', 'nowhere';
push @odd, 'ALTER DATABASE blog TABLESPACE DEFAULT', 'ALTER DATABASE blog TABLESPACE pg_default CONNECTION LIMIT 5', 'ALTER DATABASE blog IS_TEMPLATE 7',
  'ALTER DATABASE blog CONNECTION LIMIT -9', 'ALTER DATABASE nowhere RENAME TO blog', 'DROP DATABASE nowhere', 'DROP DATABASE nowhere WITH (FORCE, FORCE)',
  'DROP SCHEMA nothing, "", blogstore_not, "blog.store"', 'DROP EXTENSION nothing, "5"', 'CREATE EXTENSION "5" SCHEMA "6" VERSION "7" CASCADE',
  'CREATE EXTENSION nothing VERSION 5', q{COMMIT PREPARED ''}, q{COMMIT PREPARED 'nothing'}, q{ROLLBACK PREPARED 'nothing'};
for my $statement (@odd)
{
	my @got = map { state_of($_, 'plain', $statement) } 'outsider', 'maker', '';

	# The server refuses the statement for each role, and not with an internal
	# error.
	is(scalar(grep { /^[0-9A-Z]{5}$/ && !/^XX|^57/ } @got), 3, "refused: $statement") or diag("@got");
}
for my $template ('DEFAULT', '= DEFAULT', 'template1', 'DEFAULT OWNER DEFAULT')
{
	is(state_of('outsider', 'plain', "CREATE DATABASE odd TEMPLATE $template"), '42501', "refused: TEMPLATE $template");
	is(state_of($_, 'plain', "CREATE DATABASE odd TEMPLATE $template; DROP DATABASE odd"), '', "done: TEMPLATE $template") for 'maker', '';
}

# ---- A worker is stopped only if the role may run the command, and the
# command can run

for my $refused (
	[ 'outsider', 'DROP DATABASE blog' ], [ 'outsider', 'DROP DATABASE blog WITH (FORCE)' ], [ 'maker', 'DROP DATABASE blog' ],
	[ 'outsider', 'ALTER DATABASE blog RENAME TO other' ], [ 'maker', 'ALTER DATABASE blog RENAME TO other' ],
	[ 'outsider', 'ALTER DATABASE blog SET TABLESPACE pg_default' ], [ 'outsider', 'CREATE DATABASE other TEMPLATE blog' ],
	[ 'maker', 'CREATE DATABASE other TEMPLATE blog' ],
	# An owner without the other right that the command needs
	[ 'landlord', 'ALTER DATABASE rented RENAME TO other' ], [ 'landlord', 'CREATE DATABASE other TEMPLATE rented' ],
	[ 'landlord', 'ALTER DATABASE rented SET TABLESPACE pg_global' ],
	# Statements that cannot run there at all
	[ '', 'BEGIN; DROP DATABASE blog' ], [ '', 'BEGIN; CREATE DATABASE other TEMPLATE blog' ],
	[ '', 'BEGIN; ALTER DATABASE blog SET TABLESPACE pg_default' ], [ '', q{DO $$BEGIN EXECUTE 'DROP DATABASE blog'; END$$} ],
	[ '', 'SET default_transaction_read_only = on; DROP DATABASE blog' ], [ '', 'BEGIN READ ONLY; ALTER DATABASE blog RENAME TO other' ],
	[ '', 'CREATE DATABASE other TEMPLATE blog TEMPLATE blog' ])
{
	my ($role, $statement) = @$refused;

	like(state_of($role, 'plain', $statement), qr/^(42501|25001|25006|42601|0A000)$/,
		"refused" . ($role ? " to $role" : '') . ": $statement");
}
is(state_of('', 'blog', $_), $_ =~ /DROP/ ? '55006' : '0A000', "refused in the database itself: $_")
  for 'DROP DATABASE blog', 'ALTER DATABASE blog RENAME TO other';
is(state_of('', 'plain', 'ALTER DATABASE blog CONNECTION LIMIT 50'), '', 'a command that can run beside other sessions');
is(workers(), $workers, 'all workers have kept running');

# ALTER DATABASE RENAME in a transaction block, and from a function, stops the
# worker that uses the database.
is(state_of('', 'plain', 'BEGIN; ALTER DATABASE rented RENAME TO let; COMMIT'), '', 'renamed in a transaction block');
check_store($node, 'let', 'renamed in a transaction block');
is(state_of('', 'plain', q{DO $$BEGIN EXECUTE 'ALTER DATABASE let RENAME TO rented'; END$$}), '', 'renamed from a function');
check_store($node, 'rented', 'renamed from a function');
isnt(workers(), $workers, 'the worker ended for the rename');
is(state_of('', 'plain', 'DROP DATABASE rented'), '', 'dropped');

# ---- PREPARE TRANSACTION works if the transaction has stopped no worker

for my $dbname ('plain', 'blog')
{
	for my $sql ('DROP SCHEMA IF EXISTS nothing', 'DROP EXTENSION IF EXISTS nothing', 'DROP SCHEMA IF EXISTS nothing, blogstore_not')
	{
		is(state_of('', $dbname, "BEGIN; $sql; PREPARE TRANSACTION 'x'; COMMIT PREPARED 'x'"), '', "prepared in $dbname: $sql");
	}
}
is($node->safe_psql('plain', q{BEGIN; CREATE EXTENSION blogstore; SELECT blogstore.create_containers(2); SELECT count(blogstore.create_user('a user')); PREPARE TRANSACTION 'x'}),
	"\n1", 'prepared: an extension and its containers');
is(state_of('', 'plain', 'SELECT blogstore.get_user_by_name(\'a user\')'), '3F000', 'prepared: the extension is not visible yet');
$node->safe_psql('plain', "COMMIT PREPARED 'x'");
wait_until($node, 'postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = 'plain'");
create_kit($node, 'plain');
check_store($node, 'plain', 'prepared and committed');
is($node->safe_psql('plain', 'SELECT count(*) FROM blogstore.get_user_by_name(\'a user\')'), '1', 'and the user is there');

my $stopped = 'SET client_min_messages = error; SELECT blogstore.stop_worker()';
$node->safe_psql('plain', $stopped);
is(state_of('', 'plain', "BEGIN; SELECT blogstore.start_worker(); PREPARE TRANSACTION 'x'"), '', 'prepared: start_worker() can be');
is(state_of('', 'plain', "SET lock_timeout = '50ms'; $_"), '55P03', "until that has ended, others wait: $_")
  for 'SELECT blogstore.stop_worker()', 'SELECT blogstore.start_worker()';
$node->safe_psql('plain', "ROLLBACK PREPARED 'x'");
is($node->safe_psql('plain', 'SELECT state FROM blogstore.stat_worker'), 'stopped', 'rolled back: the worker is stopped');
$node->safe_psql('plain', "BEGIN; SELECT blogstore.start_worker(); PREPARE TRANSACTION 'x'");
$node->safe_psql('plain', "COMMIT PREPARED 'x'");
check_store($node, 'plain', 'start_worker(), prepared and committed');
is(state_of('', 'plain', "BEGIN; SET client_min_messages = error; SELECT blogstore.stop_worker(); PREPARE TRANSACTION 'x'"),
	'0A000', 'stop_worker() cannot be prepared');
is(state_of('', 'plain', "BEGIN; SAVEPOINT a; SELECT blogstore.stop_worker(); ROLLBACK TO a; PREPARE TRANSACTION 'x'; ROLLBACK PREPARED 'x'"),
	'', 'a transaction can be prepared after a rollback to before stop_worker()');
check_store($node, 'plain', 'not stopped');
$node->safe_psql('plain', $stopped);
$node->safe_psql('plain', "BEGIN; DROP EXTENSION blogstore; PREPARE TRANSACTION 'x'");
$node->safe_psql('plain', "COMMIT PREPARED 'x'");
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_replication_slots WHERE database = 'plain'");
pass('DROP EXTENSION, prepared and committed: the slot of the stopped worker is let go');

# ---- Only the transaction that called stop_worker() decides whether the
# worker stays stopped

my $state = 'SELECT state FROM blogstore.stat_worker';

# Check that the worker is stopped and has no slot. The launcher has started
# the worker of another database first, so it has already dealt with earlier
# requests.
sub stays_stopped
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('second', "$stopped; SELECT blogstore.start_worker()");
	$node->safe_psql('second', q{SELECT blogstore.wait_for_views('10 min')});
	is(worker_pid($node, 'blog'), '', "$name: no worker runs");
	is($node->safe_psql('blog', $state), 'stopped', "$name: it is stopped");
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_replication_slots WHERE database = 'blog'"), '0', "$name: there is no slot");
	return;
}

sub runs_again
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is($node->safe_psql('blog', q{SELECT blogstore.wait_for_views('10 min')}), 't', "$name: the worker runs");
	return;
}

# A session whose open transaction has stopped the worker
sub stopping
{
	my $session = $node->background_psql('blog', on_error_stop => 0);

	$session->query('SET client_min_messages = error');
	$session->query_safe('BEGIN; SELECT blogstore.stop_worker(true)');
	return $session;
}

my @others = (
	[ 'DROP SCHEMA IF EXISTS', 'blog', 'DROP SCHEMA IF EXISTS nothing' ],
	[ 'DROP SCHEMA', 'blog', 'CREATE SCHEMA something; DROP SCHEMA something' ],
	[ 'DROP EXTENSION IF EXISTS', 'blog', 'DROP EXTENSION IF EXISTS nothing' ],
	[ 'CREATE EXTENSION IF NOT EXISTS', 'blog', "SET lock_timeout = '50ms'; CREATE EXTENSION IF NOT EXISTS blogstore" ],
	[ 'start_worker() that waits', 'blog', "SET lock_timeout = '50ms'; SELECT blogstore.start_worker()" ],
	[ 'stop_worker() that waits', 'blog', "SET lock_timeout = '50ms'; SELECT blogstore.stop_worker()" ],
	[ 'wait_for_views()', 'blog', 'SELECT blogstore.wait_for_views()' ],
	[ 'requests', 'blog', 'SELECT blogstore.list_feed(); SELECT blogstore.create_user(NULL)' ],
	[ 'a COMMIT PREPARED', 'blog', "BEGIN; CREATE TABLE prepared (); PREPARE TRANSACTION 'y'; COMMIT PREPARED 'y'; DROP TABLE prepared" ],
	[ 'another launcher', 'postgres', "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE backend_type = 'blogstore launcher'" ],
	[ 'a DROP DATABASE', 'postgres', 'DROP DATABASE blog' ],
	[ 'a rename', 'postgres', 'ALTER DATABASE blog RENAME TO other' ]);
for my $other (@others)
{
	my ($name, $dbname, $sql) = @$other;
	my $session = stopping();

	state_of('', $dbname, $sql);
	wait_until($node, 'postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'blogstore launcher'");
	stays_stopped("beside $name");
	$session->query_safe('COMMIT');
	stays_stopped("after $name, and the COMMIT");
	$session->query_safe('SELECT blogstore.start_worker()');
	$session->quit;
	runs_again("$name and start_worker()");
}

# Transactions of one session, and whether the worker stays stopped
for my $ended (
	[ 'BEGIN; SAVEPOINT a; SELECT blogstore.stop_worker(true); ROLLBACK TO a; SELECT blogstore.stop_worker(true); COMMIT', 1 ],
	[ 'BEGIN; SAVEPOINT a; SELECT blogstore.stop_worker(true); RELEASE a; COMMIT', 1 ],
	[ 'BEGIN; SELECT blogstore.stop_worker(true); SAVEPOINT a; SELECT blogstore.stop_worker(); ROLLBACK TO a; COMMIT', 1 ],
	[ 'BEGIN; SELECT blogstore.stop_worker(true); SAVEPOINT a; SELECT blogstore.start_worker(); ROLLBACK TO a; COMMIT', 1 ],
	[ 'BEGIN; SELECT blogstore.start_worker(); SELECT blogstore.stop_worker(true); COMMIT', 1 ],
	[ 'BEGIN; SELECT blogstore.stop_worker(true); SELECT blogstore.start_worker(); COMMIT', 0 ],
	[ 'BEGIN; SAVEPOINT a; SELECT blogstore.stop_worker(true); RELEASE a; ROLLBACK', 0 ],
	[ 'BEGIN; SAVEPOINT a; SAVEPOINT b; SELECT blogstore.stop_worker(true); RELEASE b; ROLLBACK TO a; COMMIT', 0 ],
	[ 'BEGIN; SAVEPOINT a; SELECT blogstore.stop_worker(true); ROLLBACK TO a; SAVEPOINT b; SELECT blogstore.stop_worker(); ROLLBACK TO b; COMMIT', 0 ],
	[ q{DO $$BEGIN PERFORM blogstore.stop_worker(true); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END$$}, 0 ],
	[ 'BEGIN; SELECT blogstore.stop_worker(true); SELECT 1 / 0', 0 ])
{
	my ($sql, $stays) = @$ended;

	state_of('', 'blog', $sql);
	$stays ? stays_stopped($sql) : runs_again($sql);
	$node->safe_psql('blog', 'SELECT blogstore.start_worker()');
	runs_again("start_worker() after: $sql");
}

# A terminated session has rolled back.
my $session = stopping();
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'blog' AND state = 'idle in transaction'});
runs_again('the session that had stopped it was terminated');
eval { $session->quit };

# A second session waits for the first one, and goes on from what that has
# left.
my $waits = "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'blog' AND wait_event_type = 'Lock' AND backend_type = 'client backend'";
for my $turn (
	[ 'stop_worker(true)', 'COMMIT', 1 ], [ 'stop_worker(true)', 'ROLLBACK', 1 ], [ 'start_worker()', 'COMMIT', 0 ], [ 'start_worker()', 'ROLLBACK', 0 ])
{
	my ($call, $end, $stays) = @$turn;
	my $first = stopping();
	my $second = $node->background_psql('blog');

	$second->query_until(qr/sent/, "\\echo sent\nSET client_min_messages = error;\nSELECT blogstore.$call;\n");
	wait_until($node, 'postgres', $waits);
	$first->query_safe($end);
	$first->quit;
	like($second->query_safe('SELECT 1'), qr/^1$/m, "$call waits for another's $end");
	$stays ? stays_stopped("$call after $end") : runs_again("$call after $end");
	$second->query_safe('SELECT blogstore.start_worker()');
	$second->quit;
	runs_again("start_worker() after $call after $end");
}

# A prepared transaction locks the tables that one worker needs to start. The
# launcher starts other workers meanwhile.
$node->safe_psql('blog', "BEGIN; LOCK TABLE blogstore.users, blogstore.posts; PREPARE TRANSACTION 'lock'");
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'blog' AND backend_type = 'blogstore worker'});
wait_until($node, 'postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'blog' AND backend_type = 'blogstore worker' AND wait_event_type = 'Lock'});
$node->safe_psql('second', $stopped);
$node->safe_psql('second', 'SELECT blogstore.start_worker()');
check_store($node, 'second', 'beside a worker that waits for a lock');
$node->safe_psql('blog', "ROLLBACK PREPARED 'lock'");
runs_again('the lock is gone');

# start_worker() in an older snapshot does not ignore that the worker was
# stopped.
$session = $node->background_psql('blog', on_error_stop => 0);
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('blog', $stopped);
$session->query('SELECT blogstore.start_worker()');
$session->query('COMMIT');
is($node->safe_psql('blog', 'SELECT enabled FROM blogstore.view_state'), 'f', 'start_worker() by an older snapshot fails, and starts nothing');
$session->quit;
is(state_of('', 'blog', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT blogstore.start_worker(); COMMIT'), '', 'start_worker() by a new snapshot succeeds');

check_store($node, $_, "at the end, $_") for 'blog', 'second';
is(logged($node, 0, qr/was terminated by signal|PANIC|TRAP/), 0, 'no process has crashed');

done_testing();
