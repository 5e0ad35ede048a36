--
-- IMPORT_KEYS: keys of a site's own, items without an author, catching up
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- A site whose keys are numbers, of different types in its tables; a vote
-- names its user as text
CREATE TABLE wp_users (user_id bigint, username varchar(60), creation_date timestamptz);
CREATE TABLE wp_posts (post_id integer, user_id bigint, title text, content text, creation_date timestamptz);
CREATE TABLE wp_comments (comment_id bigint, post_id bigint, user_id integer, content text, creation_date timestamptz);
CREATE TABLE wp_likes (post_id smallint, user_id varchar, creation_date timestamptz);
INSERT INTO wp_users SELECT n, 'member ' || n, kit.d(n) FROM generate_series(1, 5) n UNION ALL SELECT 9223372036854775807, 'the last', kit.d(9);
INSERT INTO wp_posts SELECT n, 1 + n % 5, 'title ' || n, 'content ' || n, kit.d(100 + n) FROM generate_series(1, 10) n UNION ALL SELECT -2147483648, 1, 'the first', '', kit.d(99);
INSERT INTO wp_comments SELECT n, 1 + n % 9, 1 + n % 3, 'comment ' || n, kit.d(200 + n) FROM generate_series(1, 40) n;
INSERT INTO wp_likes SELECT p, u, kit.d(300 + p) FROM generate_series(1, 9) p, generate_series(1, 5) u WHERE (p + u) % 2 = 0;
SELECT * FROM blogstore.import('wp_users', 'wp_posts', 'wp_comments', 'wp_likes', key_prefix => 'wp:');
SELECT kit.compare('SELECT blogstore.key_id(''user'', ''wp:'' || user_id), username, creation_date FROM wp_users ORDER BY 1',
	'SELECT user_id, username, creation_date FROM blogstore.users WHERE type = ''user'' ORDER BY 1');
SELECT kit.compare('SELECT blogstore.key_id(''post'', ''wp:'' || post_id), blogstore.key_id(''user'', ''wp:'' || user_id), title, content, creation_date FROM wp_posts ORDER BY 1',
	'SELECT post_id, user_id, title, content, creation_date FROM blogstore.posts WHERE type = ''post'' ORDER BY 1');
SELECT kit.compare('SELECT blogstore.key_id(''comment'', ''wp:'' || comment_id), blogstore.key_id(''post'', ''wp:'' || post_id), blogstore.key_id(''user'', ''wp:'' || user_id), content, creation_date FROM wp_comments ORDER BY 1',
	'SELECT id, post_id, user_id, content, creation_date FROM blogstore.posts WHERE type = ''comment'' ORDER BY 1');
SELECT kit.compare('SELECT blogstore.key_id(''post'', ''wp:'' || post_id), blogstore.key_id(''user'', ''wp:'' || user_id), creation_date FROM wp_likes ORDER BY 1, 2',
	'SELECT post_id, user_id, creation_date FROM blogstore.posts WHERE type = ''like'' ORDER BY 1, 2');
SELECT title, user_username, comment_count, like_count FROM blogstore.get_post(blogstore.key_id('post', 'wp:3'));
SELECT count(*) AS wrong FROM kit.wrong_counts();
SELECT kit.digest() AS digest \gset
SELECT * FROM blogstore.import('wp_users', 'wp_posts', 'wp_comments', 'wp_likes', key_prefix => 'wp:');
SELECT kit.digest() = :'digest' AS same;
-- another source with the same keys: a prefix of its own, and names of its own
CREATE VIEW other_users AS SELECT user_id::text, 'other ' || username AS username, creation_date FROM wp_users;
CREATE VIEW other_posts AS SELECT post_id::bigint, user_id::smallint, title, content, creation_date FROM wp_posts;
SELECT type, imported, present, rejected FROM blogstore.import('other_users', 'other_posts', key_prefix => 'blog:') WHERE read > 0;
-- ... with that of the first it is taken for it
CREATE TABLE rejects (type text, reason text, item jsonb);
SELECT type, imported, present, rejected FROM blogstore.import('other_users', 'other_posts', NULL, NULL, 'rejects', 'wp:') WHERE read > 0;
SELECT DISTINCT type, reason FROM rejects;

-- uuids beside keys: a column's type tells, and a prefix is for keys alone
TRUNCATE rejects;
CREATE DOMAIN number AS bigint CHECK (VALUE > 0);
CREATE DOMAIN slug AS varchar(100);
CREATE DOMAIN identity AS uuid;
CREATE TABLE mixed_users (user_id identity, username text, creation_date timestamptz);
CREATE TABLE mixed_posts (post_id slug, user_id uuid, title text, content text, creation_date timestamptz);
CREATE TABLE mixed_comments (comment_id number, post_id text, user_id uuid, content text, creation_date timestamptz);
CREATE TABLE mixed_likes (post_id text, user_id uuid, creation_date timestamptz);
INSERT INTO mixed_users VALUES (kit.u(1), 'mixed 1', kit.d(1)), (kit.u(2), 'mixed 2', kit.d(2));
INSERT INTO mixed_posts VALUES ('hello-world', kit.u(1), 'Hello', '', kit.d(1)), ('Hello-World', kit.u(1), 'Shouted', '', kit.d(2)),
	('hello-world ', kit.u(1), 'With a space', '', kit.d(3)), (U&'\65e5\672c', kit.u(2), 'Abroad', '', kit.d(4)), (E'\n', kit.u(2), 'A line', '', kit.d(5)),
	('1', kit.u(2), 'A number', '', kit.d(6)), ('01', kit.u(2), 'Another', '', kit.d(7)), (repeat('long', 25), kit.u(2), 'Long', '', kit.d(8));
INSERT INTO mixed_comments VALUES (1, 'hello-world', kit.u(2), 'on the first', kit.d(9)), (2, U&'\65e5\672c', kit.u(1), 'abroad', kit.d(10));
INSERT INTO mixed_likes SELECT post_id, kit.u(2), kit.d(11) FROM mixed_posts;
SELECT * FROM blogstore.import('mixed_users', 'mixed_posts', 'mixed_comments', 'mixed_likes');
SELECT m.post_id AS key, p.title, p.user_username, p.comment_count, p.like_count
FROM mixed_posts m, blogstore.get_post(blogstore.key_id('post', m.post_id)) p ORDER BY m.creation_date;
SELECT content FROM blogstore.list_post_comments(blogstore.key_id('post', U&'\65e5\672c'));
-- an integer and the text of it are one key
CREATE VIEW numbered AS SELECT 1::smallint AS post_id, kit.u(1) AS user_id, kit.d(12) AS creation_date;
SELECT imported FROM blogstore.import(likes => 'numbered') WHERE type = 'like';
SELECT like_count FROM blogstore.get_post(blogstore.key_id('post', '1'));

-- Types that have more than one text, or none
CREATE TYPE mood AS ENUM ('good', 'bad');
DO $$
DECLARE
	type	text;
	message	text;
	state	text;
BEGIN
	FOREACH type IN ARRAY ARRAY['real', '"char"', 'name', 'mood', 'boolean', 'date', 'bytea', 'jsonb', 'text[]', 'oid', 'mixed_users'] LOOP
		EXECUTE format('CREATE VIEW odd_key AS SELECT NULL::%s AS post_id, kit.u(1) AS user_id, NULL::timestamptz AS creation_date', type);
		BEGIN
			PERFORM blogstore.import(likes => 'odd_key');
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
			RAISE WARNING '% %', state, message;
		END;
		DROP VIEW odd_key;
	END LOOP;
END $$;

-- Types whose values are equal in more than one writing: each is one key
CREATE EXTENSION citext;
CREATE DOMAIN handle AS citext;
CREATE TABLE loose_users (user_id handle, username citext, creation_date timestamptz);
CREATE TABLE loose_posts (post_id numeric, user_id citext, title text, content text, creation_date timestamptz);
CREATE TABLE loose_comments (comment_id char(36), post_id numeric(10, 2), user_id citext, content text, creation_date timestamptz, parent_id char(40));
CREATE TABLE loose_likes (post_id bigint, user_id citext, creation_date timestamptz);
INSERT INTO loose_users VALUES ('Zoë@Example.org', 'Loose Zoë', kit.d(1)), ('bob', 'loose Bob', kit.d(2));
INSERT INTO loose_posts VALUES (1.0, 'ZOË@example.org', 'One', '', kit.d(3)), (123456789012345678901234567890, 'Bob', 'Many', '', kit.d(4)), (2.50, 'BOB', 'Two and a half', '', kit.d(5)), (-0.0, 'bob', 'Nought', '', kit.d(6)),
	('NaN', 'bob', 'No number', '', kit.d(7));
INSERT INTO loose_comments VALUES (kit.c(900)::text, 1.00, 'BOB', 'first', kit.d(8), NULL), ('short', 1, 'zoë@example.org', 'second', kit.d(9), kit.c(900)::text || '    '), (upper(kit.c(901)::text), 2.5, 'bob', 'third', kit.d(10), NULL);
INSERT INTO loose_likes VALUES (1, 'boB', kit.d(11)), (0, 'bob', kit.d(12));
SELECT type, read, imported, rejected FROM blogstore.import('loose_users', 'loose_posts', 'loose_comments', 'loose_likes', key_prefix => 'loose:');
SELECT type, read, present, rejected FROM blogstore.import('loose_users', 'loose_posts', 'loose_comments', 'loose_likes', key_prefix => 'loose:');
SELECT key, p.title, p.user_username, p.comment_count, p.like_count FROM unnest('{1,123456789012345678901234567890,2.5,0,NaN}'::text[]) key, blogstore.get_post(blogstore.key_id('post', 'loose:' || key)) p;
SELECT content, user_username, id = blogstore.key_id('comment', 'loose:' || CASE content WHEN 'first' THEN kit.c(900)::text ELSE 'short' END) AS by_key, parent_id = blogstore.key_id('comment', 'loose:' || kit.c(900)) AS reply
FROM blogstore.list_post_comments(blogstore.key_id('post', 'loose:1'));
SELECT username FROM blogstore.get_user(blogstore.key_id('user', 'loose:' || U&'zo\00eb@example.org'));
-- without a prefix what looks as a uuid is not guessed at, as of other texts
CREATE TABLE rejected (type text, reason text, item jsonb);
SELECT imported, rejected FROM blogstore.import(comments => 'loose_comments', rejects => 'rejected') WHERE type = 'comment';
SELECT reason, item ->> 'id' AS id FROM rejected ORDER BY 2;
DROP TABLE loose_users, loose_posts, loose_comments, loose_likes, rejected;
DROP DOMAIN handle;
DROP EXTENSION citext;

-- Keys that are none; a uuid written as text may be meant as one or the other
CREATE TABLE bad_posts (n int, post_id text, user_id text, title text, content text, creation_date timestamptz);
INSERT INTO bad_posts VALUES (1, '', '1', 't', 'c', NULL), (2, NULL, '1', 't', 'c', NULL), (3, 'a', '', 't', 'c', NULL), (4, 'b', NULL, 't', 'c', NULL),
	(5, kit.p(77)::text, '1', 't', 'c', NULL), (6, upper(md5('x')), '1', 't', 'c', NULL), (7, 'c', kit.u(1)::text, 't', 'c', NULL), (8, 'd', 'nobody', 't', 'c', NULL),
	(9, 'e', NULL, '', 'c', NULL), (10, '', kit.u(1)::text, NULL, NULL, NULL), (11, left(kit.p(77)::text, 35), '1', 't', 'c', NULL),
	(12, '{' || kit.p(77) || '}', '1', 't', 'c', NULL), (13, ' ' || left(kit.p(77)::text, 35), '1', 't', 'c', NULL), (14, replace(kit.p(77)::text, '-', '_'), '1', 't', 'c', NULL);
CREATE TABLE text_users AS SELECT user_id::text, 'text ' || username AS username, creation_date FROM wp_users;
SELECT type, imported, rejected FROM blogstore.import('text_users', 'bad_posts', rejects => 'rejects') WHERE read > 0;
SELECT reason, item - '{type,content,title,creationDate}'::text[] AS item FROM rejects ORDER BY reason COLLATE "C", item;
SELECT n FROM bad_posts b JOIN blogstore.posts p ON p.post_id = blogstore.key_id('post', nullif(b.post_id, '')) ORDER BY n;
-- mended, what was rejected is of documents, whose ids are those of the keys
SELECT username FROM blogstore.create_user('nobody', blogstore.key_id('user', 'nobody'));
CREATE TABLE mended AS SELECT item FROM rejects WHERE reason = 'unknown user';
SELECT type, imported FROM blogstore.import_documents('mended') WHERE read > 0;
SELECT user_username, title FROM blogstore.get_post(blogstore.key_id('post', 'd'));
-- with a prefix it is a key
CREATE VIEW prefixed_users AS SELECT user_id, 'prefixed ' || username AS username, creation_date FROM text_users
UNION ALL SELECT kit.u(1)::text, 'uuid as text', kit.d(1);
TRUNCATE rejects;
SELECT type, imported, rejected FROM blogstore.import('prefixed_users', 'bad_posts', rejects => 'rejects', key_prefix => 't:') WHERE type = 'post';
SELECT reason, count(*) FROM rejects WHERE type = 'post' GROUP BY 1 ORDER BY reason COLLATE "C";
-- too long: the two together
UPDATE bad_posts SET post_id = repeat('x', 64 * 1024 * 1024 - n) WHERE n IN (2, 3);
UPDATE bad_posts SET user_id = '1';
TRUNCATE rejects;
SELECT kit.try('blogstore.import(posts => ''bad_posts'', key_prefix => ''abc'')');
SELECT imported, rejected FROM blogstore.import(posts => 'bad_posts', rejects => 'rejects', key_prefix => 'abc') WHERE type = 'post';
SELECT reason, count(*), max(length(item::text)) < 1000 AS short FROM rejects GROUP BY 1 ORDER BY reason COLLATE "C";
SELECT kit.try('blogstore.import(key_prefix => repeat(''x'', 64 * 1024 * 1024 + 1))');
SELECT kit.try('blogstore.import(key_prefix => NULL)');
SELECT kit.try('blogstore.import(changed => NULL)');
SELECT kit.try('blogstore.import(changed => ''Update'')');
SELECT kit.try('blogstore.import(changed => '''')');
-- any characters
CREATE TABLE one_user (user_id int, username text, creation_date timestamptz);
DO $$
DECLARE
	prefix	text;
	n		int := 0;
BEGIN
	FOREACH prefix IN ARRAY ARRAY['''', '"; DROP TABLE x; --', E'\\', '%s%n', E'\n', '@user', '$1', U&'\+01f600', repeat('p', 10000)] LOOP
		n := n + 1;
		TRUNCATE one_user;
		INSERT INTO one_user VALUES (1, 'prefixed ' || n, NULL);
		PERFORM blogstore.import('one_user', key_prefix => prefix);
		IF (SELECT username FROM blogstore.get_user(blogstore.key_id('user', prefix || '1'))) IS DISTINCT FROM 'prefixed ' || n THEN
			RAISE WARNING 'not found by prefix %', prefix;
		END IF;
	END LOOP;
END $$;

-- Nothing of the caller's stands in the way of a key
CREATE ROLE regress_blogstore_mover;
CREATE SCHEMA planted AUTHORIZATION regress_blogstore_mover;
GRANT EXECUTE ON FUNCTION blogstore.import TO regress_blogstore_mover;
SET ROLE regress_blogstore_mover;
CREATE FUNCTION planted.key_id(text, text) RETURNS uuid LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted key_id'; END $$;
CREATE FUNCTION planted.text(bigint) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted text'; END $$;
CREATE FUNCTION planted.concat(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted ||'; END $$;
CREATE OPERATOR planted.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = planted.concat);
CREATE DOMAIN planted.text AS integer;
CREATE TABLE planted.members (user_id bigint, username varchar, creation_date timestamptz);
INSERT INTO planted.members VALUES (1, 'planted', NULL);
-- a rule of a key that is asked for when it is read
CREATE FUNCTION planted.look(bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO planted.seen VALUES (current_user, current_setting('search_path'));
	RETURN $1;
END $$;
CREATE TABLE planted.seen (who name, path pg_catalog.text);
CREATE VIEW planted.looked AS SELECT planted.look(user_id) AS user_id, username, creation_date FROM planted.members;
SET search_path = planted, pg_catalog;
SELECT type, imported FROM blogstore.import('planted.looked', key_prefix => 'planted:') WHERE type = 'user';
SELECT * FROM planted.seen;
RESET ROLE;
SET search_path = public;
SELECT username FROM blogstore.get_user(blogstore.key_id('user', 'planted:1'));
-- a source that changes between the looks at it
SET ROLE regress_blogstore_mover;
CREATE TABLE planted.later (post_id bigint, user_id bigint, creation_date timestamptz);
INSERT INTO planted.later VALUES (1, 1, NULL);
CREATE FUNCTION planted.retype(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE planted.later ALTER post_id TYPE uuid USING '00000000-0000-0000-0000-000000000001'; RETURN $1; END $$;
CREATE FUNCTION planted.strip(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE planted.later DROP post_id; RETURN $1; END $$;
CREATE FUNCTION planted.remove(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN DROP TABLE planted.later; RETURN $1; END $$;
CREATE VIEW planted.changing AS SELECT planted.retype(user_id) AS user_id, username, creation_date FROM planted.members;
CREATE VIEW planted.stripping AS SELECT planted.strip(user_id) AS user_id, username, creation_date FROM planted.members;
CREATE VIEW planted.removing AS SELECT planted.remove(user_id) AS user_id, username, creation_date FROM planted.members;
RESET ROLE;
GRANT USAGE ON SCHEMA kit TO PUBLIC;
SET ROLE regress_blogstore_mover;
SELECT kit.try('blogstore.import(''planted.changing'', likes => ''planted.later'', key_prefix => ''planted:'')');
SELECT kit.try('blogstore.import(''planted.stripping'', likes => ''planted.later'', key_prefix => ''planted:'')');
SELECT kit.try('blogstore.import(''planted.removing'', likes => ''planted.later'', key_prefix => ''planted:'')');
RESET ROLE;
DROP OWNED BY regress_blogstore_mover CASCADE;
DROP ROLE regress_blogstore_mover;

-- Items without an author
SELECT kit.clear();
SELECT blogstore.wait_for_views();
TRUNCATE rejects;
CREATE TABLE guest_comments (LIKE wp_comments);
CREATE TABLE guest_posts (LIKE wp_posts);
CREATE TABLE guest_likes (LIKE wp_likes);
INSERT INTO guest_posts VALUES (20, NULL, 'anonymous', 'text', kit.d(20));
INSERT INTO guest_comments VALUES (100, 1, NULL, 'by a guest', kit.d(21)), (101, 20, NULL, 'by another', kit.d(22)), (102, 20, 1, 'by a member', kit.d(23)), (103, NULL, NULL, 'nowhere', kit.d(23));
INSERT INTO guest_likes VALUES (1, NULL, kit.d(24));
SELECT type, imported FROM blogstore.import('wp_users', 'wp_posts', key_prefix => 'wp:') WHERE read > 0;
SELECT type, imported, rejected FROM blogstore.import(NULL, 'guest_posts', 'guest_comments', 'guest_likes', 'rejects', 'wp:') WHERE read > 0;
SELECT type, reason, item - 'type' AS item FROM rejects ORDER BY 1, 2, 3;
-- the guest must be there, or in the import
SELECT kit.digest() AS digest \gset
SELECT kit.try('blogstore.import(NULL, ''guest_posts'', ''guest_comments'', NULL, ''rejects'', ''wp:'', kit.u(8))');
SELECT kit.try('blogstore.import(''mixed_users'', guest => kit.u(8))');
SELECT kit.digest() = :'digest' AS same;
SELECT username FROM blogstore.create_user('Guest', kit.u(8));
TRUNCATE rejects;
SELECT type, imported, rejected FROM blogstore.import(NULL, 'guest_posts', 'guest_comments', 'guest_likes', 'rejects', 'wp:', kit.u(8)) WHERE read > 0;
SELECT type, reason, item - 'type' AS item FROM rejects ORDER BY 1, 2, 3;
SELECT user_username, title, comment_count FROM blogstore.get_post(blogstore.key_id('post', 'wp:20'));
SELECT user_username, content FROM blogstore.list_post_comments(blogstore.key_id('post', 'wp:20'));
SELECT type, imported, present FROM blogstore.import(NULL, 'guest_posts', 'guest_comments', NULL, 'rejects', 'wp:', kit.u(8)) WHERE read > 0;
-- in the import, by its key; not if it is rejected, or on its way out
INSERT INTO wp_users VALUES (30, 'Guest of the site', NULL);
INSERT INTO guest_posts VALUES (21, NULL, 'anonymous too', 'text', kit.d(25));
DELETE FROM guest_posts WHERE post_id = 20;
SELECT type, imported FROM blogstore.import('wp_users', 'guest_posts', key_prefix => 'wp:', guest => blogstore.key_id('user', 'wp:30')) WHERE read > 0;
SELECT user_username, title FROM blogstore.get_post(blogstore.key_id('post', 'wp:21'));
UPDATE wp_users SET user_id = 31, username = NULL WHERE user_id = 30;
SELECT kit.try('blogstore.import(''wp_users'', ''guest_posts'', rejects => ''rejects'', key_prefix => ''wp:'', guest => blogstore.key_id(''user'', ''wp:31''))');
DELETE FROM wp_users WHERE user_id = 31;
BEGIN;
SELECT blogstore.delete_user(kit.u(8));
SELECT kit.try('blogstore.import(NULL, ''guest_posts'', key_prefix => ''wp:'', guest => kit.u(8))');
ROLLBACK;

-- Catching up: the site has gone on
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT type, imported FROM blogstore.import('wp_users', 'wp_posts', 'wp_comments', 'wp_likes', key_prefix => 'wp:');
SELECT count(blogstore.create_like(blogstore.key_id('post', 'wp:' || n), blogstore.key_id('user', 'wp:4'))) FROM generate_series(1, 5) n WHERE n % 2 = 1;
SELECT blogstore.wait_for_views();
UPDATE wp_posts SET title = title || ', edited' WHERE post_id IN (1, 2);
UPDATE wp_posts SET content = repeat('much ', 100000) WHERE post_id IN (2, 3);
UPDATE wp_comments SET content = content || ', edited' WHERE comment_id IN (1, 2, 10, 19);
UPDATE wp_users SET username = 'renamed' WHERE user_id = 2;
INSERT INTO wp_users VALUES (6, 'newcomer', kit.d(400));
INSERT INTO wp_posts VALUES (11, 6, 'new', 'new', kit.d(401));
INSERT INTO wp_comments VALUES (41, 11, 2, 'new on new', kit.d(402)), (42, 2, 6, 'new on edited', kit.d(403));
INSERT INTO wp_likes VALUES (2, 6, kit.d(404)), (11, 6, kit.d(405));
-- by default that is rejected
SELECT kit.digest() AS digest \gset
SELECT kit.try('blogstore.import(''wp_users'', ''wp_posts'', ''wp_comments'', ''wp_likes'', key_prefix => ''wp:'')');
SELECT kit.digest() = :'digest' AS same;
SET client_min_messages = notice;
SELECT * FROM blogstore.import('wp_users', 'wp_posts', 'wp_comments', 'wp_likes', key_prefix => 'wp:', changed => 'update');
SET client_min_messages = warning;
SELECT w.post_id, p.title, length(p.content), comment_count, like_count
FROM wp_posts w, blogstore.get_post(blogstore.key_id('post', 'wp:' || post_id)) p WHERE w.post_id IN (1, 2, 3, 4, 11) ORDER BY 1;
-- what became another is edited
SELECT type, count(*), count(modification_date) AS edited FROM blogstore.posts WHERE type IN ('post', 'comment') GROUP BY 1 ORDER BY 1;
SELECT count(*) AS wrong FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT kit.compare('SELECT blogstore.key_id(''user'', ''wp:'' || user_id), username, creation_date FROM wp_users ORDER BY 1',
	'SELECT user_id, username, creation_date FROM blogstore.users WHERE type = ''user'' ORDER BY 1');
SELECT kit.compare('SELECT blogstore.key_id(''post'', ''wp:'' || post_id), username, title, content, p.creation_date FROM wp_posts p JOIN wp_users USING (user_id) ORDER BY 1',
	'SELECT post_id, user_username, title, content, creation_date FROM blogstore.posts WHERE type = ''post'' ORDER BY 1');
SELECT kit.compare('SELECT blogstore.key_id(''comment'', ''wp:'' || comment_id), username, content, c.creation_date FROM wp_comments c JOIN wp_users USING (user_id) ORDER BY 1',
	'SELECT id, user_username, content, creation_date FROM blogstore.posts WHERE type = ''comment'' ORDER BY 1');
SELECT title, length(content) FROM blogstore.list_user_posts(blogstore.key_id('user', 'wp:3'));
SELECT username FROM blogstore.get_user_by_name('Renamed');
SELECT count(*) FROM blogstore.get_user_by_name('member 2');
SELECT kit.digest() AS digest \gset
SELECT * FROM blogstore.import('wp_users', 'wp_posts', 'wp_comments', 'wp_likes', key_prefix => 'wp:', changed => 'update');
SELECT kit.digest() = :'digest' AS same;
-- without a date, or of what has changed alone
CREATE VIEW changed_posts AS SELECT post_id, user_id, title || '!' AS title, content, NULL::timestamptz AS creation_date FROM wp_posts WHERE post_id = 4;
SELECT type, imported, present, rejected, updated FROM blogstore.import(posts => 'changed_posts', key_prefix => 'wp:', changed => 'update') WHERE type = 'post';
SELECT title, creation_date FROM blogstore.get_post(blogstore.key_id('post', 'wp:4'));
-- back as it was in the store: the source is right
SELECT type, present, updated FROM blogstore.import(posts => 'wp_posts', key_prefix => 'wp:', changed => 'update') WHERE type = 'post';

-- Triggers and constraints of the owner apply to updated rows. After a
-- rollback nothing has changed.
CREATE FUNCTION kit.suppress() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RETURN NULL; END $$;
BEGIN;
CREATE TRIGGER suppress BEFORE UPDATE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.suppress();
SELECT kit.try('blogstore.import(posts => ''changed_posts'', key_prefix => ''wp:'', changed => ''update'')');
ROLLBACK;
ALTER TABLE blogstore.posts ADD CONSTRAINT quiet CHECK (title NOT LIKE '%!');
SELECT kit.try('blogstore.import(posts => ''changed_posts'', key_prefix => ''wp:'', changed => ''update'')');
ALTER TABLE blogstore.posts DROP CONSTRAINT quiet;
CREATE TABLE heard (type text, old text, new text, who name, path text);
CREATE FUNCTION kit.hear() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	INSERT INTO public.heard VALUES (NEW.type, coalesce(to_jsonb(OLD) ->> 'title', to_jsonb(OLD) ->> 'username'), coalesce(to_jsonb(NEW) ->> 'title', to_jsonb(NEW) ->> 'username'), current_user, current_setting('search_path'));
	RETURN NULL;
END $$;
CREATE TRIGGER hear AFTER UPDATE ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'post') EXECUTE FUNCTION kit.hear();
SELECT format('CREATE TRIGGER hear AFTER UPDATE ON blogstore.users_p0%s_user FOR EACH ROW EXECUTE FUNCTION kit.hear()', n) FROM generate_series(0, 3) n \gexec
CREATE VIEW changed_users AS SELECT user_id, upper(username) AS username, creation_date FROM wp_users WHERE user_id = 5;
SELECT kit.digest() AS digest \gset
BEGIN;
SAVEPOINT before;
SELECT type, present, updated FROM blogstore.import('changed_users', 'changed_posts', key_prefix => 'wp:', changed => 'update') WHERE read > 0;
SELECT type, old, new, who = current_user AS as_owner, path FROM heard ORDER BY type COLLATE "C";
SELECT kind FROM blogstore.jobs;
ROLLBACK TO before;
SELECT count(*) FROM heard;
SELECT count(*) FROM blogstore.jobs;
COMMIT;
SELECT kit.digest() = :'digest' AS same;
DROP TRIGGER hear ON blogstore.posts;
SELECT format('DROP TRIGGER hear ON blogstore.users_p0%s_user', n) FROM generate_series(0, 3) n \gexec
DROP FUNCTION kit.hear, kit.suppress;

-- What is not taken over: authors, dates, what no command takes
TRUNCATE rejects;
CREATE TABLE late_users AS SELECT * FROM wp_users;
CREATE TABLE late_posts AS SELECT * FROM wp_posts;
CREATE TABLE late_comments AS SELECT * FROM wp_comments;
UPDATE late_users SET creation_date = kit.d(500), username = 'redated' WHERE user_id = 1;
UPDATE late_users SET username = '' WHERE user_id = 2;
UPDATE late_users SET username = 'MEMBER 4' WHERE user_id = 3;
UPDATE late_users SET username = 'Member 4' WHERE user_id = 4;
UPDATE late_posts SET user_id = 3 WHERE post_id = 1;
UPDATE late_posts SET creation_date = kit.d(500), title = 'redated' WHERE post_id = 2;
UPDATE late_posts SET title = '' WHERE post_id = 3;
UPDATE late_posts SET content = NULL WHERE post_id = 4;
UPDATE late_posts SET user_id = 99, title = 'by nobody' WHERE post_id = 5;
INSERT INTO late_posts SELECT post_id, user_id, 'second', content, creation_date FROM late_posts WHERE post_id = 6;
UPDATE late_comments SET user_id = 3 WHERE comment_id = 1 AND user_id <> 3 OR comment_id = 2;
UPDATE late_comments SET user_id = 1 WHERE comment_id = 2;
UPDATE late_comments SET creation_date = kit.d(500), content = 'redated' WHERE comment_id = 3;
UPDATE late_comments SET content = '' WHERE comment_id = 4;
UPDATE late_comments SET post_id = 99 WHERE comment_id = 5;
INSERT INTO late_comments SELECT comment_id, post_id, user_id, 'second', creation_date FROM late_comments WHERE comment_id = 6;
SELECT * FROM blogstore.import('late_users', 'late_posts', 'late_comments', NULL, 'rejects', 'wp:', NULL, 'update');
SELECT type, reason, coalesce(item ->> 'username', item ->> 'title', item ->> 'content') COLLATE "C" AS text FROM rejects ORDER BY array_position('{user,post,comment}', type), reason COLLATE "C", text;
SELECT username FROM blogstore.get_user_by_name('member 4');
SELECT title FROM blogstore.get_post(blogstore.key_id('post', 'wp:6'));
-- a comment of that key on another post is another comment
SELECT content FROM blogstore.posts WHERE type = 'comment' AND id = blogstore.key_id('comment', 'wp:6');
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Names change hands: exchanged, handed on, to newcomers; and in vain
SELECT kit.clear();
SELECT blogstore.wait_for_views();
CREATE TABLE names (user_id int, username text, creation_date timestamptz);
INSERT INTO names SELECT n, 'name ' || n, kit.d(n) FROM generate_series(1, 9) n;
CREATE VIEW name_posts AS SELECT user_id AS post_id, user_id, 'by ' || user_id AS title, '' AS content, creation_date FROM names WHERE user_id < 10;
SELECT type, imported FROM blogstore.import('names', 'name_posts') WHERE read > 0;
UPDATE names SET username = 'name ' || CASE user_id WHEN 1 THEN 2 WHEN 2 THEN 1 WHEN 3 THEN 4 WHEN 4 THEN 5 WHEN 5 THEN 10 END WHERE user_id <= 5;
UPDATE names SET username = 'NAME 6' WHERE user_id = 6;
INSERT INTO names VALUES (11, 'Name 3', kit.d(11));
SELECT type, imported, present, updated FROM blogstore.import('names', 'name_posts', changed => 'update') WHERE read > 0;
SELECT n.user_id, n.username, u.username = n.username AS same, r.user_id = u.user_id AS registered
FROM names n, blogstore.get_user(blogstore.key_id('user', user_id::text)) u, blogstore.get_user_by_name(upper(n.username)) r ORDER BY 1;
SELECT blogstore.wait_for_views();
SELECT title, user_username FROM blogstore.list_feed() ORDER BY 1;
SELECT * FROM blogstore.verify();
-- who hands a name on is refused the next one, and so on
TRUNCATE rejects;
DELETE FROM names WHERE user_id = 7;
UPDATE names SET username = 'name 7' WHERE user_id = 1;
UPDATE names SET username = 'name 2' WHERE user_id = 2;
UPDATE names SET username = 'name 1' WHERE user_id = 3;
UPDATE names SET username = 'name 4' WHERE user_id = 8;
UPDATE names SET username = 'name 20' WHERE user_id = 4;
INSERT INTO names VALUES (12, 'name 20', kit.d(1)), (13, 'Name 8', kit.d(13)), (14, 'name 6', kit.d(1)), (6, 'Name 6', kit.d(6));
DELETE FROM names WHERE username = 'NAME 6';
SELECT type, imported, present, rejected, updated FROM blogstore.import('names', rejects => 'rejects', changed => 'update') WHERE read > 0;
SELECT reason, item ->> 'username' AS username, n.user_id FROM rejects JOIN names n ON blogstore.key_id('user', user_id::text)::text = item ->> 'userId' ORDER BY item ->> 'username' COLLATE "C", 3;
SELECT n.user_id, u.username FROM names n, blogstore.get_user(blogstore.key_id('user', user_id::text)) u ORDER BY 1;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Long chains and rings of names, that begin or end anywhere in the table
CREATE PROCEDURE kit.rename_all(call text) LANGUAGE plpgsql AS $$
DECLARE
	result	text;
BEGIN
	EXECUTE 'UPDATE names SET username = ' || call;
	SELECT format('%s updated, %s present, %s rejected', updated, present, rejected) INTO result
	FROM blogstore.import('names', rejects => 'rejects', changed => 'update') WHERE type = 'user';
	RAISE WARNING '%: %, % as the source says', call, result,
		(SELECT count(*) FROM names n, blogstore.get_user(blogstore.key_id('user', n.user_id::text)) u WHERE u.username = n.username);
END $$;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
TRUNCATE names;
INSERT INTO names SELECT n, 'name ' || n, kit.d(n) FROM generate_series(0, 1023) n;
SELECT imported FROM blogstore.import('names') WHERE type = 'user';
CALL kit.rename_all($$'name ' || (user_id + 1) % 1024$$);
CALL kit.rename_all($$'name ' || (user_id + 2) % 1024$$);
CALL kit.rename_all($$'name ' || user_id$$);
-- an end that is free, or is not
CALL kit.rename_all($$'name ' || user_id + 1$$);
CALL kit.rename_all($$'name ' || user_id$$);
CALL kit.rename_all($$'name ' || least(user_id + 1, 1023)$$);
CALL kit.rename_all($$'name ' || greatest(user_id - 1, 0)$$);
CALL kit.rename_all($$'name ' || CASE WHEN user_id < 512 THEN (user_id + 1) % 512 ELSE least(user_id + 1, 1023) END$$);
CALL kit.rename_all($$'name ' || user_id$$);
DROP PROCEDURE kit.rename_all;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();


DROP TABLE wp_users, wp_posts, wp_comments, wp_likes, rejects, mixed_users, mixed_posts, mixed_comments, mixed_likes, bad_posts, text_users, one_user,
	heard, mended, guest_comments, guest_posts, guest_likes, late_users, late_posts, late_comments, names CASCADE;
DROP DOMAIN number, slug, identity;
DROP TYPE mood;
DROP VIEW numbered;
