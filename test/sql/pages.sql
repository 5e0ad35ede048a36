--
-- PAGES: many posts, users and likes by their ids, in one call
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 300);
SELECT count(blogstore.create_comment(kit.p(1 + n % 40), kit.u(1 + n % 5), 'comment ' || n, kit.c(n), kit.d(n))) FROM generate_series(1, 60) n;
SELECT count(blogstore.create_like(kit.p(1 + n % 40), kit.u(1 + n / 40), kit.d(n))) FROM generate_series(1, 160) n;

-- In the given order; unknown ids and NULLs give no row, repeated ids give one
-- each time
SELECT title, comment_count, like_count FROM blogstore.get_posts(ARRAY[kit.p(7), NULL, kit.p(300), kit.p(999), kit.p(2), kit.p(7), kit.p(1)]);
SELECT username, creation_date FROM blogstore.get_users(user_ids => ARRAY[kit.u(3), kit.u(99), NULL, kit.u(1), kit.u(3)]);
SELECT post_id, user_username, creation_date FROM blogstore.get_likes(user_id => kit.u(2), post_ids => ARRAY[kit.p(5), kit.p(99), NULL, kit.p(999), kit.p(1), kit.p(5)]);
-- a user is no post, and a post no user
SELECT count(*) FROM blogstore.get_posts(ARRAY[kit.u(1)]);
SELECT count(*) FROM blogstore.get_users(ARRAY[kit.p(1)]);
SELECT count(*) FROM blogstore.get_likes(kit.p(1), ARRAY[kit.p(1)]);

-- For any list, each item equals the one that the function for a single id
-- returns, in both ways to call it
CREATE FUNCTION kit.by_one(ids uuid[], OUT posts blogstore.post_item[], OUT users blogstore.user_item[], OUT likes blogstore.like_item[])
LANGUAGE sql STABLE AS $$
	SELECT (SELECT array_agg(p ORDER BY n) FROM unnest(ids) WITH ORDINALITY i (id, n), LATERAL blogstore.get_post(i.id) p WHERE i.id IS NOT NULL),
		(SELECT array_agg(u ORDER BY n) FROM unnest(ids) WITH ORDINALITY i (id, n), LATERAL blogstore.get_user(i.id) u WHERE i.id IS NOT NULL),
		(SELECT array_agg(l ORDER BY n) FROM unnest(ids) WITH ORDINALITY i (id, n), LATERAL blogstore.get_like(i.id, kit.u(2)) l WHERE i.id IS NOT NULL)
$$;
CREATE FUNCTION kit.together(ids uuid[], OUT posts blogstore.post_item[], OUT users blogstore.user_item[], OUT likes blogstore.like_item[])
LANGUAGE sql STABLE AS $$
	SELECT (SELECT array_agg(p) FROM blogstore.get_posts(ids) p),
		(SELECT array_agg(u) FROM blogstore.get_users(ids) u),
		(SELECT array_agg(l) FROM blogstore.get_likes(kit.u(2), ids) l)
$$;
CREATE TABLE kit.lists (n int GENERATED ALWAYS AS IDENTITY, ids uuid[]);
INSERT INTO kit.lists (ids) VALUES
	('{}'), ('{NULL}'), (array_fill(NULL::uuid, ARRAY[700])),
	(ARRAY[kit.p(1)]), (ARRAY[kit.u(1), kit.p(1), kit.u(2)]),
	-- several dimensions are one list, as for unnest(); bounds do not matter
	(ARRAY[[kit.p(5), kit.u(3)], [kit.p(6), kit.u(1)]]), (ARRAY[[[kit.p(9)], [NULL::uuid]], [[kit.u(4)], [kit.p(8)]]]),
	(array_fill(kit.p(3), ARRAY[3], ARRAY[-7])), (array_fill(kit.u(3), ARRAY[2, 2], ARRAY[5, 0])),
	-- more than are read together, with and without NULLs and doubles
	((SELECT array_agg(kit.p(n) ORDER BY n) FROM generate_series(1, 300) n)),
	((SELECT array_agg(kit.p(n) ORDER BY md5(n::text)) FROM generate_series(-100, 500) n WHERE n >= 0)),
	((SELECT array_agg(CASE WHEN n % 7 <> 0 THEN kit.p(n % 50) END ORDER BY n) FROM generate_series(1, 1500) n)),
	((SELECT array_agg(CASE n % 3 WHEN 0 THEN kit.u(n % 9) WHEN 1 THEN kit.p(n) END ORDER BY md5(n::text)) FROM generate_series(1, 1000) n)),
	((SELECT array_agg(kit.p(4)) FROM generate_series(1, 513) n)),
	((SELECT array_agg(CASE WHEN n > 512 THEN kit.p(n - 512) END ORDER BY n) FROM generate_series(1, 520) n));
CREATE VIEW kit.pages AS
SELECT n, cardinality(ids) AS ids, coalesce(cardinality((t).posts), 0) AS posts, coalesce(cardinality((t).users), 0) AS users,
	coalesce(cardinality((t).likes), 0) AS likes, o IS NOT DISTINCT FROM t AS same
FROM kit.lists, LATERAL kit.by_one(ids) o, LATERAL kit.together(ids) t ORDER BY n;
SELECT * FROM kit.pages;
SET blogstore.enable_custom_scan = off;
SELECT * FROM kit.pages WHERE NOT same;
RESET blogstore.enable_custom_scan;
-- some columns
SELECT title, user_username FROM blogstore.get_posts(ARRAY[kit.p(3), kit.p(2)]);
SELECT like_count FROM blogstore.get_posts(ARRAY[kit.p(3), kit.p(2)]);
SELECT count(*) FROM blogstore.get_posts(ARRAY[kit.p(3), kit.p(2), kit.p(1000)]);
-- not in FROM
SELECT (blogstore.get_posts(ARRAY[kit.p(3), kit.p(2)])).title;
SELECT title, ordinality FROM blogstore.get_posts(ARRAY[kit.p(3), kit.p(2)]) WITH ORDINALITY;
SELECT array_length(array_agg(p), 1) FROM blogstore.get_posts((SELECT array_agg(kit.p(n % 300 + 1)) FROM generate_series(1, 20000) n)) p;

-- Items are as get_post() returns them: with what this transaction has
-- written, and without those of a user who is being deleted
BEGIN;
SELECT user_username FROM blogstore.create_like(kit.p(100), kit.u(2), kit.d(1));
SELECT title FROM blogstore.edit_post(kit.p(101), 'edited');
SELECT blogstore.delete_post(kit.p(102));
SELECT title, like_count FROM blogstore.get_posts(ARRAY[kit.p(102), kit.p(101), kit.p(100)]);
SELECT post_id FROM blogstore.get_likes(kit.u(2), ARRAY[kit.p(102), kit.p(101), kit.p(100)]);
SELECT blogstore.delete_user(kit.u(3));
SELECT * FROM kit.pages WHERE NOT same;
SELECT count(*), count(*) FILTER (WHERE user_id = kit.u(3)), sum(like_count) FROM blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(1, 300) n));
SELECT count(*) FROM blogstore.get_likes(kit.u(3), (SELECT array_agg(kit.p(n)) FROM generate_series(1, 300) n));
SELECT count(*) FROM blogstore.get_users(ARRAY[kit.u(3)]);
ROLLBACK;
SELECT count(*) FROM blogstore.get_likes(kit.u(3), (SELECT array_agg(kit.p(n)) FROM generate_series(1, 300) n));
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(blogstore.create_like(kit.p(200 + n), kit.u(2), kit.d(n))) FROM generate_series(1, 5) n;
SELECT * FROM kit.pages WHERE NOT same;
SELECT like_count FROM blogstore.get_posts(ARRAY[kit.p(201), kit.p(1)]);
ROLLBACK;

-- A leaf is read once for a list; a long list is split, and a leaf is read
-- once for each part
CREATE FUNCTION kit.visits(statement text, OUT node text, OUT leaves text, OUT leaf text, OUT rows int, OUT expected int) LANGUAGE plpgsql AS $$
DECLARE
	plan	json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) %s', statement) INTO plan;
	plan := plan -> 0 -> 'Plan';
	IF plan ->> 'Node Type' <> 'Custom Scan' THEN
		plan := plan -> 'Plans' -> 0;
	END IF;
	node := plan ->> 'Custom Plan Provider';
	leaves := plan ->> 'Leaves';
	leaf := plan ->> 'Leaf';
	rows := (plan ->> 'Actual Rows')::numeric::int;
	expected := (plan ->> 'Plan Rows')::numeric::int;
END $$;
SELECT v.* FROM (VALUES ('ARRAY[kit.p(1)]'), ('ARRAY[kit.p(1), kit.p(1), NULL]'), ('''{}''')) AS l (ids), LATERAL kit.visits('SELECT * FROM blogstore.get_posts(' || ids || ')') v;
-- a SELECT in an argument comes first in the plan, so lists are constants here
SELECT v.leaves, v.rows FROM (SELECT format('%L::uuid[]', array_agg(kit.p(n))) AS ids FROM generate_series(1, 250) n) l, LATERAL kit.visits('SELECT * FROM blogstore.get_posts(' || ids || ')') v;
SELECT v.leaves, v.rows FROM (SELECT format('%L::uuid[]', array_agg(kit.p(1 + n % 250))) AS ids FROM generate_series(1, 768) n) l, LATERAL kit.visits('SELECT * FROM blogstore.get_posts(' || ids || ')') v;
SELECT v.leaves, v.rows FROM (SELECT format('%L::uuid[]', array_agg(kit.p(n))) AS ids FROM generate_series(1, 250) n) l, LATERAL kit.visits('SELECT * FROM blogstore.get_likes(kit.u(1), ' || ids || ')') v;
-- a LIMIT ends the reading
SELECT v.leaves, v.rows FROM (SELECT format('%L::uuid[]', array_agg(kit.p(1 + n % 250))) AS ids FROM generate_series(1, 7680) n) l, LATERAL kit.visits('SELECT * FROM blogstore.get_posts(' || ids || ') LIMIT 3') v;
-- where the list is known, its length is the expected number of rows
SELECT v.rows, v.expected FROM (VALUES ('{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000002,NULL}'), ('{}')) AS l (ids),
	LATERAL kit.visits(format('SELECT * FROM blogstore.get_users(%L)', ids)) v;

-- Lists that differ in each loop of a join; arrays from a variable and from a
-- parameter of a prepared statement
SELECT n, array_agg(p.title) FROM generate_series(1, 4) n, LATERAL blogstore.get_posts(ARRAY[kit.p(n), kit.p(1000), kit.p(n * n)]) p GROUP BY n ORDER BY n;
SELECT n, (SELECT count(*) FROM blogstore.get_likes(kit.u(n), ARRAY[kit.p(1), kit.p(2), kit.p(3), kit.p(4)])) FROM generate_series(1, 6) n;
DO $$
DECLARE
	ids		uuid[] := '{}';
	titles	text[];
BEGIN
	FOR i IN 1 .. 4 LOOP
		ids := ids || kit.p(i * 10);
		SELECT array_agg(title) INTO titles FROM blogstore.get_posts(ids);
		RAISE WARNING '%', titles;
	END LOOP;
END $$;
PREPARE posts(uuid[]) AS SELECT title FROM blogstore.get_posts($1);
SET plan_cache_mode = force_generic_plan;
EXECUTE posts(ARRAY[kit.p(3), kit.p(1)]);
EXECUTE posts('{}');
EXECUTE posts(ARRAY[kit.p(2)]);
EXECUTE posts(NULL);
RESET plan_cache_mode;
DEALLOCATE posts;

-- Cursors: forward and back, past the end of a part, over savepoints, and held
BEGIN;
DECLARE page SCROLL CURSOR FOR SELECT title FROM blogstore.get_posts(ARRAY[kit.p(5), kit.p(4), kit.p(3), kit.p(2)]);
FETCH 2 FROM page;
FETCH PRIOR FROM page;
FETCH LAST FROM page;
FETCH FIRST FROM page;
DECLARE long CURSOR FOR SELECT title FROM blogstore.get_posts((SELECT array_agg(kit.p(n) ORDER BY n) FROM generate_series(1, 300) n));
MOVE 255 FROM long;
SAVEPOINT a;
FETCH 2 FROM long;
ROLLBACK TO a;
FETCH 2 FROM long;
MOVE ALL FROM long;
DECLARE held CURSOR WITH HOLD FOR SELECT title FROM blogstore.get_posts((SELECT array_agg(kit.p(n) ORDER BY n) FROM generate_series(1, 300) n));
MOVE 200 FROM held;
COMMIT;
MOVE 99 FROM held;
FETCH 2 FROM held;
CLOSE held;

-- Values that are stored out of line: the leaf stays locked to the end of the
-- transaction, as with a table that a statement names, so that the values can
-- still be read. Without such values it does not.
SELECT count(blogstore.create_post(kit.u(1), 'long', (SELECT string_agg(md5((n * 1000 + m)::text), '') FROM generate_series(1, 300) m), kit.p(n), kit.d(n))) FROM generate_series(401, 410) n;
SELECT count(*), count(DISTINCT content), min(length(content)) FROM blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(399, 412) n));
CREATE VIEW kit.kept AS
SELECT c.relname ~ '_post$' AS leaf, count(*) > 0 AS locked FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND c.relname ~ '^posts_p.._' GROUP BY 1;
BEGIN;
SELECT count(*) FROM blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(1, 30) n));
SELECT * FROM kit.kept;
SELECT count(*) FROM blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(401, 410) n));
SELECT * FROM kit.kept;
COMMIT;
SELECT * FROM kit.kept;

-- A detached partition is an error for a list with a post in it, as it is for
-- that single post, and for no other list
BEGIN;
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p03;
SELECT kit.try('blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(1, 300) n))');
SELECT count(*) = (SELECT count(*) FROM blogstore.posts WHERE type = 'post') AS others
FROM blogstore.get_posts((SELECT array_agg(post_id) FROM blogstore.posts WHERE type = 'post'));
SELECT bool_and(kit.try(format('blogstore.get_posts(ARRAY[%L::uuid])', post_id)) = kit.try(format('blogstore.get_post(%L)', post_id))) AS alike,
	count(*) > 0 AS some
FROM blogstore.posts_p03_post;
SELECT DISTINCT kit.try(format('blogstore.get_likes(kit.u(1), ARRAY[%L::uuid])', post_id)) FROM blogstore.posts_p03_post;
ROLLBACK;
-- A leaf without its index is an error, too, and so is a partition without its
-- leaf for deltas
BEGIN;
ALTER TABLE blogstore.posts_p03_post DROP CONSTRAINT posts_p03_post_pkey;
SELECT kit.try('blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(1, 300) n))');
ROLLBACK;
BEGIN;
ALTER TABLE blogstore.posts_p03 DETACH PARTITION blogstore.posts_p03_delta;
SELECT kit.try('blogstore.get_posts((SELECT array_agg(kit.p(n)) FROM generate_series(1, 300) n))'),
	kit.try(format('blogstore.get_post(%L)', (SELECT min(post_id::text) FROM blogstore.posts_p03_post)));
ROLLBACK;

-- EXECUTE is all that it takes, and it is asked for each time that a plan runs
CREATE ROLE regress_blogstore_pages;
GRANT USAGE ON SCHEMA kit TO regress_blogstore_pages;
GRANT EXECUTE ON FUNCTION blogstore.get_posts, blogstore.get_likes TO regress_blogstore_pages;
PREPARE mine(uuid[]) AS SELECT p.title, l.user_username FROM blogstore.get_posts($1) p LEFT JOIN blogstore.get_likes(kit.u(2), $1) l USING (post_id);
SET plan_cache_mode = force_generic_plan;
SET ROLE regress_blogstore_pages;
SET search_path = kit, pg_temp;
EXECUTE mine(ARRAY[kit.p(3), kit.p(2)]);
SELECT kit.try('blogstore.get_users(ARRAY[kit.u(1)])');
RESET search_path;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION blogstore.get_likes FROM regress_blogstore_pages;
SET ROLE regress_blogstore_pages;
EXECUTE mine(ARRAY[kit.p(3), kit.p(2)]);
RESET ROLE;
RESET plan_cache_mode;
DEALLOCATE mine;
REVOKE ALL ON FUNCTION blogstore.get_posts FROM regress_blogstore_pages;
REVOKE ALL ON SCHEMA kit FROM regress_blogstore_pages;
DROP ROLE regress_blogstore_pages;
-- A million ids
SELECT count(*), count(DISTINCT post_id) FROM blogstore.get_likes(kit.u(1), (SELECT array_agg(kit.p(n)) FROM generate_series(1, 1000000) n));

-- A front page with authors, counts, and which posts the reader has liked, in
-- two calls
SELECT count(blogstore.create_like(kit.p(n), kit.u(2))) FROM generate_series(406, 407) n;
SELECT blogstore.wait_for_views();
WITH page AS (SELECT * FROM blogstore.list_feed(5))
SELECT page.post_id, page.user_username, page.comment_count, page.like_count, mine.id IS NOT NULL AS liked
FROM page LEFT JOIN blogstore.get_likes(kit.u(2), ARRAY(SELECT post_id FROM page)) AS mine USING (post_id)
ORDER BY page.creation_date DESC, page.id DESC;

DROP VIEW kit.pages, kit.kept;
DROP FUNCTION kit.by_one, kit.together, kit.visits;
DROP TABLE kit.lists;
