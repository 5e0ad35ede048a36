
# A site moves in while it is in use: its changes are imported again and again,
# beside live traffic on the same posts. No import fails, no count is wrong,
# and at the end the store has what the source has. The test repeats that where
# wal_level is too low for a worker, and with a foreign table as the source.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = 8;
my $CLIENTS = 3;

# The tables of a site, and a procedure that changes them like a day of use
my $site = q{
CREATE SCHEMA site;
CREATE TABLE site.users (user_id bigint PRIMARY KEY, username text, creation_date timestamptz);
CREATE TABLE site.posts (post_id integer PRIMARY KEY, user_id bigint, title text, content text, creation_date timestamptz);
CREATE TABLE site.comments (comment_id bigint PRIMARY KEY, post_id bigint, user_id integer, content text, creation_date timestamptz);
CREATE TABLE site.likes (post_id integer, user_id integer, creation_date timestamptz);
INSERT INTO site.users SELECT n, 'member ' || n, kit.d(n) FROM generate_series(1, 40) n;
INSERT INTO site.posts SELECT n, 1 + n % 40, 'title ' || n, 'content ' || n, kit.d(100 + n) FROM generate_series(1, 200) n;
INSERT INTO site.comments SELECT n, 1 + n % 200, CASE WHEN n % 7 > 0 THEN 1 + n % 40 END, 'comment ' || n, kit.d(1000 + n) FROM generate_series(1, 2000) n;
INSERT INTO site.likes SELECT p, u, kit.d(5000 + u) FROM generate_series(1, 200) p, generate_series(1, 40) u WHERE (p + u) % 3 = 0;
CREATE PROCEDURE site.goes_on(day int) LANGUAGE sql AS $$
	UPDATE site.posts SET title = 'title ' || post_id || ' of day ' || day WHERE (post_id + day) % 5 = 0;
	UPDATE site.posts SET content = repeat('day ' || day || ' ', 1 + post_id * 100) WHERE (post_id + day) % 11 = 0;
	UPDATE site.comments SET content = 'said on day ' || day WHERE (comment_id + day) % 13 = 0;
	-- Users exchange their names.
	UPDATE site.users u SET username = o.username FROM site.users o
	WHERE u.user_id BETWEEN 1 + day AND 5 + day AND o.user_id = CASE WHEN u.user_id = 5 + day THEN 1 + day ELSE u.user_id + 1 END;
	UPDATE site.users SET username = upper(username) WHERE user_id = 30 + day;
	UPDATE site.users SET username = 'renamed on day ' || day WHERE user_id = 20 + day;
	INSERT INTO site.users VALUES (100 + day, 'member ' || 20 + day, kit.d(6000 + day));
	INSERT INTO site.posts VALUES (1000 + day, 100 + day, 'new on day ' || day, '', kit.d(6000 + day));
	INSERT INTO site.comments SELECT 10000 * day + n, CASE WHEN n % 10 = 0 THEN 1000 + day ELSE n END, 100 + day, 'new on day ' || day, kit.d(6000 + day) FROM generate_series(1, 100) n;
	INSERT INTO site.likes SELECT n, 100 + day, kit.d(6000 + day) FROM generate_series(1, 100) n;
$$;
CREATE VIEW site.differences AS
SELECT 'user' AS type, s.user_id AS key FROM site.users s
WHERE NOT EXISTS (SELECT FROM blogstore.get_user(blogstore.key_id('user', 'site:' || s.user_id)) u WHERE u.username = s.username AND u.creation_date = s.creation_date)
UNION ALL
SELECT 'post', s.post_id FROM site.posts s JOIN site.users USING (user_id)
WHERE NOT EXISTS (SELECT FROM blogstore.get_post(blogstore.key_id('post', 'site:' || s.post_id)) p
	WHERE (p.user_username, p.title, p.content, p.creation_date) = (username, s.title, s.content, s.creation_date))
UNION ALL
SELECT 'comment', s.comment_id FROM site.comments s LEFT JOIN site.users USING (user_id)
LEFT JOIN blogstore.posts p ON p.type = 'comment' AND p.post_id = blogstore.key_id('post', 'site:' || s.post_id) AND p.id = blogstore.key_id('comment', 'site:' || s.comment_id)
WHERE (p.user_username, p.content, p.creation_date) IS DISTINCT FROM (coalesce(username, 'guest'), s.content, s.creation_date)
UNION ALL
SELECT 'like', s.post_id FROM site.likes s
WHERE NOT EXISTS (SELECT FROM blogstore.get_like(blogstore.key_id('post', 'site:' || s.post_id), blogstore.key_id('user', 'site:' || user_id)) l WHERE l.creation_date = s.creation_date);
};
my $import = q{blogstore.import('site.users', 'site.posts', 'site.comments', 'site.likes', NULL, 'site:', kit.u(99), };

my $node = new_server('catching_up');
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', $site);

# ---- Beside live traffic

$node->safe_psql(
	'postgres', qq{
SELECT blogstore.create_user('guest', kit.u(99));
SELECT blogstore.create_user('live ' || n, kit.u(n)) FROM generate_series(1, 10) n;
SELECT imported FROM $import 'reject');
CREATE TABLE site.over ();
CREATE PROCEDURE site.traffic(client int) LANGUAGE plpgsql AS \$\$
DECLARE
	post	uuid;
	n		int := 0;
BEGIN
	WHILE to_regclass('site.over') IS NOT NULL LOOP
		n := n + 1;
		-- Half of the traffic is on five posts.
		post := blogstore.key_id('post', 'site:' || CASE WHEN n % 2 = 0 THEN 1 + n / 2 % 5 ELSE 1 + n * 37 % 200 END);
		CASE n % 5
		WHEN 0, 1 THEN
			PERFORM blogstore.create_like(post, kit.u(1 + (n + client) % 10));
		WHEN 2 THEN
			PERFORM blogstore.delete_like(post, kit.u(1 + n % 10));
		WHEN 3 THEN
			PERFORM blogstore.create_comment(post, kit.u(1 + n % 10), 'live');
		ELSE
			PERFORM blogstore.delete_comment(post, c.id) FROM blogstore.list_post_comments(post, 20) c WHERE content = 'live' LIMIT 1;
		END CASE;
		COMMIT;
		IF n % 100 = 0 AND EXISTS (SELECT FROM kit.wrong_counts()) THEN
			RAISE EXCEPTION 'a count is wrong';
		END IF;
	END LOOP;
	RAISE NOTICE 'commands: %', n;
END \$\$;
});
my @clients = map { start_client($node, 'postgres', "SET client_min_messages = notice; CALL site.traffic($_)", "traffic$_") } 1 .. $CLIENTS;
for my $day (1 .. $ROUNDS)
{
	my ($out, $err);

	$node->safe_psql('postgres', "CALL site.goes_on($day)");
	my $rc = $node->psql('postgres', "SELECT type, read = imported + present + updated, imported > 0, updated > 0, rejected FROM $import 'update')",
		stdout => \$out, stderr => \$err);
	is("$rc $out", "0 user|t|t|t|0\npost|t|t|t|0\ncomment|t|t|t|0\nlike|t|t|f|0", "day $day is imported")
	  or diag($err);
}
$node->safe_psql('postgres', 'DROP TABLE site.over');
for my $client (@clients)
{
	my ($rows, $err) = finish_client($client);

	like($err, qr/commands: [1-9]/, 'there was traffic meanwhile');
	unlike($err, qr/ERROR/, 'no command failed, no count was wrong');
}
check_store($node, 'postgres', 'caught up');
is($node->safe_psql('postgres', 'SELECT * FROM site.differences'),
	'', 'the store is what the source says');
is($node->safe_psql('postgres', "SELECT sum(updated), sum(imported), sum(rejected) FROM $import 'update')"),
	'0|0|0', 'another import finds nothing to do');

# ---- A source that is a foreign table

SKIP:
{
	skip 'postgres_fdw is not there', 2
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") eq '0';
	my ($host, $port) = ($node->host, $node->port);
	$node->safe_psql('postgres', qq{
CREATE EXTENSION postgres_fdw;
CREATE SERVER old FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER old;
CREATE SCHEMA far;
IMPORT FOREIGN SCHEMA site LIMIT TO (users, posts) FROM SERVER old INTO far;
});
	is($node->safe_psql('postgres', q{SELECT type, read = present, updated FROM blogstore.import('far.users', 'far.posts', key_prefix => 'site:', changed => 'update') WHERE read > 0}),
		"user|t|0\npost|t|0", 'a foreign table gives the same items');
	is($node->safe_psql('postgres', q{
UPDATE site.posts SET title = 'from far away' WHERE post_id = 7;
SELECT updated FROM blogstore.import(posts => 'far.posts', key_prefix => 'site:', changed => 'update') WHERE type = 'post';
SELECT title FROM blogstore.get_post(blogstore.key_id('post', 'site:7'))}),
		"1\nfrom far away", 'a change behind a foreign table is imported');
}

# ---- A database with the encoding SQL_ASCII

$node->safe_psql('postgres', "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc");
create_store($node, 'bytes');
is($node->safe_psql('bytes', q{
SET client_encoding = 'SQL_ASCII';
CREATE TABLE users (user_id text, username text, creation_date timestamptz);
INSERT INTO users VALUES (E'J\\xc3\\xb8rgen', 'utf8', NULL), (E'J\\xf8rgen', 'latin1', NULL);
CREATE TABLE rejects (type text, reason text, item jsonb);
SELECT imported, rejected FROM blogstore.import('users', rejects => 'rejects') WHERE type = 'user';
SELECT reason, item ->> 'username', item ->> 'userId' FROM rejects;
SELECT username FROM blogstore.get_user('31f0cab0-4207-85fa-8818-3da0132b4959')}),
	"1|1\nuser_id cannot be written in UTF-8|latin1|\nutf8", 'a key that is no text is rejected, and the others have the ids that they have anywhere');
is(sqlstate($node, 'bytes', q{import('users', key_prefix => E'\\xf8')}), '23514, hint', 'so is a key prefix that is no text');

$node->stop;

# ---- wal_level is too low: everything is imported; items get the new names of
# their authors later

my $bare = new_server('bare', prepared => 0);
wal_level_too_low($bare);
$bare->append_conf('postgresql.conf', "shared_preload_libraries = 'blogstore'");
$bare->start;
create_store($bare, 'postgres');
$bare->safe_psql('postgres', $site);
$bare->safe_psql('postgres', qq{
SELECT blogstore.create_user('guest', kit.u(99));
SELECT imported FROM $import 'reject');
});
$bare->safe_psql('postgres', "CALL site.goes_on($_)") for 1 .. 3;
is($bare->safe_psql('postgres', "SELECT sum(rejected), sum(imported) > 0, min(updated) FILTER (WHERE type <> 'like') > 0 FROM $import 'update')"),
	'0|t|t', 'wal_level too low: what has changed is imported');
is($bare->safe_psql('postgres', "SELECT count(*) FROM site.differences WHERE type = 'user'"),
	'0', 'wal_level too low: users have their new names');
is($bare->safe_psql('postgres', 'SELECT * FROM blogstore.verify(); SELECT * FROM kit.wrong_counts()'),
	'', 'wal_level too low: counts are exact');
prepare_server($bare);
$bare->restart;
check_store($bare, 'postgres', 'then prepared');
is($bare->safe_psql('postgres', 'SELECT * FROM site.differences'),
	'', 'then prepared: the store is what the source says, names too');
$bare->stop;
done_testing();
