--
-- READ ONLY: commands fail with 25006, queries answer
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(2, 2);
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'comment', kit.c(1), kit.d(1));
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(1));
SELECT blogstore.wait_for_views();

BEGIN READ ONLY;
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(''alice'')'),
	('edit_user(kit.u(1), ''alice'')'),
	('create_post(kit.u(1), ''title'', ''content'')'),
	('edit_post(kit.p(1), ''title'')'),
	('create_comment(kit.p(1), kit.u(1), ''content'')'),
	('create_like(kit.p(1), kit.u(2))'),
	('edit_comment(kit.p(1), kit.c(1), ''content'')'),
	('delete_like(kit.p(1), kit.u(1))'),
	('delete_comment(kit.p(1), kit.c(1))'),
	('delete_post(kit.p(1))'),
	('delete_user(kit.u(1))'),
	('rebuild_views()'),
	('repair()'),
	('start_worker()'),
	('stop_worker()'),
	-- what would change nothing is a command all the same
	('create_like(kit.p(1), kit.u(1))'),
	('delete_like(kit.p(1), kit.u(2))'),
	('edit_post(kit.p(1))')) AS v (call);
SELECT username FROM blogstore.get_user(kit.u(1));
SELECT user_id = kit.u(1) AS found FROM blogstore.get_user_by_name('user 1');
SELECT title, comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT title FROM blogstore.list_user_posts(kit.u(1));
SELECT content FROM blogstore.list_post_comments(kit.p(1));
SELECT content FROM blogstore.list_comment_replies(kit.p(1), kit.c(1));
SELECT content FROM blogstore.list_user_comments(kit.u(1));
SELECT post_id FROM blogstore.list_user_likes(kit.u(1));
SELECT user_username FROM blogstore.list_post_likes(kit.p(1));
SELECT title FROM blogstore.list_feed();
SELECT user_username FROM blogstore.get_like(kit.p(1), kit.u(1));
SELECT title, comment_count, like_count FROM blogstore.get_posts(ARRAY[kit.p(1)]);
SELECT g.content, g.like_count, g.reply_count FROM blogstore.list_post_comments(kit.p(1), 1) l, LATERAL blogstore.get_comment(l.post_id, l.id) g;
SELECT username FROM blogstore.get_users(ARRAY[kit.u(1)]);
SELECT user_username FROM blogstore.get_likes(kit.u(1), ARRAY[kit.p(1)]);
SELECT * FROM blogstore.verify();
SELECT state FROM blogstore.stat_worker;
SELECT count(*) FROM blogstore.progress;
COMMIT;
SELECT title, comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT count(*) FROM blogstore.get_user_by_name('alice');
