
=pod

=head1 NAME

BlogstoreTest - servers and stores for blogstore's TAP tests

=cut

package BlogstoreTest;

use strict;
use warnings;

# How long anything may take that has to come of itself, in seconds, for all that
# waits: far more than it takes on a machine that is overloaded. Waiting for what
# comes true costs nothing. It is read when the modules below are loaded.
BEGIN
{
	$ENV{PG_TEST_TIMEOUT_DEFAULT} ||= 600;
	$ENV{PGCTLTIMEOUT} ||= $ENV{PG_TEST_TIMEOUT_DEFAULT};
}

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  new_server prepare_server create_store create_kit fill_store worker_pid
  start_client finish_client start_again check_store sqlstate
  wait_until wait_accepts wait_logged hold_worker kill_worker close_gate
  await_gate open_gate worker_slot log_end logged slots_made check_answers
);

=pod

=head1 SERVERS

=over

=item new_server(name, %params)

A server that was initialised but not started, prepared for the views unless
prepared => 0.

=cut

sub new_server
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $prepared = $params{prepared} // 1;

	$node->init(
		allows_streaming => $prepared ? 'logical' : 1,
		extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	$node->append_conf(
		'postgresql.conf', q{
log_statement = none
max_connections = 60
max_prepared_transactions = 10
max_worker_processes = 16
shared_buffers = 64MB
max_wal_size = 1GB
restart_after_crash = on
});
	prepare_server($node) if $prepared;
	return $node;
}

=pod

=item prepare_server(node)

Set what the worker needs; takes effect at the next start.

=cut

sub prepare_server
{
	my ($node) = @_;

	$node->append_conf('postgresql.conf',
		"wal_level = logical\nshared_preload_libraries = 'blogstore'\n");
	return;
}

=pod

=item start_again(node)

Start a server whose postmaster was killed: it refuses while the children of
the old one are still there.

=cut

sub start_again
{
	my ($node) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $node->start(fail_ok => 1);
		# no condition to wait for but the end of processes that are no
		# longer anybody's children; forget the attempt
		select(undef, undef, undef, 0.1);
		$node->stop('fast', fail_ok => 1);
	}
	return $node->start;
}

=pod

=item wait_until(node, dbname, query, expected)

Wait until a query gives what is expected, t if nothing is said; dies, with
what it gave last, if that does not come. Only for what stays as it is once it
has come, or comes again and again: what is over before anybody looks has to be
held where it is, see close_gate().

=cut

sub wait_until
{
	my ($node, $dbname, $query, $expected) = @_;

	$node->poll_query_until($dbname, $query, $expected // 't')
	  or die "this did not come true: $query";
	return;
}

=pod

=item wait_accepts(node, query)

Wait until a server takes connections again, and a query, where given, is true.
(poll_query_until() writes its query to a psql that may have ended before, which
is an error of its own.)

=cut

sub wait_accepts
{
	my ($node, $query) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my ($out, $err) = ('', '');

		IPC::Run::run([
			$node->installed_command('psql'), '-XAt', '-d', $node->connstr('postgres'), '-c', $query // 'SELECT true'
		], '<', \undef, '>', \$out, '2>', \$err);
		return if $out =~ /^t$/m;
		usleep(100_000);
	}
	die 'the server does not come back';
}

=pod

=item wait_logged(node, offset, pattern, n)

Wait until so many lines of the server's log from an offset on match, one if
nothing is said; returns those that do.

=cut

sub wait_logged
{
	my ($node, $offset, $pattern, $n) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my @lines = logged($node, $offset, $pattern);

		return @lines if @lines >= ($n // 1);
		usleep(100_000);
	}
	die "this is not logged: $pattern";
}

=pod

=item log_end(node)

Where the server's log ends now.

=cut

sub log_end
{
	my ($node) = @_;

	return -s $node->logfile;
}

=pod

=item logged(node, offset, pattern)

The lines of the server's log from an offset on that match.

=cut

sub logged
{
	my ($node, $offset, $pattern) = @_;

	return grep { $_ =~ $pattern } split /\n/,
	  slurp_file($node->logfile, $offset);
}

=pod

=back

=head1 STORES

=over

=item create_store(node, dbname)

The extension and its containers in a database, and the helpers.

=cut

sub create_store
{
	my ($node, $dbname) = @_;

	$node->safe_psql($dbname,
		'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(4)');
	create_kit($node, $dbname);
	return;
}

=pod

=item create_kit(node, dbname)

The schema kit: ids of user, post and comment number n, minute n of 2024, what
the posts container implies, the posts whose counts are wrong, a call's SQLSTATE,
and a wait for the views that has time on a machine that is overloaded.

=cut

sub create_kit
{
	my ($node, $dbname) = @_;

	$node->safe_psql(
		$dbname, q{
CREATE SCHEMA kit;
CREATE FUNCTION kit.u(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.p(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8001-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.c(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8002-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.d(n int) RETURNS timestamptz LANGUAGE sql IMMUTABLE
AS $$ SELECT timestamptz '2024-01-01 00:00:00+00' + n * interval '1 minute' $$;
CREATE VIEW kit.posts AS
SELECT p.id, p.type, p.post_id, p.user_id, p.user_username, p.title, p.content,
	p.comment_count + coalesce(d.comment_count, 0) AS comment_count,
	p.like_count + coalesce(d.like_count, 0) AS like_count, p.creation_date
FROM blogstore.posts p
LEFT JOIN (SELECT post_id, sum(comment_count)::bigint AS comment_count, sum(like_count)::bigint AS like_count
	FROM blogstore.posts WHERE type = 'delta' GROUP BY post_id) d ON d.post_id = p.post_id
WHERE p.type = 'post';
CREATE VIEW kit.implied AS
SELECT p.id, p.type, p.post_id, p.user_id, u.username AS user_username,
	p.title, left(p.content, 200) AS content,
	(SELECT count(*) FROM blogstore.posts c WHERE c.post_id = p.post_id AND c.type = 'comment') AS comment_count,
	(SELECT count(*) FROM blogstore.posts l WHERE l.post_id = p.post_id AND l.type = 'like') AS like_count,
	p.creation_date
FROM blogstore.posts p
LEFT JOIN blogstore.users u ON u.user_id = p.user_id AND u.type = 'user'
WHERE p.type = 'post';
CREATE FUNCTION kit.wrong_counts() RETURNS TABLE (post_id uuid, counts bigint[], counted bigint[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY SELECT i.post_id, ARRAY[g.comment_count, g.like_count], ARRAY[i.comment_count, i.like_count]
	FROM kit.implied i LEFT JOIN LATERAL blogstore.get_post(i.post_id) g ON true
	WHERE (g.comment_count, g.like_count) IS DISTINCT FROM (i.comment_count, i.like_count);
END $$;
-- wait_for_views(), as long as it takes
CREATE FUNCTION kit.views_follow() RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT blogstore.wait_for_views('10 min') $$;
CREATE FUNCTION kit.try(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state	text;
	hint	text;
BEGIN
	EXECUTE 'SELECT * FROM ' || call;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, hint = PG_EXCEPTION_HINT;
	RETURN state || CASE WHEN hint <> '' THEN ', hint' ELSE ', no hint' END;
END $$;
});
	return;
}

=pod

=item fill_store(node, dbname, users, posts)

Users 1 to n, posts 1 to n by them in turn, each post with 3 comments and a
like by each of the first 5 users.

=cut

sub fill_store
{
	my ($node, $dbname, $users, $posts) = @_;

	$node->safe_psql(
		$dbname, qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, $users) n;
SELECT count(blogstore.create_post(kit.u(1 + n % $users), 'title ' || n, repeat('content ' || n || ' ', 50), kit.p(n), kit.d(n)))
FROM generate_series(1, $posts) n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + (n + m) % $users), 'comment', kit.c(10 * n + m), kit.d(n + m)))
FROM generate_series(1, $posts) n, generate_series(1, 3) m;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m)))
FROM generate_series(1, $posts) n, generate_series(1, least(5, $users)) m;
});
	return;
}

=pod

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

for rebuilds, which go by the ids of posts, leaf by leaf. Keep the worker from
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
		qr/LOG:  blogstore worker made replication slot|DETAIL:/);
	while (defined(my $line = shift @lines))
	{
		next unless $line =~ /LOG:  blogstore worker made replication slot "blogstore_\d+" and builds the views$/;
		push @reasons,
		  @lines && $lines[0] =~ /DETAIL:  (.*)/ ? $1 : 'no DETAIL';
	}
	return @reasons;
}

=pod

=item sqlstate(node, dbname, call)

What a call gives: "ok", or its SQLSTATE and whether there is a hint.

=cut

sub sqlstate
{
	my ($node, $dbname, $call) = @_;

	$call =~ s/'/''/g;
	return $node->safe_psql($dbname, "SELECT kit.try('blogstore.$call')");
}

=pod

=item check_store(node, dbname, name)

The views follow, and then everything is as the items imply: verify() shows
nothing, counts are exact, Q3 and Q6 and the tables behind them agree with one
query over all posts.

=cut

sub check_store
{
	my ($node, $dbname, $name) = @_;
	my $columns =
	  'id, user_id, user_username, title, content, comment_count, like_count, creation_date';
	my $order = 'ORDER BY creation_date DESC, id DESC';

	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is($node->safe_psql($dbname, "SELECT blogstore.wait_for_views('10 min')"),
		't', "$name: the views follow");
	is($node->safe_psql($dbname, 'SELECT * FROM blogstore.verify()'),
		'', "$name: verify() shows nothing");
	is($node->safe_psql($dbname, 'SELECT * FROM kit.wrong_counts()'),
		'', "$name: counts are exact");
	ok( $node->safe_psql(
			$dbname, "SELECT $columns FROM blogstore.feed $order") eq
		  $node->safe_psql(
			$dbname, "SELECT $columns FROM kit.implied $order LIMIT 100"),
		"$name: feed holds the newest 100 posts");
	ok( $node->safe_psql($dbname,
			"SELECT $columns FROM blogstore.list_feed(NULL)") eq
		  $node->safe_psql($dbname, "SELECT $columns FROM kit.implied $order"),
		"$name: list_feed() lists all posts");
	ok( $node->safe_psql(
			$dbname,
			"SELECT $columns FROM blogstore.users WHERE type = 'post' $order")
		  eq
		  $node->safe_psql($dbname, "SELECT $columns FROM kit.implied $order"),
		"$name: users holds a copy of each post");
	return;
}

=pod

=item check_answers(node, dbname, name)

Whatever state the views are in, Q2, Q3 and Q6 answer now as one query over all
posts does (but for names, which a rename may not have written yet).

=cut

sub check_answers
{
	my ($node, $dbname, $name) = @_;
	my $columns =
	  'id, user_id, title, content, comment_count, like_count, creation_date';
	my $order = 'ORDER BY creation_date DESC, id DESC';

	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ok( $node->safe_psql($dbname,
			"SELECT $columns FROM blogstore.list_feed(NULL)") eq
		  $node->safe_psql($dbname, "SELECT $columns FROM kit.implied $order"),
		"$name: list_feed() is right");
	ok( $node->safe_psql($dbname,
			"SELECT p.* FROM (SELECT user_id FROM blogstore.users WHERE type = 'user' ORDER BY 1) u, LATERAL (SELECT $columns FROM blogstore.list_user_posts(u.user_id, NULL)) p")
		  eq
		  $node->safe_psql($dbname,
			"SELECT $columns FROM kit.implied ORDER BY user_id, creation_date DESC, id DESC"),
		"$name: list_user_posts() is right");
	is($node->safe_psql($dbname, 'SELECT * FROM kit.wrong_counts()'),
		'', "$name: get_post() is right");
	return;
}

=pod

=back

=head1 CLIENTS

=over

=item start_client(node, dbname, sql, name)

A psql that runs a script in the background, in a connection of its own, which
has the name as its application_name. Each row that it prints is on file once it
has ended.

=cut

sub start_client
{
	my ($node, $dbname, $sql, $name) = @_;
	my $base = "$PostgreSQL::Test::Utils::tmp_check/client_${name}_$$";

	PostgreSQL::Test::Utils::append_to_file("$base.sql", '');
	unlink "$base.sql", "$base.out", "$base.err";
	PostgreSQL::Test::Utils::append_to_file("$base.sql", $sql);
	local $ENV{PGAPPNAME} = $name;
	my $run = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq',
			'-v', 'ON_ERROR_STOP=1',
			'-f', "$base.sql",
			'-d', $node->connstr($dbname)
		],
		'<', \undef,
		'>', "$base.out",
		'2>', "$base.err");
	return { run => $run, out => "$base.out", err => "$base.err" };
}

=pod

=item finish_client(client)

Wait until it has ended; returns its rows, and what it wrote to stderr.

=cut

sub finish_client
{
	my ($client) = @_;

	$client->{run}->finish;
	return ([ split /\n/, slurp_file($client->{out}) ],
		slurp_file($client->{err}));
}

=pod

=back

=cut

1;
