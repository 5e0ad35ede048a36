# Code that the owner has attached to tables runs in the callers' requests and
# in the worker. It can act as the owner alone. It cannot create objects, and
# leaves nothing behind in the session.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('left_behind');
$node->start;
create_owned_database($node, 'blog', qw(caller));

# Hints are tested in another file.
sub run { return join "\n", grep { !/^HINT: / } split /\n/, run_as($node, 'blog', @_) }

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('blog', 'CREATE SCHEMA audit AUTHORIZATION blog_owner; GRANT USAGE ON SCHEMA audit TO PUBLIC');
is(run('blog_owner', 'SELECT blogstore.create_containers(2)'), '', 'containers of an ordinary role');
create_kit($node, 'blog');
$node->safe_psql('blog', 'GRANT USAGE ON SCHEMA kit TO PUBLIC');
is( run('blog_owner', q{
CREATE TABLE audit.ran (who text);
CREATE TABLE audit.ready (n integer);
CREATE MATERIALIZED VIEW audit.counted AS SELECT count(*) FROM audit.ready;
CREATE FUNCTION audit.run() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN INSERT INTO audit.ran VALUES (current_user); RETURN 1; END $$;
CREATE FUNCTION audit.run_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM audit.run(); RETURN NULL; END $$;
CREATE TABLE audit.later (n integer);
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON audit.later DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit.run_row();
CREATE TABLE audit.kinds (n integer PRIMARY KEY);
CREATE TABLE audit.of_kind (n integer REFERENCES audit.kinds DEFERRABLE INITIALLY DEFERRED);
CREATE PROCEDURE audit.make() LANGUAGE plpgsql AS $$ BEGIN CREATE TEMP TABLE made (); END $$;
CREATE PROCEDURE audit.set_local() LANGUAGE plpgsql AS $$ BEGIN SET LOCAL work_mem = '77kB'; SET search_path = audit; END $$;
CREATE PROCEDURE audit.commit() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
CREATE FUNCTION audit.as_somebody() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN PERFORM audit.run(); RETURN 1; END $$;
ALTER FUNCTION audit.as_somebody() SET role = 'blog_owner';
CREATE FUNCTION audit.definer() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN CREATE TEMP TABLE made (); RETURN 1; END $$;
CREATE FUNCTION audit.nested() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM blogstore.get_user(NULL);
	EXCEPTION WHEN OTHERS THEN NULL;
	END;
	PERFORM blogstore.create_like(kit.p(1), kit.u(1));
	CREATE TEMP TABLE made ();
	RETURN 1;
END $$;
CREATE FUNCTION audit.act() RETURNS trigger LANGUAGE plpgsql SET search_path = audit, pg_temp AS $$
BEGIN
	IF NEW.type <> 'like' THEN
		EXECUTE current_setting('test.act');
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER act AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type <> 'delta') EXECUTE FUNCTION audit.act();
SELECT blogstore.stop_worker();
DO $$ BEGIN
	PERFORM set_config('test.act', 'SELECT 1', false);
	PERFORM blogstore.create_user('alice', kit.u(1), kit.d(1));
	PERFORM blogstore.create_post(kit.u(1), 'first', '', kit.p(1), kit.d(1));
END $$;
}), '', 'a trigger that runs the command in a setting');

# Have the trigger run a command while a superuser calls a request.
sub superuser_calls
{
	my ($act, $after, $before) = @_;

	$act =~ s/'/''/g;
	return run($superuser, ($before // '') . "SET test.act = '$act';\nSELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\n"
		. ($after // ''));
}

my $post = 'a title';

# ----------------------------------------------------------------------
# What attached code may do
# ----------------------------------------------------------------------

for my $act ('SELECT 1', 'INSERT INTO audit.ready VALUES (1)', 'TRUNCATE audit.ready', 'DECLARE c CURSOR FOR SELECT 1', q{NOTIFY news, 'x'},
	q{SELECT pg_notify('news', 'y')}, q{DO 'BEGIN PERFORM audit.run(); END'}, 'LOCK TABLE audit.ready', 'ANALYZE audit.ready', 'EXPLAIN CREATE TABLE x AS SELECT 1')
{
	is(superuser_calls($act), $post, "allowed: $act");
}
is($node->safe_psql('blog', 'SELECT DISTINCT who FROM audit.ran'), 'blog_owner', 'it runs as the owner');
is( $node->safe_psql('blog', "LISTEN news;\nSET test.act = 'NOTIFY news, ''heard''';\nSELECT blogstore.create_post(kit.u(1), 'a title', 'text')") =~ /with payload "heard"/ ? 'heard' : '',
	'heard', 'NOTIFY reaches those who listen');

# ----------------------------------------------------------------------
# Attached code cannot create objects that other roles or the worker would use
# ----------------------------------------------------------------------

my $ddl = 'ERROR:  42501: code attached to blogstore\'s tables cannot execute';
my @making = (
	'CREATE TEMP TABLE t ()', 'CREATE TABLE audit.t ()', 'CREATE TEMP VIEW v AS SELECT audit.run()', 'CREATE VIEW audit.v AS SELECT 1',
	'CREATE DOMAIN pg_temp.d AS text CHECK (audit.run() = 1)', 'CREATE TEMP SEQUENCE s', 'CREATE TYPE pg_temp.c AS (a text)',
	q{CREATE TYPE pg_temp.e AS ENUM ('a')}, 'CREATE TYPE pg_temp.r AS RANGE (SUBTYPE = integer)',
	q{CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'}, q{CREATE PROCEDURE pg_temp.p() LANGUAGE sql AS ''},
	'CREATE OPERATOR audit.= (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer)', 'CREATE AGGREGATE audit.a (integer) (SFUNC = int4pl, STYPE = integer)',
	'CREATE TEMP TABLE t AS SELECT 1', 'CREATE UNLOGGED TABLE audit.t AS SELECT 1', 'SELECT 1 AS n INTO TEMP t', 'CREATE SCHEMA s CREATE TABLE t ()',
	'CREATE INDEX ON audit.ready (n)', 'CREATE RULE r AS ON INSERT TO audit.ready DO ALSO SELECT 1', 'CREATE STATISTICS audit.s ON n, (n + 1) FROM audit.ready',
	'CREATE TRIGGER t AFTER INSERT ON audit.ready FOR EACH ROW EXECUTE FUNCTION audit.run_row()', 'CREATE POLICY p ON audit.ready',
	'CREATE CAST (audit.ready AS text) WITH INOUT', 'CREATE COLLATION audit.c (locale = \'C\')', 'CREATE MATERIALIZED VIEW audit.m AS SELECT 1',
	'REFRESH MATERIALIZED VIEW audit.counted', 'ALTER TABLE audit.ready ADD COLUMN m integer', 'ALTER TABLE audit.ready RENAME TO r',
	'ALTER TABLE audit.ready SET SCHEMA public', 'ALTER FUNCTION audit.run() SECURITY DEFINER', 'ALTER ROLE blog_owner SET search_path = audit',
	'DROP TABLE audit.ready', 'DROP OWNED BY blog_owner', 'REASSIGN OWNED BY blog_owner TO blog_owner', 'COMMENT ON TABLE audit.ready IS NULL',
	'GRANT ALL ON audit.ready TO PUBLIC', 'REVOKE ALL ON audit.ready FROM PUBLIC', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC',
	'CREATE ROLE somebody', 'CREATE PUBLICATION p', 'CLUSTER audit.ready', 'ALTER SYSTEM SET work_mem = 64', 'CREATE EXTENSION blogstore', 'SECURITY LABEL ON TABLE audit.ready IS NULL');
for my $act (@making)
{
	like(superuser_calls($act), qr/\A\Q$ddl\E /, "refused: $act");
}
for my $act ('EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1', 'EXPLAIN (ANALYZE off, ANALYZE) CREATE TEMP TABLE t AS SELECT 1',
	q{DO 'BEGIN CREATE TEMP TABLE t (); END'}, q{DO 'BEGIN EXECUTE ''CREATE TEMP TABLE t ()''; END'}, 'CALL audit.make()', 'SELECT audit.definer()', 'SELECT audit.nested()')
{
	like(superuser_calls($act), qr/\A\Q$ddl\E /, "refused within: $act");
}
# Objects with names that a superuser uses next. They would run the owner's
# function.
is( run('blog_owner', q{
CREATE TRIGGER act AFTER INSERT OR UPDATE ON blogstore.users_p00_user FOR EACH ROW EXECUTE FUNCTION audit.act();
CREATE TRIGGER act AFTER INSERT OR UPDATE ON blogstore.users_p01_user FOR EACH ROW EXECUTE FUNCTION audit.act()}), '', 'a trigger on users');
for my $act ('CREATE TEMP VIEW pg_roles AS SELECT audit.run()::text AS rolname', 'CREATE TEMP TABLE pg_roles (rolname text, n integer DEFAULT audit.run())',
	'CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (audit.run() = 1)', 'CREATE TEMP TABLE pg_class AS SELECT 1 AS oid')
{
	for my $call ('create_user($$bob$$, kit.u(9))', 'edit_user(kit.u(1), $$alicia$$)')
	{
		my $got = run($superuser, "SET test.act = '$act';\nSELECT blogstore.$call;\nINSERT INTO pg_roles (rolname) VALUES ('x');\n"
			. q{SELECT rolname FROM pg_roles WHERE rolname = 'caller'; SELECT CAST('x' AS text); SELECT count(*) FROM pg_catalog.pg_class WHERE relpersistence = 't'; SELECT count(*) FROM audit.ran WHERE who <> 'blog_owner'});
		like($got, qr/\Acaller\nx\n0\n0\n\Q$ddl\E [^\n]*\nERROR:  55000: cannot insert into view "pg_roles"/, "$call refused: $act");
	}
}
is(run('blog_owner', 'DROP TRIGGER act ON blogstore.users_p00_user; DROP TRIGGER act ON blogstore.users_p01_user'), '', 'without the trigger');
# Statements that the session has prepared
for my $act ('CREATE TEMP TABLE u AS EXECUTE s', 'EXPLAIN ANALYZE CREATE TEMP TABLE u AS EXECUTE s')
{
	like(superuser_calls($act, '', "PREPARE s AS SELECT audit.run();\n"), qr/\A\Q$ddl\E /, "refused: $act");
}
like(run('caller', "SET test.act = 'CREATE TEMP TABLE t ()';\nSELECT blogstore.create_post(kit.u(1), 'x', '')"), qr/\A\Q$ddl\E /, 'for an ordinary caller, too');
is( run('caller', q{
BEGIN;
SAVEPOINT s;
SET test.act = 'CREATE TEMP TABLE t ()';
SELECT blogstore.create_post(kit.u(1), 'x', '');
ROLLBACK TO s;
CREATE TEMP TABLE mine (n integer);
INSERT INTO mine VALUES (1) RETURNING n;
SET CONSTRAINTS ALL DEFERRED;
SET test.act = 'SELECT 1';
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', '');
CREATE TEMP TABLE mine_too (n integer);
COMMIT;
}), "1\n$post\n$ddl CREATE TABLE", 'the caller is free to, after an error as well');

# ----------------------------------------------------------------------
# Attached code cannot become the caller, or leave something that runs as the
# caller
# ----------------------------------------------------------------------

for my $act ("SET ROLE \"$superuser\"", 'SET LOCAL ROLE blog_owner', 'RESET ROLE', 'SET ROLE NONE', 'SET SESSION AUTHORIZATION DEFAULT',
	"SET SESSION AUTHORIZATION \"$superuser\"", 'RESET SESSION AUTHORIZATION', "SELECT set_config('role', '$superuser', false)",
	"SELECT set_config('role', 'none', true)", 'SELECT audit.as_somebody()')
{
	like(superuser_calls($act), qr/\AERROR:  42501: cannot set parameter "(role|session_authorization)" within security-(restricted operation|definer function)\z/, "refused: $act");
}
for my $act ('PREPARE s AS SELECT 1', 'DEALLOCATE s', 'DEALLOCATE ALL', 'CLOSE c', 'CLOSE ALL', 'DISCARD PLANS', 'DISCARD TEMP', 'DISCARD SEQUENCES', 'LISTEN news', 'UNLISTEN *')
{
	like(superuser_calls($act), qr/\AERROR:  42501: cannot execute [A-Z]+ within security-restricted operation\z/, "refused: $act");
}
like(superuser_calls('DECLARE c CURSOR WITH HOLD FOR SELECT audit.run()'), qr/\AERROR:  42501: cannot create a cursor WITH HOLD within security-restricted operation\z/,
	'refused: a cursor that is read to its end when the transaction commits');
for my $act ('INSERT INTO audit.later VALUES (1)', 'INSERT INTO audit.of_kind VALUES (1)')
{
	like(superuser_calls($act), qr/\AERROR:  42501: cannot fire deferred trigger within security-restricted operation\z/, "refused: $act");
}
for my $act ('SET CONSTRAINTS ALL DEFERRED', 'SET CONSTRAINTS ALL IMMEDIATE')
{
	like(superuser_calls($act), qr/\A\Q$ddl\E SET CONSTRAINTS\z/, "refused: $act");
}
like(superuser_calls('CALL audit.commit()'), qr/\AERROR:  2D000: invalid transaction termination\z/, 'refused: COMMIT');
$node->safe_psql('blog', 'TRUNCATE audit.ran');

# ----------------------------------------------------------------------
# Changed settings do not outlast the request
# ----------------------------------------------------------------------

my $show = q{SELECT current_setting('search_path'), current_setting('work_mem'), current_setting('datestyle'), current_setting('my.claim', true)};
my $before = "SET search_path = kit; SET work_mem = '99kB'; SET my.claim = 'mine';\n";
for my $act ('SET search_path = audit', 'SET LOCAL search_path = audit', q{SET work_mem = '77kB'}, 'CALL audit.set_local()', 'RESET ALL', q{SET my.claim = 'theirs'},
	q{SELECT set_config('search_path', 'audit', false), set_config('datestyle', 'German', false), set_config('my.claim', 'theirs', false)},
	q{SELECT set_config('work_mem', '77kB', true), set_config('my.claim', 'theirs', true)})
{
	is(superuser_calls($act, $show, $before), "$post\nkit|99kB|ISO, MDY|mine", "does not outlast it: $act");
	is(superuser_calls($act, "$show;\nCOMMIT;\n$show", "$before BEGIN;\n"), "$post\nkit|99kB|ISO, MDY|mine\nkit|99kB|ISO, MDY|mine", "nor in a transaction: $act");
}
is( run($superuser, "$before" . q{
SET test.act = 'DO ''BEGIN SET search_path = audit; SET work_mem = ''''77kB''''; RAISE division_by_zero; END''';
BEGIN;
SAVEPOINT s;
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
ROLLBACK TO s;
SELECT current_setting('search_path'), current_setting('work_mem'), current_user = session_user;
COMMIT}), "kit|99kB|t\nERROR:  22012: division_by_zero", 'nor if the request fails');

# ----------------------------------------------------------------------
# The same for expressions
# ----------------------------------------------------------------------

is( run('blog_owner', q{
ALTER TABLE blogstore.posts DISABLE TRIGGER act;
CREATE FUNCTION audit.check(text) RETURNS boolean LANGUAGE plpgsql SET search_path = audit, pg_temp AS $$ BEGIN EXECUTE current_setting('test.act'); RETURN true; END $$;
ALTER TABLE blogstore.posts ADD CONSTRAINT act CHECK (audit.check(title)) NOT VALID;
}), '', 'a CHECK constraint that runs the command in a setting');
for my $case ([ 'CREATE TEMP TABLE t ()', $ddl ], [ 'SET CONSTRAINTS ALL DEFERRED', $ddl ], [ 'PREPARE s AS SELECT 1', 'ERROR:  42501: cannot execute PREPARE' ],
	[ "SET ROLE \"$superuser\"", 'ERROR:  42501: cannot set parameter "role"' ], [ 'INSERT INTO audit.later VALUES (1)', 'ERROR:  42501: cannot fire deferred trigger' ])
{
	my ($act, $error) = @$case;

	like(superuser_calls($act), qr/\A\Q$error\E/, "a CHECK constraint, refused: $act");
}
is(superuser_calls('SET work_mem = \'77kB\'', $show, $before), "$post\nkit|99kB|ISO, MDY|mine", 'a setting does not outlast the CHECK constraint');
is(run('blog_owner', 'ALTER TABLE blogstore.posts DROP CONSTRAINT act; ALTER TABLE blogstore.posts ENABLE TRIGGER act'), '', 'the CHECK constraint goes');
# A CHECK constraint can call functions of the server itself, such as
# set_config(), without a function of the owner.
is(run('blog_owner', "ALTER TABLE blogstore.posts ADD CONSTRAINT act CHECK (set_config('role', current_setting('test.role'), false) <> '') NOT VALID"), '', 'a CHECK constraint of the server\'s functions');
like(run($superuser, "SET test.act = 'SELECT 1'; SET test.role = '$superuser'; SELECT blogstore.create_post(kit.u(1), 'x', '')"), qr/\AERROR:  42501: cannot set parameter "role"/, 'does not become the caller');
is(run('blog_owner', 'ALTER TABLE blogstore.posts DROP CONSTRAINT act'), '', 'and goes');

# ----------------------------------------------------------------------
# Attached code in repair(), import() and the worker
# ----------------------------------------------------------------------

is( run('blog_owner', q{
SET session_replication_role = replica}), "ERROR:  42501: permission denied to set parameter \"session_replication_role\"", 'an owner is no superuser');
$node->safe_psql('blog', q{
ALTER TABLE blogstore.posts DISABLE TRIGGER act;
ALTER TABLE blogstore.posts ALTER user_username DROP NOT NULL;
DO $$ DECLARE leaf regclass; BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE level = 2 AND isleaf LOOP
		EXECUTE format('ALTER TABLE %s ALTER user_username DROP NOT NULL', leaf);
	END LOOP;
END $$;
UPDATE blogstore.posts SET user_username = NULL WHERE type = 'post' AND id = kit.p(1);
ALTER TABLE blogstore.posts ENABLE TRIGGER act;
DROP TRIGGER act ON blogstore.posts;
SET ROLE blog_owner;
CREATE TRIGGER act AFTER INSERT OR UPDATE ON blogstore.posts FOR EACH ROW WHEN (NEW.type <> 'delta') EXECUTE FUNCTION audit.act()});
like(run($superuser, "SET test.act = 'CREATE TEMP TABLE t ()'; SELECT blogstore.repair()"), qr/\A\Q$ddl\E CREATE TABLE/, 'repair(): DDL is refused');
like(run($superuser, "SET test.act = 'SET ROLE \"$superuser\"'; SELECT blogstore.repair()"), qr/\AERROR:  42501: cannot set parameter "role"/, 'repair(): so is SET ROLE');
is(run($superuser, "$before SET test.act = 'SET work_mem = ''77kB'''; SELECT blogstore.repair() > 0; $show"), "t\nkit|99kB|ISO, MDY|mine", 'repair(): settings do not outlast it');
$node->safe_psql('blog', q{
CREATE TABLE kit.remarks AS SELECT kit.c(n) AS comment_id, kit.p(1) AS post_id, kit.u(1) AS user_id, 'remark' AS content, kit.d(n) AS creation_date FROM generate_series(1, 3) n});
like(run($superuser, "SET test.act = 'CREATE TEMP TABLE t ()'; SELECT blogstore.import(comments => 'kit.remarks')"), qr/^\Q$ddl\E CREATE TABLE/m, 'import(): DDL is refused');
is( run($superuser, "$before SET client_min_messages = error; SET test.act = 'SET work_mem = ''77kB'''; SELECT imported FROM blogstore.import(comments => 'kit.remarks') WHERE type = 'comment'; $show"),
	"3\nkit|99kB|ISO, MDY|mine", 'import(): settings do not outlast it');
is( run('blog_owner', q{
CREATE TABLE audit.seen (who text, path text, work_mem text);
CREATE FUNCTION audit.watch() RETURNS trigger LANGUAGE plpgsql SET search_path = audit, pg_temp AS $$
BEGIN
	INSERT INTO seen VALUES (current_user, current_setting('search_path'), current_setting('work_mem'));
	SET work_mem = '77kB';
	BEGIN
		CREATE TEMP TABLE t ();
	EXCEPTION WHEN insufficient_privilege THEN
		INSERT INTO seen VALUES ('refused');
	END;
	RETURN NULL;
END $$;
DROP TRIGGER act ON blogstore.posts;
CREATE TRIGGER watch AFTER UPDATE ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION audit.watch();
SELECT blogstore.start_worker();
SELECT username FROM blogstore.edit_user(kit.u(1), 'alison');
}) =~ s/^\n//r, 'alison', 'a rename, which the worker carries out');
wait_until($node, 'blog', 'SELECT count(*) = 6 FROM audit.seen');
is($node->safe_psql('blog', 'SELECT DISTINCT who, path FROM audit.seen ORDER BY 1'), "blog_owner|audit, pg_temp\nrefused|", 'in the worker it runs as the owner, and makes nothing');
$node->safe_psql('blog', "TRUNCATE audit.seen; SELECT blogstore.edit_user(kit.u(1), 'alisson')");
wait_until($node, 'blog', 'SELECT count(*) = 6 FROM audit.seen');
is($node->safe_psql('blog', "SELECT count(*) > 0 FROM audit.seen WHERE work_mem = current_setting('work_mem')"), 't', 'what it has set in the worker does not outlast it');
is(run('blog_owner', 'DROP TRIGGER watch ON blogstore.posts'), '', 'the trigger can be dropped');
is($node->safe_psql('blog', "SELECT DISTINCT who FROM audit.ran WHERE who <> 'blog_owner'"), '', 'nothing has run as anybody but the owner');
is(slurp_file($node->logfile) =~ /was terminated by signal/ ? 'crash' : '', '', 'no process has crashed');
check_store($node, 'blog', 'at the end');

$node->stop;
done_testing();
