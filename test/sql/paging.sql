--
-- PAGING: keyset paging of Q3 to Q6, with many items of one date
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(60, 0);

-- 150 posts of user 1 and 20 of user 2, three to a date, ids in another order
-- than dates and insertion; a post with 60 likes and 90 comments, likewise
SELECT count(blogstore.create_post(kit.u(1), 'title ' || n, repeat(n || ' ', 100), kit.p((n * 37) % 151), kit.d(n / 3)))
FROM generate_series(1, 150) n;
SELECT count(blogstore.create_post(kit.u(2), 'other ' || n, 'x', kit.p(1000 + n), kit.d(n)))
FROM generate_series(1, 20) n;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1 + n % 60), 'comment ' || n, kit.c((n * 37) % 97), kit.d(n / 4)))
FROM generate_series(1, 90) n;
SELECT count(blogstore.create_like(kit.p(1), kit.u(n), kit.d(n / 4)))
FROM generate_series(1, 60) n;
-- neighbours that must not show
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1 + n % 60), 'other', kit.c(2000 + n), kit.d(n / 4)))
FROM generate_series(1, 10) n;
SELECT count(blogstore.create_like(kit.p(2), kit.u(n), kit.d(n / 4)))
FROM generate_series(1, 10) n;
SELECT blogstore.wait_for_views();

-- What each list should be: newest first by (creation_date, id)
\set q3 '''SELECT * FROM kit.implied WHERE user_id = kit.u(1) ORDER BY creation_date DESC, id DESC'''
\set q4 '''SELECT id, type, post_id, user_id, user_username, content, creation_date, parent_id, NULL::boolean, coalesce(hidden, false), modification_date, properties, 0, 0 FROM blogstore.posts WHERE type = $$comment$$ AND post_id = kit.p(1) ORDER BY creation_date DESC, id DESC'''
\set q5 '''SELECT id, type, post_id, user_id, user_username, creation_date, comment_id FROM blogstore.posts WHERE type = $$like$$ AND post_id = kit.p(1) ORDER BY creation_date DESC, id DESC'''
\set q6 '''SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC'''

-- page_size NULL means all
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), NULL)', :q3);
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), NULL)', :q4);
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), NULL)', :q5);
SELECT kit.compare('SELECT * FROM blogstore.list_feed(NULL)', :q6);

-- The default page is 20 items of a list, 100 of the feed; a page may be
-- larger than what there is
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1))', :q3 || ' LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1))', :q4 || ' LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1))', :q5 || ' LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_feed()', :q6 || ' LIMIT 100');
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), 2147483647)', :q3);
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), 91)', :q4);
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), 60)', :q5);
SELECT kit.compare('SELECT * FROM blogstore.list_feed(171)', :q6);

-- Walking page by page meets every item once, in order, at any page size
SELECT page,
	kit.walk('blogstore.list_user_posts(kit.u(1), $1, $2, $3)', page)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied WHERE user_id = kit.u(1)) AS q3,
	kit.walk('blogstore.list_post_comments(kit.p(1), $1, $2, $3)', page)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'comment') AS q4,
	kit.walk('blogstore.list_post_likes(kit.p(1), $1, $2, $3)', page)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'like') AS q5,
	kit.walk('blogstore.list_feed($1, $2, $3)', page)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied) AS q6
FROM unnest(ARRAY[1, 2, 3, 7, 20, 99, 100, 101, 150, 1000]) page;

-- Oldest first all is the other way round, with and without pages
\set q3_old '''SELECT * FROM kit.implied WHERE user_id = kit.u(1) ORDER BY creation_date, id'''
\set q4_old '''SELECT id, type, post_id, user_id, user_username, content, creation_date, parent_id, NULL::boolean, coalesce(hidden, false), modification_date, properties, 0, 0 FROM blogstore.posts WHERE type = $$comment$$ AND post_id = kit.p(1) ORDER BY creation_date, id'''
\set q5_old '''SELECT id, type, post_id, user_id, user_username, creation_date, comment_id FROM blogstore.posts WHERE type = $$like$$ AND post_id = kit.p(1) ORDER BY creation_date, id'''
\set q6_old '''SELECT * FROM kit.implied ORDER BY creation_date, id'''
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), NULL, oldest_first => true)', :q3_old);
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), NULL, oldest_first => true)', :q4_old);
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), NULL, oldest_first => true)', :q5_old);
SELECT kit.compare('SELECT * FROM blogstore.list_feed(NULL, oldest_first => true)', :q6_old);
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), oldest_first => true)', :q3_old || ' LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), oldest_first => true)', :q4_old || ' LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), oldest_first => true)', :q5_old || ' LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_feed(oldest_first => true)', :q6_old || ' LIMIT 100');
SELECT kit.compare('SELECT * FROM blogstore.list_feed(oldest_first => false)', :q6 || ' LIMIT 100');
SELECT page,
	kit.walk('blogstore.list_user_posts(kit.u(1), $1, $2, $3, true)', page)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied WHERE user_id = kit.u(1)) AS q3,
	kit.walk('blogstore.list_post_comments(kit.p(1), $1, $2, $3, true)', page)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'comment') AS q4,
	kit.walk('blogstore.list_post_likes(kit.p(1), $1, $2, $3, true)', page)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'like') AS q5,
	kit.walk('blogstore.list_feed($1, $2, $3, true)', page)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied) AS q6
FROM unnest(ARRAY[1, 3, 20, 70, 71, 100, 1000]) page;

-- From each row a page leads on, and one back, of exactly the rows beside it
CREATE FUNCTION kit.from_each(list text, page int, OUT rows int, OUT onward int, OUT back int) LANGUAGE plpgsql AS $$
DECLARE
	ids		uuid[];
	dates	timestamptz[];
	got		uuid[];
BEGIN
	EXECUTE 'SELECT array_agg(id), array_agg(creation_date) FROM ' || list INTO ids, dates
		USING NULL::int, NULL::timestamptz, NULL::uuid, false;
	rows := cardinality(ids);
	onward := 0;
	back := 0;
	FOR i IN 1 .. rows LOOP
		EXECUTE 'SELECT coalesce(array_agg(id), ''{}'') FROM ' || list INTO got USING page, dates[i], ids[i], false;
		onward := onward + (got = ids[i + 1 : i + page])::int;
		-- what a page that goes back has is turned round to be shown
		EXECUTE 'SELECT coalesce(array_agg(id ORDER BY ordinality DESC), ''{}'') FROM ' || list || ' WITH ORDINALITY'
			INTO got USING page, dates[i], ids[i], true;
		back := back + (got = ids[greatest(i - page, 1) : i - 1])::int;
	END LOOP;
END $$;
SELECT list, page, w.* FROM unnest(ARRAY['list_user_posts(kit.u(1), $1, $2, $3, $4)', 'list_post_comments(kit.p(1), $1, $2, $3, $4)',
	'list_post_likes(kit.p(1), $1, $2, $3, $4)', 'list_feed($1, $2, $3, $4)']) list, unnest(ARRAY[1, 8, 120]) page,
	LATERAL kit.from_each('blogstore.' || list, page) w;
-- the same without the views
SET client_min_messages = error;
SELECT blogstore.stop_worker();
RESET client_min_messages;
SELECT list, w.* FROM unnest(ARRAY['list_user_posts(kit.u(1), $1, $2, $3, $4)', 'list_feed($1, $2, $3, $4)']) list,
	LATERAL kit.from_each('blogstore.' || list, 8) w;
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), 30, oldest_first => true)', :q3_old || ' LIMIT 30');
SELECT kit.compare('SELECT * FROM blogstore.list_feed(30, oldest_first => true)', :q6_old || ' LIMIT 30');
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
DROP FUNCTION kit.from_each;

-- A cursor is a place, not an item: it need not name one
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), 5, kit.d(25), ''ffffffff-ffff-ffff-ffff-ffffffffffff'')',
	'SELECT * FROM kit.implied WHERE user_id = kit.u(1) AND creation_date <= kit.d(25) ORDER BY creation_date DESC, id DESC LIMIT 5');
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), 5, kit.d(10), ''00000000-0000-0000-0000-000000000000'')',
	'SELECT * FROM (' || :q4 || ') q WHERE creation_date < kit.d(10) LIMIT 5');
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), before_id => ''ffffffff-ffff-ffff-ffff-ffffffffffff'', before_date => kit.d(4))',
	'SELECT * FROM (' || :q5 || ') q WHERE creation_date <= kit.d(4) LIMIT 20');
SELECT kit.compare('SELECT * FROM blogstore.list_feed(5, kit.d(25), ''00000000-0000-0000-0000-000000000000'')',
	'SELECT * FROM kit.implied WHERE creation_date < kit.d(25) ORDER BY creation_date DESC, id DESC LIMIT 5');
-- what lies before a place and what lies behind it are all
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), 5, kit.d(25), ''ffffffff-ffff-ffff-ffff-ffffffffffff'', true)',
	'SELECT * FROM kit.implied WHERE user_id = kit.u(1) AND creation_date >= kit.d(25) ORDER BY creation_date, id LIMIT 5');
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), 5, kit.d(10), ''00000000-0000-0000-0000-000000000000'', true)',
	'SELECT * FROM (' || :q4_old || ') q WHERE creation_date >= kit.d(10) LIMIT 5');
SELECT kit.compare('SELECT * FROM blogstore.list_feed(5, kit.d(25) + interval ''1 microsecond'', ''ffffffff-ffff-ffff-ffff-ffffffffffff'', true)',
	'SELECT * FROM kit.implied WHERE creation_date > kit.d(25) ORDER BY creation_date, id LIMIT 5');
SELECT count(*) FROM blogstore.list_feed(NULL, kit.d(999), kit.p(1), true);
SELECT count(*) FROM blogstore.list_feed(NULL, kit.d(-1), kit.p(1), true);
-- nothing is before the oldest, everything before a later date
SELECT count(*) FROM blogstore.list_user_posts(kit.u(1), NULL, kit.d(-1), kit.p(1));
SELECT count(*) FROM blogstore.list_post_comments(kit.p(1), NULL, kit.d(-1), kit.p(1));
SELECT count(*) FROM blogstore.list_post_likes(kit.p(1), NULL, kit.d(-1), kit.p(1));
SELECT count(*) FROM blogstore.list_feed(NULL, kit.d(-1), kit.p(1));
SELECT kit.compare('SELECT * FROM blogstore.list_user_posts(kit.u(1), NULL, kit.d(999), kit.p(1))', :q3);
SELECT kit.compare('SELECT * FROM blogstore.list_post_comments(kit.p(1), NULL, kit.d(999), kit.p(1))', :q4);
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), NULL, kit.d(999), kit.p(1))', :q5);
SELECT kit.compare('SELECT * FROM blogstore.list_feed(NULL, kit.d(999), kit.p(1))', :q6);

-- A function in the select list, a LIMIT above, and a scan that is rewound
-- give the same rows
SELECT kit.compare('SELECT (blogstore.list_post_comments(kit.p(1), NULL)).*', :q4);
SELECT kit.compare('SELECT * FROM blogstore.list_post_likes(kit.p(1), NULL) LIMIT 3', :q5 || ' LIMIT 3');
SELECT n, count(id) FROM generate_series(1, 2) n LEFT JOIN LATERAL blogstore.list_feed(10 * n) ON true GROUP BY n ORDER BY n;
-- and so does a cursor, though the items go while it is open
BEGIN;
DECLARE comments CURSOR FOR SELECT content FROM blogstore.list_post_comments(kit.p(2), NULL);
FETCH 1 FROM comments;
SELECT blogstore.delete_post(kit.p(2));
FETCH ALL FROM comments;
ROLLBACK;

-- A page of a page: 25 users' posts by one statement
SELECT count(*), count(DISTINCT p.user_id) FROM generate_series(1, 25) n, LATERAL blogstore.list_user_posts(kit.u(n), 5) p;

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
