--
-- BAD INPUT: one SQLSTATE and a hint each, and nothing changed
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(2, 2);
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'comment', kit.c(1), kit.d(1));
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(1));
SELECT kit.digest() AS digest \gset

-- NULL where a value is needed
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(NULL)'),
	('edit_user(NULL, ''x'')'),
	('edit_user(kit.u(1), NULL)'),
	('create_post(NULL, ''x'', ''x'')'),
	('create_post(kit.u(1), NULL, ''x'')'),
	('create_post(kit.u(1), ''x'', NULL)'),
	('edit_post(NULL, ''x'', ''x'')'),
	('create_comment(NULL, kit.u(1), ''x'')'),
	('create_comment(kit.p(1), NULL, ''x'')'),
	('create_comment(kit.p(1), kit.u(1), NULL)'),
	('create_like(NULL, kit.u(1))'),
	('create_like(kit.p(1), NULL)'),
	('edit_comment(NULL, kit.c(1), ''x'')'),
	('edit_comment(kit.p(1), NULL, ''x'')'),
	('edit_comment(kit.p(1), kit.c(1), NULL)'),
	('delete_like(NULL, kit.u(1))'),
	('delete_like(kit.p(1), NULL)'),
	('delete_comment(NULL, kit.c(1))'),
	('delete_comment(kit.p(1), NULL)'),
	('delete_post(NULL)'),
	('delete_user(NULL)'),
	('get_user(NULL)'),
	('get_user_by_name(NULL)'),
	('get_post(NULL)'),
	('list_user_posts(NULL)'),
	('list_post_comments(NULL)'),
	('list_comment_replies(NULL, kit.c(1))'),
	('list_comment_replies(kit.p(1), NULL)'),
	('list_user_comments(NULL)'),
	('list_user_likes(NULL)'),
	('list_post_likes(NULL)'),
	('get_like(NULL, kit.u(1))'),
	('get_like(kit.p(1), NULL)'),
	('get_posts(NULL)'),
	('get_comment(NULL, kit.c(1))'),
	('get_comment(kit.p(1), NULL)'),
	('get_users(NULL)'),
	('get_likes(NULL, ARRAY[kit.p(1)])'),
	('get_likes(kit.u(1), NULL)'),
	('wait_for_views(NULL)'),
	('stop_worker(NULL)')) AS v (call);

-- Unknown user, post or comment
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('edit_user(kit.u(99), ''x'')'),
	('create_post(kit.u(99), ''x'', ''x'')'),
	('edit_post(kit.p(99), ''x'', ''x'')'),
	('edit_post(kit.p(99))'),
	('create_comment(kit.p(99), kit.u(1), ''x'')'),
	('create_comment(kit.p(1), kit.u(99), ''x'')'),
	('create_like(kit.p(99), kit.u(1))'),
	('create_like(kit.p(1), kit.u(99))'),
	('edit_comment(kit.p(1), kit.c(99), ''x'')'),
	('edit_comment(kit.p(99), kit.c(1), ''x'')'),
	('edit_comment(kit.p(2), kit.c(1), ''x'')'),
	-- a post is no user, a user no post
	('create_like(kit.u(1), kit.u(1))'),
	('create_like(kit.p(1), kit.p(1))'),
	('edit_user(kit.p(1), ''x'')'),
	('edit_post(kit.u(1), ''x'')')) AS v (call);

-- Username taken
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(''user 1'')'),
	('create_user(''USER 1'')'),
	('create_user(''user 1'', kit.u(99))'),
	('edit_user(kit.u(1), ''user 2'')'),
	('edit_user(kit.u(1), ''User 2'')')) AS v (call);

-- Bad usernames
SELECT name, kit.try(format('blogstore.create_user(%L)', v)) AS create_user, kit.try(format('blogstore.edit_user(kit.u(1), %L)', v)) AS edit_user
FROM (VALUES
	('empty', ''),
	('65 characters', repeat('x', 65)),
	('65 characters of two bytes', repeat(U&'\00e9', 65)),
	('a million', repeat('x', 1000000)),
	('a space', ' '),
	('spaces of several kinds', U&' \00a0\2003\3000'),
	('leading tab', E'\tx'),
	('trailing newline', E'x\n'),
	('trailing carriage return', E'x\r'),
	('newline within', E'x\ny'),
	('tab within', E'x\ty'),
	('control 1 within', E'x\x01y'),
	('escape within', E'x\x1b[31my'),
	('delete within', E'x\x7fy'),
	('next line within', U&'x\0085y'),
	('application program command within', U&'x\009fy')) AS n (name, v);

-- Empty title and comment
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_post(kit.u(1), '''', ''x'')'),
	('edit_post(kit.p(1), '''')'),
	('edit_post(kit.p(1), '''', ''x'')'),
	('create_comment(kit.p(1), kit.u(1), '''')'),
	('edit_comment(kit.p(1), kit.c(1), '''')')) AS v (call);

-- Infinite dates
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(''x'', kit.u(98), ''infinity'')'),
	('create_user(''x'', kit.u(98), ''-infinity'')'),
	('create_post(kit.u(1), ''x'', ''x'', kit.p(98), ''infinity'')'),
	('create_post(kit.u(1), ''x'', ''x'', kit.p(98), ''-infinity'')'),
	('create_comment(kit.p(1), kit.u(1), ''x'', kit.c(98), ''infinity'')'),
	('create_comment(kit.p(1), kit.u(1), ''x'', kit.c(98), ''-infinity'')'),
	('create_like(kit.p(1), kit.u(2), ''infinity'')'),
	('create_like(kit.p(1), kit.u(2), ''-infinity'')')) AS v (call);

-- Pages of no size, and half a cursor
SELECT call, page, kit.try(format('blogstore.' || call, page)) FROM (VALUES
	('list_user_posts(kit.u(1), %s)'),
	('list_post_comments(kit.p(1), %s)'),
	('list_comment_replies(kit.p(1), kit.c(1), %s)'),
	('list_user_comments(kit.u(1), %s)'),
	('list_post_likes(kit.p(1), %s)'),
	('list_following(kit.u(1), %s)'),
	('list_followers(kit.u(1), %s)'),
	('list_home_feed(kit.u(1), %s)'),
	('list_topic_posts(''a'', %s)'),
	('list_feed(%s)')) AS v (call),
	(VALUES ('0'), ('-1'), ('-2147483648'),
	('10, kit.d(1)'), ('10, before_id => kit.p(1)'),
	('NULL, kit.d(1), NULL'), ('NULL, NULL, kit.p(1)'),
	('10, kit.d(1), oldest_first => true'), ('10, kit.d(1), kit.p(1), NULL'),
	('oldest_first => NULL')) AS w (page)
ORDER BY call COLLATE "C", page COLLATE "C";
-- of unknown keys too
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('list_user_posts(kit.u(99), 0)'),
	('list_post_comments(kit.p(99), 0)'),
	('list_post_likes(kit.p(99), 10, kit.d(1))')) AS v (call);

-- Of all this nothing has changed anything
SELECT kit.digest() = :'digest' AS unchanged;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(1));

-- Unknown keys are no error in a query or a deletion
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('get_user(kit.u(99))'),
	('get_user_by_name(''nobody'')'),
	('get_post(kit.p(99))'),
	('list_user_posts(kit.u(99))'),
	('list_post_comments(kit.p(99))'),
	('list_comment_replies(kit.p(99), kit.c(1))'),
	('list_comment_replies(kit.p(1), kit.c(99))'),
	('list_user_comments(kit.u(99))'),
	('list_user_likes(kit.u(99))'),
	('list_post_likes(kit.p(99))'),
	('get_like(kit.p(99), kit.u(1))'),
	('get_posts(ARRAY[kit.p(99), NULL])'),
	('get_comment(kit.p(99), kit.c(1))'),
	('get_comment(kit.p(1), kit.c(99))'),
	('get_users(ARRAY[kit.u(99), NULL])'),
	('get_likes(kit.u(99), ARRAY[kit.p(1), kit.p(99), NULL])'),
	('delete_like(kit.p(99), kit.u(1))'),
	('delete_comment(kit.p(99), kit.c(1))'),
	('delete_post(kit.p(99))'),
	('delete_user(kit.u(99))')) AS v (call);

-- As plain statements, the code is the same
\set VERBOSITY sqlstate
SELECT blogstore.create_like(kit.p(99), kit.u(1));
SELECT blogstore.create_user('user 1');
SELECT blogstore.list_feed(0);
SELECT blogstore.get_post(NULL);
\set VERBOSITY default

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
