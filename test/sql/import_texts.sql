--
-- IMPORT_TEXTS: a text that is no JSON, no date or no valid string rejects
-- only its own item
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
CREATE TABLE rejects (type text, reason text, item jsonb);

-- Lines of a file, one bad among many
CREATE TABLE line (line text);
INSERT INTO line SELECT jsonb_build_object('type', 'user', 'id', kit.u(n), 'username', 'member ' || n)::text FROM generate_series(1, 2000) n;
INSERT INTO line SELECT jsonb_build_object('type', 'post', 'id', kit.p(n), 'userId', kit.u(n), 'title', 'title ' || n, 'content', 'c')::text FROM generate_series(1, 20) n;
CREATE TABLE bad (n serial, line text);
INSERT INTO bad (line) VALUES
	('{"type": "post", "id": "00000000-0000-7000-8001-000000000100", "userId": "00000000-0000-7000-8000-000000000001", "title": "nul", "content": "a\u0000b\u0000\u0000"}'),
	('{"type": "post", "id": "00000000-0000-7000-8001-000000000101", "userId": "00000000-0000-7000-8000-000000000001", "title": "first half", "content": "\ud83d"}'),
	('{"type": "post", "id": "00000000-0000-7000-8001-000000000102", "userId": "00000000-0000-7000-8000-000000000001", "title": "second half", "content": "\uDE00 \ud83d\ude00 \\ud83d \\\uDE00"}'),
	('{"type": "post", "id": "00000000-0000-7000-8001-000000000103", "userId": "00000000-0000-7000-8000-000000000001", "title": "twice the first", "content": "\ud83d\ud83d\ude00"}'),
	('{"type": "comment", "id": "00000000-0000-7000-8002-000000000104", "postId": "00000000-0000-7000-8001-000000000001", "userId": "00000000-0000-7000-8000-000000000001", "content": "c", "\u0000": 1}'),
	('{"type": "like", "postId": "00000000-0000-7000-8001-000000000001", "userId": "00000000-0000-7000-8000-000000000001", "mood": "\udfff"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000105", "username": "too many digits", "karma": 1e999999}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000106", "username": "cut'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000107", "username": "twice"}{}'),
	(E'{"type": "user", "id": "00000000-0000-7000-8000-000000000108", "username": "a\ttab"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000109", "username": "no such escape \x"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000110", "username": "\u00"}'),
	('\u0000'), (''), (NULL), ('user'), ('"\u0000"'), ('[{"type": "user"}]'),
	-- these are good: a backslash before u0000, and a whole pair
	('{"type": "user", "id": "00000000-0000-7000-8000-000000009111", "username": "\\u0000 \ud83d\ude00", "path": "C:\\u0000\\\\ud83d"}');
INSERT INTO line SELECT line FROM bad;
SELECT * FROM blogstore.import_documents('line', 'rejects');
SELECT type, reason, item FROM rejects ORDER BY type, reason COLLATE "C", item::text COLLATE "C";
SELECT username, properties FROM blogstore.get_user('00000000-0000-7000-8000-000000009111');
SELECT title, user_username FROM blogstore.get_post(kit.p(20));
-- without a table for rejects the error names the first
SELECT kit.try('blogstore.import_documents(''bad'')');
-- what was rejected is mended where U+FFFD does
CREATE TABLE mended AS SELECT item FROM rejects WHERE type = 'post';
SELECT type, imported FROM blogstore.import_documents('mended') WHERE read > 0;
SELECT blogstore.wait_for_views();
SELECT content FROM blogstore.list_user_posts(kit.u(1), NULL) WHERE title <> 'title 1' ORDER BY 1;
-- as json, too; which of several columns it is
TRUNCATE rejects;
CREATE TABLE as_json (n text, j json);
INSERT INTO as_json (j) SELECT line::json FROM bad WHERE n <= 7;
SELECT type, read, imported, rejected FROM blogstore.import_documents('as_json', 'rejects') WHERE read > 0;
CREATE DOMAIN of_line AS varchar(1000);
CREATE TABLE of_domain (n int, line of_line);
INSERT INTO of_domain SELECT * FROM bad WHERE n = 19;
SELECT type, present FROM blogstore.import_documents('of_domain') WHERE read > 0;
CREATE TABLE two_texts (a text, b varchar);
SELECT kit.try('blogstore.import_documents(''two_texts'')');
-- nested deeper than the stack allows
TRUNCATE rejects;
CREATE TABLE deep AS SELECT repeat('[', 100000) AS line;
SELECT read, rejected FROM blogstore.import_documents('deep', 'rejects') WHERE type IS NULL;
-- plans with parallel workers make no difference
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT type, present, rejected FROM blogstore.import_documents('line', 'rejects') WHERE read > 0;

-- Tables of items: properties and extra columns of json, dates of other types
TRUNCATE rejects;
CREATE TABLE site_posts (post_id bigint, user_id uuid, title text, content text, creation_date text, properties json, mood json, moods json[]);
INSERT INTO site_posts VALUES
	(1, kit.u(1), 'good', '', '2024-01-02 03:04:05+01', '{"a": "\\u0000"}', '{"b": "\ud83d\ude00"}', ARRAY['1'::json]),
	(2, kit.u(1), 'properties', '', NULL, '{"a": "\u0000", "b": 1}', NULL, NULL),
	(3, kit.u(1), 'extra', '', NULL, NULL, '{"b": "\ud83d"}', NULL),
	(4, kit.u(1), 'in an array', '', NULL, '{"a": 1}', NULL, ARRAY['"\ude00"'::json]),
	(5, kit.u(1), 'a number', '', NULL, '{"a": 1e1000000}', NULL, NULL),
	(6, kit.u(1), 'no object', '', NULL, '[1]', '1', NULL);
INSERT INTO site_posts SELECT 100 + n, kit.u(1), 'a date: ' || date, '', date
FROM unnest(ARRAY['0000-00-00 00:00:00', 'Invalid date', 'Invalid Date', '-62169984000000', '2019-02-30', '2019-13-01T00:00:00Z', '', 'now', 'infinity', '300000-01-01', '24:00', 'NaN',
	'2019-02-28T12:00:00.000Z']) WITH ORDINALITY AS v (date, n);
SELECT type, read, imported, rejected FROM blogstore.import(posts => 'site_posts', rejects => 'rejects', key_prefix => 'site:', extra => '{mood,moods}') WHERE read > 0;
SELECT reason, item ->> 'title' AS title, item - '{id,postId,type,userId,title,content,creationDate}'::text[] AS properties FROM rejects ORDER BY reason COLLATE "C", (item ->> 'title') COLLATE "C";
SELECT count(*) AS named FROM rejects r JOIN site_posts s ON r.item ->> 'id' = blogstore.key_id('post', 'site:' || s.post_id)::text AND r.item ->> 'title' = s.title;
SELECT blogstore.wait_for_views();
SELECT title, creation_date, properties FROM blogstore.list_user_posts(kit.u(1), NULL) WHERE post_id IN (SELECT blogstore.key_id('post', 'site:' || post_id) FROM site_posts) ORDER BY title;
-- dates as of the session's time zone, as a cast takes them
CREATE TABLE dated (user_id int, username text, creation_date timestamp);
CREATE TABLE dated_days (user_id int, username text, creation_date date);
INSERT INTO dated VALUES (1, 'by time', '2024-07-01 12:00:00.123456'), (2, 'for ever', 'infinity'), (3, 'at the end', '294276-12-31 23:59:59');
INSERT INTO dated_days VALUES (11, 'by day', '2024-07-01'), (12, 'never', '-infinity'), (13, 'far off', '5874897-12-31'), (14, 'long ago', '4713-01-01 BC');
TRUNCATE rejects;
SET timezone = 'America/New_York';
SET datestyle = 'German';
SELECT type, read, imported, rejected FROM blogstore.import('dated', rejects => 'rejects', key_prefix => 'site:') WHERE read > 0;
SELECT type, read, imported, rejected FROM blogstore.import('dated_days', rejects => 'rejects', key_prefix => 'site:') WHERE read > 0;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT reason, string_agg(item ->> 'username', ', ' ORDER BY item ->> 'username' COLLATE "C") AS users FROM rejects GROUP BY 1 ORDER BY 1;
SELECT u.username, u.creation_date FROM dated d, blogstore.get_user(blogstore.key_id('user', 'site:' || d.user_id)) u
UNION ALL SELECT u.username, u.creation_date FROM dated_days d, blogstore.get_user(blogstore.key_id('user', 'site:' || d.user_id)) u ORDER BY 1;
-- a modification_date is not guessed
CREATE VIEW guessed AS SELECT post_id, user_id, title, content, creation_date, creation_date AS modification_date FROM site_posts;
SELECT kit.try('blogstore.import(posts => ''guessed'')');

-- A source says itself why it has no item
TRUNCATE rejects;
CREATE TABLE told (comment_id int, post_id uuid, user_id uuid, content text, creation_date timestamptz, reject_reason text);
INSERT INTO told VALUES (1, kit.p(1), kit.u(1), 'good', NULL, NULL), (2, kit.p(1), kit.u(1), 'bad', NULL, 'is spam'), (3, kit.p(1), kit.u(1), '', NULL, 'is spam'), (4, kit.p(1), NULL, NULL, NULL, 'is nothing');
SELECT type, read, imported, rejected, left_out FROM blogstore.import(comments => 'told', rejects => 'rejects', key_prefix => 'site:') WHERE read > 0;
SELECT reason, item ->> 'id' = blogstore.key_id('comment', 'site:2')::text AS second, item ->> 'content' AS content FROM rejects ORDER BY 1, 3;

SELECT count(*) AS wrong FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
DROP TABLE rejects, line, bad, mended, as_json, of_domain, two_texts, deep, site_posts, dated, dated_days, told CASCADE;
DROP DOMAIN of_line;
