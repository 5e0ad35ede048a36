--
-- RENAMES: a new username on every item that carries it
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(4, 8);
-- every user comments on and likes every post
SELECT count(blogstore.create_comment(kit.p(p), kit.u(u), 'comment', kit.c(10 * p + u))), count(blogstore.create_like(kit.p(p), kit.u(u)))
FROM generate_series(1, 8) p, generate_series(1, 4) u;
SELECT blogstore.wait_for_views();

-- the names on the items of user n, wherever they are
CREATE FUNCTION kit.names(n int) RETURNS TABLE (container text, type text, name text, items bigint) LANGUAGE sql STABLE AS $$
	SELECT 'users', type, coalesce(user_username, username), count(*) FROM blogstore.users WHERE user_id = kit.u(n) GROUP BY 2, 3
	UNION ALL
	SELECT 'posts', type, user_username, count(*) FROM blogstore.posts WHERE user_id = kit.u(n) GROUP BY 2, 3
	UNION ALL
	SELECT 'feed', type, user_username, count(*) FROM blogstore.feed WHERE user_id = kit.u(n) GROUP BY 2, 3
	ORDER BY 1, 2, 3
$$;
SELECT * FROM kit.names(1);

SELECT username FROM blogstore.edit_user(kit.u(1), 'One');
SELECT username FROM blogstore.get_user_by_name('one');
SELECT blogstore.wait_for_views();
SELECT * FROM kit.names(1);
SELECT * FROM blogstore.progress;
-- no one else's
SELECT * FROM kit.names(2);
-- as the requests show it
SELECT DISTINCT user_username FROM blogstore.list_user_posts(kit.u(1));
SELECT user_username FROM blogstore.list_post_comments(kit.p(1)) WHERE user_id = kit.u(1);
SELECT user_username FROM blogstore.list_post_likes(kit.p(1)) WHERE user_id = kit.u(1);
SELECT user_username FROM blogstore.get_like(kit.p(1), kit.u(1));
SELECT DISTINCT user_username FROM blogstore.list_feed() WHERE user_id = kit.u(1);
SELECT user_username FROM blogstore.get_post(kit.p(4));
-- counts, texts and dates as before
SELECT * FROM kit.wrong_counts();
SELECT DISTINCT comment_count, like_count FROM kit.implied;
SELECT title, creation_date FROM blogstore.get_post(kit.p(4));
SELECT * FROM blogstore.verify();

-- After two renames in a row, items have the last name, also those written
-- between
SELECT username FROM blogstore.edit_user(kit.u(1), 'Uno');
SELECT user_username FROM blogstore.create_post(kit.u(1), 'between', 'x', kit.p(9), kit.d(9));
SELECT username FROM blogstore.edit_user(kit.u(1), 'Un');
SELECT user_username FROM blogstore.create_comment(kit.p(9), kit.u(1), 'x', kit.c(99));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.names(1);
SELECT * FROM blogstore.verify();

-- There and back
SELECT username FROM blogstore.edit_user(kit.u(1), 'away');
SELECT username FROM blogstore.edit_user(kit.u(1), 'Un');
SELECT blogstore.wait_for_views();
SELECT * FROM kit.names(1);

-- Items written in the renaming transaction, before and after
BEGIN;
SELECT user_username FROM blogstore.create_comment(kit.p(1), kit.u(2), 'before', kit.c(200));
SELECT username FROM blogstore.edit_user(kit.u(2), 'Two');
SELECT user_username FROM blogstore.create_comment(kit.p(1), kit.u(2), 'after', kit.c(201));
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.names(2);

-- Rolled back, nothing is renamed
BEGIN;
SELECT username FROM blogstore.edit_user(kit.u(3), 'Three');
ROLLBACK;
BEGIN;
SAVEPOINT a;
SELECT username FROM blogstore.edit_user(kit.u(3), 'Tres');
ROLLBACK TO a;
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.names(3);

-- Renamed and deleted at once
BEGIN;
SELECT username FROM blogstore.edit_user(kit.u(4), 'Four');
SELECT blogstore.delete_user(kit.u(4));
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.names(4);

-- More items than a batch may hold
SELECT count(blogstore.create_comment(kit.p(1), kit.u(3), 'many', kit.c(10000 + n))) FROM generate_series(1, 5000) n;
SELECT username FROM blogstore.edit_user(kit.u(3), 'Three');
SELECT blogstore.wait_for_views('5 min');
SELECT * FROM kit.names(3);
SELECT * FROM blogstore.progress;

SELECT * FROM kit.wrong_counts();
SELECT * FROM blogstore.verify();
