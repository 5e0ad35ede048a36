# Clients that connect to the node that has a post: the examples for psycopg2
# and node-postgres. A shard moves to another node and back. The clients notice
# it and get no error. Also tested is what a node sends to another one for a
# request: a read needs no transaction.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# An ordinary role owns the containers, as on a site.
my $cluster = new_cluster('clients', owner => 'blog');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);
my $base = $PostgreSQL::Test::Utils::tmp_check;
my $stop = "$base/clients_stop_$$";
my $USERS = 5;

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, @{[ 2 * $USERS ]}) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % $USERS), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n))) FROM generate_series(1, 100) AS n;
CREATE ROLE site LOGIN;
});
# Each node has rights on functions for itself.
$_->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; SELECT blogstore.grant_requests('site'); GRANT EXECUTE ON FUNCTION blogstore.node_of TO site})
  foreach members($cluster);

my ($moved, @others) = posts_on($cluster, $one, 1, 2);
my @numbers = ($moved, @others, posts_on($cluster, $two, 1, 2));
my @posts = split /\n/, $coordinator->safe_psql('postgres', 'SELECT kit.p(n) FROM unnest(ARRAY[' . join(',', @numbers) . ']) WITH ORDINALITY AS p (n, i) ORDER BY i');
my @users = split /\n/, $coordinator->safe_psql('postgres', "SELECT kit.u(n) FROM generate_series(1, 2 * $USERS) n ORDER BY n");
# Nothing listens at the first entry.
my $entries = join ',', $one->host . ':1', map { $_->host . ':' . $_->port } $two, $one;

# ---- The clients

# The package pg: the one that NODE_PATH names, Debian's, or one from npm
sub node_path
{
	my $path = join ':', grep { defined } $ENV{NODE_PATH}, '/usr/share/nodejs';
	my ($out, $err) = ('', '');

	local $ENV{NODE_PATH} = $path;
	return $path if IPC::Run::run [ 'node', '-e', 'require("pg")' ], '<', \undef, '>', \$out, '2>', \$err;
	my $folder = PostgreSQL::Test::Utils::tempdir('node_pg');
	IPC::Run::run [ 'npm', 'install', '--prefix', $folder, '--no-audit', '--no-fund', '--no-update-notifier', 'pg' ], '<', \undef, '>', \$out, '2>', \$err
	  or die "npm install pg: $err";
	return "$folder/node_modules";
}

sub start_likes
{
	my ($name, $n, @command) = @_;
	my $client = { name => $name, out => "$base/client_$name.out", err => "$base/client_$name.err" };
	my @mine = @users[ $n * $USERS .. ($n + 1) * $USERS - 1 ];

	$client->{run} = IPC::Run::start([ @command, $entries, $stop, join(',', @mine), join(',', @posts), 'site' ],
		'<', \undef, '>', $client->{out}, '2>', $client->{err});
	return $client;
}

# The nodes at which a client has found the post, in their order
sub places
{
	my ($client) = @_;

	return join ' ', map { /^at $posts[0] (\d+)$/ ? $1 : () } split /\n/, -e $client->{out} ? slurp_file($client->{out}) : '';
}

# Wait until each client has found the post on these nodes.
sub wait_noticed
{
	my ($clients, $name, @ports) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $client (@$clients)
	{
		my $end = time + $PostgreSQL::Test::Utils::timeout_default;

		sleep 1 while places($client) ne "@ports" && goes_on($client) && time < $end;
		is(places($client), "@ports", "$name: $client->{name}") or diag slurp_file($client->{err});
	}
	return;
}

# ---- A shard moves

my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($moved))");
unlink $stop;
{
	local $ENV{NODE_PATH} = node_path();
	my @clients = (
		start_likes('psycopg2', 0, '/usr/bin/python3', "$FindBin::RealBin/clients/likes.py"),
		start_likes('node-postgres', 1, 'node', "$FindBin::RealBin/clients/likes.js"));

	wait_noticed(\@clients, 'at first', $one->port);
	move_shard($cluster, $shard, $one, $two, 'force_logical');
	wait_noticed(\@clients, 'moved', $one->port, $two->port);
	move_shard($cluster, $shard, $two, $one, 'block_writes');
	wait_noticed(\@clients, 'moved back', $one->port, $two->port, $one->port);
	append_to_file($stop, '');
	for my $client (@clients)
	{
		ok($client->{run}->finish, "$client->{name}: ended well");
		is(slurp_file($client->{err}), '', "$client->{name}: nothing failed");
		like(slurp_file($client->{out}), qr/^calls [1-9]\d+$/m, "$client->{name}: made calls");
	}
}
is($coordinator->safe_psql('postgres', q{SELECT count(*), count(DISTINCT (post_id, user_id)) FROM blogstore.posts WHERE type = 'like'}),
	join('|', (2 * $USERS * @posts) x 2), 'each like exists once');
views_right($cluster, 'after the clients');

# ---- What a node sends to another one

# Returns the commands that Citus sends to another node for a statement.
sub sent
{
	my ($statement, $before) = @_;
	my ($status, $out, $err) = $two->psql('postgres',
		"SET client_min_messages = warning; SELECT FROM blogstore.get_post(kit.p($moved)); SET client_min_messages = notice; SET citus.log_remote_commands = on;\n$statement");

	is($status, 0, "$statement is served");
	return join ', ', map { /issuing (BEGIN|COMMIT|PREPARE|ROLLBACK|SELECT .*serve_\w+)/ ? $1 =~ s/.*(serve_\w+)/$1/r : () } split /\n/, $err;
}

is(sent("SELECT FROM blogstore.get_post(kit.p($moved))"), 'serve_post', 'a read is one call, without a transaction');
is(sent("SELECT FROM blogstore.list_post_likes(kit.p($moved))"), 'serve_like', 'so is a list');
is(sent("SELECT FROM blogstore.create_like(kit.p($moved), kit.u(1))"), 'BEGIN, serve_like, COMMIT', 'a command is in a transaction');
is(sent("BEGIN; SELECT FROM blogstore.get_post(kit.p($moved)); COMMIT"), 'BEGIN, serve_post, COMMIT', 'and a read, in one of the caller');
is(sent("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM blogstore.get_post(kit.p($moved)); COMMIT"), 'BEGIN, serve_post, COMMIT', 'and in one with a snapshot');
is(sent("SET default_transaction_isolation = 'repeatable read'; SELECT FROM blogstore.get_post(kit.p($moved))"), 'BEGIN, serve_post, COMMIT',
	'and in a statement by itself that has one');

# A function reads what it has written on another node.
create_kit_everywhere($cluster, q{
CREATE FUNCTION kit.likes_after(post uuid, liker uuid) RETURNS int LANGUAGE plpgsql AS $$
DECLARE before int := (SELECT like_count FROM blogstore.get_post(post));
BEGIN
	PERFORM blogstore.delete_like(post, liker);
	RETURN before - (SELECT like_count FROM blogstore.get_post(post));
END $$;
});
is($two->safe_psql('postgres', "SELECT kit.likes_after(kit.p($moved), kit.u(1))"), 1, 'a function reads on another node what it has written there');
is($two->safe_psql('postgres', "SELECT like_count FROM blogstore.get_post(kit.p($moved))"), 2 * $USERS - 1, 'and it is committed');

# The session looks up a replaced function anew.
is( $two->safe_psql(
		'postgres', "
SELECT count(*) FROM blogstore.get_post(kit.p($moved));
SELECT pg_get_functiondef(p.oid) AS definition FROM pg_proc p WHERE pronamespace = 'blogstore'::regnamespace AND proname = 'create_like' \\gset
SELECT count(*) FROM blogstore.create_like(kit.p($moved), kit.u(1));
SET citus.enable_ddl_propagation = off;
:definition;
SELECT count(*) FROM blogstore.create_like(kit.p($moved), kit.u(1));
SELECT like_count FROM blogstore.get_post(kit.p($moved))"),
	join("\n", 1, 1, 1, 2 * $USERS), 'a function that was replaced serves');

# ---- A new node: its worker waits for the table of users, and the owner has
# its rights there

my $three = add_node($cluster, sub {
	my ($node) = @_;
	wait_until($node, 'postgres', q{SELECT string_agg(w.state || ' ' || a.wait_event, ' ') FROM blogstore.stat_worker w, pg_stat_activity a WHERE a.application_name = 'blogstore worker'}, 'starting ' . wait_event($node, 'BlogstoreWorkerTables'));
	unlike($node->safe_psql('postgres', 'SELECT last_error FROM blogstore.stat_worker'), qr/leaf/, 'no leaf is missing meanwhile');
});
move_shard($cluster, $shard, $one, $three, 'block_writes');
is($two->safe_psql('postgres', "SELECT like_count FROM blogstore.get_post(kit.p($moved))"), 2 * $USERS, 'what has moved to a new node is served from there');
is($coordinator->safe_psql('postgres', "SELECT user_username FROM blogstore.create_comment(kit.p($moved), kit.u(1), 'on the new node')"), 'user 1', 'and written there');
views_right($cluster, 'with a new node');

done_testing();
