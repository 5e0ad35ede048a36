# Triggers, CHECK constraints, defaults, generated columns and indexes that the
# owner attaches to the containers run as the owner. The caller of a request
# must not control what they do, so blogstore refuses functions that do not fix
# their search_path ("pinned" functions do).

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('attached');
$node->start;
create_owned_database($node, 'blog', qw(caller));
$node->safe_psql(
	'blog', q{
CREATE SCHEMA evil AUTHORIZATION caller;
CREATE SCHEMA app AUTHORIZATION blog_owner;
GRANT USAGE ON SCHEMA app, evil TO PUBLIC;
});
my @as_owner = (extra_params => [ '-U', 'blog_owner' ]);
my @as_caller = (extra_params => [ '-U', 'caller' ]);

sub run { return run_as($node, 'blog', @_) }

sub owner
{
	my $shown = run('blog_owner', @_);

	die "$_[0]: $shown" if $shown =~ /^ERROR/m && !defined wantarray;
	return $shown;
}

sub superuser
{
	return $node->safe_psql('blog', @_);
}

sub caller_ { return run('caller', @_) }

is($node->safe_psql('blog', 'SELECT blogstore.create_containers(4)', @as_owner),
	'', 'containers of an ordinary role');
create_kit($node, 'blog');
superuser('GRANT USAGE ON SCHEMA kit TO PUBLIC; GRANT CREATE ON SCHEMA kit TO blog_owner; GRANT SELECT ON kit.implied TO PUBLIC');
owner(q{
CREATE TABLE app.audit_log (id bigint GENERATED ALWAYS AS IDENTITY, who text, what text, path text);
GRANT SELECT ON app.audit_log TO caller;
CREATE FUNCTION app.audit() RETURNS trigger LANGUAGE plpgsql SET search_path = app, pg_temp AS $$
BEGIN
	INSERT INTO audit_log (who, what, path) VALUES (current_user, TG_OP || ' ' || coalesce(NEW.type, OLD.type), current_setting('search_path'));
	RETURN coalesce(NEW, OLD);
END $$;
SELECT blogstore.create_user('alice', kit.u(1), kit.d(1));
SELECT blogstore.create_post(kit.u(1), 'one', 'text', kit.p(1), kit.d(1));
SELECT blogstore.stop_worker();	-- it would fire triggers, too
});

# The caller plants code that records the role it runs as.
$node->safe_psql(
	'blog', q{
CREATE TABLE evil.loot (who text);
GRANT INSERT ON evil.loot TO PUBLIC;
CREATE SEQUENCE evil.tally;
GRANT ALL ON evil.tally TO PUBLIC;
CREATE FUNCTION evil.steal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO evil.loot VALUES (current_user); RETURN NEW; END $$;
CREATE FUNCTION evil.steal(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN IF current_user <> 'caller' THEN PERFORM nextval('evil.tally'); END IF; INSERT INTO evil.loot VALUES (current_user); RETURN true; END $$;
CREATE TABLE evil.audit_log (id bigint, who text, what text, path text);
GRANT ALL ON evil.audit_log TO PUBLIC;
CREATE TRIGGER steal BEFORE INSERT ON evil.audit_log FOR EACH ROW EXECUTE FUNCTION evil.steal();
}, @as_caller);
my %planted = (
	'a table in pg_temp' => q{
CREATE TEMP TABLE audit_log (LIKE evil.audit_log);
GRANT ALL ON audit_log TO PUBLIC;
CREATE TRIGGER steal BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION evil.steal();},
	'a view in pg_temp' => q{
CREATE TEMP VIEW audit_log AS SELECT *, evil.steal(who) FROM evil.audit_log;
GRANT ALL ON audit_log TO PUBLIC;},
	'a table in the search_path' => 'SET search_path = evil, app, pg_catalog;',
	'pg_temp before all else' => q{
SET search_path = pg_temp, evil;
CREATE TEMP TABLE audit_log (LIKE evil.audit_log);
GRANT ALL ON audit_log TO PUBLIC;
CREATE TRIGGER steal BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION evil.steal();});
my $path = 'app, pg_temp';

sub loot { return superuser(q{SELECT who FROM evil.loot WHERE who <> 'caller' UNION ALL SELECT 'counted' FROM evil.tally WHERE is_called}) }

# Returns what the trigger has recorded since the last call.
sub audit_log
{
	return superuser('WITH gone AS (DELETE FROM app.audit_log RETURNING *) SELECT who, what, path FROM gone ORDER BY id');
}

# ----------------------------------------------------------------------
# A trigger that fixes its search_path, while the caller plants its names
# ----------------------------------------------------------------------

owner('CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.audit()');
for my $what (sort keys %planted)
{
	is( caller_(qq{$planted{$what}
SELECT title FROM blogstore.create_post(kit.u(1), 'two', '', kit.p(2), kit.d(2));
SELECT title FROM blogstore.edit_post(kit.p(2), 'deux');
SELECT blogstore.delete_post(kit.p(2));}), "two\ndeux\nt", "$what does not disturb the trigger");
	is( audit_log(),
		join("\n", map { "blog_owner|$_|$path" } 'INSERT post', 'INSERT delta', 'UPDATE post', 'DELETE post', 'DELETE delta'),
		"$what is not found before the owner's");
}
is(caller_(q{SET search_path = evil; SELECT title FROM blogstore.create_post(kit.u(1), 'three', '', kit.p(3), kit.d(3)); SHOW search_path}),
	"three\nevil", 'the caller\'s search_path is back afterwards');
audit_log();

# Types, sequences and functions that the trigger uses by name
owner(q{
CREATE DOMAIN app.status AS text;
CREATE SEQUENCE app.numbers;
CREATE FUNCTION app.grade(text) RETURNS text LANGUAGE sql AS $$ SELECT 'graded' $$;
CREATE FUNCTION app.typed() RETURNS trigger LANGUAGE plpgsql SET search_path = app, pg_temp AS $$
DECLARE s status; r audit_log; a status[];
BEGIN
	s := NEW.type; a := ARRAY[s]; r.who := s;
	INSERT INTO audit_log (who, what) VALUES (grade(lower(s)), nextval('numbers') > 0);
	RETURN NULL;
END $$;
DROP TRIGGER audit ON blogstore.posts;
CREATE TRIGGER typed AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'like') EXECUTE FUNCTION app.typed()});
is( caller_(q{
CREATE DOMAIN pg_temp.status AS text CHECK (evil.steal(VALUE));
CREATE TEMP TABLE audit_log (who pg_temp.status, what text);
CREATE TEMP SEQUENCE numbers;
CREATE FUNCTION pg_temp.grade(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.steal($1); RETURN 'stolen'; END $$;
CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.steal($1); RETURN 'stolen'; END $$;
GRANT ALL ON audit_log, numbers TO PUBLIC;
SET search_path = pg_temp, evil, pg_catalog;
SELECT type FROM blogstore.create_like(kit.p(3), kit.u(1))}), 'like', 'temporary types, sequences and functions are in nobody\'s way');
is(audit_log(), 'graded|true|', 'and are not found before the owner\'s');
is(loot(), '', 'nothing of the caller\'s has run as the owner');
owner('DROP TRIGGER typed ON blogstore.posts; SELECT blogstore.delete_like(kit.p(3), kit.u(1))');

# ----------------------------------------------------------------------
# Every kind of attached function is checked
# ----------------------------------------------------------------------

owner(q{
CREATE FUNCTION app.plain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE FUNCTION app.fine(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN true; END $$;
CREATE FUNCTION app.fine(uuid) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE FUNCTION app.same(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$;
CREATE FUNCTION app.equal(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 IS NOT DISTINCT FROM $2; END $$;
CREATE OPERATOR app.=== (FUNCTION = app.equal, LEFTARG = text, RIGHTARG = text);
CREATE TYPE app.mood AS ENUM ('calm', 'wild');
CREATE FUNCTION app.to_text(app.mood) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 'in some mood'; END $$;
CREATE CAST (app.mood AS text) WITH FUNCTION app.to_text(app.mood);
CREATE FUNCTION app.to_integer(app.mood) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1; END $$;
CREATE CAST (app.mood AS integer) WITH FUNCTION app.to_integer(app.mood) AS IMPLICIT;
CREATE FUNCTION app.difference(text, text) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 0; END $$;
CREATE DOMAIN app.checked AS text CHECK (app.fine(VALUE));
CREATE DOMAIN app.defaulted AS text DEFAULT app.same('x');
CREATE DOMAIN app.above AS app.checked;
CREATE DOMAIN app.list AS app.checked[];
CREATE TYPE app.pair AS (a integer, b app.checked);
CREATE TYPE app.deep AS (a app.pair[]);
CREATE TYPE app.span AS RANGE (SUBTYPE = app.checked);
CREATE TYPE app.far AS RANGE (SUBTYPE = text, SUBTYPE_DIFF = app.difference);
CREATE TABLE app.things (name app.checked);
CREATE TABLE app.numbered (number integer PRIMARY KEY)});
# Only superusers can create an operator class.
superuser(q{
CREATE FUNCTION app.compare(text, text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN bttextcmp($1, $2); END $$;
CREATE FUNCTION app.less(text, text) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'text_lt';
CREATE FUNCTION app.more(text, text) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'text_gt';
CREATE OPERATOR app.<< (FUNCTION = app.less, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR app.>> (FUNCTION = app.more, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION app.less_or_equal(text, text) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'text_le';
CREATE FUNCTION app.more_or_equal(text, text) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'text_ge';
CREATE OPERATOR app.<<= (FUNCTION = app.less_or_equal, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR app.>>= (FUNCTION = app.more_or_equal, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION app.exactly(text, text) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'texteq';
CREATE OPERATOR app.== (FUNCTION = app.exactly, LEFTARG = text, RIGHTARG = text, COMMUTATOR = OPERATOR(app.==));
CREATE OPERATOR CLASS app.by_name FOR TYPE text USING btree AS OPERATOR 1 app.<<, OPERATOR 2 app.<<=, OPERATOR 3 app.==, OPERATOR 4 app.>>=, OPERATOR 5 app.>>, FUNCTION 1 app.compare(text, text);
CREATE FUNCTION app.hash(text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN hashtext($1); END $$;
CREATE OPERATOR CLASS app.by_hash FOR TYPE text USING hash AS OPERATOR 1 app.==, FUNCTION 1 app.hash(text);
CREATE TYPE app.odd AS RANGE (SUBTYPE = text, SUBTYPE_OPCLASS = app.by_name);
CREATE TABLE app.by_class (name text);
ALTER TABLE app.by_class OWNER TO blog_owner;
CREATE UNIQUE INDEX ON app.by_class (name app.by_name);
});

# For each kind: the statement that attaches a function, the one that undoes
# it, and the function that the error has to name
my $posts = 'ALTER TABLE blogstore.posts';
my $no_column = "$posts DROP COLUMN extra";
my $no_check = "$posts DROP CONSTRAINT extra";
my %column = map { $_->[0] => [ "$posts ADD COLUMN extra $_->[1]", $no_column, $_->[2] ] } (
	[ 'a default', "text; $posts ALTER extra SET DEFAULT app.same('x')", 'app.same(text)' ],
	[ 'a default within others', "text; $posts ALTER extra SET DEFAULT coalesce(CASE WHEN now() > 'epoch' THEN (ARRAY[lower(app.same('x'))])[1] END, 'y')", 'app.same(text)' ],
	[ 'a generated column', 'text GENERATED ALWAYS AS (app.same(title)) STORED', 'app.same(text)' ],
	[ 'a domain', 'app.checked', 'app.fine(text)' ],
	[ 'a domain\'s default', 'app.defaulted', 'app.same(text)' ],
	[ 'a domain over a domain', 'app.above', 'app.fine(text)' ],
	[ 'an array of a domain', 'app.checked[]', 'app.fine(text)' ],
	[ 'a domain over an array of a domain', 'app.list', 'app.fine(text)' ],
	[ 'a composite type with a domain', 'app.pair', 'app.fine(text)' ],
	[ 'composite types in arrays in composite types', 'app.deep[]', 'app.fine(text)' ],
	[ 'the row type of a table', 'app.things', 'app.fine(text)' ],
	[ 'a range of a domain', 'app.span', 'app.fine(text)' ],
	[ 'a multirange of a domain', 'app.span_multirange', 'app.fine(text)' ],
	[ 'a range with a difference of its own', 'app.far', 'app.difference(text, text)' ],
	[ 'a range by another operator class', 'app.odd', 'app.compare(text, text)' ],
	[ 'a foreign key through a cast', 'app.mood REFERENCES app.numbered', 'app.to_integer(app.mood)' ]);
my %check = map { $_->[0] => [ "$posts ADD CONSTRAINT extra CHECK ($_->[1]) NOT VALID", $no_check, $_->[2] ] } (
	[ 'a CHECK constraint', 'app.fine(title)', 'app.fine(text)' ],
	[ 'a CHECK constraint with a function in SQL', 'app.fine(id)', 'app.fine(uuid)' ],
	[ 'an operator', 'title OPERATOR(app.===) title', 'app.equal(text, text)' ],
	[ 'an operator on an array', q{type OPERATOR(app.===) ANY (ARRAY['post', 'comment', 'like', 'delta'])}, 'app.equal(text, text)' ],
	[ 'a cast', q{('calm'::app.mood)::text || id <> ''}, 'app.to_text(app.mood)' ],
	[ 'a cast to a domain', 'title::app.checked IS NOT DISTINCT FROM title', 'app.fine(text)' ],
	[ 'a cast of arrays', 'cardinality(ARRAY[title]::app.checked[]) = 1', 'app.fine(text)' ],
	[ 'a cast of text to a composite type', q{('(1,' || id || ')')::app.pair IS NOT NULL}, 'app.fine(text)' ],
	[ 'a row of a composite type', 'ROW(1, title)::app.pair IS NOT NULL OR true', 'app.fine(text)' ],
	[ 'a function that makes a composite type', q{jsonb_populate_record(NULL::app.pair, '{"b": "x"}') IS NOT NULL OR true}, 'app.fine(text)' ],
	[ 'within COALESCE, GREATEST and NULLIF', q{coalesce(greatest(nullif(app.same(title), 'x'), 'y'), 'z') <> ''}, 'app.same(text)' ],
	[ 'within a row comparison', '(app.same(title), 1) >= (title, 0) OR true', 'app.same(text)' ]);
my %trigger = (
	'a trigger' => [ 'CREATE TRIGGER extra BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.plain()', 'DROP TRIGGER extra ON blogstore.posts', 'app.plain()' ],
	'a trigger of another event' => [ 'CREATE TRIGGER extra AFTER DELETE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.plain()', 'DROP TRIGGER extra ON blogstore.posts', 'app.plain()' ],
	'a WHEN clause' => [ 'CREATE TRIGGER extra BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (app.fine(NEW.title)) EXECUTE FUNCTION app.audit()', 'DROP TRIGGER extra ON blogstore.posts', 'app.fine(text)' ],
	'a WHEN clause with a row' => [ 'CREATE TRIGGER extra BEFORE UPDATE ON blogstore.posts FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.* AND NEW.title OPERATOR(app.===) OLD.title) EXECUTE FUNCTION app.audit()',
		'DROP TRIGGER extra ON blogstore.posts', 'app.equal(text, text)' ],
	'a constraint trigger' => [ each_leaf('CREATE CONSTRAINT TRIGGER extra AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION app.plain()'), each_leaf('DROP TRIGGER extra ON %s'), 'app.plain()' ]);
my %index = (
	'an index on an expression' => [ 'CREATE INDEX extra ON blogstore.posts (app.same(title))', 'DROP INDEX blogstore.extra', 'app.same(text)' ],
	'a unique index on an expression' => [ each_leaf('CREATE UNIQUE INDEX ON %s (app.same(id::text))'), each_leaf_index(), 'app.same(text)' ],
	'a predicate' => [ 'CREATE INDEX extra ON blogstore.posts (title) WHERE app.fine(title)', 'DROP INDEX blogstore.extra', 'app.fine(text)' ],
	'a predicate without a column' => [ q{CREATE INDEX extra ON blogstore.posts (title) WHERE app.fine('x')}, 'DROP INDEX blogstore.extra', 'app.fine(text)' ],
	'an operator class' => [ 'CREATE INDEX extra ON blogstore.posts (title app.by_name)', 'DROP INDEX blogstore.extra', 'app.compare(text, text)' ],
	'a hash operator class' => [ 'CREATE INDEX extra ON blogstore.posts USING hash (title app.by_hash)', 'DROP INDEX blogstore.extra', 'app.hash(text)' ],
	'an exclusion constraint' => [ each_leaf(q{ALTER TABLE %s ADD CONSTRAINT extra_%2$s EXCLUDE USING hash ((app.same(title)) WITH =) WHERE (title = 'never')}), each_leaf('ALTER TABLE %s DROP CONSTRAINT extra_%2$s'), 'app.same(text)' ]);
my %kind = (%column, %check, %trigger, %index);

# Returns a statement that runs another one for each table of posts.
sub each_leaf
{
	my ($statement) = @_;

	return qq{DO \$\$ DECLARE leaf regclass; BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf AND relid::regclass::text ~ '_post\$' LOOP
		EXECUTE format(\$f\$$statement\$f\$, leaf, replace(leaf::text, '.', '_'));
	END LOOP;
END \$\$};
}

sub each_leaf_index
{
	return q{DO $$ DECLARE i regclass; BEGIN
	FOR i IN SELECT indexrelid FROM pg_index WHERE indexrelid::regclass::text ~ 'same_idx' LOOP
		EXECUTE 'DROP INDEX ' || i;
	END LOOP;
END $$};
}

my $plant = 'SET search_path = pg_temp, evil, app, pg_catalog; CREATE TEMP TABLE audit_log (LIKE evil.audit_log);';
my $n = 100;
sub create { return caller_("$plant SELECT title FROM blogstore.create_post(kit.u(1), 'wanted', '', kit.p(" . $n++ . "), kit.d(1))") }

for my $kind (sort keys %kind)
{
	my ($do, $undo, $function) = @{ $kind{$kind} };
	my $named = "function $function, which is attached to";

	superuser("SET ROLE blog_owner; $do") if $do !~ /by_name|by_hash/;
	superuser($do) if $do =~ /by_name|by_hash/;
	my $refused = create();
	like($refused, qr/^ERROR: +55000: \Q$named\E "posts_p\d\d_\w+", does not fix its search_path$/m, "$kind: refused");
	my ($fix) = $refused =~ /^HINT: +Run (ALTER FUNCTION .*? SET search_path = .*?, pg_temp);/m;
	is($fix, "ALTER FUNCTION $function SET search_path = app, pg_temp", "$kind: the hint has the statement");
	is(superuser(q{SELECT DISTINCT container, problem, expected, actual FROM blogstore.verify()}), "posts|search_path|$fix|$function", "$kind: verify() lists it");
	is(superuser(q{SELECT DISTINCT kit.try(call) FROM unnest(ARRAY['blogstore.export_documents()', 'blogstore.repair()']) AS call}), '55000, hint', "$kind: statements on whole containers are refused");
	is(caller_('SELECT title FROM blogstore.get_post(kit.p(1))'), 'one', "$kind: readers are served");
	superuser($fix);
	is(create(), 'wanted', "$kind: served after the statement of the hint");
	is(superuser('SELECT * FROM blogstore.verify()'), '', "$kind: verify() has nothing to say");
	superuser("SET ROLE blog_owner; $undo");
	superuser("ALTER FUNCTION $function RESET search_path");
}

# A foreign key is checked by the operator of an operator class. Test keys from
# posts, and keys to posts.
superuser(q{
ALTER FUNCTION app.compare(text, text) SET search_path = app, pg_temp;
ALTER TABLE blogstore.posts ADD COLUMN extra text;
DO $$ DECLARE leaf regclass; BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf AND relid::regclass::text ~ '_post$' LOOP
		EXECUTE format('CREATE UNIQUE INDEX ON %s (extra app.by_name)', leaf);
	END LOOP;
END $$});
for my $case (
	[ 'from posts', "$posts ADD CONSTRAINT extra FOREIGN KEY (extra) REFERENCES app.by_class (name)", $no_check ],
	[ 'to posts', each_leaf('CREATE TABLE app.%2$s (name text REFERENCES %1$s (extra))'), each_leaf('DROP TABLE app.%2$s') ])
{
	my ($what, $do, $undo) = @$case;

	superuser($do);
	superuser('CREATE OR REPLACE FUNCTION app.exactly(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT texteq($1, $2) $$');
	like(create(), qr/^ERROR: +55000: function app.exactly\(text, text\), which is attached to/, "a foreign key $what: an operator that is not pinned is refused");
	superuser('CREATE OR REPLACE FUNCTION app.exactly(text, text) RETURNS boolean LANGUAGE internal IMMUTABLE AS $$texteq$$');
	is(create(), 'wanted', "a foreign key $what: an operator in C is served");
	superuser($undo);
}
superuser($no_column);

# ----------------------------------------------------------------------
# Code that needs no search_path
# ----------------------------------------------------------------------

owner(q{
CREATE FUNCTION app.atomic(text) RETURNS boolean LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT app.fine($1); END;
CREATE FUNCTION app.returning(text) RETURNS text LANGUAGE sql IMMUTABLE RETURN lpad($1, 3)});
superuser(q{CREATE FUNCTION app.lowered(text) RETURNS text LANGUAGE internal IMMUTABLE STRICT AS 'lower'});
for my $check ('lpad(title, 3) IS NOT NULL OR true', q{title ~~ '%' OR upper(title) = title OR true}, 'app.atomic(title)', 'app.returning(title) IS NOT NULL OR true',
	'app.lowered(title) IS NOT NULL OR true', q{age(creation_date, now()) IS NULL OR true}, q{to_tsvector('pg_catalog.english', title) IS NOT NULL OR true})
{
	owner("$posts ADD CONSTRAINT extra CHECK ($check) NOT VALID");
	is(create(), 'wanted', "served: CHECK ($check)");
	owner($no_check);
}
owner('CREATE TRIGGER extra BEFORE UPDATE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()');
is(create(), 'wanted', 'a trigger in C is served');
owner('DROP TRIGGER extra ON blogstore.posts; CREATE TRIGGER extra BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.plain(); ALTER TABLE blogstore.posts DISABLE TRIGGER extra');
is(create(), 'wanted', 'a trigger that is disabled is not looked at');
owner('ALTER TABLE blogstore.posts ENABLE REPLICA TRIGGER extra');
like(create(), qr/^ERROR: +55000/, 'a trigger that fires on replicas is checked');
owner('DROP TRIGGER extra ON blogstore.posts');
for my $statement ('CREATE INDEX extra ON blogstore.posts (lower(title)) WHERE title IS NOT NULL', "$posts ADD COLUMN extra text DEFAULT 'x'", "$posts ADD COLUMN extra bigint GENERATED ALWAYS AS (length(title)) STORED",
	"$posts ADD COLUMN extra app.mood DEFAULT 'calm'", "$posts ADD COLUMN extra integer; CREATE SEQUENCE app.counter; $posts ALTER extra SET DEFAULT nextval('app.counter')", "$posts ADD COLUMN extra information_schema.sql_identifier")
{
	owner($statement);
	is(create(), 'wanted', "served: $statement");
	owner($statement =~ /INDEX/ ? 'DROP INDEX blogstore.extra' : $no_column);
}

# ----------------------------------------------------------------------
# Accepted and refused values of search_path
# ----------------------------------------------------------------------

owner('CREATE TRIGGER extra BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.plain()');
for my $case (
	[ 0, 'app' ], [ 0, q{''} ], [ 0, '"$user", app' ], [ 0, 'pg_temp, app' ], [ 0, 'pg_catalog' ], [ 0, q{'app, pg_temp'} ], [ 0, 'app, "PG_TEMP"' ], [ 0, q{app, 'PG_TEMP'} ],
	[ 0, 'pg_temp, app, pg_temp' ], [ 0, 'app, pg_temp, pg_temp' ], [ 0, 'pg_temp_3, app, pg_temp' ], [ 0, 'app, pg_temp_3' ], [ 0, 'app, "pg_temp "' ],
	[ 1, 'app, pg_temp' ], [ 1, 'app, PG_TEMP' ], [ 1, q{app, 'pg_temp'} ], [ 1, 'app, "pg_temp"' ], [ 1, 'pg_temp' ], [ 1, 'app, pg_catalog, pg_temp' ], [ 1, '"$user", app, pg_temp' ], [ 1, '"odd, name", pg_temp' ])
{
	my ($pinned, $setting) = @$case;
	my $to = $pinned ? qr/\Awanted\z/ : qr/\AERROR: +55000/;

	owner("ALTER FUNCTION app.plain() SET search_path = $setting");
	like(create(), $to, "SET search_path = $setting: " . ($pinned ? 'served' : 'refused'));
	owner("SET search_path = $setting; ALTER FUNCTION app.plain() SET search_path FROM CURRENT");
	like(create(), $to, "SET search_path FROM CURRENT, $setting: " . ($pinned ? 'served' : 'refused'));
}
owner(q{ALTER FUNCTION app.plain() RESET ALL; ALTER FUNCTION app.plain() SET work_mem = '1MB'});
like(create(), qr/\AERROR: +55000/, 'a function with another setting, without search_path: refused');
owner('ALTER FUNCTION app.plain() SECURITY DEFINER');
like(create(), qr/\AERROR: +55000/, 'SECURITY DEFINER is no search_path: refused');
owner('ALTER FUNCTION app.plain() SET search_path = app, pg_temp');
is(create(), 'wanted', 'SECURITY DEFINER with a search_path: served');
owner('ALTER FUNCTION app.plain() RESET ALL; ALTER FUNCTION app.plain() SECURITY INVOKER');
owner('DROP TRIGGER extra ON blogstore.posts');

# ----------------------------------------------------------------------
# A session that has written before notices later changes
# ----------------------------------------------------------------------

owner(q{
ALTER FUNCTION app.plain() SET search_path = app, pg_temp;
ALTER FUNCTION app.fine(text) SET search_path = app, pg_temp;
CREATE TYPE app.open AS (a integer);
CREATE DOMAIN app.late AS text;
ALTER TABLE blogstore.posts ADD COLUMN extra app.open, ADD COLUMN other app.late;
CREATE TRIGGER extra BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.plain();
CREATE FUNCTION app.parsed(text) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 IS NOT NULL OR true;
ALTER TABLE blogstore.posts ADD CONSTRAINT extra CHECK (app.parsed(title)) NOT VALID});
my $session = $node->background_psql('blog', extra_params => [ '-U', 'caller' ]);
sub session_creates
{
	return $session->query_safe("SELECT kit.try('blogstore.create_post(kit.u(1), \$\$wanted\$\$, \$\$\$\$, kit.p(" . $n++ . "), kit.d(1))')");
}

is(session_creates(), 'ok', 'a session that writes');
for my $case (
	[ 'ALTER FUNCTION app.plain() RESET search_path', 'ALTER FUNCTION app.plain() SET search_path = app, pg_temp' ],
	[ q{CREATE OR REPLACE FUNCTION app.parsed(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'}, 'CREATE OR REPLACE FUNCTION app.parsed(text) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 IS NOT NULL OR true' ],
	[ q{CREATE OR REPLACE FUNCTION app.parsed(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END'}, 'CREATE OR REPLACE FUNCTION app.parsed(text) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 IS NOT NULL OR true' ],
	[ 'CREATE OR REPLACE FUNCTION app.plain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$', 'ALTER FUNCTION app.plain() SET search_path = app, pg_temp' ],
	[ 'ALTER DOMAIN app.late ADD CONSTRAINT late CHECK (app.fine(VALUE::uuid))', 'ALTER DOMAIN app.late DROP CONSTRAINT late' ],
	[ q{ALTER DOMAIN app.late SET DEFAULT app.same('x')}, 'ALTER DOMAIN app.late DROP DEFAULT' ],
	[ 'ALTER DOMAIN app.checked ADD CONSTRAINT late CHECK (app.fine(VALUE::uuid)); ALTER TYPE app.open ADD ATTRIBUTE b app.checked', 'ALTER TYPE app.open DROP ATTRIBUTE b; ALTER DOMAIN app.checked DROP CONSTRAINT late' ],
	[ 'CREATE INDEX extra ON blogstore.posts (app.same(title))', 'DROP INDEX blogstore.extra' ])
{
	my ($do, $undo) = @$case;

	owner($do);
	is(session_creates(), '55000, hint', "noticed: $do");
	owner($undo);
	is(session_creates(), 'ok', "and taken back: $undo");
}
$session->query_safe('BEGIN');
is(session_creates(), 'ok', 'in a transaction that has written');
owner('ALTER FUNCTION app.plain() RESET search_path');
is(session_creates(), '55000, hint', 'noticed by its next request');
$session->query_safe('ROLLBACK');
$session->quit;
owner('DROP TRIGGER extra ON blogstore.posts; ALTER TABLE blogstore.posts DROP COLUMN extra, DROP COLUMN other, DROP CONSTRAINT extra');

# ----------------------------------------------------------------------
# Other places that check attached functions
# ----------------------------------------------------------------------

# Tables without an unpinned function are written to as usual.
owner('CREATE TRIGGER extra BEFORE INSERT ON blogstore.posts_p00_like FOR EACH ROW EXECUTE FUNCTION app.plain()');
is( caller_(q{
SELECT DISTINCT kit.try(format('blogstore.create_like(%L, kit.u(1))', id)) AS liked FROM blogstore.list_user_posts(kit.u(1), 40) ORDER BY liked}) =~ s/\n/ /r,
	'55000, hint ok', 'likes: refused where the leaf has an unpinned trigger');
is(create(), 'wanted', 'posts: served');
owner('DROP TRIGGER extra ON blogstore.posts_p00_like');

# Statements that write, with a trigger of the container that single rows do
# not fire
superuser(q{CREATE TABLE kit.texts AS SELECT kit.p(8000) AS post_id, kit.u(1) AS user_id, 'imported' AS title, '' AS content, kit.d(10) AS creation_date;
CREATE TABLE kit.remarks AS SELECT kit.c(8000) AS comment_id, kit.p(1) AS post_id, kit.u(1) AS user_id, 'imported' AS content, kit.d(10) AS creation_date; GRANT SELECT ON kit.texts, kit.remarks TO blog_owner});
owner('CREATE TRIGGER extra AFTER INSERT ON blogstore.posts EXECUTE FUNCTION app.plain()');
is(create(), 'wanted', 'a trigger FOR EACH STATEMENT: requests do not fire it');
like(owner(q{SELECT blogstore.import(comments => 'kit.remarks')}), qr/^ERROR: +55000: function app.plain\(\), which is attached to "posts"/m, 'import() does, and refuses it');
is(superuser('SELECT container, problem, actual FROM blogstore.verify()'), 'posts|search_path|app.plain()', 'verify() lists it');
owner('DROP TRIGGER extra ON blogstore.posts; CREATE TRIGGER extra AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.plain()');
like(owner(q{SELECT blogstore.import(posts => 'kit.texts')}), qr/^ERROR: +55000: function app.plain\(\), which is attached to "posts_p/m, 'import() refuses a trigger on posts');
owner(q{CREATE RULE extra AS ON INSERT TO blogstore.posts DO ALSO SELECT app.fine('x')});
superuser('ALTER FUNCTION app.plain() SET search_path = app, pg_temp');
like(owner(q{SELECT blogstore.import(comments => 'kit.remarks')}), qr/^ERROR: +55000: "posts" has a rule$/m, 'import() refuses a rule');
owner('DROP RULE extra ON blogstore.posts; ALTER FUNCTION app.plain() RESET search_path');
superuser('DROP TABLE blogstore.view_state');
my $warned;
$node->psql('blog', q{SET client_min_messages = warning; SELECT blogstore.create_containers(owner => 'blog_owner')}, stderr => \$warned);
like($warned,
	qr/WARNING:  function app\.plain\(\), which is attached to container "posts", does not fix its search_path\nDETAIL:  Requests that write there fail\.\nHINT:  Run ALTER FUNCTION app\.plain\(\) SET search_path = app, pg_temp;/,
	'create_containers() warns of it');
owner('DROP TRIGGER extra ON blogstore.posts; SELECT blogstore.stop_worker()');

# ----------------------------------------------------------------------
# Deferrable triggers and constraints
# ----------------------------------------------------------------------

owner('CREATE TABLE app.kinds (name text PRIMARY KEY); INSERT INTO app.kinds VALUES (\'wanted\')');
my @each = map { "blogstore.posts_p0${_}_post" } 0 .. 3;
for my $case (
	[ 'a trigger', 'CREATE CONSTRAINT TRIGGER extra_%2$s AFTER INSERT ON %1$s {} FOR EACH ROW EXECUTE FUNCTION app.audit()', 'DROP TRIGGER extra_%2$s ON %1$s' ],
	[ 'UNIQUE', 'ALTER TABLE %1$s ADD CONSTRAINT extra_%2$s UNIQUE (id, title) {}', 'ALTER TABLE %1$s DROP CONSTRAINT extra_%2$s' ],
	[ 'EXCLUDE', 'ALTER TABLE %1$s ADD CONSTRAINT extra_%2$s EXCLUDE (title WITH =) WHERE (title = \'never\') {}', 'ALTER TABLE %1$s DROP CONSTRAINT extra_%2$s' ],
	[ 'FOREIGN KEY', 'ALTER TABLE %1$s ADD CONSTRAINT extra_%2$s FOREIGN KEY (title) REFERENCES app.kinds NOT VALID {}', 'ALTER TABLE %1$s DROP CONSTRAINT extra_%2$s' ],
	[ 'FOREIGN KEY of another table', 'CREATE TABLE app.%2$s (id uuid CONSTRAINT extra_%2$s REFERENCES %1$s {})', 'DROP TABLE app.%2$s' ])
{
	my ($what, $do, $undo) = @$case;

	for my $deferrable ('DEFERRABLE', 'DEFERRABLE INITIALLY DEFERRED', 'NOT DEFERRABLE')
	{
		owner(each_leaf($do =~ s/\{\}/$deferrable/r));
		like(create(), $deferrable =~ /^NOT/ ? qr/\Awanted\z/ : qr/^ERROR: +55000: "posts_p\d\d_post" has a deferrable trigger or constraint, "extra_\w+"/m, "$what, $deferrable");
		owner(each_leaf($undo));
	}
}
audit_log();
# An attached trigger fires a deferrable trigger of another table. The server
# refuses to defer it.
owner(q{
CREATE TRIGGER audit AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION app.audit();
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON app.audit_log DEFERRABLE FOR EACH ROW EXECUTE FUNCTION app.plain()});
is(caller_(q{SELECT content FROM blogstore.create_comment(kit.p(1), kit.u(1), 'v')}), 'v', 'a deferrable trigger further on fires at once');
like(caller_(q{BEGIN; SET CONSTRAINTS ALL DEFERRED; SELECT blogstore.create_comment(kit.p(1), kit.u(1), 'w')}),
	qr/^ERROR: +42501: cannot fire deferred trigger within security-restricted operation/m, 'the caller cannot defer it to where neither guard nor owner is');
owner('DROP TRIGGER later ON app.audit_log');
audit_log();

# ----------------------------------------------------------------------
# Errors, and requests within triggers
# ----------------------------------------------------------------------

owner(q{
CREATE FUNCTION app.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = app, pg_temp AS $$ BEGIN RAISE 'refused'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.content = 'spam') EXECUTE FUNCTION app.refuse();
CREATE FUNCTION app.catch() RETURNS trigger LANGUAGE plpgsql SET search_path = app, pg_temp AS $$
BEGIN
	BEGIN
		PERFORM blogstore.create_comment(kit.p(1), kit.u(1), 'spam');
	EXCEPTION WHEN raise_exception THEN
		INSERT INTO audit_log (who, what, path) VALUES (current_user, 'caught', current_setting('search_path'));
	END;
	PERFORM blogstore.create_comment(kit.p(3), kit.u(1), 'nested');
	INSERT INTO audit_log (who, what, path) VALUES (current_user, 'after', current_setting('search_path'));
	RETURN NULL;
END $$;
CREATE TRIGGER z_catch AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.content = 'outer') EXECUTE FUNCTION app.catch();
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA kit TO blog_owner});
is( caller_(q{
SET search_path = evil; SET DateStyle = 'SQL, MDY';
BEGIN;
SAVEPOINT s;
SELECT blogstore.create_comment(kit.p(1), kit.u(1), 'spam');
ROLLBACK TO s;
SHOW search_path; SHOW DateStyle; SELECT current_user;
SELECT type FROM blogstore.create_comment(kit.p(1), kit.u(1), 'ham');
COMMIT;
SHOW search_path; SHOW DateStyle;}),
	"evil\nSQL, MDY\ncaller\ncomment\nevil\nSQL, MDY\nERROR:  P0001: refused", 'an error in a savepoint leaves nothing');
is(audit_log(), "blog_owner|INSERT comment|$path", 'the next call fires the trigger as usual');
is(caller_("$planted{'a table in pg_temp'} SET search_path = evil; SELECT content FROM blogstore.create_comment(kit.p(1), kit.u(1), 'outer'); SHOW search_path;"),
	"outer\nevil", 'a trigger that calls requests, and catches their errors');
is( join("\n", sort split /\n/, audit_log()),
	join("\n", sort "blog_owner|INSERT comment|$path", "blog_owner|caught|$path", "blog_owner|INSERT comment|$path", "blog_owner|after|$path"),
	'each trigger has run with the search_path of its function');
owner('DROP TRIGGER z_catch ON blogstore.posts; DROP TRIGGER refuse ON blogstore.posts; DROP TRIGGER audit ON blogstore.posts');

# ----------------------------------------------------------------------
# import() and policies
# ----------------------------------------------------------------------

superuser(q{
CREATE TABLE evil.people AS SELECT kit.u(3) AS user_id, 'carol' AS username, kit.d(3) AS creation_date;
CREATE TABLE evil.texts AS SELECT kit.p(10) AS post_id, kit.u(3) AS user_id, 'ten' AS title, '' AS content, kit.d(10) AS creation_date;
CREATE TABLE evil.remarks AS SELECT kit.c(10) AS comment_id, kit.p(1) AS post_id, kit.u(3) AS user_id, 'on one' AS content, kit.d(11) AS creation_date;
CREATE VIEW evil.watched AS SELECT * FROM evil.remarks WHERE evil.steal(content);
ALTER TABLE evil.people OWNER TO caller; ALTER TABLE evil.texts OWNER TO caller; ALTER TABLE evil.remarks OWNER TO caller; ALTER VIEW evil.watched OWNER TO caller});
owner(q{CREATE TRIGGER audit AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION app.audit()});
is( caller_("$planted{'a table in pg_temp'} SET search_path = evil; SET client_min_messages = error; SELECT type, imported FROM blogstore.import('evil.people', 'evil.texts', 'evil.watched') WHERE read > 0"),
	"user|1\npost|1\ncomment|1", 'import() with triggers');
is(join("\n", sort split /\n/, audit_log()), join("\n", sort map { "blog_owner|INSERT $_|$path" } 'post', 'comment', 'delta', 'delta'), 'its triggers have their own search_path');
is(superuser('SELECT DISTINCT who FROM evil.loot'), 'caller', 'the sources\' own code runs as the caller');
is(loot(), '', 'nothing of the caller has run as the owner');
owner('DROP TRIGGER audit ON blogstore.posts; SELECT blogstore.start_worker()');

# Many rows of one table with a BEFORE trigger. The server looks up the trigger
# function's settings for the first row only.
superuser(q{CREATE TABLE kit.many AS SELECT kit.p(7000 + n) AS post_id, kit.u(4) AS user_id, 'many' AS title, '' AS content, kit.d(n) AS creation_date FROM generate_series(1, 40) n;
SELECT blogstore.create_user('dave', kit.u(4), kit.d(4)); GRANT SELECT ON kit.many TO blog_owner});
owner(q{CREATE TRIGGER audit BEFORE INSERT OR UPDATE OR DELETE ON blogstore.posts FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION app.audit()});
is(owner(q{SET client_min_messages = error; SELECT imported FROM blogstore.import(posts => 'kit.many') WHERE type = 'post'}), '40', 'many rows are inserted');
is(owner(q{SELECT username FROM blogstore.edit_user(kit.u(4), 'david'); SELECT blogstore.wait_for_views('10 min')}), "david\nt", 'renamed');
wait_until($node, 'blog', 'SELECT count(*) = 0 FROM blogstore.progress');
is(owner(q{SELECT blogstore.delete_user(kit.u(4)); SELECT blogstore.wait_for_views('10 min')}), "t\nt", 'and deleted');
wait_until($node, 'blog', 'SELECT count(*) = 0 FROM blogstore.progress');
is(join("\n", map { superuser("SELECT count(*) FROM app.audit_log WHERE what = '$_ post'") } qw(INSERT UPDATE DELETE)), "40\n40\n40", 'each has fired it');
owner('DROP TRIGGER audit ON blogstore.posts');
audit_log();	# the worker may have fired the trigger while it folded counts

# The worker does not write to tables that requests cannot write to. It goes on
# with everything else.
owner('ALTER FUNCTION app.audit() RESET search_path');
owner("CREATE TRIGGER audit AFTER UPDATE ON blogstore.posts_p0${_}_comment FOR EACH ROW EXECUTE FUNCTION app.audit()") foreach 0 .. 3;
is(owner(q{
SELECT username FROM blogstore.edit_user(kit.u(3), 'caroline');
SELECT title FROM blogstore.create_post(kit.u(1), 'beside it', '', kit.p(11), kit.d(20000));
SELECT blogstore.wait_for_views('10 min');
SELECT title FROM blogstore.list_feed(1)}), "caroline\nbeside it\nt\nbeside it", 'an unpinned trigger on comments: views follow');
wait_until($node, 'blog', q{SELECT phase = 'parked' FROM blogstore.progress});
like(superuser('SELECT last_error FROM blogstore.stat_worker'), qr/^function app\.audit\(\), which is attached to "posts_p0\d_comment", does not fix its search_path$/,
	'a rename waits, and stat_worker says why');
owner('ALTER FUNCTION app.audit() SET search_path = app, pg_temp; SELECT blogstore.stop_worker()');
# A new worker does not wait until the job is due again.
owner('SELECT blogstore.start_worker()');
wait_until($node, 'blog', 'SELECT count(*) = 0 FROM blogstore.progress');
is(audit_log(), "blog_owner|UPDATE comment|$path", 'with a search_path it is carried out, and the trigger fires');
owner("DROP TRIGGER audit ON blogstore.posts_p0${_}_comment") foreach 0 .. 3;

# Row-level security must not hide rows from statements that look for missing
# ones. Requests read the tables directly, and do not apply policies.
owner(q{ALTER TABLE blogstore.posts ENABLE ROW LEVEL SECURITY});
is(owner('SELECT count(*) FROM blogstore.verify()'), '0', 'policies do not hold for the owner');
owner(q{ALTER TABLE blogstore.posts FORCE ROW LEVEL SECURITY});
like(owner('SELECT blogstore.repair()'), qr/^ERROR: +55000: policies on "posts" would hide rows from blogstore/,
	'forced policies: repair() is refused');
like(caller_('SELECT count(*) FROM blogstore.verify()'), qr/^ERROR: +55000: policies on "posts"/, 'forced policies: verify() is refused');
like(caller_('SELECT count(*) FROM blogstore.export_documents()'), qr/^ERROR: +55000: policies on "posts"/, 'nor export_documents()');
is(caller_('SELECT title FROM blogstore.get_post(kit.p(10))'), 'ten', 'requests do not ask policies');
owner(q{ALTER TABLE blogstore.posts NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY});

# ----------------------------------------------------------------------
# Conflicts with constraints of the owner are errors
# ----------------------------------------------------------------------

owner("CREATE UNIQUE INDEX ON $_ (title) WHERE title = 'same'") foreach @each;
is( caller_(q{
SET statement_timeout = '100s';
SELECT count(DISTINCT error) FROM (SELECT kit.try(format('blogstore.create_post(kit.u(1), %L, %L, kit.p(%s), kit.d(1))', 'same', '', 9100 + n)) AS error FROM generate_series(1, 40) n) AS t;
SELECT kit.try('blogstore.create_post(kit.u(1), ''same'', '''', kit.p(9200), kit.d(1))') IN ('23505, no hint', 'ok');}),
	"2\nt", 'a unique index of the owner\'s');
like( caller_(q{
SELECT blogstore.create_post(kit.u(1), 'same', '', kit.p(n), kit.d(1)) FROM generate_series(9201, 9240) n;}),
	qr/^ERROR: +23505: duplicate key value violates unique constraint ".*title.*"/m, 'with the server\'s own text');
owner(q{DO $$ DECLARE i regclass; BEGIN FOR i IN SELECT indexrelid FROM pg_index WHERE indexrelid::regclass::text ~ 'title' AND indrelid::regclass::text ~ '^blogstore.posts_p' LOOP EXECUTE 'DROP INDEX ' || i; END LOOP; END $$});
owner("ALTER TABLE $_ ADD EXCLUDE (title WITH =) WHERE (title = 'excluded')") foreach @each;
is(caller_(q{SELECT DISTINCT kit.try(format('blogstore.create_post(kit.u(1), %L, %L, kit.p(%s), kit.d(1))', 'excluded', '', 9300 + n)) FROM generate_series(1, 40) n ORDER BY 1}),
	"23P01, no hint\nok", 'an exclusion constraint');
owner(q{
DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS leaf, conname FROM pg_constraint WHERE conname ~ 'title' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.leaf, c.conname);
	END LOOP;
	FOR c IN SELECT conrelid::regclass AS leaf, conname FROM pg_constraint WHERE conname ~ '_p[0-9]+_like_pkey' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I PRIMARY KEY (user_id, post_id) DEFERRABLE', c.leaf, c.conname);
	END LOOP;
END $$});
is(caller_(q{SELECT kit.try('blogstore.create_like(kit.p(10), kit.u(1))')}), '55000, hint', 'a key that cannot tell what is taken');
owner(q{
DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS leaf, conname FROM pg_constraint WHERE conname ~ '_p[0-9]+_like_pkey' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I PRIMARY KEY (user_id, post_id)', c.leaf, c.conname);
	END LOOP;
END $$});
is(caller_(q{SELECT type FROM blogstore.create_like(kit.p(10), kit.u(1)); SELECT type FROM blogstore.create_like(kit.p(10), kit.u(1))}),
	"like\nlike", 'served when the key is not deferrable');
is(loot(), '', 'nothing of the caller\'s has run as the owner');
check_store($node, 'blog', 'at the end');
$node->stop;
ok(!logged($node, 0, qr/was terminated by signal/), 'no process has crashed');

done_testing();
