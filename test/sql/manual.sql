--
-- MANUAL: every object of the extension has a comment of one short sentence
--
SELECT pg_describe_object(d.classid, d.objid, 0)
FROM pg_depend d
WHERE d.deptype = 'e'
	AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore')
	AND coalesce(obj_description(d.objid, d.classid::regclass::name), '') = ''
	-- an item type's row and array types are parts of it
	AND NOT (d.classid = 'pg_type'::regclass
		AND EXISTS (SELECT FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
			WHERE t.oid = d.objid AND (t.typelem <> 0 OR c.relkind = 'v')))
	AND NOT (d.classid = 'pg_class'::regclass
		AND EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND c.relkind = 'c'));
-- the containers too, though they are no members of it
SELECT c.oid::regclass AS container
FROM pg_class c
WHERE c.oid IN ('blogstore.users'::regclass, 'blogstore.posts'::regclass, 'blogstore.feed'::regclass)
	AND coalesce(obj_description(c.oid, 'pg_class'), '') = '';

-- psql prints comments in tables, so each is one line; so are the descriptions
-- of the settings
SELECT pg_describe_object(d.classid, d.objid, 0) AS object, obj_description(d.objid, d.classid::regclass::name) AS comment
FROM pg_depend d
WHERE d.deptype = 'e'
	AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore')
	AND obj_description(d.objid, d.classid::regclass::name) !~ '^[^\n]{5,77}\.$';
SELECT c.oid::regclass AS container, obj_description(c.oid, 'pg_class') AS comment
FROM pg_class c
WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p')
	AND obj_description(c.oid, 'pg_class') !~ '^[^\n]{5,77}\.$';
SELECT name, short_desc FROM pg_settings WHERE name LIKE 'blogstore.%' AND short_desc !~ '^[^\n]{5,77}\.$';

-- One name per function; their signatures are in pgtap/01_functions.sql
SELECT proname FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace GROUP BY 1 HAVING count(*) > 1;
SELECT t.typname, string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) AS properties
FROM pg_type t JOIN pg_class c ON c.oid = typrelid JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
WHERE typnamespace = 'blogstore'::regnamespace AND relkind = 'c'
GROUP BY t.typname ORDER BY t.typname COLLATE "C";
SELECT name, setting, unit, context FROM pg_settings WHERE name LIKE 'blogstore.%' ORDER BY name COLLATE "C";
-- settings have a description
SELECT name FROM pg_settings WHERE name LIKE 'blogstore.%' AND coalesce(short_desc, '') = '';
-- every command and query that takes arguments names them all
SELECT p.oid::regprocedure FROM pg_proc p
WHERE pronamespace = 'blogstore'::regnamespace AND pronargs > 0
	AND (proargnames IS NULL OR '' = ANY (proargnames));
