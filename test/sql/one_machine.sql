--
-- ONE_MACHINE: what differs in a cluster, which passes the other suites:
-- indexes and plans by the names of leaves, how a value is stored, calls that
-- only a cluster allows
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 40);

-- On one machine there is no other node, to be asked or to ask
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('node_of(kit.p(1))'),
	('node_of(NULL)'),
	('serve_post(kit.p(1), ''get_post'', ARRAY[kit.p(1)::text])'),
	('serve_flag(NULL, ''delete_post'', ''{}'')'),
	('put_copies(''{}'')'),
	('touch_copies(''{}'')'),
	('distribute_containers()'),
	('put_feed(''{}'', ''{}'')'),
	('tell_node(1, 0, 0, 0)'),
	('import_begin_part()'),
	('deleting_users()'),
	('import_posts(''{}'', true)'),
	('import_comments(''{}'', ''{}'')'),
	('import_likes(''{}'', ''{}'')'),
	('import_comment_likes(''{}'', ''{}'', ''{}'')'),
	('import_keep_posts(''{}'')'),
	('import_lock_follows()'),
	('import_count_follows(''{}'')'),
	('import_follows(''{}'', ''{}'')'),
	('list_followed(kit.u(1))'),
	('home_feed_copies(''{}'', 1, NULL, NULL, false)'),
	('home_feed_posts(''{}'', 1, NULL, NULL, false)'),
	('import_count_posts(''{}'')'),
	('import_count_comments(''{}'', ''{}'', ''{}'', ''{}'', ''{}'')'),
	('import_same_names(''{}'', ''{}'')'),
	('import_edit_posts(''{}'', now())'),
	('import_edit_comments(''{}'', now())'),
	('repair_part(''{}'', ''{}'', ''{}'', ''{}'', ''{}'', ''{}'')'),
	('repair_copies(''{}'', ''{}'', ''{}'')'),
	('verify_node()'),
	('repair_topics()')) AS v (call);

-- The functions that nodes call on each other cannot be called, with any
-- arguments
CREATE TABLE kit.node_calls AS
SELECT p.proname, kit.try(format('blogstore.%I(%s)', p.proname, (SELECT string_agg(CASE t.type
		WHEN 'uuid'::regtype THEN 'kit.u(1)'
		WHEN 'text'::regtype THEN '''get_post'''
		WHEN 'regrole'::regtype THEN 'current_user::regrole'
		WHEN 'boolean'::regtype THEN 'true'
		WHEN 'timestamptz'::regtype THEN 'now()'
		WHEN 'integer'::regtype THEN '1'
		WHEN 'bigint'::regtype THEN '1'
		WHEN 'uuid[]'::regtype THEN 'ARRAY[kit.u(1)]'
		ELSE '''{}''' END || '::' || format_type(t.type, NULL), ', ' ORDER BY t.n)
	FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t (type, n))))
FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
JOIN pg_proc p ON p.oid = d.objid
WHERE e.extname = 'blogstore' AND obj_description(p.oid, 'pg_proc') ~ '^For .*(cluster|nodes?)';
SELECT try, count(*) > 20 AS many FROM kit.node_calls GROUP BY 1;
DROP TABLE kit.node_calls;
SELECT username FROM blogstore.get_user(kit.u(1));
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Likes by date, where the site has the index for that
SELECT count(blogstore.create_like(kit.p(n), kit.u(u), kit.d((n * 13) % 40 / 2) + n * interval '1 microsecond')) FROM generate_series(1, 40) n, generate_series(1, 3) u WHERE (n + u) % 4 > 0;
CREATE VIEW kit.likes AS SELECT id, post_id, user_id, user_username, creation_date FROM blogstore.posts WHERE type = 'like';
-- a cursor that has lost its microseconds
SELECT kit.try('blogstore.list_user_likes(kit.u(1), by_date => true)');
SELECT format('CREATE INDEX ON %s (user_id, creation_date, id)', c.oid::regclass) FROM pg_partition_tree('blogstore.posts') t JOIN pg_class c ON c.oid = t.relid
WHERE t.isleaf AND pg_get_expr(c.relpartbound, c.oid) ~ $$'(comment_)?like'$$ \gexec
SELECT oldest, kit.compare(format('SELECT id, post_id, user_id, user_username, creation_date FROM blogstore.list_user_likes(kit.u(1), NULL, by_date => true, oldest_first => %L)', oldest),
		format('SELECT * FROM kit.likes WHERE user_id = kit.u(1) ORDER BY creation_date %1$s, id %1$s', CASE WHEN oldest THEN '' ELSE 'DESC' END)),
	kit.walk(format('blogstore.list_user_likes(kit.u(1), $1, NULL, true, $2, $3, %L)', oldest), 4)
		= ARRAY(SELECT id FROM blogstore.list_user_likes(kit.u(1), NULL, by_date => true, oldest_first => oldest)) AS paged,
	kit.walk(format('blogstore.list_user_likes(kit.u(1), $1, NULL, true, $2, $3, %L)', oldest), 4, true)
		= ARRAY(SELECT id FROM blogstore.list_user_likes(kit.u(1), NULL, by_date => true, oldest_first => oldest)) AS paged_cut
FROM (VALUES (false), (true)) o (oldest);
SELECT kit.compare('SELECT post_id FROM blogstore.list_user_likes(kit.u(1), NULL)', 'SELECT post_id FROM kit.likes WHERE user_id = kit.u(1) ORDER BY post_id') AS other_order;
-- an index that one partition lacks, or that cannot be read in the order
BEGIN;
SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index WHERE indexrelid::regclass::text ~ 'p01_like_user_id_creation_date_id_idx$' ORDER BY 1 \gexec
SELECT kit.try('blogstore.list_user_likes(kit.u(1), by_date => true)'), kit.try('blogstore.list_user_likes(kit.u(1), by_date => true, before_date => kit.d(1), before_id => kit.p(1))');
SELECT format('CREATE INDEX ON %s (user_id, creation_date DESC, id DESC)', c.oid::regclass) FROM pg_class c WHERE oid::regclass::text ~ 'p01_like$' \gexec
SELECT kit.try('blogstore.list_user_likes(kit.u(1), by_date => true)'), kit.try('blogstore.list_user_likes(kit.u(1))');
ROLLBACK;
SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index WHERE indexrelid::regclass::text ~ 'like_user_id_creation_date_id_idx$' ORDER BY 1 \gexec
DROP VIEW kit.likes;

-- Without the index of a user's comments
BEGIN;
SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index WHERE indexrelid::regclass::text ~ 'comment_by_user$' ORDER BY 1 \gexec
SELECT kit.try('blogstore.list_user_comments(kit.u(1))');
SELECT blogstore.list_user_comments(kit.u(1));
ROLLBACK;

-- An index on properties serves a query of the site's own, in each partition
CREATE INDEX posts_tags ON blogstore.posts USING gin ((properties -> 'tags')) WHERE type = 'post';
SELECT properties FROM blogstore.edit_post(kit.p(2), properties => '{"tags": ["new", "b"]}');
SET enable_seqscan = off;
SET enable_indexscan = off;
PREPARE tagged(text) AS SELECT title, like_count FROM blogstore.get_posts(ARRAY(
	SELECT post_id FROM blogstore.posts
	WHERE type = 'post' AND properties -> 'tags' ? $1 AND hidden IS NOT TRUE
	ORDER BY creation_date DESC, id DESC LIMIT 20));
EXECUTE tagged('new');
DO $$
DECLARE
	plan	text := '';
	line	text;
	leaves	bigint := (SELECT count(*) FROM pg_inherits WHERE inhparent = 'blogstore.posts'::regclass);
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE tagged(''new'')' LOOP
		plan := plan || line || E'\n';
	END LOOP;
	ASSERT (SELECT count(*) FROM regexp_matches(plan, 'Bitmap Index Scan on posts_p\d+_post_expr_idx', 'g')) = leaves AND plan !~ 'Seq Scan', plan;
END $$;
DEALLOCATE tagged;
RESET enable_seqscan;
RESET enable_indexscan;
DROP INDEX blogstore.posts_tags;
-- what is long comes as it is stored
SELECT kit.try('blogstore.edit_post(kit.p(1), properties => jsonb_build_object(''a'', repeat(''x'', 65000)))');
SELECT length(properties ->> 'a'), pg_column_size(properties) > 60000 AS whole FROM blogstore.get_post(kit.p(1));

SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
