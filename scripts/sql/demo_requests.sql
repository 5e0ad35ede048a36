-- demo_requests.sql
--		The article's ten requests, each beside its version 1 in plain SQL.
--
-- $1 is a user, $2 a post, $3 a new number. Both sides give the same columns.

\set ON_ERROR_STOP on
\set runs 25

CALL demo.measure('C1', 'create a user', false,
$$SELECT id, type, user_id, username, creation_date
FROM blogstore.create_user(username => 'visitor' || $3)$$,
$$INSERT INTO v1.users VALUES (blogstore.new_id(), 'visitor' || $3, now()) RETURNING *$$, :runs);

CALL demo.measure('Q1', 'retrieve a user', true,
$$SELECT id, type, user_id, username, creation_date
FROM blogstore.get_user(user_id => $1)$$,
$$SELECT user_id AS id, 'user' AS type, user_id, username, creation_date
FROM v1.users
WHERE user_id = $1$$, :runs);

CALL demo.measure('C2', 'create a post', false,
$$SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.create_post(user_id => $1, title => 'A post', content => repeat('All of it. ', 80))$$,
$$INSERT INTO v1.posts VALUES (blogstore.new_id(), $1, 'A post', repeat('All of it. ', 80), now()) RETURNING *$$, :runs);

CALL demo.measure('Q2', 'retrieve a post', true,
$$SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.get_post(post_id => $2)$$,
$$SELECT p.post_id AS id, 'post' AS type, p.post_id, p.user_id, u.username, p.title, p.content,
       (SELECT count(*) FROM v1.comments AS c WHERE c.post_id = p.post_id),
       (SELECT count(*) FROM v1.likes AS l WHERE l.post_id = p.post_id), p.creation_date
FROM v1.posts AS p JOIN v1.users AS u USING (user_id)
WHERE p.post_id = $2$$, :runs);

CALL demo.measure('Q3', 'list a user''s posts, short form', true,
$$SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.list_user_posts(user_id => $1)$$,
$$SELECT p.post_id AS id, 'post' AS type, p.post_id, p.user_id, u.username, p.title, left(p.content, 200),
       (SELECT count(*) FROM v1.comments AS c WHERE c.post_id = p.post_id),
       (SELECT count(*) FROM v1.likes AS l WHERE l.post_id = p.post_id), p.creation_date
FROM v1.posts AS p JOIN v1.users AS u USING (user_id)
WHERE p.user_id = $1
ORDER BY p.creation_date DESC, p.post_id DESC LIMIT 20$$, :runs);

CALL demo.measure('C3', 'create a comment', false,
$$SELECT id, type, post_id, user_id, user_username, content, creation_date
FROM blogstore.create_comment(post_id => $2, user_id => $1, content => 'Well said.')$$,
$$INSERT INTO v1.comments VALUES (blogstore.new_id(), $2, $1, 'Well said.', now()) RETURNING *$$, :runs);

CALL demo.measure('Q4', 'list a post''s comments', true,
$$SELECT id, type, post_id, user_id, user_username, content, creation_date
FROM blogstore.list_post_comments(post_id => $2)$$,
$$SELECT c.comment_id AS id, 'comment' AS type, c.post_id, c.user_id, u.username, c.content, c.creation_date
FROM v1.comments AS c JOIN v1.users AS u USING (user_id)
WHERE c.post_id = $2
ORDER BY c.creation_date DESC, c.comment_id DESC LIMIT 20$$, :runs);

CALL demo.measure('C4', 'like a post', false,
$$SELECT * FROM blogstore.create_like(post_id => $2, user_id => $1)$$,
$$INSERT INTO v1.likes VALUES (blogstore.new_id(), $2, $1, now()) RETURNING *$$, :runs);

CALL demo.measure('Q5', 'list a post''s likes', true,
$$SELECT * FROM blogstore.list_post_likes(post_id => $2)$$,
$$SELECT l.like_id AS id, 'like' AS type, l.post_id, l.user_id, u.username, l.creation_date
FROM v1.likes AS l JOIN v1.users AS u USING (user_id)
WHERE l.post_id = $2
ORDER BY l.creation_date DESC, l.like_id DESC LIMIT 20$$, :runs);

CALL demo.measure('Q6', 'list the 100 most recent posts, short form', true,
$$SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.list_feed()$$,
$$SELECT p.post_id AS id, 'post' AS type, p.post_id, p.user_id, u.username, p.title, left(p.content, 200),
       (SELECT count(*) FROM v1.comments AS c WHERE c.post_id = p.post_id),
       (SELECT count(*) FROM v1.likes AS l WHERE l.post_id = p.post_id), p.creation_date
FROM v1.posts AS p JOIN v1.users AS u USING (user_id)
ORDER BY p.creation_date DESC, p.post_id DESC LIMIT 100$$, :runs);
