--
-- INSTALL
--
-- The extension, its containers, and the schema "kit" of helpers that the
-- other tests use. Must run first.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE EXTENSION blogstore;
SELECT extname, nspname, extversion, extrelocatable
FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
WHERE extname = 'blogstore';

--
-- Helpers
--
CREATE SCHEMA kit;
GRANT USAGE ON SCHEMA kit TO PUBLIC;

-- ids of user, post and comment number n, and minute n of 2024
CREATE FUNCTION kit.u(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.p(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8001-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.c(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8002-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.d(n int) RETURNS timestamptz LANGUAGE sql IMMUTABLE
AS $$ SELECT timestamptz '2024-01-01 00:00:00+00' + n * interval '1 minute' $$;

-- Outcome of a call: ok, or its SQLSTATE and whether there was a hint
CREATE FUNCTION kit.try(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state	text;
	message	text;
	hint	text;
BEGIN
	EXECUTE 'SELECT * FROM ' || call;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	-- the server's error style: lower case, no full stop
	IF message ~ '^[A-Z][a-z]|[.]$' THEN
		state := state || ' (bad style: ' || message || ')';
	END IF;
	RETURN state || CASE WHEN hint <> '' THEN ', hint' ELSE ', no hint' END;
END $$;

-- Reload the configuration after a change of blogstore.topic_property or
-- blogstore.short_form_properties, and wait until the worker has read it.
-- pg_reload_conf() signals sessions and the worker at the same time.
CREATE PROCEDURE kit.reload() LANGUAGE plpgsql AS $$
DECLARE
	before	bigint := (SELECT short_form FROM blogstore.view_state);
BEGIN
	PERFORM pg_reload_conf();
	FOR i IN 1 .. 60000 LOOP
		IF (SELECT short_form FROM blogstore.view_state) <> before THEN
			RETURN;
		END IF;
		PERFORM pg_sleep(0.01);
		COMMIT;
	END LOOP;
	RAISE 'the worker has not read the configuration';
END $$;

-- Compare the rows of two queries, in order
CREATE FUNCTION kit.compare(a text, b text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows_a	text[];
	rows_b	text[];
BEGIN
	EXECUTE format('SELECT coalesce(array_agg(q::text), ARRAY[]::text[]) FROM (%s) q', a) INTO rows_a;
	EXECUTE format('SELECT coalesce(array_agg(q::text), ARRAY[]::text[]) FROM (%s) q', b) INTO rows_b;
	IF rows_a = rows_b THEN
		RETURN 'same ' || cardinality(rows_a) || ' rows';
	END IF;
	FOR i IN 1 .. greatest(cardinality(rows_a), cardinality(rows_b)) LOOP
		IF rows_a[i] IS DISTINCT FROM rows_b[i] THEN
			RETURN format('row %s differs: %s against %s', i,
				coalesce(rows_a[i], 'none'), coalesce(rows_b[i], 'none'));
		END IF;
	END LOOP;
END $$;

-- All ids of a list, read page by page. "list" is a call with the page size as
-- $1 and the cursor as $2 and $3. "cut": round the date of the cursor down to
-- milliseconds, as JavaScript's Date does.
CREATE FUNCTION kit.walk(list text, page int, cut boolean DEFAULT false) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
	seen	uuid[] := '{}';
	item	record;
	n		int;
	after_date	timestamptz;
	after_id	uuid;
BEGIN
	LOOP
		n := 0;
		FOR item IN EXECUTE 'SELECT id, creation_date FROM ' || list USING page, after_date, after_id LOOP
			seen := seen || item.id;
			after_date := CASE WHEN cut THEN date_trunc('milliseconds', item.creation_date) ELSE item.creation_date END;
			after_id := item.id;
			n := n + 1;
		END LOOP;
		IF n > page THEN
			RAISE 'a page of % has % rows', page, n;
		END IF;
		EXIT WHEN n < page OR cardinality(seen) > 9000;
	END LOOP;
	RETURN seen;
END $$;

-- Before the containers are there, every request says which call makes them
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(''alice'')'),
	('edit_user(kit.u(1), ''alice'')'),
	('create_post(kit.u(1), ''title'', ''content'')'),
	('edit_post(kit.p(1), ''title'')'),
	('create_comment(kit.p(1), kit.u(1), ''content'')'),
	('create_like(kit.p(1), kit.u(1))'),
	('edit_comment(kit.p(1), kit.c(1), ''content'')'),
	('delete_like(kit.p(1), kit.u(1))'),
	('delete_comment(kit.p(1), kit.c(1))'),
	('delete_post(kit.p(1))'),
	('delete_user(kit.u(1))'),
	('get_user(kit.u(1))'),
	('get_user_by_name(''alice'')'),
	('get_post(kit.p(1))'),
	('list_user_posts(kit.u(1))'),
	('list_post_comments(kit.p(1))'),
	('list_comment_replies(kit.p(1), kit.c(1))'),
	('list_user_comments(kit.u(1))'),
	('list_user_likes(kit.u(1))'),
	('list_post_likes(kit.p(1))'),
	('list_feed()'),
	('get_like(kit.p(1), kit.u(1))'),
	('get_posts(ARRAY[kit.p(1)])'),
	('get_users(ARRAY[kit.u(1)])'),
	('get_likes(kit.u(1), ARRAY[kit.p(1)])'),
	('node_of(kit.p(1))'),
	('wait_for_views()'),
	('rebuild_views()'),
	('verify()'),
	('repair()'),
	('start_worker()'),
	('stop_worker()')) AS v (call);
DO $$
DECLARE
	hint	text;
BEGIN
	PERFORM blogstore.get_user(kit.u(1));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RAISE NOTICE 'the hint names the call: %', hint LIKE '%blogstore.create_containers()%';
END $$;
-- ... but monitoring answers
SELECT state FROM blogstore.stat_worker;
SELECT count(*) FROM blogstore.progress;

-- A bad number of partitions makes nothing
SELECT call, kit.try(call) FROM (VALUES
	('blogstore.create_containers(0)'),
	('blogstore.create_containers(-1)'),
	('blogstore.create_containers(1025)'),
	('blogstore.create_containers(NULL)'),
	('blogstore.create_containers(distributed => true)')) AS v (call);
SELECT to_regclass('blogstore.users') AS users, to_regclass('blogstore.posts') AS posts, to_regclass('blogstore.feed') AS feed;

-- They are for who may create in the schema, and belong to who created them
CREATE ROLE regress_blogstore_owner;
GRANT EXECUTE ON FUNCTION blogstore.create_containers TO regress_blogstore_owner;
SET ROLE regress_blogstore_owner;
SELECT left(kit.try('blogstore.create_containers(2)'), 5);
RESET ROLE;
BEGIN;
GRANT CREATE ON SCHEMA blogstore TO regress_blogstore_owner;
SET LOCAL ROLE regress_blogstore_owner;
SELECT blogstore.create_containers(2);
SELECT relname, relowner::regrole FROM pg_class
WHERE oid IN ('blogstore.users'::regclass, 'blogstore.posts'::regclass, 'blogstore.feed'::regclass)
ORDER BY relname COLLATE "C";
ROLLBACK;
REVOKE ALL ON FUNCTION blogstore.create_containers FROM regress_blogstore_owner;
DROP ROLE regress_blogstore_owner;

-- Creation is transactional
BEGIN;
SELECT blogstore.create_containers(2);
SELECT count(*) FROM blogstore.users;
ROLLBACK;
SELECT to_regclass('blogstore.users') AS users;

SELECT blogstore.create_containers(4);
SELECT blogstore.wait_for_views();

-- A second call fails clearly and changes nothing
SELECT call, kit.try(call) FROM (VALUES
	('blogstore.create_containers(4)'),
	('blogstore.create_containers(partitions => 8)')) AS v (call);

-- Three containers, hash partitions of users and posts, leaves by type
SELECT partrelid::regclass AS container, pg_get_partkeydef(partrelid) AS key
FROM pg_partitioned_table
WHERE partrelid IN ('blogstore.users'::regclass, 'blogstore.posts'::regclass, 'blogstore.feed'::regclass)
ORDER BY partrelid::regclass::text COLLATE "C";
SELECT root, level, count(*), count(*) FILTER (WHERE isleaf) AS leaves
FROM (VALUES ('blogstore.feed'), ('blogstore.posts'), ('blogstore.users')) AS v (root),
	pg_partition_tree(root::regclass)
GROUP BY root, level ORDER BY root COLLATE "C", level;
SELECT relid::regclass AS leaf, pg_get_expr(relpartbound, oid) AS bound
FROM (VALUES ('blogstore.users'), ('blogstore.posts'), ('blogstore.feed')) AS v (root),
	pg_partition_tree(root::regclass), pg_class
WHERE isleaf AND oid = relid
ORDER BY relid::regclass::text COLLATE "C";

-- They are ordinary tables of the caller, of built-in types, not members of
-- the extension
SELECT count(*) FROM pg_class c
WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') AND relowner <> current_user::regrole;
SELECT c.relname FROM pg_class c
WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p', 'i', 'I', 'S', 't')
	AND EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e');
SELECT DISTINCT c.relname, a.attname, format_type(atttypid, atttypmod)
FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
JOIN pg_type t ON t.oid = atttypid
WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p')
	AND typnamespace <> 'pg_catalog'::regnamespace;
-- nothing in them leans on the extension's functions either
SELECT classid::regclass, objid FROM pg_depend d
WHERE classid IN ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass)
	AND refclassid = 'pg_proc'::regclass
	AND refobjid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace);

--
-- Helpers that need the containers
--

-- What the users and posts containers imply: posts in short form with
-- counted comments and likes and the authors' present names
CREATE VIEW kit.implied AS
SELECT p.id, p.type, p.post_id, p.user_id, u.username AS user_username,
	p.title, left(p.content, 200) AS content,
	(SELECT count(*) FROM blogstore.posts c WHERE c.post_id = p.post_id AND c.type = 'comment' AND c.hidden IS NOT TRUE) AS comment_count,
	(SELECT count(*) FROM blogstore.posts l WHERE l.post_id = p.post_id AND l.type = 'like') AS like_count,
	p.creation_date, coalesce(p.hidden, false) AS hidden, p.modification_date, p.properties, p.publish_date
FROM blogstore.posts p
LEFT JOIN blogstore.users u ON u.user_id = p.user_id AND u.type = 'user'
WHERE p.type = 'post';

-- Counts of get_post that differ from the comments and likes in one snapshot
CREATE FUNCTION kit.wrong_counts() RETURNS TABLE (post_id uuid, counts bigint[], counted bigint[])
LANGUAGE sql STABLE AS $$
	SELECT i.post_id, ARRAY[g.comment_count, g.like_count], ARRAY[i.comment_count, i.like_count]
	FROM kit.implied i LEFT JOIN LATERAL blogstore.get_post(i.post_id) g ON true
	WHERE (g.comment_count, g.like_count) IS DISTINCT FROM (i.comment_count, i.like_count)
	ORDER BY 1
$$;

-- A digest of everything that the commands own
CREATE FUNCTION kit.digest() RETURNS text LANGUAGE sql STABLE AS $$
	SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM (
		SELECT u::text AS line FROM blogstore.users u WHERE type = 'user'
		UNION ALL SELECT p::text FROM blogstore.posts p WHERE type NOT IN ('post', 'delta')
		UNION ALL SELECT (to_jsonb(p) - '{comment_count,like_count}'::text[])::text || (
			SELECT (sum(c.comment_count), sum(c.like_count))::text FROM blogstore.posts c
			WHERE c.post_id = p.post_id AND (c.type = 'post' OR c.item_id = p.post_id)
		) FROM blogstore.posts p WHERE type = 'post'
		UNION ALL SELECT n::text FROM blogstore.usernames n) x
$$;

-- Empty the store by its own means; wait_for_views() must follow
CREATE FUNCTION kit.clear() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.delete_user(user_id) FROM blogstore.users WHERE type = 'user';
END $$;

-- Users 1 to n, posts 1 to n by users in turn
CREATE FUNCTION kit.fill(users int, posts int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, users) n;
	PERFORM blogstore.create_post(kit.u(1 + n % users), 'title ' || n, repeat('content ' || n || ' ', 30), kit.p(n), kit.d(n))
	FROM generate_series(1, posts) n;
END $$;

-- How many scans of the containers' indexes a query begins
CREATE FUNCTION kit.descents(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	scans	text := 'SELECT sum(pg_stat_get_xact_numscans(i.indexrelid)) FROM pg_index i WHERE i.indrelid IN'
		' (SELECT relid FROM unnest(ARRAY[''blogstore.users'', ''blogstore.posts'', ''blogstore.feed'']::regclass[]) c, pg_partition_tree(c))';
	before	bigint;
	behind	bigint;
BEGIN
	-- the first run fills the caches of the session
	EXECUTE query;
	EXECUTE scans INTO before;
	EXECUTE query;
	EXECUTE scans INTO behind;
	RETURN behind - before;
END $$;

SELECT * FROM blogstore.verify();
