--
-- DELETIONS: what goes with a user and a post, and what stays
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(4, 12);
SELECT count(blogstore.create_comment(kit.p(p), kit.u(u), 'comment', kit.c(10 * p + u))), count(blogstore.create_like(kit.p(p), kit.u(u)))
FROM generate_series(1, 12) p, generate_series(1, 4) u;
SELECT blogstore.wait_for_views();
SELECT type, count(*) FROM blogstore.posts WHERE type <> 'delta' GROUP BY type ORDER BY type COLLATE "C";

-- A user goes with the user's posts and all on them, comments and likes;
-- the counts of the other posts are corrected
SELECT blogstore.delete_user(kit.u(1));
SELECT count(*) FROM blogstore.get_user(kit.u(1));
SELECT count(*) FROM blogstore.get_user_by_name('user 1');
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('edit_user(kit.u(1), ''x'')'),
	('create_post(kit.u(1), ''x'', ''x'')'),
	('create_comment(kit.p(1), kit.u(1), ''x'')'),
	('create_like(kit.p(1), kit.u(1))')) AS v (call);
-- at every moment the counts are those of the items
SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT type, count(*) FROM blogstore.posts WHERE type <> 'delta' GROUP BY type ORDER BY type COLLATE "C";
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(1);
SELECT count(*) FROM blogstore.users WHERE user_id = kit.u(1);
SELECT count(*) FROM blogstore.feed WHERE user_id = kit.u(1);
SELECT comment_count, like_count, count(*) FROM kit.implied, LATERAL blogstore.get_post(id) AS p (a, b, c, d, e, f, g, comments, likes)
WHERE comment_count = comments AND like_count = likes GROUP BY 1, 2;
SELECT count(*) FROM blogstore.list_feed();
SELECT * FROM blogstore.progress;
SELECT * FROM blogstore.verify();
-- the posts of others are as they were
SELECT user_username, title, comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT user_username FROM blogstore.list_post_comments(kit.p(1)) ORDER BY 1;

-- The name and the id are free again, and the new user has nothing of the old
SELECT username FROM blogstore.create_user('user 1', kit.u(1), kit.d(1));
SELECT count(*) FROM blogstore.list_user_posts(kit.u(1));
SELECT count(*) FROM blogstore.get_like(kit.p(1), kit.u(1));
SELECT user_username FROM blogstore.create_like(kit.p(1), kit.u(1));
SELECT like_count FROM blogstore.get_post(kit.p(1));

-- Deleted and created again before the views have followed
BEGIN;
SELECT blogstore.delete_user(kit.u(2));
SELECT username FROM blogstore.create_user('user 2', kit.u(20), kit.d(2));
COMMIT;
SELECT user_username FROM blogstore.create_comment(kit.p(2), kit.u(20), 'new', kit.c(300));
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(2);
SELECT user_username, content FROM blogstore.list_post_comments(kit.p(2)) WHERE user_id = kit.u(20);
SELECT * FROM kit.wrong_counts();
SELECT * FROM blogstore.verify();

-- Rolled back, all is there
SELECT kit.digest() AS digest \gset
BEGIN;
SELECT blogstore.delete_user(kit.u(3));
SELECT blogstore.delete_user(kit.u(4));
SELECT count(*) FROM blogstore.get_user(kit.u(3));
ROLLBACK;
SELECT blogstore.wait_for_views();
SELECT kit.digest() = :'digest' AS unchanged;
SELECT username FROM blogstore.get_user(kit.u(3));
SELECT username FROM blogstore.get_user_by_name('user 3');
SELECT * FROM blogstore.verify();

-- A user with more items than a batch may hold
SELECT count(blogstore.create_post(kit.u(3), 'many', 'x', kit.p(1000 + n), kit.d(1000 + n))) FROM generate_series(1, 300) n;
SELECT count(blogstore.create_comment(kit.p(2), kit.u(3), 'many', kit.c(10000 + n))) FROM generate_series(1, 3000) n;
SELECT count(blogstore.create_like(kit.p(1000 + n), kit.u(4))) FROM generate_series(1, 300) n;
SELECT blogstore.delete_user(kit.u(3));
SELECT blogstore.wait_for_views('5 min');
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(3);
SELECT count(*) FROM blogstore.users WHERE user_id = kit.u(3);
SELECT * FROM kit.wrong_counts();
SELECT * FROM blogstore.verify();

-- A step of a deletion does not subtract hidden comments, which do not count
SET client_min_messages = error;
SELECT blogstore.stop_worker();
RESET client_min_messages;
SELECT count(blogstore.create_user('deleted ' || n, kit.u(n))) FROM generate_series(901, 902) n;
SELECT count(blogstore.create_post(kit.u(901), 'hidden', 'x', kit.p(2000)));
SELECT count(blogstore.create_comment(kit.p(2000), kit.u(902), 'x', hidden => n % 3 = 0)) FROM generate_series(1, 600) n;
SELECT blogstore.delete_user(kit.u(901));
-- (on a cluster, the workers of other nodes may have finished it already)
SELECT count(*) < 600 AS begun, count(*) > 0 OR to_regclass('blogstore.user_items') IS NOT NULL AS unfinished
FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p(2000);
SELECT * FROM blogstore.verify() WHERE problem = 'comment_count';
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(2000);
SELECT blogstore.delete_user(kit.u(902));
SELECT blogstore.wait_for_views();

-- Posts: the last ones, and the feed with them
SELECT id, blogstore.delete_post(id) FROM blogstore.list_feed(NULL) ORDER BY id;
SELECT blogstore.wait_for_views();
SELECT type, count(*) FROM blogstore.posts GROUP BY type;
SELECT count(*) FROM blogstore.users WHERE type = 'post';
SELECT count(*) FROM generate_series(1, 100) n, blogstore.get_user(kit.u(n));
SELECT count(*) FROM blogstore.feed;
SELECT * FROM blogstore.verify();
