-- Every function of the interface: its arguments, result, volatility, language
-- and privileges.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;

CREATE TEMP TABLE request (name text, args text[], result text, volatility text, is_set bool, parallel "char");
INSERT INTO request VALUES
	('create_user', '{text,uuid,timestamptz,jsonb}', 'blogstore.user_item', 'volatile', false, 'u'),
	('edit_user', '{uuid,text,jsonb}', 'blogstore.user_item', 'volatile', false, 'u'),
	('create_post', '{uuid,text,text,uuid,timestamptz,jsonb,bool,timestamptz}', 'blogstore.post_item', 'volatile', false, 'u'),
	('edit_post', '{uuid,text,text,jsonb}', 'blogstore.post_item', 'volatile', false, 'u'),
	('create_comment', '{uuid,uuid,text,uuid,timestamptz,jsonb,bool,uuid}', 'blogstore.comment_item', 'volatile', false, 'u'),
	('create_like', '{uuid,uuid,timestamptz,uuid}', 'blogstore.like_item', 'volatile', false, 'u'),
	('edit_comment', '{uuid,uuid,text,jsonb}', 'blogstore.comment_item', 'volatile', false, 'u'),
	('hide_post', '{uuid,bool}', 'blogstore.post_item', 'volatile', false, 'u'),
	('publish_post', '{uuid}', 'blogstore.post_item', 'volatile', false, 'u'),
	('schedule_post', '{uuid,timestamptz}', 'blogstore.post_item', 'volatile', false, 'u'),
	('hide_comment', '{uuid,uuid,bool}', 'blogstore.comment_item', 'volatile', false, 'u'),
	('follow_user', '{uuid,uuid,timestamptz}', 'blogstore.follow_item', 'volatile', false, 'u'),
	('unfollow_user', '{uuid,uuid}', 'boolean', 'volatile', false, 'u'),
	('get_follows', '{uuid,uuid[]}', 'setof blogstore.follow_item', 'stable', true, 's'),
	('list_home_feed', '{uuid,int4,timestamptz,uuid,bool}', 'setof blogstore.post_item', 'stable', true, 's'),
	('list_following', '{uuid,int4,timestamptz,uuid,bool}', 'setof blogstore.follow_item', 'stable', true, 's'),
	('list_followers', '{uuid,int4,timestamptz,uuid,bool}', 'setof blogstore.follow_item', 'stable', true, 's'),
	('delete_like', '{uuid,uuid,uuid}', 'boolean', 'volatile', false, 'u'),
	('delete_comment', '{uuid,uuid}', 'boolean', 'volatile', false, 'u'),
	('delete_post', '{uuid}', 'boolean', 'volatile', false, 'u'),
	('delete_user', '{uuid}', 'boolean', 'volatile', false, 'u'),
	('get_user', '{uuid}', 'setof blogstore.user_item', 'stable', true, 's'),
	('get_user_by_name', '{text}', 'setof blogstore.user_item', 'stable', true, 's'),
	('get_post', '{uuid}', 'setof blogstore.post_item', 'stable', true, 's'),
	('list_user_posts', '{uuid,int4,timestamptz,uuid,bool,bool}', 'setof blogstore.post_item', 'stable', true, 's'),
	('list_post_comments', '{uuid,int4,timestamptz,uuid,bool,bool,bool}', 'setof blogstore.comment_item', 'stable', true, 's'),
	('list_comment_replies', '{uuid,uuid,int4,timestamptz,uuid,bool,bool}', 'setof blogstore.comment_item', 'stable', true, 's'),
	('list_user_comments', '{uuid,int4,timestamptz,uuid,bool,bool}', 'setof blogstore.comment_item', 'stable', true, 's'),
	('list_user_likes', '{uuid,int4,uuid,bool,timestamptz,uuid,bool,uuid}', 'setof blogstore.like_item', 'stable', true, 's'),
	('list_post_likes', '{uuid,int4,timestamptz,uuid,bool}', 'setof blogstore.like_item', 'stable', true, 's'),
	('list_comment_likes', '{uuid,uuid,int4,timestamptz,uuid,bool}', 'setof blogstore.like_item', 'stable', true, 's'),
	('list_feed', '{int4,timestamptz,uuid,bool}', 'setof blogstore.post_item', 'stable', true, 's'),
	('list_topic_posts', '{text,int4,timestamptz,uuid,bool}', 'setof blogstore.post_item', 'stable', true, 's'),
	('list_topics', '{text,int4,text}', 'setof blogstore.topic_item', 'stable', true, 's'),
	('get_like', '{uuid,uuid,uuid}', 'setof blogstore.like_item', 'stable', true, 's'),
	('get_posts', '{uuid[]}', 'setof blogstore.post_item', 'stable', true, 's'),
	('get_comment', '{uuid,uuid}', 'setof blogstore.comment_item', 'stable', true, 's'),
	('get_users', '{uuid[]}', 'setof blogstore.user_item', 'stable', true, 's'),
	('get_likes', '{uuid,uuid[]}', 'setof blogstore.like_item', 'stable', true, 's'),
	('get_comment_likes', '{uuid,uuid}', 'setof blogstore.like_item', 'stable', true, 's'),
	('create_containers', '{int4,regrole,bool}', 'void', 'volatile', false, 'u'),
	('create_node_tables', '{regrole}', 'integer', 'volatile', false, 'u'),
	('distribute_containers', '{int4,bool}', 'void', 'volatile', false, 'u'),
	('node_of', '{uuid}', 'record', 'stable', false, 'u'),
	('serve_post', '{uuid,text,text[],bool,int8}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('serve_comment', '{uuid,text,text[],bool,int8}', 'setof blogstore.comment_item', 'volatile', true, 'u'),
	('serve_like', '{uuid,text,text[],bool,int8}', 'setof blogstore.like_item', 'volatile', true, 'u'),
	('serve_topic', '{uuid,text,text[],bool,int8}', 'setof blogstore.topic_item', 'volatile', true, 'u'),
	('serve_follow', '{uuid,text,text[],bool,int8}', 'setof blogstore.follow_item', 'volatile', true, 'u'),
	('serve_flag', '{uuid,text,text[],bool,int8}', 'setof boolean', 'volatile', true, 'u'),
	('list_followed', '{uuid}', 'setof blogstore.follow_item', 'volatile', true, 'u'),
	('home_feed_copies', '{uuid[],int4,timestamptz,uuid,bool}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('home_feed_posts', '{uuid[],int4,timestamptz,uuid,bool}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('put_copies', '{blogstore.post_item[]}', 'boolean', 'volatile', false, 'u'),
	('touch_copies', '{blogstore.post_item[]}', 'boolean', 'volatile', false, 'u'),
	('put_feed', '{blogstore.post_item[],int4[]}', 'void', 'volatile', false, 'u'),
	('tell_node', '{int4,int4,int8,int8}', 'void', 'volatile', false, 'u'),
	('views_served', '{}', 'boolean', 'volatile', false, 'u'),
	('views_look', '{}', 'bigint', 'volatile', false, 'u'),
	('views_unsettled', '{bigint,uuid[]}', 'uuid[]', 'volatile', false, 'u'),
	('verify_node', '{}', 'jsonb', 'volatile', false, 'u'),
	('begin_user_deletion', '{uuid}', 'boolean', 'volatile', false, 'u'),
	('revive_user', '{uuid}', 'boolean', 'volatile', false, 'u'),
	('import_begin_part', '{}', 'boolean', 'volatile', false, 'u'),
	('deleting_users', '{}', 'setof blogstore.like_item', 'volatile', true, 'u'),
	('import_posts', '{uuid[],bool}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('import_comments', '{uuid[],uuid[]}', 'setof blogstore.comment_item', 'volatile', true, 'u'),
	('import_likes', '{uuid[],uuid[]}', 'setof blogstore.like_item', 'volatile', true, 'u'),
	('import_comment_likes', '{uuid[],uuid[],uuid[]}', 'setof blogstore.like_item', 'volatile', true, 'u'),
	('import_keep_posts', '{uuid[]}', 'boolean', 'volatile', false, 'u'),
	('import_lock_follows', '{}', 'boolean', 'volatile', false, 'u'),
	('import_count_follows', '{uuid[]}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('import_follows', '{uuid[],uuid[]}', 'setof blogstore.follow_item', 'volatile', true, 'u'),
	('import_count_posts', '{uuid[]}', 'boolean', 'volatile', false, 'u'),
	('import_count_comments', '{uuid[],uuid[],int8[],int8[],bool[]}', 'boolean', 'volatile', false, 'u'),
	('import_same_names', '{uuid[],text[]}', 'boolean', 'volatile', false, 'u'),
	('import_edit_posts', '{blogstore.post_item[],timestamptz}', 'setof blogstore.like_item', 'volatile', true, 'u'),
	('import_edit_comments', '{blogstore.comment_item[],timestamptz}', 'setof blogstore.like_item', 'volatile', true, 'u'),
	('repair_part', '{text[],text[],text[],uuid[],uuid[],uuid[]}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('repair_copies', '{uuid[],uuid[],timestamptz[]}', 'setof blogstore.post_item', 'volatile', true, 'u'),
	('repair_topics', '{}', 'boolean', 'volatile', false, 'u'),
	('get_worker_status', '{}', 'record', 'volatile', false, 'u'),
	('get_workers_status', '{}', 'setof record', 'volatile', true, 'u'),
	('get_cluster_status', '{text}', 'setof record', 'volatile', true, 'u'),
	('new_id', '{}', 'uuid', 'volatile', false, 's'),
	('key_id', '{text,text}', 'uuid', 'immutable', false, 's'),
	('wait_for_views', '{interval}', 'boolean', 'volatile', false, 'u'),
	('wait_for_posts', '{interval}', 'boolean', 'volatile', false, 'u'),
	('rebuild_views', '{}', 'void', 'volatile', false, 'u'),
	('verify', '{}', 'setof record', 'stable', true, NULL),
	('repair', '{}', 'bigint', 'volatile', false, 'u'),
	('start_worker', '{}', 'void', 'volatile', false, 'u'),
	('stop_worker', '{boolean}', 'void', 'volatile', false, 'u');
-- pgTAP names types as format_type() does
CREATE TEMP TABLE resolved AS
SELECT name, ARRAY(SELECT format_type(a::regtype, NULL) FROM unnest(args) WITH ORDINALITY x (a, n) ORDER BY n)::name[] AS args,
	('blogstore.' || name || '(' || array_to_string(args, ',') || ')')::regprocedure AS oid, result, volatility, is_set, parallel
FROM request;

SELECT plan((SELECT 9 * count(*)::int FROM request) + 38);

SELECT has_function('blogstore', name, args) FROM resolved;
SELECT volatility_is('blogstore', name, args, volatility) FROM resolved;
SELECT function_lang_is('blogstore', name, args, 'c') FROM resolved;
SELECT is((SELECT CASE WHEN proretset THEN 'setof ' ELSE '' END || prorettype::regtype::text FROM pg_proc p WHERE p.oid = r.oid),
	result, 'result of ' || name) FROM resolved r;
SELECT is((SELECT proretset FROM pg_proc p WHERE p.oid = r.oid), is_set, 'a set or not: ' || name) FROM resolved r;
SELECT ok(parallel IS NULL OR (SELECT proparallel = parallel FROM pg_proc p WHERE p.oid = r.oid), 'parallel safety of ' || name) FROM resolved r;
SELECT is((SELECT count(*)::int FROM pg_proc p WHERE pronamespace = 'blogstore'::regnamespace AND proname = name), 1, 'one function has the name ' || name) FROM resolved;
SELECT ok(NOT has_function_privilege('public', oid, 'EXECUTE'), 'PUBLIC may not call ' || name) FROM resolved;
SELECT isnt(obj_description(oid, 'pg_proc'), NULL, 'there is a comment on ' || name) FROM resolved;

-- Names and defaults of arguments: as the calls by name use them
SELECT is(pg_get_function_arguments(oid), wanted, 'arguments of ' || name)
FROM resolved JOIN (VALUES
	('create_user', 'username text, user_id uuid DEFAULT NULL::uuid, creation_date timestamp with time zone DEFAULT NULL::timestamp with time zone, properties jsonb DEFAULT NULL::jsonb'),
	('edit_user', 'user_id uuid, username text DEFAULT NULL::text, properties jsonb DEFAULT NULL::jsonb'),
	('create_post', 'user_id uuid, title text, content text, post_id uuid DEFAULT NULL::uuid, creation_date timestamp with time zone DEFAULT NULL::timestamp with time zone, properties jsonb DEFAULT NULL::jsonb, hidden boolean DEFAULT false, publish_date timestamp with time zone DEFAULT NULL::timestamp with time zone'),
	('edit_post', 'post_id uuid, title text DEFAULT NULL::text, content text DEFAULT NULL::text, properties jsonb DEFAULT NULL::jsonb'),
	('create_comment', 'post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL::uuid, creation_date timestamp with time zone DEFAULT NULL::timestamp with time zone, properties jsonb DEFAULT NULL::jsonb, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL::uuid'),
	('create_like', 'post_id uuid, user_id uuid, creation_date timestamp with time zone DEFAULT NULL::timestamp with time zone, comment_id uuid DEFAULT NULL::uuid'),
	('edit_comment', 'post_id uuid, comment_id uuid, content text DEFAULT NULL::text, properties jsonb DEFAULT NULL::jsonb'),
	('hide_post', 'post_id uuid, hidden boolean DEFAULT true'),
	('publish_post', 'post_id uuid'),
	('schedule_post', 'post_id uuid, publish_date timestamp with time zone'),
	('hide_comment', 'post_id uuid, comment_id uuid, hidden boolean DEFAULT true'),
	('list_user_posts', 'user_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false'),
	('list_post_comments', 'post_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false, top_level boolean DEFAULT false'),
	('list_comment_replies', 'post_id uuid, parent_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false'),
	('list_user_comments', 'user_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false'),
	('list_user_likes', 'user_id uuid, page_size integer DEFAULT 20, after_post_id uuid DEFAULT NULL::uuid, by_date boolean DEFAULT false, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false, after_comment_id uuid DEFAULT NULL::uuid'),
	('list_post_likes', 'post_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('list_feed', 'page_size integer DEFAULT 100, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('get_like', 'post_id uuid, user_id uuid, comment_id uuid DEFAULT NULL::uuid'),
	('list_topic_posts', 'topic text, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('follow_user', 'user_id uuid, followed_id uuid, creation_date timestamp with time zone DEFAULT NULL::timestamp with time zone'),
	('unfollow_user', 'user_id uuid, followed_id uuid'),
	('get_follows', 'user_id uuid, followed_ids uuid[]'),
	('list_home_feed', 'user_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('list_followers', 'user_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('list_following', 'user_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('list_topics', 'prefix text DEFAULT ''''::text, page_size integer DEFAULT 100, after_topic text DEFAULT NULL::text'),
	('get_posts', 'post_ids uuid[]'),
	('get_comment', 'post_id uuid, comment_id uuid'),
	('get_users', 'user_ids uuid[]'),
	('get_likes', 'user_id uuid, post_ids uuid[]'),
	('get_comment_likes', 'user_id uuid, post_id uuid'),
	('list_comment_likes', 'post_id uuid, comment_id uuid, page_size integer DEFAULT 20, before_date timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id uuid DEFAULT NULL::uuid, oldest_first boolean DEFAULT false'),
	('key_id', 'type text, key text'),
	('create_containers', 'partitions integer DEFAULT 16, owner regrole DEFAULT NULL::regrole, distributed boolean DEFAULT NULL::boolean'),
	('wait_for_views', 'timeout interval DEFAULT ''00:00:30''::interval'),
	('wait_for_posts', 'timeout interval DEFAULT ''00:00:05''::interval'),
	('stop_worker', 'drop_slot boolean DEFAULT false')) AS v (name, wanted) USING (name);

SELECT * FROM finish();
ROLLBACK;
