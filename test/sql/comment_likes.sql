--
-- COMMENT LIKES: likes of comments, and each comment's exact number of them
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 3);
SELECT count(blogstore.create_comment(kit.p(1), kit.u(n), 'comment ' || n, kit.c(n), kit.d(n))) FROM generate_series(1, 4) n;
SELECT count(blogstore.create_comment(kit.p(2), kit.u(n), 'comment ' || n, kit.c(20 + n), kit.d(n))) FROM generate_series(1, 2) n;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(2), 'reply ' || n, kit.c(n), kit.d(n), parent_id => kit.c(1))) FROM generate_series(11, 12) n;

-- Comments whose counts are not those of the tables, by each query that
-- returns them
CREATE FUNCTION kit.wrong_on_comments() RETURNS TABLE (comment int, says_likes bigint, has_likes bigint, says_replies bigint, has_replies bigint) LANGUAGE sql AS $$
	WITH present AS (SELECT i.* FROM blogstore.posts i WHERE NOT EXISTS (SELECT FROM blogstore.jobs j WHERE j.kind = 'deletion' AND j.user_id = i.user_id))
	SELECT right(c.id::text, 4)::int, c.like_count, l.n, c.reply_count, r.n
	FROM generate_series(1, 3) p, LATERAL (
		SELECT id, like_count, reply_count, post_id FROM blogstore.list_post_comments(kit.p(p), NULL, include_hidden => true)
		UNION ALL SELECT a.id, a.like_count, b.reply_count, a.post_id FROM (SELECT id, like_count, post_id FROM blogstore.list_post_comments(kit.p(p), NULL, include_hidden => true)) a
			JOIN (SELECT id, reply_count FROM blogstore.list_post_comments(kit.p(p), NULL, include_hidden => true)) b ON a.id = b.id
		UNION ALL SELECT l.* FROM generate_series(1, 6) u, LATERAL (SELECT id, like_count, reply_count, post_id FROM blogstore.list_user_comments(kit.u(u), NULL, include_hidden => true)) l WHERE post_id = kit.p(p)
		UNION ALL SELECT (l.d ->> 'id')::uuid, (l.d ->> 'likeCount')::bigint, (l.d ->> 'replyCount')::bigint, kit.p(p) FROM blogstore.list_post_comments(kit.p(p), NULL, include_hidden => true) c, LATERAL (SELECT c::jsonb) l (d)
	) c,
	LATERAL (SELECT count(*) AS n FROM present i WHERE i.type = 'comment_like' AND i.post_id = c.post_id AND i.comment_id = c.id) l,
	LATERAL (SELECT count(*) AS n FROM present i WHERE i.type = 'comment' AND i.post_id = c.post_id AND i.parent_id = c.id AND i.hidden IS NOT TRUE) r
	WHERE c.like_count IS DISTINCT FROM l.n OR c.reply_count IS DISTINCT FROM r.n ORDER BY 1, 2
$$;
CREATE VIEW kit.comment_deltas AS SELECT right(item_id::text, 4) AS comment, id = '00000000-0000-0000-0000-000000000000' AS counter, comment_count, like_count
FROM blogstore.posts WHERE type = 'delta' AND item_id <> post_id ORDER BY 1, 2, 3, 4;

-- One like for each user and comment; the post's own likes are others
SELECT id IS NOT NULL AS id, type, post_id, user_id, user_username, creation_date, comment_id FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(1), kit.c(1));
SELECT a.id = b.id AS same_item, a.creation_date FROM blogstore.get_like(kit.p(1), kit.u(1), kit.c(1)) a, blogstore.create_like(kit.p(1), kit.u(1), comment_id => kit.c(1)) b;
SELECT type, comment_id FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(2));
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n), kit.c(1))) FROM generate_series(2, 4) n;
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n), kit.c(11))) FROM generate_series(3, 5) n;
SELECT content, like_count, reply_count FROM blogstore.list_post_comments(kit.p(1), NULL);
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT user_username, comment_id FROM blogstore.list_post_likes(kit.p(1));
SELECT * FROM kit.wrong_on_comments();
SELECT type, post_id, comment_id FROM blogstore.get_like(kit.p(1), kit.u(1));
SELECT count(*) FROM blogstore.get_like(kit.p(1), kit.u(6), kit.c(1));
SELECT count(*) FROM blogstore.get_like(kit.p(2), kit.u(1), kit.c(1));
SELECT l::jsonb - 'id' AS document FROM blogstore.get_like(kit.p(1), kit.u(1), kit.c(1)) l;
SELECT l::jsonb - 'id' AS document FROM blogstore.get_like(kit.p(1), kit.u(1)) l;

-- What cannot be liked
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(1), comment_id => kit.c(99))');
SELECT kit.try('blogstore.create_like(kit.p(2), kit.u(1), comment_id => kit.c(1))');
SELECT kit.try('blogstore.create_like(kit.p(99), kit.u(1), comment_id => kit.c(1))');
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(99), comment_id => kit.c(1))');
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(1), comment_id => kit.p(1))');
SELECT kit.try('blogstore.own_create_like(kit.u(1), kit.p(1), kit.u(2), comment_id => kit.c(1))');
SELECT kit.try('blogstore.create_like(NULL, kit.u(1), comment_id => kit.c(1))');
SELECT kit.try('blogstore.list_comment_likes(kit.p(1), NULL)');
SELECT kit.try('blogstore.get_comment_likes(NULL, kit.p(1))');
SELECT kit.try('blogstore.get_comment_likes(kit.u(1), NULL)');
SELECT kit.try('blogstore.list_user_likes(kit.u(1), after_comment_id => kit.c(1))');
SELECT kit.try('blogstore.list_user_likes(kit.u(1), after_post_id => kit.p(1), after_comment_id => kit.c(1), by_date => true)');
SELECT kit.try('blogstore.list_user_likes(kit.u(1), after_comment_id => kit.c(1), by_date => true)');
SELECT kit.try('blogstore.list_user_likes(kit.u(1), by_date => true)');
SELECT * FROM kit.wrong_on_comments();

-- A hidden comment keeps its likes, and gets no other ones. To users other
-- than its author it does not exist.
SELECT hidden, like_count, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(1));
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(1))');
SELECT kit.try('blogstore.own_create_like(kit.u(6), kit.p(1), kit.u(6), comment_id => kit.c(1))');
SELECT kit.try('blogstore.own_create_like(kit.u(3), kit.p(1), kit.u(3), comment_id => kit.c(1))');
-- repeated, it is the like that exists, for those who may know of the comment
SELECT creation_date FROM blogstore.create_like(kit.p(1), kit.u(3), comment_id => kit.c(1));
SELECT creation_date FROM blogstore.own_create_like(kit.u(1), kit.p(1), kit.u(1), comment_id => kit.c(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(4), kit.c(1)), blogstore.delete_like(kit.p(1), kit.u(4), kit.c(1));
SELECT count(*) FROM blogstore.list_comment_likes(kit.p(1), kit.c(1));
SELECT right(comment_id::text, 4) AS comment FROM blogstore.get_comment_likes(kit.u(3), kit.p(1));
SELECT hidden, like_count, reply_count FROM blogstore.hide_comment(kit.p(1), kit.c(1), false);
SELECT right(comment_id::text, 4) AS comment FROM blogstore.get_comment_likes(kit.u(3), kit.p(1));
SELECT * FROM kit.wrong_on_comments();
-- a hidden post
SELECT hidden FROM blogstore.hide_post(kit.p(1));
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(1))');
SELECT kit.try('blogstore.own_create_like(kit.u(6), kit.p(1), kit.u(6), comment_id => kit.c(1))');
SELECT creation_date FROM blogstore.create_like(kit.p(1), kit.u(3), comment_id => kit.c(1));
SELECT hidden FROM blogstore.hide_post(kit.p(1), false);

-- What was not written is not counted; a transaction sees its own likes
BEGIN;
SELECT comment_id IS NOT NULL AS liked FROM blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(1), kit.c(1));
SELECT * FROM kit.wrong_on_comments();
SELECT like_count FROM blogstore.edit_comment(kit.p(1), kit.c(1), 'edited');
SAVEPOINT s;
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT count(*) FROM blogstore.posts WHERE comment_id = kit.c(1);
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(1))');
ROLLBACK TO s;
SELECT * FROM kit.wrong_on_comments();
ROLLBACK;
SELECT * FROM kit.wrong_on_comments();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT like_count FROM blogstore.list_post_comments(kit.p(1), 1);
SELECT comment_id IS NOT NULL AS liked FROM blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(2));
SELECT blogstore.delete_like(kit.p(1), kit.u(1), kit.c(1));
SELECT * FROM kit.wrong_on_comments();
COMMIT;
SELECT * FROM kit.wrong_on_comments();

-- The worker, or repair(), folds the deltas and makes the counters
SELECT blogstore.wait_for_views();
SELECT blogstore.repair();
SELECT * FROM kit.comment_deltas;
SELECT comment_id IS NOT NULL AS liked FROM blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(1));
SELECT comment, sum(comment_count), sum(like_count) FROM kit.comment_deltas GROUP BY 1 ORDER BY 1;
SELECT * FROM kit.wrong_on_comments();
SELECT * FROM blogstore.verify();

-- A comment's likes end with it. Made anew with its id, it has none.
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT count(*) FROM blogstore.posts WHERE comment_id = kit.c(1) OR item_id = kit.c(1);
SELECT count(*) FROM blogstore.list_comment_likes(kit.p(1), kit.c(1));
SELECT blogstore.delete_like(kit.p(1), kit.u(3), kit.c(1));
SELECT content, like_count, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(1), 'anew', kit.c(1), kit.d(1));
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n), kit.c(1))) FROM generate_series(1, 5) n;
SELECT * FROM kit.wrong_on_comments();
-- nor does it have those that SQL has left behind
DELETE FROM blogstore.posts WHERE type = 'comment' AND id = kit.c(1);
SELECT content, like_count, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(1), 'anew', kit.c(1), kit.d(1));
SELECT count(*) FROM blogstore.posts WHERE comment_id = kit.c(1);
SELECT * FROM kit.wrong_on_comments();
SELECT blogstore.repair() > 0 AS mended;
SELECT * FROM blogstore.verify();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n), kit.c(1))) FROM generate_series(1, 5) n;
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT content, like_count, reply_count FROM blogstore.create_comment(kit.p(1), kit.u(1), 'anew', kit.c(1), kit.d(1));
SELECT comment_id IS NOT NULL AS liked FROM blogstore.create_like(kit.p(1), kit.u(6), comment_id => kit.c(1));
SELECT * FROM kit.wrong_on_comments();
COMMIT;
SELECT * FROM kit.wrong_on_comments();
-- another parent does not touch the likes
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(11));
SELECT * FROM kit.wrong_on_comments();
SELECT blogstore.delete_comment(kit.p(1), kit.c(11));
SELECT * FROM kit.wrong_on_comments();
SELECT * FROM blogstore.verify();

-- Pages of a comment's likes, among those of other comments
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(101, 400) n;
SELECT count(blogstore.create_like(kit.p(1 + n % 2), kit.u(n), kit.d(n / 7), CASE n % 2 WHEN 0 THEN kit.c(2) ELSE kit.c(21) END)) FROM generate_series(101, 400) n;
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n / 7), kit.c(3))) FROM generate_series(101, 400) n;
CREATE TABLE kit.liked AS SELECT post_id, comment_id, array_agg(id ORDER BY creation_date DESC, id DESC) AS ids FROM blogstore.posts WHERE type = 'comment_like' GROUP BY 1, 2;
SELECT right(comment_id::text, 4) AS comment, page, cardinality(ids),
	kit.walk(format('blogstore.list_comment_likes(%L, %L, $1, $2, $3)', post_id, comment_id), page) = ids AS newest,
	kit.walk(format('blogstore.list_comment_likes(%L, %L, $1, $2, $3, true)', post_id, comment_id), page)
		= ARRAY(SELECT id FROM unnest(ids) WITH ORDINALITY r (id, n) ORDER BY n DESC) AS oldest
FROM kit.liked, unnest(ARRAY[7, 100, 1000]) page WHERE cardinality(ids) > 10 ORDER BY 1, 2;
-- the dates of a client that cuts them to milliseconds
SELECT id IS NOT NULL AS liked FROM blogstore.create_like(kit.p(1), kit.u(1), '2024-03-01 00:00:00.0001234+00', kit.c(4));
SELECT id IS NOT NULL AS liked FROM blogstore.create_like(kit.p(1), kit.u(2), '2024-03-01 00:00:00.0004567+00', kit.c(4));
SELECT n.user_username FROM (SELECT * FROM blogstore.list_comment_likes(kit.p(1), kit.c(4), 1)) l, LATERAL blogstore.list_comment_likes(kit.p(1), kit.c(4), 1, date_trunc('ms', l.creation_date), l.id) n;
SELECT * FROM kit.wrong_on_comments();

-- Index scans of a page: one of deltas for each comment serves both counts,
-- and none if the query names no count
SELECT call, kit.descents('SELECT ' || call) FROM (VALUES
	('id FROM blogstore.list_post_comments(kit.p(1), 4, top_level => true)'),
	('id, like_count FROM blogstore.list_post_comments(kit.p(1), 4, top_level => true)'),
	('id, reply_count FROM blogstore.list_post_comments(kit.p(1), 4, top_level => true)'),
	('id, like_count, reply_count FROM blogstore.list_post_comments(kit.p(1), 4, top_level => true)'),
	('id FROM blogstore.list_comment_likes(kit.p(1), kit.c(2), 20)'),
	('id FROM blogstore.get_like(kit.p(1), kit.u(2), kit.c(2))'),
	('id FROM blogstore.list_post_likes(kit.p(1), 20)')) AS v (call);

-- A user's likes, of posts and comments, in pages
SELECT count(blogstore.create_like(kit.p(n), kit.u(3), kit.d(10 - n))) FROM generate_series(1, 3) n;
SELECT count(blogstore.create_like(kit.p(2), kit.u(3), kit.d(n), kit.c(20 + n))) FROM generate_series(1, 2) n;
SELECT count(blogstore.create_like(kit.p(1), kit.u(3), kit.d(n), kit.c(n))) FROM generate_series(1, 4) n;
SELECT type, right(post_id::text, 4) AS post, right(comment_id::text, 4) AS comment FROM blogstore.list_user_likes(kit.u(3), NULL);
CREATE FUNCTION kit.walk_likes(page int) RETURNS TABLE (post text, comment text) LANGUAGE plpgsql AS $$
DECLARE
	l	blogstore.like_item;
	n	int;
	last	blogstore.like_item;
BEGIN
	LOOP
		n := 0;
		FOR l IN SELECT * FROM blogstore.list_user_likes(kit.u(3), page, last.post_id, after_comment_id => last.comment_id) LOOP
			n := n + 1;
			post := right(l.post_id::text, 4);
			comment := right(l.comment_id::text, 4);
			last := l;
			RETURN NEXT;
		END LOOP;
		EXIT WHEN n < page;
	END LOOP;
END $$;
SELECT page, array_agg(post || coalesce(' ' || comment, '')) = (SELECT array_agg(right(post_id::text, 4) || coalesce(' ' || right(comment_id::text, 4), '')) FROM blogstore.list_user_likes(kit.u(3), NULL)) AS same
FROM generate_series(1, 10) page, kit.walk_likes(page) GROUP BY 1 ORDER BY 1;
-- after a place that has no like
SELECT right(post_id::text, 4) AS post, right(comment_id::text, 4) AS comment FROM blogstore.list_user_likes(kit.u(3), 2, kit.p(1), after_comment_id => kit.c(2));
SELECT count(*) FROM blogstore.list_user_likes(kit.u(3), NULL, '00000000-0000-0000-0000-000000000000');
SELECT count(*) FROM blogstore.list_user_likes(kit.u(3), NULL, '00000000-0000-0000-0000-000000000000', after_comment_id => 'ffffffff-ffff-ffff-ffff-ffffffffffff');
SELECT count(*) FROM blogstore.list_user_likes(kit.u(3), NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
-- by date, if both kinds have the index
DO $$ DECLARE r regclass; BEGIN FOR r IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE relid::text ~ '_p.._like$' LOOP
	EXECUTE format('CREATE INDEX ON %s (user_id, creation_date, id)', r); END LOOP; END $$;
SELECT kit.try('blogstore.list_user_likes(kit.u(3), by_date => true)');
DO $$ DECLARE r regclass; BEGIN FOR r IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE relid::text ~ '_comment_like$' LOOP
	EXECUTE format('CREATE INDEX ON %s (user_id, creation_date, id)', r); END LOOP; END $$;
SELECT type, creation_date FROM blogstore.list_user_likes(kit.u(3), 4, by_date => true);
SELECT page, o, kit.walk(format('blogstore.list_user_likes(kit.u(3), $1, NULL, true, $2, $3, %L)', o), page)
	= (SELECT array_agg(id ORDER BY CASE WHEN o THEN creation_date END, CASE WHEN o THEN id END, creation_date DESC, id DESC) FROM blogstore.list_user_likes(kit.u(3), NULL)) AS same
FROM unnest(ARRAY[1, 3, 100]) page, unnest(ARRAY[false, true]) o ORDER BY 1, 2;

-- Users who are being deleted: their likes are left out at once, and those of
-- their comments
SELECT count(blogstore.create_like(kit.p(1), kit.u(6), kit.d(n), kit.c(n))) FROM generate_series(1, 4) n;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT blogstore.delete_user(kit.u(3));
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(1), comment_id => kit.c(3))');
ROLLBACK;
BEGIN;
SELECT blogstore.delete_user(kit.u(3));
SELECT count(*) FROM blogstore.list_user_likes(kit.u(3), NULL);
SELECT count(*) FROM blogstore.get_comment_likes(kit.u(3), kit.p(1));
SELECT count(*) FROM blogstore.list_comment_likes(kit.p(1), kit.c(3));
SELECT kit.try('blogstore.create_like(kit.p(1), kit.u(1), comment_id => kit.c(3))');
SELECT blogstore.delete_like(kit.p(1), kit.u(6), kit.c(3));
SELECT right(comment_id::text, 4) AS comment FROM blogstore.get_comment_likes(kit.u(6), kit.p(1));
SELECT right(comment_id::text, 4) AS comment FROM blogstore.list_user_likes(kit.u(6), NULL);
SELECT * FROM kit.wrong_on_comments();
COMMIT;
SELECT * FROM kit.wrong_on_comments();
SELECT blogstore.wait_for_views();
SELECT * FROM kit.wrong_on_comments();
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(3) OR comment_id = kit.c(3);
SELECT * FROM blogstore.verify();
-- a rename reaches likes of comments
SELECT username FROM blogstore.edit_user(kit.u(6), username => 'renamed');
SELECT blogstore.wait_for_views();
SELECT DISTINCT type, user_username FROM blogstore.list_user_likes(kit.u(6), NULL);
SELECT * FROM blogstore.verify();

-- verify() finds what SQL has made wrong, and repair() mends it
BEGIN;
UPDATE blogstore.posts SET like_count = like_count + 3 WHERE type = 'delta' AND item_id = kit.c(2) AND ctid = (SELECT min(ctid) FROM blogstore.posts WHERE type = 'delta' AND item_id = kit.c(2));
DELETE FROM blogstore.posts WHERE type = 'comment_like' AND comment_id = kit.c(21) AND user_id = kit.u(101);
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date, comment_id) VALUES (kit.c(901), 'comment_like', kit.p(1), kit.u(1), 'user 1', kit.d(1), kit.c(900));
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date, comment_id) VALUES (kit.c(902), 'comment_like', kit.p(1), kit.u(900), 'user 1', kit.d(1), kit.c(4));
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date, comment_id) VALUES (kit.c(903), 'comment_like', kit.p(90), kit.u(1), 'user 1', kit.d(1), kit.c(4));
INSERT INTO blogstore.posts (id, type, post_id, item_id, comment_count, like_count) VALUES (kit.c(904), 'delta', kit.p(2), kit.c(1200), 0, 5);
UPDATE blogstore.posts SET user_username = 'nobody' WHERE type = 'comment_like' AND comment_id = kit.c(2) AND user_id = kit.u(102);
SELECT problem, type, right(post_id::text, 4) AS post, right(user_id::text, 4) AS by, expected, actual FROM blogstore.verify() WHERE container = 'posts';
SELECT blogstore.repair() > 0 AS mended;
SELECT problem, type, right(id::text, 4) AS id, expected, actual FROM blogstore.verify() WHERE container = 'posts';
SELECT * FROM kit.wrong_on_comments();
ROLLBACK;
-- likes and deltas of a post that SQL has deleted
BEGIN;
DELETE FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(1);
SELECT blogstore.repair() > 0 AS mended;
-- deltas of zero may remain
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(1) AND (type <> 'delta' OR comment_count <> 0 OR like_count <> 0);
SELECT count(*) FROM blogstore.verify() WHERE container = 'posts';
ROLLBACK;
-- a deletion of the post deletes them
BEGIN;
SELECT blogstore.delete_post(kit.p(1));
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(1);
ROLLBACK;
-- and one of its author, in steps, whose counts are right at each of them
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n), kit.c(12))) FROM generate_series(101, 400) n;
BEGIN;
SELECT blogstore.delete_user(kit.u(2));
SELECT count(*) > 0 AS going_on FROM blogstore.posts WHERE post_id = kit.p(1);
SELECT problem, type FROM blogstore.verify() WHERE container = 'posts';
SELECT * FROM kit.wrong_on_comments();
COMMIT;
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(1);
SELECT * FROM blogstore.verify();
-- a comment with many likes, by a user who is deleted
SELECT id IS NOT NULL AS posted FROM blogstore.create_post(kit.u(4), 'title', 'content', kit.p(9), kit.d(9));
SELECT id IS NOT NULL AS written FROM blogstore.create_comment(kit.p(9), kit.u(5), 'liked', kit.c(90), kit.d(9));
SELECT count(blogstore.create_like(kit.p(9), kit.u(n), kit.d(n), kit.c(90))) FROM generate_series(101, 400) n;
BEGIN;
SELECT blogstore.delete_user(kit.u(5));
SELECT count(*) AS likes FROM blogstore.posts WHERE comment_id = kit.c(90);
SELECT sum(like_count) AS counted FROM blogstore.posts WHERE type = 'delta' AND item_id = kit.c(90);
SELECT problem, type FROM blogstore.verify() WHERE container = 'posts';
COMMIT;
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.posts WHERE comment_id = kit.c(90) OR item_id = kit.c(90);
SELECT comment_count FROM blogstore.get_post(kit.p(9));
SELECT * FROM blogstore.verify();

DROP TABLE kit.liked;
DROP VIEW kit.comment_deltas;
DROP FUNCTION kit.wrong_on_comments, kit.walk_likes;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
DO $$ DECLARE r regclass; BEGIN FOR r IN SELECT i.indexrelid FROM pg_index i WHERE i.indrelid::regclass::text ~ '_like$' AND i.indexrelid::regclass::text ~ 'user_id_creation_date_id' LOOP
	EXECUTE format('DROP INDEX %s', r); END LOOP; END $$;
