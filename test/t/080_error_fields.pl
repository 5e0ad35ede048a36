
# The table of errors in docs/REFERENCE.md agrees with the rules in
# base/error_fields.h and the errors in the sources, and a test provokes each
# of its rows. Drivers show the fields of an error, also through wrappers of
# create_api().

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use File::Find;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/../..";

# ---- The table of docs/REFERENCE.md

my ($section) = slurp_file("$top/docs/REFERENCE.md") =~ /^## Errors\n(.*?)(?=^## |\z)/ms;
my (%code, %rule, %row);
foreach ($section =~ /^\| ([0-9A-Z]{5} \|.*)\|$/mg)
{
	my ($code, undef, undef, undef, $rule) = map { s/^\s+|\s+$//gr } split /\|/;

	$rule =~ tr/`//d;
	$code{$code} = 1;
	$rule{$rule} = 1 if $rule ne '';
	$row{"$code $rule"} = 1;
}
cmp_ok(scalar keys %row, '>', 40, 'the table has rows');

# ---- The sources

my %sqlstate;
my ($includes) = run_command([ 'pg_config', '--includedir-server' ]);
foreach (slurp_file("$includes/utils/errcodes.h") =~ /^#define (ERRCODE_\w+ MAKE_SQLSTATE\(.*)\)/mg)
{
	my ($name, $letters) = split / /;

	$sqlstate{$name} = join '', $letters =~ /'(.)'/g;
}

# Errors that no caller gets: the server has no random numbers, and the worker
# cannot read the WAL
my %no_row = map { $_ => 1 } qw(ERRCODE_INTERNAL_ERROR ERRCODE_DATA_CORRUPTED);
my (%raised, %used, @bare);
find(
	sub {
		return unless /\.[ch]$/;
		my $text = slurp_file($_);
		my $name = $File::Find::name =~ s/.*\/src\///r;

		$raised{$_}{$name} = 1 foreach map { /ERRCODE_\w+/g } $text =~ /errcode\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g;
		# Errors of imports name the wrong source in their message, and 40001
		# has no fields.
		push @bare, $name foreach grep { !/err_(?:table_)?fields\(|T_R_SERIALIZATION_FAILURE|ERRCODE_INTERNAL_ERROR/ }
		  $name =~ m{^(?:base|storage|model|requests|admin)/} ? $text =~ /\bereport\(ERROR,(.*?\)\));/gs : ();
		if ($name ne 'base/error_fields.h')
		{
			$used{$_} = 1 foreach $text =~ /\b(RULE_\w+)/g;
		}
	},
	"$top/src");
my $script = slurp_file("$top/sql/blogstore--1.0.sql");
my %in_script = map { $_ => 1 } $script =~ /ERRCODE = '(\w+)'/g;
my @unknown = map { "$_ in " . join ' ', sort keys %{ $raised{$_} } }
  grep { !$no_row{$_} && !$code{ $sqlstate{$_} // '' } } sort keys %raised;
is_deeply(\@unknown, [], 'the table has each SQLSTATE that the sources raise');
is_deeply([ grep { !$code{$_} } sort keys %in_script ], [], 'and each that the SQL script raises');
my %in_sources = map { $_ => 1 } keys %in_script, map { $sqlstate{$_} } keys %raised;
# The server itself raises these.
$in_sources{$_} = 1 foreach '2BP01', '55006';
is_deeply([ grep { !$in_sources{$_} } sort keys %code ], [], 'the table has no other SQLSTATE');
# The lists of errors at single functions have no others either.
my %said = map { $_ => 1 } map { /\d[0-9A-Z]{4}/g } slurp_file("$top/docs/REFERENCE.md") =~ /^\| ((?:\d[0-9A-Z]{4}(?:, )?)+) \|/mg;
is_deeply([ grep { !$code{$_} } sort keys %said ], [], 'the lists of errors of functions have no other SQLSTATE');

my %defined = slurp_file("$top/src/base/error_fields.h") =~ /^#define (RULE_\w+) "(\w+)"/mg;
is_deeply([ sort values %defined ], [ sort keys %rule ], 'the table has each rule');
is_deeply(\@bare, [], 'and the errors of requests have fields');
is_deeply([ sort keys %used ], [ sort keys %defined ], 'and each rule is used');

# ---- Tests that provoke the errors

# Keys are the SQLSTATE and the rule. The argument has the format of
# kit.raised().
my %provoked;

sub provoked
{
	my ($code, undef, undef, $rule) = split /\|/, $_[0];

	$provoked{ "$code " . ($rule // '') } = 1 if $code ne 'ok';
	return;
}

# Rows of psql: ... | code | table | column | rule | message
my $shown = slurp_file("$top/expected/errors.out");
while ($shown =~ /(?:^|\|) ([0-9A-Z]{5}) +\|[^|\n]*\|[^|\n]*\| (\w*) *\|/mg)
{
	$provoked{"$1 $2"} = 1;
}
foreach my $file (glob "$FindBin::RealBin/../cluster/023_*.pl")
{
	provoked($_) foreach slurp_file($file) =~ /'(\d[0-9A-Z]{4}\|[\w-]*\|\w*\|\w*)'/g;
}
# Errors that take more than one call to provoke
my %elsewhere = (
	'0A000 ' => [ 'cluster/007_distribute.pl', qr/0A000: .* cannot be carried over/ ],
	'40001 ' => [ '../expected/reply_delete.out', qr/could not serialize access due to a concurrent comment/ ],
	'54000 worker' => [ 't/066_many_databases.pl', qr/'54000, hint'/ ]);
foreach my $row (sort keys %elsewhere)
{
	my ($file, $pattern) = @{ $elsewhere{$row} };

	like(slurp_file("$FindBin::RealBin/../$file"), $pattern, "$row: $file");
	$provoked{$row} = 1;
}
# Not provoked: the one takes ten minutes, the other a node of another version.
$provoked{'55P03 '} = $provoked{'42883 cluster'} = 1;

my $node = new_server('errors');
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', kit_file('errors'));
$node->safe_psql(
	'postgres', q{
SELECT kit.fill(3, 6);
SELECT blogstore.hide_post(kit.p(2));
CREATE ROLE app LOGIN;
CREATE ROLE other LOGIN;
CREATE ROLE web LOGIN;
SELECT blogstore.grant_requests('app');
GRANT USAGE ON SCHEMA kit TO PUBLIC;
CREATE TABLE source (user_id uuid, username text, creation_date timestamptz);
CREATE TABLE wrong (user_id date, username text, creation_date timestamptz);
CREATE TABLE orphans (post_id uuid, user_id uuid, title text, content text, creation_date timestamptz);
INSERT INTO orphans VALUES (kit.p(900), kit.u(900), 'title', 'content', NULL);
CREATE SEQUENCE no_table;
});

# Check the error of one statement. Optional statements before and after
# prepare it and undo that.
sub raises
{
	my ($statement, $expected, $name, %params) = @_;
	my $before = $params{before} // '';
	my $after = $params{after} // '';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$statement =~ s/'/''/g;
	my $raised = $node->safe_psql($params{in} // 'postgres', "$before; SELECT kit.raised('$statement'); $after");
	is((grep { /^\d[0-9A-Z]{4}\||^ok$/ } split /\n/, $raised)[0], $expected, $name);
	provoked($expected);
	return;
}

# The partition that has the post
my $leaf = $node->safe_psql('postgres', q{SELECT relname FROM blogstore.posts p JOIN pg_class c ON c.oid = p.tableoid WHERE post_id = kit.p(1) AND type = 'post'});

$node->safe_psql('postgres', q{
CREATE FUNCTION kit.nothing() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION kit.ddl() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN CREATE TEMPORARY TABLE t (); RETURN NEW; END $$});
raises('SELECT blogstore.edit_post(kit.p(1), $$x$$)', "09000|$leaf||triggers", 'a trigger keeps a change back',
	before => "CREATE TRIGGER odd BEFORE UPDATE ON blogstore.$leaf FOR EACH ROW EXECUTE FUNCTION kit.nothing()", after => "DROP TRIGGER odd ON blogstore.$leaf");
raises('SELECT blogstore.edit_post(kit.p(1), $$x$$)', '42501|||triggers', 'a trigger executes DDL',
	before => "CREATE TRIGGER odd BEFORE UPDATE ON blogstore.$leaf FOR EACH ROW EXECUTE FUNCTION kit.ddl()", after => "DROP TRIGGER odd ON blogstore.$leaf");
# Errors of the owner's own constraints have a table as a field, and so differ
# from blogstore's.
raises('SELECT blogstore.edit_post(kit.p(1), $$odd$$)', "23514|$leaf||post_shown", 'a CHECK of the name of a rule',
	before => "ALTER TABLE blogstore.$leaf ADD CONSTRAINT post_shown CHECK (title <> 'odd')", after => "ALTER TABLE blogstore.$leaf DROP CONSTRAINT post_shown");
# From PostgreSQL 18 on, each level of partitions has a NOT NULL constraint of
# its own.
my $nullable = q{DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT relid FROM pg_partition_tree('blogstore.posts') ORDER BY level LOOP
EXECUTE format('ALTER TABLE %s ALTER title DROP NOT NULL', t); END LOOP; END $$};
raises('SELECT blogstore.get_post(kit.p(1))', "22004|$leaf|title|complete", 'an item lacks a value',
	before => "BEGIN; $nullable; UPDATE blogstore.posts SET title = NULL WHERE post_id = kit.p(1) AND type = 'post'", after => 'ROLLBACK');
raises('SELECT blogstore.get_post(kit.p(1))', '55000|||unaltered', 'a column is renamed',
	before => 'BEGIN; ALTER TABLE blogstore.posts RENAME title TO caption', after => 'ROLLBACK');
raises('SELECT blogstore.list_user_likes(kit.u(1), by_date => true)', '55000|posts||indexed', 'no index of likes by date',
	before => q{BEGIN; DO $$ DECLARE i regclass; BEGIN FOR i IN SELECT x.indexrelid FROM pg_index x JOIN pg_partition_tree('blogstore.posts') t ON t.relid = x.indrelid
WHERE t.isleaf AND t.relid::text ~ 'like' AND pg_get_indexdef(x.indexrelid) ~ 'creation_date' AND NOT x.indisprimary LOOP
EXECUTE 'DROP INDEX ' || i; END LOOP; END $$}, after => 'ROLLBACK');
raises('SELECT blogstore.wait_for_views()', '55000|||worker', 'the worker is stopped',
	before => 'SELECT blogstore.stop_worker()', after => 'SELECT blogstore.start_worker()');
raises('SELECT blogstore.node_of(kit.p(1))', '55000|||cluster', 'no cluster');
raises('SELECT * FROM blogstore.import(likes => NULL, guest => kit.u(900))', '23503|users|guest|user_exists', 'no such guest');
raises('SELECT * FROM blogstore.import(posts => $$orphans$$)', '23514||rejects|items_taken', 'items that cannot be imported');
cmp_ok($node->safe_psql('postgres', q{
CREATE TABLE refused (user_id uuid, username text, creation_date timestamptz, reject_reason text);
INSERT INTO refused VALUES (kit.u(800), 'refused', now(), repeat('%s', 50000000));
DO $$ DECLARE said text; BEGIN PERFORM blogstore.import(users => 'refused'); EXCEPTION WHEN check_violation THEN
GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL; PERFORM set_config('kit.said', said, false); END $$;
SELECT length(current_setting('kit.said'))}), '<', 1000, 'import(): a reason of 100 MB is cut in the error');
raises('SELECT * FROM blogstore.import(changed => $$always$$)', '22023||changed|range', 'import(): changed');
raises('SELECT * FROM blogstore.import(users => $$source$$, extra => $${id}$$)', '22023||extra|keys', 'import(): a key that is taken');
raises("SELECT * FROM blogstore.import(users => 'source', extra => ARRAY[repeat('%s', 100000000)])", '42703||extra|', 'import(): no such column, in 200 MB');
raises('SELECT * FROM blogstore.import(posts => $$source$$)', '42703|-||', 'import(): a column is missing');
raises('SELECT * FROM blogstore.import(users => $$wrong$$)', '42804|-||', 'import(): a column of another type');
raises('SELECT * FROM blogstore.import(users => $$no_table$$)', '42809|-||', 'import(): no table');
raises('SELECT * FROM blogstore.import(users => 1)', '42P01|-||', 'import(): nothing');
raises('SELECT * FROM blogstore.import_documents(NULL)', '22004||documents|not_null', 'import_documents(): NULL');
raises("SELECT blogstore.get_cluster_status(repeat('%s', 100000000))", '22023||what|range', 'get_cluster_status(): another word, of 200 MB');
raises('SELECT blogstore.create_containers()', '42P07|||', 'the containers exist');
raises('SELECT blogstore.create_containers(0)', '22023||partitions|range', 'create_containers(): no partitions');
raises('SELECT blogstore.grant_requests(NULL)', '22004||role|not_null', 'grant_requests(): NULL');
raises('SELECT blogstore.grant_requests(1)', '42704||role|', 'grant_requests(): no such role');
raises('SELECT blogstore.create_api($$pg_odd$$, $$app$$)', '22023||schema|range', 'create_api(): a schema of PostgreSQL\'s');
raises('SELECT blogstore.create_api($$api$$, $$app$$)', '42710|||', 'create_api(): a name is taken',
	before => 'BEGIN; CREATE SCHEMA api; CREATE FUNCTION api.get_post() RETURNS int LANGUAGE sql AS $$SELECT 1$$', after => 'ROLLBACK');
raises('SELECT blogstore.revoke_requests($$app$$)', '2BP01|-||', 'revoke_requests(): the role has granted them',
	before => 'BEGIN; GRANT EXECUTE ON FUNCTION blogstore.get_post TO app WITH GRANT OPTION; SET LOCAL ROLE app; GRANT EXECUTE ON FUNCTION blogstore.get_post TO other; RESET ROLE', after => 'ROLLBACK');
raises('SELECT blogstore.get_post(kit.p(1))', '42501|-||', 'no EXECUTE', before => 'SET ROLE other');
raises('SELECT blogstore.wait_for_posts()', '25001|||committed', 'wait_for_posts() in a transaction that has written', before => 'BEGIN; SELECT blogstore.create_like(kit.p(1), kit.u(1))', after => 'ROLLBACK');
raises('SELECT blogstore.repair()', '25001|||read_committed', 'repair() with a snapshot of the past', before => 'BEGIN ISOLATION LEVEL REPEATABLE READ', after => 'ROLLBACK');
is(($node->psql('postgres', "\\set VERBOSITY verbose\nBEGIN; SELECT blogstore.stop_worker(); PREPARE TRANSACTION 'stopped'"))[2] =~ /ERROR:  0A000.*SCHEMA NAME:  blogstore.*CONSTRAINT NAME:  one_phase/s ? 1 : 0,
	1, 'stop_worker() cannot be prepared');
provoked('0A000|||one_phase');

# Databases without containers, and with another encoding
$node->safe_psql('postgres', 'CREATE DATABASE empty');
$node->safe_psql('postgres', q{CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'});
foreach my $dbname (qw(empty bytes))
{
	$node->safe_psql($dbname, 'CREATE EXTENSION blogstore');
	$node->safe_psql($dbname, $_) foreach map { kit_file($_) } qw(ids errors);
}
raises('SELECT blogstore.get_post(kit.p(1))', '55000|||created', 'no containers', in => 'empty');
raises("SELECT blogstore.key_id('post', chr(255))", '22021||key|characters', 'a key that is no UTF-8', in => 'bytes');

# ---- Wrappers and drivers

$node->safe_psql('postgres', q{
CREATE ROLE site LOGIN;
SELECT blogstore.grant_requests('site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
GRANT CREATE ON DATABASE postgres TO site;
SELECT blogstore.create_api('api', 'app');
SET ROLE site;
SELECT blogstore.create_api('web', 'web', true);
RESET ROLE;
GRANT SET ON PARAMETER blogstore.current_user_id TO web});
raises('SELECT blogstore.create_api($$other$$, $$other$$, true)', '55000|||', 'create_api(): wrappers of the other kind',
	before => q{BEGIN; SET LOCAL ROLE site; SELECT blogstore.create_api('other', 'app')}, after => 'ROLLBACK');
$node->safe_psql('postgres', q{INSERT INTO blogstore.users (id, type, user_id, user_username, followed_id, followed_username, creation_date)
SELECT kit.c(n), 'follow', kit.u(2), 'user 2', kit.u(n), 'user', now() FROM generate_series(10001, 20000) AS n});
my %calls = (
	q{create_user('USER 2')} => '23505|users|username|username_unique',
	q{create_post(kit.u(1), '', 'x')} => '22023||title|not_empty',
	q{create_post(kit.u(99), 'x', 'x')} => '23503|users|user_id|user_exists',
	q{create_post(kit.u(1), 'x', 'x', publish_date => 'infinity')} => '22023||publish_date|finite',
	q{schedule_post(kit.p(99), NULL)} => '23503|posts|post_id|post_exists',
	q{create_comment(kit.p(99), kit.u(1), 'x')} => '23503|posts|post_id|post_exists',
	q{create_comment(kit.p(1), kit.u(1), 'x', parent_id => kit.c(99))} => '23503|posts|parent_id|comment_exists',
	q{create_like(kit.p(2), kit.u(1))} => '23514|posts|post_id|post_shown',
	q{create_like(kit.p(1), kit.u(1), comment_id => kit.c(99))} => '23503|posts|comment_id|comment_exists',
	q{list_user_likes(kit.u(1), after_comment_id => kit.c(1))} => '22023||after_post_id|together',
	q{follow_user(kit.u(1), kit.u(1))} => '22023||followed_id|not_oneself',
	q{follow_user(kit.u(1), kit.u(99))} => '23503|users|followed_id|user_exists',
	q{follow_user(kit.u(2), kit.u(1))} => '54000|users|user_id|max_followed',
	q{list_topics()} => '55000|||topics',
	q{list_feed(0)} => '22023||page_size|range');
foreach my $call (sort keys %calls)
{
	raises("SELECT api.$call", $calls{$call}, "api: $call", before => 'SET ROLE app');
	raises("SELECT * FROM api.$call", $calls{$call}, "api, in FROM: $call", before => 'SET ROLE app');
}
my $as = "SET blogstore.current_user_id = '@{[ $node->safe_psql('postgres', 'SELECT kit.u(1)') ]}'; SET ROLE web";
%calls = (
	q{create_post('', 'x')} => '22023||title|not_empty',
	q{create_like(kit.p(99))} => '23503|posts|post_id|post_exists',
	q{create_like(kit.p(2))} => '23503|posts|post_id|post_exists',
	q{create_comment(kit.p(2), 'x')} => '23503|posts|post_id|post_exists',
	q{edit_post(kit.p(99), 'x')} => '23503|posts|post_id|post_exists',
	q{edit_post(kit.p(1), 'x')} => '42501|posts|user_id|own_item');
raises("SELECT web.$_", $calls{$_}, "web: $_", before => $as) foreach sort keys %calls;
raises("SELECT web.create_post('x', 'x')", '42501|||signed_in', 'web: nobody is signed in', before => 'SET ROLE web');

# A program in Python, whose driver shows the fields as attributes
my $program = q{
import sys
import psycopg2
connection = psycopg2.connect(sys.argv[1])
connection.autocommit = True
for call in sys.argv[2:]:
	try:
		connection.cursor().execute('SELECT blogstore.' + call)
	except psycopg2.Error as error:
		d = error.diag
		print(type(error).__mro__[1].__name__, error.pgcode, d.schema_name, d.table_name, d.column_name, d.constraint_name)
};
SKIP:
{
	skip 'no psycopg2', 1 unless -x '/usr/bin/python3' && system('/usr/bin/python3 -c "import psycopg2" 2>/dev/null') == 0;
	my $out = '';

	IPC::Run::run([ '/usr/bin/python3', '-c', $program, $node->connstr('postgres'), q{create_user('User 1')}, q{create_like(kit.p(99), kit.u(1))},
		q{create_like(kit.p(2), kit.u(1))}, q{create_post(kit.u(1), '', '')}, q{create_post(kit.u(1), 'x', NULL)} ], '>', \$out);
	is($out, q{IntegrityError 23505 blogstore users username username_unique
IntegrityError 23503 blogstore posts post_id post_exists
IntegrityError 23514 blogstore posts post_id post_shown
DataError 22023 blogstore None title not_empty
DataError 22004 blogstore None content not_null
}, 'psycopg2 shows the fields');
}

# ---- A slot that is in use

$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', q{SELECT state = 'running' FROM blogstore.stat_worker});
my $slot = worker_slot($node, 'postgres');
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
# Newer minor releases refuse output plugins that this setting does not list.
local $ENV{PGOPTIONS} = $node->safe_psql('postgres', q{SELECT string_agg('-c ' || name || '=blogstore', '') FROM pg_settings WHERE name = 'output_plugin_libraries'});
my $reader = IPC::Run::start([ 'pg_recvlogical', '-d', $node->connstr('postgres'), '-S', $slot, '--start', '-f', $node->basedir . '/changes' ]);
delete $ENV{PGOPTIONS};
wait_until($node, 'postgres', "SELECT active FROM pg_replication_slots WHERE slot_name = '$slot'");
raises('SELECT blogstore.stop_worker(drop_slot => true)', '55006|-||', 'a slot that another process uses');
$reader->signal('INT');
$reader->finish;

# ---- A standby, and a server without the preload

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', q{SELECT kit.raised('SELECT blogstore.create_like(kit.p(1), kit.u(1))')}), '25006|||primary', 'a standby');
provoked('25006|||primary');
$standby->stop;

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
raises('SELECT blogstore.get_post(kit.p(1))', '55000|||preloaded', 'not preloaded');

is_deeply([ grep { !$provoked{$_} } sort keys %row ], [], 'a test provokes each row of the table');
is_deeply([ grep { !$row{$_} } sort keys %provoked ], [], 'and each error that is provoked is in the table');

done_testing();
