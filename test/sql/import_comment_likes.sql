--
-- IMPORT_COMMENT_LIKES: likes of comments in, and out as documents
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- Comments whose like_count or reply_count is not the number of their likes,
-- or of the shown replies to them, and likes of comments that do not exist
CREATE VIEW kit.wrong AS
SELECT c.content, g.like_count, g.reply_count,
	(SELECT count(*) FROM blogstore.posts l WHERE l.type = 'comment_like' AND l.post_id = c.post_id AND l.comment_id = c.id) AS likes,
	(SELECT count(*) FROM blogstore.posts r WHERE r.type = 'comment' AND r.post_id = c.post_id AND r.parent_id = c.id AND r.hidden IS NOT TRUE) AS replies
FROM blogstore.posts c LEFT JOIN LATERAL blogstore.get_comment(c.post_id, c.id) g ON true WHERE c.type = 'comment';
CREATE VIEW kit.all_wrong AS
SELECT content, like_count, likes FROM kit.wrong WHERE (like_count, reply_count) IS DISTINCT FROM (likes, replies)
UNION ALL SELECT 'orphan', NULL, NULL FROM blogstore.posts l WHERE l.type = 'comment_like'
	AND NOT EXISTS (SELECT FROM blogstore.posts c WHERE c.type = 'comment' AND c.post_id = l.post_id AND c.id = l.comment_id);

-- One source has likes of posts and of comments
CREATE TABLE site_users AS SELECT n AS user_id, 'Member ' || n AS username, kit.d(n) AS creation_date FROM generate_series(1, 5) n;
CREATE TABLE site_posts AS SELECT n AS post_id, 1 AS user_id, 'title ' || n AS title, '' AS content, kit.d(10 + n) AS creation_date FROM generate_series(1, 3) n;
CREATE TABLE site_comments AS SELECT n AS comment_id, 1 + n % 2 AS post_id, 2 AS user_id, 'comment ' || n AS content, kit.d(20 + n) AS creation_date,
	CASE WHEN n > 4 THEN n - 4 END AS parent_id, n = 3 AS hidden FROM generate_series(1, 8) n;
CREATE TABLE site_likes (post_id int, comment_id int, user_id int, creation_date timestamptz);
INSERT INTO site_likes SELECT 1, NULL, u, kit.d(40 + u) FROM generate_series(1, 2) u;
INSERT INTO site_likes SELECT 1 + c % 2, c, u, kit.d(50 + u) FROM generate_series(1, 5) c, generate_series(1, 5) u WHERE c <= u;
SELECT * FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:');
SELECT * FROM kit.all_wrong;
SELECT content, likes, replies FROM kit.wrong ORDER BY content;
SELECT comment_count, like_count FROM blogstore.get_post(blogstore.key_id('post', 's:1'));
SELECT type, user_username, creation_date, comment_id = blogstore.key_id('comment', 's:4') AS of_fourth
FROM blogstore.list_comment_likes(blogstore.key_id('post', 's:1'), blogstore.key_id('comment', 's:4'));
SELECT count(*) FROM blogstore.list_post_likes(blogstore.key_id('post', 's:1'));
-- again: nothing changes
SELECT * FROM blogstore.import('site_users', 'site_posts', 'site_comments', 'site_likes', key_prefix => 's:', changed => 'update');
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Onto posts and comments that exist, and onto new comments on them
INSERT INTO site_comments VALUES (9, 3, 1, 'comment 9', kit.d(60), NULL, false), (10, 1, 1, 'comment 10', kit.d(61), 4, false);
INSERT INTO site_likes VALUES (3, 9, 1, NULL), (3, 9, 2, kit.d(70)), (1, 10, 1, NULL), (1, 2, 1, NULL), (1, 8, 1, NULL), (2, NULL, 4, NULL);
BEGIN;
SELECT type, imported, present FROM blogstore.import(comments => 'site_comments', likes => 'site_likes', key_prefix => 's:') WHERE read > 0;
SELECT * FROM kit.all_wrong;
SELECT count(*) FROM blogstore.posts WHERE type = 'comment_like' AND creation_date >= now();
COMMIT;
SELECT * FROM kit.all_wrong;
-- likes alone
CREATE VIEW more_likes AS SELECT 1 AS post_id, 6 AS comment_id, n AS user_id, NULL::timestamptz AS creation_date FROM generate_series(1, 3) n;
SELECT type, imported, present FROM blogstore.import(likes => 'more_likes', key_prefix => 's:') WHERE read > 0;
SELECT like_count, reply_count FROM blogstore.get_comment(blogstore.key_id('post', 's:1'), blogstore.key_id('comment', 's:6'));
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- What cannot be imported
CREATE TABLE rejects (type text, reason text, item jsonb);
CREATE TABLE bad_likes (post_id int, comment_id bigint, user_id int, creation_date timestamptz, reject_reason text);
INSERT INTO bad_likes VALUES
	(1, 99, 1, NULL, NULL), (2, 2, 1, NULL, NULL), (99, 2, 1, NULL, NULL), (NULL, 2, 1, NULL, NULL), (1, 2, NULL, NULL, NULL), (1, 2, 99, NULL, NULL),
	(1, 2, 2, 'infinity', NULL), (1, 2, 2, kit.d(1), NULL), (1, 2, 3, kit.d(53), NULL), (1, 6, 4, kit.d(2), NULL), (1, 6, 4, kit.d(1), NULL), (1, 6, 5, NULL, 'no');
SELECT * FROM blogstore.import(likes => 'bad_likes', rejects => 'rejects', key_prefix => 's:') WHERE read > 0;
SELECT type, reason, item - '{type,postId,userId,commentId}'::text[] AS item, item ->> 'commentId' = blogstore.key_id('comment', 's:2')::text AS of_second
FROM rejects ORDER BY reason COLLATE "C", item::text;
SELECT creation_date FROM blogstore.get_like(blogstore.key_id('post', 's:1'), blogstore.key_id('user', 's:4'), blogstore.key_id('comment', 's:6'));
-- a comment that is rejected gets no likes
CREATE TABLE bad_comments AS SELECT * FROM site_comments WHERE false;
INSERT INTO bad_comments VALUES (20, 1, 1, '', NULL, NULL, false), (21, 1, 99, 'x', NULL, NULL, false), (22, 1, 1, 'x', kit.d(2), NULL, false), (22, 1, 1, 'y', kit.d(1), NULL, false), (2, 1, 1, 'other', NULL, NULL, false);
TRUNCATE bad_likes, rejects;
INSERT INTO bad_likes SELECT 1, c, 5, kit.d(80) FROM unnest(ARRAY[20, 21, 22, 2]) c;
SELECT type, imported, present, rejected FROM blogstore.import(comments => 'bad_comments', likes => 'bad_likes', rejects => 'rejects', key_prefix => 's:') WHERE read > 0;
SELECT type, reason FROM rejects ORDER BY 1, 2;
SELECT * FROM kit.all_wrong;
-- columns of other types
CREATE VIEW odd_likes AS SELECT post_id, comment_id::real AS comment_id, user_id, creation_date FROM site_likes;
SELECT kit.try('blogstore.import(likes => ''odd_likes'')');
-- a comment by a user who has been deleted
SELECT blogstore.delete_user(blogstore.key_id('user', 's:5'));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.all_wrong;

-- A comment that is made with the id of an earlier one begins without the
-- likes that the earlier one has left
DELETE FROM blogstore.posts WHERE type = 'comment' AND id = blogstore.key_id('comment', 's:2');
CREATE VIEW again AS SELECT * FROM site_comments WHERE comment_id = 2;
CREATE VIEW again_likes AS SELECT * FROM site_likes WHERE comment_id = 2 AND user_id < 5;
SELECT type, imported, present FROM blogstore.import(comments => 'again', key_prefix => 's:') WHERE read > 0;
SELECT like_count, reply_count FROM blogstore.get_comment(blogstore.key_id('post', 's:1'), blogstore.key_id('comment', 's:2'));
SELECT * FROM kit.all_wrong;
SELECT type, imported, present FROM blogstore.import(comments => 'again', likes => 'again_likes', key_prefix => 's:') WHERE read > 0;
SELECT like_count, reply_count FROM blogstore.get_comment(blogstore.key_id('post', 's:1'), blogstore.key_id('comment', 's:2'));
SELECT * FROM kit.all_wrong;
-- Imported at once with its likes, it has exactly these
DELETE FROM blogstore.posts WHERE type = 'comment' AND id = blogstore.key_id('comment', 's:2');
CREATE VIEW later_likes AS SELECT post_id, comment_id, user_id, CASE WHEN user_id = 3 THEN kit.d(90) ELSE creation_date END AS creation_date FROM again_likes
UNION ALL SELECT post_id, comment_id, user_id, kit.d(99) FROM again_likes WHERE user_id = 3;
SELECT type, imported, present, rejected FROM blogstore.import(comments => 'again', likes => 'later_likes', rejects => 'rejects', key_prefix => 's:') WHERE read > 0;
SELECT user_username, CASE WHEN creation_date < kit.d(100) THEN creation_date END AS creation_date FROM blogstore.list_comment_likes(blogstore.key_id('post', 's:1'), blogstore.key_id('comment', 's:2')) ORDER BY 1;
SELECT * FROM kit.all_wrong;
-- also if SQL has deleted its counts, too
DELETE FROM blogstore.posts WHERE blogstore.key_id('comment', 's:2') IN (id, item_id);
SELECT type, imported, present FROM blogstore.import(comments => 'again', likes => 'again_likes', key_prefix => 's:') WHERE read > 0;
SELECT user_username, CASE WHEN creation_date < kit.d(100) THEN creation_date END AS creation_date FROM blogstore.list_comment_likes(blogstore.key_id('post', 's:1'), blogstore.key_id('comment', 's:2')) ORDER BY 1;
SELECT * FROM kit.all_wrong;
SELECT blogstore.repair() > 0 AS repaired;
SELECT * FROM blogstore.verify();

-- Documents: a like of a comment has commentId
SELECT i - '{id,postId,commentId,userId,creationDate}'::text[] AS document, i ->> 'commentId' = blogstore.key_id('comment', 's:9')::text AS of_ninth
FROM blogstore.export_documents() i WHERE i ->> 'type' = 'comment_like' AND i ->> 'postId' = blogstore.key_id('post', 's:3')::text ORDER BY 1;
SELECT i ->> 'content' AS content, i -> 'likeCount' AS likes, i -> 'replyCount' AS replies FROM blogstore.export_documents() i WHERE i ->> 'type' = 'comment' ORDER BY 1;
CREATE TABLE documents AS SELECT i AS item FROM blogstore.export_documents() i;
SELECT kit.compare('SELECT item FROM documents WHERE item ->> ''type'' = ''comment_like'' ORDER BY item ->> ''id''',
	'SELECT l::jsonb FROM blogstore.posts p, blogstore.get_like(p.post_id, p.user_id, p.comment_id) l WHERE p.type = ''comment_like'' ORDER BY p.id::text');
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT type, read, imported, rejected FROM blogstore.import_documents('documents');
SELECT kit.compare('SELECT item FROM documents ORDER BY item ->> ''id''', 'SELECT i FROM blogstore.export_documents() i ORDER BY i ->> ''id''');
SELECT type, read, present, rejected FROM blogstore.import_documents('documents');
SELECT * FROM kit.all_wrong;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
-- a document of type like with a commentId is a like of the comment
TRUNCATE rejects;
CREATE TABLE others AS SELECT jsonb_build_object('type', 'like', 'userId', blogstore.key_id('user', 's:4'), 'postId', i -> 'postId', 'commentId', i -> 'id') AS item
FROM blogstore.export_documents() i WHERE i ->> 'content' IN ('comment 1', 'comment 3');
INSERT INTO others SELECT item || v.beside FROM others, (VALUES (jsonb '{"type": "comment_like", "commentId": null}'), ('{"commentId": "none"}'), ('{"commentId": 1}')) AS v(beside);
SELECT type, imported, present, rejected FROM blogstore.import_documents('others', 'rejects') WHERE read > 0;
SELECT type, reason, count(*) FROM rejects GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM kit.all_wrong;

-- Keys that blogstore 0.3 took for properties of the site's own are not lost
TRUNCATE others, rejects;
INSERT INTO others SELECT i || v.beside FROM documents d (i), (VALUES (jsonb '{"replyCount": 3}'), ('{"commentId": null}')) AS v(beside)
WHERE i ->> 'type' IN ('user', 'post') AND i ->> 'username' IS NOT DISTINCT FROM CASE WHEN i ->> 'type' = 'user' THEN 'Member 1' END AND coalesce(i ->> 'title', 'title 1') = 'title 1';
INSERT INTO others SELECT i - 'likeCount' || v.beside FROM documents d (i), (VALUES (jsonb '{"replyCount": "many"}'), ('{"commentId": 1}')) AS v(beside) WHERE i ->> 'content' = 'comment 1';
INSERT INTO others SELECT i || '{"replyCount": 7}' FROM documents d (i) WHERE i ->> 'content' = 'comment 1';
SELECT type, imported, present, rejected FROM blogstore.import_documents('others', 'rejects') WHERE read > 0;
SELECT type, reason, count(*) FROM rejects GROUP BY 1, 2 ORDER BY 1, 2;

-- Large sets, in any order
SELECT kit.clear();
SELECT blogstore.wait_for_views();
CREATE TABLE many_comments AS SELECT n AS comment_id, 1 + n % 3 AS post_id, 1 AS user_id, 'c' || n AS content, kit.d(n) AS creation_date, n % 5 = 0 AS hidden,
	CASE WHEN n % 7 = 0 THEN n - 3 END AS parent_id FROM generate_series(1, 2000) n ORDER BY hashint4(n);
CREATE TABLE many_likes AS SELECT 1 + c % 3 AS post_id, c AS comment_id, u AS user_id, kit.d(c) AS creation_date
FROM generate_series(1, 2000) c, generate_series(1, 4) u WHERE (c + u) % 3 > 0 ORDER BY hashint4(c * u);
SELECT type, imported FROM blogstore.import('site_users', 'site_posts', 'many_comments', 'many_likes', key_prefix => 's:') WHERE read > 0;
SELECT * FROM kit.all_wrong;
INSERT INTO many_likes SELECT 1 + c % 3, c, 5, kit.d(c) FROM generate_series(1, 2000) c ORDER BY hashint4(c);
SELECT type, imported, present FROM blogstore.import('site_users', 'site_posts', 'many_comments', 'many_likes', key_prefix => 's:') WHERE read > 0;
SELECT * FROM kit.all_wrong;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Likes of a comment whose author is being deleted are rejected, as
-- create_like() rejects them, and as those of a post are, also if they exist
SELECT id IS NOT NULL AS posted FROM blogstore.create_post(blogstore.key_id('user', 's:5'), 'leaving', '', kit.p(1), kit.d(1));
SELECT count(blogstore.create_comment(kit.p(1), blogstore.key_id('user', 's:1'), 'comment ' || n)) FROM generate_series(1, 300) n;
SELECT content FROM blogstore.create_comment(blogstore.key_id('post', 's:2'), blogstore.key_id('user', 's:5'), 'leaving', kit.c(1));
SELECT type FROM blogstore.create_like(blogstore.key_id('post', 's:2'), blogstore.key_id('user', 's:1'), kit.d(1), kit.c(1));
CREATE TABLE late_likes AS SELECT p.post_id, p.comment_id, blogstore.key_id('user', 's:' || u) AS user_id, kit.d(1) AS creation_date
FROM (VALUES (kit.p(1), NULL), (blogstore.key_id('post', 's:2'), kit.c(1)), (blogstore.key_id('post', 's:2'), blogstore.key_id('comment', 's:1'))) AS p (post_id, comment_id), generate_series(1, 2) u;
TRUNCATE rejects;
BEGIN;
SELECT blogstore.delete_user(blogstore.key_id('user', 's:5'));
SELECT count(*) AS left_to_delete FROM blogstore.posts WHERE id = kit.c(1);
SELECT kit.try('blogstore.create_like(blogstore.key_id(''post'', ''s:2''), blogstore.key_id(''user'', ''s:2''), comment_id => kit.c(1))');
SELECT type, imported, present, rejected FROM blogstore.import(likes => 'late_likes', rejects => 'rejects') WHERE read > 0;
SELECT type, reason, item ->> 'commentId' = kit.c(1)::text AS of_comment, count(*) FROM rejects GROUP BY 1, 2, 3 ORDER BY 1, 2;
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.all_wrong;
SELECT * FROM blogstore.verify();

DROP VIEW kit.all_wrong, kit.wrong;
DROP TABLE site_users, site_posts, site_comments, site_likes, bad_likes, bad_comments, rejects, documents, others, many_comments, many_likes, late_likes CASCADE;
DROP VIEW more_likes;
SELECT kit.clear();
