
# Which roles may set the current user of wrappers, and which rights a dump
# restores.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $one = '00000000-0000-7000-8000-000000000001';

# ---- Roles that may set blogstore.current_user_id

my $node = new_server('doors');
$node->start;
$node->safe_psql('postgres', q{CREATE ROLE site LOGIN; CREATE ROLE web LOGIN; CREATE ROLE door LOGIN; CREATE ROLE base_owner LOGIN;});
my ($rc, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(2)');
create_kit($node, 'postgres');
$node->safe_psql(
	'postgres', q{
GRANT USAGE ON SCHEMA kit TO PUBLIC;
SELECT blogstore.create_user('one', kit.u(1)), blogstore.create_user('two', kit.u(2));
SELECT blogstore.grant_requests('site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
CREATE SCHEMA web AUTHORIZATION site;
SET ROLE site;
SELECT blogstore.create_api('web', 'web', as_caller => true);
RESET ROLE;
GRANT SET ON PARAMETER blogstore.current_user_id TO door;
CREATE FUNCTION sign_in(id text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT set_config('blogstore.current_user_id', id, true) $$;
ALTER FUNCTION sign_in OWNER TO door;
REVOKE ALL ON FUNCTION sign_in FROM PUBLIC;
});

my $post = q{SELECT user_username FROM web.create_post('title', 'content');};
my $denied = qr/ERROR:  42501: permission denied to set parameter "blogstore.current_user_id"/;
foreach my $set (
	"SET blogstore.current_user_id = '$one';",
	"BEGIN; SET LOCAL blogstore.current_user_id = '$one'; ROLLBACK;",
	"SELECT set_config('blogstore.current_user_id', '$one', false);",
	"SET SESSION AUTHORIZATION web; SET blogstore.current_user_id = '$one';",
	"SET ROLE web; SET blogstore.current_user_id = '$one'; RESET ROLE;",
	"CREATE FUNCTION pg_temp.f() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN PERFORM set_config('blogstore.current_user_id', '$one', false); RETURN (web.create_post('t', 'c')).user_username; END \$\$; SELECT pg_temp.f();")
{
	like(run_as($node, 'postgres', 'web', "$set\n$post"), qr/$denied.*ERROR:  42501: nobody is signed in/s, "a role without the right cannot set it: $set");
}
{
	local $ENV{PGOPTIONS} = "-c blogstore.current_user_id=$one";
	my ($status, $shown, $message) = $node->psql('postgres', $post, extra_params => [ '-U', 'web' ]);
	like($message, qr/FATAL:  permission denied to set parameter "blogstore.current_user_id"/, '... nor by an option of the connection');
}
like(run_as($node, 'postgres', 'web', "ALTER ROLE web SET blogstore.current_user_id = '$one'"), qr/ERROR:  42501/, '... nor as a default of the role');
like(run_as($node, 'postgres', 'web', "CREATE FUNCTION pg_temp.g() RETURNS int LANGUAGE sql SET blogstore.current_user_id = '$one' AS 'SELECT 1'"), qr/ERROR:  42501/, '... or of a function');
$node->safe_psql('postgres', 'CREATE DATABASE based OWNER base_owner');
like(run_as($node, 'based', 'base_owner', "ALTER DATABASE based SET blogstore.current_user_id = '$one'"), qr/ERROR:  42501/, '... or of a database');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts'), '0', 'nothing was written');

# Without the preload any role can set it, but no request works.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
like(run_as($node, 'postgres', 'web', "SET blogstore.current_user_id = '$one'; SHOW blogstore.current_user_id;\n$post"),
	qr/^$one\nERROR:  55000: the blogstore library is not preloaded$/m, 'not preloaded: requests are refused');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'blogstore'");
$node->restart;
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts'), '0', 'not preloaded: nothing was written');

# The role with the right can set it.
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION sign_in TO web');
like(run_as($node, 'postgres', 'web', "BEGIN; SELECT sign_in('$one');\n$post"), qr/^one$/m, 'signed in by the first statement');
like(run_as($node, 'postgres', 'web', "SELECT count(*) FROM web.list_feed(); BEGIN; SELECT sign_in('$one');\n$post"), qr/^one$/m, '... and by a later one');
like(run_as($node, 'postgres', 'web', "BEGIN; SELECT sign_in('nobody');\n$post"), qr/ERROR:  22023: invalid value for parameter "blogstore.current_user_id"/, 'a value that is no id is refused');
$node->safe_psql('postgres', q{REVOKE EXECUTE ON FUNCTION sign_in FROM web; DROP FUNCTION sign_in});

# ---- Dump and restore: wrappers, their grants, and grants on requests

$node->safe_psql(
	'postgres', q{
CREATE ROLE app LOGIN;
SELECT blogstore.grant_requests('app'), blogstore.create_api('api', 'app');
});
my $grants = q{
SELECT p.oid::regprocedure, a.grantee::regrole, a.is_grantable, prosecdef, prosrc, obj_description(p.oid, 'pg_proc')
FROM pg_proc p, aclexplode(proacl) a WHERE pronamespace IN ('blogstore'::regnamespace, 'web'::regnamespace, 'api'::regnamespace)
	AND a.grantee <> proowner ORDER BY 1::text COLLATE "C", 2::text COLLATE "C"};
$grants =~ s/1::text/p.oid::regprocedure::text/;
$grants =~ s/2::text/a.grantee::regrole::text/;
my $dump = "$PostgreSQL::Test::Utils::tmp_check/doors.dump";
command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ], 'restored');
is($node->safe_psql('restored', $grants), $node->safe_psql('postgres', $grants), 'the grants are restored');
like($node->safe_psql('restored', $grants), qr/^blogstore\.get_post\(uuid\)\|app\|f/m, '... on requests');
like($node->safe_psql('restored', $grants), qr/^web\.get_post\(uuid\)\|web\|f\|t/m, '... and on wrappers');
is($node->safe_psql('restored', q{SELECT blogstore.create_api('api', 'app'); SET ROLE site; SELECT blogstore.create_api('web', 'web', true); SELECT count(*) > 18 FROM pg_proc WHERE pronamespace = 'web'::regnamespace}),
	"\n\nt", 'create_api() recognizes the restored wrappers');

# ---- The statements of docs/API.md, in their order

my $manual = slurp_file("$FindBin::RealBin/../../docs/API.md");
my @blocks = $manual =~ /^```sql\n(.*?)^```$/msg;
is(scalar(logged($node, 0, qr/was terminated by signal/)), 0, 'no process has crashed');
$node->stop;
my $other = new_server('manual');
$other->start;
create_store($other, 'postgres');
$other->safe_psql('postgres', 'CREATE ROLE app');
foreach my $block (@blocks)
{
	my ($status, $shown, $message) = $other->psql('postgres', $block);
	is($status, 0, 'the manual: ' . (split /\n/, $block)[0]) or diag $message;
}
cmp_ok(scalar @blocks, '>=', 6, 'there are statements in the manual');
is($other->safe_psql('postgres', 'SELECT user_username, title FROM blogstore.list_feed()'), 'ann|a title', 'the statements have the effect that the manual shows');

$other->stop;
done_testing();
