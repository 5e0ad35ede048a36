--
-- HOME FEED: the posts of all whom a user follows
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
-- 400 posts by 8 users, three to a date, ids in another order than dates; each
-- seventh is hidden. User 1 follows 2 to 7, user 2 nobody, user 9 all.
SELECT kit.fill(10, 0);
SELECT count(blogstore.create_post(kit.u(1 + n % 8), 'title ' || n, repeat(n || ' ', 300), kit.p((n * 37) % 401), kit.d(n / 3), hidden => n % 7 = 0))
FROM generate_series(1, 400) n;
SELECT count(blogstore.create_like(p.id, kit.u(u))), count(blogstore.create_comment(p.id, kit.u(u), 'comment'))
FROM (SELECT id FROM kit.implied WHERE NOT hidden ORDER BY creation_date DESC, id DESC LIMIT 40) AS p, generate_series(1, 3) u;
SELECT count(blogstore.follow_user(kit.u(1), kit.u(n))) FROM generate_series(2, 7) n;
SELECT count(blogstore.follow_user(kit.u(9), kit.u(n))) FROM generate_series(1, 8) n;
SELECT blogstore.wait_for_views();

-- The feed as the followed users' own posts imply it
CREATE VIEW kit.home AS
SELECT f.user_id AS reader, i.id, i.creation_date FROM kit.implied AS i
JOIN blogstore.users AS f ON f.type = 'follow' AND f.followed_id = i.user_id WHERE NOT i.hidden;
CREATE FUNCTION kit.home_of(n int, direction text DEFAULT 'DESC') RETURNS text LANGUAGE sql
AS $$ SELECT format('SELECT i.* FROM kit.implied AS i JOIN kit.home AS h USING (id) WHERE h.reader = kit.u(%1$s) ORDER BY i.creation_date %2$s, i.id %2$s', n, direction) $$;
-- Compare lists and pages with it
CREATE FUNCTION kit.check_home(n int) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(', ',
	kit.compare(format('SELECT * FROM blogstore.list_home_feed(kit.u(%s), NULL)', n), kit.home_of(n)),
	kit.compare(format('SELECT * FROM blogstore.list_home_feed(kit.u(%s), NULL, oldest_first => true)', n), kit.home_of(n, 'ASC')),
	kit.compare(format('SELECT * FROM blogstore.list_home_feed(kit.u(%s))', n), kit.home_of(n) || ' LIMIT 20'),
	kit.compare(format('SELECT * FROM blogstore.list_home_feed(kit.u(%s), 300)', n), kit.home_of(n) || ' LIMIT 300'),
	(SELECT bool_and(kit.walk(format('blogstore.list_home_feed(kit.u(%s), $1, $2, $3)', n), page, page = 20)
		= ARRAY(SELECT id FROM kit.home WHERE reader = kit.u(n) ORDER BY creation_date DESC, id DESC)
		AND kit.walk(format('blogstore.list_home_feed(kit.u(%s), $1, $2, $3, true)', n), page, page = 20)
		= ARRAY(SELECT id FROM kit.home WHERE reader = kit.u(n) ORDER BY creation_date, id))
	FROM unnest(ARRAY[1, 3, 20, 256, 257, 1000]) AS page))
$$;
SELECT n, kit.check_home(n) FROM unnest(ARRAY[1, 2, 9]) AS n;
SELECT count(*) FROM blogstore.list_home_feed(kit.u(99));
SELECT title, like_count, comment_count, length(content) FROM blogstore.list_home_feed(kit.u(1), 3);

-- A page costs one descent for each followed user, and one for the follows
SELECT kit.descents('SELECT * FROM blogstore.list_home_feed(kit.u(1))') AS of_6,
	kit.descents('SELECT * FROM blogstore.list_home_feed(kit.u(9), 256)') AS of_8;
EXPLAIN (COSTS OFF) SELECT * FROM blogstore.list_home_feed(kit.u(1));

-- It follows at once: hidden posts, ends of follows, deletions, renames
SELECT id = kit.p(37) AS shown FROM blogstore.list_home_feed(kit.u(1), NULL) WHERE id = kit.p(37);
SELECT id = kit.p(37) AS hidden FROM blogstore.hide_post(kit.p(37));
SELECT count(*) FROM blogstore.list_home_feed(kit.u(1), NULL) WHERE id = kit.p(37);
SELECT blogstore.unfollow_user(kit.u(1), kit.u(3));
SELECT string_agg(DISTINCT user_username, ', ') FROM blogstore.list_home_feed(kit.u(1), NULL);
BEGIN;
SELECT blogstore.delete_user(kit.u(4));
SELECT string_agg(DISTINCT user_username, ', ') FROM blogstore.list_home_feed(kit.u(1), NULL);
SELECT blogstore.delete_user(kit.u(1));
SELECT count(*) FROM blogstore.list_home_feed(kit.u(1), NULL);
ROLLBACK;
SELECT username FROM blogstore.edit_user(kit.u(5), 'new 5');
SELECT blogstore.wait_for_views();
SELECT string_agg(DISTINCT user_username, ', ') FROM blogstore.list_home_feed(kit.u(1), NULL);
SELECT n, kit.check_home(n) FROM unnest(ARRAY[1, 2, 9]) AS n;

-- While the worker is stopped, the posts themselves are read
SET client_min_messages = error;
SELECT blogstore.stop_worker();
RESET client_min_messages;
SELECT n, kit.check_home(n) FROM unnest(ARRAY[1, 2, 9]) AS n;
SELECT title FROM blogstore.create_post(kit.u(2), 'unseen by the views', 'content', kit.p(501), kit.d(1000));
SELECT title FROM blogstore.list_home_feed(kit.u(1), 1);
BEGIN;
SELECT blogstore.delete_user(kit.u(3));
SELECT title, like_count, comment_count FROM blogstore.list_home_feed(kit.u(9), 2, before_date => kit.d(1000), before_id => kit.p(501));
ROLLBACK;
EXPLAIN (COSTS OFF) SELECT * FROM blogstore.list_home_feed(kit.u(1));
-- lists of follows show a new follow at once, also while the worker is stopped
CREATE VIEW kit.follows AS
SELECT (SELECT string_agg(right(followed_id::text, 1), ' ' ORDER BY followed_id) FROM blogstore.list_following(kit.u(1))) AS following_1,
	(SELECT string_agg(right(followed_id::text, 1), ' ' ORDER BY followed_id) FROM blogstore.list_following(kit.u(9))) AS following_9,
	(SELECT string_agg(right(user_id::text, 1), ' ' ORDER BY user_id) FROM blogstore.list_followers(kit.u(3))) AS followers_3,
	(SELECT string_agg(right(user_id::text, 1), ' ' ORDER BY user_id) FROM blogstore.list_followers(kit.u(7))) AS followers_7;
SELECT * FROM kit.follows;
SELECT followed_username FROM blogstore.follow_user(kit.u(1), kit.u(3));
SELECT followed_username FROM blogstore.follow_user(kit.u(2), kit.u(3));
SELECT blogstore.unfollow_user(kit.u(1), kit.u(7));
SELECT * FROM kit.follows;
SELECT kit.walk('blogstore.list_followers(kit.u(3), $1, $2, $3)', 2, false)
	= ARRAY(SELECT id FROM blogstore.users WHERE type = 'follow' AND followed_id = kit.u(3) ORDER BY creation_date DESC, id DESC) AS pages;
SELECT n, kit.check_home(n) FROM unnest(ARRAY[1, 2, 9]) AS n;
BEGIN;
SELECT blogstore.delete_user(kit.u(1)), blogstore.delete_user(kit.u(7));
SELECT * FROM kit.follows;
ROLLBACK;
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
SELECT n, kit.check_home(n) FROM unnest(ARRAY[1, 2, 9]) AS n;
SELECT * FROM kit.follows;
DROP VIEW kit.follows;

-- One snapshot for a transaction that keeps it
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) AS home FROM blogstore.list_home_feed(kit.u(1), NULL) \gset
SELECT followed_username FROM blogstore.follow_user(kit.u(1), kit.u(8));
SELECT count(*) > :home AS own_follow FROM blogstore.list_home_feed(kit.u(1), NULL);
ROLLBACK;

-- A cursor that resumes
BEGIN;
DECLARE feed CURSOR FOR SELECT title FROM blogstore.list_home_feed(kit.u(9), NULL);
FETCH 2 FROM feed;
MOVE 260 FROM feed;
FETCH 1 FROM feed;
COMMIT;

-- Bad input
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('list_home_feed(NULL)'),
	('list_home_feed(kit.u(1), 0)'),
	('list_home_feed(kit.u(1), 1, now())'),
	('list_home_feed(kit.u(1), 1, NULL, kit.p(1))'),
	('list_home_feed(kit.u(1), oldest_first => NULL)')) AS v (call);

SELECT * FROM blogstore.verify();
DROP FUNCTION kit.check_home, kit.home_of;
DROP VIEW kit.home;
