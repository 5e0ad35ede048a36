--
-- DOORS: all requests are granted at once, and wrapped in a schema of the site
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 6);

CREATE ROLE regress_blogstore_site;
CREATE ROLE "regress_blogstore ""odd"" Röle";
CREATE ROLE regress_blogstore_app;
CREATE ROLE regress_blogstore_admin;
GRANT USAGE ON SCHEMA kit TO PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA kit TO PUBLIC;

-- Outcome of a statement with the error's text
CREATE FUNCTION kit.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message	text;
	hint	text;
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', SQLSTATE, message, CASE WHEN hint = '' THEN '(no hint)' END);
END $$;

--
-- Which functions the requests are: those that are counted
--
SELECT array_agg(function ORDER BY function) = ARRAY(SELECT proname::text FROM blogstore.request_functions() f JOIN pg_proc p ON p.oid = f.function
	WHERE f.kind IN ('command', 'query') ORDER BY 1) AS "all that are counted"
FROM blogstore.stat_requests;
SELECT function FROM blogstore.request_functions() f JOIN pg_proc p ON p.oid = f.function WHERE kind = 'document' ORDER BY proname COLLATE "C";
-- a function that somebody else puts beside them is none
CREATE FUNCTION blogstore.get_post(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
SELECT count(*) FROM blogstore.request_functions() WHERE function::text = 'blogstore.get_post(text)';
DROP FUNCTION blogstore.get_post(text);

--
-- grant_requests(), revoke_requests()
--
SELECT blogstore.grant_requests('regress_blogstore_app');
-- all of these, and nothing else
SELECT count(*) FILTER (WHERE NOT has_function_privilege('regress_blogstore_app', function, 'EXECUTE')) AS missing FROM blogstore.request_functions();
SELECT p.oid::regprocedure FROM pg_proc p
WHERE pronamespace = 'blogstore'::regnamespace AND has_function_privilege('regress_blogstore_app', p.oid, 'EXECUTE')
	AND p.oid NOT IN (SELECT function FROM blogstore.request_functions());
SELECT c.oid::regclass FROM pg_class c
WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p', 'v') AND has_any_column_privilege('regress_blogstore_app', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES');
-- kinds: no operation is one
SELECT kind, proname FROM blogstore.request_functions() f JOIN pg_proc p ON p.oid = f.function
WHERE proname IN ('import', 'repair', 'rebuild_views', 'stop_worker', 'create_containers', 'grant_requests', 'create_api', 'export_documents');
SET ROLE regress_blogstore_app;
SELECT i::jsonb ->> 'title' FROM blogstore.get_post(kit.p(1)) i;
SELECT kit.try('blogstore.repair()');
RESET ROLE;
-- without PUBLIC's USAGE on the schema
REVOKE USAGE ON SCHEMA blogstore FROM PUBLIC;
SELECT has_schema_privilege('regress_blogstore_app', 'blogstore', 'USAGE');
SELECT blogstore.revoke_requests('regress_blogstore_app');
SELECT has_schema_privilege('regress_blogstore_app', 'blogstore', 'USAGE');
-- who holds something else keeps the schema
GRANT USAGE ON SCHEMA blogstore TO regress_blogstore_app;
GRANT EXECUTE ON FUNCTION blogstore.verify TO regress_blogstore_app;
SELECT blogstore.grant_requests('regress_blogstore_app');
SELECT blogstore.revoke_requests('regress_blogstore_app');
SELECT has_schema_privilege('regress_blogstore_app', 'blogstore', 'USAGE'), has_function_privilege('regress_blogstore_app', 'blogstore.verify()', 'EXECUTE');
REVOKE ALL ON FUNCTION blogstore.verify FROM regress_blogstore_app;
REVOKE USAGE ON SCHEMA blogstore FROM regress_blogstore_app;
GRANT USAGE ON SCHEMA blogstore TO PUBLIC;
SELECT p.oid::regprocedure FROM pg_proc p, aclexplode(proacl) a
WHERE pronamespace = 'blogstore'::regnamespace AND a.grantee = 'regress_blogstore_app'::regrole;

-- a role whose name needs quotes; repeated
SELECT blogstore.grant_requests('"regress_blogstore ""odd"" Röle"');
SELECT blogstore.grant_requests('"regress_blogstore ""odd"" Röle"');
SELECT count(*) FILTER (WHERE NOT has_function_privilege('regress_blogstore "odd" Röle', function, 'EXECUTE')) AS missing FROM blogstore.request_functions();
SELECT blogstore.revoke_requests('"regress_blogstore ""odd"" Röle"');
SELECT blogstore.revoke_requests('"regress_blogstore ""odd"" Röle"');
SELECT count(*) FILTER (WHERE has_function_privilege('regress_blogstore "odd" Röle', function, 'EXECUTE')) AS left FROM blogstore.request_functions();

-- bad input
SELECT kit.outcome('SELECT blogstore.grant_requests(NULL)');
SELECT kit.outcome('SELECT blogstore.grant_requests(0)');
SELECT kit.outcome('SELECT blogstore.grant_requests(4294967295)');
SELECT kit.outcome('SELECT blogstore.grant_requests(''public'')');
SELECT kit.outcome('SELECT blogstore.revoke_requests(NULL)');
SELECT kit.outcome('SELECT blogstore.revoke_requests(0)');
BEGIN READ ONLY;
SELECT kit.outcome('SELECT blogstore.grant_requests(''regress_blogstore_app'')') ~ '^25006' AS refused;
ROLLBACK;

-- who may call it and not grant; and who may grant
GRANT EXECUTE ON FUNCTION blogstore.grant_requests, blogstore.revoke_requests, blogstore.request_functions, blogstore.request_names TO regress_blogstore_admin;
SET client_min_messages = error;
SET ROLE regress_blogstore_admin;
SELECT kit.outcome('SELECT blogstore.grant_requests(''regress_blogstore_app'')') ~ '^42501' AS refused;
RESET ROLE;
SELECT blogstore.grant_requests('regress_blogstore_admin');
SET ROLE regress_blogstore_admin;
SELECT kit.outcome('SELECT blogstore.grant_requests(''regress_blogstore_app'')') ~ '^42501 no right to grant EXECUTE on blogstore' AS refused;
RESET ROLE;
RESET client_min_messages;
DO $$ BEGIN EXECUTE (SELECT format('GRANT EXECUTE ON FUNCTION %s TO regress_blogstore_admin WITH GRANT OPTION', string_agg(function::text, ', ')) FROM blogstore.request_functions()); END $$;
SET ROLE regress_blogstore_admin;
SELECT blogstore.grant_requests('regress_blogstore_app');
RESET ROLE;
-- what they have granted on is not taken silently
SELECT kit.outcome('SELECT blogstore.revoke_requests(''regress_blogstore_admin'')');
\set VERBOSITY terse
-- ... nor kept silently
SELECT regexp_replace(kit.outcome('SELECT blogstore.revoke_requests(''regress_blogstore_app'')'), ' .*', '') AS revoked;
\set VERBOSITY default
SELECT has_function_privilege('regress_blogstore_app', 'blogstore.get_post(uuid)', 'EXECUTE') AS "by the other grantor";
SET ROLE regress_blogstore_admin;
SELECT blogstore.revoke_requests('regress_blogstore_app');
RESET ROLE;
REVOKE ALL ON FUNCTION blogstore.grant_requests, blogstore.revoke_requests FROM regress_blogstore_admin;
SELECT blogstore.revoke_requests('regress_blogstore_admin');

--
-- create_api()
--
GRANT EXECUTE ON FUNCTION blogstore.create_api TO regress_blogstore_site;
SELECT kit.outcome('SELECT blogstore.create_api(NULL, ''regress_blogstore_app'')');
SELECT kit.outcome('SELECT blogstore.create_api(''site'', NULL)');
SELECT kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_app'', NULL)');
SELECT kit.outcome('SELECT blogstore.create_api(''site'', 0)');
SELECT s, kit.outcome(format('SELECT blogstore.create_api(%L, ''regress_blogstore_app'')', s))
FROM unnest(ARRAY['', 'blogstore', 'pg_catalog', 'pg_temp', 'pg_toast', 'information_schema', repeat('s', 64)]) s;
-- the role cannot execute the requests
SELECT regexp_replace(kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_app'')'), 'blogstore[.].*', '...');
SELECT count(*) FROM pg_namespace WHERE nspname = 'site';
SELECT blogstore.grant_requests('regress_blogstore_app');
-- the caller may not make a schema
SELECT blogstore.grant_requests('regress_blogstore_site');
SET ROLE regress_blogstore_site;
SELECT regexp_replace(kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_app'')'), 'database .*', 'database ...');
RESET ROLE;
CREATE SCHEMA site AUTHORIZATION regress_blogstore_site;
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('site', 'regress_blogstore_app');
RESET ROLE;

-- a wrapper a request, with its name, arguments, defaults and kind
SELECT count(*) > 18 AS "all requests",
	count(*) FILTER (WHERE w.oid IS NULL) AS missing,
	count(*) FILTER (WHERE pg_get_function_arguments(w.oid) <> pg_get_function_arguments(p.oid)) AS "other arguments",
	count(*) FILTER (WHERE replace(pg_get_function_result(w.oid), 'site.', 'blogstore.') <> pg_get_function_result(p.oid)) AS "other results",
	count(*) FILTER (WHERE (w.provolatile, w.proparallel, w.prorows, w.proisstrict) <> (p.provolatile, p.proparallel, p.prorows, p.proisstrict)) AS "other kinds"
FROM blogstore.stat_requests s JOIN pg_proc p ON p.proname = s.function AND p.pronamespace = 'blogstore'::regnamespace
LEFT JOIN pg_proc w ON w.proname = s.function AND w.pronamespace = 'site'::regnamespace
HAVING count(*) > 18 AND count(*) = (SELECT count(*) FROM blogstore.stat_requests);
SELECT proname FROM pg_proc WHERE pronamespace = 'site'::regnamespace GROUP BY 1 HAVING count(*) > 1;
-- items have the columns of the extension's, and the types are the server's
SELECT t.typname, a.* FROM pg_type t JOIN LATERAL (
	(SELECT attnum, attname, atttypid FROM pg_attribute WHERE attrelid = t.typrelid AND attnum > 0
	 EXCEPT SELECT attnum, attname, atttypid FROM pg_attribute WHERE attrelid = ('site.' || t.typname)::regclass)
	UNION ALL
	(SELECT attnum, attname, atttypid FROM pg_attribute WHERE attrelid = ('site.' || t.typname)::regclass AND attnum > 0
	 EXCEPT SELECT attnum, attname, atttypid FROM pg_attribute WHERE attrelid = t.typrelid)) a ON true
WHERE t.typnamespace = 'blogstore'::regnamespace AND t.typrelid <> 0 AND t.typname LIKE '%\_item';
-- The wrappers are no members of the extension, nothing depends on it, they
-- belong to the caller, and PUBLIC may not call them
SELECT count(*) FROM pg_depend d WHERE (classid, objid) IN (SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = 'site'::regnamespace
	UNION ALL SELECT 'pg_class'::regclass, oid FROM pg_class WHERE relnamespace = 'site'::regnamespace)
	AND (deptype = 'e' OR refobjid IN (SELECT objid FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore')));
CREATE VIEW kit.wrapper_grants AS
SELECT pronamespace::regnamespace AS schema, array_agg(DISTINCT proname ORDER BY proname) AS functions, proowner::regrole AS owner, prosecdef, a.grantee::regrole::text, a.is_grantable
FROM pg_proc, aclexplode(proacl) a WHERE a.grantee <> proowner
GROUP BY 1, 3, 4, 5, 6;
SELECT cardinality(functions) = (SELECT count(*) FROM pg_proc WHERE pronamespace = 'site'::regnamespace) AS all, owner, prosecdef, grantee, is_grantable
FROM kit.wrapper_grants WHERE schema = 'site'::regnamespace ORDER BY grantee COLLATE "C";
SELECT relname, relkind, relowner::regrole, has_table_privilege('regress_blogstore_app', oid, 'SELECT') AS select, has_table_privilege('regress_blogstore_app', oid, 'INSERT, UPDATE, DELETE') AS write
FROM pg_class WHERE relnamespace = 'site'::regnamespace ORDER BY relname COLLATE "C";
SELECT obj_description('site.get_post(uuid)'::regprocedure);
SELECT obj_description('site.like_item'::regclass);

-- They answer as the requests do; one in FROM is planned as the request is
SET ROLE regress_blogstore_app;
SELECT username FROM site.create_user('Dora', kit.u(10), kit.d(10));
SELECT title, user_username FROM site.create_post(user_id => kit.u(10), title => 'title', content => 'content', post_id => kit.p(10), creation_date => kit.d(20));
SELECT content FROM site.create_comment(kit.p(10), kit.u(1), 'comment', kit.c(10), kit.d(21));
SELECT content FROM site.create_comment(kit.p(10), kit.u(2), 'another', kit.c(11), kit.d(22));
SELECT user_username FROM site.create_like(kit.p(10), kit.u(10), kit.d(23));
SELECT title FROM site.edit_post(kit.p(10), content => 'content!');
SELECT (site.edit_comment(kit.p(10), kit.c(10), 'comment!')).content;
SELECT username FROM site.edit_user(kit.u(10), 'Theodora');
RESET ROLE;
SELECT blogstore.wait_for_views();
SET ROLE regress_blogstore_app;
SELECT kit.compare('SELECT * FROM site.get_post(kit.p(10))', 'SELECT * FROM blogstore.get_post(kit.p(10))'),
	kit.compare('SELECT * FROM site.list_feed(3)', 'SELECT * FROM blogstore.list_feed(3)'),
	kit.compare('SELECT * FROM site.list_post_comments(kit.p(10))', 'SELECT * FROM blogstore.list_post_comments(kit.p(10))'),
	kit.compare('SELECT * FROM site.list_user_posts(user_id => kit.u(1), page_size => 2)', 'SELECT * FROM blogstore.list_user_posts(kit.u(1), 2)'),
	kit.compare('SELECT * FROM site.get_like(kit.p(10), kit.u(10))', 'SELECT * FROM blogstore.get_like(kit.p(10), kit.u(10))'),
	kit.compare('SELECT * FROM site.get_user_by_name(''theodora'')', 'SELECT * FROM blogstore.get_user(kit.u(10))');
EXPLAIN (COSTS OFF) SELECT title FROM site.list_feed() LIMIT 3;
-- relations
SELECT p.title, (site.post_item_author(p)).username, (SELECT array_agg(c.content) FROM site.post_item_comments(p) c) AS comments,
	(SELECT array_agg(l.user_username) FROM site.post_item_likes(p, page_size => 1) l) AS likes
FROM site.get_post(kit.p(10)) p;
SELECT (site.comment_item_author(c)).username, (site.comment_item_post(c)).title FROM site.list_post_comments(kit.p(10)) c;
SELECT (site.like_item_author(l)).username, (site.like_item_post(l)).title FROM site.list_post_likes(kit.p(10)) l;
SELECT u.username, (SELECT array_agg(p.title) FROM site.user_item_posts(u) p) FROM site.get_user(kit.u(10)) u;
EXPLAIN (COSTS OFF) SELECT c.content FROM site.get_post(kit.p(10)) p, site.post_item_comments(p) c LIMIT 1;
SELECT site.delete_like(kit.p(10), kit.u(10)), site.delete_comment(kit.p(10), kit.c(10)), site.delete_post(kit.p(10)), site.delete_user(kit.u(10));
RESET ROLE;

--
-- Called again: for another role, and after the extension has changed
--
CREATE TEMP TABLE before AS SELECT oid FROM pg_proc WHERE pronamespace = 'site'::regnamespace;
SELECT blogstore.grant_requests('"regress_blogstore ""odd"" Röle"');
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('site', '"regress_blogstore ""odd"" Röle"');
RESET ROLE;
SELECT count(*) FILTER (WHERE p.oid IS NULL) AS replaced, count(*) FILTER (WHERE b.oid IS NULL) AS new
FROM before b FULL JOIN (SELECT oid FROM pg_proc WHERE pronamespace = 'site'::regnamespace) p USING (oid);
SELECT cardinality(functions) = (SELECT count(*) FROM pg_proc WHERE pronamespace = 'site'::regnamespace) AS all, owner, prosecdef, grantee, is_grantable
FROM kit.wrapper_grants WHERE schema = 'site'::regnamespace ORDER BY grantee COLLATE "C";
-- A wrapper that differs from its request, one without a request, and a
-- missing one; and a grant that the site made itself
BEGIN;
DROP FUNCTION site.get_post, site.list_feed;
CREATE FUNCTION site.list_feed(page_size integer DEFAULT 100) RETURNS SETOF site.post_item LANGUAGE sql STABLE AS 'SELECT * FROM site.list_user_posts(NULL)';
COMMENT ON FUNCTION site.list_feed IS 'Old. Made by blogstore.create_api().';
ALTER FUNCTION site.list_feed OWNER TO regress_blogstore_site;
REVOKE ALL ON FUNCTION site.list_feed FROM PUBLIC;
GRANT EXECUTE ON FUNCTION site.list_feed TO regress_blogstore_admin WITH GRANT OPTION;
CREATE FUNCTION site.old_request() RETURNS int LANGUAGE sql AS 'SELECT 1';
COMMENT ON FUNCTION site.old_request IS 'Old. Made by blogstore.create_api().';
ALTER FUNCTION site.old_request OWNER TO regress_blogstore_site;
CREATE FUNCTION site.own_function() RETURNS int LANGUAGE sql AS 'SELECT 1';
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('site', 'regress_blogstore_app');
RESET ROLE;
SELECT p.proname, a.grantee::regrole::text, a.is_grantable FROM pg_proc p LEFT JOIN aclexplode(proacl) a ON a.grantee <> proowner
WHERE pronamespace = 'site'::regnamespace AND proname IN ('get_post', 'own_function', 'old_request', 'list_feed') ORDER BY proname COLLATE "C", a.grantee::regrole::text COLLATE "C";
SELECT pg_get_function_arguments(p.oid) = pg_get_function_arguments(b.oid) AS renewed
FROM pg_proc p, pg_proc b WHERE p.oid = 'site.list_feed'::regproc AND b.oid = 'blogstore.list_feed'::regproc;
ROLLBACK;
-- what a site has made of a wrapper that has to go is named
BEGIN;
DROP FUNCTION site.list_feed;
CREATE FUNCTION site.list_feed(page_size integer) RETURNS SETOF site.post_item LANGUAGE sql STABLE AS 'SELECT * FROM site.list_user_posts(NULL)';
COMMENT ON FUNCTION site.list_feed IS 'Made by blogstore.create_api().';
ALTER FUNCTION site.list_feed OWNER TO regress_blogstore_site;
CREATE VIEW kit.newest AS SELECT * FROM site.list_feed(1);
SET ROLE regress_blogstore_site;
SELECT kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_app'')');
ROLLBACK;
-- an item that has grown: old wrappers serve, new ones show it
BEGIN;
CREATE SCHEMA small AUTHORIZATION regress_blogstore_site;
SET ROLE regress_blogstore_site;
CREATE VIEW small.like_item AS SELECT NULL::uuid AS id, NULL::text AS type WHERE false;
COMMENT ON VIEW small.like_item IS 'Made by blogstore.create_api().';
SELECT blogstore.create_api('small', 'regress_blogstore_app');
RESET ROLE;
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(2));
SELECT type, user_username FROM small.list_post_likes(kit.p(1));
ROLLBACK;
-- of the other kind
SET ROLE regress_blogstore_site;
SELECT kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_admin'', as_caller => true)');
RESET ROLE;

--
-- What others have made stays, and is not used
--
CREATE SCHEMA beside AUTHORIZATION regress_blogstore_site;
GRANT ALL ON SCHEMA beside TO regress_blogstore_admin;
CREATE FUNCTION kit.beside(object text, planter text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result	text;
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', planter);
	EXECUTE object;
	SET LOCAL ROLE regress_blogstore_site;
	result := kit.outcome('SELECT blogstore.create_api(''beside'', ''regress_blogstore_app'')');
	RAISE EXCEPTION USING ERRCODE = 'KIT00', MESSAGE = result;
EXCEPTION WHEN SQLSTATE 'KIT00' THEN
	RETURN SQLERRM;
END $$;
-- Each drop runs in a transaction of its own: a server with assertions fails
-- when it decodes much DDL in subtransactions
\pset tuples_only on
SELECT format('SELECT kit.beside(%L, %L)', object, planter) FROM unnest(ARRAY['regress_blogstore_admin', 'regress_blogstore_site']) planter, unnest(ARRAY[
	'CREATE FUNCTION beside.get_post(post_id uuid) RETURNS int LANGUAGE sql AS ''SELECT 1''',
	'CREATE FUNCTION beside.get_post(t text) RETURNS int LANGUAGE sql AS ''SELECT 1''',
	'CREATE TABLE beside.post_item (id uuid)',
	'CREATE TYPE beside.user_item AS (id uuid)',
	'CREATE DOMAIN beside.like_item AS int',
	'CREATE FUNCTION beside.own() RETURNS int LANGUAGE sql AS ''SELECT 1''']) object \gexec
\pset tuples_only off
-- ... with our mark on it, too
SELECT kit.beside('CREATE FUNCTION beside.get_post(t text) RETURNS int LANGUAGE sql AS ''SELECT 1''; COMMENT ON FUNCTION beside.get_post IS ''Made by blogstore.create_api().''', 'regress_blogstore_admin');
SELECT kit.beside('CREATE VIEW beside.post_item AS SELECT 1 AS id; COMMENT ON VIEW beside.post_item IS ''Made by blogstore.create_api().''', 'regress_blogstore_admin');
-- default privileges give nobody a wrapper
ALTER DEFAULT PRIVILEGES FOR ROLE regress_blogstore_site GRANT EXECUTE ON FUNCTIONS TO regress_blogstore_admin;
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('beside', 'regress_blogstore_app');
RESET ROLE;
SELECT grantee FROM kit.wrapper_grants WHERE schema = 'beside'::regnamespace;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_blogstore_site REVOKE EXECUTE ON FUNCTIONS FROM regress_blogstore_admin;
SET client_min_messages = warning;
DROP SCHEMA beside CASCADE;
RESET client_min_messages;
-- a schema of another's; a name that needs quotes
SELECT kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_app'')');
CREATE SCHEMA "An ""odd"" schéma" AUTHORIZATION regress_blogstore_site;
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('An "odd" schéma', '"regress_blogstore ""odd"" Röle"');
SELECT blogstore.create_api('An "odd" schéma', '"regress_blogstore ""odd"" Röle"');
SET ROLE "regress_blogstore ""odd"" Röle";
SELECT title, (SELECT count(*) FROM "An ""odd"" schéma".post_item_comments(p)) FROM "An ""odd"" schéma".get_post(kit.p(1)) p;
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA "An ""odd"" schéma" CASCADE;
RESET client_min_messages;
-- objects in the caller's schemas are not taken for the server's
SET ROLE regress_blogstore_site;
CREATE TEMP TABLE pg_proc (oid oid);
CREATE TEMP TABLE pg_roles (oid oid, rolname name);
SET search_path = pg_temp, site;
SELECT blogstore.create_api('site', 'regress_blogstore_app');
RESET search_path;
DROP TABLE pg_temp.pg_proc, pg_temp.pg_roles;
RESET ROLE;
-- what is made is no member of an extension, or not made
BEGIN;
ALTER EXTENSION blogstore ADD FUNCTION site.get_post(uuid);
SET ROLE regress_blogstore_site;
SELECT kit.outcome('SELECT blogstore.create_api(''site'', ''regress_blogstore_app'')');
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA site CASCADE;
DROP FUNCTION kit.beside;
DROP VIEW kit.wrapper_grants;
REVOKE ALL ON FUNCTION blogstore.create_api FROM regress_blogstore_site;
SELECT blogstore.revoke_requests(r) FROM unnest(ARRAY['regress_blogstore_site', 'regress_blogstore_app', '"regress_blogstore ""odd"" Röle"']::regrole[]) r;
DROP ROLE regress_blogstore_site, regress_blogstore_app, "regress_blogstore ""odd"" Röle", regress_blogstore_admin;
