
# The view posts_with_counts shows posts as get_post() returns them, to a role
# that may read the tables and execute nothing. The test compares them while
# there are deltas, rows with not yet folded counts, and while users are being
# deleted, each time in one snapshot, and after a restore. create_containers()
# creates a missing view again, and refuses objects of other roles with its
# name.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use BlogstoreWorker;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('with_counts');
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', $_) foreach split /^--\n/m, q{
SELECT kit.fill(30, 60);
SELECT count(blogstore.create_comment(kit.p(1 + n % 60), kit.u(1 + n % 30), 'comment', kit.c(n), kit.d(100 + n))) FROM generate_series(1, 600) AS n;
SELECT count(blogstore.create_like(kit.p(p), kit.u(u))) FROM generate_series(1, 60) AS p, generate_series(1, 30) AS u WHERE (p + u) % 3 = 0;
--
CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA kit TO reader;
GRANT SELECT ON blogstore.posts, blogstore.jobs, blogstore.posts_with_counts TO reader;
CREATE ROLE other LOGIN;
};
ok($node->safe_psql('postgres', 'SELECT kit.views_follow()') eq 't', 'the views follow');

# The number of posts in which the view and get_post() differ in one snapshot,
# and the number of posts in the view
my $differ = q{SELECT count(*) FILTER (WHERE v::text IS DISTINCT FROM g::text), count(v.id) FROM blogstore.posts_with_counts AS v
	FULL JOIN (SELECT g.* FROM generate_series(1, 60) AS n, blogstore.get_post(kit.p(n)) AS g) AS g USING (id)};
sub same
{
	my ($name, $rows, $database) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database // 'postgres', $differ), "0|$rows", $name);
	return;
}

# Returns what the reader gets: rows, or an SQLSTATE.
sub reader
{
	my ($sql, $database) = @_;
	my ($rc, $out, $err) = $node->psql($database // 'postgres', $sql, extra_params => [ '-U', 'reader', '-v', 'VERBOSITY=sqlstate' ]);

	return $err =~ /ERROR:\s+(\w+)/ ? $1 : $out;
}
my $sums = 'SELECT count(*), sum(comment_count), sum(like_count) FROM blogstore.posts_with_counts';
my $true = q{SELECT count(*), sum(comment_count), sum(like_count) FROM generate_series(1, 60) AS n, blogstore.get_post(kit.p(n))};

same('as get_post() shows them', 60);
is(reader($sums), $node->safe_psql('postgres', $true), 'a role that can execute nothing reads the same counts');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace AND has_function_privilege('reader', oid, 'EXECUTE')}), '0', '... the role can execute nothing');

# ---- Deltas: a session that finds a count locked by another one writes one

my $held = stop_worker($node, 'postgres');
my @open = map { my $s = $node->background_psql('postgres'); $s->query_safe("BEGIN; SELECT FROM blogstore.create_comment(kit.p(7), kit.u($_), 'beside', kit.c(1000 + $_))"); $s } 1 .. 4;
same('while others write', 60);
is(reader($sums), $node->safe_psql('postgres', $true), '... for the reader, too');
$_->query_safe('COMMIT') foreach @open;
is($node->safe_psql('postgres', q{SELECT count(*) > 2 FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(7)}), 't', 'there are deltas that are not folded');
same('with deltas', 60);

# ---- An older snapshot

my $old = $node->background_psql('postgres', extra_params => [ '-U', 'reader' ]);
my $before = reader($sums);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM blogstore.posts');
$node->safe_psql('postgres', "SELECT FROM blogstore.create_comment(kit.p(9), kit.u(1), 'later', kit.c(2000)); SELECT blogstore.delete_post(kit.p(60))");
is($old->query_safe($sums), $before, 'an old snapshot has the old counts');
isnt(reader($sums), $before, 'a new one those of the present');
$old->query_safe('COMMIT');
$old->quit;
same('after that, in a new snapshot', 59);

# ---- Hidden items

$node->safe_psql('postgres', 'SELECT FROM blogstore.hide_post(kit.p(5)); SELECT FROM blogstore.hide_comment(kit.p(2), kit.c(1))');
same('hidden posts are there, hidden comments are not counted', 59);
is(reader('SELECT hidden FROM blogstore.posts_with_counts WHERE post_id = kit.p(5)'), 't', '... and the view says which');

# ---- Users who are being deleted. They have more items than delete_user()
# deletes at once, and the worker is held.

$node->safe_psql('postgres', "SELECT count(blogstore.create_comment(kit.p(2), kit.u(3), 'many', kit.c(3000 + n))) FROM generate_series(1, 300) AS n");
$node->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(3))');
is($node->safe_psql('postgres', q{SELECT count(*) > 0 FROM blogstore.posts WHERE user_id = kit.u(3)}), 't', 'items of a deleted user are still there');
my $gone = $node->safe_psql('postgres', 'SELECT count(*) FROM generate_series(1, 60) AS n, blogstore.get_post(kit.p(n))');
cmp_ok($gone, '<', 59, 'the posts are not served');
same('nor are they in the view, and nothing else of the user counts', $gone);
is(reader($sums), $node->safe_psql('postgres', $true), '... for the reader, too');
kill 'CONT', $held or die "kill: $!";
ok($node->safe_psql('postgres', 'SELECT kit.views_follow()') eq 't', 'the worker goes on');
same('once all is deleted and folded', $gone);
$_->quit foreach @open;

# ---- The view checks the rights and policies of its reader

is($node->psql('postgres', 'SELECT 1 FROM blogstore.posts_with_counts', extra_params => [ '-U', 'other' ]), 3, 'no right on the view');
$node->safe_psql('postgres', 'GRANT SELECT ON blogstore.posts_with_counts TO other');
is($node->psql('postgres', 'SELECT 1 FROM blogstore.posts_with_counts', extra_params => [ '-U', 'other' ]), 3, 'a right on the view alone does not suffice');
is(reader("UPDATE blogstore.posts_with_counts SET title = 'x'"), '42501', 'the view cannot be updated');
is(reader("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM blogstore.posts_with_counts ORDER BY id; MOVE 5 c; FETCH BACKWARD 1 c; SAVEPOINT s; FETCH 1 c; ROLLBACK TO s; FETCH 1 c"),
	reader("SELECT id FROM blogstore.posts_with_counts ORDER BY id LIMIT 3 OFFSET 3"), 'a cursor goes both ways');
$node->safe_psql('postgres', q{ALTER TABLE blogstore.posts ENABLE ROW LEVEL SECURITY; CREATE POLICY shown ON blogstore.posts FOR SELECT TO reader USING (type <> 'post' OR user_id = kit.u(1))});
is(reader('SELECT count(*) > 0 AND bool_and(user_id = kit.u(1)) FROM blogstore.posts_with_counts'), 't', 'a policy holds');
is(reader($sums), $node->safe_psql('postgres', "$true AS p WHERE p.user_id = kit.u(1)"), '... and counts are exact');
$node->safe_psql('postgres', 'DROP POLICY shown ON blogstore.posts; ALTER TABLE blogstore.posts DISABLE ROW LEVEL SECURITY');

# ---- A missing view is created again; other objects of its name

my $rights = q{SELECT relowner::regrole, reloptions, obj_description(oid, 'pg_class') <> '' FROM pg_class WHERE oid = 'blogstore.posts_with_counts'::regclass};
my $owned = $node->safe_psql('postgres', $rights);
is($owned, $node->safe_psql('postgres', q{SELECT 10::regrole || '|{security_invoker=true}|t'}), 'the view belongs to the bootstrap superuser, who ran create_containers()');
is(sqlstate($node, 'postgres', 'create_containers()'), '42P07, hint', 'nothing is missing');
my $served = 'SELECT state FROM blogstore.stat_worker';
wait_until($node, 'postgres', "SELECT ($served) = 'running'");
$node->safe_psql('postgres', 'DROP VIEW blogstore.posts_with_counts');
my ($rc, $out, $told) = $node->psql('postgres', 'SELECT blogstore.create_containers()');
like($told, qr/NOTICE:  view "posts_with_counts" was missing and has been made/, 'create_containers() creates the view again');
is($node->safe_psql('postgres', "$served; SELECT ready FROM blogstore.view_state; SELECT count(*) FROM blogstore.progress"), "running\nt\n0", '... and changes nothing else');
is($node->safe_psql('postgres', $rights), $owned, '... with the same owner and options');
same('... and shows the same', $gone);
is(reader($sums), '42501', '... and grants rights to nobody');
$node->safe_psql('postgres', 'GRANT SELECT ON blogstore.posts_with_counts TO reader');
foreach my $taken ('CREATE TABLE blogstore.posts_with_counts ()', 'CREATE MATERIALIZED VIEW blogstore.posts_with_counts AS SELECT 1', 'CREATE VIEW blogstore.posts_with_counts AS SELECT 1; ALTER VIEW blogstore.posts_with_counts OWNER TO other',
	'CREATE TYPE blogstore.posts_with_counts AS (a int)', 'CREATE INDEX posts_with_counts ON blogstore.jobs (id)', 'CREATE SEQUENCE blogstore.posts_with_counts')
{
	is($node->safe_psql('postgres', "BEGIN; DROP VIEW blogstore.posts_with_counts; DROP TABLE blogstore.feed; $taken; SELECT kit.try('blogstore.create_containers()'); ROLLBACK"), '42P07, hint', $taken);
}
# A view of the owner is not replaced.
is($node->safe_psql('postgres', "BEGIN; DROP VIEW blogstore.posts_with_counts; DROP TABLE blogstore.feed; CREATE VIEW blogstore.posts_with_counts AS SELECT 1 AS own; SET client_min_messages = error; SELECT blogstore.create_containers(); SELECT own FROM blogstore.posts_with_counts; ROLLBACK") =~ s/\n//r, '1', q{the owner's own});
# Objects in the caller's search_path are not used.
is($node->safe_psql('postgres', q{BEGIN; CREATE SCHEMA trap; CREATE FUNCTION trap.coalesce_sum(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'; CREATE AGGREGATE trap.sum(bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = 1000);
CREATE FUNCTION trap.plus(bigint, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 666::bigint'; CREATE OPERATOR trap.+ (FUNCTION = trap.plus, LEFTARG = bigint, RIGHTARG = bigint);
CREATE TABLE trap.jobs (); DROP VIEW blogstore.posts_with_counts; SET search_path = trap, pg_catalog; SET client_min_messages = error; SELECT FROM blogstore.create_containers(); RESET search_path;
SELECT count(*) FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass WHERE r.ev_class = 'blogstore.posts_with_counts'::regclass
	AND (d.refclassid = 'pg_proc'::regclass OR d.refclassid = 'pg_operator'::regclass OR d.refobjid = 'trap.jobs'::regclass); ROLLBACK}) =~ s/\n//r, '0', 'operators and functions are the server\'s');

# ---- An owner who is no superuser, and another role that creates the view for
# the owner

$node->safe_psql('postgres', 'CREATE ROLE shop LOGIN; CREATE DATABASE shop');
$node->safe_psql('shop', q{CREATE EXTENSION blogstore; GRANT CREATE ON SCHEMA blogstore TO shop; SET client_min_messages = error; SELECT blogstore.create_containers(2, 'shop')});
is($node->safe_psql('shop', $rights =~ s/, reloptions//r), 'shop|t', 'it is the owner\'s');
$node->safe_psql('shop', q{GRANT EXECUTE ON FUNCTION blogstore.create_containers TO shop});
is($node->psql('shop', 'DROP VIEW blogstore.posts_with_counts; SELECT blogstore.create_containers(2)', extra_params => [ '-U', 'shop' ]), 0, 'the owner creates it again');
is($node->safe_psql('shop', $rights =~ s/, reloptions//r), 'shop|t', '... with the same owner');
is($node->safe_psql('shop', "GRANT SELECT ON blogstore.posts_with_counts, blogstore.posts, blogstore.jobs TO reader; SET ROLE reader; $sums"), '0||', 'the view shows no posts');

# ---- Dumps, and DROP and CREATE EXTENSION

my $dump = "$PostgreSQL::Test::Utils::tmp_check/store.dump";
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'a dump');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('copy'), $dump ], 'a restore');
is($node->safe_psql('copy', $rights), $owned, 'restored: the view');
same('restored: counts', $gone, 'copy');
is(reader($sums, 'copy'), $node->safe_psql('postgres', $true), '... for the reader');
my $last = reader($sums);
$node->safe_psql('postgres', 'DROP SCHEMA kit CASCADE; DROP EXTENSION blogstore');
is(reader($sums), $last, 'without the extension the view shows the same');
$node->safe_psql('postgres', 'CREATE EXTENSION blogstore');
is(reader($sums), $last, '... and with it again');

done_testing();
