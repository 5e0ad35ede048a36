
# The extension and its objects work the same whatever settings a database has.
# In each round every setting of type boolean or enum that ALTER DATABASE
# accepts has another value than its default, and some other settings have an
# unusual one.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('odd_settings');
$node->start;
$node->safe_psql('postgres', "CREATE ROLE $_") foreach qw(site site_api browser blog_owner);

# Settings that by design change which commands are accepted or which messages
# are sent
my @left_out = qw(
  default_transaction_isolation default_transaction_read_only transaction_isolation
  transaction_read_only transaction_deferrable client_min_messages exit_on_error
  log_statement_stats log_parser_stats log_planner_stats log_executor_stats
);
# PostgreSQL 19 has this setting, but accepts only its default.
push @left_out, 'standard_conforming_strings' if $node->pg_version->major >= 19;
my $left_out = join ', ', map { "'$_'" } @left_out;

my %odd = (
	default_tablespace => [ 'pg_default', '' ],
	datestyle => [ 'German', 'SQL, DMY', 'Postgres, MDY', 'ISO, YMD' ],
	timezone => [ 'Asia/Kolkata', 'Pacific/Kiritimati', 'America/New_York' ],
	extra_float_digits => [ '-15', '3' ],
	lock_timeout => [ '600000', '0' ],
	search_path => [ q{"$user", pg_temp, public}, q{public, blogstore, pg_catalog} ],
	work_mem => [ '64', '1048576' ],
	maintenance_work_mem => ['1024'],
	logical_decoding_work_mem => ['64'],
	client_encoding => [ 'LATIN1', 'SQL_ASCII', 'UTF8' ],
	default_statistics_target => [ '1', '1000' ],
	idle_in_transaction_session_timeout => ['60000'],
	parallel_setup_cost => [ '0', '1000' ],
	parallel_tuple_cost => [ '0', '1' ],
	min_parallel_table_scan_size => [ '0', '1024' ],
	max_parallel_workers_per_gather => [ '8', '0' ],
	from_collapse_limit => ['1'],
	join_collapse_limit => ['1'],
	geqo_threshold => ['2'],
	jit_above_cost => [ '-1', '0' ],
	'plpgsql.extra_errors' => ['all'],
	'plpgsql.variable_conflict' => [ 'use_column', 'use_variable' ],
	'blogstore.current_user_id' => ['00000000-0000-7000-8000-000000000002']);

# Give a database the settings of a round.
sub set_odd
{
	my ($dbname, $round) = @_;
	my @settings = map { [ split /\|/, $_, 2 ] } split /\n/, $node->safe_psql(
		'postgres', qq{
SELECT name || '|' || CASE vartype WHEN 'bool' THEN CASE boot_val WHEN 'on' THEN 'off' ELSE 'on' END
	ELSE others[1 + $round % cardinality(others)] END
FROM pg_settings
CROSS JOIN LATERAL (SELECT array_agg(v ORDER BY n) FROM unnest(enumvals) WITH ORDINALITY AS e (v, n) WHERE v <> boot_val) AS o (others)
WHERE context IN ('user', 'superuser') AND vartype IN ('bool', 'enum') AND name NOT IN ($left_out) AND (vartype = 'bool' OR others IS NOT NULL)
ORDER BY name});

	cmp_ok(scalar @settings, '>', 60, "round $round: settings of one of several values");
	push @settings, map { [ $_, $odd{$_}[ $round % @{ $odd{$_} } ] ] } sort keys %odd;
	foreach my $setting (@settings)
	{
		my ($name, $value) = @$setting;

		$value = "'$value'" unless $name eq 'search_path';
		$node->safe_psql('postgres', "ALTER DATABASE $dbname SET $name = $value");
	}
	return;
}

# Everything that the extension executes and creates. The output must not
# depend on settings.
my $calls = <<'SQL' . kit_file('ids') . kit_file('store') . <<'SQL';
\set VERBOSITY verbose
\set SHOW_CONTEXT never
CREATE EXTENSION blogstore;
GRANT CREATE ON SCHEMA blogstore TO blog_owner;
SELECT blogstore.create_containers(4, owner => 'blog_owner');
SELECT relname, relpersistence, reltablespace, (SELECT amname FROM pg_am WHERE oid = relam)
FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname COLLATE "C";
SQL
SELECT blogstore.grant_requests('site'), blogstore.grant_requests('site_api');
SELECT blogstore.api_bypass('browser') IS NULL, blogstore.api_bypass('site') IS NULL;
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site_api;
SET ROLE site_api;
SELECT blogstore.create_api('own', 'browser', true);
RESET ROLE;
SELECT blogstore.create_api('api', 'site');
CREATE TEMP TABLE made AS SELECT oid FROM pg_proc WHERE pronamespace = 'api'::regnamespace;
SELECT blogstore.create_api('api', 'site');
SELECT count(*), count(m.oid) FROM pg_proc AS p LEFT JOIN made AS m ON m.oid = p.oid WHERE p.pronamespace = 'api'::regnamespace;
SELECT nspname, proname, pronargs, md5(prosrc), proconfig FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE nspname IN ('api', 'own') ORDER BY 1, 2;

SELECT kit.fill(3, 20);
SELECT username FROM blogstore.create_user(E'O''Brien \\', kit.u(4), kit.d(0), '{"a": 1.50}');
SELECT count(blogstore.create_comment(kit.p(n), kit.u(2), E'a \\ comment', kit.c(n), kit.d(n))) FROM generate_series(1, 20) n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(3), 'a reply', kit.c(100 + n), kit.d(n), parent_id => kit.c(n))) FROM generate_series(1, 20) n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(2), kit.d(n))) FROM generate_series(1, 10) n;
SELECT title, properties FROM blogstore.edit_post(kit.p(1), E'\\ ''new''', properties => '{"x": [1, 2.50]}');
SELECT hidden FROM blogstore.hide_post(kit.p(2));
SELECT hidden FROM blogstore.hide_comment(kit.p(3), kit.c(3));
SELECT blogstore.delete_post(kit.p(4)), blogstore.delete_comment(kit.p(5), kit.c(5)), blogstore.delete_like(kit.p(6), kit.u(2));
SELECT username FROM blogstore.edit_user(kit.u(2), 'renamed');
SELECT kit.views_follow();
SELECT * FROM blogstore.verify();
SELECT id, title, content, user_username, comment_count, like_count, extract(epoch FROM creation_date), properties FROM blogstore.list_feed(30);
SELECT id, title, comment_count, like_count, properties FROM blogstore.get_post(kit.p(1));
SELECT username, properties FROM blogstore.get_user_by_name(E'O''BRIEN \\');
SELECT count(*), min(user_username) FROM blogstore.list_user_comments(kit.u(2), NULL);
SELECT count(*) FROM blogstore.list_user_likes(kit.u(2), NULL);
SELECT count(*) FROM blogstore.get_comment_likes(kit.u(2), kit.p(7));
SELECT count(*) FROM blogstore.list_comment_replies(kit.p(7), kit.c(7));
SELECT count(*) FROM blogstore.list_user_posts(kit.u(1), NULL, include_hidden => true);
SELECT id FROM blogstore.get_posts(ARRAY[kit.p(8), kit.p(7), kit.p(999)]);
SET ROLE site;
SELECT count(*) FROM api.list_feed(5);
RESET ROLE;
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000001';
SET ROLE browser;
SELECT title FROM own.create_post('mine', E'\\ text', '00000000-0000-7000-8001-000000000777');
SELECT count(*) FROM own.list_feed(5);
SELECT own.delete_post('00000000-0000-7000-8001-000000000777');
RESET ROLE;

UPDATE blogstore.posts SET comment_count = 5 WHERE id = kit.p(10) AND type = 'post';
UPDATE blogstore.posts SET user_username = 'wrong' WHERE id = kit.c(11) AND type = 'comment';
DELETE FROM blogstore.usernames WHERE user_id = kit.u(2);
SELECT container, problem, id, expected, actual FROM blogstore.verify() WHERE container <> 'feed' AND problem <> 'stale copy' ORDER BY 1, 2, 3;
SELECT kit.views_follow();
SELECT blogstore.repair();
SELECT kit.views_follow();
SELECT * FROM blogstore.verify();

CREATE TABLE public.documents AS SELECT d || CASE WHEN d->>'title' = 'title 12' THEN '{"creationDate": "yesterday"}' ELSE '{}' END::jsonb AS d
FROM blogstore.export_documents() AS d;
SELECT count(*) FROM public.documents;
SELECT count(blogstore.delete_user(kit.u(n))) FROM generate_series(1, 4) n;
SELECT kit.views_follow();
CREATE TABLE public.rejects (type text, reason text, item jsonb);
SELECT * FROM blogstore.import_documents('public.documents', 'public.rejects');
SELECT type, reason, CASE WHEN type <> 'like' THEN item->>'id' END FROM public.rejects ORDER BY 1, 2, 3;
SELECT d - '{id,creationDate,modificationDate}'::text[] AS shown FROM blogstore.export_documents() AS d ORDER BY (d - '{id,creationDate,modificationDate}'::text[])::text COLLATE "C";
SELECT sum(extract(epoch FROM creation_date)) FROM blogstore.posts WHERE type <> 'delta';
CREATE TABLE public.users (user_id bigint, username text, creation_date timestamptz, karma float8, joined date);
INSERT INTO public.users VALUES (1, E'\\ada', kit.d(1), '0.1234567890123456', '2024-02-03');
CREATE TABLE public.posts (post_id bigint, user_id bigint, title text, content text, creation_date timestamptz);
INSERT INTO public.posts SELECT n, 1, 'imported ' || n, 'text', kit.d(n) FROM generate_series(1, 10) n;
CREATE TABLE public.likes (post_id bigint, user_id bigint, creation_date timestamptz);
INSERT INTO public.likes SELECT n, 1, kit.d(n) FROM generate_series(1, 12) n;
SELECT * FROM blogstore.import(users => 'public.users', posts => 'public.posts', likes => 'public.likes', rejects => 'public.rejects', extra => '{karma,joined}');
UPDATE public.posts SET title = 'changed' WHERE post_id = 3;
SELECT * FROM blogstore.import(users => 'public.users', posts => 'public.posts', likes => 'public.likes', rejects => 'public.rejects', extra => '{karma,joined}', changed => 'update');
SELECT properties FROM blogstore.get_user_by_name(E'\\ada');
SELECT blogstore.rebuild_views();
SELECT kit.views_follow();
SELECT * FROM blogstore.verify();
SELECT title, like_count FROM blogstore.list_feed(12);
SELECT blogstore.stop_worker(true);
SELECT blogstore.start_worker();
SELECT kit.views_follow();
SELECT state, last_error FROM blogstore.stat_worker;
SELECT count(*) FROM blogstore.progress;
SELECT blogstore.revoke_requests('site');
SELECT has_function_privilege('site', 'blogstore.get_post(uuid)', 'EXECUTE');
DROP EXTENSION blogstore CASCADE;
SELECT count(*) FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p');
SQL

# Returns the output of all this in a new database, to which the sub $set gives
# settings.
sub output_of
{
	my ($dbname, $set) = @_;
	my ($out, $err) = ('', '');

	$node->safe_psql('postgres', "CREATE DATABASE $dbname TEMPLATE template0");
	$node->safe_psql('postgres', "GRANT ALL ON DATABASE $dbname TO site_api, blog_owner; ALTER DATABASE $dbname SET search_path = public");
	$set->($dbname);
	$node->psql($dbname, $calls, stdout => \$out, stderr => \$err, on_error_stop => 0);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	# Leave out the server's NOTICEs, and those that contain amounts.
	$err = join "\n", grep { /^(?:ERROR|WARNING|PANIC|FATAL|TRAP|HINT)/ } split /\n/, $err;
	$node->safe_psql('postgres', "DROP DATABASE $dbname");
	return "$out\n$err";
}

my $usual = output_of('usual', sub { });
unlike($usual, qr/ERROR/, 'default settings: no error');
like($usual, qr/^running\|$/m, 'and the worker runs');
for my $round (0 .. 3)
{
	my $odd = output_of("odd_$round", sub { set_odd($_[0], $round) });

	is($odd, $usual, "round $round: the same output as with default settings");
}

done_testing();
