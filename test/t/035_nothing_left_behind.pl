# What the owner has attached leaves nothing to the session in which it runs that
# would act as somebody else there; and the types that a function of the owner's
# has found when the caller called it bring nothing of the caller's into it.

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
create_owned_database($node, 'blog', qw(caller friend));
$node->safe_psql(
	'blog', q{
CREATE SCHEMA audit AUTHORIZATION blog_owner;
CREATE SCHEMA evil AUTHORIZATION caller;
CREATE SCHEMA friendly AUTHORIZATION friend;
GRANT USAGE ON SCHEMA audit, evil, friendly TO PUBLIC;
ALTER ROLE blog_owner SET search_path = audit;
});

# hints are another file's subject
sub run { return join "\n", grep { !/^HINT: / } split /\n/, run_as($node, 'blog', @_) }

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
is(run('blog_owner', 'SELECT blogstore.create_containers(2)'), '', 'containers of an ordinary role');
create_kit($node, 'blog');
$node->safe_psql('blog', 'GRANT USAGE ON SCHEMA kit TO PUBLIC');
is( run('blog_owner', q{
CREATE TABLE audit.ran (who text);
CREATE FUNCTION audit.run() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN INSERT INTO audit.ran VALUES (current_user); RETURN 1; END $$;
CREATE FUNCTION audit.run_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM audit.run(); RETURN NULL; END $$;
CREATE TABLE audit.later (n integer);
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON audit.later DEFERRABLE FOR EACH ROW EXECUTE FUNCTION audit.run_row();
CREATE FUNCTION audit.defer() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'SET CONSTRAINTS ALL DEFERRED'; RETURN 1; END $$;
CREATE FUNCTION audit.act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN EXECUTE current_setting('test.act'); RETURN NULL; END $$;
CREATE TRIGGER act AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type <> 'delta') EXECUTE FUNCTION audit.act();
SELECT blogstore.stop_worker();
DO $$ BEGIN PERFORM set_config('test.act', 'SELECT 1', false); PERFORM blogstore.create_user('alice', kit.u(1), kit.d(1)); END $$;
}), '', 'a trigger that does as it is told');

# A superuser calls; the trigger does this.
sub superuser_calls
{
	my ($act, $after) = @_;

	$act =~ s/'/''/g;
	return run($superuser, "SET test.act = '$act';\nSELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\n"
		. ($after // ''));
}

my $post = 'a title';
my $refused = 'ERROR:  42501: what is attached to blogstore\'s tables cannot execute';

is(superuser_calls('SELECT 1'), $post, 'it may do what triggers do');
is(superuser_calls('CREATE TEMP TABLE scratch (n integer) ON COMMIT DROP'), $post, 'make a temporary table, too');
is(superuser_calls('DECLARE c CURSOR FOR SELECT 1'), $post, 'and open a cursor');
is(superuser_calls('DECLARE c CURSOR WITH HOLD FOR SELECT audit.run()'), "$refused DECLARE ... WITH HOLD",
	'but not one that is read to its end when the transaction commits');
is(superuser_calls('INSERT INTO audit.later SELECT audit.defer()'), "$refused SET CONSTRAINTS ... DEFERRED",
	'nor defer a trigger while the statement runs that makes it fire');
is(superuser_calls('INSERT INTO audit.later VALUES (1)'), $post, 'a deferrable trigger fires');
is($node->safe_psql('blog', 'SELECT who FROM audit.ran'), 'blog_owner', 'as the owner, and nothing else has run');
for my $command ('PREPARE s AS SELECT 1', 'DEALLOCATE s', 'CLOSE c', 'DISCARD PLANS', 'LISTEN news', 'UNLISTEN news')
{
	my ($word) = $command =~ /^(\w+)/;

	is(run($superuser, "PREPARE s AS SELECT 'mine';\nSET test.act = '$command';\n"
		. "SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\nEXECUTE s;"),
		"mine\n$refused $word", "$word is refused, and the session's own statement is as it was");
}

for my $command ('EXECUTE s', 'EXPLAIN ANALYZE EXECUTE s', 'CREATE TEMP TABLE t AS EXECUTE s', 'EXPLAIN ANALYZE CREATE TEMP TABLE t AS EXECUTE s')
{
	is(run('caller', "PREPARE s AS SELECT audit.run();\nSET test.act = '$command';\n"
		. "SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');"),
		"$refused EXECUTE", "$command does not run what the caller has prepared");
}

is( superuser_calls("SELECT set_config('search_path', 'audit', false), set_config('datestyle', 'German', false), set_config('my.claim', 'kept', false)",
		q{SELECT current_setting('search_path'), current_setting('datestyle'), current_setting('my.claim')}),
	qq{$post\n"\$user", public|ISO, MDY|kept}, 'names and dates mean to the caller what they did; custom settings stay');
is( run($superuser, q{
SET search_path = kit;
SET test.act = 'SET LOCAL search_path = audit';
BEGIN;
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
SHOW search_path;
COMMIT;
SHOW search_path;
}), "$post\nkit\nkit", 'nor for the rest of the transaction');

# ----------------------------------------------------------------------
# Cursors, temporary sequences and tables of the caller's
# ----------------------------------------------------------------------

# what has counted has run as the owner; an error does not take it back
$node->safe_psql('blog', 'CREATE SEQUENCE evil.tally; GRANT ALL ON evil.tally TO PUBLIC;
CREATE FUNCTION evil.mark() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN IF current_user = \'blog_owner\' THEN PERFORM nextval(\'evil.tally\'); END IF; RETURN 7; END $$;
GRANT EXECUTE ON FUNCTION evil.mark() TO PUBLIC', extra_params => [ '-U', 'caller' ]);
is( run('blog_owner', q{
CREATE FUNCTION audit.fetch(c refcursor, OUT n bigint) LANGUAGE plpgsql AS $$ BEGIN FETCH c INTO n; END $$;
CREATE FUNCTION audit.move(c refcursor) RETURNS void LANGUAGE plpgsql AS $$ BEGIN MOVE c; END $$;
CREATE FUNCTION audit.close(c refcursor) RETURNS void LANGUAGE plpgsql AS $$ BEGIN CLOSE c; OPEN c FOR SELECT audit.run(); END $$;
CREATE FUNCTION audit.loop() RETURNS void LANGUAGE plpgsql AS $$
DECLARE n integer; k integer; c refcursor := 'audit'; d CURSOR FOR SELECT 3;
BEGIN
	FOR n IN SELECT 1 LOOP FOR k IN INSERT INTO audit.ran VALUES ('loop') RETURNING 2 LOOP END LOOP; END LOOP;
	OPEN c FOR EXECUTE 'INSERT INTO audit.ran VALUES (''loop'') RETURNING 4';
	FETCH c INTO n; CLOSE c;
	OPEN d; FETCH d INTO n; MOVE d; CLOSE d;
	FOR r IN d LOOP END LOOP;
	OPEN c FOR SELECT 5; FETCH c INTO n; CLOSE c;
END $$;
}), '', 'functions of the owner\'s that use cursors');

sub caller_calls
{
	my ($before, $act) = @_;

	$act =~ s/'/''/g;
	return run('caller', "SET test.act = '$act';\nBEGIN;\n$before;\nSELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\nCOMMIT;");
}

is(caller_calls('DECLARE c CURSOR FOR SELECT 1', 'SELECT audit.loop()'), $post, 'they work with cursors of their own');
for my $cursor ('CURSOR FOR SELECT evil.mark()', 'CURSOR WITH HOLD FOR SELECT evil.mark()', 'SCROLL CURSOR FOR SELECT evil.mark()')
{
	for my $act (q{SELECT audit.fetch('c')}, q{SELECT audit.move('c')}, 'FETCH c', 'MOVE c', q{SELECT audit.close('c')})
	{
		is(caller_calls("DECLARE c $cursor", $act),
			q{ERROR:  42501: cursor "c" must not be used by what is attached to blogstore's tables},
			"$act with a $cursor");
	}
}
is(caller_calls("DECLARE c CURSOR WITH HOLD FOR SELECT evil.mark();\nCOMMIT;\nBEGIN", q{SELECT audit.fetch('c')}),
	q{ERROR:  42501: cursor "c" must not be used by what is attached to blogstore's tables},
	'a cursor that is held, too');
for my $query ('EXPLAIN ANALYZE SELECT evil.mark()', 'INSERT INTO wanted SELECT evil.mark() RETURNING 1',
	'WITH w AS (INSERT INTO wanted SELECT evil.mark() RETURNING 1) SELECT * FROM w')
{
	is(caller_calls("CREATE TEMP TABLE wanted (n bigint);\nGRANT ALL ON wanted TO PUBLIC;\n"
			. "DO \$\$ DECLARE c refcursor := 'c'; BEGIN OPEN c FOR EXECUTE '$query'; END \$\$", q{SELECT audit.fetch('c')}),
		q{ERROR:  42501: cursor "c" must not be used by what is attached to blogstore's tables},
		"a cursor that has not begun: $query");
}
is(caller_calls('DECLARE c CURSOR FOR SELECT 8', 'DECLARE d CURSOR FOR SELECT 9') . ' '
		. run('caller', "SET test.act = 'SELECT 1';\nBEGIN;\nDECLARE c CURSOR FOR SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\nFETCH c;\nCLOSE c;\nCOMMIT;"),
	"$post $post", 'a cursor may call requests, and be open meanwhile');
my $executed = "SET test.act = 'SELECT audit.fetch(''c'')';\nBEGIN;\nDECLARE c CURSOR FOR SELECT 'x';\n";
is(run($superuser, "$executed SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\nROLLBACK;"),
	q{ERROR:  42501: cursor "c" must not be used by what is attached to blogstore's tables}, 'not even a superuser\'s');

# A sequence of the owner's in a schema that is left out, and the caller's.
is(run('blog_owner', 'ALTER ROLE blog_owner SET search_path = audit, evil'), '', 'a schema that is left out');
for my $right ('USAGE', 'SELECT', 'UPDATE')
{
	is(caller_calls("CREATE TEMP SEQUENCE numbers START 66;\nGRANT $right ON numbers TO blog_owner", q{SELECT nextval('numbers')}),
		q{ERROR:  42501: temporary sequence "numbers" is in the way of what is attached to blogstore's tables},
		"no temporary sequence on which the owner has $right");
}
is( run('caller', q{
SET test.act = 'SELECT 1';
CREATE TEMP TABLE things (id serial, other integer GENERATED ALWAYS AS IDENTITY);
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
GRANT USAGE ON things_id_seq TO PUBLIC;
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
REVOKE USAGE ON things_id_seq FROM PUBLIC;
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
}), qq{$post\n$post\nERROR:  42501: temporary sequence "things_id_seq" is in the way of what is attached to blogstore's tables},
	'those of temporary tables are in nobody\'s way, unless they are granted');
my $temp = "CREATE TEMP SEQUENCE numbers;\nGRANT USAGE ON numbers TO friend;\nSELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\n";
is(run($superuser, "SET test.act = 'SELECT 1';\nSET SESSION AUTHORIZATION caller;\n$temp"
		. "RESET SESSION AUTHORIZATION;\nGRANT friend TO blog_owner;\nSET SESSION AUTHORIZATION caller;\n"
		. "SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');\nRESET SESSION AUTHORIZATION;\nREVOKE friend FROM blog_owner;\n"),
	qq{$post\nERROR:  42501: temporary sequence "numbers" is in the way of what is attached to blogstore's tables},
	'also by becoming a member of who may use it');
is(run('blog_owner', 'ALTER ROLE blog_owner SET search_path = audit'), '', 'and back');

# Statements that copy, or run, what hangs on a temporary table.
my $wanted = "CREATE TEMP TABLE wanted (n bigint DEFAULT nextval('evil.tally') CHECK (n > 0), PRIMARY KEY (n));\nGRANT ALL ON wanted TO PUBLIC";
for my $act ('CREATE TEMP TABLE x (LIKE wanted INCLUDING ALL)', 'CREATE TABLE audit.x (m integer, LIKE wanted INCLUDING DEFAULTS)',
	'CREATE TEMP TABLE x () INHERITS (wanted)', 'CREATE TEMP TABLE x PARTITION OF wanted DEFAULT',
	'CREATE TEMP TABLE x (m bigint REFERENCES wanted)', 'CREATE TEMP TABLE x (m bigint, FOREIGN KEY (m) REFERENCES wanted)',
	'ALTER TABLE wanted ADD COLUMN m bigint', 'ALTER TABLE audit.ran INHERIT wanted',
	'ALTER TABLE audit.later ADD FOREIGN KEY (n) REFERENCES wanted', 'CREATE INDEX ON wanted (n)',
	'CREATE TRIGGER t AFTER INSERT ON wanted FOR EACH ROW EXECUTE FUNCTION audit.run_row()',
	'CREATE RULE r AS ON INSERT TO wanted DO ALSO SELECT audit.run()', 'LOCK TABLE wanted', 'ANALYZE wanted', 'CLUSTER wanted',
	'REINDEX TABLE wanted', 'TRUNCATE wanted', 'TABLE wanted', 'CREATE TEMP TABLE x AS TABLE wanted', 'INSERT INTO wanted DEFAULT VALUES',
	q{DO 'BEGIN PERFORM n FROM wanted; END'}, q{SELECT query_to_xml('TABLE wanted', true, true, '')})
{
	is(caller_calls($wanted, $act), q{ERROR:  42501: temporary relation "wanted" must not be used by what is attached to blogstore's tables}, $act);
}
is(caller_calls("CREATE TEMP TABLE mine (wanted bigint)",
		'CREATE TEMP TABLE a (n bigint PRIMARY KEY DEFAULT 1) ON COMMIT DROP; CREATE TEMP TABLE b (LIKE a INCLUDING ALL, m bigint REFERENCES a) ON COMMIT DROP; '
		. 'CREATE TEMP TABLE c () INHERITS (a) ON COMMIT DROP; ALTER TABLE a ADD COLUMN k integer; CREATE INDEX ON b (n); INSERT INTO c DEFAULT VALUES'),
	$post, 'all of it with temporary tables of one\'s own');
is($node->safe_psql('blog', 'SELECT is_called FROM evil.tally'), 'f', 'nothing of the caller\'s has run as the owner');

# ----------------------------------------------------------------------
# Types that a function keeps
# ----------------------------------------------------------------------

is( run('blog_owner', q{
DROP TRIGGER act ON blogstore.posts;
CREATE DOMAIN audit.note AS text;
CREATE TABLE audit.notes (note text);
CREATE FUNCTION audit.jot(what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE n note := what; BEGIN INSERT INTO audit.notes VALUES (n); END $$;
CREATE FUNCTION audit.note_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM jot(NEW.title); RETURN NULL; END $$;
CREATE TRIGGER note AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type <> 'delta') EXECUTE FUNCTION audit.note_it();
}), '', 'a helper of the owner\'s, with a variable of a type by its name alone');

$node->safe_psql('blog', 'CREATE SEQUENCE friendly.tally; GRANT USAGE ON friendly.tally TO PUBLIC', extra_params => [ '-U', 'friend' ]);
# an error takes nothing back of what a sequence has counted
my $check = q{CHECK (CASE WHEN current_user = 'blog_owner' THEN nextval('friendly.tally') > 0 ELSE true END)};

$node->safe_psql('blog', "CREATE DOMAIN evil.note AS text $check", extra_params => [ '-U', 'caller' ]);
$node->safe_psql('blog', "CREATE DOMAIN friendly.note AS text $check", extra_params => [ '-U', 'friend' ]);
for my $schema ('evil', 'friendly')
{
	is( run('caller', qq{
SET search_path = $schema;
SELECT audit.jot('called by hand');
RESET search_path;
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
}), "ERROR:  42501: permission denied for table notes\n"
		. "ERROR:  42501: type $schema.note must not be used by what is attached to blogstore's tables",
		"a domain of schema $schema in the helper: does not run as the owner");
}
is(run('caller', q{SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text')}), $post, 'in a session of its own the helper works');
is($node->safe_psql('blog', 'SELECT note FROM audit.notes'), 'a title', 'as the owner meant it');

# Tables of the caller's whose row types are found by their name.
is( run('blog_owner', q{
SET check_function_bodies = off;
CREATE OR REPLACE FUNCTION audit.note_it() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r wanted; BEGIN r.n := '{x}'; RETURN NULL; END $$;
}), '', 'a trigger with a row type that is not there');
for my $type ('evil.note', 'evil.note[]', 'friendly.note', 'friendly.note[]')
{
	my $shown = run('caller', qq{
CREATE TEMP TABLE wanted (n text);
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
ALTER TABLE wanted DROP COLUMN n;
ALTER TABLE wanted ADD COLUMN n $type;
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
});

	like($shown, qr/\A$post\nERROR:  42501: type "?wanted"? [^\n]*\z/,
		"a temporary table with a column of type $type: refused");
}
is($node->safe_psql('blog', 'SELECT is_called FROM friendly.tally'), 'f', 'nothing of others has run as the owner');
# ----------------------------------------------------------------------
# What the worker must not wait for
# ----------------------------------------------------------------------

is( run('blog_owner', q{
DROP TRIGGER note ON blogstore.posts;
CREATE FUNCTION audit.wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM blogstore.wait_for_views('1 day'); RETURN NULL; END $$;
CREATE TRIGGER wait AFTER INSERT ON blogstore.feed FOR EACH ROW EXECUTE FUNCTION audit.wait();
SELECT blogstore.start_worker();
}), '', 'a trigger that waits for the worker, which fires it');
is(run('caller', q{
SELECT title FROM blogstore.create_post(kit.u(1), 'a title', 'text');
SELECT blogstore.wait_for_views('10 min');
}), "$post\nt", 'the worker goes on');
is($node->safe_psql('blog', 'SELECT last_error FROM blogstore.stat_worker'),
	'wait_for_views() cannot run in the blogstore worker itself', 'and says what it has left out');
is(run('blog_owner', 'DROP TRIGGER wait ON blogstore.feed'), '', 'the trigger can be dropped');
is(slurp_file($node->logfile) =~ /was terminated by signal/ ? 'crash' : '', '', 'no process has crashed');

$node->stop;
done_testing();
