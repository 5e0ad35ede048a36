--
-- REINSTALL: the items outlive the extension. Must run last.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(5, 150);
SELECT count(blogstore.create_comment(kit.p(p), kit.u(u), 'comment', kit.c(10 * p + u))), count(blogstore.create_like(kit.p(p), kit.u(u)))
FROM generate_series(1, 150, 5) p, generate_series(1, 5) u;
SELECT blogstore.wait_for_views();
SELECT kit.digest() AS digest \gset

-- Only the extension's own things lean on it
DROP VIEW kit.worker;
DROP EXTENSION blogstore;
SELECT nspname FROM pg_namespace WHERE nspname = 'blogstore';
SELECT count(*) FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace;
SELECT type, count(*) FROM blogstore.posts WHERE type <> 'delta' GROUP BY type ORDER BY type COLLATE "C";
SELECT kit.digest() = :'digest' AS unchanged;

-- Created again, it finds the containers
CREATE EXTENSION blogstore;
SELECT kit.digest() = :'digest' AS unchanged;
SELECT kit.try('blogstore.create_containers()');
SELECT title, comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT user_id FROM blogstore.get_user_by_name('USER 3');
SELECT kit.compare('SELECT * FROM blogstore.list_feed()', 'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT blogstore.wait_for_views();
SELECT kit.compare('SELECT * FROM blogstore.list_feed()', 'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT count(*) FROM blogstore.users WHERE type = 'post';
SELECT count(*) FROM blogstore.feed;
SELECT state FROM blogstore.stat_worker;
SELECT * FROM blogstore.verify();
-- and works on
SELECT user_username FROM blogstore.create_like(kit.p(2), kit.u(2));
SELECT like_count FROM blogstore.get_post(kit.p(2));
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'newest', 'x', kit.p(500), kit.d(500));
SELECT blogstore.wait_for_views();
SELECT title FROM blogstore.feed ORDER BY creation_date DESC LIMIT 1;
SELECT * FROM blogstore.verify();

-- Dropped and created in one transaction, and rolled back
BEGIN;
DROP EXTENSION blogstore;
CREATE EXTENSION blogstore;
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
BEGIN;
DROP EXTENSION blogstore;
ROLLBACK;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT count(*) FROM blogstore.list_feed();
