
=pod

=head1 NAME

BlogstoreTest - stores for blogstore's TAP tests; brings along BlogstoreServer and
BlogstoreWorker

=cut

package BlogstoreTest;

use strict;
use warnings;

use BlogstoreServer;
use BlogstoreWorker;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = (
	@BlogstoreServer::EXPORT, @BlogstoreWorker::EXPORT, qw(
  create_store create_kit fill_store sqlstate check_store check_answers
  start_client finish_client
));

=pod

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
