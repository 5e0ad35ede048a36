--
-- CUSTOM SCAN: queries in FROM as scans of the containers, which answer as the
-- functions do
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(5, 130);
SELECT count(blogstore.create_comment(kit.p(1 + n % 3), kit.u(1 + n % 5), 'comment ' || n, kit.c(n), kit.d(n))) FROM generate_series(1, 60) n;
SELECT count(blogstore.create_like(kit.p(1 + n % 3), kit.u(n / 3), kit.d(n))) FROM generate_series(3, 17) n;
SELECT blogstore.wait_for_views();

-- The lines of EXPLAIN (ANALYZE) about the scans in a statement, without what
-- differs between versions
CREATE FUNCTION kit.scans(statement text, options text DEFAULT 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan	json;
BEGIN
	EXECUTE format('EXPLAIN (%s, FORMAT JSON) %s', options, statement) INTO plan;
	RETURN QUERY
	WITH RECURSIVE node (n, path) AS (
		SELECT plan -> 0 -> 'Plan', ARRAY[0]
		UNION ALL
		SELECT p.value, path || p.ordinality::int
		FROM node, json_array_elements(n -> 'Plans') WITH ORDINALITY p
		WHERE n -> 'Plans' IS NOT NULL)
	SELECT concat_ws(' ', coalesce(n ->> 'Custom Plan Provider', n ->> 'Node Type'),
			'of ' || (n ->> 'Container'), 'view ' || (n ->> 'View'), 'leaf ' || (n ->> 'Leaf'), 'index ' || (n ->> 'Index'),
			'leaves ' || (n ->> 'Leaves'), 'partitions ' || (n ->> 'Partitions'),
			'rows ' || (n ->> 'Actual Rows')::numeric::int, 'loops ' || (n ->> 'Actual Loops'))
	FROM node
	WHERE n ->> 'Node Type' IN ('Custom Scan', 'Function Scan')
	ORDER BY path;
END $$;

-- Each query is one, and tells what it reads
EXPLAIN (COSTS OFF) SELECT * FROM blogstore.get_post(kit.p(1));
EXPLAIN (COSTS OFF) SELECT * FROM blogstore.list_feed(10) f WHERE f.like_count > 1 ORDER BY title LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT f.title, f.id FROM blogstore.list_user_posts(kit.u(1), before_id => kit.p(9), before_date => kit.d(9)) f WHERE f.like_count > 1;
SELECT kit.scans('SELECT * FROM blogstore.' || call) FROM (VALUES
	('get_user(kit.u(1))'),
	('get_user_by_name(''USER 1'')'),
	('get_post(kit.p(1))'),
	('get_post(kit.p(999))'),
	('list_user_posts(kit.u(1))'),
	('list_post_comments(kit.p(1), 7)'),
	('list_comment_replies(kit.p(1), kit.c(1))'),
	('list_user_comments(kit.u(1))'),
	('list_user_likes(kit.u(1))'),
	('list_post_likes(kit.p(1))'),
	('get_like(kit.p(1), kit.u(1))'),
	('get_posts(ARRAY[kit.p(1), kit.p(2), kit.p(3), kit.p(4), kit.p(5)])'),
	('get_posts(ARRAY[kit.p(1)])'),
	('get_comment(kit.p(1), kit.c(1))'),
	('get_users(ARRAY[kit.u(1), kit.u(2), kit.u(3), kit.u(4)])'),
	('get_likes(kit.u(1), ARRAY[kit.p(1), kit.p(2), kit.p(3)])'),
	('list_feed(30)'),
	('list_feed(120)'),
	('list_user_posts(kit.u(1), oldest_first => true)'),
	('list_post_comments(kit.p(1), 7, kit.d(10), kit.c(10), true)'),
	('list_post_likes(kit.p(1), oldest_first => true)')) AS v (call);
-- oldest first the feed's view is read from where it begins on
SELECT kit.scans('SELECT * FROM blogstore.list_feed(' || arguments || ')') FROM (VALUES
	('30, oldest_first => true'),
	('30, kit.d(30), kit.p(30), true'),
	('30, kit.d(31), kit.p(31), true'),
	('30, kit.d(31) - interval ''1 microsecond'', kit.p(31), true'),
	('30, kit.d(120), kit.p(120), true'),
	('30, kit.d(130), kit.p(130), true')) AS v (arguments);
SELECT kit.scans('SELECT count(*) FROM generate_series(30, 32) n, LATERAL blogstore.list_feed(5, kit.d(n), kit.p(n), true)');
SELECT kit.scans('SELECT count(*) FROM generate_series(29, 30) n, LATERAL blogstore.list_feed(5, kit.d(n), kit.p(n), true)');
-- in loops of different leaves, none is named
SELECT kit.scans('SELECT count(*) FROM blogstore.list_feed(2) f, LATERAL blogstore.list_post_comments(f.id)');
-- never begun
SELECT kit.scans('SELECT * FROM blogstore.list_feed() LIMIT 0');
-- a LIMIT stops it
SELECT kit.scans('SELECT * FROM blogstore.list_feed(NULL) LIMIT 3');
SELECT kit.scans('SELECT EXISTS (SELECT FROM blogstore.list_post_comments(kit.p(1)))');

-- Rows are expected by the page, where it is known
CREATE FUNCTION kit.expected(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan	json;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON) %s', statement) INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
SELECT call, kit.expected('SELECT * FROM blogstore.' || call) AS rows FROM (VALUES
	('get_post(kit.p(1))'), ('list_feed()'), ('list_feed(7)'), ('list_feed(NULL)'), ('list_feed(2000000000)'), ('list_feed(0)'),
	('get_posts(ARRAY[kit.p(1), NULL, kit.p(2)])'), ('get_posts(''{}'')'), ('get_likes(kit.u(1), ARRAY(SELECT kit.p(1)))'), ('list_feed((random() * 10)::int)'), ('list_post_likes(kit.p(1), 50)')) AS v (call);

-- and buffers are told with it
CREATE FUNCTION kit.buffers(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan	json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) %s', statement) INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::int + (plan #>> '{0,Plan,Shared Read Blocks}')::int BETWEEN 2 AND 20;
END $$;
SELECT kit.buffers('SELECT * FROM blogstore.get_post(kit.p(1))');

-- Everything else stays with the server's function scan
SELECT kit.scans(statement, 'COSTS OFF') FROM (VALUES
	('SELECT * FROM blogstore.get_post(kit.p(1)) WITH ORDINALITY'),
	('SELECT * FROM ROWS FROM (blogstore.get_post(kit.p(1)), blogstore.get_post(kit.p(2)))'),
	('SELECT blogstore.get_post(kit.p(1))'),
	('SELECT (blogstore.get_post(kit.p(1))).*'),
	('SELECT * FROM blogstore.get_progress()'),
	('SELECT * FROM generate_series(1, 2)')) AS v (statement);
SELECT kit.scans('SELECT * FROM ROWS FROM (blogstore.get_post(kit.p(1)))', 'COSTS OFF');
SET blogstore.enable_custom_scan = off;
SELECT kit.scans('SELECT * FROM blogstore.get_post(kit.p(1))', 'COSTS OFF');
RESET blogstore.enable_custom_scan;
-- and so does a function that its owner has altered
CREATE PROCEDURE kit.altered(alteration text) LANGUAGE plpgsql AS $$
DECLARE
	scan	text;
	answer	text;
BEGIN
	BEGIN
		EXECUTE alteration;
		scan := kit.scans('SELECT * FROM blogstore.get_post(kit.p(1))', 'COSTS OFF');
		answer := kit.try('blogstore.get_post(kit.p(1))');
		RAISE EXCEPTION USING ERRCODE = 'ZZ001';
	EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
		RAISE WARNING '%: %, %', alteration, scan, answer;
	END;
END $$;
DO $$
DECLARE
	alteration	text;
BEGIN
	FOREACH alteration IN ARRAY ARRAY[
		'ALTER FUNCTION blogstore.get_post COST 7',
		'ALTER FUNCTION blogstore.get_post VOLATILE PARALLEL UNSAFE',
		'ALTER FUNCTION blogstore.get_post SET work_mem = ''1MB''',
		'ALTER FUNCTION blogstore.get_post SECURITY DEFINER',
		'ALTER FUNCTION blogstore.get_post STRICT',
		'CREATE OR REPLACE FUNCTION blogstore.get_post(post_id uuid) RETURNS SETOF blogstore.post_item AS ''$libdir/blogstore'', ''blogstore_request_get_user'' LANGUAGE C STABLE',
		'CREATE OR REPLACE FUNCTION blogstore.get_post(post_id uuid) RETURNS SETOF blogstore.post_item LANGUAGE sql STABLE AS ''SELECT NULL::uuid, NULL, NULL::uuid, NULL::uuid, NULL, ''''sql'''', NULL, 1::bigint, 1::bigint, now(), false, NULL::timestamptz, NULL::jsonb, NULL::timestamptz''',
		'CREATE OR REPLACE FUNCTION blogstore.get_post(post_id uuid) RETURNS SETOF blogstore.post_item LANGUAGE plpgsql STABLE AS ''BEGIN RETURN QUERY SELECT * FROM blogstore.list_feed(1); END'''] LOOP
		CALL kit.altered(alteration);
	END LOOP;
END $$;

-- Both ways give the same rows in the same order, and the same errors
CREATE FUNCTION kit.answers(statement text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	answers	text[];
	hint	text;
BEGIN
	EXECUTE format('SELECT coalesce(array_agg(q::text), ARRAY[]::text[]) FROM (%s) q', statement) INTO answers;
	RETURN answers;
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN ARRAY[SQLSTATE, SQLERRM, hint];
END $$;
CREATE FUNCTION kit.both(statement text, OUT same boolean, OUT rows int) LANGUAGE plpgsql AS $$
DECLARE
	scans	text[];
	calls	text[];
BEGIN
	PERFORM set_config('blogstore.enable_custom_scan', 'on', true);
	scans := kit.answers(statement);
	PERFORM set_config('blogstore.enable_custom_scan', 'off', true);
	calls := kit.answers(statement);
	PERFORM set_config('blogstore.enable_custom_scan', 'on', true);
	same := scans = calls;
	rows := cardinality(calls);
END $$;
CREATE TABLE kit.statements (n int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO kit.statements (statement) VALUES
	('SELECT * FROM blogstore.get_user(kit.u(1))'),
	('SELECT * FROM blogstore.get_user(kit.u(99))'),
	('SELECT * FROM blogstore.get_user_by_name(''uSer 3'')'),
	('SELECT * FROM blogstore.get_user_by_name(repeat(''x'', 10000))'),
	('SELECT * FROM blogstore.get_post(kit.p(2))'),
	('SELECT * FROM blogstore.get_like(kit.p(1), kit.u(1))'),
	('SELECT * FROM blogstore.list_user_posts(kit.u(1))'),
	('SELECT * FROM blogstore.list_user_posts(kit.u(1), 5, kit.d(100), kit.p(100))'),
	('SELECT * FROM blogstore.list_user_posts(kit.u(1), NULL)'),
	('SELECT * FROM blogstore.list_post_comments(kit.p(1), 10, kit.d(30), kit.c(30))'),
	('SELECT * FROM blogstore.list_post_likes(kit.p(1))'),
	('SELECT * FROM blogstore.list_feed()'),
	('SELECT * FROM blogstore.list_feed(NULL)'),
	('SELECT * FROM blogstore.list_feed(20, kit.d(40), kit.p(40))'),
	('SELECT * FROM blogstore.list_feed(110) WHERE like_count > 0 OR title LIKE ''%7'''),
	-- errors
	('SELECT * FROM blogstore.get_post(NULL)'),
	('SELECT * FROM blogstore.get_user_by_name(NULL)'),
	('SELECT * FROM blogstore.list_feed(0)'),
	('SELECT * FROM blogstore.list_feed(10, now())'),
	('SELECT * FROM blogstore.list_post_likes(NULL, 10)'),
	('SELECT * FROM generate_series(1, 2) n, LATERAL blogstore.get_post((n / 0)::text::uuid)'),
	-- some columns, in another order, none, and a row as a whole
	('SELECT like_count, title FROM blogstore.list_feed(9) WHERE comment_count > 0'),
	('SELECT upper(title) || id FROM blogstore.list_feed(9) WHERE content <> '''' '),
	('SELECT count(*) FROM blogstore.list_feed(9)'),
	('SELECT 1 FROM blogstore.list_feed(3)'),
	('SELECT f FROM blogstore.list_feed(9) f'),
	('SELECT f, title, f.* FROM blogstore.list_feed(9) f WHERE (f).like_count = 0 AND NOT f IS NULL'),
	('SELECT to_jsonb(f), f::jsonb FROM blogstore.list_post_comments(kit.p(1)) f'),
	('SELECT f, pg_typeof(f) FROM blogstore.get_user(kit.u(1)) f'),
	('SELECT a, b, c FROM blogstore.get_user(kit.u(1)) AS f (a, b, c)'),
	-- beside others, below others, within others
	('SELECT f.id, c.* FROM blogstore.list_feed(NULL) f, LATERAL blogstore.list_post_comments(f.id, 3) c'),
	('SELECT f.id, u.* FROM blogstore.list_feed(4) f LEFT JOIN LATERAL blogstore.get_like(f.id, kit.u(1)) u ON true'),
	('SELECT a.id, b.id FROM blogstore.list_feed(4) a, blogstore.list_feed(3) b ORDER BY 1, 2'),
	('SELECT a.title FROM blogstore.list_feed(20) a JOIN blogstore.list_user_posts(kit.u(2)) b USING (id) ORDER BY 1'),
	('SELECT a.title, b FROM blogstore.list_feed(20) a FULL JOIN blogstore.list_user_posts(kit.u(2)) b USING (id) ORDER BY 1, b.id'),
	('SELECT n, p.title FROM generate_series(1, 6) n LEFT JOIN LATERAL blogstore.get_post(kit.p(n * 30)) p ON p.like_count = 0'),
	('SELECT n, (SELECT c.content FROM blogstore.list_post_comments(kit.p(n)) c WHERE c.user_id <> kit.u(n) LIMIT 1) FROM generate_series(1, 6) n'),
	('SELECT n, (SELECT array_agg(c) FROM blogstore.list_post_comments(kit.p(n), 2) c WHERE c.user_id <> kit.u(n)) FROM generate_series(1, 3) n'),
	('SELECT n FROM generate_series(1, 6) n WHERE EXISTS (SELECT FROM blogstore.get_like(kit.p(n), kit.u(1)))'),
	('SELECT n FROM generate_series(1, 130) n WHERE kit.p(n) IN (SELECT id FROM blogstore.list_feed(7)) ORDER BY n'),
	('SELECT title FROM blogstore.get_post((SELECT id FROM blogstore.list_feed(1)))'),
	('SELECT n, p.title FROM generate_series(1, 3) n, LATERAL blogstore.get_post((SELECT c.post_id FROM blogstore.list_post_comments(kit.p(n)) c WHERE c.user_id <> kit.u(n) LIMIT 1)) p'),
	('SELECT title FROM blogstore.list_feed((SELECT count(*)::int FROM blogstore.list_post_likes(kit.p(2))))'),
	('SELECT id FROM blogstore.list_feed(3) UNION ALL SELECT id FROM blogstore.list_user_posts(kit.u(1), 2)'),
	('SELECT id FROM (SELECT id, title FROM blogstore.list_feed(3) UNION ALL SELECT post_id, content FROM blogstore.list_post_comments(kit.p(1), 2)) x WHERE title <> ''title 130'''),
	('SELECT id FROM blogstore.list_feed(9) EXCEPT SELECT id FROM blogstore.list_user_posts(kit.u(1), 2) ORDER BY 1'),
	('WITH f AS MATERIALIZED (SELECT * FROM blogstore.list_feed(9)) SELECT a.id FROM f a, f b WHERE a.like_count = b.like_count ORDER BY 1'),
	('WITH RECURSIVE page AS (SELECT 1 AS n, f.* FROM blogstore.list_feed(1) f UNION ALL SELECT n + 1, f.* FROM page p, LATERAL blogstore.list_feed(1, p.creation_date, p.id) f WHERE n < 110) SELECT n, id FROM page'),
	('SELECT DISTINCT user_username FROM blogstore.list_feed() ORDER BY 1'),
	('SELECT user_id, max(title), count(*) FILTER (WHERE like_count > 0) FROM blogstore.list_feed(NULL) GROUP BY user_id ORDER BY 1'),
	('SELECT id, row_number() OVER (ORDER BY title) FROM blogstore.list_feed(9)'),
	('SELECT id FROM blogstore.list_feed(NULL) OFFSET 99 LIMIT 5'),
	('SELECT id FROM blogstore.list_feed(NULL) ORDER BY like_count DESC, id FETCH FIRST 2 ROWS WITH TIES'),
	('SELECT f.title FROM blogstore.list_feed(9) f WHERE random() >= 0 AND now() > ''2000-01-01'''),
	('SELECT f.title FROM blogstore.list_feed(9) f WHERE now() < ''2000-01-01'''),
	('SELECT l.* FROM (VALUES (kit.p(1)), (kit.p(2))) AS t (a), LATERAL (SELECT * FROM blogstore.get_post(t.a) OFFSET 0) p, LATERAL blogstore.list_post_likes(p.id, 1) l'),
	('SELECT x.title FROM (VALUES (1), (2)) AS t (a) LEFT JOIN LATERAL (SELECT coalesce(p.title, ''none'') || t.a AS title FROM blogstore.get_post(kit.p(t.a * 100)) p) x ON true'),
	-- oldest first
	('SELECT * FROM blogstore.list_user_posts(kit.u(1), 5, kit.d(20), kit.p(20), true)'),
	('SELECT * FROM blogstore.list_post_comments(kit.p(1), 10, oldest_first => true)'),
	('SELECT * FROM blogstore.list_post_likes(kit.p(1), NULL, oldest_first => true)'),
	('SELECT * FROM blogstore.list_feed(20, kit.d(40), kit.p(40), true)'),
	('SELECT * FROM blogstore.list_feed(20, kit.d(20), kit.p(20), true) WHERE like_count = 0'),
	('SELECT * FROM blogstore.list_feed(NULL, oldest_first => true)'),
	('SELECT n, l.* FROM generate_series(1, 2) n, LATERAL blogstore.list_feed(3, oldest_first => n = 1) l'),
	('SELECT * FROM blogstore.list_feed(oldest_first => NULL)'),
	-- by lists of ids
	('SELECT * FROM blogstore.get_posts(ARRAY[kit.p(7), kit.p(130), NULL, kit.p(1), kit.p(999), kit.p(7)])'),
	('SELECT p, title, p.* FROM blogstore.get_posts(ARRAY[kit.p(7), kit.p(2)]) p WHERE (p).like_count >= 0'),
	('SELECT * FROM blogstore.get_users(ARRAY[kit.u(5), kit.u(1), kit.u(99), kit.u(5)])'),
	('SELECT * FROM blogstore.get_likes(kit.u(1), ARRAY[kit.p(3), kit.p(2), kit.p(1)])'),
	('SELECT * FROM blogstore.get_posts(NULL)'),
	('SELECT * FROM blogstore.get_likes(NULL, ''{}'')'),
	('SELECT n, p.title, p.like_count FROM generate_series(1, 5) n LEFT JOIN LATERAL blogstore.get_posts(ARRAY[kit.p(n), kit.p(n * 40)]) p ON p.like_count > 0'),
	('SELECT n, (SELECT count(*) FROM blogstore.get_likes(kit.u(n), ARRAY(SELECT kit.p(m) FROM generate_series(1, n) m))) FROM generate_series(1, 5) n'),
	('SELECT f.title, l.user_id FROM blogstore.list_feed(NULL) f LEFT JOIN blogstore.get_likes(kit.u(2), ARRAY(SELECT id FROM blogstore.list_feed(NULL))) l ON l.post_id = f.id ORDER BY 1'),
	('SELECT p.id FROM blogstore.get_posts(ARRAY(SELECT kit.p(1 + n % 130) FROM generate_series(1, 600) n)) p OFFSET 250 LIMIT 20'),
	('SELECT a.id, b.id FROM blogstore.get_posts(ARRAY[kit.p(1), kit.p(2)]) a, blogstore.get_users(ARRAY[kit.u(1), kit.u(2)]) b ORDER BY 1, 2');
-- where one of the two ways gives something else
CREATE VIEW kit.differ AS SELECT s.statement FROM kit.statements s WHERE NOT (kit.both(s.statement)).same;
SELECT n, (kit.both(statement)).* FROM kit.statements ORDER BY n;
SELECT n, (kit.answers(statement))[1:2] FROM kit.statements WHERE n BETWEEN 16 AND 21 ORDER BY n;
-- by each kind of join, and in parallel workers
SET enable_hashjoin = off;
SELECT * FROM kit.differ;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT * FROM kit.differ;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT s.statement FROM kit.statements s WHERE kit.answers(s.statement) <> (SELECT kit.answers(s.statement) FROM set_config('blogstore.enable_custom_scan', 'off', true));
SELECT kit.scans('SELECT * FROM blogstore.list_feed(5)', 'COSTS OFF, ANALYZE, TIMING OFF, BUFFERS OFF');
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- of a user who is being deleted, nothing
BEGIN;
SELECT blogstore.delete_user(kit.u(2));
SELECT * FROM kit.differ;
SELECT count(*) FROM blogstore.list_feed(NULL);
SELECT count(*) FROM blogstore.list_post_comments(kit.p(2), NULL);
ROLLBACK;
-- without the views posts are read
SET client_min_messages = error;
SELECT blogstore.stop_worker();
SET client_min_messages = warning;
SELECT kit.scans('SELECT * FROM blogstore.' || call) FROM (VALUES ('list_user_posts(kit.u(1), 5)'), ('list_feed(5)'),
	('list_user_posts(kit.u(1), 5, oldest_first => true)'), ('list_feed(5, kit.d(100), kit.p(100), true)')) AS v (call);
SELECT * FROM kit.differ;
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();

-- In functions and views
CREATE VIEW kit.newest AS SELECT id, title, like_count FROM blogstore.list_feed(3);
CREATE VIEW kit.liked WITH (security_barrier) AS SELECT * FROM blogstore.list_feed(NULL) WHERE like_count > 0;
CREATE FUNCTION kit.inlined(n int) RETURNS SETOF blogstore.comment_item LANGUAGE sql STABLE AS $$ SELECT * FROM blogstore.list_post_comments(kit.p(n), 2) $$;
CREATE FUNCTION kit.not_inlined(n int) RETURNS SETOF blogstore.comment_item LANGUAGE sql VOLATILE AS $$ SELECT * FROM blogstore.list_post_comments(kit.p(n), 2) $$;
CREATE FUNCTION kit.looped(n int) RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
DECLARE
	item	record;
BEGIN
	FOR item IN SELECT * FROM blogstore.list_post_comments(kit.p(n), 30) c LOOP
		RETURN NEXT item.content;
		EXIT WHEN item.content = 'comment 51';
	END LOOP;
	RETURN QUERY SELECT c.content FROM blogstore.list_post_comments(kit.p(n), 1) c;
END $$;
SELECT * FROM kit.newest;
SELECT kit.scans('SELECT * FROM kit.newest');
SELECT id FROM kit.liked WHERE title <> '';
SELECT content FROM kit.inlined(1);
SELECT kit.scans('SELECT * FROM kit.inlined(1)');
SELECT (kit.not_inlined(2)).content LIMIT 1;
SELECT kit.looped(1);

-- What is written while a scan is open is not in it
SELECT count(blogstore.create_comment(kit.p(4), kit.u(1), c.content)) FROM blogstore.list_post_comments(kit.p(1), NULL) c;
SELECT count(blogstore.create_comment(kit.p(4), kit.u(1), c.content)) FROM blogstore.list_post_comments(kit.p(4), NULL) c;
SELECT comment_count FROM blogstore.get_post(kit.p(4));
SELECT count(blogstore.delete_comment(c.post_id, c.id)) FROM blogstore.list_post_comments(kit.p(4), NULL) c;
SELECT comment_count, (SELECT count(*) FROM blogstore.list_post_comments(kit.p(4))) FROM blogstore.get_post(kit.p(4));

-- Arguments that differ each time are evaluated once
CREATE SEQUENCE kit.sizes;
SELECT n, (SELECT count(*) FROM blogstore.list_feed(nextval('kit.sizes')::int) f WHERE length(f.title) > n) FROM generate_series(1, 3) n;
SELECT last_value FROM kit.sizes;
DROP SEQUENCE kit.sizes;

-- Plans are kept, and made anew when the function is altered
SET plan_cache_mode = force_generic_plan;
PREPARE a_post(uuid) AS SELECT title FROM blogstore.get_post($1);
PREPARE a_page(uuid, int) AS SELECT content FROM blogstore.list_post_comments($1, $2) c WHERE c.user_id <> $1;
EXECUTE a_post(kit.p(1));
EXECUTE a_post(kit.p(2));
EXECUTE a_post(NULL);
EXECUTE a_page(kit.p(1), 2);
EXECUTE a_page(kit.p(2), 1);
EXPLAIN (COSTS OFF) EXECUTE a_post(kit.p(1));
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE a_page(kit.p(1), 2);
BEGIN;
ALTER FUNCTION blogstore.get_post SET work_mem = '1MB';
EXPLAIN (COSTS OFF) EXECUTE a_post(kit.p(1));
EXECUTE a_post(kit.p(1));
ROLLBACK;
EXPLAIN (COSTS OFF) EXECUTE a_post(kit.p(1));
BEGIN;
CREATE OR REPLACE FUNCTION blogstore.get_post(post_id uuid) RETURNS SETOF blogstore.post_item LANGUAGE sql STABLE AS
'SELECT f.id, f.type, f.post_id, f.user_id, f.user_username, ''of sql'', f.content, f.comment_count, f.like_count, f.creation_date, f.hidden, f.modification_date, f.properties, f.publish_date FROM blogstore.list_feed(1) f';
EXECUTE a_post(kit.p(1));
ROLLBACK;
EXECUTE a_post(kit.p(1));
BEGIN;
ALTER EXTENSION blogstore DROP FUNCTION blogstore.get_post(uuid);
DROP FUNCTION blogstore.get_post(uuid);
-- the hint differs between versions of the server
\set VERBOSITY sqlstate
EXECUTE a_post(kit.p(1));
\set VERBOSITY default
ROLLBACK;
EXECUTE a_post(kit.p(1));
-- a plan that is there goes on without the setting
SET blogstore.enable_custom_scan = off;
EXPLAIN (COSTS OFF) EXECUTE a_post(kit.p(1));
RESET blogstore.enable_custom_scan;

-- EXECUTE is checked at each start of execution, not when planning
CREATE ROLE regress_blogstore_scan;
CREATE ROLE regress_blogstore_scan_group;
GRANT USAGE ON SCHEMA kit TO regress_blogstore_scan;
SET ROLE regress_blogstore_scan;
EXECUTE a_post(kit.p(1));
EXPLAIN (COSTS OFF) EXECUTE a_post(kit.p(1));
RESET ROLE;
GRANT EXECUTE ON FUNCTION blogstore.get_post(uuid) TO regress_blogstore_scan_group;
GRANT regress_blogstore_scan_group TO regress_blogstore_scan;
SET ROLE regress_blogstore_scan;
EXECUTE a_post(kit.p(1));
RESET ROLE;
-- a revoked membership changes nothing by which a plan would be made anew
REVOKE regress_blogstore_scan_group FROM regress_blogstore_scan;
SET ROLE regress_blogstore_scan;
EXECUTE a_post(kit.p(1));
RESET ROLE;
GRANT EXECUTE ON FUNCTION blogstore.get_post(uuid) TO regress_blogstore_scan;
SET ROLE regress_blogstore_scan;
EXECUTE a_post(kit.p(1));
RESET ROLE;
REVOKE EXECUTE ON FUNCTION blogstore.get_post(uuid) FROM regress_blogstore_scan, regress_blogstore_scan_group;
SET ROLE regress_blogstore_scan;
EXECUTE a_post(kit.p(1));
RESET ROLE;
REVOKE USAGE ON SCHEMA kit FROM regress_blogstore_scan;
DROP ROLE regress_blogstore_scan, regress_blogstore_scan_group;
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Cursors: forward, backward if asked for, WITH HOLD, in a savepoint that is
-- rolled back, and closed before their end
BEGIN;
DECLARE forward CURSOR FOR SELECT title FROM blogstore.list_feed(NULL);
FETCH 2 FROM forward;
SAVEPOINT one;
FETCH 2 FROM forward;
ROLLBACK TO one;
FETCH 2 FROM forward;
CLOSE forward;
SAVEPOINT two;
DECLARE forward CURSOR FOR SELECT title FROM blogstore.list_feed(NULL);
SAVEPOINT three;
FETCH 2 FROM forward;
ROLLBACK TO three;
FETCH 2 FROM forward;
ROLLBACK TO two;
DECLARE scrolled SCROLL CURSOR FOR SELECT title FROM blogstore.list_feed(3);
FETCH ALL FROM scrolled;
FETCH BACKWARD 2 FROM scrolled;
FETCH ABSOLUTE 1 FROM scrolled;
MOVE BACKWARD ALL FROM scrolled;
FETCH NEXT FROM scrolled;
DECLARE held CURSOR WITH HOLD FOR SELECT title, length(f::text) FROM blogstore.list_user_posts(kit.u(1), NULL) f WHERE like_count = 0;
FETCH 1 FROM held;
DECLARE left_open CURSOR FOR SELECT title FROM blogstore.list_feed(NULL);
FETCH 1 FROM left_open;
COMMIT;
SELECT (blogstore.edit_user(kit.u(1), 'renamed')).username;
FETCH 1 FROM held;
CLOSE held;
SELECT (blogstore.edit_user(kit.u(1), 'user 1')).username;
BEGIN;
DECLARE forward_only CURSOR FOR SELECT title FROM blogstore.list_feed(3);
FETCH 1 FROM forward_only;
FETCH BACKWARD 1 FROM forward_only;
ROLLBACK;

-- What is opened in a subtransaction may be gone after it
BEGIN;
DECLARE begun CURSOR FOR SELECT title, f.id = (f).id AS same FROM blogstore.list_feed(NULL) f;
DECLARE rest CURSOR FOR SELECT title FROM blogstore.list_feed(NULL);
FETCH 1 FROM rest;
SAVEPOINT one;
CLUSTER blogstore.posts_p00_post USING posts_p00_post_pkey;
MOVE 110 FROM rest;
ROLLBACK TO one;
FETCH 2 FROM rest;
CLOSE rest;
CLUSTER blogstore.feed_post USING feed_post_pkey;
FETCH 2 FROM begun;
ROLLBACK TO one;
FETCH 2 FROM begun;
MOVE ALL FROM begun;
FETCH 1 FROM begun;
ROLLBACK;

-- A table cannot be altered while a scan reads it. Its row type can, and this
-- ends the scan with an error.
BEGIN;
DECLARE open_scan CURSOR FOR SELECT title, (f).like_count FROM blogstore.list_feed(NULL) f WHERE NOT f IS NULL;
FETCH 1 FROM open_scan;
SAVEPOINT one;
ALTER TABLE blogstore.feed_post ADD COLUMN more text;
ROLLBACK TO one;
DROP INDEX blogstore.feed_post_date;
ROLLBACK TO one;
FETCH 1 FROM open_scan;
ALTER TYPE blogstore.post_item ADD ATTRIBUTE more text, ADD ATTRIBUTE most text;
FETCH 1 FROM open_scan;
ROLLBACK;
BEGIN;
DECLARE open_scan CURSOR FOR SELECT title FROM blogstore.list_feed(NULL) f;
FETCH 1 FROM open_scan;
DROP EXTENSION blogstore CASCADE;
FETCH 1 FROM open_scan;
ROLLBACK;

-- In statements that write
CREATE TABLE kit.written (id uuid PRIMARY KEY, title text, item blogstore.post_item);
INSERT INTO kit.written SELECT id, title, f FROM blogstore.list_feed(3) f;
MERGE INTO kit.written w USING blogstore.list_feed(4) f ON w.id = f.id
WHEN MATCHED AND f.title LIKE '%9' THEN DELETE
WHEN MATCHED THEN UPDATE SET title = upper(f.title), item = f
WHEN NOT MATCHED THEN INSERT (id, title, item) VALUES (f.id, 'new', f);
SELECT id, title, (item).title AS item FROM kit.written ORDER BY id;
DELETE FROM kit.written USING blogstore.list_user_posts(kit.u(1)) p WHERE p.id = written.id RETURNING p.title, p = item AS same;
CREATE TABLE kit.made AS SELECT f.* FROM blogstore.get_post(kit.p(1)) f;
SELECT title, comment_count FROM kit.made;
DROP TABLE kit.written, kit.made;

-- A call counts once, wherever it stops
SELECT blogstore.reset_request_stats();
SET track_functions = 'all';
BEGIN;
SELECT count(*) FROM blogstore.list_feed(20);
SELECT title FROM blogstore.list_feed() LIMIT 1;
SELECT count(*) FROM generate_series(1, 3) n, LATERAL blogstore.get_post(kit.p(n));
SELECT count(*) FROM generate_series(1, 3) n, LATERAL (SELECT * FROM blogstore.list_post_comments(kit.p(n)) LIMIT 1) c;
EXPLAIN (COSTS OFF) SELECT * FROM blogstore.get_user(kit.u(1));
SELECT title FROM blogstore.list_feed() LIMIT 0;
SELECT funcname, calls FROM pg_stat_xact_user_functions WHERE schemaname = 'blogstore' AND funcname <> 'reset_request_stats' ORDER BY funcname COLLATE "C";
COMMIT;
RESET track_functions;
SELECT function, calls, buffers_hit + buffers_read >= calls AS looks, total_time > 0 AS times FROM blogstore.stat_requests WHERE calls > 0;
SELECT kit.try('blogstore.get_post(NULL)');
SELECT calls FROM blogstore.stat_requests WHERE function = 'get_post';

-- A scan that is a statement's result has the statement's names.
EXPLAIN (VERBOSE, COSTS OFF) SELECT f.title AS caption, f.id FROM blogstore.get_post(kit.p(1)) f;
EXPLAIN (VERBOSE, COSTS OFF) SELECT f.title AS caption, f.id FROM blogstore.list_feed() f ORDER BY f.title;
CREATE TABLE kit.captions AS SELECT f.like_count AS likes, f.title AS caption FROM blogstore.get_post(kit.p(1)) f;
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'kit.captions'::regclass AND attnum > 0 ORDER BY attnum;
DROP TABLE kit.captions;
SELECT FROM blogstore.get_post(kit.p(1));
SELECT FROM blogstore.get_post(kit.p(1)) f WHERE f.title IS NULL;
BEGIN;
DECLARE captions CURSOR WITH HOLD FOR SELECT f.title AS caption FROM blogstore.get_post(kit.p(1)) f;
COMMIT;
FETCH ALL FROM captions;
CLOSE captions;

DROP VIEW kit.newest, kit.liked, kit.differ;
DROP FUNCTION kit.scans, kit.expected, kit.buffers, kit.answers, kit.both, kit.inlined, kit.not_inlined, kit.looped;
DROP PROCEDURE kit.altered;
DROP TABLE kit.statements;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
