--
-- USER_LISTS: what a user has written and liked, over all partitions
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 40);

-- Many comments with the same date, some within one millisecond, some hidden,
-- some on hidden posts
SELECT count(blogstore.create_comment(kit.p(1 + n * 7 % 40), kit.u(1 + n % 3), 'comment ' || n, kit.c(n), kit.d(n / 4) + n % 7 * interval '1 microsecond', hidden => n % 5 = 0))
FROM generate_series(1, 600) n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(u), kit.d((n * 13) % 40 / 2) + n * interval '1 microsecond')) FROM generate_series(1, 40) n, generate_series(1, 3) u WHERE (n + u) % 4 > 0;
SELECT hidden FROM blogstore.hide_post(kit.p(4));
CREATE VIEW kit.comments AS SELECT id, post_id, user_id, user_username, content, creation_date, hidden IS TRUE AS hidden FROM blogstore.posts WHERE type = 'comment';
CREATE VIEW kit.likes AS SELECT id, post_id, user_id, user_username, creation_date FROM blogstore.posts WHERE type = 'like';

-- All, and page by page, in both directions, with and without hidden ones
SELECT hidden, oldest, kit.compare(format('SELECT id, post_id, user_id, user_username, content, creation_date, hidden FROM blogstore.list_user_comments(kit.u(1), NULL, oldest_first => %L, include_hidden => %L)', oldest, hidden),
		format('SELECT * FROM kit.comments WHERE user_id = kit.u(1) AND (NOT hidden OR %1$L) ORDER BY creation_date %2$s, id %2$s', hidden, CASE WHEN oldest THEN '' ELSE 'DESC' END)),
	kit.walk(format('blogstore.list_user_comments(kit.u(1), $1, $2, $3, %L, %L)', oldest, hidden), 7)
		= ARRAY(SELECT id FROM blogstore.list_user_comments(kit.u(1), NULL, oldest_first => oldest, include_hidden => hidden)) AS paged
FROM (VALUES (false), (true)) h (hidden), (VALUES (false), (true)) o (oldest);
-- a cursor that has lost its microseconds
SELECT oldest, kit.walk(format('blogstore.list_user_comments(kit.u(2), $1, $2, $3, %L)', oldest), 7, true)
	= ARRAY(SELECT id FROM blogstore.list_user_comments(kit.u(2), NULL, oldest_first => oldest)) AS same FROM (VALUES (false), (true)) o (oldest);
-- a cursor whose row is deleted or hidden: the page begins with the whole
-- millisecond
SELECT oldest, string_agg(content || ' ' || to_char(creation_date, 'US'), ', ') AS page
FROM (VALUES (false), (true)) o (oldest), LATERAL blogstore.list_user_comments(kit.u(1), 3, kit.d(50), kit.c(9999), oldest) c GROUP BY 1 ORDER BY 1;
SELECT content, creation_date, hidden FROM kit.comments WHERE user_id = kit.u(1) AND creation_date BETWEEN kit.d(49) AND kit.d(51) + interval '1 ms' ORDER BY creation_date, id;

-- Replies say whether their parent is gone, as in the lists of their posts
BEGIN;
SELECT count(blogstore.create_comment(kit.p(5), kit.u(1 + n % 2), 'reply ' || n, kit.c(2100 + n), kit.d(700 + n), parent_id => kit.c(2000 + n))) FROM
	(SELECT n FROM generate_series(1, 20) n, LATERAL blogstore.create_comment(kit.p(5), kit.u(1 + n % 3), 'parent ' || n, kit.c(2000 + n), kit.d(690)) p OFFSET 0) x;
SELECT count(*) FROM generate_series(1, 20, 3) n WHERE blogstore.delete_comment(kit.p(5), kit.c(2000 + n));
SELECT blogstore.delete_user(kit.u(3));
SELECT l.parent_deleted, count(*) FROM blogstore.list_user_comments(kit.u(1), NULL) u JOIN blogstore.list_post_comments(kit.p(5), NULL) l USING (id)
WHERE u.parent_deleted IS NOT DISTINCT FROM l.parent_deleted GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM blogstore.list_user_comments(kit.u(1), NULL) u JOIN blogstore.list_post_comments(kit.p(5), NULL) l USING (id) WHERE u.parent_deleted IS DISTINCT FROM l.parent_deleted;
ROLLBACK;

-- Likes in the order of post_id
SELECT kit.compare('SELECT id, post_id, user_id, user_username, creation_date FROM blogstore.list_user_likes(kit.u(1), NULL)', 'SELECT * FROM kit.likes WHERE user_id = kit.u(1) ORDER BY post_id');
SELECT string_agg(right(post_id::text, 2), ' ') FROM blogstore.list_user_likes(kit.u(1), 5);
SELECT string_agg(right(post_id::text, 2), ' ') FROM blogstore.list_user_likes(kit.u(1), 5, kit.p(6));
SELECT string_agg(right(post_id::text, 2), ' ') FROM blogstore.list_user_likes(kit.u(1), 5, kit.p(36));
SELECT count(*) FROM blogstore.list_user_likes(kit.u(1), 5, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
SELECT count(*) FROM blogstore.list_user_likes(kit.u(1), NULL, '00000000-0000-0000-0000-000000000000');
-- posts that one liked, in two calls
SELECT string_agg(title, ', ') FROM blogstore.get_posts(ARRAY(SELECT post_id FROM blogstore.list_user_likes(kit.u(1), 3)));

-- ... by date, where the site has the index for that
SELECT kit.try('blogstore.list_user_likes(kit.u(1), by_date => true)');
\set VERBOSITY terse
SELECT blogstore.list_user_likes(kit.u(1), by_date => true);
\set VERBOSITY default
SELECT call, kit.try('blogstore.list_user_likes(' || call || ')') FROM (VALUES
	('kit.u(1), by_date => NULL'), ('kit.u(1), 5, kit.p(1), true'), ('kit.u(1), oldest_first => true'), ('kit.u(1), before_date => now(), before_id => kit.p(1)'),
	('kit.u(1), by_date => true, before_date => now()'), ('kit.u(1), by_date => true, oldest_first => NULL'), ('kit.u(1), 0'), ('NULL')) AS v (call);

-- The index is used, also in a larger query, with few scans: one for each
-- partition and one for each row
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT kit.u(n) AS u FROM generate_series(1, 6) n) x, LATERAL blogstore.list_user_comments(x.u, 2) c;
SELECT count(*) FROM (SELECT kit.u(n) AS u FROM generate_series(1, 6) n) x, LATERAL blogstore.list_user_likes(x.u, 2) c;
RESET enable_seqscan;
BEGIN;
DECLARE pages CURSOR FOR SELECT content FROM blogstore.list_user_comments(kit.u(1), NULL);
FETCH 1 FROM pages;
SAVEPOINT one;
SELECT count(blogstore.delete_comment(post_id, id)) FROM blogstore.list_user_comments(kit.u(1), 3);
FETCH 2 FROM pages;
ROLLBACK TO one;
FETCH 1 FROM pages;
MOVE FORWARD ALL FROM pages;
FETCH 1 FROM pages;
COMMIT;

-- Nothing of users who are being deleted, nor on their posts
BEGIN;
SELECT blogstore.delete_user(kit.u(1));
SELECT count(*) FROM blogstore.list_user_comments(kit.u(1), NULL, include_hidden => true);
SELECT count(*) FROM blogstore.list_user_likes(kit.u(1), NULL);
SELECT kit.compare('SELECT id FROM blogstore.list_user_comments(kit.u(2), NULL)',
	'SELECT id FROM kit.comments c WHERE user_id = kit.u(2) AND NOT hidden AND (SELECT user_id FROM blogstore.posts p WHERE p.type = ''post'' AND p.post_id = c.post_id) <> kit.u(1) ORDER BY creation_date DESC, id DESC');
SELECT kit.compare('SELECT post_id FROM blogstore.list_user_likes(kit.u(2), NULL)',
	'SELECT post_id FROM kit.likes c WHERE user_id = kit.u(2) AND (SELECT user_id FROM blogstore.posts p WHERE p.type = ''post'' AND p.post_id = c.post_id) <> kit.u(1) ORDER BY post_id');
ROLLBACK;
-- which takes no memory for each row
BEGIN;
SELECT count(blogstore.edit_post(kit.p(n), content => (SELECT string_agg(md5(n || ' ' || i), '') FROM generate_series(1, 50) i))) FROM generate_series(1, 40) n;
SELECT blogstore.delete_user(kit.u(1));
DECLARE pages CURSOR FOR SELECT content FROM blogstore.list_user_comments(kit.u(2), NULL, include_hidden => true);
MOVE 20 FROM pages;
SELECT sum(used_bytes) AS used FROM pg_backend_memory_contexts WHERE name = 'ExecutorState' \gset
MOVE 150 FROM pages;
SELECT sum(used_bytes) - :used < 50000 AS none FROM pg_backend_memory_contexts WHERE name = 'ExecutorState';
ROLLBACK;
SELECT count(*) FROM blogstore.list_user_comments(kit.u(99));
SELECT count(*) FROM blogstore.list_user_likes(kit.u(99));

DROP VIEW kit.comments, kit.likes;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
