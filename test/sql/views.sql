--
-- VIEWS: what the change feed keeps in users and feed
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 0);

-- the copies as Q3 and Q6 and the tables show them, against what the posts
-- container implies
CREATE FUNCTION kit.views_differ() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT 'users: ' || o FROM kit.compare(
		'SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, coalesce(hidden, false), modification_date, properties, publish_date FROM blogstore.users WHERE type = ''post'' ORDER BY id',
		'SELECT * FROM kit.implied ORDER BY id') o;
	RETURN QUERY SELECT 'feed: ' || o FROM kit.compare(
		'SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, false, modification_date, properties, NULL::timestamptz FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
		'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100') o;
	RETURN QUERY SELECT 'list_user_posts of ' || username || ': ' || o FROM blogstore.users u, kit.compare(
		format('SELECT * FROM blogstore.list_user_posts(%L, NULL)', u.user_id),
		format('SELECT * FROM kit.implied WHERE user_id = %L ORDER BY creation_date DESC, id DESC', u.user_id)) o
		WHERE u.type = 'user' ORDER BY u.user_id;
	RETURN QUERY SELECT 'list_feed: ' || o FROM kit.compare(
		'SELECT * FROM blogstore.list_feed(NULL)',
		'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC') o;
END $$;

-- Every command shows in the views once wait_for_views() is true
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'one', repeat('x', 300), kit.p(1), kit.d(1));
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'two', 'short', kit.p(2), kit.d(2));
SELECT count(*) FROM blogstore.create_post(kit.u(2), 'three', '', kit.p(3), kit.d(3));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT count(blogstore.create_comment(kit.p(1), kit.u(2), 'x', kit.c(n))) FROM generate_series(1, 5) n;
SELECT count(blogstore.create_like(kit.p(2), kit.u(n))) FROM generate_series(1, 3) n;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT title, comment_count, like_count FROM blogstore.list_user_posts(kit.u(1));
SELECT count(*) FROM blogstore.edit_post(kit.p(1), 'one!', repeat('y', 100));
SELECT count(*) FROM blogstore.edit_comment(kit.p(1), kit.c(1), 'x!');
SELECT blogstore.delete_comment(kit.p(1), kit.c(2)), blogstore.delete_like(kit.p(2), kit.u(2));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT title, length(content), comment_count, like_count FROM blogstore.list_user_posts(kit.u(1));
SELECT blogstore.delete_post(kit.p(2));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();

-- Large content: only its short form is copied, from wherever it is stored
SELECT string_agg(md5(n::text), '' ORDER BY n) AS noise FROM generate_series(1, 3000) n \gset
SELECT count(*) FROM blogstore.create_post(kit.u(3), 'large', :'noise', kit.p(4), kit.d(4));
SELECT blogstore.wait_for_views();
SELECT content = left(:'noise', 200) AS same FROM blogstore.list_user_posts(kit.u(3));
-- an update that leaves the large content alone leaves its copy whole
SELECT count(*) FROM blogstore.create_like(kit.p(4), kit.u(1));
SELECT blogstore.wait_for_views();
SELECT content = left(:'noise', 200) AS same, like_count FROM blogstore.list_user_posts(kit.u(3));
SELECT content = left(:'noise', 200) AS same, like_count FROM blogstore.list_feed(1);

-- What was rolled back never shows
BEGIN;
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'never', 'x', kit.p(5), kit.d(5));
ROLLBACK;
BEGIN;
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'kept', 'x', kit.p(6), kit.d(6));
SAVEPOINT a;
SELECT count(*) FROM blogstore.create_like(kit.p(6), kit.u(1));
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'not kept', 'x', kit.p(7), kit.d(7));
ROLLBACK TO a;
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT title, like_count FROM blogstore.list_feed();

-- Many changes of one post in one transaction, and created and deleted at once
DO $$
BEGIN
	FOR n IN 1 .. 500 LOOP
		PERFORM blogstore.edit_post(kit.p(6), 'edit ' || n);
		PERFORM blogstore.create_comment(kit.p(6), kit.u(1), 'x', kit.c(1000 + n));
		PERFORM blogstore.create_post(kit.u(1), 'gone', 'x', kit.p(8), kit.d(8));
		PERFORM blogstore.delete_post(kit.p(8));
	END LOOP;
END $$;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT title, comment_count FROM blogstore.list_feed(1);

-- A user deleted, and the same ids written again
SELECT blogstore.delete_user(kit.u(1));
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.list_user_posts(kit.u(1));
SELECT * FROM kit.views_differ();
SELECT count(*) FROM blogstore.create_user('user 1 again', kit.u(1), kit.d(1));
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'again', 'x', kit.p(1), kit.d(10));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT user_username, title, comment_count, like_count FROM blogstore.list_user_posts(kit.u(1));

-- The owner's own statements: written by hand, the container is what counts
UPDATE blogstore.posts SET title = 'by hand' WHERE type = 'post' AND post_id = kit.p(1);
SELECT blogstore.wait_for_views();
SELECT title FROM blogstore.list_user_posts(kit.u(1));
SELECT * FROM kit.views_differ();
DELETE FROM blogstore.posts WHERE post_id = kit.p(1);
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
TRUNCATE blogstore.posts;
SELECT blogstore.wait_for_views();
SELECT * FROM kit.views_differ();
SELECT count(*) FROM blogstore.users WHERE type = 'post';
SELECT count(*) FROM blogstore.feed;

-- wait_for_views() within a transaction sees what was committed before it,
-- not what it wrote itself
SELECT count(*) FROM blogstore.create_post(kit.u(2), 'committed', 'x', kit.p(20), kit.d(20));
BEGIN;
SELECT count(*) FROM blogstore.create_post(kit.u(2), 'uncommitted', 'x', kit.p(21), kit.d(21));
SELECT blogstore.wait_for_views();
SELECT title FROM blogstore.feed;
COMMIT;
SELECT blogstore.wait_for_views("timeout" => '1 minute');
SELECT title FROM blogstore.feed ORDER BY creation_date;

-- A table with the name of a container in another schema is not the container,
-- even if one of its partitions lies in the schema blogstore: no rebuild
-- begins
SELECT xmin AS written FROM blogstore.view_state \gset
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.posts (LIKE blogstore.posts) PARTITION BY LIST (type);
CREATE TABLE blogstore.elsewhere_post PARTITION OF elsewhere.posts FOR VALUES IN ('post');
INSERT INTO elsewhere.posts SELECT * FROM blogstore.posts WHERE type = 'post';
TRUNCATE elsewhere.posts;
SELECT blogstore.wait_for_views();
SELECT xmin = :'written' AS not_written_since, ready FROM blogstore.view_state;
DROP TABLE elsewhere.posts;
DROP SCHEMA elsewhere;

SELECT * FROM blogstore.verify();
