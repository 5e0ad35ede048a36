--
-- TOPICS: lists of topics and of their posts
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(4, 0);

-- Wait until the worker has read the configuration, and has built the views
-- with it. Sessions are told of a change together with the worker.
CREATE TABLE kit.stamp AS SELECT short_form FROM blogstore.view_state;
CREATE PROCEDURE kit.await_setting() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 6000 LOOP
		EXIT WHEN (SELECT v.short_form <> s.short_form FROM blogstore.view_state v, kit.stamp s);
		PERFORM pg_sleep(0.01);
		COMMIT;
	END LOOP;
	UPDATE kit.stamp SET short_form = (SELECT short_form FROM blogstore.view_state);
	COMMIT;
	IF NOT blogstore.wait_for_views() THEN
		RAISE 'the views are not ready';
	END IF;
END $$;
CREATE FUNCTION kit.create_tagged(n int, tags jsonb, author int DEFAULT 1) RETURNS text LANGUAGE sql
AS $$ SELECT title FROM blogstore.create_post(kit.u(author), 'post ' || n, repeat('content ', 50), kit.p(n), kit.d(n), jsonb_build_object('tags', tags, 'cat', 'c' || n % 2)) $$;
CREATE FUNCTION kit.tag(n int, tags jsonb) RETURNS text LANGUAGE sql
AS $$ SELECT title FROM blogstore.edit_post(kit.p(n), properties => jsonb_build_object('tags', tags, 'cat', 'c' || n % 2)) $$;
CREATE FUNCTION kit.titles(topic text, page_size int DEFAULT NULL, before_n int DEFAULT NULL, oldest_first boolean DEFAULT false) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(title, ', ' ORDER BY n) FROM ROWS FROM (blogstore.list_topic_posts(topic, page_size, kit.d(before_n), kit.p(before_n), oldest_first)) WITH ORDINALITY AS l (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, hidden, modification_date, properties, n) $$;
-- the topics as the table has them, against those that the counts imply
CREATE FUNCTION kit.topics() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF NOT blogstore.wait_for_views() THEN
		RAISE 'the views are not ready';
	END IF;
	IF EXISTS (SELECT FROM (SELECT topic, count(*) FROM blogstore.topics WHERE type = 'topic_post' GROUP BY topic) a
		FULL JOIN (SELECT topic, post_count FROM blogstore.topics WHERE type = 'topic') b USING (topic) WHERE count IS DISTINCT FROM post_count) THEN
		RAISE 'wrong counts';
	END IF;
	RETURN (SELECT string_agg(topic || ' ' || post_count, ', ') FROM blogstore.list_topics(page_size => NULL));
END $$;

-- No property is set
SELECT kit.try('blogstore.list_topic_posts(''a'')');
SELECT kit.try('blogstore.list_topics()');
SELECT * FROM blogstore.list_topics();
SELECT kit.create_tagged(1, '["Music", "News"]');
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.topics;

-- The property is set: the views are built anew
ALTER SYSTEM SET blogstore.topic_property = 'tags';
SELECT pg_reload_conf();
CALL kit.await_setting();
SHOW blogstore.topic_property;
SELECT kit.topics();
SELECT * FROM blogstore.list_topics();
SELECT kit.titles('music');

-- Which values are topics
SELECT kit.create_tagged(2, '"  MUSIC  "');
SELECT kit.create_tagged(3, '["music", "Music", "ＭＵＳＩＣ", "Straße", "STRASSE", 5, null, true, {"a": "b"}, ["nested"], "", "   ", "a\tb", "new   york"]');
SELECT kit.create_tagged(4, '5', 2);
SELECT kit.create_tagged(5, 'null', 2);
SELECT kit.create_tagged(6, jsonb_build_array(repeat('x', 100), repeat('y', 101), repeat(U&'\FDFA', 6)), 2);
SELECT kit.topics();
SELECT kit.create_tagged(7, (SELECT jsonb_agg(to_char(n, 'FM"t"00')) FROM generate_series(1, 20) n), 3);
SELECT kit.topics();
-- A topic counts wherever it is in a long array
SELECT kit.tag(7, (SELECT jsonb_agg(CASE WHEN n IN (1, 3000) THEN to_jsonb('n' || n) WHEN n % 2 = 0 THEN '""' ELSE to_jsonb(n) END ORDER BY n) FROM generate_series(1, 3000) n));
SELECT kit.topics();
SELECT kit.tag(7, '[]');
SELECT title FROM blogstore.edit_post(kit.p(6), properties => '{}');
SELECT kit.topics();

-- The argument is folded; a text that cannot be a topic has no posts
SELECT kit.titles('  Music '), kit.titles('STRASSE'), kit.titles('New York'), kit.titles('nothing'), kit.titles(''), kit.titles(repeat('x', 101)), kit.titles(repeat('x', 5000));
SELECT kit.try('blogstore.list_topic_posts(NULL)');
SELECT kit.try('blogstore.list_topic_posts(''music'', 0)');
SELECT kit.try('blogstore.list_topic_posts(''music'', 5, kit.d(1))');
SELECT kit.try('blogstore.list_topic_posts(''music'', oldest_first => NULL)');
SELECT kit.try('blogstore.list_topics(NULL)');
SELECT kit.try('blogstore.list_topics(page_size => -1)');
SELECT kit.try('blogstore.list_topics(after_topic => repeat(''x'', 5000))');

-- Posts are in short form, with exact counts, as in a user's list
SELECT count(blogstore.create_comment(kit.p(2), kit.u(2), 'x')) FROM generate_series(1, 3);
SELECT count(blogstore.create_like(kit.p(2), kit.u(n))) FROM generate_series(1, 2) n;
SELECT title, length(content) AS length, comment_count, like_count, properties FROM blogstore.list_topic_posts('music', 1, oldest_first => false);
SELECT title, length(content) AS length, comment_count, like_count FROM blogstore.list_topic_posts('music', 2, kit.d(3), kit.p(3));
SELECT blogstore.wait_for_views();
SELECT kit.compare('SELECT * FROM blogstore.list_topic_posts(''music'', NULL)', 'SELECT * FROM blogstore.list_user_posts(kit.u(1), NULL)');
-- PostgreSQL 18 adds two decimals to the numbers of rows
CREATE FUNCTION kit.explained(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line	text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || statement LOOP
		RETURN NEXT replace(line, '.00 loops', ' loops');
	END LOOP;
END $$;
SELECT * FROM kit.explained('SELECT title FROM blogstore.list_topic_posts(''music'')');
SELECT * FROM kit.explained('SELECT topic FROM blogstore.list_topics()');
DROP FUNCTION kit.explained;

-- Likes and comments write no topics
CREATE TABLE kit.versions AS SELECT topic, id, xmin::text AS version FROM blogstore.topics;
SELECT count(blogstore.create_like(kit.p(p), kit.u(u))) FROM generate_series(1, 3) p, generate_series(3, 4) u;
SELECT blogstore.wait_for_views();
SELECT count(*) FROM (SELECT topic, id, xmin::text FROM blogstore.topics EXCEPT SELECT * FROM kit.versions) t;

-- Pages, and back
SELECT count(kit.create_tagged(n, '["paged", "p"]', 1 + n % 4)) FROM generate_series(100, 160) n;
SELECT blogstore.wait_for_views();
SELECT kit.titles('paged', 3), kit.titles('paged', 3, 158), kit.titles('paged', 3, 101), kit.titles('paged', 3, 100);
SELECT kit.titles('paged', 3, oldest_first => true), kit.titles('paged', 3, 102, true), kit.titles('paged', 3, 159, true);
SELECT count(*), min(creation_date), max(creation_date) FROM blogstore.list_topic_posts('paged', NULL);
SELECT count(*) FROM blogstore.list_topic_posts('paged');

-- Topics, by prefix and by page
SELECT string_agg(topic, ', ') FROM blogstore.list_topics('p');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics(' PAG');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics('zz');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics(page_size => 2);
SELECT string_agg(topic, ', ') FROM blogstore.list_topics(page_size => 2, after_topic => 'Music');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics(after_topic => 'pagd');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics('p', after_topic => 'p');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics('p', after_topic => 'a');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics('p', after_topic => 'q');
SELECT string_agg(topic, ', ') FROM blogstore.list_topics(repeat('x', 5000));

-- Edited, hidden, shown, deleted
SELECT kit.tag(2, '["Jazz", "music"]');
SELECT kit.topics();
SELECT kit.tag(2, '["jazz", "blues"]');
SELECT kit.topics(), kit.titles('music'), kit.titles('jazz'), kit.titles('blues');
SELECT count(blogstore.hide_post(kit.p(n))) FROM generate_series(150, 159) n;
SELECT kit.titles('paged', 3);
SELECT kit.topics(), kit.titles('paged', 3);
SELECT kit.tag(159, '["paged", "again"]');
SELECT kit.topics();
SELECT count(blogstore.publish_post(kit.p(n))) FROM generate_series(155, 159) n;
SELECT kit.topics(), kit.titles('paged', 7), kit.titles('p', 7);
SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(140, 160) n;
SELECT kit.titles('paged', 3);
SELECT kit.topics(), kit.titles('paged', 3);
BEGIN;
SELECT kit.create_tagged(170, '["rolled back"]');
ROLLBACK;
SELECT kit.topics();

-- A renamed user, a deleted user, another with the deleted one's id
SELECT username FROM blogstore.edit_user(kit.u(3), 'Renamed');
SELECT blogstore.wait_for_views();
SELECT DISTINCT user_username FROM blogstore.list_topic_posts('paged', NULL) ORDER BY 1;
BEGIN;
SELECT blogstore.delete_user(kit.u(1));
SELECT kit.titles('music'), (SELECT count(*) FROM blogstore.list_topic_posts('paged', NULL) WHERE user_id = kit.u(1));
SELECT username FROM blogstore.create_user('another', kit.u(1), kit.d(1));
COMMIT;
SELECT kit.titles('music'), (SELECT count(*) FROM blogstore.list_topic_posts('paged', NULL) WHERE user_id = kit.u(1));
SELECT kit.topics();
SELECT blogstore.delete_user(kit.u(2));
SELECT kit.topics();
SELECT * FROM blogstore.verify();

-- What the owner writes to posts and copies
SELECT kit.create_tagged(200, '["owned", "x"]', 1);
SELECT kit.create_tagged(201, '["owned", "y"]', 3);
SELECT kit.topics();
UPDATE blogstore.posts SET properties = '{"tags": "direct"}' WHERE type = 'post' AND post_id = kit.p(200);
SELECT kit.topics();
UPDATE blogstore.posts SET id = kit.p(299) WHERE type = 'post' AND post_id = kit.p(200);
SELECT kit.topics();
SELECT * FROM blogstore.verify() WHERE container = 'topics';
UPDATE blogstore.posts SET id = kit.p(200) WHERE type = 'post' AND post_id = kit.p(200);
SELECT kit.topics();
UPDATE blogstore.posts SET creation_date = kit.d(999) WHERE type = 'post' AND post_id = kit.p(201);
SELECT kit.topics();
SELECT * FROM blogstore.verify();
UPDATE blogstore.posts SET user_id = kit.u(4), user_username = 'user 4' WHERE type = 'post' AND post_id = kit.p(201);
SELECT kit.topics();
SELECT * FROM blogstore.verify();
UPDATE blogstore.users SET user_id = kit.u(3) WHERE type = 'post' AND id = kit.p(201);
SELECT kit.topics();
SELECT * FROM blogstore.verify();
DELETE FROM blogstore.users WHERE type = 'post' AND id = kit.p(201);
SELECT kit.topics();
SELECT * FROM blogstore.verify();
UPDATE blogstore.users SET properties = '{"tags": ["p", "never"]}' WHERE type = 'post' AND id = kit.p(201);
SELECT kit.topics();
SELECT * FROM blogstore.verify();
-- and to topics: the worker builds the views anew
DELETE FROM blogstore.topics WHERE topic = 'owned';
SELECT kit.topics();
INSERT INTO blogstore.topics (type, topic, creation_date, id, user_id) VALUES ('topic_post', 'forged', kit.d(1), kit.p(200), kit.u(1));
UPDATE blogstore.topics SET post_count = 77 WHERE topic = 'p';
SELECT kit.topics();
TRUNCATE blogstore.topics;
SELECT kit.topics();
SELECT * FROM blogstore.verify();

-- A topic of the owner's that is long enough to be compressed
BEGIN;
INSERT INTO blogstore.topics (type, topic, post_count) VALUES ('topic', repeat('q', 5000), 1);
SELECT length(topic), post_count FROM blogstore.list_topics('qq');
COMMIT;
SELECT kit.topics();

-- A rebuild
SELECT blogstore.rebuild_views();
SELECT kit.topics();
SELECT * FROM blogstore.verify();

-- verify() and repair(), before the worker knows of the owner's writes
BEGIN;
DELETE FROM blogstore.topics WHERE type = 'topic_post' AND topic = 'p' AND id = kit.p(102);
DELETE FROM blogstore.topics WHERE type = 'topic' AND topic = 'owned';
UPDATE blogstore.topics SET user_id = kit.u(1) WHERE type = 'topic_post' AND topic = 'p' AND id = kit.p(103);
UPDATE blogstore.topics SET post_count = 77 WHERE type = 'topic' AND topic = 'paged';
INSERT INTO blogstore.topics (type, topic, creation_date, id, user_id) VALUES ('topic_post', 'forged', kit.d(1), kit.p(104), kit.u(1));
INSERT INTO blogstore.topics (type, topic, post_count) VALUES ('topic', 'a: b: 2', 3);
SELECT container, problem, type, right(id::text, 4) AS id, right(user_id::text, 4) AS user_id, expected, actual FROM blogstore.verify() ORDER BY problem, expected, actual;
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
SELECT kit.topics();

-- Imported posts
CREATE TABLE kit.posts_in AS SELECT kit.p(300 + n) AS post_id, kit.u(4) AS user_id, 'imported ' || n AS title, 'x' AS content, kit.d(300 + n) AS creation_date, jsonb_build_object('tags', ARRAY['Imported', 'i' || n % 2]) AS properties FROM generate_series(1, 10) n;
SELECT * FROM blogstore.import(posts => 'kit.posts_in');
SELECT kit.topics();
SELECT * FROM blogstore.verify();

-- Another property; the short form keeps it, whatever else it keeps
ALTER SYSTEM SET blogstore.topic_property = 'cat';
ALTER SYSTEM SET blogstore.short_form_properties = 'other';
SELECT pg_reload_conf();
CALL kit.await_setting();
SELECT kit.topics();
SELECT properties FROM blogstore.list_topic_posts('c1', 1);
SELECT title FROM blogstore.edit_post(kit.p(201), properties => '{"cat": "c9", "tags": "b"}');
SELECT kit.topics();
SELECT * FROM blogstore.verify();

-- None any more
ALTER SYSTEM RESET blogstore.topic_property;
ALTER SYSTEM RESET blogstore.short_form_properties;
SELECT pg_reload_conf();
CALL kit.await_setting();
SELECT kit.try('blogstore.list_topics()');
SELECT count(*) FROM blogstore.topics;
SELECT * FROM blogstore.verify();
DROP TABLE kit.stamp, kit.versions, kit.posts_in;
DROP PROCEDURE kit.await_setting;
DROP FUNCTION kit.create_tagged, kit.tag, kit.titles, kit.topics;
