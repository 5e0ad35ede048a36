# What the owner has attached to the containers (triggers, CHECK constraints,
# defaults, generated columns, indexes) runs as the owner, with nothing that the
# caller of a request controls: names, settings, deferral.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('attached');
$node->append_conf('postgresql.conf', q{
DateStyle = 'German'
IntervalStyle = 'sql_standard'
TimeZone = 'Asia/Tokyo'
});
$node->start;
create_owned_database($node, 'blog', qw(caller));
$node->safe_psql(
	'blog', q{
CREATE SCHEMA evil AUTHORIZATION caller;
CREATE SCHEMA audit AUTHORIZATION blog_owner;
ALTER DATABASE blog SET extra_float_digits = 0;
ALTER ROLE blog_owner SET xmlbinary = 'hex';
ALTER ROLE blog_owner IN DATABASE blog SET bytea_output = 'escape';
ALTER ROLE blog_owner SET bytea_output = 'hex';
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

sub caller_ { return run('caller', @_) }

is( $node->safe_psql('blog', 'SELECT blogstore.create_containers(4)', @as_owner),
	'', 'containers of an ordinary role');
create_kit($node, 'blog');
$node->safe_psql('blog', 'GRANT USAGE ON SCHEMA kit TO PUBLIC; GRANT SELECT ON kit.implied TO PUBLIC');
$node->safe_psql(
	'blog', q{
CREATE TABLE public.audit_log (id bigint GENERATED ALWAYS AS IDENTITY, who text, what text, path text);
CREATE TABLE public.seen (name text, value text);
CREATE FUNCTION public.audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit_log (who, what, path) VALUES (current_user, TG_OP || ' ' || coalesce(NEW.type, OLD.type),
		current_setting('search_path'));
	RETURN coalesce(NEW, OLD);
END $$;
SELECT blogstore.create_user('alice', kit.u(1), kit.d(1));
SELECT blogstore.create_post(kit.u(1), 'one', 'text', kit.p(1), kit.d(1));
SELECT blogstore.stop_worker();	-- which writes, too, at its own time
}, @as_owner);

# What the caller prepares: functions that tell as whom they run.
$node->safe_psql('blog', 'GRANT SELECT ON public.audit_log, public.seen TO caller', @as_owner);
$node->safe_psql(
	'blog', q{
CREATE TABLE evil.loot (who text);
GRANT USAGE ON SCHEMA evil TO PUBLIC;
GRANT INSERT ON evil.loot TO PUBLIC;
CREATE FUNCTION evil.steal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO evil.loot VALUES (current_user); RETURN NEW; END $$;
CREATE FUNCTION evil.steal(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN INSERT INTO evil.loot VALUES (current_user); RETURN true; END $$;
CREATE TABLE evil.audit_log (LIKE public.audit_log);
GRANT ALL ON evil.audit_log TO PUBLIC;
CREATE TRIGGER steal BEFORE INSERT ON evil.audit_log FOR EACH ROW EXECUTE FUNCTION evil.steal();
}, @as_caller);
my $temp_audit_log = q{
CREATE TEMP TABLE audit_log (LIKE evil.audit_log);
GRANT ALL ON audit_log TO PUBLIC;
CREATE TRIGGER steal BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION evil.steal();
};
my $safe = 'public, pg_temp';

sub loot { return $node->safe_psql('blog', 'SELECT who FROM evil.loot') }

# What the trigger has written down since the last look.
sub audit_log
{
	return $node->safe_psql(
		'blog', q{
WITH gone AS (DELETE FROM public.audit_log RETURNING *)
SELECT who, what, path FROM gone ORDER BY id});
}

#
# Names: an ordinary trigger with an unqualified name
#
owner('CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.audit()');
caller_("$temp_audit_log SELECT blogstore.create_post(kit.u(1), 'two', '', kit.p(2), kit.d(2));");
is(audit_log(), "blog_owner|INSERT post|$safe\nblog_owner|INSERT delta|$safe", 'a temporary table of the caller\'s is not found before the owner\'s');
caller_(q{SET search_path = evil, public; SELECT blogstore.create_post(kit.u(1), 'three', '', kit.p(3), kit.d(3));});
is(audit_log(), "blog_owner|INSERT post|$safe\nblog_owner|INSERT delta|$safe", 'nor a table in the caller\'s search_path');
is( caller_(q{
SET search_path = evil, public;
SELECT title FROM blogstore.edit_post(kit.p(3), 'drei');
SELECT blogstore.delete_post(kit.p(3));
SHOW search_path;}),
	"drei\nt\nevil, public", 'the caller\'s search_path is back afterwards');
is(audit_log(), "blog_owner|UPDATE post|$safe\nblog_owner|DELETE post|$safe\nblog_owner|DELETE delta|$safe", 'of all kinds of triggers');
is(loot(), '', 'the caller\'s code has not run as the owner');

# another schema of the owner's, and one of the caller's in between
owner(q{ALTER ROLE blog_owner SET search_path = "$user", audit, evil, public});
caller_("$temp_audit_log SELECT blogstore.create_like(kit.p(2), kit.u(1))");
like(audit_log(), qr/^blog_owner\|INSERT like\|audit, public, pg_temp$/m,
	'a schema that others own is left out');
owner('ALTER ROLE blog_owner RESET search_path');

# where others may create in the schema
$node->safe_psql('blog', 'GRANT CREATE ON SCHEMA public TO PUBLIC');
my $missing = caller_(q{SELECT blogstore.create_post(kit.u(1), 'four', '', kit.p(4), kit.d(4));});
like($missing, qr/^ERROR: +42P01: relation "audit_log" does not exist/, 'a schema in which others may create is left out');
like($missing, qr/^HINT: .*schema "public", since others may create in it.*ALTER FUNCTION/m, 'which the hint says, and what to do');
like(caller_("$temp_audit_log SELECT blogstore.create_post(kit.u(1), 'four', '', kit.p(4), kit.d(4));"),
	qr/^ERROR: +42501: temporary relation "audit_log" must not be used/,
	'a temporary table is not found instead');
owner('ALTER FUNCTION public.audit() SET search_path = public');
is( caller_(q{SELECT title FROM blogstore.create_post(kit.u(1), 'four', '', kit.p(4), kit.d(4))}),
	'four', 'the remedy helps');
is(audit_log(), "blog_owner|INSERT post|public\nblog_owner|INSERT delta|public", 'the function has the path it asks for');
like(caller_("$temp_audit_log SELECT blogstore.create_post(kit.u(1), 'five', '', kit.p(5), kit.d(5));"),
	qr/^ERROR: +42501: temporary relation "audit_log" must not be used/,
	'a path without pg_temp in it does not let the caller in');
owner('ALTER FUNCTION public.audit() RESET search_path');
$node->safe_psql('blog', 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
is( caller_(q{SELECT title FROM blogstore.create_post(kit.u(1), 'five', '', kit.p(5), kit.d(5))}),
	'five', 'with nobody else allowed to create, the name is found again');
audit_log();

# the owner's own temporary tables
owner(q{
CREATE FUNCTION public.scratch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE IF NOT EXISTS scratch (n int) ON COMMIT DROP;
	INSERT INTO scratch VALUES (1);
	INSERT INTO audit_log (what) SELECT count(*) FROM scratch;
	RETURN NULL;
END $$;
GRANT TEMP ON DATABASE blog TO blog_owner;
CREATE TRIGGER scratch AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.scratch()});
is( caller_(q{BEGIN; SELECT type FROM blogstore.create_comment(kit.p(5), kit.u(1), 'a'); SELECT type FROM blogstore.create_comment(kit.p(5), kit.u(1), 'b'); COMMIT}),
	"comment\ncomment", 'a trigger may make temporary tables');
like(caller_(q{CREATE TEMP TABLE scratch (n int); GRANT ALL ON scratch TO PUBLIC; SELECT type FROM blogstore.create_comment(kit.p(5), kit.u(1), 'c');}),
	qr/^ERROR: +42501: temporary relation "scratch"/, 'but is not given the caller\'s');
owner('DROP TRIGGER scratch ON blogstore.posts');

# TRUNCATE fires triggers, too
owner(q{
CREATE FUNCTION public.sweep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN TRUNCATE heap; RETURN NULL; END $$;
CREATE TRIGGER sweep AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.sweep()});
like(caller_(q{
CREATE TEMP TABLE heap (n int);
GRANT ALL ON heap TO PUBLIC;
CREATE TRIGGER steal BEFORE TRUNCATE ON heap EXECUTE FUNCTION evil.steal();
SELECT blogstore.create_like(kit.p(5), kit.u(1));}),
	qr/^ERROR: +42501: temporary relation "heap"/, 'no TRUNCATE of a temporary table of the caller\'s');
owner('DROP TRIGGER sweep ON blogstore.posts');

# types
owner(q{
SET check_function_bodies = off;
CREATE FUNCTION public.typed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE s status; BEGIN s := NEW.type; RETURN NULL; END $$;
CREATE TRIGGER typed AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.typed()});
like(caller_(q{
CREATE DOMAIN pg_temp.status AS text CHECK (evil.steal(VALUE));
SELECT blogstore.create_like(kit.p(5), kit.u(1));}),
	qr/^ERROR: +42501: type "status" is in the way/, 'no temporary domain');
is(caller_(q{
CREATE DOMAIN pg_temp.status AS text CHECK (evil.steal(VALUE));
SELECT username FROM blogstore.create_user('zoe', kit.u(9), kit.d(9));
SELECT username FROM blogstore.edit_user(kit.u(9), 'zoé');
SELECT blogstore.delete_user(kit.u(9));}), "zoe\nzoé\nt", 'it is in the way of nothing else');
owner(q{CREATE TRIGGER typed AFTER INSERT ON blogstore.usernames FOR EACH ROW EXECUTE FUNCTION public.typed()});
like(caller_(q{
CREATE DOMAIN pg_temp.status AS text CHECK (evil.steal(VALUE));
SELECT blogstore.create_user('zoe', kit.u(9), kit.d(9));}),
	qr/^ERROR: +42501: type "status" is in the way/, 'but of triggers on bookkeeping tables');
owner('DROP TRIGGER typed ON blogstore.usernames');
is(caller_(q{
CREATE TEMP TABLE mine (a text, b int[]);
CREATE TEMP VIEW yours AS SELECT * FROM mine;
CREATE DOMAIN evil.status AS text CHECK (evil.steal(VALUE));
SELECT (blogstore.get_post(kit.p(5))).id IS NOT NULL;}), 't', 'others are in nobody\'s way');
like(caller_(q{
CREATE TEMP TABLE status (a evil.status);
SELECT blogstore.create_like(kit.p(5), kit.u(1));}),
	qr/^ERROR: +42501: type "status" is in the way/, 'no row type with a domain of the caller\'s');
owner(q{
CREATE OR REPLACE FUNCTION public.typed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM NEW.type::evil.status; RETURN NULL; END $$});
like(caller_('SELECT blogstore.create_like(kit.p(5), kit.u(1));'),
	qr/^ERROR: +42501: function evil.steal\(text\) must not be run/, 'no function of the caller\'s, however it is found');
$node->safe_psql('blog', q{ALTER FUNCTION evil.steal(text) SET work_mem = '1MB'}, @as_caller);
like(caller_('SELECT blogstore.create_like(kit.p(5), kit.u(1));'),
	qr/^ERROR: +42501: function evil.steal\(text\) must not be run/, 'nor if it has settings of its own');
$node->safe_psql('blog', 'ALTER FUNCTION evil.steal(text) RESET ALL', @as_caller);
owner(q{
CREATE FUNCTION public.checks(n text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN n::status IS NOT NULL; END $$;
ALTER TABLE blogstore.usernames ADD CONSTRAINT checks CHECK (public.checks(username_key)) NOT VALID});
like(caller_(q{
CREATE DOMAIN pg_temp.status AS text CHECK (evil.steal(VALUE));
SELECT blogstore.create_user('zoe', kit.u(9), kit.d(9));}),
	qr/^ERROR: +42501: type "status" is in the way/, 'no temporary domain in a function of a bookkeeping table\'s CHECK');
owner('ALTER TABLE blogstore.usernames DROP CONSTRAINT checks');
$node->safe_psql('blog', 'CREATE ROLE third; GRANT USAGE ON SCHEMA public TO third; CREATE FUNCTION public.others(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN current_user; END $$; ALTER FUNCTION public.others OWNER TO third');
owner(q{
CREATE OR REPLACE FUNCTION public.typed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO audit_log (who, what) VALUES (current_user, others(NEW.type)); RETURN NULL; END $$});
audit_log();
is(caller_('SELECT content FROM blogstore.create_comment(kit.p(5), kit.u(1), \'d\');'), 'd', 'a function of a third role\'s');
is(owner('SELECT content FROM blogstore.create_comment(kit.p(5), kit.u(1), \'e\');'), 'e', 'called by the owner');
is($node->safe_psql('blog', 'SELECT content FROM blogstore.create_comment(kit.p(5), kit.u(1), \'f\');'), 'f', 'and by a superuser');
is(() = audit_log() =~ /^blog_owner\|blog_owner\|$/mg, 3, 'runs as the owner');
owner('DROP TRIGGER typed ON blogstore.posts');
owner(q{
CREATE FUNCTION public.make() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN CREATE TABLE IF NOT EXISTS made (n int); INSERT INTO made VALUES (1); RETURN NULL; END $$;
CREATE TRIGGER make AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.make()});
is(caller_('SELECT content FROM blogstore.create_comment(kit.p(5), kit.u(1), \'g\');'), 'g', 'a trigger makes tables');
is($node->safe_psql('blog', 'SELECT count(*) FROM public.made'), '1', 'where the owner would');
owner('DROP TRIGGER make ON blogstore.posts; DROP TABLE public.made');
is(loot(), '', 'still nothing has run as the owner');

#
# Settings
#
owner(q{
CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen SELECT s, current_setting(s, true) FROM unnest(ARRAY['DateStyle', 'IntervalStyle', 'TimeZone',
		'extra_float_digits', 'xmlbinary', 'bytea_output', 'standard_conforming_strings', 'transform_null_equals',
		'array_nulls', 'xmloption', 'default_text_search_config', 'row_security', 'lc_numeric', 'lc_monetary', 'lc_time',
		'backslash_quote', 'quote_all_identifiers', 'app.claim']) AS s;
	PERFORM set_config('app.answer', 'from the trigger', false);
	RETURN NULL;
END $$;
CREATE TRIGGER look AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.look()});
my $settings = q{
SET DateStyle = 'SQL, MDY'; SET IntervalStyle = 'iso_8601'; SET TimeZone = 'America/Lima'; SET extra_float_digits = 3;
SET xmlbinary = 'base64'; SET bytea_output = 'hex'; SET standard_conforming_strings = off; SET transform_null_equals = on;
SET array_nulls = off; SET xmloption = 'document'; SET default_text_search_config = 'pg_catalog.german'; SET row_security = off;
SET lc_numeric = 'POSIX'; SET lc_monetary = 'POSIX'; SET lc_time = 'POSIX'; SET backslash_quote = on; SET quote_all_identifiers = on;
SET app.claim = 'alice';
};
sub seen
{
	return $node->safe_psql('blog', q{
WITH gone AS (DELETE FROM public.seen RETURNING *) SELECT name, value FROM gone ORDER BY name COLLATE "C"});
}
my $defaults = join "\n", 'DateStyle|German, DMY', 'IntervalStyle|sql_standard', 'TimeZone|Asia/Tokyo', 'app.claim|alice',
  'array_nulls|on', 'backslash_quote|safe_encoding', 'bytea_output|escape', 'default_text_search_config|pg_catalog.english',
  'extra_float_digits|0', 'lc_monetary|C.UTF-8', 'lc_numeric|C.UTF-8', 'lc_time|C.UTF-8', 'quote_all_identifiers|off',
  'row_security|on', 'standard_conforming_strings|on', 'transform_null_equals|off', 'xmlbinary|hex', 'xmloption|content';
my $text_search = $node->safe_psql('blog', 'SHOW default_text_search_config');
$defaults =~ s/pg_catalog.english/$text_search/;

is( caller_("$settings SELECT type FROM blogstore.create_like(kit.p(2), kit.u(1)); SELECT blogstore.delete_like(kit.p(2), kit.u(1)); SELECT type FROM blogstore.create_like(kit.p(2), kit.u(1)); "
		  . q{SHOW DateStyle; SHOW TimeZone; SHOW row_security; SHOW app.claim; SHOW app.answer;}),
	"like\nt\nlike\nSQL, MDY\nAmerica/Lima\noff\nalice\nfrom the trigger",
	'the caller\'s settings are back afterwards, and what a trigger sets of others stays');
is(seen(), $defaults, 'a trigger has the settings that the owner\'s sessions begin with, and the caller\'s own ones');
{
	local $ENV{PGOPTIONS} = '-c DateStyle=SQL -c IntervalStyle=iso_8601 -c TimeZone=America/Lima -c xmlbinary=base64 -c app.claim=alice';
	caller_('SELECT blogstore.create_like(kit.p(4), kit.u(1))');
	is(seen(), $defaults, 'those of the connection do not matter either');
}
$node->safe_psql('postgres', q{ALTER ROLE caller SET DateStyle = 'Postgres'; ALTER ROLE caller SET TimeZone = 'America/Lima'; ALTER ROLE caller SET search_path = evil; ALTER ROLE caller SET app.claim = 'alice'});
caller_('SELECT blogstore.create_like(kit.p(1), kit.u(1))');
is(seen(), $defaults, 'nor those of the caller\'s role');
$node->safe_psql('postgres', 'ALTER ROLE caller RESET ALL');

# What the session has planned under the caller's settings
owner(q{
CREATE FUNCTION public.due() RETURNS date LANGUAGE plpgsql AS $$ BEGIN RETURN date '03/04/2026'; END $$;
CREATE FUNCTION public.note_due() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES ('due', to_char(due(), 'FMMonth')); RETURN NULL; END $$;
CREATE TRIGGER note_due AFTER DELETE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.note_due()});
seen();
is(caller_(qq{SET search_path = $safe; SET DateStyle = 'SQL, MDY'; SELECT to_char(public.due(), 'FMMonth'); SELECT blogstore.delete_like(kit.p(1), kit.u(1)); SELECT to_char(public.due(), 'FMMonth')}) =~ s/\n.*//sr,
	'March', 'the caller reads a literal as its DateStyle has it');
like(seen(), qr/^due\|April$/m, 'a trigger of the owner as the owner\'s has it, also in the same session');
owner('DROP TRIGGER note_due ON blogstore.posts');

# after errors
audit_log();
owner(q{
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.content = 'spam') EXECUTE FUNCTION public.refuse()});
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
	"evil\nSQL, MDY\ncaller\ncomment\nevil\nSQL, MDY\nERROR:  P0001: refused", 'settings are back after an error in a savepoint');
is(audit_log(), "blog_owner|INSERT comment|$safe\nblog_owner|UPDATE delta|$safe", 'and the next call has safe ones');
seen();

# errors caught within: the guard around them stays
owner(q{
CREATE FUNCTION public.catch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM blogstore.create_comment(kit.p(1), kit.u(1), 'spam');
	EXCEPTION WHEN raise_exception THEN
		INSERT INTO audit_log (who, what, path) VALUES (current_user, 'caught', current_setting('search_path'));
	END;
	PERFORM blogstore.create_comment(kit.p(2), kit.u(1), 'nested');
	INSERT INTO audit_log (who, what, path) VALUES (current_user, 'after', current_setting('search_path'));
	RETURN NULL;
END $$;
CREATE TRIGGER z_catch AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.content = 'outer') EXECUTE FUNCTION public.catch();
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA kit TO blog_owner});
is( caller_("$temp_audit_log SET search_path = evil; SELECT content FROM blogstore.create_comment(kit.p(1), kit.u(1), 'outer'); SHOW search_path;"),
	"outer\nevil", 'a trigger that calls requests, and catches their errors');
is( join("\n", sort split /\n/, audit_log()),
	join("\n", sort "blog_owner|INSERT comment|$safe", "blog_owner|caught|$safe", "blog_owner|INSERT comment|$safe", "blog_owner|UPDATE delta|$safe", "blog_owner|after|$safe", "blog_owner|UPDATE delta|$safe"),
	'all of it with safe settings');
owner('DROP TRIGGER z_catch ON blogstore.posts; DROP TRIGGER refuse ON blogstore.posts; DROP TRIGGER look ON blogstore.posts; DROP TRIGGER audit ON blogstore.posts');

#
# Deferrable triggers and constraints
#
owner(q{
DO $$ DECLARE leaf regclass; BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf LOOP
		EXECUTE format('CREATE CONSTRAINT TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON %s DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION public.audit()', leaf);
	END LOOP;
END $$});
is( caller_(qq{
$temp_audit_log
SET search_path = evil, public;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT type FROM blogstore.create_like(kit.p(5), kit.u(1));
SELECT count(*) FROM public.audit_log;
COMMIT;}), "like\n2", 'a deferrable trigger fires inside of the request');
is(audit_log(), "blog_owner|INSERT like|$safe\nblog_owner|UPDATE delta|$safe", 'as the owner, with safe settings');
is(loot(), '', 'and nothing of the caller\'s');
owner(q{
DO $$ DECLARE leaf regclass; BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf LOOP
		EXECUTE format('DROP TRIGGER audit ON %s', leaf);
	END LOOP;
END $$;
CREATE TRIGGER audit AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.audit();
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON public.audit_log DEFERRABLE FOR EACH ROW EXECUTE FUNCTION public.sweep();
CREATE TABLE public.heap ()});
is(caller_('SELECT blogstore.delete_like(kit.p(5), kit.u(1)); SELECT type FROM blogstore.create_like(kit.p(5), kit.u(1))'),
	"t\nlike", 'a deferrable trigger further on fires at once');
like(caller_(q{BEGIN; SET CONSTRAINTS ALL DEFERRED; SELECT blogstore.create_comment(kit.p(5), kit.u(1), 'w')}),
	qr/^ERROR: +42501: deferred trigger "later" on "audit_log" would run after blogstore's request/m,
	'it cannot be deferred to where the caller\'s names hold');
is( caller_(q{BEGIN; SET CONSTRAINTS ALL DEFERRED; SET CONSTRAINTS ALL IMMEDIATE; SELECT content FROM blogstore.create_comment(kit.p(5), kit.u(1), 'x'); COMMIT}),
	'x', 'until the caller takes it back');
owner(q{
DROP TRIGGER later ON public.audit_log;
CREATE TABLE public.kinds (name text PRIMARY KEY);
DELETE FROM public.audit_log;
ALTER TABLE public.audit_log ADD FOREIGN KEY (what) REFERENCES public.kinds DEFERRABLE INITIALLY DEFERRED});
is( caller_(q{BEGIN; SET CONSTRAINTS ALL DEFERRED; SELECT content FROM blogstore.create_comment(kit.p(5), kit.u(1), 'y'); COMMIT}),
	qq{y\nERROR:  23503: insert or update on table "audit_log" violates foreign key constraint "audit_log_what_fkey"},
	'foreign keys wait for the commit, as the owner has said');
owner(q{ALTER TABLE public.audit_log DROP CONSTRAINT audit_log_what_fkey; DROP TRIGGER audit ON blogstore.posts});
audit_log();

#
# Expressions
#
owner(q{
CREATE FUNCTION public.note(what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit_log (who, what, path) VALUES (current_user, note.what, current_setting('search_path'));
	RETURN true;
END $$;
CREATE FUNCTION public.rank(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN grade(t); END $$;
CREATE FUNCTION public.grade(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 'grade of ' || t; END $$});
$node->safe_psql('blog', q{
CREATE FUNCTION evil.grade(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 'evil'; END $$;
GRANT EXECUTE ON FUNCTION evil.grade TO PUBLIC}, @as_caller);
my $attack = "$temp_audit_log SET search_path = evil, public;";
owner(q{ALTER TABLE blogstore.posts ADD CONSTRAINT noted CHECK (content IS NULL OR public.note('check')) NOT VALID});
caller_("$attack SELECT blogstore.create_comment(kit.p(1), kit.u(1), 'x')");
like(audit_log(), qr/^blog_owner\|check\|\Q$safe\E$/m, 'a CHECK constraint');
owner(q{ALTER TABLE blogstore.posts DROP CONSTRAINT noted;
ALTER TABLE blogstore.posts ADD COLUMN ranked text;
ALTER TABLE blogstore.posts ALTER COLUMN ranked SET DEFAULT public.rank('default')});
caller_("$attack SELECT blogstore.create_post(kit.u(1), 'six', '', kit.p(6), kit.d(6))");
is($node->safe_psql('blog', 'SELECT ranked FROM blogstore.posts WHERE id = kit.p(6)'), 'grade of default', 'a default');
owner(q{ALTER TABLE blogstore.posts DROP COLUMN ranked; ALTER TABLE blogstore.posts ADD COLUMN ranked text GENERATED ALWAYS AS (public.rank(title)) STORED});
caller_("$attack SELECT blogstore.create_post(kit.u(1), 'seven', '', kit.p(7), kit.d(7)); SELECT blogstore.edit_post(kit.p(6), 'sechs')");
is($node->safe_psql('blog', 'SELECT ranked FROM blogstore.posts WHERE id IN (kit.p(6), kit.p(7)) ORDER BY id'),
	"grade of sechs\ngrade of seven", 'a generated column');
# from 17 on the server builds indexes with nothing but pg_catalog in search_path
my $rank = q{CREATE OR REPLACE FUNCTION public.rank(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN %s(t); END $$;};
owner('ALTER TABLE blogstore.posts DROP COLUMN ranked;'
	  . sprintf($rank, 'public.grade')
	  . q{CREATE INDEX ranked ON blogstore.posts (public.rank(title)) WHERE public.rank('x') <> 'evil';}
	  . sprintf($rank, 'grade'));
caller_("$attack SELECT blogstore.create_post(kit.u(1), 'eight', '', kit.p(8), kit.d(8))");
is($node->safe_psql('blog', q{SET enable_seqscan = off; SELECT title FROM blogstore.posts WHERE public.rank(title) = 'grade of eight' AND public.rank('x') <> 'evil'}),
	'eight', 'an index on an expression');
owner(q{DROP INDEX blogstore.ranked;
CREATE TRIGGER audit BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (public.rank(NEW.title) = 'grade of nine') EXECUTE FUNCTION public.audit()});
audit_log();
caller_("$attack SELECT blogstore.create_post(kit.u(1), 'nine', '', kit.p(9), kit.d(9))");
is(audit_log(), "blog_owner|INSERT post|$safe", 'the condition of a trigger');
owner('DROP TRIGGER audit ON blogstore.posts');
like(owner(q{
CREATE FUNCTION public.secret(uuid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN CREATE TEMP TABLE t (); RETURN true; END $$;
ALTER TABLE blogstore.posts ADD CONSTRAINT secret CHECK (public.secret(id)) NOT VALID;
SELECT blogstore.create_like(kit.p(9), kit.u(1));
ALTER TABLE blogstore.posts DROP CONSTRAINT secret;}),
	qr/^ERROR: +42501: cannot create temporary table within security-restricted operation/m,
	'expressions may do less than triggers');

#
# What else writes: bookkeeping, import(), the worker
#
owner(q{
CREATE FUNCTION public.audit_any() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit_log (who, what, path) VALUES (current_user,
		TG_OP || ' ' || CASE WHEN TG_TABLE_NAME LIKE '%\_post' THEN 'copy' ELSE TG_TABLE_NAME END,
		current_setting('search_path') || ' ' || current_setting('DateStyle') || ' ' || current_setting('row_security'));
	RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON blogstore.usernames FOR EACH ROW EXECUTE FUNCTION public.audit_any()});
caller_("$attack $settings SELECT blogstore.create_user('bob', kit.u(2), kit.d(2))");
is(audit_log(), "blog_owner|INSERT usernames|$safe German, DMY on", 'a trigger on a bookkeeping table');
$node->safe_psql('blog', q{
CREATE TABLE evil.people AS SELECT kit.u(3) AS user_id, 'carol' AS username, kit.d(3) AS creation_date;
CREATE TABLE evil.texts AS SELECT kit.p(10) AS post_id, kit.u(3) AS user_id, 'ten' AS title, '' AS content, kit.d(10) AS creation_date;
CREATE TABLE evil.remarks AS SELECT kit.c(10) AS comment_id, kit.p(9) AS post_id, kit.u(3) AS user_id, 'on nine' AS content, kit.d(11) AS creation_date;
CREATE VIEW evil.watched AS SELECT * FROM evil.remarks WHERE evil.steal(content);
ALTER TABLE evil.people OWNER TO caller; ALTER TABLE evil.texts OWNER TO caller; ALTER TABLE evil.remarks OWNER TO caller; ALTER VIEW evil.watched OWNER TO caller});
owner(q{CREATE TRIGGER audit AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION public.audit()});
is( caller_("$attack SET client_min_messages = error; SELECT type, imported FROM blogstore.import('evil.people', 'evil.texts', 'evil.watched') WHERE read > 0"),
	"user|1\npost|1\ncomment|1", 'import() with triggers');
is( join("\n", sort split /\n/, audit_log()),
	join("\n", sort "blog_owner|INSERT usernames|$safe German, DMY on", map { "blog_owner|INSERT $_|$safe" } 'post', 'comment', 'delta', 'delta'),
	'its triggers run with safe settings');
is(loot(), 'caller', 'the sources\' own code runs as the caller');
$node->safe_psql('blog', 'DELETE FROM evil.loot');
owner(q{DROP TRIGGER audit ON blogstore.posts; DROP TRIGGER audit ON blogstore.usernames;
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views('10 min');
CREATE CONSTRAINT TRIGGER audit AFTER INSERT ON blogstore.users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.audit_any()});
audit_log();
caller_("$attack SELECT blogstore.create_post(kit.u(1), 'eleven', '', kit.p(11), kit.d(11)); SELECT blogstore.wait_for_views('10 min')");
is(audit_log(), "blog_owner|INSERT copy|$safe German, DMY on", 'a trigger on the copies runs in the worker as the owner');
owner('DROP TRIGGER audit ON blogstore.users');

# policies, which direct access does not ask, must not hide rows from statements
owner(q{ALTER TABLE blogstore.posts ENABLE ROW LEVEL SECURITY});
is(owner('SELECT count(*) FROM blogstore.verify()'), '0', 'policies do not hold for the owner');
owner(q{ALTER TABLE blogstore.posts FORCE ROW LEVEL SECURITY});
like(owner('SELECT blogstore.repair()'), qr/^ERROR: +42501: policies on "posts" would hide rows from blogstore/,
	'unless forced, which repair() must not take for missing rows');
like(caller_('SELECT count(*) FROM blogstore.verify()'), qr/^ERROR: +42501: policies on "posts"/, 'nor verify()');
like(caller_('SELECT count(*) FROM blogstore.export_documents()'), qr/^ERROR: +42501: policies on "posts"/, 'nor export_documents()');
is(caller_('SELECT title FROM blogstore.get_post(kit.p(11))'), 'eleven', 'requests do not ask policies');
owner(q{ALTER TABLE blogstore.posts NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY});

#
# What cannot be written is an error
#
owner('CREATE UNIQUE INDEX one_title ON blogstore.posts_p00_post (title); CREATE UNIQUE INDEX ON blogstore.posts_p01_post (title); CREATE UNIQUE INDEX ON blogstore.posts_p02_post (title); CREATE UNIQUE INDEX ON blogstore.posts_p03_post (title)');
is( caller_(q{
SET statement_timeout = '100s';
SELECT count(DISTINCT error) FROM (SELECT kit.try(format('blogstore.create_post(kit.u(1), %L, %L, kit.p(%s), kit.d(1))', 'same', '', 100 + n)) AS error FROM generate_series(1, 40) n) AS t;
SELECT kit.try('blogstore.create_post(kit.u(1), ''same'', '''', kit.p(200), kit.d(1))') IN ('23505, no hint', 'ok');}),
	"2\nt", 'a unique index of the owner\'s');
like( caller_(q{
SELECT blogstore.create_post(kit.u(1), 'same', '', kit.p(n), kit.d(1)) FROM generate_series(201, 240) n;}),
	qr/^ERROR: +23505: duplicate key value violates unique constraint ".*title.*"/m, 'with the server\'s own text');
owner(q{DO $$ DECLARE i regclass; BEGIN FOR i IN SELECT indexrelid FROM pg_index WHERE indexrelid::regclass::text ~ 'title' AND indrelid::regclass::text ~ '^blogstore.posts_p' LOOP EXECUTE 'DROP INDEX ' || i; END LOOP; END $$});
owner(q{
DELETE FROM blogstore.posts WHERE title = 'same';
SELECT blogstore.repair();
ALTER TABLE blogstore.posts_p00_post ADD CONSTRAINT title_p00 UNIQUE (title) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE blogstore.posts_p01_post ADD CONSTRAINT title_p01 UNIQUE (title) DEFERRABLE;
ALTER TABLE blogstore.posts_p02_post ADD EXCLUDE (title WITH =);
ALTER TABLE blogstore.posts_p03_post ADD EXCLUDE (title WITH =) DEFERRABLE INITIALLY DEFERRED});
is( caller_(q{
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT DISTINCT kit.try(format('blogstore.create_post(kit.u(1), %L, %L, kit.p(%s), kit.d(1))', 'same', '', 300 + n)) FROM generate_series(1, 40) n ORDER BY 1;
SELECT count(*) FROM generate_series(301, 340) n, blogstore.get_post(kit.p(n));
COMMIT}),
	"23505, no hint\n23P01, no hint\nok\n4", 'deferrable and exclusion constraints, inside of the request');
owner(q{
DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS leaf, conname FROM pg_constraint WHERE conname ~ 'title' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.leaf, c.conname);
	END LOOP;
	FOR c IN SELECT conrelid::regclass AS leaf, conname FROM pg_constraint WHERE conname ~ '_like_pkey' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I PRIMARY KEY (user_id, post_id) DEFERRABLE', c.leaf, c.conname);
	END LOOP;
END $$});
is(caller_(q{SELECT kit.try('blogstore.create_like(kit.p(11), kit.u(1))')}), '55000, hint', 'a key that cannot tell what is taken');
owner(q{
DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS leaf, conname FROM pg_constraint WHERE conname ~ '_like_pkey' LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I PRIMARY KEY (user_id, post_id)', c.leaf, c.conname);
	END LOOP;
END $$});
is(caller_(q{SELECT type FROM blogstore.create_like(kit.p(11), kit.u(1)); SELECT type FROM blogstore.create_like(kit.p(11), kit.u(1))}),
	"like\nlike", 'until it is mended');
check_store($node, 'blog', 'at the end');
$node->stop;
ok(!logged($node, 0, qr/was terminated by signal/), 'no process has crashed');

done_testing();
