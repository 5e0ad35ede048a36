--
-- CURSORS: dates that a client has cut to milliseconds, with thousands of rows
-- in the same millisecond
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(1200, 0);


-- 2,000 posts of user 1 in one millisecond, and 400 in those around it; of two
-- rows with the same date the ids decide, which are in another order
CREATE TABLE kit.ms AS SELECT timestamptz '2024-02-29 12:00:00.123+00' AS date;
SELECT count(blogstore.create_post(kit.u(1), 'title ' || n, repeat('x', n % 300), kit.p((n * 37) % 2503),
	date + n % 499 * interval '1 microsecond')) FROM kit.ms, generate_series(1, 2000) n;
SELECT count(blogstore.create_post(kit.u(1 + n % 2), 'around ' || n, 'x', kit.p((n * 37) % 2503),
	date + (n - 2200) * interval '0.4 milliseconds')) FROM kit.ms, generate_series(2001, 2400) n;
-- before 2000, before 1970 and before Christ
SELECT count(blogstore.create_post(kit.u(3), 'old ' || n, 'x', kit.p(3000 + (n * 37) % 499),
	start + n / 3 * interval '7 microseconds'))
FROM (VALUES (0, timestamptz '1999-12-31 23:59:59.999500+00'), (100, '1969-12-31 23:59:59.999900+00'),
	(200, '1912-06-23 05:06:07.891230+00'), (300, '0044-03-15 12:00:00.000001+00 BC')) v (first, start),
	generate_series(first + 1, first + 100) n;
-- A post with 1,500 comments and 1,100 likes in one millisecond, and some
-- before and after it
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1 + n % 60), 'comment ' || n, kit.c((n * 37) % 1999),
	CASE WHEN n <= 1500 THEN date + n % 499 * interval '1 microsecond' ELSE date + (n - 1600) * interval '0.3 milliseconds' END))
FROM kit.ms, generate_series(1, 1700) n;
SELECT count(blogstore.create_like(kit.p(1), kit.u(n),
	CASE WHEN n <= 1100 THEN date + n % 499 * interval '1 microsecond' ELSE date + (n - 1150) * interval '0.3 milliseconds' END))
FROM kit.ms, generate_series(1, 1200) n;
-- neighbours that must not show
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1 + n % 60), 'other', kit.c(2000 + n), date + n * interval '1 microsecond'))
FROM kit.ms, generate_series(1, 20) n;
SELECT count(blogstore.create_like(kit.p(2), kit.u(n), date + n * interval '1 microsecond'))
FROM kit.ms, generate_series(1, 20) n;
SELECT blogstore.wait_for_views();

-- Read page by page, every item comes once and in order, at any page size:
-- with many items in a millisecond, with dates before and after 2000 and 1970,
-- and past the end of the feed
CREATE VIEW kit.walked AS
SELECT page,
	kit.walk('blogstore.list_user_posts(kit.u(1), $1, $2, $3)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied WHERE user_id = kit.u(1)) AS q3,
	kit.walk('blogstore.list_user_posts(kit.u(3), $1, $2, $3)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied WHERE user_id = kit.u(3)) AS q3_old,
	kit.walk('blogstore.list_post_comments(kit.p(1), $1, $2, $3)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'comment') AS q4,
	kit.walk('blogstore.list_post_likes(kit.p(1), $1, $2, $3)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'like') AS q5,
	kit.walk('blogstore.list_feed($1, $2, $3)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date DESC, id DESC) FROM kit.implied) AS q6
FROM unnest(ARRAY[7, 99, 100, 101, 1000]) page;
SELECT * FROM kit.walked;
-- and oldest first
CREATE VIEW kit.walked_up AS
SELECT page,
	kit.walk('blogstore.list_user_posts(kit.u(1), $1, $2, $3, true)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied WHERE user_id = kit.u(1)) AS q3,
	kit.walk('blogstore.list_user_posts(kit.u(3), $1, $2, $3, true)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied WHERE user_id = kit.u(3)) AS q3_old,
	kit.walk('blogstore.list_post_comments(kit.p(1), $1, $2, $3, true)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'comment') AS q4,
	kit.walk('blogstore.list_post_likes(kit.p(1), $1, $2, $3, true)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM blogstore.posts WHERE post_id = kit.p(1) AND type = 'like') AS q5,
	kit.walk('blogstore.list_feed($1, $2, $3, true)', page, true)
		= (SELECT array_agg(id ORDER BY creation_date, id) FROM kit.implied) AS q6
FROM unnest(ARRAY[7, 100, 1000]) page;
SELECT * FROM kit.walked_up;
-- the same from the posts container alone
SET client_min_messages = error;
SELECT blogstore.stop_worker();
RESET client_min_messages;
SELECT * FROM kit.walked WHERE page > 7;
SELECT * FROM kit.walked_up WHERE page > 7;
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();

-- Each row's place in its list; some of the rows are looked at
CREATE TABLE kit.place AS
SELECT 'blogstore.list_user_posts(kit.u(1), NULL, $1, $2)' AS list, id, creation_date, nth, nth % 97 = 1 AND id <> kit.p(1) AS chosen
FROM blogstore.list_user_posts(kit.u(1), NULL) WITH ORDINALITY AS l (id, t, p, u, n, i, o, c, k, creation_date, h, m, e, pd, nth)
UNION ALL
SELECT 'blogstore.list_post_comments(kit.p(1), NULL, $1, $2)', id, creation_date, nth, nth % 97 = 1
FROM blogstore.list_post_comments(kit.p(1), NULL) WITH ORDINALITY AS l (id, t, p, u, n, o, creation_date, a, g, h, m, e, k, r, nth)
UNION ALL
SELECT 'blogstore.list_post_likes(kit.p(1), NULL, $1, $2)', id, creation_date, nth, nth % 97 = 1
FROM blogstore.list_post_likes(kit.p(1), NULL) WITH ORDINALITY AS l (id, t, p, u, n, creation_date, o, nth)
UNION ALL
SELECT 'blogstore.list_feed(NULL, $1, $2)', id, creation_date, nth, nth % 97 = 1 AND id <> kit.p(1)
FROM blogstore.list_feed(NULL) WITH ORDINALITY AS l (id, t, p, u, n, i, o, c, k, creation_date, h, m, e, pd, nth);

-- What a cursor brings
CREATE FUNCTION kit.page(list text, date timestamptz, id uuid) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
	ids	uuid[];
BEGIN
	EXECUTE 'SELECT coalesce(array_agg(id), ''{}'') FROM ' || list USING date, id INTO ids;
	RETURN ids;
END $$;
-- and what it should give: all after a row, or all to the end of its
-- millisecond
CREATE FUNCTION kit.behind(r kit.place, whole boolean) RETURNS uuid[] LANGUAGE sql AS $$
	SELECT coalesce(array_agg(id ORDER BY nth), '{}') FROM kit.place p WHERE p.list = r.list
	AND CASE WHEN whole THEN p.creation_date < date_trunc('milliseconds', r.creation_date) + interval '1 millisecond' ELSE p.nth > r.nth END
$$;
-- the same the other way round
CREATE FUNCTION kit.page_up(list text, date timestamptz, id uuid) RETURNS uuid[] LANGUAGE sql AS $$
	SELECT kit.page(replace(list, '$2)', '$2, true)'), date, id)
$$;
CREATE FUNCTION kit.ahead(r kit.place, whole boolean) RETURNS uuid[] LANGUAGE sql AS $$
	SELECT coalesce(array_agg(id ORDER BY nth DESC), '{}') FROM kit.place p WHERE p.list = r.list
	AND CASE WHEN whole THEN p.creation_date >= date_trunc('milliseconds', r.creation_date) ELSE p.nth < r.nth END
$$;

-- A cut cursor brings what the full one does
SELECT list, count(*) AS rows,
	count(*) FILTER (WHERE kit.page(list, creation_date, id) = kit.behind(p, false)) AS full,
	count(*) FILTER (WHERE kit.page(list, date_trunc('milliseconds', creation_date), id) = kit.behind(p, false)) AS cut,
	count(*) FILTER (WHERE kit.page_up(list, creation_date, id) = kit.ahead(p, false)) AS full_up,
	count(*) FILTER (WHERE kit.page_up(list, date_trunc('milliseconds', creation_date), id) = kit.ahead(p, false)) AS cut_up
FROM kit.place p WHERE chosen GROUP BY list ORDER BY list COLLATE "C";

-- Rows that are gone: a full cursor is their place still, with a cut one the
-- page begins again with their millisecond
CREATE TABLE kit.gone AS SELECT * FROM kit.place WHERE chosen;
SELECT count(blogstore.delete_post(id)) FROM (SELECT DISTINCT id FROM kit.gone WHERE list LIKE '%posts%' OR list LIKE '%feed%') g;
SELECT count(blogstore.delete_comment(kit.p(1), id)) FROM kit.gone WHERE list LIKE '%comments%';
SELECT count(blogstore.delete_like(kit.p(1), l.user_id)) FROM kit.gone g, blogstore.posts l
WHERE g.list LIKE '%likes%' AND l.id = g.id AND l.type = 'like' AND l.post_id = kit.p(1);
DELETE FROM kit.place WHERE id IN (SELECT id FROM kit.gone);
SELECT blogstore.wait_for_views();
CREATE VIEW kit.begun_again AS
SELECT list, count(*) AS rows,
	count(*) FILTER (WHERE kit.page(list, creation_date, id) = kit.behind(ROW(g.*)::kit.place, false)) AS full,
	count(*) FILTER (WHERE kit.page(list, date_trunc('milliseconds', creation_date), id) = kit.behind(ROW(g.*)::kit.place, true)) AS cut,
	count(*) FILTER (WHERE kit.page_up(list, creation_date, id) = kit.ahead(ROW(g.*)::kit.place, false)) AS full_up,
	count(*) FILTER (WHERE kit.page_up(list, date_trunc('milliseconds', creation_date), id) = kit.ahead(ROW(g.*)::kit.place, true)) AS cut_up
FROM kit.gone g GROUP BY list;
SELECT * FROM kit.begun_again ORDER BY list COLLATE "C";

-- So it does with an id of another list's row, or of nothing; but the nil id
-- names no row: it is the place before all of a date
SELECT list, id, cardinality(kit.page(list, date, id)) AS rows, cardinality(kit.page_up(list, date, id)) AS rows_up,
	cardinality(kit.page(list, date, id)) + cardinality(kit.page_up(list, date, id)) - cardinality(kit.page(list, NULL, NULL)) AS twice
FROM kit.ms, (VALUES
	('blogstore.list_user_posts(kit.u(1), NULL, $1, $2)', kit.p(1037)),
	('blogstore.list_user_posts(kit.u(2), NULL, $1, $2)', kit.p(1037)),
	('blogstore.list_post_comments(kit.p(2), NULL, $1, $2)', kit.c(2003)),
	('blogstore.list_post_comments(kit.p(2), NULL, $1, $2)', kit.c(37)),
	('blogstore.list_post_comments(kit.p(3), NULL, $1, $2)', kit.c(37)),
	('blogstore.list_post_likes(kit.p(2), NULL, $1, $2)', kit.p(1)),
	('blogstore.list_post_comments(kit.p(2), NULL, $1, $2)', '00000000-0000-0000-0000-000000000000'),
	('blogstore.list_post_likes(kit.p(2), NULL, $1, $2)', '00000000-0000-0000-0000-000000000000'),
	('blogstore.list_user_posts(kit.u(1), NULL, $1, $2)', '00000000-0000-0000-0000-000000000000'),
	('blogstore.list_feed(NULL, $1, $2)', '00000000-0000-0000-0000-000000000000'),
	('blogstore.list_feed(NULL, $1, $2)', kit.p(9999))) l (list, id);

-- A user of whom not all is purged yet: what is served behind each of the
-- user's comments is not skipped
BEGIN;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(900), 'of 900', kit.c(5000 + n), date + n % 499 * interval '1 microsecond'))
FROM kit.ms, generate_series(1, 300) n;
CREATE TABLE kit.of900 AS SELECT id, creation_date FROM blogstore.posts WHERE type = 'comment' AND user_id = kit.u(900);
SELECT blogstore.delete_user(kit.u(900));
SELECT count(*) > 0 AS some_left FROM blogstore.posts WHERE type = 'comment' AND user_id = kit.u(900);
SELECT count(*) AS rows, count(*) FILTER (WHERE kit.page(p.list, o.creation_date, o.id) <@ kit.page(p.list, date_trunc('milliseconds', o.creation_date), o.id)) AS not_skipped,
	count(*) FILTER (WHERE kit.page_up(p.list, o.creation_date, o.id) <@ kit.page_up(p.list, date_trunc('milliseconds', o.creation_date), o.id)) AS not_skipped_up
FROM kit.of900 o, (SELECT DISTINCT list FROM kit.place WHERE list LIKE '%comments%') p WHERE o.id < kit.c(5040);
ROLLBACK;

-- The first and the last dates
SELECT list, array_agg(cardinality(kit.page(list, date, id)) ORDER BY date, id) AS rows,
	array_agg(cardinality(kit.page_up(list, date, id)) ORDER BY date, id) AS rows_up
FROM (VALUES ('blogstore.list_user_posts(kit.u(1), NULL, $1, $2)'), ('blogstore.list_post_comments(kit.p(2), NULL, $1, $2)'),
	('blogstore.list_post_likes(kit.p(2), NULL, $1, $2)'), ('blogstore.list_feed(NULL, $1, $2)')) l (list),
	(VALUES ('-infinity'), (timestamptz '4714-11-24 00:00:00+00 BC'), ('294276-12-31 23:59:59.999+00'),
	('294276-12-31 23:59:59.999999+00'), ('infinity')) d (date), (VALUES (kit.p(9999)), ('ffffffff-ffff-ffff-ffff-ffffffffffff')) i (id)
GROUP BY list ORDER BY list COLLATE "C";

-- What it costs: one descent of an index for a full cursor, two for a cut one
SELECT list, full_date, kit.descents('SELECT count(*) FROM ' || format(list, CASE WHEN full_date THEN creation_date ELSE date_trunc('milliseconds', creation_date) END, id))
FROM (VALUES
	('blogstore.list_user_posts(kit.u(1), 20, %L, %L)', (SELECT p FROM kit.place p WHERE list LIKE '%user_posts%' AND nth = 500)),
	('blogstore.list_post_comments(kit.p(1), 20, %L, %L)', (SELECT p FROM kit.place p WHERE list LIKE '%comments%' AND nth = 500)),
	('blogstore.list_post_likes(kit.p(1), 20, %L, %L)', (SELECT p FROM kit.place p WHERE list LIKE '%likes%' AND nth = 500)),
	('blogstore.list_feed(20, %L, %L)', (SELECT p FROM kit.place p WHERE list LIKE '%feed%' AND nth = 50)),
	-- and one to see whether the feed reaches back to there
	('blogstore.list_user_posts(kit.u(1), 20, %L, %L, true)', (SELECT p FROM kit.place p WHERE list LIKE '%user_posts%' AND nth = 500)),
	('blogstore.list_post_comments(kit.p(1), 20, %L, %L, true)', (SELECT p FROM kit.place p WHERE list LIKE '%comments%' AND nth = 500)),
	('blogstore.list_feed(20, %L, %L, true)', (SELECT p FROM kit.place p WHERE list LIKE '%feed%' AND nth = 50))) v (list, row),
	LATERAL (SELECT (v.row).id, (v.row).creation_date) r, (VALUES (true), (false)) f (full_date);

DROP TABLE kit.ms, kit.gone, kit.place CASCADE;
DROP VIEW kit.walked, kit.walked_up;
DROP FUNCTION kit.page, kit.page_up;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
