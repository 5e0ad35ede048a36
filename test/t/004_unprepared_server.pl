
# What works on a server that does not preload the library, that may have no
# replication slot, or whose wal_level is too low for a worker. The containers
# are filled on a fully configured server. Then its settings are taken away,
# and given back at the end.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('unprepared');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 150);
$node->safe_psql(
	'postgres', q{
CREATE ROLE app;
SELECT blogstore.grant_requests('app');
CREATE TABLE source (user_id uuid, username text, creation_date timestamptz);
});
check_store($node, 'postgres', 'prepared');
my $slot = worker_slot($node, 'postgres');
my $level = decoding_level($node);

sub restart_with
{
	my (@settings) = @_;

	$node->append_conf('postgresql.conf', $_) foreach @settings;
	$node->restart;
	return;
}

# ---- Not preloaded

restart_with("shared_preload_libraries = ''");

# Calls that work without the preload, with their results. All other functions
# of the extension fail with SQLSTATE 55000.
my $item = '00000000-0000-7000-8001-000000000001';
my %works = (
	'library_version' => [ q{SELECT blogstore.library_version() ~ '^[0-9]+[.][0-9]+[.][0-9]+$'}, 't' ],
	'new_id' => [ q{SELECT uuid_send(blogstore.new_id()) IS NOT NULL}, 't' ],
	'key_id' => [ q{SELECT blogstore.key_id('user', '1')}, '0a57baf8-f06d-8149-acc5-6e6a5443d4d3' ],
	'user_document' => [ qq{SELECT row('$item', 'user', '$item', 'ann', NULL, NULL)::blogstore.user_item::jsonb ->> 'username'}, 'ann' ],
	'post_document' => [ qq{SELECT row('$item', 'post', '$item', '$item', 'ann', 'title', 'content', 1, 2, NULL, NULL, NULL, NULL, NULL)::blogstore.post_item::jsonb ->> 'likeCount'}, '2' ],
	'comment_document' => [ qq{SELECT row('$item', 'comment', '$item', '$item', 'ann', 'content', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::blogstore.comment_item::jsonb ->> 'content'}, 'content' ],
	'like_document' => [ qq{SELECT row('$item', 'like', '$item', '$item', 'ann', NULL, NULL)::blogstore.like_item::jsonb ->> 'type'}, 'like' ],
	'follow_document' => [ qq{SELECT row('$item', 'follow', '$item', 'ann', '$item', 'bob', NULL)::blogstore.follow_item::jsonb ->> 'followedUsername'}, 'bob' ],
	'get_worker_status' => [ q{SELECT state, slot, last_error FROM blogstore.get_worker_status()}, "disabled|$slot|the library is not preloaded" ],
	'get_workers_status' => [ q{SELECT database, state, slot, last_error FROM blogstore.get_workers_status()}, "postgres|disabled|$slot|the library is not preloaded" ],
	# Functions that manage rights and definitions
	'request_names' => [ q{SELECT 'list_feed' = ANY (blogstore.request_names())}, 't' ],
	'request_functions' => [ q{SELECT kind FROM blogstore.request_functions() WHERE function = 'blogstore.list_feed'::regproc}, 'query' ],
	'api_functions' => [ q{SELECT count(*) FROM blogstore.api_functions('api') WHERE name = 'get_post'}, '1' ],
	'api_bypass' => [ q{SELECT blogstore.api_bypass('app')}, 'can execute blogstore.create_comment(uuid,uuid,text,uuid,timestamp with time zone,jsonb,boolean,uuid)' ],
	'create_api' => [ q{SELECT blogstore.create_api('api', 'app'); SELECT has_function_privilege('app', 'api.get_post(uuid)', 'EXECUTE')}, "\nt" ],
	'revoke_requests' => [ q{SELECT blogstore.revoke_requests('app'); SELECT has_function_privilege('app', 'blogstore.get_post(uuid)', 'EXECUTE')}, "\nf" ],
	'grant_requests' => [ q{SELECT blogstore.grant_requests('app'); SELECT has_function_privilege('app', 'blogstore.get_post(uuid)', 'EXECUTE')}, "\nt" ]);

# kit.calls has one call of each function of the extension, with values of its
# arguments' types.
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION kit.answer(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message	text;
	hint	text;
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN format('%s %s (%s)', SQLSTATE, message, hint);
END $$;
CREATE FUNCTION kit.value_of(wanted regtype) RETURNS text LANGUAGE sql AS $$
SELECT coalesce((SELECT format('%L::%s', v.value, wanted) FROM (VALUES
	('uuid', '00000000-0000-7000-8000-000000000001'), ('uuid[]', '{00000000-0000-7000-8000-000000000001}'),
	('text', 'a text'), ('text[]', '{a text}'), ('boolean', 'false'), ('integer', '1'), ('integer[]', '{1}'), ('bigint', '1'), ('bigint[]', '{1}'), ('oid', '1'),
	('timestamp with time zone', '2024-01-01 00:00+00'), ('timestamp with time zone[]', '{2024-01-01 00:00+00}'), ('interval', '1 s'),
	('jsonb', '{}'), ('jsonb[]', '{}'), ('regrole', 'app'), ('regclass', 'source')) AS v (type, value)
	WHERE v.type = wanted::text), format(CASE WHEN wanted::text LIKE '%[]' THEN '''{}''' ELSE 'NULL' END || '::%s', wanted)) $$;
CREATE VIEW kit.calls AS
SELECT p.oid, p.proname::text AS name, CASE p.prokind WHEN 'p' THEN 'CALL ' ELSE 'SELECT * FROM ' END ||
	format('blogstore.%I(%s)', p.proname, (SELECT string_agg(kit.value_of(a.type), ', ' ORDER BY a.n) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, n))) AS call
FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore');
CREATE VIEW kit.views AS
SELECT c.relname::text AS name FROM pg_depend AS d JOIN pg_class AS c ON c.oid = d.objid
WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND c.relkind = 'v' AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore');
});
my $not_preloaded = '55000 the blogstore library is not preloaded (Add blogstore to shared_preload_libraries, set wal_level = ' . $level . ', and restart the server.)';
# drop_slots() works, too, but would drop the slot that the tests below need.
my $others = join ', ', map { "'$_'" } 'drop_slots', sort keys %works;
cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM kit.calls WHERE name NOT IN ($others)"), '>', 50, 'not preloaded: there are more than 50 functions to call');
is($node->safe_psql('postgres', "SELECT call, kit.answer(call) FROM kit.calls WHERE name NOT IN ($others) AND kit.answer(call) <> '$not_preloaded' ORDER BY 1"),
	'', 'not preloaded: each of them fails, and says what to set');
is($node->safe_psql('postgres', "SELECT count(DISTINCT name) FROM kit.calls WHERE name IN ($others)"), 1 + keys %works, 'not preloaded: the functions that need no preload exist');
foreach my $name (sort keys %works)
{
	my ($sql, $result) = @{ $works{$name} };
	is($node->safe_psql('postgres', "SET client_min_messages = error; $sql"), $result, "not preloaded: $name() works");
}
is($node->safe_psql('postgres', "SELECT name, kit.answer(format('SELECT * FROM blogstore.%I', name)) FROM kit.views ORDER BY 1"),
	join("\n", map { /^stat_workers?$/ ? "$_|ok" : "$_|$not_preloaded" } qw(cluster_progress cluster_stat_requests cluster_stat_worker progress stat_requests stat_worker stat_workers)),
	'not preloaded: stat_worker and stat_workers are the only views that answer');
is($node->safe_psql('postgres', "SELECT kit.answer('SELECT blogstore.create_containers(4)')"), $not_preloaded, 'not preloaded: create_containers() too');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ \'^blogstore\''), '0', 'not preloaded: no process');

# A database with the extension can be dumped, restored and dropped.
my $base = $PostgreSQL::Test::Utils::tmp_check;
command_ok([ 'pg_dump', '-Fc', '-f', "$base/unprepared.dump", '-d', $node->connstr('postgres') ], 'not preloaded: dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), "$base/unprepared.dump" ], 'not preloaded: restored');
my $all = 'SELECT count(*), sum(hashtext(p::text)) FROM blogstore.posts p';
is($node->safe_psql('restored', $all), $node->safe_psql('postgres', $all), 'not preloaded: the restored database has all items');
$node->safe_psql('restored', 'DROP SCHEMA api, kit CASCADE; DROP EXTENSION blogstore');
is($node->safe_psql('restored', $all), $node->safe_psql('postgres', $all), 'not preloaded: items outlive the extension');
$node->safe_psql('restored', 'CREATE EXTENSION blogstore; DROP EXTENSION blogstore; DROP SCHEMA blogstore CASCADE');
$node->safe_psql('postgres', 'DROP DATABASE restored');

# Any session that may use slots can decode with the output plugin, which loads
# the library. The tables have names like those of a cluster's shards.
$node->safe_psql(
	'postgres', q{
CREATE TABLE blogstore.posts_102008 (LIKE blogstore.posts) PARTITION BY LIST (type);
CREATE TABLE blogstore.posts_102008_like PARTITION OF blogstore.posts_102008 FOR VALUES IN ('like');
CREATE TABLE blogstore.user_items_102009 (user_id uuid);
});
# Newer servers refuse output plugins that this setting does not list.
my $allow = "SELECT set_config(name, 'blogstore', false) FROM pg_settings WHERE name = 'output_plugin_libraries';";
$node->safe_psql('postgres', "$allow SELECT pg_create_logical_replication_slot('foreign', 'blogstore')");
$node->safe_psql(
	'postgres', q{
INSERT INTO blogstore.posts_102008 SELECT * FROM blogstore.posts WHERE type = 'like' LIMIT 1;
INSERT INTO blogstore.user_items_102009 SELECT gen_random_uuid();
});
like($node->safe_psql('postgres', "$allow SELECT count(*) FROM pg_logical_slot_get_binary_changes('foreign', NULL, NULL)"), qr/^\d+$/m, 'not preloaded: changes are decoded');
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('foreign'); DROP TABLE blogstore.posts_102008, blogstore.user_items_102009});

# The worker's slot still exists and keeps WAL. stat_worker says how to drop
# it.
like($node->safe_psql('postgres', 'SELECT hint FROM blogstore.stat_worker'), qr/shared_preload_libraries.*the slot keeps all WAL.*stop_worker\(drop_slot => true\) drops/, 'not preloaded: stat_worker says what to set, and how to let the slot go');
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.drop_slots()'), '0', 'not preloaded: no slot is left to drop');
is($node->safe_psql('postgres', 'SELECT slot, lag_bytes, hint FROM blogstore.stat_worker'),
	"||Add blogstore to shared_preload_libraries, set wal_level = $level, and restart the server.", 'not preloaded: no slot');

# ---- Preloaded, without a replication slot

# The row of blogstore.view_state still says that the views are complete, as it
# did when the library was taken out. A standby knows nothing else about the
# views.
is($node->safe_psql('postgres', 'SELECT ready FROM blogstore.view_state'), 't', 'the views were complete');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "shared_preload_libraries = 'blogstore'");
$standby->start;
restart_with('max_replication_slots = 0', "shared_preload_libraries = 'blogstore'");

sub check_disabled
{
	my ($server, $name, $setting) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($server->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'), 'disabled', "$name: stat_worker: disabled");
	like($server->safe_psql('postgres', 'SELECT hint FROM blogstore.stat_worker'), qr/$setting/, "$name: its hint names $setting");
	is($server->safe_psql('postgres', "SELECT answer FROM (SELECT kit.try('blogstore.' || call) AS answer FROM unnest(ARRAY['wait_for_views()', 'rebuild_views()', 'start_worker()']) AS call) AS c GROUP BY answer"),
		'55000, hint', "$name: calls that need the worker fail at once");
	return;
}

# Requests are answered; they read lists from posts.
my $order = 'ORDER BY creation_date DESC, id DESC';
my $columns = 'id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date';

sub check_requests
{
	my ($server, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $case (
		[ 'Q6', 'list_feed()', "$order LIMIT 100" ],
		[ 'Q6, all', 'list_feed(NULL)', $order ],
		[ 'Q6, a page', 'list_feed(10, kit.d(50), kit.p(50))', "$order LIMIT 10",
			"WHERE (creation_date, id) < (kit.d(50), kit.p(50))" ],
		[ 'Q3', 'list_user_posts(kit.u(1))', "$order LIMIT 20", 'WHERE user_id = kit.u(1)' ],
		[ 'Q3, all', 'list_user_posts(kit.u(2), NULL)', $order, 'WHERE user_id = kit.u(2)' ],
		[ 'Q3, a page', 'list_user_posts(kit.u(1), 3, kit.d(100), kit.p(100))', "$order LIMIT 3",
			'WHERE user_id = kit.u(1) AND (creation_date, id) < (kit.d(100), kit.p(100))' ])
	{
		my ($request, $call, $tail, $where) = @$case;
		is( $server->safe_psql('postgres', "SELECT $columns FROM blogstore.$call"),
			$server->safe_psql('postgres', "SELECT $columns FROM kit.implied " . ($where // '') . " $tail"),
			"$name: $request");
	}
	is($server->safe_psql('postgres', 'SELECT * FROM kit.wrong_counts()'), '', "$name: Q2 counts are exact");
	is( $server->safe_psql('postgres', 'SELECT id FROM blogstore.list_post_comments(kit.p(7), 2)'),
		$server->safe_psql('postgres', "SELECT id FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p(7) $order LIMIT 2"),
		"$name: Q4");
	is( $server->safe_psql('postgres', 'SELECT user_id FROM blogstore.list_post_likes(kit.p(7), 2)'),
		$server->safe_psql('postgres', "SELECT user_id FROM blogstore.posts WHERE type = 'like' AND post_id = kit.p(7) $order LIMIT 2"),
		"$name: Q5");
	is( $server->safe_psql('postgres', 'SELECT username FROM blogstore.get_user(kit.u(1))'),
		$server->safe_psql('postgres', "SELECT username FROM blogstore.users WHERE type = 'user' AND user_id = kit.u(1)"),
		"$name: Q1");
	is($server->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', "$name: verify() shows nothing");
	return;
}

sub check_standby
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', 'SELECT txid_current()');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	check_requests($standby, "standby, $name");
	return;
}

sub check_without_worker
{
	my ($name, $setting) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	check_disabled($node, $name, $setting);
	wait_until($node, 'postgres', 'SELECT NOT ready FROM blogstore.view_state');
	wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), '0', "$name: no slot");
	check_requests($node, $name);
	return;
}

check_without_worker('no slots', 'max_replication_slots');
check_standby('no slots');
is( $node->safe_psql(
		'postgres', q{
SELECT blogstore.delete_post(kit.p(149));
SELECT title FROM blogstore.create_post(kit.u(1), 'between', 'x', kit.p(499), kit.d(499))}),
	"t\nbetween", 'no slots: commands work');
check_requests($node, 'no slots, after commands');
check_standby('no slots, after commands');

# The worker builds the views, on the standby, too.
restart_with('max_replication_slots = 10');
check_store($node, 'postgres', 'with a slot again');
check_requests($node, 'with a slot again');
check_standby('with a slot again');
$standby->stop;

# ---- Preloaded, with a wal_level that is too low

# The views are complete again when the slot is dropped.
restart_with("shared_preload_libraries = ''");
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
is($node->safe_psql('postgres', 'SELECT ready FROM blogstore.view_state'), 't', 'the views are complete again');
wal_level_too_low($node);
restart_with("shared_preload_libraries = 'blogstore'");
check_without_worker('wal_level too low', 'wal_level');

# create_containers() warns that the views will not be maintained.
$node->safe_psql('postgres', 'CREATE DATABASE other; CREATE ROLE other_owner');
my ($rc, $stdout, $stderr) = $node->psql('other', 'CREATE EXTENSION blogstore; GRANT CREATE ON SCHEMA blogstore TO other_owner; SELECT blogstore.create_containers(4, owner => \'other_owner\')');
is($rc, 0, 'wal_level too low: create_containers() works');
like($stderr, qr/^psql:\S+ WARNING:  the views will not be kept up to date: wal_level is below $level\nDETAIL: .*\nHINT: .*wal_level = $level/m, 'wal_level too low: and warns');
$node->safe_psql('other', q{SELECT blogstore.create_user('one')});

is( $node->safe_psql(
		'postgres', q{
SELECT blogstore.delete_post(kit.p(150));
SELECT blogstore.delete_like(kit.p(1), kit.u(1));
SELECT title FROM blogstore.edit_post(kit.p(2), 'edited');
SELECT title FROM blogstore.create_post(kit.u(1), 'newest', repeat('x', 300), kit.p(500), kit.d(500));
SELECT id = kit.c(5000) FROM blogstore.create_comment(kit.p(500), kit.u(2), 'x', kit.c(5000));
SELECT type FROM blogstore.create_like(kit.p(500), kit.u(2));
}),
	"t\nt\nedited\nnewest\nt\nlike",
	'wal_level too low: commands work');
check_requests($node, 'wal_level too low, after commands');
is(sqlstate($node, 'postgres', "create_user('USER 1')"), '23505, hint', 'wal_level too low: usernames are unique');

# verify() finds a count that was made wrong, and repair() corrects it.
$node->safe_psql('postgres', "UPDATE blogstore.posts SET like_count = 99 WHERE type = 'delta' AND post_id = kit.p(9)");
is($node->safe_psql('postgres', 'SELECT container, problem, type, id = kit.p(9), actual FROM blogstore.verify()'), 'posts|like_count|post|t|99', 'wal_level too low: verify() shows a wrong count');
is($node->safe_psql('postgres', 'SELECT blogstore.repair()'), '1', 'wal_level too low: repair() mends it');

# Without a worker, deltas stay: rows that hold not yet folded changes of a
# post's counts. A session writes one delta for each post, however often it
# changes the counts. Editing a comment writes none.
my $counter = q{SELECT FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(20) AND id = '00000000-0000-0000-0000-000000000000' FOR NO KEY UPDATE};
my $deltas = q{SELECT count(*) FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(20) AND id <> '00000000-0000-0000-0000-000000000000'};
my $gate = $node->background_psql('postgres');
$gate->query_safe("BEGIN; $counter");
my @writers = map { $node->background_psql('postgres') } 1 .. 3;
foreach my $n (1 .. 10)
{
	foreach my $w (0 .. 2)
	{
		my $comment = 6000 + 10 * $n + $w;

		$writers[$w]->query_safe("SELECT blogstore.create_comment(kit.p(20), kit.u(1), 'x', kit.c($comment))");
		$writers[$w]->query_safe("SELECT blogstore.edit_comment(kit.p(20), kit.c($comment), 'edited')");
	}
}
is($node->safe_psql('postgres', $deltas), '3', 'wal_level too low: a process adds to one delta of a post');
$_->quit foreach @writers;
$gate->query_safe('COMMIT');
$gate->quit;
is($node->safe_psql('postgres', 'SELECT comment_count FROM blogstore.get_post(kit.p(20)); SELECT * FROM kit.wrong_counts()'), '33', 'wal_level too low: counts are exact');
is($node->safe_psql('postgres', "SELECT blogstore.repair(); $deltas"), "0\n0", 'wal_level too low: repair() folds');

# ---- Renames and deletions are queued

# One user is renamed twice. Another user takes the first of the two names.
is($node->safe_psql('postgres', q{SELECT username FROM blogstore.edit_user(kit.u(3), 'once'); SELECT username FROM blogstore.edit_user(kit.u(3), 'twice'); SELECT username FROM blogstore.create_user('once', kit.u(30))}),
	"once\ntwice\nonce", 'queued: renames return');
is($node->safe_psql('postgres', q{SELECT username FROM blogstore.get_user(kit.u(3)); SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(3)}),
	"twice\nuser 3", 'queued: the user has the new name, items have the old one');
is($node->safe_psql('postgres', q{SELECT user_username FROM blogstore.create_post(kit.u(3), 'x', 'x', kit.p(503), kit.d(503)); SELECT user_username FROM blogstore.create_comment(kit.p(1), kit.u(3), 'x', kit.c(5003)); SELECT user_username FROM blogstore.create_like(kit.p(500), kit.u(3))}),
	"twice\ntwice\ntwice", 'queued: new items have the new one');
is($node->safe_psql('postgres', q{SELECT kind, user_id = kit.u(3), phase, count(*) FROM blogstore.progress GROUP BY 1, 2, 3}), 'rename|t|waiting|2', 'queued: progress shows them');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'queued: verify() does not list names that a job will write');
$node->safe_psql('postgres', q{UPDATE blogstore.posts SET user_username = 'Mallory' WHERE type = 'like' AND post_id = kit.p(2) AND user_id = kit.u(2)});
is($node->safe_psql('postgres', 'SELECT problem, type, actual FROM blogstore.verify()'), 'username|like|Mallory', 'queued: verify() lists any other wrong name');
is($node->safe_psql('postgres', 'SELECT blogstore.repair()'), '1', 'queued: repair() corrects it');

# The user has more items than delete_user() deletes in its own transaction.
is($node->safe_psql('postgres', q{
SELECT blogstore.delete_user(kit.u(4));
SELECT count(*) > 0 FROM blogstore.posts WHERE user_id = kit.u(4);
SELECT count(*) FROM blogstore.get_user(kit.u(4));
SELECT count(*) FROM blogstore.list_user_posts(kit.u(4), NULL);
SELECT count(*) FROM blogstore.list_user_comments(kit.u(4), NULL);
SELECT count(*) FROM blogstore.list_feed(NULL) WHERE user_id = kit.u(4);
SELECT count(*) FROM generate_series(1, 149) n, blogstore.list_post_comments(kit.p(n), NULL) c WHERE c.user_id = kit.u(4)}),
	"t\nt\n0\n0\n0\n0\n0", 'queued: nothing of a deleted user is served');
is($node->safe_psql('postgres', q{
SELECT p.id FROM blogstore.list_feed(NULL) p, blogstore.get_post(p.id) g
WHERE (g.comment_count, g.like_count) IS DISTINCT FROM ((SELECT count(*) FROM blogstore.list_post_comments(p.id, NULL)), (SELECT count(*) FROM blogstore.list_post_likes(p.id, NULL)))
	OR (g.comment_count, g.like_count) IS DISTINCT FROM (p.comment_count, p.like_count)}),
	'', 'queued: nor is it counted');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'queued: verify() shows nothing');
is($node->safe_psql('postgres', q{SELECT count(*) FROM blogstore.export_documents() d WHERE d ->> 'userId' = kit.u(4)::text}), '0', 'queued: nothing of the deleted user is exported');

# A new user with the id of a deleted one gets none of the old user's items,
# and can be renamed and deleted.
my $anew = q{SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(5)};
is($node->safe_psql('postgres', qq{
SELECT blogstore.delete_user(kit.u(5));
SELECT username FROM blogstore.create_user('another', kit.u(5));
$anew;
SELECT user_username FROM blogstore.create_comment(kit.p(500), kit.u(5), 'another', kit.c(5005));
SELECT username FROM blogstore.edit_user(kit.u(5), 'another name');
SELECT string_agg(content, ' ') FROM blogstore.list_user_comments(kit.u(5), NULL)}),
	"t\nanother\n0\nanother\nanother name\nanother", 'queued: a user is created anew, and renamed');
is($node->safe_psql('postgres', qq{
SELECT blogstore.delete_user(kit.u(6));
SELECT username FROM blogstore.create_user('third', kit.u(6));
SELECT count(blogstore.create_like(id, kit.u(6))) FROM unnest(ARRAY(SELECT id FROM blogstore.list_feed(20))) id;
SELECT blogstore.delete_user(kit.u(6));
SELECT count(*) FROM blogstore.get_user(kit.u(6))}),
	"t\nthird\n20\nt\n0", 'queued: and is deleted once more');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'queued: verify() shows nothing of that either');

# When a partition begins to be detached, the others are numbered anew. No lock
# on the container prevents that. create_user() still deletes all items of the
# deleted user whose id it takes.
$node->safe_psql('postgres', q{
SELECT count(blogstore.create_comment(id, kit.u(7), 'comment ' || n))
FROM unnest(ARRAY(SELECT id FROM blogstore.list_feed(NULL) WHERE user_id <> kit.u(7))) id, generate_series(1, 4) n;
SELECT blogstore.delete_user(kit.u(7))});
is($node->safe_psql('postgres', q{SELECT count(DISTINCT tableoid) FROM blogstore.posts WHERE user_id = kit.u(7)}), '4', 'a deleted user has items in four leaves');
$gate = $node->background_psql('postgres');
$gate->query_safe('BEGIN; LOCK TABLE ONLY blogstore.posts_p01_comment IN SHARE MODE');
my $creating = start_client($node, 'postgres', q{SELECT username FROM blogstore.create_user('fourth', kit.u(7))}, 'creating');
wait_until($node, 'postgres', "SELECT count(*) = 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE application_name = 'creating' AND relation = 'blogstore.posts_p01_comment'::regclass AND NOT granted");
my $detaching = start_client($node, 'postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00 CONCURRENTLY', 'detaching');
wait_until($node, 'postgres', "SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = 'blogstore.posts_p00'::regclass");
$gate->query_safe('COMMIT');
$gate->quit;
is(join(' ', @{ (finish_client($creating))[0] }), 'fourth', 'a user is created anew while a partition begins to be detached');
is((finish_client($detaching))[1], '', 'the partition is detached after that');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0)');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(7)'), '0', 'nothing is left of the old user');

# No job would return to items in a detached partition.
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00');
is(sqlstate($node, 'postgres', "create_user('fifth', kit.u(4))"), '55000, hint', 'a partition is away: a user with an id that is being deleted is refused');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 FOR VALUES WITH (MODULUS 4, REMAINDER 0)');

# Leave a delta for the worker to fold.
$gate = $node->background_psql('postgres');
$gate->query_safe("BEGIN; $counter");
$node->safe_psql('postgres', q{SELECT blogstore.create_comment(kit.p(20), kit.u(1), 'x')});
$gate->query_safe('COMMIT');
$gate->quit;
is($node->safe_psql('postgres', $deltas), '1', 'a delta is left');

# ---- Prepared again: the worker does the jobs, and builds the views

restart_with('wal_level = logical', 'max_wal_senders = 10');
check_store($node, 'postgres', 'prepared again');
is($node->safe_psql('postgres', 'SELECT state, hint FROM blogstore.stat_worker'), 'running|', 'prepared again: stat_worker: running');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.progress'), '0', 'prepared again: the jobs are done');
is($node->safe_psql('postgres', q{
SELECT count(*) FROM blogstore.posts p LEFT JOIN blogstore.users u ON u.type = 'user' AND u.user_id = p.user_id
WHERE p.type <> 'delta' AND p.user_username IS DISTINCT FROM u.username}), '0', 'prepared again: all items have the names of their authors, who are there');
is($node->safe_psql('postgres', 'SELECT username FROM blogstore.users WHERE type = \'user\' AND user_id IN (kit.u(3), kit.u(4), kit.u(5), kit.u(6), kit.u(7)) ORDER BY 1'),
	"another name\nfourth\ntwice", 'prepared again: each id has the user who was created last');
wait_until($node, 'postgres', $deltas =~ s/count\(\*\)/count(*) = 0/r);
check_requests($node, 'prepared again');
$node->stop;

# A server with logical decoding but without a free replication slot
my $full = new_server('full');
$full->append_conf('postgresql.conf', 'max_replication_slots = 0');
$full->start;
create_store($full, 'postgres');
check_disabled($full, 'no slots', 'max_replication_slots');
is( $full->safe_psql('postgres',
		"SELECT username FROM blogstore.create_user('x', '00000000-0000-7000-8000-000000000001');
		SELECT title FROM blogstore.create_post('00000000-0000-7000-8000-000000000001', 't', 'c');
		SELECT title FROM blogstore.list_feed()"),
	"x\nt\nt", 'no slots: requests work');
$full->stop;

done_testing();
