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
-- follows, topics and a scheduled post
SELECT count(blogstore.follow_user(kit.u(a), kit.u(b), kit.d(10 * a + b))) FROM generate_series(1, 5) a, generate_series(1, 5) b WHERE a < b;
SELECT count(blogstore.edit_post(kit.p(n), properties => jsonb_build_object('tags', ARRAY['all', 'Topic ' || n % 3]))) FROM generate_series(1, 20) n;
SELECT title, hidden FROM blogstore.create_post(kit.u(1), 'scheduled', 'content', kit.p(400), kit.d(400), publish_date => '2200-01-01');
ALTER SYSTEM SET blogstore.topic_property = 'tags';
CALL kit.reload();
SELECT blogstore.wait_for_views();
CREATE FUNCTION kit.lists() RETURNS TABLE (list text, rows bigint, digest text) LANGUAGE sql AS $$
SELECT list, count(*), md5(string_agg(line, E'\n' ORDER BY line)) FROM (
	SELECT 'followers', l::text FROM generate_series(1, 5) n, blogstore.list_followers(kit.u(n), NULL) AS l
	UNION ALL SELECT 'following', l::text FROM generate_series(1, 5) n, blogstore.list_following(kit.u(n), NULL) AS l
	UNION ALL SELECT 'home feeds', n || l::text FROM generate_series(1, 5) n, blogstore.list_home_feed(kit.u(n), NULL) AS l
	UNION ALL SELECT 'topics', t::text || p::text FROM blogstore.list_topics(page_size => NULL) AS t, blogstore.list_topic_posts(t.topic, NULL) AS p
	UNION ALL SELECT 'scheduled', q::text || p::text FROM blogstore.publish_queue AS q, blogstore.get_post(q.post_id) AS p WHERE q.post_id = kit.p(400)) AS l (list, line)
GROUP BY list
$$;
SELECT list, rows FROM kit.lists() ORDER BY list;
CREATE TABLE kit.before AS SELECT * FROM kit.lists();
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
SELECT kit.compare('SELECT * FROM blogstore.list_feed()', 'SELECT * FROM kit.implied WHERE NOT hidden ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT blogstore.wait_for_views();
SELECT kit.compare('SELECT * FROM blogstore.list_feed()', 'SELECT * FROM kit.implied WHERE NOT hidden ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT list, a.digest = b.digest AS unchanged FROM kit.lists() AS a FULL JOIN kit.before AS b USING (list) ORDER BY list;
SELECT publish_date FROM blogstore.get_post(kit.p(400));
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
SELECT list, a.digest = b.digest AS unchanged FROM kit.lists() AS a FULL JOIN kit.before AS b USING (list) WHERE list IN ('followers', 'following', 'scheduled') ORDER BY list;
ALTER SYSTEM RESET blogstore.topic_property;
CALL kit.reload();
SELECT kit.try('blogstore.list_topics()');
