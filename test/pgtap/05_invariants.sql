-- What holds of every item in the containers, and of the views over them.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;
SELECT plan(16);

SELECT ok(blogstore.wait_for_views(), 'the views are up to date');
SELECT is_empty('SELECT * FROM blogstore.verify()', 'verify() shows nothing');
SELECT is_empty('SELECT id FROM blogstore.users WHERE type = ''user'' AND id <> user_id', 'a user''s id is its user_id');
SELECT is_empty('SELECT id FROM blogstore.posts WHERE type = ''post'' AND id <> post_id', 'a post''s id is its post_id');
SELECT is_empty('SELECT id FROM blogstore.posts WHERE type NOT IN (''post'', ''delta'') AND (comment_count IS NOT NULL OR like_count IS NOT NULL) OR type <> ''post'' AND title IS NOT NULL',
	'only posts, and deltas of them, have counts; only posts titles');
SELECT is_empty('SELECT id FROM blogstore.posts WHERE type = ''like'' AND content IS NOT NULL', 'a like has no content');
SELECT is_empty('SELECT id FROM blogstore.posts WHERE type IN (''post'', ''comment'') AND content IS NULL', 'posts and comments have content');
SELECT is_empty($$
	SELECT p.post_id FROM blogstore.posts p, LATERAL blogstore.get_post(p.post_id) g
	WHERE p.type = 'post' AND (g.comment_count, g.like_count) <>
		((SELECT count(*) FROM blogstore.posts c WHERE c.type = 'comment' AND c.post_id = p.post_id),
		(SELECT count(*) FROM blogstore.posts l WHERE l.type = 'like' AND l.post_id = p.post_id))
$$, 'counts are those of the items');
SELECT is_empty($$
	SELECT i.id FROM blogstore.posts i LEFT JOIN blogstore.users u ON u.user_id = i.user_id AND u.type = 'user'
	WHERE i.type <> 'delta' AND u.username IS DISTINCT FROM i.user_username
$$, 'every item bears its author''s name');
SELECT is_empty($$
	SELECT i.id FROM blogstore.posts i LEFT JOIN blogstore.posts p ON p.post_id = i.post_id AND p.type = 'post' WHERE p.id IS NULL
$$, 'every item has its post');
SELECT set_eq('SELECT user_id FROM blogstore.usernames', 'SELECT user_id FROM blogstore.users WHERE type = ''user''', 'every user is registered, and nobody else');
SELECT is((SELECT count(*) FROM blogstore.users WHERE type = 'user'), (SELECT count(DISTINCT lower(username)) FROM blogstore.users WHERE type = 'user'), 'names are unique regardless of case');
SELECT set_eq($$ SELECT id, user_id, user_username, title, content, comment_count, like_count, creation_date FROM blogstore.users WHERE type = 'post' $$,
	$$ SELECT id, user_id, user_username, title, left(content, 200), comment_count, like_count, creation_date FROM kit.posts $$,
	'users holds each post''s short form');
SELECT results_eq('SELECT id, user_id, user_username, title, content, comment_count, like_count, creation_date FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	$$ SELECT id, user_id, user_username, title, left(content, 200), comment_count, like_count, creation_date FROM kit.posts ORDER BY creation_date DESC, id DESC LIMIT 100 $$,
	'feed holds the newest 100');
-- the plain containers, queried as tables, answer the same
SELECT results_eq('SELECT id FROM blogstore.list_post_comments(kit.p(11), NULL)',
	$$ SELECT id FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p(11) ORDER BY creation_date DESC, id DESC $$, 'Q4 is an ordered read of the container');
SELECT results_eq('SELECT id FROM blogstore.list_post_likes(kit.p(11), NULL)',
	$$ SELECT id FROM blogstore.posts WHERE type = 'like' AND post_id = kit.p(11) ORDER BY creation_date DESC, id DESC $$, 'Q5 is an ordered read of the container');

SELECT * FROM finish();
ROLLBACK;
