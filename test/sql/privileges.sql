--
-- PRIVILEGES: EXECUTE on the functions is the only door
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(2, 2);

-- PUBLIC may name the functions and call none of them
SELECT has_schema_privilege('public', 'blogstore', 'USAGE') AS usage, has_schema_privilege('public', 'blogstore', 'CREATE') AS create;
SELECT p.oid::regprocedure FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) a
WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee = 0;
SELECT c.oid::regclass FROM pg_class c, aclexplode(relacl) a
WHERE relnamespace = 'blogstore'::regnamespace AND a.grantee = 0;

CREATE ROLE regress_blogstore_app;
CREATE ROLE regress_blogstore_reader;
CREATE ROLE regress_blogstore_none;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO regress_blogstore_app;
GRANT EXECUTE ON FUNCTION blogstore.get_post, blogstore.list_feed, blogstore.list_user_posts TO regress_blogstore_reader;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA kit TO PUBLIC;

-- Without EXECUTE: permission denied, for every function
SET ROLE regress_blogstore_none;
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_containers()'),
	('create_user(''alice'')'),
	('edit_user(kit.u(1), ''alice'')'),
	('create_post(kit.u(1), ''title'', ''content'')'),
	('edit_post(kit.p(1), ''title'')'),
	('hide_post(kit.p(1))'),
	('publish_post(kit.p(1))'),
	('schedule_post(kit.p(1), ''2200-01-01'')'),
	('create_comment(kit.p(1), kit.u(1), ''content'')'),
	('create_like(kit.p(1), kit.u(1))'),
	('edit_comment(kit.p(1), kit.c(1), ''content'')'),
	('delete_like(kit.p(1), kit.u(1))'),
	('delete_comment(kit.p(1), kit.c(1))'),
	('delete_post(kit.p(1))'),
	('delete_user(kit.u(1))'),
	('get_user(kit.u(1))'),
	('get_user_by_name(''alice'')'),
	('get_post(kit.p(1))'),
	('list_user_posts(kit.u(1))'),
	('list_post_comments(kit.p(1))'),
	('list_post_likes(kit.p(1))'),
	('list_comment_likes(kit.p(1), kit.c(1))'),
	('list_comment_replies(kit.p(1), kit.c(1))'),
	('list_user_comments(kit.u(1))'),
	('list_user_likes(kit.u(1))'),
	('list_feed()'),
	('list_topic_posts(''a'')'),
	('follow_user(kit.u(1), kit.u(2))'),
	('unfollow_user(kit.u(1), kit.u(2))'),
	('get_follows(kit.u(1), ARRAY[kit.u(2)])'),
	('list_following(kit.u(1))'),
	('list_followers(kit.u(1))'),
	('list_home_feed(kit.u(1))'),
	('list_topics()'),
	('get_like(kit.p(1), kit.u(1))'),
	('get_posts(ARRAY[kit.p(1)])'),
	('get_comment(kit.p(1), kit.c(1))'),
	('get_users(ARRAY[kit.u(1)])'),
	('get_likes(kit.u(1), ARRAY[kit.p(1)])'),
	('get_comment_likes(kit.u(1), kit.p(1))'),
	('wait_for_views()'),
	('wait_for_posts()'),
	('rebuild_views()'),
	('verify()'),
	('repair()'),
	('start_worker()'),
	('stop_worker()'),
	('drop_slots()'),
	('library_version()'),
	('new_id()'),
	('key_id(''post'', ''1'')'),
	('get_worker_status()'),
	('get_workers_status()'),
	('get_progress()'),
	('stat_worker'),
	('stat_workers'),
	('progress'),
	('users'), ('posts'), ('feed'), ('topics'), ('publish_queue')) AS v (call);
RESET ROLE;

-- With EXECUTE and nothing on the tables: every request
SET ROLE regress_blogstore_app;
SELECT * FROM blogstore.create_user('Alice', kit.u(10), kit.d(10));
SELECT username FROM blogstore.edit_user(kit.u(10), 'Alicia');
SELECT user_username, title FROM blogstore.create_post(kit.u(10), 'title', 'content', kit.p(10), kit.d(10));
SELECT title FROM blogstore.edit_post(kit.p(10), 'title!');
SELECT content FROM blogstore.create_comment(kit.p(10), kit.u(1), 'comment', kit.c(10), kit.d(10));
SELECT content FROM blogstore.edit_comment(kit.p(10), kit.c(10), 'comment!');
SELECT user_username FROM blogstore.create_like(kit.p(10), kit.u(10));
SELECT blogstore.wait_for_views();
SELECT username FROM blogstore.get_user(kit.u(10));
SELECT username FROM blogstore.get_user_by_name('alicia');
SELECT title, user_username, comment_count, like_count FROM blogstore.get_post(kit.p(10));
SELECT title, user_username, comment_count, like_count FROM blogstore.list_user_posts(kit.u(10));
SELECT content FROM blogstore.list_post_comments(kit.p(10));
SELECT user_username FROM blogstore.list_post_likes(kit.p(10));
SELECT title, user_username, comment_count, like_count FROM blogstore.list_feed(1);
SELECT title FROM blogstore.list_feed(NULL);
SELECT user_username FROM blogstore.get_like(kit.p(10), kit.u(10));
SELECT i::jsonb ->> 'title' FROM blogstore.get_post(kit.p(10)) i;
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
-- ... and the tables stay closed
SELECT statement, kit.try('blogstore.' || statement) FROM (VALUES ('users'), ('posts'), ('feed'), ('topics'), ('usernames'), ('jobs'), ('publish_queue'), ('posts_p00_post'), ('feed_post'), ('topics_p00_topic_post')) AS v (statement);
UPDATE blogstore.posts SET like_count = 1000 WHERE post_id = kit.p(10) AND type = 'post';
UPDATE blogstore.feed SET like_count = 1000;
INSERT INTO blogstore.posts (id, type, post_id) VALUES (kit.p(11), 'post', kit.p(11));
DELETE FROM blogstore.posts;
DELETE FROM blogstore.usernames;
DELETE FROM blogstore.topics;
UPDATE blogstore.publish_queue SET publish_date = now();
TRUNCATE blogstore.posts;
DROP TABLE blogstore.posts;
SELECT blogstore.delete_like(kit.p(10), kit.u(10)), blogstore.delete_comment(kit.p(10), kit.c(10));
SELECT blogstore.delete_post(kit.p(10));
SELECT blogstore.delete_user(kit.u(10));
RESET ROLE;

-- No command has a parameter for a count
SELECT proname, a FROM pg_proc, unnest(proargnames) a
WHERE pronamespace = 'blogstore'::regnamespace AND provolatile = 'v' AND prorettype NOT IN ('record'::regtype) AND a ~ 'count';

-- A role that was granted some functions has those alone
SET ROLE regress_blogstore_reader;
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('get_post(kit.p(1))'),
	('list_feed()'),
	('list_topic_posts(''a'')'),
	('list_topics()'),
	('list_user_posts(kit.u(1))'),
	('list_post_likes(kit.p(1))'),
	('create_like(kit.p(1), kit.u(1))')) AS v (call);
RESET ROLE;

-- Roles' own objects do not come between a request and its tables
GRANT CREATE ON SCHEMA public TO regress_blogstore_app;
SET ROLE regress_blogstore_app;
CREATE TABLE public.posts (id uuid, type text, post_id uuid, title text);
CREATE TEMP TABLE users (user_id uuid, username text);
SET search_path = pg_temp, public;
SELECT title FROM blogstore.get_post(kit.p(1));
SELECT username FROM blogstore.get_user(kit.u(1));
SELECT user_username FROM blogstore.create_like(kit.p(1), kit.u(2));
RESET search_path;
DROP TABLE public.posts;
DROP TABLE pg_temp.users;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM regress_blogstore_app;

-- Monitoring: for pg_monitor
GRANT pg_monitor TO regress_blogstore_none;
SET ROLE regress_blogstore_none;
SELECT count(*) FROM blogstore.stat_worker;
SELECT count(*) FROM blogstore.stat_workers WHERE database = current_database();
SELECT count(*) >= 0 AS answers FROM blogstore.progress;
SELECT kit.try('blogstore.get_post(kit.p(1))');
RESET ROLE;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA blogstore FROM regress_blogstore_app, regress_blogstore_reader;
DROP ROLE regress_blogstore_app, regress_blogstore_reader, regress_blogstore_none;
SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
