--
-- IMPORT_PROPERTIES: what sites have beyond the properties of the article is
-- imported and exported unchanged: properties, hidden items, replies, dates of
-- edits
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- Documents make the round trip as they are, byte for byte
CREATE TABLE given (n serial, item jsonb);
INSERT INTO given (item)
SELECT jsonb_build_object('id', kit.u(n), 'type', 'user', 'userId', kit.u(n), 'username', 'user ' || n, 'creationDate', '2026-01-01T00:00:00+00:00') || beside
FROM (VALUES (1, jsonb '{}'),
	(2, '{"email": null, "": "", "nested": {"a": [1, [2, {"b": null}]], "title": "nested keys are free"}}'),
	(3, '{"1": 1, "10": 1.0, "2": 1.000, "big": 123456789012345678901234567890.12345678901234567890, "small": 1e-50, "negative": -0.0, "exponent": 1e20}')) AS v(n, beside);
INSERT INTO given (item)
SELECT jsonb_build_object('id', kit.p(n), 'type', 'post', 'postId', kit.p(n), 'userId', kit.u(1 + n % 3), 'title', 'title ' || n, 'content', 'content ' || n,
	'creationDate', '2026-02-01T00:00:00.12345' || n || '+00:00', 'userUsername', 'user ' || 1 + n % 3, 'likeCount', 0, 'commentCount', 0) || beside
FROM (VALUES (1, jsonb '{}'),
	(2, '{"hidden": true, "slug": "hello-world", "tags": ["a", "b", {"c": [null, true, false]}]}'),
	(3, '{"modificationDate": "2026-03-01T00:00:00+00:00", "Title": "another key", "titles": [], "empty": {}}'),
	(4, ('{"emoji": "\ud83d\ude00", "quote\"d": "\\ \u0001 \n", "long": "' || repeat('x', 60000) || '"}')::jsonb)) AS v(n, beside);
INSERT INTO given (item)
SELECT jsonb_build_object('id', kit.c(n), 'type', 'comment', 'postId', kit.p(p), 'userId', kit.u(1), 'content', 'comment ' || n,
	'creationDate', '2026-04-01T00:00:00+00:00', 'userUsername', 'user 1') || beside
FROM (VALUES (1, 1, jsonb '{}'), (2, 1, jsonb_build_object('parentId', kit.c(1), 'ip', '::1')), (3, 1, jsonb_build_object('hidden', true, 'parentId', kit.c(2))),
	(4, 1, '{"modificationDate": "2026-05-01T00:00:00+00:00", "score": 0.10}'), (5, 2, '{"on": "a hidden post"}'),
	(6, 3, jsonb_build_object('parentId', kit.c(77)))) AS v(n, p, beside);
INSERT INTO given (item)
SELECT jsonb_build_object('id', kit.c(100 + n), 'type', 'like', 'postId', kit.p(n), 'userId', kit.u(2), 'creationDate', '2026-06-01T00:00:00+00:00', 'userUsername', 'user 2')
FROM generate_series(1, 2) n;
-- what is shown is counted
UPDATE given SET item = item || jsonb_build_object('commentCount', c, 'likeCount', l)
FROM (VALUES (1, 3, 1), (2, 1, 1), (3, 1, 0)) AS v(n, c, l) WHERE item ->> 'type' = 'post' AND item ->> 'id' = kit.p(v.n)::text;
UPDATE given SET item = item || jsonb_build_object('likeCount', 0, 'replyCount', (SELECT count(*) FROM given r WHERE r.item -> 'parentId' = given.item -> 'id' AND r.item -> 'hidden' IS NULL)) WHERE item ->> 'type' = 'comment';
CREATE VIEW given_documents AS SELECT item FROM given;
SELECT type, read, imported, rejected FROM blogstore.import_documents('given_documents');
SELECT kit.compare('SELECT item, item::text FROM given ORDER BY item ->> ''id''',
	'SELECT i, i::text FROM blogstore.export_documents() i ORDER BY i ->> ''id''');
-- once more: all is there; as an export, too
SELECT type, present, rejected FROM blogstore.import_documents('given_documents');
CREATE TABLE taken AS SELECT i AS item FROM blogstore.export_documents() i;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT type, read, imported, rejected FROM blogstore.import_documents('taken');
SELECT kit.compare('SELECT item, item::text FROM given ORDER BY item ->> ''id''',
	'SELECT i, i::text FROM blogstore.export_documents() i ORDER BY i ->> ''id''');
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT title, hidden FROM blogstore.list_feed() ORDER BY title;
SELECT p.title, p.hidden, p.comment_count FROM blogstore.get_post(kit.p(2)) p;
SELECT content, parent_id = kit.c(1) AS reply FROM blogstore.list_post_comments(kit.p(1)) ORDER BY content;
-- nothing is stored of what says nothing
SELECT count(*) FROM blogstore.posts WHERE properties = '{}' OR hidden = false;
SELECT count(*) FROM blogstore.users WHERE properties = '{}';
-- other properties, and another parent, are another item
CREATE TABLE rejects (type text, reason text, item jsonb);
CREATE TABLE others AS SELECT item || '{"slug": "another"}' AS item FROM given WHERE item ->> 'type' = 'post' AND item ? 'slug'
UNION ALL SELECT item || '{"email": "a@example.org"}' FROM given WHERE item ? 'email'
UNION ALL SELECT item || jsonb_build_object('parentId', kit.c(4)) FROM given WHERE item ? 'ip'
UNION ALL SELECT item || '{"score": 0.1}' FROM given WHERE item ? 'score';
SELECT type, present, rejected FROM blogstore.import_documents('others', 'rejects') WHERE read > 0;
-- A caller who does not ask for ignored properties gets none; a rejected item
-- comes with its document unchanged
SELECT kit.compare('SELECT item - ''userUsername'' - ''commentCount'' - ''likeCount'' - ''replyCount'' FROM others ORDER BY 1', 'SELECT item FROM rejects ORDER BY 1');
CREATE TABLE bare AS SELECT (SELECT jsonb_object_agg(key, value) FROM jsonb_each(item)
	WHERE key IN ('id', 'type', 'postId', 'userId', 'username', 'title', 'content', 'creationDate')) AS item FROM given;
SELECT type, present, rejected FROM blogstore.import_documents('bare') WHERE read > 0;
-- A property is ignored if it is one of the article's but not of this type of
-- item. A like has no other properties.
CREATE TABLE ignored AS SELECT item || CASE item ->> 'type' WHEN 'like' THEN '{"own": 1}' WHEN 'comment' THEN '{"title": "x", "likeCount": 7, "replyCount": 7}' ELSE jsonb_build_object('parentId', kit.c(1)) END AS item FROM given;
SELECT type, present, rejected FROM blogstore.import_documents('ignored') WHERE read > 0;
DROP TABLE ignored;

-- Documents that cannot be
TRUNCATE rejects;
CREATE TABLE bad (item jsonb);
INSERT INTO bad SELECT i.item || beside FROM given i, (VALUES (jsonb '{"hidden": "true"}'), ('{"hidden": 1}'), ('{"modificationDate": "yesterday"}'), ('{"modificationDate": "infinity"}'),
	('{"parentId": "none"}'), (jsonb_build_object('long', repeat('x', 65536))), (jsonb_build_object('parentId', kit.c(99)))) AS v(beside)
	WHERE item ->> 'id' = kit.c(1)::text;
UPDATE bad SET item = item || jsonb_build_object('id', kit.c(99));
SELECT type, imported, rejected FROM blogstore.import_documents('bad', 'rejects') WHERE read > 0;
SELECT reason, length(item::text) > 1000 AS long FROM rejects ORDER BY reason COLLATE "C";

-- Tables may have the same as columns; a key of a parent is a comment's
SELECT kit.clear();
SELECT blogstore.wait_for_views();
CREATE TABLE site_users (user_id int, username text, creation_date timestamptz, bio text, password text, properties jsonb);
CREATE TABLE site_posts (post_id int, user_id int, title text, content text, creation_date timestamptz, hidden boolean, modification_date timestamp, slug text, tags text[], score numeric, meta jsonb);
CREATE TABLE site_comments (comment_id int, post_id int, user_id int, content text, creation_date timestamptz, hidden boolean, parent_id bigint, ip inet, slug text);
CREATE TABLE site_likes (post_id int, user_id int, creation_date timestamptz, slug text, source text);
INSERT INTO site_users VALUES (1, 'ada', kit.d(1), 'Likes machines', 'secret', '{"lang": "en"}'), (2, 'bob', kit.d(2), NULL, 'secret', NULL), (3, 'eve', kit.d(3), '', 'secret', '{}');
INSERT INTO site_posts VALUES (1, 1, 'One', 'c', kit.d(10), false, '2026-01-01 00:00', 'one', '{a,b}', 1.50, '{"k": null}'), (2, 1, 'Draft', 'c', kit.d(11), true, NULL, NULL, NULL, NULL, NULL),
	(3, 2, 'Three', 'c', kit.d(12), NULL, NULL, 'three', '{}', 'NaN', '[1]');
INSERT INTO site_comments VALUES (1, 1, 2, 'first', kit.d(20), NULL, NULL, '127.0.0.1', 'x'), (2, 1, 1, 'reply', kit.d(21), false, 1, NULL, NULL), (3, 1, 3, 'held', kit.d(22), true, 2, NULL, NULL);
INSERT INTO site_likes VALUES (1, 2, kit.d(30), 'x', 'web');
SELECT type, imported, left_out FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:');
SELECT username, properties FROM blogstore.users WHERE type = 'user' ORDER BY username;
SELECT title, hidden, modification_date, properties, comment_count, like_count FROM blogstore.get_posts(ARRAY(SELECT blogstore.key_id('post', 's:' || n) FROM generate_series(1, 3) n));
SELECT content, parent_id = blogstore.key_id('comment', 's:1') AS to_first, parent_id = blogstore.key_id('comment', 's:2') AS to_second, hidden
FROM blogstore.list_post_comments(blogstore.key_id('post', 's:1'), include_hidden => true);
-- Columns that are named become properties of every item that has them; a NULL
-- becomes none
SELECT type, updated, present, left_out FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:', changed => 'update', extra => ARRAY['slug', 'tags', 'score', 'meta', 'bio']);
SELECT username, properties FROM blogstore.users WHERE type = 'user' ORDER BY username;
SELECT title, properties, modification_date > kit.d(100) AS edited FROM blogstore.get_posts(ARRAY(SELECT blogstore.key_id('post', 's:' || n) FROM generate_series(1, 3) n));
SELECT content, properties FROM blogstore.list_post_comments(blogstore.key_id('post', 's:1'), include_hidden => true);
-- again: all is there
SELECT kit.digest() AS digest \gset
SELECT type, updated, present FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:', changed => 'update', extra => ARRAY['slug', 'tags', 'score', 'meta', 'bio']);
SELECT type, updated, present FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:', extra => ARRAY['slug', 'tags', 'score', 'meta', 'bio']);
SELECT kit.digest() = :'digest' AS same;

-- Changes at the source: a draft is published, a post and a comment are
-- hidden, a comment is approved and edited, a reply gets another parent,
-- properties are changed and cleared
SELECT blogstore.wait_for_views();
SELECT title FROM blogstore.list_feed() ORDER BY title;
UPDATE site_posts SET hidden = false, creation_date = kit.d(40) WHERE post_id = 2;
UPDATE site_posts SET hidden = true WHERE post_id = 1;
UPDATE site_posts SET slug = 'drei', tags = NULL WHERE post_id = 3;
UPDATE site_comments SET hidden = true WHERE comment_id = 1;
UPDATE site_comments SET hidden = false, content = 'approved' WHERE comment_id = 3;
UPDATE site_comments SET parent_id = 3 WHERE comment_id = 2;
UPDATE site_users SET properties = NULL, bio = NULL WHERE user_id = 1;
UPDATE site_users SET username = 'Bob', properties = '{"lang": "de"}' WHERE user_id = 2;
BEGIN;
SELECT type, updated, present FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:', changed => 'update', extra => ARRAY['slug', 'tags', 'score', 'meta', 'bio']);
-- A hidden post leaves the feed at once; the worker adds a published one
SELECT title FROM blogstore.feed ORDER BY title;
COMMIT;
SELECT blogstore.wait_for_views();
SELECT title, creation_date FROM blogstore.list_feed() ORDER BY title;
SELECT title, hidden, creation_date, properties, comment_count, like_count, user_username FROM blogstore.get_posts(ARRAY(SELECT blogstore.key_id('post', 's:' || n) FROM generate_series(1, 3) n));
SELECT content, hidden, parent_id = blogstore.key_id('comment', 's:3') AS to_third, modification_date IS NOT NULL AS edited
FROM blogstore.list_post_comments(blogstore.key_id('post', 's:1'), include_hidden => true);
SELECT username, properties FROM blogstore.users WHERE type = 'user' ORDER BY username;
SELECT * FROM blogstore.verify();
SELECT count(*) AS wrong FROM kit.wrong_counts();
-- Another date alone is no change, and a post that is shown does not take
-- another date
UPDATE site_posts SET modification_date = '2026-08-01' WHERE post_id = 1;
UPDATE site_posts SET creation_date = kit.d(41) WHERE post_id = 2;
TRUNCATE rejects;
SELECT type, updated, present, rejected FROM blogstore.import(posts => 'site_posts', rejects => 'rejects', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT reason, item ->> 'title' AS title FROM rejects;

-- Columns that say something else than their names, and extras that are none
CREATE VIEW odd_hidden AS SELECT post_id, user_id, title, content, creation_date, 1 AS hidden FROM site_posts;
CREATE VIEW odd_properties AS SELECT post_id, user_id, title, content, creation_date, 'x'::text AS properties FROM site_posts;
CREATE VIEW odd_date AS SELECT post_id, user_id, title, content, creation_date, 'x'::text AS modification_date FROM site_posts;
CREATE VIEW odd_parent AS SELECT comment_id, post_id, user_id, content, creation_date, 1.5::real AS parent_id FROM site_comments;
CREATE VIEW odd_object AS SELECT 9 AS post_id, 1 AS user_id, 'odd' AS title, 'c' AS content, NULL::timestamptz AS creation_date, true AS hidden, '[1]'::json AS properties, 'kept' AS slug
UNION ALL SELECT 8, 1, 'odd', 'c', NULL, NULL, '{"title": 1}', 'kept' UNION ALL SELECT 7, 1, 'odd', 'c', NULL, NULL, 'null', 'kept' UNION ALL SELECT 6, 1, 'good', 'c', NULL, NULL, '{"b": 1, "b": 2}', 'kept';
SELECT kit.try('blogstore.import(posts => ''odd_hidden'', key_prefix => ''s:'')');
SELECT kit.try('blogstore.import(posts => ''odd_properties'', key_prefix => ''s:'')');
SELECT kit.try('blogstore.import(posts => ''odd_date'', key_prefix => ''s:'')');
SELECT kit.try('blogstore.import(comments => ''odd_parent'', key_prefix => ''s:'')');
SELECT kit.try('blogstore.import(posts => ''site_posts'', key_prefix => ''s:'', extra => ''{slug,NULL}'')');
SELECT kit.try('blogstore.import(posts => ''site_posts'', key_prefix => ''s:'', extra => ''{title}'')');
SELECT kit.try('blogstore.import(posts => ''site_posts'', key_prefix => ''s:'', extra => ''{slug,nowhere}'')');
SELECT kit.try('blogstore.import(posts => ''site_posts'', key_prefix => ''s:'', extra => ''{ctid}'')');
SELECT kit.try('blogstore.import(likes => ''site_likes'', key_prefix => ''s:'', extra => ''{source}'')');
TRUNCATE rejects;
SELECT type, imported, rejected, left_out FROM blogstore.import(posts => 'odd_object', rejects => 'rejects', key_prefix => 's:', extra => '{slug,slug}') WHERE read > 0;
SELECT reason, item - '{id,postId,userId}'::text[] AS item FROM rejects ORDER BY reason COLLATE "C", item;
SELECT properties FROM blogstore.get_post(blogstore.key_id('post', 's:6'));
-- a column whose name has to be quoted, and one dropped
CREATE TABLE quoted (user_id int, username text, creation_date timestamptz, "Odd "" name; --" text, gone text);
ALTER TABLE quoted DROP gone;
INSERT INTO quoted VALUES (50, 'quoted', NULL, 'kept');
SELECT left_out FROM blogstore.import('quoted', key_prefix => 's:') WHERE type = 'user';
SELECT left_out FROM blogstore.import('quoted', key_prefix => 's:', changed => 'update', extra => ARRAY['Odd " name; --']) WHERE type = 'user';
SELECT properties FROM blogstore.get_user(blogstore.key_id('user', 's:50'));
-- Columns with names that the statement itself uses, and names that occur more
-- than once
CREATE TABLE short_names AS SELECT 51 AS user_id, 'short names' AS username, NULL::timestamptz AS creation_date, 'an e' AS e, '{"id": 1}'::jsonb AS s;
SELECT left_out FROM blogstore.import('short_names', key_prefix => 's:', extra => '{s,e}' || array_fill('e'::text, ARRAY[2000])) WHERE type = 'user';
SELECT properties FROM blogstore.get_user(blogstore.key_id('user', 's:51'));

-- Large sets: replies and hidden comments by the thousand, in any order
SELECT kit.clear();
SELECT blogstore.wait_for_views();
CREATE TABLE many_comments AS SELECT n AS comment_id, 1 + n % 2 AS post_id, 1 AS user_id, 'c' || n AS content, kit.d(n) AS creation_date, n % 3 = 0 AS hidden,
	CASE WHEN n > 1 THEN n / 2 END AS parent_id, jsonb_build_object('n', n) AS properties FROM generate_series(1, 3000) n ORDER BY hashint4(n);
SELECT type, imported FROM blogstore.import('site_users', 'site_posts', 'many_comments', key_prefix => 's:') WHERE read > 0;
SELECT title, comment_count FROM blogstore.get_posts(ARRAY(SELECT blogstore.key_id('post', 's:' || n) FROM generate_series(1, 2) n));
SELECT count(*) AS wrong FROM kit.wrong_counts();
UPDATE many_comments SET hidden = NOT hidden WHERE comment_id % 100 = 0;
SELECT type, updated, present FROM blogstore.import(comments => 'many_comments', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT count(*) AS wrong FROM kit.wrong_counts();
SELECT count(*) FROM many_comments m JOIN blogstore.posts p ON p.type = 'comment' AND p.id = blogstore.key_id('comment', 's:' || m.comment_id)
WHERE m.hidden = coalesce(p.hidden, false) AND p.properties = m.properties AND p.parent_id IS NOT DISTINCT FROM blogstore.key_id('comment', 's:' || m.parent_id);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

DROP TABLE given, taken, rejects, others, bare, bad, quoted, short_names, many_comments CASCADE;
DROP TABLE site_users, site_posts, site_comments, site_likes CASCADE;
SELECT kit.clear();
