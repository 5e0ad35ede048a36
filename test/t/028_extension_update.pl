
# ALTER EXTENSION UPDATE from each version that users have: their containers and
# data, the worker and open sessions go on, and what they end up with is what
# CREATE EXTENSION makes.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use Digest::SHA;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";

# ---- Scripts that users have are what they were

my %frozen = map { reverse split } split /\n/, slurp_file("$root/sql/frozen.sha256");
ok(exists $frozen{'blogstore--0.1.sql'}, 'the script of 0.1 is frozen');
for my $script (sort keys %frozen)
{
	is(Digest::SHA->new(256)->addfile("$root/sql/$script", 'b')->hexdigest,
		$frozen{$script}, "$script is unchanged");
}

# ---- From 0.1, with what its create_containers() made

my $node = new_server('main');
$node->start;
$node->safe_psql('postgres', "CREATE EXTENSION blogstore VERSION '0.1'");
$node->safe_psql('postgres', slurp_file("$root/test/data/store-0.1.sql"));
create_kit($node, 'postgres');
my $offset = log_end($node);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', '0.1');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed() WHERE user_username = $$renamed$$; SELECT like_count FROM blogstore.get_post(kit.p(1))'),
	"1\n3", '0.1: the rename that waited is done, and the delta counts');

my $client = $node->background_psql('postgres');
my $like = 'SELECT type FROM blogstore.create_like(kit.p(%d), kit.u(4), kit.d(50))';
$client->query_safe('BEGIN');
is($client->query_safe(sprintf $like, 2), 'like', '0.1: a session is at work');
my $pid = worker_pid($node, 'postgres');
$node->safe_psql('postgres', 'ALTER EXTENSION blogstore UPDATE');
is($node->safe_psql('postgres', "SELECT extversion = default_version, extversion <> '0.1' FROM pg_extension JOIN pg_available_extensions ON name = extname WHERE extname = 'blogstore'"),
	't|t', 'updated to the default version');
is($client->query_safe(sprintf $like, 3), 'like', 'the session goes on');
$client->query_safe('COMMIT');
$client->quit;
is(worker_pid($node, 'postgres'), $pid, 'the worker goes on');
check_store($node, 'postgres', 'updated');
fill_more($node);
check_store($node, 'postgres', 'updated, and worked on');
# replies need what upgrade_containers() adds, and say so; comments without a parent do not
my ($rc, $out, $err);
for my $call ("create_comment(kit.p(9), kit.u(1), 'reply', parent_id => kit.c(9))", "create_comment(kit.p(9), kit.u(1), 'reply', kit.c(10), parent_id => kit.c(9))", 'list_comment_replies(kit.p(9), kit.c(9))', 'list_user_comments(kit.u(9))')
{
	($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM blogstore.$call");
	like($err, qr/ERROR:  55000: .*\nHINT:  CALL blogstore\.upgrade_containers\(\) /, "containers of 0.1: $call");
}
is($node->safe_psql('postgres', 'SELECT content, parent_id IS NULL, parent_deleted IS NULL FROM blogstore.list_post_comments(kit.p(9))'), 'new|t|t', 'comments there reply to none');

# ---- An empty store of 0.1, its containers made by the new library

$node->safe_psql('postgres', 'CREATE DATABASE second');
$node->safe_psql('second', "CREATE EXTENSION blogstore VERSION '0.1'; SELECT blogstore.create_containers(3)");
create_kit($node, 'second');
fill_store($node, 'second', 4, 6);
check_store($node, 'second', '0.1, its own containers');
$node->safe_psql('second', 'ALTER EXTENSION blogstore UPDATE');
check_store($node, 'second', 'its own containers, updated');

# ---- Updated and new are the same

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION blogstore');
my $objects = q{
WITH member AS (
	SELECT classid, objid FROM pg_depend
	WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore'))
SELECT i.type, i.identity, obj_description(m.objid, m.classid::regclass::name),
	p.prosrc, p.probin, p.provolatile, p.proparallel, p.prorows, p.proacl::text, pg_get_function_arguments(p.oid),
	pg_get_function_result(p.oid), pg_get_viewdef(c.oid), c.relacl::text,
	(SELECT array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum)
	 FROM pg_attribute a WHERE a.attrelid = coalesce(c.oid, t.typrelid) AND a.attnum > 0 AND NOT a.attisdropped)
FROM member m CROSS JOIN LATERAL pg_identify_object(m.classid, m.objid, 0) i
LEFT JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
LEFT JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
ORDER BY 1, 2};
my $fresh = $node->safe_psql('fresh', $objects);
like($fresh, qr/^function\|blogstore\.verify\(\)\|/m, 'the objects are listed');
is($node->safe_psql($_, $objects), $fresh, "$_: the objects are those of a new installation")
  for 'postgres', 'second';
is($node->safe_psql('fresh', q{SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore') WHERE has_function_privilege('public', p.oid, 'EXECUTE')}),
	'', 'PUBLIC may run none of the functions');
is($node->safe_psql('fresh', q{SELECT i.identity FROM pg_depend d, pg_identify_object(d.classid, d.objid, 0) i WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore') AND i.type <> 'cast' AND obj_description(d.objid, d.classid::regclass::name) IS NULL
	-- from 17 on, row types of views and array types are members too
	AND NOT EXISTS (SELECT FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND (t.typelem <> 0 OR c.relkind <> 'c'))}),
	'', 'each object has a comment');

# ---- Upgraded, the containers of 0.1 take replies

$node->safe_psql('postgres', q{CALL blogstore.upgrade_containers()});
$node->safe_psql('postgres', "SELECT blogstore.create_comment(kit.p(9), kit.u(1), 'reply ' || n, kit.c(10 + n), kit.d(70 + n), parent_id => kit.c(9)) FROM generate_series(1, 2) n");
my $replies = q{SELECT content, parent_deleted FROM blogstore.list_comment_replies(kit.p(9), kit.c(9), oldest_first => true)};
is($node->safe_psql('postgres', $replies), "reply 1|f\nreply 2|f", 'replies to a comment of before');
is($node->safe_psql('postgres', "SELECT blogstore.delete_comment(kit.p(9), kit.c(9)); $replies"), "t\nreply 1|t\nreply 2|t", '... outlive it');
check_store($node, 'postgres', 'upgraded');

my @crashes = logged($node, $offset, qr/was terminated by signal/);
is(scalar @crashes, 0, 'no process has crashed');
$node->stop;
done_testing();

# Each kind of command once.
sub fill_more
{
	my ($server) = @_;

	$server->safe_psql(
		'postgres', q{
SELECT blogstore.create_user('newcomer', kit.u(9), kit.d(60));
SELECT blogstore.create_post(kit.u(9), 'new', 'new', kit.p(9), kit.d(61));
SELECT blogstore.create_comment(kit.p(9), kit.u(1), 'new', kit.c(9), kit.d(62));
SELECT blogstore.create_like(kit.p(9), kit.u(1), kit.d(63));
SELECT blogstore.edit_post(kit.p(1), 'edited');
SELECT blogstore.edit_user(kit.u(1), 'user one');
SELECT blogstore.delete_post(kit.p(2));
SELECT blogstore.delete_user(kit.u(2));
SELECT * FROM blogstore.repair();
});
	return;
}
