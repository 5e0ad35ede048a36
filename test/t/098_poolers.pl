
# PgBouncer in front of a server, as "Poolers" of docs/OPERATIONS.md describes:
# two connections for all clients, in transaction mode and in statement mode.
# The file is skipped without PgBouncer.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';

plan(skip_all => 'there is no pgbouncer') if !defined $pgbouncer;

my ($version) = qx{$pgbouncer --version} =~ /^PgBouncer (\d+\.\d+)/i or die "$pgbouncer: no version";
my $prepares = $version >= 1.21;
note "PgBouncer $version";

my $node = new_server('pooled');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 9, 120);
$node->safe_psql(
	'postgres', q{
CREATE ROLE my_app LOGIN;
SELECT blogstore.grant_requests('my_app');
GRANT USAGE ON SCHEMA kit TO my_app;
CREATE ROLE site;
SELECT blogstore.grant_requests('site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
CREATE SCHEMA web_api AUTHORIZATION site;
CREATE ROLE web;
SET ROLE site;
SELECT blogstore.create_api('web_api', 'web', as_caller => true);
RESET ROLE;
CREATE ROLE authenticator LOGIN;
GRANT web TO authenticator;
GRANT USAGE ON SCHEMA kit TO web;
GRANT SET ON PARAMETER blogstore.current_user_id TO authenticator;
});
check_store($node, 'postgres', 'filled');

# ---- The pooler. Each of its databases is the same one of the server.

my $place = PostgreSQL::Test::Utils::tempdir('pooler');
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $target = 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';
my $owner = getpwuid($<);
append_to_file("$place/users", join '', map { qq{"$_" ""\n} } 'my_app', 'authenticator', $owner);
append_to_file("$place/ini", qq{
[databases]
one = $target pool_size=1
two = $target pool_size=2
statement = $target pool_size=1 pool_mode=statement
[pgbouncer]
listen_port = $port
unix_socket_dir = } . $node->host . qq{
auth_type = trust
auth_file = $place/users
admin_users = $owner
pool_mode = transaction
ignore_startup_parameters = extra_float_digits
client_login_timeout = 0
query_wait_timeout = 0
server_connect_timeout = 600
} . ($prepares ? "max_prepared_statements = 20\n" : ''));
my $pooler = IPC::Run::start([ $pgbouncer, "$place/ini" ], '<', \undef, '>', "$place/log", '2>&1');

END
{
	$pooler->kill_kill if defined $pooler && $pooler->pumpable;
}

sub connection
{
	my ($database, $role) = @_;

	return 'host=' . $node->host . " port=$port dbname=$database user=$role";
}

# Run SQL through the pooler, a transaction for each statement outside of a
# block. Returns what psql shows, with errors.
sub pooled
{
	my ($database, $role, $sql) = @_;
	my $shown = '';

	IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', connection($database, $role) ], '<', \$sql, '>', \$shown, '2>&1');
	return $shown =~ s/\n\z//r;
}

# A client of the pooler that stays connected
sub client
{
	my ($role) = @_;

	return $node->background_psql('postgres', extra_params => [ '-d', connection('one', $role) ]);
}

for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if pooled('one', 'my_app', 'SELECT 1') eq '1';
	select undef, undef, undef, 0.1;
}

# ---- Two clients that share one connection

my ($ann, $bob) = (client('my_app'), client('my_app'));
is($ann->query_safe('SELECT pg_backend_pid()'), $bob->query_safe('SELECT pg_backend_pid()'), 'two clients share one connection');
$ann->query_safe("SELECT blogstore.create_post(kit.u(1), 'through the pooler', 'x', kit.p(500), kit.d(500))");
is($bob->query_safe('SELECT blogstore.wait_for_posts()'), 't', 'one client writes a post, the other waits for it');
is($bob->query_safe('SELECT title FROM blogstore.list_feed(1)'), 'through the pooler', '... and reads it');
is($ann->query_safe('BEGIN; SELECT like_count FROM blogstore.get_post(kit.p(500)); SELECT (blogstore.create_like(kit.p(500), kit.u(2))).user_username; SELECT like_count FROM blogstore.get_post(kit.p(500)); ROLLBACK'),
	"0\nuser 2\n1", 'a transaction sees its own like');
is($bob->query_safe('SELECT like_count FROM blogstore.get_post(kit.p(500))'), '0', '... and the other client does not');
is(pooled('one', 'my_app', q{SELECT count(*) FROM pg_temp.nothing}), 'ERROR:  42P01', 'an error of one client');
is($bob->query_safe('SELECT count(*) FROM blogstore.list_feed(NULL)'), '121', '... is none of the other');

# LISTEN stays with the connection.
is($ann->query_safe('LISTEN blogstore; SELECT 1'), '1', 'one client listens');
is($bob->query_safe('SELECT pg_listening_channels()'), 'blogstore', '... and now the connection of the other does');
$bob->query_safe('UNLISTEN *');
$_->quit foreach $ann, $bob;

# ---- Wrappers that act for the signed-in user

my $post = "SELECT title, user_id = kit.u(3) FROM web_api.create_post('signed in', 'x')";
($ann, $bob) = (client('authenticator'), client('authenticator'));
is($ann->query_safe("BEGIN; SET LOCAL ROLE web; SELECT 1; ROLLBACK"), '1', 'the program becomes the role of browsers');
is($ann->query_safe("BEGIN; SET LOCAL blogstore.current_user_id = '00000000-0000-7000-8000-000000000003'; SET LOCAL ROLE web; $post; COMMIT"),
	'signed in|t', 'SET LOCAL signs in');
is($bob->query_safe("BEGIN; SELECT set_config('blogstore.current_user_id', kit.u(3)::text, true) IS NULL; SET LOCAL ROLE web; $post; COMMIT"),
	"f\nsigned in|t", '... and so does set_config()');
is(pooled('one', 'authenticator', "BEGIN; SET LOCAL ROLE web; $post; COMMIT"), 'ERROR:  42501', '... for the transaction only');
# What the document warns of: the setting of a session is one of all clients.
is($ann->query_safe("SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000003'; SELECT 1"), '1', 'SET without LOCAL');
is($bob->query_safe("BEGIN; SET LOCAL ROLE web; $post; COMMIT"), 'signed in|t', '... signs in the other client');
$ann->query_safe('RESET blogstore.current_user_id');
$_->quit foreach $ann, $bob;

# ---- Clients side by side, with each protocol

append_to_file("$place/likes.sql", q{
\set p random(1, 120)
\set u random(1, 9)
SELECT count(*) FROM blogstore.create_like(kit.p(:p), kit.u(:u));
BEGIN;
SELECT count(*) FROM blogstore.create_comment(kit.p(:p), kit.u(:u), 'x');
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(:p));
COMMIT;
SELECT blogstore.delete_like(kit.p(:p), kit.u(:u));
SELECT count(*) FROM blogstore.list_user_posts(kit.u(:u));
});

# Run pgbench through the pooler. Returns its errors. Each client has a thread
# of its own, because pgbench prepares a statement without letting others work.
sub bench
{
	my ($database, $protocol) = @_;
	my $err = '';

	IPC::Run::run([ $node->installed_command('pgbench'), '-n', '-f', "$place/likes.sql", '-M', $protocol, '-c', '8', '-j', '8', '-t', '25', connection($database, 'my_app') ],
		'<', \undef, '>', \my $out, '2>', \$err);
	# Errors of clients, without what pgbench says besides
	return join "\n", grep { /ERROR|error|abort/i } split /\n/, $err;
}

is(bench('two', 'simple'), '', 'eight clients have two connections');
is(bench('two', 'extended'), '', '... also with the extended protocol');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE usename = 'my_app' AND backend_type = 'client backend'") <= 3, 1, '... of the server');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type = 'comment'"), 3 * 120 + 2 * 8 * 25, '... and have written all');
if ($prepares)
{
	is(bench('two', 'prepared'), '', '... and prepared statements, with max_prepared_statements');
	pooled('pgbouncer', $owner, 'SET max_prepared_statements = 0');
}
like(bench('one', 'prepared'), qr/prepared statement "\w+" (?:already exists|does not exist)/, 'without it, prepared statements fail');
check_store($node, 'postgres', 'side by side');

# ---- Statement pooling

is(pooled('statement', 'my_app', "SELECT title FROM blogstore.create_post(kit.u(1), 'by statement', 'x', kit.p(501), kit.d(501)); SELECT blogstore.wait_for_posts(); SELECT title FROM blogstore.list_feed(1)") =~ s/\n.*\n/ /sr,
	'by statement signed in', 'statement pooling: each statement of its own');
like(pooled('statement', 'my_app', 'BEGIN; SELECT 1; COMMIT'), qr/ERROR:|FATAL:|server closed the connection/, '... and no block of statements');

# ---- query_timeout ends long operations

my $holder = hold_worker($node, 'postgres');
$holder->query_safe('LOCK TABLE blogstore.posts');
pooled('pgbouncer', $owner, 'SET query_timeout = 1');
like(pooled('two', $owner, 'SELECT * FROM blogstore.verify()'), qr/query_timeout|server closed the connection/, 'query_timeout ends verify()');
like(slurp_file("$place/log"), qr/query.timeout/, '... as the log of the pooler says');
$holder->quit;
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', '... which a direct connection runs to its end');

$pooler->signal('TERM');
$pooler->finish;
$node->stop;
done_testing();
