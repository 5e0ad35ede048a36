
# Who holds the requests after an update and after a restore; and who acts where the
# library is not loaded yet, when anybody can set anything of its settings' names.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $one = '00000000-0000-7000-8000-000000000001';

# ---- A server that does not preload the library

my $node = new_server('doors', prepared => 0);
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
like(run_as($node, 'postgres', 'web', "SET blogstore.current_user_id = '$one'; SHOW blogstore.current_user_id"), qr/^$one$/m, 'anybody sets it while the library is not loaded');
my $nobody = qr/ERROR:  42501: nobody is signed in/;
foreach my $set (
	"SET blogstore.current_user_id = '$one';",
	"BEGIN; SET LOCAL blogstore.current_user_id = '$one';",
	"SELECT set_config('blogstore.current_user_id', '$one', false);",
	"BEGIN; SAVEPOINT s; SELECT set_config('blogstore.current_user_id', '$one', true); RELEASE s;",
	"SET blogstore.current_user_id = '$one'; BEGIN; SET LOCAL blogstore.current_user_id = '$one'; SAVEPOINT s; SET blogstore.current_user_id = '$one';",
	"SET SESSION AUTHORIZATION web; SET blogstore.current_user_id = '$one';",
	"SET ROLE web; SET blogstore.current_user_id = '$one'; RESET ROLE;",
	"CREATE FUNCTION pg_temp.f() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN PERFORM set_config('blogstore.current_user_id', '$one', false); RETURN (web.create_post('t', 'c')).user_username; END \$\$; SELECT pg_temp.f();")
{
	like(run_as($node, 'postgres', 'web', "$set\n$post"), $nobody, "set before the library is loaded: $set");
}
{
	local $ENV{PGOPTIONS} = "-c blogstore.current_user_id=$one";
	like(run_as($node, 'postgres', 'web', $post), $nobody, 'set by an option of the connection');
	like(run_as($node, 'postgres', 'web', "RESET blogstore.current_user_id; RESET ALL;\n$post"), $nobody, '... and reset to that');
}
like(run_as($node, 'postgres', 'web', "ALTER ROLE web SET blogstore.current_user_id = '$one'"), qr/ERROR:  42501/, 'nobody makes it a default of their own');
like(run_as($node, 'postgres', 'web', "CREATE FUNCTION pg_temp.g() RETURNS int LANGUAGE sql SET blogstore.current_user_id = '$one' AS 'SELECT 1'"), qr/ERROR:  42501/, '... or of a function');
$node->safe_psql('postgres', 'CREATE DATABASE based OWNER base_owner');
like(run_as($node, 'based', 'base_owner', "ALTER DATABASE based SET blogstore.current_user_id = '$one'"), qr/ERROR:  42501/, '... or of a database');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts'), '0', 'nothing was written');

# who may set it, does, before and after it is loaded
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION sign_in TO web');
like(run_as($node, 'postgres', 'web', "BEGIN; SELECT sign_in('$one');\n$post"), qr/^one$/m, 'signed in before the library is loaded');
like(run_as($node, 'postgres', 'web', "SELECT count(*) FROM web.list_feed(); BEGIN; SELECT sign_in('$one');\n$post"), qr/^one$/m, '... and after');
like(run_as($node, 'postgres', 'web', "BEGIN; SELECT sign_in('nobody');\n$post"), $nobody, 'what is no id is dropped');
$node->safe_psql('postgres', q{REVOKE EXECUTE ON FUNCTION sign_in FROM web; DROP FUNCTION sign_in});

# ---- Dumped and restored: the wrappers, their grants, and the requests'

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
is($node->safe_psql('restored', $grants), $node->safe_psql('postgres', $grants), 'the grants are those that were dumped');
like($node->safe_psql('restored', $grants), qr/^blogstore\.get_post\(uuid\)\|app\|f/m, 'the requests among them');
like($node->safe_psql('restored', $grants), qr/^web\.get_post\(uuid\)\|web\|f\|t/m, 'and the wrappers');
is($node->safe_psql('restored', q{SELECT blogstore.create_api('api', 'app'); SET ROLE site; SELECT blogstore.create_api('web', 'web', true); SELECT count(*) > 18 FROM pg_proc WHERE pronamespace = 'web'::regnamespace}),
	"\n\nt", 'the wrappers are known again for what they are');

# ---- An update: who holds what

$node->safe_psql('postgres', 'CREATE DATABASE old');
$node->safe_psql('old', "CREATE EXTENSION blogstore VERSION '0.1'");
$node->safe_psql(
	'old', q{
CREATE ROLE all_of_it; CREATE ROLE reads; CREATE ROLE reads_little; CREATE ROLE grants; CREATE ROLE operates; CREATE ROLE "Odd ""one""";
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO all_of_it;
GRANT EXECUTE ON FUNCTION blogstore.get_post, blogstore.list_feed TO reads;
GRANT EXECUTE ON FUNCTION blogstore.list_feed TO reads_little;
GRANT EXECUTE ON FUNCTION blogstore.get_post, blogstore.create_post, blogstore.list_feed TO grants WITH GRANT OPTION;
GRANT EXECUTE ON FUNCTION blogstore.create_containers, blogstore.repair TO operates;
GRANT EXECUTE ON FUNCTION blogstore.get_post, blogstore.create_post TO "Odd ""one""";
ALTER EXTENSION blogstore UPDATE;
});
my $held = q{
SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc p, aclexplode(proacl) a
WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee = '%s'::regrole AND proname <> ALL (ARRAY(SELECT function FROM blogstore.get_request_stats()
	WHERE function IN ('create_user', 'edit_user', 'get_user', 'get_user_by_name', 'create_post', 'edit_post', 'get_post', 'list_user_posts', 'create_comment',
	'list_post_comments', 'create_like', 'list_post_likes', 'list_feed', 'edit_comment', 'get_like', 'delete_like', 'delete_comment', 'delete_post', 'delete_user')))};
my $added = $node->safe_psql('old', q{SELECT string_agg(proname, ' ' ORDER BY proname) FROM (
	SELECT DISTINCT proname FROM blogstore.request_functions() f JOIN pg_proc p ON p.oid = f.function WHERE kind <> 'document'
	EXCEPT SELECT unnest(ARRAY['create_user', 'edit_user', 'get_user', 'get_user_by_name', 'create_post', 'edit_post', 'get_post', 'list_user_posts', 'create_comment',
	'list_post_comments', 'create_like', 'list_post_likes', 'list_feed', 'edit_comment', 'get_like', 'delete_like', 'delete_comment', 'delete_post', 'delete_user'])) x});
like($added, qr/\bown_edit_post\b/, 'functions were added');
my $read = $node->safe_psql('old', "SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace AND provolatile <> 'v' AND proname = ANY (string_to_array('$added', ' '))");
is($node->safe_psql('old', sprintf $held, 'grants'), $added, 'who holds get_post() and create_post() holds what was added');
is($node->safe_psql('old', sprintf $held, '"Odd ""one"""'), $added, '... also under a name that needs quotes');
is($node->safe_psql('old', sprintf $held, 'reads'), $read, 'who holds get_post() alone holds the queries that were added');
is($node->safe_psql('old', sprintf $held, 'reads_little'), '', 'who does not, holds nothing new');
is($node->safe_psql('old', sprintf $held, 'operates'), 'create_containers repair', 'what was made anew is held by whoever held it');
is($node->safe_psql('old', q{SELECT bool_and(is_grantable) FROM pg_proc p, aclexplode(proacl) a WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee = 'grants'::regrole}), 't', 'with the right to grant it');
is($node->safe_psql('old', q{SELECT count(*) FROM pg_proc p, blogstore.request_functions() f WHERE p.oid = f.function AND NOT has_function_privilege('all_of_it', p.oid, 'EXECUTE')}), '0', 'who held all requests holds all requests');
is($node->safe_psql('old', q{SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc p, aclexplode(proacl) a WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee = 'all_of_it'::regrole AND proname IN ('create_api', 'grant_requests', 'revoke_requests', 'upgrade_containers')}),
	'', 'but no operation that was added');
is($node->safe_psql('old', q{SELECT count(*) FROM pg_proc p, aclexplode(proacl) a WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee = 0}), '0', 'PUBLIC holds none');
is($node->safe_psql('old', q{SELECT to_regprocedure('blogstore.grant_for_site(text)') IS NULL}), 't', 'no tool of the update is left');
# what an update has granted is the site's, and is dumped with it
my $old_grants = q{SELECT p.oid::regprocedure, a.grantee::regrole, a.is_grantable FROM pg_proc p, aclexplode(proacl) a
WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee <> proowner ORDER BY p.oid::regprocedure::text COLLATE "C", a.grantee::regrole::text COLLATE "C"};
command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('old') ], 'dumped after the update');
$node->safe_psql('postgres', 'CREATE DATABASE restored_old');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored_old') ], 'restored');
is($node->safe_psql('restored_old', $old_grants), $node->safe_psql('old', $old_grants), 'the grants are those of before');

# granted to all: what was added is granted to all
$node->safe_psql('postgres', 'CREATE DATABASE open');
$node->safe_psql('open', q{CREATE EXTENSION blogstore VERSION '0.1'; GRANT EXECUTE ON FUNCTION blogstore.get_post TO PUBLIC; ALTER EXTENSION blogstore UPDATE});
is($node->safe_psql('open', q{SELECT bool_and(has_function_privilege('reads_little', f.function, 'EXECUTE') = (p.provolatile <> 'v' AND proname <> ALL (ARRAY['get_user', 'get_user_by_name', 'list_user_posts', 'list_post_comments', 'list_post_likes', 'list_feed', 'get_like'])))
FROM blogstore.request_functions() f JOIN pg_proc p ON p.oid = f.function WHERE kind <> 'document'}), 't', 'PUBLIC, who held get_post(), holds the queries that were added');

# ---- The manual's statements, in its order

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
is($other->safe_psql('postgres', 'SELECT user_username, title FROM blogstore.list_feed()'), 'ann|a title', 'and they do what it says');

$other->stop;
done_testing();
