
=pod

=head1 NAME

BlogstoreWorker - the worker in blogstore's TAP tests, and ways to hold it and
other processes where a test needs them

=cut

package BlogstoreWorker;

use strict;
use warnings;

use BlogstoreServer;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  worker_pid kill_worker stop_worker hold_worker close_gate await_gate open_gate worker_slot
  slots_made move_slot wait_synchronised job_place hold_writers each_late begin_late
);
our @EXPORT_OK = qw(hold release);

=pod

=head1 THE WORKER

=over

=item worker_pid(node, dbname)

The process id of a database's worker, empty if there is none.

=cut

sub worker_pid
{
	my ($node, $dbname) = @_;

	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'"
	);
}

=pod

=item kill_worker(node, dbname)

Kill a database's worker with SIGKILL, once there is one. Returns when the
server accepts connections again.

=cut

sub kill_worker
{
	my ($node, $dbname) = @_;
	my $offset = log_end($node);
	my $pid;

	wait_until($node, 'postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'");
	$pid = worker_pid($node, $dbname) || die "no worker in $dbname";
	kill 9, $pid;
	# The crash makes the server restart.
	wait_logged($node, $offset, qr/database system is ready to accept connections/);
	return;
}

=pod

=item stop_worker(node, dbname)

Stop a database's worker with SIGSTOP while it is idle and holds no lock that
other processes need. Returns its process id, for SIGCONT.

=cut

sub stop_worker
{
	my ($node, $dbname) = @_;
	my $pid = worker_pid($node, $dbname);
	my $idle = "SELECT state = 'idle' AND NOT EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid)
FROM pg_stat_activity AS a WHERE pid = $pid";

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		wait_until($node, $dbname, $idle);
		kill 'STOP', $pid;
		# It may have begun to work in between.
		return $pid if $node->safe_psql($dbname, $idle) eq 't';
		kill 'CONT', $pid;
	}
	die 'the worker does not come to rest';
}

=pod

=item hold_worker(node, dbname)

A session that keeps the worker from writing posts and views by a lock, until
it ends its transaction, which is under READ COMMITTED. When the function
returns, the worker is in no transaction that has written, and holds no
snapshot.

=cut

sub hold_worker
{
	my ($node, $dbname) = @_;
	my $session = $node->background_psql($dbname);

	$session->query_safe('BEGIN; LOCK TABLE blogstore.feed IN SHARE MODE');
	return $session;
}

=pod

=item close_gate(node, dbname, gate, sql)

Hold the worker at a certain place in its work. A prepared transaction holds
the locks that a statement takes, over crashes and restarts, until open_gate().
The worker returns to that place again and again. What it has committed before
remains. For renames and deletions use

    LOCK TABLE ONLY blogstore.posts_p02_comment IN SHARE MODE

They go from table to table: first those of posts, then those of comments, then
those of likes. A weaker lock would not hold the worker. A stronger one would
make the prepared transaction a writer that the job waits for. For rebuilds,
which go by user, date and id of posts, lock the row of a copy:

    SELECT FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(7)
    FOR KEY SHARE

Call hold_worker() before, so that the worker does not pass the place
meanwhile. While a gate is closed no replication slot can be created.

=cut

sub close_gate
{
	my ($node, $dbname, $gate, $sql) = @_;

	$node->safe_psql($dbname, "BEGIN; $sql; PREPARE TRANSACTION '$gate'");
	return;
}

=pod

=item await_gate(node, dbname)

Wait until the worker waits at a gate.

=cut

sub await_gate
{
	my ($node, $dbname) = @_;

	# pg_blocking_pids() reports a prepared transaction as process 0.
	wait_until($node, $dbname,
		"SELECT 0 = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'");
	return;
}

=pod

=item open_gate(node, dbname, gate)

Let the worker pass a gate.

=cut

sub open_gate
{
	my ($node, $dbname, $gate) = @_;

	$node->safe_psql($dbname, "COMMIT PREPARED '$gate'");
	return;
}

=pod

=item worker_slot(node, dbname)

The name of the replication slot of a database's worker.

=cut

sub worker_slot
{
	my ($node, $dbname) = @_;

	return 'blogstore_'
	  . $node->safe_psql('postgres',
		"SELECT oid FROM pg_database WHERE datname = '$dbname'");
}

=pod

=item slots_made(node, offset)

The reasons why workers have created slots, by the server's log from an offset
on: the DETAIL of each such message.

=cut

sub slots_made
{
	my ($node, $offset) = @_;
	my @reasons;

	my @lines = logged($node, $offset,
		qr/LOG:  blogstore worker created replication slot|DETAIL:/);
	while (defined(my $line = shift @lines))
	{
		next unless $line =~ /LOG:  blogstore worker created replication slot "blogstore_\d+" and rebuilds the views$/;
		push @reasons,
		  @lines && $lines[0] =~ /DETAIL:  (.*)/ ? $1 : 'no DETAIL';
	}
	return @reasons;
}

=pod

=item move_slot(primary, standby, dbname, query, sql)

Have the worker of the primary move its slot on, until a query on the standby
returns true. Before each step, run SQL on the primary, if any is given. Needs
post 1 of the kit, and PostgreSQL 16 or later.

=cut

sub move_slot
{
	my ($primary, $standby, $dbname, $query, $sql) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $standby->safe_psql($dbname, $query) eq 't';
		$primary->safe_psql($dbname, ($sql // '') . q{;
SELECT pg_log_standby_snapshot();
SELECT blogstore.edit_post(kit.p(1), md5(random()::text));
SELECT kit.views_follow()});
		usleep(100_000);
	}
	die "the slot moves on, but this did not come true: $query";
}

=pod

=item wait_synchronised(primary, standby, dbname)

Wait until a standby with sync_replication_slots has the worker's slot. The
server copies it once the slot of the primary has moved past the point where
the standby began.

=cut

sub wait_synchronised
{
	my ($primary, $standby, $dbname) = @_;
	my $slot = worker_slot($primary, $dbname);

	move_slot($primary, $standby, $dbname,
		"SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = '$slot' AND synced AND NOT temporary AND invalidation_reason IS NULL");
	return;
}

=pod

=item job_place(node, dbname, kind, user)

The place of a user's job of a kind ('rename' or 'deletion'), as the worker
stores it with each batch.

=cut

sub job_place
{
	my ($node, $dbname, $kind, $user) = @_;

	return $node->safe_psql($dbname,
		"SELECT id, phase, partition_number, position_first, position_date, position_last, done FROM blogstore.jobs WHERE kind = '$kind' AND user_id = kit.u($user)");
}

=pod

=item hold_writers(node, dbname)

Create a trigger that holds each writer of an item of user 100 or above, after
it has read the user. It waits while the returned session has the advisory lock
1.

=cut

sub hold_writers
{
	my ($node, $dbname) = @_;

	$node->safe_psql(
		$dbname, q{
CREATE FUNCTION kit.wait() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(1);
	RETURN NEW;
END $$;
CREATE TRIGGER kit_wait BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.user_id >= kit.u(100)) EXECUTE FUNCTION kit.wait();
});
	return $node->background_psql($dbname);
}

=pod

=item each_late(number, isolation, sub)

Call a sub for each command that writes an item, with a name for the test, a
new user's id, and the call for this user. $$number is the number of the last
user, and is incremented for each call.

=cut

sub each_late
{
	my ($number, $isolation, $sub) = @_;

	foreach my $late (
		'create_post(%u, $$late$$, $$x$$)',
		'create_comment(kit.p(7), %u, $$late$$)',
		'create_like(kit.p(8), %u)')
	{
		my $what = $late =~ /^(\w+)/ ? "$1() under $isolation" : die;
		my $user = 'kit.u(' . ++$$number . ')';

		$sub->($what, $user, $late =~ s/%u/$user/r);
	}
	return;
}

=pod

=item begin_late(node, dbname, gate, writer, isolation, query)

Have a session begin a transaction and a query that writes, and wait until the
trigger of hold_writers() holds it. The gate is the session that hold_writers()
returned.

=cut

sub begin_late
{
	my ($node, $dbname, $gate, $writer, $isolation, $query) = @_;

	$gate->query_safe('SELECT pg_advisory_lock(1)');
	$writer->query_until(qr/started/,
		"BEGIN ISOLATION LEVEL $isolation;\nSELECT blogstore.new_id() IS NULL;\n\\echo started\n$query;\n");
	wait_until($node, $dbname,
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'");
	return;
}

=pod

=item hold(node, dbname, sql), release(psql)

A psql session with an open transaction that has run SQL; and the end of such a
session.

=cut

sub hold
{
	my ($node, $dbname, $sql) = @_;
	my $psql = $node->background_psql($dbname);

	$psql->query_safe("BEGIN; $sql");
	return $psql;
}

sub release
{
	my ($psql) = @_;

	$psql->query_safe('COMMIT');
	$psql->quit;
	return;
}

=pod

=back

=cut

1;
