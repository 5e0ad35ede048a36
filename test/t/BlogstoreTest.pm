
=pod

=head1 NAME

BlogstoreTest - servers and stores for blogstore's TAP tests

=cut

package BlogstoreTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  new_server prepare_server create_store create_kit fill_store worker_pid
  start_client finish_client start_again check_store sqlstate
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
the posts container implies, and the posts whose counts are wrong.

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

	is($node->safe_psql($dbname, "SELECT blogstore.wait_for_views()"),
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

=back

=head1 CLIENTS

=over

=item start_client(node, dbname, sql, name)

A psql that runs a script in the background, in a connection of its own. Each
row that it prints is on file once it has ended.

=cut

sub start_client
{
	my ($node, $dbname, $sql, $name) = @_;
	my $base = "$PostgreSQL::Test::Utils::tmp_check/client_$name";

	PostgreSQL::Test::Utils::append_to_file("$base.sql", '');
	unlink "$base.sql", "$base.out", "$base.err";
	PostgreSQL::Test::Utils::append_to_file("$base.sql", $sql);
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
