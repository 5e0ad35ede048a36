--
-- REPLY COUNTS: each comment has the exact number of the shown replies to it
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 3);

-- Comments whose reply_count is not the number of shown replies, by each of
-- the queries that return it
CREATE FUNCTION kit.wrong_replies() RETURNS TABLE (comment int, says bigint, has bigint) LANGUAGE sql AS $$
	SELECT right(c.id::text, 4)::int, c.reply_count, r.n
	FROM generate_series(1, 3) p, LATERAL (
		SELECT id, reply_count, post_id FROM blogstore.list_post_comments(kit.p(p), NULL, include_hidden => true)
		UNION ALL SELECT l.* FROM generate_series(1, 6) u, LATERAL (SELECT id, reply_count, post_id FROM blogstore.list_user_comments(kit.u(u), NULL, include_hidden => true)) l WHERE post_id = kit.p(p)
		UNION ALL SELECT (l.d ->> 'id')::uuid, (l.d ->> 'replyCount')::bigint, kit.p(p) FROM blogstore.list_post_comments(kit.p(p), NULL, include_hidden => true) c, LATERAL (SELECT c::jsonb) l (d)
	) c,
	LATERAL (SELECT count(*) AS n FROM blogstore.list_comment_replies(c.post_id, c.id, NULL)) r
	WHERE c.reply_count IS DISTINCT FROM r.n ORDER BY 1, 2
$$;
CREATE VIEW kit.reply_deltas AS SELECT right(item_id::text, 4) AS comment, id = '00000000-0000-0000-0000-000000000000' AS counter, comment_count, like_count
FROM blogstore.posts WHERE type = 'delta' AND item_id <> post_id ORDER BY 1, 2, 3;

-- A comment has no row of counts before its first reply
SELECT count(blogstore.create_comment(kit.p(1), kit.u(n), 'comment ' || n, kit.c(n), kit.d(n))) FROM generate_series(1, 4) n;
SELECT content, reply_count FROM blogstore.list_post_comments(kit.p(1));
SELECT * FROM kit.reply_deltas;
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(5), 'reply 11', kit.c(11), kit.d(11), parent_id => kit.c(1));
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(5), 'fresh', parent_id => kit.c(2));
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1 + n % 4), 'reply ' || n, kit.c(n), kit.d(n), NULL, n = 15, kit.c(1))) FROM generate_series(12, 16) n;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1 + n % 4), 'to a reply ' || n, kit.c(n), kit.d(n), NULL, false, kit.c(11))) FROM generate_series(21, 23) n;
SELECT content, parent_id IS NOT NULL AS reply, reply_count FROM blogstore.list_post_comments(kit.p(1), NULL, include_hidden => true);
SELECT comment_count FROM blogstore.get_post(kit.p(1));
SELECT * FROM kit.wrong_replies();
-- repeated, it is the same comment with its present count
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(1), 'comment 1', kit.c(1));
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(5), 'reply 11', kit.c(11), parent_id => kit.c(1));
-- what was not written is not counted
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(99), ''x'', parent_id => kit.c(1))');
BEGIN;
SELECT reply_count FROM blogstore.create_comment(kit.p(1), kit.u(2), 'x', kit.c(50), parent_id => kit.c(1));
SELECT reply_count FROM blogstore.edit_comment(kit.p(1), kit.c(1), 'edited');
ROLLBACK;
SELECT reply_count FROM blogstore.edit_comment(kit.p(1), kit.c(1), 'comment 1');
-- the worker, or repair(), folds the deltas and makes the counters
SELECT blogstore.wait_for_views();
SELECT blogstore.repair();
SELECT * FROM kit.reply_deltas;
SELECT * FROM kit.wrong_replies();
SELECT count(blogstore.create_comment(kit.p(1), kit.u(6), 'later', kit.c(30 + n), kit.d(30 + n), NULL, false, kit.c(1))) FROM generate_series(1, 3) n;
SELECT comment, sum(comment_count) FROM kit.reply_deltas GROUP BY 1 ORDER BY 1;
SELECT * FROM kit.wrong_replies();

-- Hiding, showing and deleting a reply; a hidden parent keeps its count
SELECT content, hidden, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(11));
SELECT reply_count FROM blogstore.list_post_comments(kit.p(1), 1, kit.d(1), kit.c(2));
SELECT content, hidden, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(11));
SELECT * FROM kit.wrong_replies();
SELECT content, hidden, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(11), false);
SELECT content, hidden, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(15), false);
SELECT blogstore.delete_comment(kit.p(1), kit.c(16)), blogstore.delete_comment(kit.p(1), kit.c(16)), blogstore.own_delete_comment(kit.u(1), kit.p(1), kit.c(14));
SELECT content, hidden, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(1));
SELECT blogstore.delete_comment(kit.p(1), kit.c(12));
SELECT content, hidden, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(1), false);
SELECT * FROM kit.wrong_replies();
SELECT comment_count, (SELECT count(*) FROM blogstore.list_post_comments(kit.p(1), NULL)) AS listed FROM blogstore.get_post(kit.p(1));
SELECT * FROM blogstore.verify();

-- A deleted comment takes its count along; replies stay. Made anew with its
-- id, it has the count of the replies that are there.
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT * FROM kit.reply_deltas WHERE comment = '0001';
SELECT blogstore.delete_comment(kit.p(1), kit.c(31));
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(32));
SELECT * FROM blogstore.verify();
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(2), 'comment 1 anew', kit.c(1), kit.d(1));
SELECT * FROM kit.wrong_replies();
SELECT * FROM blogstore.verify();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(32), false);
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(2), 'comment 1 anew', kit.c(1), kit.d(1), hidden => true);
SELECT * FROM kit.wrong_replies();
COMMIT;
SELECT * FROM kit.wrong_replies();
-- what an earlier comment has left behind does not count
DELETE FROM blogstore.posts WHERE type = 'comment' AND id = kit.c(11);
DELETE FROM blogstore.posts WHERE type = 'comment' AND parent_id = kit.c(11);
SELECT content, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(2), 'anew', kit.c(11), kit.d(11));
SELECT blogstore.repair() > 0 AS mended;
SELECT * FROM blogstore.verify();

-- A comment needs an id of its own
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(1), ''x'', kit.p(1))');
SELECT kit.try('blogstore.own_create_comment(kit.u(1), kit.p(1), kit.u(1), ''x'', kit.p(1))');

-- Users who are being deleted: their replies are left out at once, however few
-- or many there are
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1 + n % 6), 'x', kit.c(1000 + n), kit.d(n), NULL, n % 10 = 0, CASE WHEN n > 3 THEN kit.c(1001 + n % 3) END)) FROM generate_series(1, 300) n;
SELECT * FROM kit.wrong_replies();
BEGIN;
SELECT blogstore.delete_user(kit.u(6));
SELECT right(id::text, 4) AS comment, reply_count FROM blogstore.list_post_comments(kit.p(2), NULL, top_level => true);
SELECT * FROM kit.wrong_replies();
SELECT d ->> 'replyCount' AS replies, count(*) FROM blogstore.export_documents() d WHERE d ->> 'type' = 'comment' GROUP BY 1 ORDER BY 1;
COMMIT;
SELECT * FROM kit.wrong_replies();
SELECT blogstore.wait_for_views();
SELECT * FROM kit.wrong_replies();
SELECT * FROM blogstore.verify();

-- verify() finds what SQL has made wrong, and repair() mends it
BEGIN;
UPDATE blogstore.posts SET comment_count = comment_count + 3 WHERE type = 'delta' AND item_id = kit.c(1001);
DELETE FROM blogstore.posts WHERE type = 'delta' AND item_id = kit.c(1002);
DELETE FROM blogstore.posts WHERE type = 'comment' AND id = kit.c(1003);
UPDATE blogstore.posts SET parent_id = kit.c(1099) WHERE id = kit.c(1100);
INSERT INTO blogstore.posts (id, type, post_id, item_id, comment_count, like_count) VALUES (blogstore.new_id(), 'delta', kit.p(2), kit.c(1200), 5, 0);
SELECT problem, type, right(id::text, 4) AS id, expected, actual FROM blogstore.verify() WHERE container = 'posts';
SELECT blogstore.repair() > 0 AS mended;
SELECT problem, type, right(id::text, 4) AS id, expected, actual FROM blogstore.verify() WHERE container = 'posts';
SELECT * FROM kit.wrong_replies();
ROLLBACK;
-- a post by SQL that is gone takes the counts of its comments along
BEGIN;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(2);
SELECT blogstore.repair() > 0 AS mended;
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(2);
SELECT count(*) FROM blogstore.verify() WHERE container = 'posts';
ROLLBACK;
SELECT blogstore.delete_post(kit.p(2));
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(2);

-- Lists of comments that reply to none, in pages, among many replies of the
-- same dates
SELECT count(blogstore.create_comment(kit.p(3), kit.u(1 + n % 4), 'x', kit.c(2000 + n * 37 % 1009), kit.d(n / 5), NULL, n % 7 = 0 AND n > 9, CASE WHEN n % 4 <> 0 AND n > 9 THEN kit.c(2000 + (n % 9 + 1) * 37 % 1009) END)) FROM generate_series(1, 1000) n;
CREATE TABLE kit.tops AS SELECT h.with_hidden, t.top, array_agg(p.id ORDER BY p.creation_date DESC, p.id DESC) AS ids
FROM blogstore.posts p, unnest(ARRAY[false, true]) h (with_hidden), unnest(ARRAY[false, true]) t (top)
WHERE p.post_id = kit.p(3) AND p.type = 'comment' AND (p.parent_id IS NULL OR NOT top) AND (with_hidden OR p.hidden IS NOT TRUE) GROUP BY 1, 2;
SELECT with_hidden, top, cardinality(ids) FROM kit.tops ORDER BY 1, 2;
SELECT with_hidden, top, page,
	kit.walk(format('blogstore.list_post_comments(kit.p(3), $1, $2, $3, false, %L, %L)', with_hidden, top), page) = ids AS newest,
	kit.walk(format('blogstore.list_post_comments(kit.p(3), $1, $2, $3, true, %L, %L)', with_hidden, top), page)
		= ARRAY(SELECT id FROM unnest(ids) WITH ORDINALITY r (id, n) ORDER BY n DESC) AS oldest
FROM kit.tops, unnest(ARRAY[7, 333, 2000]) page ORDER BY 1, 2, 3;
SELECT kit.try('blogstore.list_post_comments(kit.p(3), top_level => NULL)');
SELECT * FROM kit.wrong_replies();
-- Index scans of a page: without the count, with it
SELECT call, kit.descents('SELECT ' || call) FROM (VALUES
	('id FROM blogstore.list_post_comments(kit.p(3), 20, top_level => true)'),
	('id FROM blogstore.list_post_comments(kit.p(3), 20)'),
	('id, parent_deleted FROM blogstore.list_post_comments(kit.p(3), 20, top_level => true)'),
	('id, reply_count FROM blogstore.list_post_comments(kit.p(3), 20, top_level => true)'),
	('count(*) FROM blogstore.list_post_comments(kit.p(3), NULL)')) AS v (call);

-- A deep thread: each comment replies to the one before. Every third one is
-- deleted, the last first.
SELECT count(blogstore.create_comment(kit.p(3), kit.u(1 + n % 4), 'x', kit.c(4000 + n), kit.d(n), parent_id => CASE WHEN n > 1 THEN kit.c(3999 + n) END)) FROM generate_series(1, 500) n;
SELECT reply_count, parent_deleted, count(*) FROM blogstore.list_post_comments(kit.p(3), NULL) WHERE id BETWEEN kit.c(4001) AND kit.c(4500) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(blogstore.delete_comment(kit.p(3), kit.c(4501 - n))) FROM generate_series(1, 500, 3) n;
SELECT reply_count, parent_deleted, count(*) FROM blogstore.list_post_comments(kit.p(3), NULL) WHERE id BETWEEN kit.c(4001) AND kit.c(4500) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM kit.wrong_replies();

-- Import counts replies: on comments of the same import, and on ones that
-- exist; export and import give the same documents
CREATE TABLE kit.documents AS SELECT d FROM blogstore.export_documents() d;
CREATE TABLE kit.came (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz, parent_id uuid, hidden boolean);
INSERT INTO kit.came SELECT kit.c(3000 + n), kit.p(1), kit.u(2), 'x', kit.d(n), CASE WHEN n > 2 THEN CASE WHEN n % 2 = 0 THEN kit.c(3) ELSE kit.c(3001) END END, n % 5 = 0 FROM generate_series(1, 20) n;
INSERT INTO kit.came VALUES (kit.p(1), kit.p(1), kit.u(2), 'x', kit.d(1), NULL), (kit.c(3099), kit.p(1), kit.u(2), 'nobody', kit.d(1), kit.c(3098)),
	(kit.c(3097), kit.p(1), kit.u(2), 'x', kit.d(1), kit.p(1));
CREATE TABLE kit.refused (type text, reason text, item jsonb);
SELECT type, read, imported, present, rejected FROM blogstore.import(comments => 'kit.came', rejects => 'kit.refused') WHERE read > 0;
SELECT type, reason FROM kit.refused;
SELECT right(id::text, 4) AS comment, reply_count FROM blogstore.list_post_comments(kit.p(1), NULL, top_level => true) WHERE reply_count > 0;
SELECT * FROM kit.wrong_replies();
-- an id that replies name already; other parents; hidden and shown
SELECT type, read, imported FROM blogstore.import(comments => 'kit.came', rejects => 'kit.refused') WHERE read > 0;
TRUNCATE kit.came;
INSERT INTO kit.came VALUES (kit.c(3098), kit.p(1), kit.u(2), 'late', kit.d(1), NULL, NULL), (kit.c(3004), kit.p(1), kit.u(2), 'x', kit.d(4), kit.c(3001), false),
	(kit.c(3003), kit.p(1), kit.u(2), 'x', kit.d(3), kit.c(3098), true), (kit.c(3005), kit.p(1), kit.u(2), 'x', kit.d(5), kit.c(3), false), (kit.c(3002), kit.p(1), kit.u(2), 'x', kit.d(2), kit.c(3098), false);
SELECT type, read, imported, present, updated FROM blogstore.import(comments => 'kit.came', changed => 'update') WHERE read > 0;
SELECT right(id::text, 4) AS comment, right(parent_id::text, 4) AS parent, hidden, reply_count FROM blogstore.list_post_comments(kit.p(1), NULL, include_hidden => true) WHERE id IN (kit.c(3), kit.c(3001), kit.c(3002), kit.c(3003), kit.c(3004), kit.c(3005), kit.c(3098)) ORDER BY id;
SELECT * FROM kit.wrong_replies();
SELECT * FROM blogstore.verify();
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT type, read, imported, rejected FROM blogstore.import_documents('kit.documents') WHERE read > 0;
SELECT * FROM kit.wrong_replies();
SELECT count(*) FROM (SELECT d FROM kit.documents EXCEPT ALL SELECT d FROM blogstore.export_documents() d) x;
SELECT * FROM blogstore.verify();

DROP TABLE kit.tops, kit.came, kit.refused, kit.documents;
DROP VIEW kit.reply_deltas;
DROP FUNCTION kit.wrong_replies;
