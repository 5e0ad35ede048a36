
=pod

=head1 NAME

BlogstoreWorker - the worker in blogstore's TAP tests, and how to hold it and others
where a test wants them

=cut

package BlogstoreWorker;

use strict;
use warnings;

use BlogstoreServer;
use Exporter 'import';
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(
  worker_pid kill_worker stop_worker hold_worker close_gate await_gate open_gate worker_slot
  slots_made job_place hold_writers each_late begin_late
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

kill -9 a database's worker, once there is one; returns when the server has come
back.

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
	# the server takes itself down and up again
	wait_logged($node, $offset, qr/database system is ready to accept connections/);
	return;
}

=pod

=item stop_worker(node, dbname)

Stop a database's worker, by SIGSTOP, while it has nothing to do, and so holds no lock that others need; returns its
process id, for SIGCONT.

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
		# it may have begun to do something in between
		return $pid if $node->safe_psql($dbname, $idle) eq 't';
		kill 'CONT', $pid;
	}
	die 'the worker does not come to rest';
}

=pod

=item hold_worker(node, dbname)

A session that keeps the database's worker from writing posts and views, by a
lock, until it ends its transaction. It is left in this transaction, which is one
of READ COMMITTED. The worker has done all or nothing of each of its
transactions then, and holds no snapshot.

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

Have the worker come to a stop at a place in the middle of what it does: a
prepared transaction holds the locks that some statements take, until
open_gate(), over crashes and restarts. The worker comes back to its place again
and again; what it has committed before stays as it is. Places are

    LOCK TABLE ONLY blogstore.posts_p02_comment IN SHARE MODE

for renames and deletions, which go from leaf to leaf: those of posts first, then
of comments, then of likes. (A weaker lock does not keep them out; a stronger one
would make the gate a writer to wait for.) And the lock of a copy's row in users

    SELECT FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(7) FOR KEY SHARE

for rebuilds, which go by user, date and id of posts. Keep the worker from
going past the place before there is a gate, by hold_worker(). While a gate is
closed nobody can make a replication slot.

=cut

sub close_gate
{
	my ($node, $dbname, $gate, $sql) = @_;

	$node->safe_psql($dbname, "BEGIN; $sql; PREPARE TRANSACTION '$gate'");
	return;
}

=pod

=item await_gate(node, dbname)

Wait until the worker stands at a gate.

=cut

sub await_gate
{
	my ($node, $dbname) = @_;

	# no process holds the locks of a prepared transaction: it counts as 0
	wait_until($node, $dbname,
		"SELECT 0 = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'");
	return;
}

=pod

=item open_gate(node, dbname, gate)

Let the worker go on.

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

Why workers have made slots, by the server's log from an offset on: the DETAIL
of each such line.

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

=item job_place(node, dbname, kind, user)

Where the job of a kind ('rename', 'deletion') stands that goes over the items of
user number so and so: what it writes down with each batch.

=cut

sub job_place
{
	my ($node, $dbname, $kind, $user) = @_;

	return $node->safe_psql($dbname,
		"SELECT id, phase, partition_number, position_first, position_date, position_last, done FROM blogstore.jobs WHERE kind = '$kind' AND user_id = kit.u($user)");
}

=pod

=item hold_writers(node, dbname)

From now on, whoever writes an item of a user from number 100 on waits in a trigger,
between having read the user and the end, while the session that is returned has
the advisory lock 1.

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

Have a sub called for each command that writes an item: with what to call the test, the
id of a user who is to write it, and the call. The referenced number is the user's, one
more than for the last one.

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

Have a session begin a transaction and a query that writes, and wait until it is held
by hold_writers()'s session, the gate.

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

A psql that has run SQL in a transaction which stays open, and how that ends.

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
