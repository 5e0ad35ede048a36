# An update of the extension makes functions anew whose arguments have grown. What
# depends on one of them is named before anything is done; each new one has the owner
# and the rights of the one in whose place it is, and pg_dump tells them as before; and
# nothing that others have put into the schema is run. Until then the library serves
# 0.1's functions.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION blogstore VERSION '0.1';
SELECT blogstore.create_containers(4);
});
create_kit($node, 'postgres');
fill_store($node, 'postgres', 4, 120);
check_store($node, 'postgres', '0.1');

# ---- 0.1's functions, by this library

my $cursor = 'kit.d(30), kit.p(30)';
my $me = $node->safe_psql('postgres', 'SELECT current_user');
is($node->safe_psql('postgres', "SELECT string_agg(title, ',') FROM blogstore.list_feed(3, $cursor)"),
	'title 29,title 28,title 27', '0.1: a page of the feed');
is($node->safe_psql('postgres', "SELECT (blogstore.list_post_comments(kit.p(1), 2)).id = ANY (ARRAY[kit.c(13), kit.c(12)])"),
	"t\nt", '0.1: a page of comments');
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT title) FROM blogstore.list_user_posts(kit.u(2), NULL) UNION ALL SELECT count(*), 4 FROM blogstore.list_post_likes(kit.p(7))'),
	"30|30\n4|4", '0.1: posts of a user, and likes');
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) SELECT title FROM blogstore.list_feed(3, $cursor)"),
	qr/^Custom Scan \(blogstore\.list_feed\).*View: used/s, '0.1: planned as a scan');
like(run_as($node, 'postgres', $me, 'SELECT blogstore.list_feed(oldest_first => true)'),
	qr/^ERROR:  42883: function blogstore\.list_feed\(oldest_first => boolean\) does not exist/m, '0.1: has no oldest_first');

# ---- Rights, and what others have put into the schema

$node->safe_psql(
	'postgres', q{
CREATE ROLE reader; CREATE ROLE lender; CREATE ROLE borrower; CREATE ROLE keeper; CREATE ROLE planter; CREATE ROLE anybody;
GRANT USAGE ON SCHEMA blogstore TO lender, borrower;
GRANT EXECUTE ON FUNCTION blogstore.list_feed, blogstore.list_user_posts TO reader;
GRANT EXECUTE ON FUNCTION blogstore.list_feed TO lender WITH GRANT OPTION;
SET ROLE lender;
GRANT EXECUTE ON FUNCTION blogstore.list_feed TO borrower, reader;
RESET ROLE;
GRANT EXECUTE ON FUNCTION blogstore.list_post_likes TO PUBLIC;
REVOKE EXECUTE ON FUNCTION blogstore.list_post_comments FROM CURRENT_USER;
GRANT CREATE ON SCHEMA blogstore TO keeper;
ALTER FUNCTION blogstore.create_containers OWNER TO keeper;
-- what functions get that the updating role makes from now on
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO anybody;
-- better matches than the server's own for what a script could write
GRANT CREATE, USAGE ON SCHEMA blogstore TO planter;
SET ROLE planter;
CREATE FUNCTION blogstore.planted(text, regprocedure, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted code runs'; END $$;
ALTER FUNCTION blogstore.planted(text, regprocedure, text) RENAME TO format;
CREATE FUNCTION blogstore.planted(name, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted code runs'; END $$;
CREATE OPERATOR blogstore.|| (LEFTARG = name, RIGHTARG = text, FUNCTION = blogstore.planted);
CREATE OPERATOR blogstore.~~ (LEFTARG = name, RIGHTARG = text, FUNCTION = blogstore.planted);
CREATE FUNCTION blogstore.planted(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted code runs'; END $$;
CREATE OPERATOR blogstore.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = blogstore.planted);
CREATE FUNCTION blogstore."list_feed (0.1)"(text) RETURNS text LANGUAGE sql AS $$ SELECT $1 $$;
});

# of functions of 0.1 that are made anew
my $rights = q{
SELECT p.proname, p.proowner::regrole, p.proacl::text COLLATE "C", i.initprivs::text, d.deptype
FROM pg_proc p LEFT JOIN pg_init_privs i ON i.objoid = p.oid AND i.classoid = 'pg_proc'::regclass
LEFT JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE p.pronamespace = 'blogstore'::regnamespace AND p.proname ~ '^(list_(feed|user_posts|post_comments|post_likes)|create_containers)( |$)'
ORDER BY p.proname COLLATE "C"};
my $roles = q{
SELECT s.deptype, s.refobjid::regrole::text, p.proname FROM pg_shdepend s JOIN pg_proc p ON p.oid = s.objid
WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND s.classid = 'pg_proc'::regclass AND s.deptype IN ('a', 'o')
	AND p.pronamespace = 'blogstore'::regnamespace AND p.proname ~ '^(list_(feed|user_posts|post_comments|post_likes)|create_containers)( |$)'
ORDER BY 1, 2, p.proname COLLATE "C"};
my $functions = q{SELECT oid, proname, pg_get_function_arguments(oid), prosrc FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace ORDER BY oid};
my $rights_before = $node->safe_psql('postgres', $rights);
my $roles_before = $node->safe_psql('postgres', $roles);
my $functions_before = $node->safe_psql('postgres', $functions);
like($rights_before, qr/^list_feed\|\w+\|\{[^|]*reader=X\/lender[^|]*\}\|\{\w+=X\/\w+\}\|e$/m, 'rights by two grantors');
like($rights_before, qr/^list_post_comments\|\w+\|\{\}\|/m, 'no right for the owner');

# What pg_dump says of rights on functions, in a form that has no order
sub dumped_rights
{
	my ($dump) = run_command([ 'pg_dump', '--schema-only', '-d', $node->connstr('postgres') ]);
	my ($by, @lines) = ('');

	foreach my $line (split /\n/, $dump)
	{
		$by = $1 if $line =~ /^SET SESSION AUTHORIZATION (.+);/;
		$by = '' if $line =~ /^RESET SESSION AUTHORIZATION/;
		$line =~ s/\((?:page_size|user_id|post_id|partitions) [^)]*\)/()/;
		push @lines, "$by: $line" if $line =~ /^(?:GRANT|REVOKE) .* ON FUNCTION blogstore\.(?:list|create)/;
	}
	return join "\n", sort @lines;
}
my $dump_before = dumped_rights();
like($dump_before, qr/^lender: GRANT ALL ON FUNCTION blogstore\.list_feed\(\) TO borrower;$/m, 'pg_dump tells the rights');

# ---- What depends on a function is named, and nothing has changed

$node->safe_psql(
	'postgres', q{
CREATE SCHEMA site;
CREATE VIEW site.front AS SELECT id, title FROM blogstore.list_feed(10);
CREATE VIEW site.titles AS SELECT title FROM site.front;
CREATE MATERIALIZED VIEW site.kept AS SELECT id FROM blogstore.list_user_posts(kit.u(1), 5);
CREATE FUNCTION site.newest() RETURNS text STABLE BEGIN ATOMIC SELECT title FROM blogstore.list_feed(1); END;
CREATE TABLE site.notes (note text DEFAULT site.newest(), post_id uuid);
CREATE RULE counted AS ON INSERT TO site.notes DO ALSO SELECT count(*) FROM blogstore.list_post_likes(NEW.post_id);
CREATE POLICY liked ON site.notes USING (EXISTS (SELECT FROM blogstore.list_post_likes(post_id)));
CREATE FUNCTION site.fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER named AFTER UPDATE ON site.notes FOR EACH ROW WHEN (site.newest() = NEW.note) EXECUTE FUNCTION site.fire();
CREATE TABLE site.made (made text DEFAULT blogstore.create_containers(7)::text);
-- these find it by its name
CREATE FUNCTION site.text() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM blogstore.list_feed(10)';
CREATE FUNCTION site.block() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM blogstore.list_feed(10)); END';
-- and this uses one that stays
CREATE VIEW site.one AS SELECT * FROM blogstore.get_user(kit.u(1));
});
my ($out, $err) = ('', '');
$node->psql('postgres', "\\set VERBOSITY verbose\nALTER EXTENSION blogstore UPDATE", stdout => \$out, stderr => \$err);
like($err, qr/ERROR:  2BP01: cannot update blogstore because other objects depend on functions that must be replaced\n/,
	'dependent objects: one error');
my ($detail) = $err =~ /^DETAIL:  (.*?)^HINT:  .*drop them, update the extension, and create them again/ms;
my $with = 'timestamp with time zone';
is($detail, <<"NAMED", 'dependent objects: each is named');
default value for column made of table site.made depends on blogstore.create_containers(integer)
default value for column note of table site.notes depends on blogstore.list_feed(integer,$with,uuid)
function site.newest() depends on blogstore.list_feed(integer,$with,uuid)
materialized view site.kept depends on blogstore.list_user_posts(uuid,integer,$with,uuid)
policy liked on table site.notes depends on blogstore.list_post_likes(uuid,integer,$with,uuid)
rule counted on table site.notes depends on blogstore.list_post_likes(uuid,integer,$with,uuid)
trigger named on table site.notes depends on blogstore.list_feed(integer,$with,uuid)
view site.front depends on blogstore.list_feed(integer,$with,uuid)
view site.titles depends on blogstore.list_feed(integer,$with,uuid)
NAMED
is($node->safe_psql('postgres', $functions), $functions_before, 'dependent objects: the functions are as before');
is($node->safe_psql('postgres', $rights), $rights_before, 'dependent objects: their rights too');
is($node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'blogstore'"), '0.1', 'dependent objects: the version too');
is($node->safe_psql('postgres', 'SELECT count(*) FROM site.front'), '10', 'dependent objects: and serve');

# ---- A function that is no member any more

$node->safe_psql('postgres', q{
DROP TABLE site.made, site.notes;
DROP VIEW site.front CASCADE;
DROP MATERIALIZED VIEW site.kept;
DROP FUNCTION site.newest;
ALTER EXTENSION blogstore DROP FUNCTION blogstore.list_post_likes(uuid, integer, timestamptz, uuid)});
like(run_as($node, 'postgres', $me, 'ALTER EXTENSION blogstore UPDATE'),
	qr/^ERROR:  55000: functions that are to be replaced are not members.*^HINT:  Take them back by ALTER EXTENSION blogstore ADD FUNCTION\./ms,
	'a function that is no member is not replaced');
$node->safe_psql('postgres', q{
ALTER EXTENSION blogstore ADD FUNCTION blogstore.list_post_likes(uuid, integer, timestamptz, uuid)});
# which has made the rights of that moment the extension's own, for pg_dump
$rights_before = $node->safe_psql('postgres', $rights);
$dump_before = dumped_rights();

# ---- Updated

my $client = $node->background_psql('postgres');
$client->query_safe("PREPARE page AS SELECT title FROM blogstore.list_feed(1)");
is($client->query_safe('EXECUTE page'), 'title 120', 'a statement is prepared');
$node->safe_psql('postgres', 'ALTER EXTENSION blogstore UPDATE');
is($node->safe_psql('postgres', $rights), $rights_before, 'owners and rights are those from before');
is($node->safe_psql('postgres', $roles), $roles_before, 'and so is what roles they depend on');
is(dumped_rights(), $dump_before, 'and what pg_dump tells of them');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc p WHERE pronamespace = 'blogstore'::regnamespace AND proname LIKE '%(0.1)' AND pronargs <> 1}),
	'0', 'nothing is left of the old ones');
like(run_as($node, 'postgres', $me, 'DROP ROLE borrower'),
	qr/^ERROR:  2BP01: role "borrower" cannot be dropped/m, 'a role with rights is known to have them');
is($node->safe_psql('postgres', q{
SET ROLE lender; REVOKE EXECUTE ON FUNCTION blogstore.list_feed FROM borrower, reader; RESET ROLE;
DROP OWNED BY borrower; DROP ROLE borrower;
SELECT proacl::text LIKE '%/lender%' FROM pg_proc WHERE proname = 'list_feed'}),
	'f', 'the grantor takes back what was granted');
is($client->query_safe('EXECUTE page'), 'title 120', 'the prepared statement goes on');
$client->quit;
is($node->safe_psql('postgres', 'SELECT site.text(), site.block(), (SELECT username FROM site.one)'), '10|10|user 1', 'what finds functions by name goes on');
is($node->safe_psql('postgres', "SELECT string_agg(title, ',') FROM blogstore.list_feed(3, $cursor, oldest_first => true)"),
	'title 31,title 32,title 33', 'the new argument is there');
$node->safe_psql('postgres', q{
CREATE VIEW site.front AS SELECT id, title FROM blogstore.list_feed(10, oldest_first => true);
ALTER EXTENSION blogstore UPDATE;
DROP FUNCTION blogstore."list_feed (0.1)"(text)});
is($node->safe_psql('postgres', 'SELECT min(title) FROM site.front'), 'title 1', 'a view of the new one');
check_store($node, 'postgres', 'updated');

$node->stop;
done_testing();
