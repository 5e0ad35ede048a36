-- The item types, their casts, and the monitoring views.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;
SELECT plan(55);

SELECT has_schema('blogstore');
SELECT has_extension('blogstore', 'blogstore');
SELECT has_type('blogstore', t::name) FROM unnest(ARRAY['user_item', 'post_item', 'comment_item', 'like_item', 'follow_item', 'topic_item']) t;
SELECT is((SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
		FROM pg_attribute WHERE attrelid = ('blogstore.' || name)::regclass AND attnum > 0),
	properties, name || ' has the article''s properties in order')
FROM (VALUES
	('user_item', 'id uuid, type text, user_id uuid, username text, creation_date timestamp with time zone, properties jsonb'),
	('post_item', 'id uuid, type text, post_id uuid, user_id uuid, user_username text, title text, content text, comment_count bigint, like_count bigint, creation_date timestamp with time zone, hidden boolean, modification_date timestamp with time zone, properties jsonb, publish_date timestamp with time zone'),
	('comment_item', 'id uuid, type text, post_id uuid, user_id uuid, user_username text, content text, creation_date timestamp with time zone, parent_id uuid, parent_deleted boolean, hidden boolean, modification_date timestamp with time zone, properties jsonb, like_count bigint, reply_count bigint'),
	('like_item', 'id uuid, type text, post_id uuid, user_id uuid, user_username text, creation_date timestamp with time zone, comment_id uuid'),
	('follow_item', 'id uuid, type text, user_id uuid, user_username text, followed_id uuid, followed_username text, creation_date timestamp with time zone'),
	('topic_item', 'topic text, post_count bigint')) AS v (name, properties);
SELECT is((SELECT castcontext::text || castmethod::text FROM pg_cast WHERE castsource = ('blogstore.' || t)::regtype AND casttarget = 'jsonb'::regtype),
	'af', 'there is a cast from ' || t || ' to jsonb')
FROM unnest(ARRAY['user_item', 'post_item', 'comment_item', 'like_item', 'follow_item']) t;

-- Documents: the article's names, as far as the item has them
SELECT set_eq('SELECT jsonb_object_keys(i::jsonb) FROM blogstore.get_user(kit.u(1)) i',
	ARRAY['id', 'type', 'userId', 'username', 'creationDate'], 'properties of a user document');
SELECT set_eq('SELECT jsonb_object_keys(i::jsonb) FROM blogstore.get_post(kit.p(1)) i',
	ARRAY['id', 'type', 'postId', 'userId', 'userUsername', 'title', 'content', 'commentCount', 'likeCount', 'creationDate'], 'properties of a post document');
SELECT set_eq('SELECT jsonb_object_keys(i::jsonb) FROM blogstore.list_post_comments(kit.p(1), 1) i',
	ARRAY['id', 'type', 'postId', 'userId', 'userUsername', 'content', 'creationDate', 'likeCount', 'replyCount'], 'properties of a comment document');
SELECT set_eq('SELECT jsonb_object_keys(i::jsonb) FROM blogstore.list_post_likes(kit.p(1), 1) i',
	ARRAY['id', 'type', 'postId', 'userId', 'userUsername', 'creationDate'], 'properties of a like document');

SELECT has_view('blogstore', v::name, 'there is a view ' || v) FROM unnest(ARRAY['stat_worker', 'stat_workers', 'progress', 'stat_requests', 'cluster_stat_worker', 'cluster_progress', 'cluster_stat_requests']) v;
SELECT columns_are('blogstore', 'stat_worker', ARRAY['state', 'pid', 'slot', 'lag_bytes', 'lag_time', 'applied_lsn', 'retained_bytes', 'wal_status', 'safe_wal_size', 'batches', 'changes', 'rebuilds', 'last_rebuild_reason', 'last_rebuild_at', 'started_at', 'last_error', 'last_error_at', 'hint']);
SELECT is((SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'blogstore.stat_workers'::regclass AND attnum > 0),
	'{database}' || (SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'blogstore.stat_worker'::regclass AND attnum > 0),
	'stat_workers has the columns of stat_worker, after the database');
SELECT columns_are('blogstore', 'progress', ARRAY['kind', 'user_id', 'phase', 'done', 'total', 'rows_per_second', 'started_at', 'estimated_end']);
SELECT columns_are('blogstore', 'stat_requests', ARRAY['request', 'function', 'calls', 'rows', 'caller_errors', 'server_errors', 'total_time', 'p50_time', 'p95_time', 'p99_time', 'max_time', 'buffers_hit', 'buffers_read', 'wal_bytes', 'request_units', 'units_per_call', 'stats_reset']);
SELECT columns_are('blogstore', 'cluster_stat_requests', ARRAY['node', 'host', 'port', 'node_error', 'request', 'function', 'calls', 'rows', 'caller_errors', 'server_errors', 'total_time', 'p50_time', 'p95_time', 'p99_time', 'max_time', 'buffers_hit', 'buffers_read', 'wal_bytes', 'request_units', 'units_per_call', 'stats_reset']);
SELECT is((SELECT count(*)::int FROM blogstore.stat_worker), 1, 'stat_worker always has one row');
SELECT is((SELECT state FROM blogstore.stat_worker), 'running', 'the worker runs');
SELECT is_empty('SELECT * FROM blogstore.progress', 'no job is under way');
SELECT ok(NOT has_table_privilege('public', 'blogstore.' || v, 'SELECT'), 'PUBLIC may not read ' || v) FROM unnest(ARRAY['stat_worker', 'stat_workers', 'progress', 'stat_requests', 'cluster_stat_worker', 'cluster_progress', 'cluster_stat_requests']) v;
SELECT ok(has_table_privilege('pg_monitor', 'blogstore.' || v, 'SELECT'), 'pg_monitor may read ' || v) FROM unnest(ARRAY['stat_worker', 'stat_workers', 'progress', 'stat_requests', 'cluster_stat_worker', 'cluster_progress', 'cluster_stat_requests']) v;

SELECT is(current_setting('blogstore.feed_size'), '100', 'feed_size is 100');
SELECT is(current_setting('blogstore.short_form_length'), '200', 'short_form_length is 200');
SELECT is_empty($$
	SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend d
	WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'blogstore')
		AND classid = 'pg_class'::regclass AND (SELECT relkind FROM pg_class WHERE oid = objid) NOT IN ('v', 'c')
$$, 'no table is a member of the extension');

SELECT * FROM finish();
ROLLBACK;
