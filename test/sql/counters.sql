--
-- COUNTERS: the likes and comments of a post are counted in a narrow row, its
-- counter, so that the post itself is not updated. A command that finds the
-- counter locked, or finds none, inserts a delta.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT kit.fill(3, 4);
SELECT blogstore.wait_for_views('5 min');
CREATE VIEW kit.deltas AS SELECT right(post_id::text, 2)::int AS post,
	CASE WHEN id = '00000000-0000-0000-0000-000000000000' THEN 'counter'
		WHEN substr(id::text, 15, 1) = '8' THEN 'stripe' ELSE 'delta' END AS kind, comment_count, like_count
FROM blogstore.posts WHERE type = 'delta' ORDER BY 1, 2, 3, 4;

-- made with the post
SELECT * FROM kit.deltas;
-- and written where it is: the post keeps its version, and no index changes
SELECT xmin || ' ' || ctid AS version FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(1) \gset
CREATE VIEW kit.updates AS SELECT sum(pg_stat_get_xact_tuples_updated(c.oid)) AS updated, sum(pg_stat_get_xact_tuples_hot_updated(c.oid)) AS hot
FROM pg_class c WHERE relnamespace = 'blogstore'::regnamespace AND relname ~ '^posts_p.*_(post|delta)$';
BEGIN;
SELECT updated, hot FROM kit.updates \gset
SELECT count(blogstore.create_like(kit.p(1), kit.u(n))) FROM generate_series(1, 3) n;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(n), 'x')) FROM generate_series(1, 2) n;
SELECT blogstore.delete_like(kit.p(1), kit.u(2));
SELECT updated - :updated AS updated, hot - :hot AS hot FROM kit.updates;
COMMIT;
SELECT xmin || ' ' || ctid = :'version' AS untouched, comment_count, like_count
FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(1);
SELECT * FROM kit.deltas WHERE post = 1;
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT comment_count, like_count FROM blogstore.edit_post(kit.p(1), 'edited');
SELECT * FROM kit.deltas WHERE post = 1;

-- A savepoint takes its counts back
BEGIN;
SELECT type FROM blogstore.create_like(kit.p(2), kit.u(1));
SAVEPOINT s;
SELECT type FROM blogstore.create_like(kit.p(2), kit.u(2));
ROLLBACK TO s;
SELECT type FROM blogstore.create_like(kit.p(2), kit.u(3));
SELECT like_count FROM blogstore.get_post(kit.p(2));
COMMIT;
SELECT * FROM kit.deltas WHERE post = 2;

-- A snapshot of its own may not show the counter's newest version
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT type FROM blogstore.create_like(kit.p(2), kit.u(2));
SELECT * FROM kit.deltas WHERE post = 2;
ROLLBACK;

-- A post that its owner has inserted has no counter: a command counts in a
-- stripe, and the fold makes a counter
BEGIN;
DELETE FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(3);
SELECT type FROM blogstore.create_like(kit.p(3), kit.u(1));
SELECT type FROM blogstore.create_like(kit.p(3), kit.u(2));
SELECT * FROM kit.deltas WHERE post = 3;
SELECT like_count FROM blogstore.get_post(kit.p(3));
COMMIT;
SELECT blogstore.wait_for_views('5 min');
SELECT blogstore.repair();
SELECT * FROM kit.deltas WHERE post = 3;
SELECT type FROM blogstore.create_like(kit.p(3), kit.u(3));
SELECT like_count FROM blogstore.get_post(kit.p(3));

-- repair() mends a wrong counter; the post is no longer counted in it then
UPDATE blogstore.posts SET like_count = 7, comment_count = -3 WHERE type IN ('post', 'delta') AND post_id = kit.p(4);
SELECT blogstore.wait_for_views('5 min');
SELECT problem, expected, actual FROM blogstore.verify();
SELECT blogstore.repair() > 0 AS mended;
SELECT blogstore.wait_for_views('5 min');
SELECT * FROM blogstore.verify();
SELECT type, comment_count, like_count FROM blogstore.posts WHERE post_id = kit.p(4) ORDER BY 1;

-- The owner has deleted a post by hand and its counter is left. If the counter
-- is empty, it is no discrepancy, else it is one. When the post is created
-- again, counting starts anew.
BEGIN;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id IN (kit.p(3), kit.p(4));
DELETE FROM blogstore.posts WHERE type = 'like' AND post_id = kit.p(3);
SELECT problem, type, right(post_id::text, 2) AS post FROM blogstore.verify() WHERE container = 'posts';
SELECT comment_count, like_count FROM blogstore.create_post(kit.u(1), 'anew', 'x', kit.p(3));
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(3));
ROLLBACK;

-- Deltas are found among many others, in indexes of several pages: posts have
-- none to three deltas each, before and after the leaves are rewritten, with
-- dead ones beside them
CREATE VIEW kit.wrong AS SELECT p.post_id FROM generate_series(1, 8000) n, md5(n::text) AS m
	LEFT JOIN (SELECT post_id, sum(comment_count) AS comments, sum(like_count) AS likes
		FROM blogstore.posts WHERE type = 'post' OR item_id = post_id GROUP BY post_id) p ON p.post_id = m::uuid
	LEFT JOIN LATERAL (SELECT * FROM blogstore.get_post(m::uuid)) g ON true
	WHERE (g.comment_count, g.like_count) IS DISTINCT FROM (p.comments, p.likes) OR (n % 100 <> 0) IS DISTINCT FROM (g.id IS NOT NULL);
BEGIN;
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
	SELECT m::uuid, 'post', m::uuid, kit.u(1), 'user 1', 't', 'c', n % 3, n % 5, kit.d(1) FROM generate_series(1, 8000) n, md5(n::text) m WHERE n % 100 <> 0;
INSERT INTO blogstore.posts (id, type, post_id, item_id, comment_count, like_count)
	SELECT ('00000000-0000-0000-0000-00000000000' || d)::uuid, 'delta', m::uuid, m::uuid, n, d FROM generate_series(1, 8000) n, md5(n::text) m, generate_series(0, n % 4 - 1) d WHERE n % 100 <> 0;
SELECT count(*) FROM kit.wrong;
UPDATE blogstore.posts SET like_count = like_count + 1 WHERE type = 'delta' AND comment_count % 2 = 0;
SELECT count(*) FROM kit.wrong;
DELETE FROM blogstore.posts WHERE type = 'delta' AND comment_count % 7 = 0;
SELECT count(*) FROM kit.wrong;
DO $$ DECLARE leaf regclass; key name; BEGIN
	FOR leaf, key IN SELECT i.indrelid, k.relname FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid
		JOIN pg_partition_tree('blogstore.posts') t ON t.relid = i.indrelid WHERE i.indisprimary AND t.isleaf LOOP
		EXECUTE format('CLUSTER %s USING %I', leaf, key);
	END LOOP;
END $$;
SELECT count(*) FROM kit.wrong;
ROLLBACK;
SELECT count(*) FROM kit.wrong WHERE post_id IS NOT NULL;
DROP VIEW kit.wrong;

-- A cursor keeps the snapshot that it was opened with
BEGIN;
DECLARE post CURSOR FOR SELECT like_count, comment_count FROM blogstore.get_post(kit.p(4));
SELECT count(*) FROM blogstore.create_like(kit.p(4), kit.u(1));
FETCH ALL FROM post;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(4));
COMMIT;
-- and so does a query that calls a command: its own snapshot is older
SELECT (SELECT like_count FROM blogstore.get_post(kit.p(4))) AS before, count(*) AS liked FROM blogstore.create_like(kit.p(4), kit.u(2));
SELECT like_count FROM blogstore.get_post(kit.p(4));

-- Deleted with the post
SELECT blogstore.delete_post(kit.p(1));
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(1);
SELECT blogstore.wait_for_views('5 min');
SELECT * FROM blogstore.verify();
DROP VIEW kit.deltas, kit.updates;
