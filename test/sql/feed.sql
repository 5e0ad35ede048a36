--
-- FEED: Q6, the view feed and what lies beyond it
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SHOW blogstore.feed_size;
SHOW blogstore.short_form_length;
SELECT count(*) FROM blogstore.list_feed();
SELECT count(*) FROM blogstore.feed;

-- 250 posts of 10 users, inserted in no order of dates; several share a date
SELECT kit.fill(10, 0);
SELECT count(blogstore.create_post(kit.u(1 + n % 10), 'title ' || n, repeat(n || ' ', 150), kit.p((n * 91) % 251), kit.d((n * 53) % 251 / 2)))
FROM generate_series(1, 250) n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(u))) FROM generate_series(1, 250, 3) n, generate_series(1, 1 + n % 10) u;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + n % 10), 'comment')) FROM generate_series(1, 250, 7) n;
SELECT blogstore.wait_for_views();

-- A feed of 100 after 250 posts is exactly the newest 100, in order
SELECT kit.compare('SELECT * FROM blogstore.list_feed()',
	'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
-- ... and so is the container behind it, no more and no less
SELECT kit.compare('SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, false, modification_date, properties, NULL::timestamptz FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT kit.compare('SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, coalesce(hidden, false), modification_date, properties, publish_date FROM blogstore.users WHERE type = ''post'' ORDER BY id',
	'SELECT * FROM kit.implied ORDER BY id');

-- Short form: 200 characters, of the content alone
SELECT count(*), min(length(content)), max(length(content)) FROM blogstore.list_feed();
SELECT DISTINCT length(p.content) > 200 AS longer, left(p.content, 200) = f.content AS same
FROM blogstore.list_feed() f, LATERAL blogstore.get_post(f.id) p;
SELECT length(title), length(content) FROM blogstore.create_post(kit.u(1), repeat('t', 500), repeat(U&'\4e2d', 300), kit.p(900), kit.d(900));
SELECT length(title), length(content) FROM blogstore.create_post(kit.u(1), 'exactly', repeat('x', 200), kit.p(901), kit.d(901));
SELECT blogstore.wait_for_views();
SELECT length(title), length(content), octet_length(content) FROM blogstore.list_feed(2);
SELECT length(title), length(content), octet_length(content) FROM blogstore.list_user_posts(kit.u(1), 2);

-- Pages past the feed go on in the posts container
SELECT page, kit.walk('blogstore.list_feed($1, $2, $3)', page)
	= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied) AS all_posts
FROM unnest(ARRAY[1, 9, 50, 100, 251, 252, 253, 1000]) page;
-- a page that begins within the feed and ends beyond it
SELECT creation_date AS before_date, id AS before_id FROM kit.implied ORDER BY creation_date DESC, id DESC OFFSET 89 LIMIT 1 \gset
SELECT kit.compare(format('SELECT * FROM blogstore.list_feed(30, %L, %L)', :'before_date', :'before_id'),
	'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 30 OFFSET 90');

-- Oldest first it begins with the oldest of all, and ends with the newest
SELECT kit.compare('SELECT * FROM blogstore.list_feed(oldest_first => true)',
	'SELECT * FROM kit.implied ORDER BY creation_date, id LIMIT 100');
SELECT page, kit.walk('blogstore.list_feed($1, $2, $3, true)', page)
	= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied) AS all_posts
FROM unnest(ARRAY[1, 50, 151, 152, 153, 252, 1000]) page;
-- from the places around the view's oldest row, and in the midst of it
SELECT n, kit.compare(format('SELECT * FROM blogstore.list_feed(40, %L, %L, true)', creation_date, id),
	format('SELECT * FROM kit.implied WHERE (creation_date, id) > (%L, %L) ORDER BY creation_date, id LIMIT 40', creation_date, id))
FROM (SELECT *, row_number() OVER (ORDER BY creation_date DESC, id DESC) AS n FROM kit.implied) i
WHERE n IN (1, 2, 40, 41, 99, 100, 101, 141, 252) ORDER BY n;
-- Items of a user who is being deleted are hidden, and pages are full without
-- them
SELECT count(blogstore.create_post(kit.u(9), 'many ' || n, 'x', kit.p(2000 + n), kit.d(n / 2))) FROM generate_series(1, 240) n;
SELECT blogstore.wait_for_views();
BEGIN;
SELECT blogstore.delete_user(kit.u(9));
SELECT count(*) > 0 AS some_left, count(*) FILTER (WHERE feed) > 0 AS of_the_feed
FROM (SELECT user_id, row_number() OVER (ORDER BY creation_date DESC, id DESC) <= 100 AS feed FROM kit.implied) i WHERE user_id = kit.u(9);
SELECT n, kit.compare(format('SELECT id FROM blogstore.list_feed(20, %L, %L, true)', creation_date, id),
	format('SELECT id FROM kit.implied WHERE user_id <> kit.u(9) AND (creation_date, id) > (%L, %L) ORDER BY creation_date, id LIMIT 20', creation_date, id))
FROM (SELECT *, row_number() OVER (ORDER BY creation_date DESC, id DESC) AS n FROM kit.implied) i
WHERE n IN (1, 20, 60, 99, 100, 101, 130) ORDER BY n;
SELECT kit.compare('SELECT id FROM blogstore.list_feed(oldest_first => true)',
	'SELECT id FROM kit.implied WHERE user_id <> kit.u(9) ORDER BY creation_date, id LIMIT 100');
SELECT count(*) FROM blogstore.list_user_posts(kit.u(9), oldest_first => true);
ROLLBACK;
SELECT count(*) FILTER (WHERE blogstore.delete_post(id)) FROM blogstore.list_user_posts(kit.u(9), NULL) WHERE title LIKE 'many %';
SELECT blogstore.wait_for_views();

-- An edit, a like and a comment show in the feed, in place
SELECT id AS newest FROM blogstore.list_feed(1) \gset
SELECT title FROM blogstore.edit_post(:'newest', 'edited', 'short');
SELECT count(*) FROM blogstore.create_like(:'newest', kit.u(5));
SELECT count(*) FROM blogstore.create_comment(:'newest', kit.u(5), 'x', kit.c(900));
SELECT blogstore.wait_for_views();
SELECT title, content, comment_count, like_count FROM blogstore.list_feed(1);
SELECT blogstore.delete_like(:'newest', kit.u(5)), blogstore.delete_comment(:'newest', kit.c(900));
SELECT blogstore.wait_for_views();
SELECT title, content, comment_count, like_count FROM blogstore.list_feed(1);

-- Old posts that arrive late stay out of the view; newer ones push the oldest
-- out
SELECT title FROM blogstore.create_post(kit.u(1), 'old', 'x', kit.p(950), kit.d(-5));
SELECT title FROM blogstore.create_post(kit.u(1), 'new', 'x', kit.p(951), kit.d(950));
SELECT title FROM blogstore.create_post(kit.u(1), 'middle', 'x', kit.p(952), kit.d(110));
SELECT blogstore.wait_for_views();
SELECT kit.compare('SELECT id FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	'SELECT id FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');

-- Deletion refills the view from the posts container
SELECT count(*) FILTER (WHERE blogstore.delete_post(id)) FROM blogstore.list_feed(40);
SELECT blogstore.wait_for_views();
SELECT kit.compare('SELECT id FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	'SELECT id FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT kit.compare('SELECT * FROM blogstore.list_feed()',
	'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
-- all of it, so that the refill runs out of posts
SELECT count(*) FILTER (WHERE blogstore.delete_post(id)) FROM blogstore.list_feed();
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.feed;
SELECT count(*) FILTER (WHERE blogstore.delete_post(id)) FROM blogstore.list_feed();
SELECT blogstore.wait_for_views();
SELECT count(*) FROM kit.implied;
SELECT kit.compare('SELECT id FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	'SELECT id FROM kit.implied ORDER BY creation_date DESC, id DESC');
-- down to nothing
SELECT count(*) FILTER (WHERE blogstore.delete_post(id)) FROM blogstore.list_feed(NULL);
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.feed;
SELECT count(*) FROM blogstore.list_feed();

SELECT * FROM blogstore.verify();
