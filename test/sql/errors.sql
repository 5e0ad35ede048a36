--
-- ERRORS FOR PROGRAMS: the fields by which a driver tells them apart
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(2, 4);
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'comment', kit.c(1), kit.d(1));
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'reply', kit.c(2), kit.d(2), parent_id => kit.c(1));
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'hidden', kit.c(3), kit.d(3), hidden => true);
SELECT count(*) FROM blogstore.hide_post(kit.p(2));
SELECT count(*) FROM blogstore.create_user('gone', kit.u(9));
SELECT blogstore.delete_user(kit.u(9));

-- What a statement raises
CREATE FUNCTION kit.error(statement text) RETURNS TABLE (code text, "table" text, "column" text, rule text, message text) LANGUAGE plpgsql AS $$
DECLARE
	space	text;
BEGIN
	EXECUTE statement;
	message := 'no error';
	RETURN NEXT;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, space = SCHEMA_NAME, "table" = TABLE_NAME, "column" = COLUMN_NAME,
		rule = CONSTRAINT_NAME, message = MESSAGE_TEXT;
	IF space IS DISTINCT FROM 'blogstore' THEN
		message := format('schema %L: %s', space, message);
	END IF;
	message := left(message, 80);
	RETURN NEXT;
END $$;

-- Arguments
CREATE TEMPORARY TABLE calls (n serial, call text);
INSERT INTO calls (call) VALUES
	('create_user(NULL)'),
	('create_user('''')'),
	('create_user(repeat(''x'', 65))'),
	('create_user(repeat(''x'', 10000000))'),
	('create_user(E''a\nb'')'),
	('create_user(U&''\2800'')'),
	('create_user(U&''\200B'')'),
	('create_user(''x'', creation_date => ''infinity'')'),
	('create_user(''x'', properties => ''[]'')'),
	('create_user(''x'', properties => ''"x"'')'),
	('create_user(''x'', properties => ''{"postId": 1}'')'),
	('create_user(''x'', properties => jsonb_build_object(''x'', repeat(md5(''x''), 3000)))'),
	('create_user(''x'', properties => ''{"x": 1e131000, "y": 1e131000, "z": 1e131000}'')'),
	('edit_user(NULL, ''x'')'),
	('edit_user(kit.u(1), '''')'),
	('edit_user(kit.u(1), properties => ''1'')'),
	('create_post(NULL, ''x'', ''x'')'),
	('create_post(kit.u(1), NULL, ''x'')'),
	('create_post(kit.u(1), '''', ''x'')'),
	('create_post(kit.u(1), repeat(''x'', 1001), ''x'')'),
	('create_post(kit.u(1), ''x'', NULL)'),
	('create_post(kit.u(1), ''x'', ''x'', creation_date => ''-infinity'')'),
	('create_post(kit.u(1), ''x'', ''x'', hidden => NULL)'),
	('create_post(kit.u(1), ''x'', ''x'', properties => ''{"hidden": 1}'')'),
	('edit_post(NULL)'),
	('edit_post(kit.p(1), '''')'),
	('edit_post(kit.p(1), content => long)'),
	('create_comment(NULL, kit.u(1), ''x'')'),
	('create_comment(kit.p(1), NULL, ''x'')'),
	('create_comment(kit.p(1), kit.u(1), NULL)'),
	('create_comment(kit.p(1), kit.u(1), '''')'),
	('create_comment(kit.p(1), kit.u(1), long)'),
	('create_comment(kit.p(1), kit.u(1), ''x'', hidden => NULL)'),
	('edit_comment(NULL, kit.c(1), ''x'')'),
	('edit_comment(kit.p(1), NULL, ''x'')'),
	('edit_comment(kit.p(1), kit.c(1), NULL)'),
	('edit_comment(kit.p(1), kit.c(1), '''')'),
	('create_like(NULL, kit.u(1))'),
	('create_like(kit.p(1), NULL)'),
	('create_like(kit.p(1), kit.u(1), ''infinity'')'),
	('delete_like(NULL, kit.u(1))'),
	('delete_like(kit.p(1), NULL)'),
	('delete_comment(NULL, kit.c(1))'),
	('delete_comment(kit.p(1), NULL)'),
	('delete_post(NULL)'),
	('delete_user(NULL)'),
	('hide_post(NULL)'),
	('hide_post(kit.p(1), NULL)'),
	('publish_post(NULL)'),
	('schedule_post(NULL, NULL)'),
	('schedule_post(kit.p(1), ''infinity'')'),
	('hide_comment(NULL, kit.c(1))'),
	('hide_comment(kit.p(1), NULL)'),
	('hide_comment(kit.p(1), kit.c(1), NULL)'),
	('get_user(NULL)'),
	('get_user_by_name(NULL)'),
	('get_user_by_name(long)'),
	('get_users(NULL)'),
	('get_post(NULL)'),
	('get_posts(NULL)'),
	('get_comment(NULL, kit.c(1))'),
	('get_comment(kit.p(1), NULL)'),
	('get_like(NULL, kit.u(1))'),
	('get_like(kit.p(1), NULL)'),
	('get_likes(NULL, ARRAY[kit.p(1)])'),
	('get_likes(kit.u(1), NULL)'),
	('list_user_posts(NULL)'),
	('list_user_posts(kit.u(1), 0)'),
	('list_user_posts(kit.u(1), before_date => kit.d(1))'),
	('list_user_posts(kit.u(1), before_id => kit.p(1))'),
	('list_user_posts(kit.u(1), oldest_first => NULL)'),
	('list_user_posts(kit.u(1), include_hidden => NULL)'),
	('list_post_comments(NULL)'),
	('list_post_comments(kit.p(1), -1)'),
	('list_comment_replies(kit.p(1), NULL)'),
	('list_comment_replies(kit.p(1), kit.c(1), before_id => kit.c(1))'),
	('list_user_comments(NULL)'),
	('list_user_comments(kit.u(1), oldest_first => NULL)'),
	('list_post_likes(kit.p(1), before_date => kit.d(1))'),
	('list_user_likes(NULL)'),
	('list_user_likes(kit.u(1), by_date => NULL)'),
	('list_user_likes(kit.u(1), before_date => kit.d(1), before_id => kit.p(1))'),
	('list_user_likes(kit.u(1), oldest_first => true)'),
	('list_user_likes(kit.u(1), by_date => true, after_post_id => kit.p(1))'),
	('list_feed(0)'),
	('list_feed(before_date => kit.d(1))'),
	('list_feed(oldest_first => NULL)'),
	('key_id(''article'', ''1'')'),
	('key_id(long, ''1'')'),
	('key_id(''post'', '''')'),
	('key_id(''post'', long)'),
	('current_user_id(NULL)'),
	('current_user_id()'),
	('wait_for_views(NULL)'),
	('wait_for_posts(NULL)'),
	('stop_worker(NULL)'),
	('own_edit_post(NULL, kit.p(1))'),
	('own_create_like(NULL, kit.p(1), kit.u(1))');
-- a text longer than any may be, kept short while it lies there
CREATE TEMPORARY TABLE longest (long text);
INSERT INTO longest VALUES (repeat('%s', 32 * 1024 * 1024 + 1));
CREATE TEMPORARY TABLE raised AS SELECT c.n, c.call, e.*
FROM calls AS c, LATERAL kit.error(format('SELECT blogstore.%s%s', c.call, CASE WHEN c.call ~ '\mlong\M' THEN ' FROM longest' END)) AS e;
SELECT call, code, "table", "column", rule, message FROM raised ORDER BY n;
-- each column is an argument of the function
SELECT r.call, r."column" FROM raised AS r
WHERE r."column" IS NULL OR NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.pronamespace = 'blogstore'::regnamespace
	AND p.proname = substring(r.call FROM '^\w+') AND r."column" = ANY (p.proargnames))
ORDER BY r.n;
-- a query in FROM raises the same
SELECT r.call FROM raised AS r, LATERAL kit.error('SELECT * FROM blogstore.' || r.call) AS f
WHERE r.call !~ '\mlong\M' AND (r.code, r."table", r."column", r.rule, r.message) IS DISTINCT FROM (f.code, f."table", f."column", f.rule, f.message)
ORDER BY r.n;

-- Items
TRUNCATE calls;
INSERT INTO calls (call) VALUES
	('create_user(''User 1'')'),
	('edit_user(kit.u(2), ''USER 1'')'),
	('create_user(''another name'', kit.u(1))'),
	('create_user(''user 1'', kit.u(1), kit.d(77))'),
	('create_post(kit.u(1), ''other'', ''x'', kit.p(1))'),
	('create_comment(kit.p(1), kit.u(1), ''other'', kit.c(1))'),
	('edit_user(kit.u(99), ''x'')'),
	('edit_user(kit.u(9), ''x'')'),
	('create_post(kit.u(99), ''x'', ''x'')'),
	('create_post(kit.u(9), ''x'', ''x'')'),
	('edit_post(kit.p(99))'),
	('hide_post(kit.p(99))'),
	('publish_post(kit.p(99))'),
	('schedule_post(kit.p(99), NULL)'),
	('create_comment(kit.p(99), kit.u(1), ''x'')'),
	('create_comment(kit.p(1), kit.u(99), ''x'')'),
	('create_comment(kit.p(1), kit.u(9), ''x'')'),
	('create_comment(kit.p(1), kit.u(1), ''x'', parent_id => kit.c(99))'),
	('create_comment(kit.p(3), kit.u(1), ''x'', parent_id => kit.c(1))'),
	('create_comment(kit.p(99), kit.u(1), ''x'', parent_id => kit.c(1))'),
	('create_comment(kit.p(1), kit.u(1), ''x'', parent_id => kit.c(3))'),
	('create_comment(kit.p(2), kit.u(1), ''x'')'),
	('edit_comment(kit.p(1), kit.c(99), ''x'')'),
	('edit_comment(kit.p(99), kit.c(1), ''x'')'),
	('hide_comment(kit.p(1), kit.c(99))'),
	('create_like(kit.p(99), kit.u(1))'),
	('create_like(kit.p(1), kit.u(99))'),
	('create_like(kit.p(2), kit.u(1))'),
	-- to others than its author a hidden post is none
	('own_create_like(kit.u(2), kit.p(99), kit.u(2))'),
	('own_create_like(kit.u(1), kit.p(2), kit.u(1))'),
	('own_create_like(kit.u(2), kit.p(2), kit.u(2))'),
	('own_create_comment(kit.u(2), kit.p(99), kit.u(2), ''x'')'),
	('own_create_comment(kit.u(1), kit.p(2), kit.u(1), ''x'')'),
	('own_create_comment(kit.u(2), kit.p(1), kit.u(2), ''x'', parent_id => kit.c(3))'),
	('own_create_comment(kit.u(1), kit.p(1), kit.u(1), ''x'', parent_id => kit.c(3))'),
	('own_edit_post(kit.u(1), kit.p(2), ''x'')'),
	('own_edit_post(kit.u(1), kit.p(1), ''x'')'),
	('own_edit_comment(kit.u(2), kit.p(1), kit.c(1), ''x'')'),
	('own_edit_comment(kit.u(2), kit.p(1), kit.c(3), ''x'')'),
	('own_hide_post(kit.u(1), kit.p(99))'),
	-- an item of another's is refused, whatever the post is
	('own_create_like(kit.u(1), kit.p(1), kit.u(2))'),
	('own_create_like(kit.u(2), kit.p(2), kit.u(1))'),
	('own_create_like(kit.u(1), kit.p(99), kit.u(2))'),
	('own_create_comment(kit.u(1), kit.p(99), kit.u(2), ''x'')'),
	('own_create_comment(kit.u(1), kit.p(1), kit.u(2), ''x'', hidden => true)');
SELECT c.call, e.code, e."table", e."column", e.rule, e.message
FROM calls AS c, LATERAL kit.error('SELECT blogstore.' || c.call) AS e ORDER BY c.n;

-- A comment that would reply to itself: it was deleted, and others reply to it
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT code, "table", "column", rule, message FROM kit.error('SELECT blogstore.create_comment(kit.p(1), kit.u(1), ''comment'', kit.c(1), parent_id => kit.c(2))');

-- A comment with the id of its post
SELECT code, "table", "column", rule, message FROM kit.error('SELECT blogstore.create_comment(kit.p(1), kit.u(1), ''comment'', kit.p(1))');

-- Transactions that must not write
BEGIN READ ONLY;
SELECT code, "table", "column", rule, message FROM kit.error('SELECT blogstore.create_like(kit.p(1), kit.u(1))');
ROLLBACK;
-- The fields of an error pass through subtransactions, functions in SQL and
-- PL/pgSQL, and SECURITY DEFINER functions
CREATE FUNCTION kit.takes_name(name text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	BEGIN
		PERFORM blogstore.create_user(name);
	EXCEPTION WHEN foreign_key_violation THEN
		RETURN 'not this';
	END;
	RETURN name;
END $$;
CREATE FUNCTION kit.takes_post(name text) RETURNS text LANGUAGE sql AS $$ SELECT (blogstore.create_post(kit.u(1), name, 'x', kit.p(1))).title $$;
SELECT * FROM kit.error('SELECT kit.takes_name(''USER 1'')');
SELECT * FROM kit.error('SELECT kit.takes_name(kit.takes_name(NULL))');
SELECT * FROM kit.error('SELECT kit.takes_post(''%s %n' || E'\n' || ' text'')');
SELECT * FROM kit.error('DO $do$ BEGIN PERFORM blogstore.create_like(kit.p(2), kit.u(1)); EXCEPTION WHEN check_violation THEN RAISE; END $do$');
-- texts that would be formats are none
SELECT e.code, e.rule, e.message FROM (VALUES ('%s%n%m'), (E'\t%d'), ('%1$s')) AS v (name),
	LATERAL kit.error(format('SELECT blogstore.create_user(%L), blogstore.create_user(%L)', v.name, v.name)) AS e;
SELECT * FROM blogstore.verify();
DROP FUNCTION kit.takes_name, kit.takes_post, kit.error;
DROP TABLE calls, longest, raised;
