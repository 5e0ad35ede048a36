--
-- VERIFY AND REPAIR: each kind of error planted by hand is shown, alone, and
-- mended
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
-- 120 posts, so that 20 are not in the feed
SELECT kit.fill(3, 120);
SELECT count(blogstore.create_comment(kit.p(p), kit.u(u), 'comment', kit.c(10 * p + u))), count(blogstore.create_like(kit.p(p), kit.u(u)))
FROM generate_series(1, 120, 10) p, generate_series(1, 3) u;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT kit.digest() AS digest \gset
CREATE FUNCTION kit.copies_digest() RETURNS text LANGUAGE sql STABLE AS $$
	SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM (
		SELECT c::text AS line FROM blogstore.users c WHERE type = 'post'
		UNION ALL SELECT f::text FROM blogstore.feed f) x
$$;
SELECT kit.copies_digest() AS copies_digest \gset

-- Counts, each way. The worker copies a wrong count into the views, which
-- are then right: they show what the posts container says.
UPDATE blogstore.posts SET like_count = like_count + 5 WHERE type = 'post' AND post_id = kit.p(111);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT kit.digest() = :'digest' AND kit.copies_digest() = :'copies_digest' AS mended;

UPDATE blogstore.posts SET comment_count = 0 WHERE type = 'delta' AND post_id = kit.p(1);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT kit.digest() = :'digest' AND kit.copies_digest() = :'copies_digest' AS mended;

-- A comment and a like gone or come behind the requests' back
DELETE FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p(11) AND id = kit.c(111);
DELETE FROM blogstore.posts WHERE type = 'like' AND post_id = kit.p(21) AND user_id = kit.u(1);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify() ORDER BY id;
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(11));
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(21));
SELECT blogstore.delete_post(kit.p(11)), blogstore.delete_post(kit.p(21));
SELECT blogstore.wait_for_views();
SELECT kit.digest() AS digest, kit.copies_digest() AS copies_digest \gset

-- A username, on a comment, a like and a post
UPDATE blogstore.posts SET user_username = 'Mallory' WHERE type = 'comment' AND post_id = kit.p(31) AND user_id = kit.u(1);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
UPDATE blogstore.posts SET user_username = 'Mallory' WHERE type = 'like' AND post_id = kit.p(31) AND user_id = kit.u(1);
SELECT blogstore.wait_for_views();
SELECT container, problem, type, id IS NOT NULL AS id, post_id, user_id, expected, actual FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
UPDATE blogstore.posts SET user_username = 'Mallory' WHERE type = 'post' AND post_id = kit.p(41);
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT kit.digest() = :'digest' AND kit.copies_digest() = :'copies_digest' AS mended;

-- The registry: a name that is missing, and one of nobody
DELETE FROM blogstore.usernames WHERE user_id = kit.u(2);
SELECT container, problem, type, id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
SELECT user_id FROM blogstore.get_user_by_name('user 2');
INSERT INTO blogstore.usernames (username_key, user_id) VALUES ('nobody', kit.u(99));
SELECT container, problem, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
SELECT kit.try('blogstore.create_user(''nobody'', kit.u(98))');
SELECT blogstore.delete_user(kit.u(98));
SELECT blogstore.wait_for_views();
SELECT kit.digest() = :'digest' AS mended;

-- Orphans: a comment and a like of no post, a comment of no user
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, content, creation_date)
VALUES (kit.c(9999), 'comment', kit.p(999), kit.u(1), 'user 1', 'orphan', kit.d(1));
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date)
VALUES (kit.c(9998), 'like', kit.p(999), kit.u(1), 'user 1', kit.d(1));
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
BEGIN;
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, content, creation_date)
VALUES (kit.c(9997), 'comment', kit.p(31), kit.u(999), 'nobody', 'orphan', kit.d(1));
UPDATE blogstore.posts SET comment_count = comment_count + 1 WHERE type = 'post' AND post_id = kit.p(31);
COMMIT;
SELECT blogstore.wait_for_views();
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair() > 0 AS mended;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT kit.digest() = :'digest' AND kit.copies_digest() = :'copies_digest' AS mended;

-- The views: a missing copy, one too many, a stale one, in users and in feed;
-- each in a transaction, since once it is committed the worker mends it too
BEGIN;
DELETE FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(51);
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
BEGIN;
INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
VALUES (kit.p(999), 'post', kit.p(999), kit.u(1), 'user 1', 'extra', 'x', 0, 0, kit.d(999));
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
BEGIN;
UPDATE blogstore.users SET title = 'stale' WHERE type = 'post' AND post_id = kit.p(52);
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
BEGIN;
DELETE FROM blogstore.feed WHERE post_id = kit.p(110);
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
-- and each property that a view shows
CREATE FUNCTION kit.changed(view text, change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format('UPDATE blogstore.%I SET %s WHERE type = ''post'' AND post_id = kit.p(110)', view, change);
	SELECT string_agg(concat_ws(' ', container, problem, expected <> actual), ', ') INTO found FROM blogstore.verify();
	RAISE SQLSTATE 'FOUND' USING MESSAGE = coalesce(found, 'nothing');
EXCEPTION WHEN SQLSTATE 'FOUND' THEN
	RETURN sqlerrm;
END
$$;
SELECT change, kit.changed('users', change) AS users, CASE WHEN change NOT LIKE 'hidden%' THEN kit.changed('feed', change) END AS feed
FROM unnest(ARRAY['title = title', 'user_username = ''x''', 'title = ''x''', 'content = ''x''',
	'comment_count = comment_count + 1', 'like_count = like_count + 1', 'hidden = true', 'hidden = false',
	'modification_date = kit.d(1)', 'properties = ''{"a": 1}''']) AS change;
-- a post that is there but too old for the feed
BEGIN;
INSERT INTO blogstore.feed (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date FROM kit.implied WHERE id = kit.p(2);
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
-- and one that is not there
BEGIN;
INSERT INTO blogstore.feed (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
VALUES (kit.p(999), 'post', kit.p(999), kit.u(1), 'user 1', 'extra', 'x', 0, 0, kit.d(999));
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
BEGIN;
UPDATE blogstore.feed SET user_username = 'stale' WHERE post_id = kit.p(111);
SELECT container, problem, type, id, post_id, user_id FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
COMMIT;
SELECT kit.digest() = :'digest' AND kit.copies_digest() = :'copies_digest' AS mended;

-- All at once
UPDATE blogstore.posts SET like_count = 1000, comment_count = 1000 WHERE type = 'post' AND post_id IN (kit.p(61), kit.p(71));
UPDATE blogstore.posts SET user_username = 'Mallory' WHERE type = 'comment' AND post_id = kit.p(61);
SELECT blogstore.wait_for_views();
BEGIN;
DELETE FROM blogstore.users WHERE type = 'post' AND post_id IN (kit.p(3), kit.p(4));
DELETE FROM blogstore.feed WHERE post_id IN (kit.p(81), kit.p(82), kit.p(83));
SELECT container, problem, type, count(*) FROM blogstore.verify() GROUP BY 1, 2, 3
ORDER BY container COLLATE "C", problem COLLATE "C", type COLLATE "C";
SELECT blogstore.repair();
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT kit.digest() = :'digest' AND kit.copies_digest() = :'copies_digest' AS mended;
SELECT blogstore.repair();

-- Names whose columns have collations of their own are compared as bytes
BEGIN;
DROP VIEW kit.implied, blogstore.posts_with_counts CASCADE;
ALTER TABLE blogstore.users ALTER username TYPE text COLLATE "POSIX";
ALTER TABLE blogstore.posts ALTER user_username TYPE text COLLATE "C";
SELECT * FROM blogstore.verify();
UPDATE blogstore.posts SET user_username = upper(user_username) WHERE post_id = kit.p(61) AND type IN ('post', 'like');
DELETE FROM blogstore.posts WHERE post_id = kit.p(71) AND type = 'post';
UPDATE blogstore.posts SET user_username = 'Mallory' WHERE post_id = kit.p(71) AND type = 'comment';
SELECT container, problem, type, count(*) FROM blogstore.verify() WHERE container = 'posts' GROUP BY 1, 2, 3
ORDER BY container COLLATE "C", problem COLLATE "C", type COLLATE "C";
SELECT blogstore.repair() > 0 AS repaired;
SELECT * FROM blogstore.verify() WHERE container = 'posts';
ROLLBACK;
