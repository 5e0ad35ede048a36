--
-- HIDDEN: drafts, moderation, comments held for approval
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(4, 0);
SELECT count(blogstore.create_post(kit.u(1 + n % 2), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 120) n;
SELECT blogstore.wait_for_views();

-- What is where, with and without the views
CREATE FUNCTION kit.where_is(post uuid, OUT get boolean, OUT feed boolean, OUT own boolean, OUT own_all boolean, OUT view_feed boolean, OUT copy boolean)
LANGUAGE sql AS $$
SELECT (SELECT g.hidden FROM blogstore.get_post(post) g),
	EXISTS (SELECT FROM blogstore.list_feed(NULL) WHERE id = post),
	EXISTS (SELECT FROM blogstore.get_post(post) g, blogstore.list_user_posts(g.user_id, NULL) l WHERE l.id = post),
	(SELECT l.hidden FROM blogstore.get_post(post) g, blogstore.list_user_posts(g.user_id, NULL, include_hidden => true) l WHERE l.id = post),
	EXISTS (SELECT FROM blogstore.feed WHERE id = post),
	(SELECT coalesce(c.hidden, false) FROM blogstore.users c WHERE type = 'post' AND id = post)
$$;

-- A draft
SELECT id = kit.p(200) AS id, hidden, creation_date FROM blogstore.create_post(kit.u(1), 'draft', 'not yet', kit.p(200), kit.d(200), hidden => true);
SELECT blogstore.wait_for_views();
SELECT * FROM kit.where_is(kit.p(200));
SELECT p::jsonb -> 'hidden' AS hidden FROM blogstore.get_post(kit.p(200)) p;
SELECT title, hidden FROM blogstore.edit_post(kit.p(200), 'draft, edited');
SELECT kit.try('blogstore.create_like(kit.p(200), kit.u(2))');
SELECT kit.try('blogstore.create_comment(kit.p(200), kit.u(2), ''comment'')');
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(200) AND type IN ('comment', 'like');
-- published, it is dated now and heads the feed
SELECT hidden, creation_date > now() - interval '1 h' AS now, modification_date IS NOT NULL AS edited FROM blogstore.publish_post(kit.p(200));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.where_is(kit.p(200));
SELECT title, hidden FROM blogstore.list_feed(1);
SELECT count(*), count(*) FILTER (WHERE hidden) FROM blogstore.users WHERE type = 'post' AND id = kit.p(200);
-- publishing what is shown changes nothing
SELECT creation_date AS published FROM blogstore.get_post(kit.p(200)) \gset
SELECT creation_date = :'published' AS same FROM blogstore.publish_post(kit.p(200));
SELECT creation_date = kit.d(120) AS same FROM blogstore.publish_post(kit.p(120));

-- A hidden post is no longer served from the commit on, whether or not the
-- worker has folded the change
SELECT count(blogstore.create_like(kit.p(120), kit.u(n))) FROM generate_series(1, 3) n;
SELECT count(blogstore.create_comment(kit.p(120), kit.u(n), 'comment', kit.c(n), kit.d(n))) FROM generate_series(1, 3) n;
SELECT blogstore.wait_for_views();
BEGIN;
SELECT hidden, comment_count, like_count FROM blogstore.hide_post(kit.p(120));
SELECT * FROM kit.where_is(kit.p(120));
COMMIT;
SELECT * FROM kit.where_is(kit.p(120));
SELECT count(*), count(DISTINCT id), min(creation_date) FROM blogstore.list_feed();
SELECT blogstore.wait_for_views();
SELECT * FROM kit.where_is(kit.p(120));
SELECT count(*), count(DISTINCT id) FROM blogstore.list_feed();
SELECT count(*) FROM blogstore.feed;
SELECT * FROM blogstore.verify();
-- A command that is repeated returns the existing item; with other content it
-- fails
SELECT user_username FROM blogstore.create_like(kit.p(120), kit.u(1));
SELECT content FROM blogstore.create_comment(kit.p(120), kit.u(1), 'comment', kit.c(1), kit.d(1));
SELECT kit.try('blogstore.create_comment(kit.p(120), kit.u(1), ''another'', kit.c(1))');
SELECT kit.try('blogstore.create_comment(kit.p(120), kit.u(1), ''new'', kit.c(9))');
-- what hangs on it stays, and may go
SELECT count(*) FROM blogstore.list_post_comments(kit.p(120));
SELECT count(*) FROM blogstore.list_post_likes(kit.p(120));
SELECT kit.try('blogstore.create_like(kit.p(120), kit.u(4))');
SELECT blogstore.delete_like(kit.p(120), kit.u(1)), blogstore.delete_comment(kit.p(120), kit.c(1));
SELECT comment_count, like_count, hidden FROM blogstore.get_post(kit.p(120));
-- hiding it again changes nothing
SELECT hidden FROM blogstore.hide_post(kit.p(120));
-- shown at the date that it had
SELECT hidden, creation_date, comment_count, like_count FROM blogstore.hide_post(kit.p(120), false);
SELECT blogstore.wait_for_views();
SELECT * FROM kit.where_is(kit.p(120));
SELECT id = kit.p(120) AS second FROM blogstore.list_feed(1, :'published', kit.p(200));
SELECT kit.try('blogstore.create_like(kit.p(120), kit.u(4))');
-- rolled back
BEGIN;
SELECT hidden FROM blogstore.hide_post(kit.p(119));
ROLLBACK;
SELECT * FROM kit.where_is(kit.p(119));
SELECT blogstore.wait_for_views();
SELECT * FROM kit.where_is(kit.p(119));

-- Many, so that pages have to go on behind them
SELECT count(blogstore.hide_post(kit.p(n))) FROM generate_series(20, 118, 2) n;
SELECT count(*), count(*) FILTER (WHERE hidden) FROM blogstore.list_feed(NULL);
SELECT kit.walk('blogstore.list_feed($1, $2, $3)', 7) = (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE) AS walked;
SELECT blogstore.wait_for_views();
SELECT count(*), (SELECT count(*) FROM blogstore.feed) AS view FROM blogstore.list_feed(NULL);
SELECT kit.walk('blogstore.list_feed($1, $2, $3)', 7) = (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE) AS walked;
SELECT kit.walk('blogstore.list_feed($1, $2, $3, true)', 7) = (SELECT array_agg(id ORDER BY creation_date, id) FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE) AS walked;
SELECT kit.walk('blogstore.list_user_posts(kit.u(1), $1, $2, $3)', 7) = (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u(1) AND hidden IS NOT TRUE) AS walked,
	kit.walk('blogstore.list_user_posts(kit.u(1), $1, $2, $3, false, true)', 7) = (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u(1)) AS with_hidden;
SELECT count(*), count(*) FILTER (WHERE hidden) FROM blogstore.list_user_posts(kit.u(1), NULL, include_hidden => true);
-- a cursor may be at a hidden row
SELECT id = kit.p(19) AS behind FROM blogstore.list_feed(1, kit.d(20), kit.p(20));
SELECT id = kit.p(19) AS behind FROM blogstore.list_feed(1, date_trunc('milliseconds', kit.d(20)), kit.p(20));
SELECT * FROM blogstore.verify();
-- without the views
SET client_min_messages = error;
SELECT blogstore.stop_worker();
RESET client_min_messages;
SELECT * FROM kit.where_is(kit.p(118));
SELECT hidden FROM blogstore.hide_post(kit.p(117));
SELECT * FROM kit.where_is(kit.p(117));
SELECT count(*), count(*) FILTER (WHERE hidden) FROM blogstore.list_user_posts(kit.u(1), NULL, include_hidden => true);
SELECT hidden FROM blogstore.hide_post(kit.p(118), false);
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
SELECT * FROM kit.where_is(kit.p(117));
SELECT * FROM kit.where_is(kit.p(118));
SELECT * FROM blogstore.verify();

-- Comments that await approval are not counted, and only those who may see
-- them find them in lists
SELECT hidden FROM blogstore.create_comment(kit.p(1), kit.u(2), 'held', kit.c(10), kit.d(10), hidden => true);
SELECT hidden FROM blogstore.create_comment(kit.p(1), kit.u(2), 'shown', kit.c(11), kit.d(11));
SELECT comment_count FROM blogstore.get_post(kit.p(1));
SELECT content, hidden FROM blogstore.list_post_comments(kit.p(1));
SELECT content, hidden FROM blogstore.list_post_comments(kit.p(1), include_hidden => true);
SELECT content, hidden FROM blogstore.list_post_comments(kit.p(1), oldest_first => true, include_hidden => true);
SELECT c::jsonb -> 'hidden' AS hidden FROM blogstore.list_post_comments(kit.p(1), include_hidden => true) c;
SELECT content, hidden FROM blogstore.edit_comment(kit.p(1), kit.c(10), 'held, edited');
SELECT hidden, modification_date IS NOT NULL AS edited FROM blogstore.hide_comment(kit.p(1), kit.c(10), hidden => false);
SELECT comment_count FROM blogstore.get_post(kit.p(1));
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(10), false);
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(11));
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(11));
SELECT comment_count FROM blogstore.get_post(kit.p(1));
SELECT blogstore.wait_for_views();
SELECT comment_count FROM blogstore.list_feed(1, oldest_first => true);
SELECT * FROM blogstore.verify();
-- a hidden one that is deleted was not counted
SELECT blogstore.delete_comment(kit.p(1), kit.c(11));
SELECT comment_count FROM blogstore.get_post(kit.p(1));
SELECT hidden FROM blogstore.create_comment(kit.p(1), kit.u(3), 'of a user who goes', kit.c(12), kit.d(12), hidden => true);
SELECT hidden FROM blogstore.create_comment(kit.p(1), kit.u(3), 'of a user who goes', kit.c(13), kit.d(13));
SELECT blogstore.delete_user(kit.u(3));
SELECT comment_count FROM blogstore.get_post(kit.p(1));
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
-- Hidden comments are not subtracted either while the many items of a deleted
-- user are being purged
SELECT count(*) FROM blogstore.create_user('many', kit.u(5));
SELECT count(blogstore.create_comment(kit.p(1 + n / 250), kit.u(5), 'many', kit.c(1000 + n), kit.d(100), hidden => n % 2 = 0)) FROM generate_series(1, 260) n;
SELECT comment_count AS before FROM blogstore.get_posts(ARRAY[kit.p(1), kit.p(2)]);
BEGIN;
SELECT blogstore.delete_user(kit.u(5));
SELECT count(*) > 0 AS left FROM blogstore.posts WHERE type = 'comment' AND user_id = kit.u(5) AND hidden;
SELECT comment_count FROM blogstore.get_posts(ARRAY[kit.p(1), kit.p(2)]);
SELECT p.comment_count, (SELECT count(*) FROM blogstore.list_post_comments(p.id, NULL)) AS listed, (SELECT count(*) FROM blogstore.list_post_comments(p.id, NULL, include_hidden => true) c WHERE c.user_id = kit.u(5)) AS gone
FROM unnest(ARRAY[kit.p(1), kit.p(2)]) id, LATERAL blogstore.get_post(id) p;
COMMIT;
SELECT blogstore.wait_for_views();
SELECT comment_count FROM blogstore.get_posts(ARRAY[kit.p(1), kit.p(2)]);
SELECT * FROM blogstore.verify();
-- repair() counts as verify() does
UPDATE blogstore.posts SET comment_count = comment_count + 7 WHERE type = 'delta' AND post_id = kit.p(1);
SELECT count(blogstore.create_comment(kit.p(1), kit.u(2), 'held', kit.c(n), hidden => true)) FROM generate_series(20, 22) n;
SELECT problem, expected FROM blogstore.verify() WHERE container = 'posts';
SELECT blogstore.repair() > 0 AS mended;
SELECT comment_count FROM blogstore.get_post(kit.p(1));

-- An export tells which items are hidden, even while the feed is detached.
-- Where the column `hidden` is missing, nobody takes drafts for published
-- posts.
BEGIN;
DROP TABLE blogstore.feed;
SELECT count(*) > 0 AS some, count(*) = (SELECT count(*) FROM blogstore.posts WHERE hidden) AS same FROM blogstore.export_documents() AS d (item) WHERE item @> '{"hidden": true}';
ROLLBACK;
BEGIN;
ALTER TABLE blogstore.posts RENAME COLUMN hidden TO hidden_once;
SELECT call, kit.try('blogstore.' || call) FROM unnest(ARRAY['get_post(kit.p(1))', 'list_post_comments(kit.p(1))', 'export_documents()', 'verify()']) call;
ROLLBACK;

-- Bad input
SELECT call, kit.try('blogstore.' || call) FROM unnest(ARRAY['hide_post(NULL)', 'hide_post(kit.p(1), NULL)', 'hide_post(kit.p(999))', 'publish_post(NULL)', 'publish_post(kit.p(999))',
	'hide_comment(NULL, kit.c(1))', 'hide_comment(kit.p(1), NULL)', 'hide_comment(kit.p(1), kit.c(10), NULL)', 'hide_comment(kit.p(1), kit.c(999))', 'hide_comment(kit.p(999), kit.c(10))',
	'create_post(kit.u(1), ''t'', ''c'', hidden => NULL)', 'create_comment(kit.p(1), kit.u(1), ''c'', hidden => NULL)',
	'list_user_posts(kit.u(1), include_hidden => NULL)', 'list_post_comments(kit.p(1), include_hidden => NULL)']) call;
SELECT request, function, calls > 0 AS counted FROM blogstore.stat_requests WHERE function IN ('hide_post', 'publish_post', 'hide_comment') ORDER BY 2;
SELECT * FROM blogstore.verify();
DROP FUNCTION kit.where_is;
SELECT kit.clear();
