--
-- MAINTENANCE: what an owner does to the tables while sessions and the worker
-- use them
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(5, 130);
SELECT blogstore.wait_for_views();

-- One command and one query after each step, in a session that has used the
-- tables before
CREATE FUNCTION kit.go_on(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.create_comment(kit.p(130), kit.u(1), 'after step ' || n, kit.c(n));
	PERFORM blogstore.edit_post(kit.p(n), 'step ' || n);
	-- the views may lag behind here
	PERFORM blogstore.list_user_posts(kit.u(1)), blogstore.list_feed();
	RETURN (SELECT format('%s comments, %s listed, title %L', comment_count,
		(SELECT count(*) FROM blogstore.list_post_comments(kit.p(130), NULL)),
		(SELECT title FROM blogstore.get_post(kit.p(n))))
		FROM blogstore.get_post(kit.p(130)));
END $$;
CREATE FUNCTION kit.check_views() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF NOT blogstore.wait_for_views() THEN
		RETURN 'timeout';
	END IF;
	RETURN kit.compare('SELECT id, user_id, user_username, title, content, comment_count, like_count, creation_date FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
		'SELECT id, user_id, user_username, title, content, comment_count, like_count, creation_date FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
END $$;
SELECT kit.go_on(1);
SELECT kit.check_views();

VACUUM (FULL, ANALYZE) blogstore.posts, blogstore.users, blogstore.feed;
SELECT kit.go_on(2);
SELECT kit.check_views();

REINDEX TABLE blogstore.posts;
REINDEX TABLE blogstore.users;
REINDEX TABLE blogstore.feed;
SELECT kit.go_on(3);
SELECT kit.check_views();

-- Columns of the owner's own
ALTER TABLE blogstore.posts ADD COLUMN mood text DEFAULT 'none';
SELECT kit.go_on(4);
SELECT kit.check_views();
SELECT mood, count(*) FROM blogstore.posts WHERE type <> 'delta' GROUP BY mood;
UPDATE blogstore.posts SET mood = 'happy' WHERE type = 'post' AND post_id = kit.p(130);
SELECT kit.go_on(5);
-- an edit and a like keep what is in them
SELECT mood FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(130);
SELECT kit.check_views();
ALTER TABLE blogstore.posts DROP COLUMN mood;
SELECT kit.go_on(6);
SELECT kit.check_views();
ALTER TABLE blogstore.users ADD COLUMN mood text;
ALTER TABLE blogstore.feed ADD COLUMN mood text;
SELECT kit.go_on(7);
SELECT kit.check_views();
ALTER TABLE blogstore.users DROP COLUMN mood;
ALTER TABLE blogstore.feed DROP COLUMN mood;
SELECT kit.go_on(8);
SELECT kit.check_views();

-- In one transaction with what the requests do
BEGIN;
SELECT kit.go_on(9);
ALTER TABLE blogstore.posts ADD COLUMN mood text;
SELECT kit.go_on(10);
ALTER TABLE blogstore.posts DROP COLUMN mood;
SELECT kit.go_on(11);
COMMIT;
SELECT kit.check_views();

-- All items taken out and put back in bulk
CREATE TEMP TABLE kept AS SELECT * FROM blogstore.posts;
TRUNCATE blogstore.posts;
SELECT kit.check_views();
INSERT INTO blogstore.posts SELECT * FROM kept;
SELECT kit.go_on(12);
SELECT kit.check_views();
BEGIN;
TRUNCATE blogstore.posts;
INSERT INTO blogstore.posts SELECT * FROM kept;
COMMIT;
SELECT kit.go_on(13);
SELECT kit.check_views();
-- a truncation that is rolled back
BEGIN;
TRUNCATE blogstore.posts;
ROLLBACK;
SELECT kit.go_on(14);
SELECT kit.check_views();

-- Thousands of savepoints in one transaction
DO $$
BEGIN
	FOR n IN 1 .. 1200 LOOP
		BEGIN
			PERFORM blogstore.create_comment(kit.p(130), kit.u(1), 'x');
			IF n % 3 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT kit.go_on(15);
SELECT kit.check_views();

-- Queries in parallel workers
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
EXPLAIN (COSTS OFF) SELECT count(*) FROM blogstore.list_feed(NULL);
SELECT count(*) FROM blogstore.list_feed(NULL);
SELECT username FROM blogstore.get_user(kit.u(1));
SELECT username FROM blogstore.get_user_by_name('USER 1');
SELECT comment_count FROM blogstore.get_post(kit.p(130));
SELECT count(*) FROM blogstore.list_user_posts(kit.u(1), NULL);
SELECT count(*) FROM blogstore.list_post_comments(kit.p(130), NULL);
SELECT count(*) FROM blogstore.list_post_likes(kit.p(130), NULL);
SELECT count(*) FROM blogstore.get_like(kit.p(130), kit.u(1));
SELECT count(*) FROM blogstore.verify();
SELECT kit.try('blogstore.create_like(kit.p(130), kit.u(1))');
-- what this transaction wrote is seen from there, too
BEGIN;
SELECT blogstore.delete_like(kit.p(130), kit.u(1));
SELECT like_count FROM blogstore.get_post(kit.p(130));
SELECT count(*) FROM blogstore.list_post_likes(kit.p(130));
ROLLBACK;
SELECT like_count FROM blogstore.get_post(kit.p(130));
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');

SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
