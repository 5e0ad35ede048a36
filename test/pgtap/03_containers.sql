-- The containers: partitions, leaves by type, indexes, and who may touch them.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;
SELECT plan(45);

SELECT is_partitioned('blogstore', c::name, c || ' is partitioned') FROM unnest(ARRAY['users', 'posts', 'feed', 'topics']) c;
SELECT is(pg_get_partkeydef(('blogstore.' || c)::regclass), key, c || ' is partitioned by ' || key)
FROM (VALUES ('users', 'HASH (user_id)'), ('posts', 'HASH (post_id)'), ('feed', 'LIST (type)'), ('topics', 'HASH (topic)')) AS v (c, key);
SELECT is((SELECT count(*)::int FROM pg_inherits WHERE inhparent = ('blogstore.' || c)::regclass), n, c || ' has ' || n || ' partitions by default')
FROM (VALUES ('users', 16), ('posts', 16), ('feed', 1), ('topics', 16)) AS v (c, n);
SELECT is((SELECT count(*)::int FROM pg_partition_tree('blogstore.posts') WHERE isleaf), 80, 'posts has leaves by type');
SELECT is((SELECT count(*)::int FROM pg_partition_tree('blogstore.users') WHERE isleaf), 48, 'users has leaves by type');
SELECT is((SELECT count(*)::int FROM pg_partition_tree('blogstore.topics') WHERE isleaf), 32, 'topics has leaves by type');
SELECT has_table('blogstore', t::name, 'there is a leaf ' || t)
FROM unnest(ARRAY['users_p00_user', 'users_p15_post', 'users_p07_follow', 'posts_p00_post', 'posts_p07_comment', 'posts_p15_like', 'posts_p09_comment_like', 'posts_p03_delta', 'feed_post', 'topics_p00_topic', 'topics_p15_topic_post']) t;

-- A leaf has the items of its type only
SELECT is_empty($$
	SELECT relid::regclass FROM pg_partition_tree('blogstore.posts')
	WHERE isleaf AND pg_get_expr((SELECT relpartbound FROM pg_class WHERE oid = relid), relid)
		NOT IN ('FOR VALUES IN (''post'')', 'FOR VALUES IN (''comment'')', 'FOR VALUES IN (''like'')', 'FOR VALUES IN (''comment_like'')', 'FOR VALUES IN (''delta'')')
$$, 'each leaf of posts holds one type');

-- Columns are the article's properties in snake_case, of built-in types
SELECT is((SELECT array_agg(attname::text ORDER BY attname COLLATE "C") FROM pg_attribute WHERE attrelid = 'blogstore.posts'::regclass AND attnum > 0 AND NOT attisdropped),
	'{comment_count,comment_id,content,creation_date,hidden,id,item_id,like_count,modification_date,parent_id,post_id,properties,publish_date,title,type,user_id,user_username}'::text[], 'columns of posts');
SELECT is((SELECT array_agg(attname::text ORDER BY attname COLLATE "C") FROM pg_attribute WHERE attrelid = 'blogstore.users'::regclass AND attnum > 0 AND NOT attisdropped),
	'{comment_count,content,creation_date,followed_id,followed_username,hidden,id,like_count,modification_date,post_id,properties,publish_date,title,type,user_id,user_username,username}'::text[], 'columns of users');
SELECT is((SELECT array_agg(attname::text ORDER BY attname COLLATE "C") FROM pg_attribute WHERE attrelid = 'blogstore.feed'::regclass AND attnum > 0 AND NOT attisdropped),
	'{comment_count,content,creation_date,id,like_count,modification_date,post_id,properties,title,type,user_id,user_username}'::text[], 'columns of feed');
SELECT is((SELECT array_agg(attname::text ORDER BY attname COLLATE "C") FROM pg_attribute WHERE attrelid = 'blogstore.topics'::regclass AND attnum > 0 AND NOT attisdropped),
	'{creation_date,id,post_count,topic,type,user_id}'::text[], 'columns of topics');

-- The change feed needs to know which item is gone: every leaf that items are
-- deleted from has a replica identity
SELECT is_empty($$
	SELECT c.oid::regclass FROM pg_partition_tree('blogstore.posts') t JOIN pg_class c ON c.oid = t.relid
	WHERE isleaf AND (relreplident = 'n'
		OR relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)
		OR relreplident = 'i' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisreplident))
$$, 'every leaf of posts has a replica identity');
SELECT is_empty($$
	SELECT c.oid::regclass FROM pg_class c
	WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') AND relpersistence <> 'p'
$$, 'all of it is logged');

-- No grants on the tables
SELECT is_empty($$
	SELECT c.oid::regclass, a.grantee::regrole FROM pg_class c, aclexplode(relacl) a
	WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') AND a.grantee <> relowner
$$, 'the tables are granted to no one');

-- The database itself keeps likes to one per user and post, posts and
-- comments to one per id
PREPARE second_like AS INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date)
	SELECT blogstore.new_id(), type, post_id, user_id, user_username, creation_date FROM blogstore.posts
	WHERE type = 'like' AND post_id = kit.p(1) AND user_id = kit.u(1);
SELECT throws_ok('EXECUTE second_like', '23505', NULL, 'a second like of one user cannot be inserted');
PREPARE second_post AS INSERT INTO blogstore.posts SELECT * FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(1);
SELECT throws_ok('EXECUTE second_post', '23505', NULL, 'a second post of one id cannot be inserted');
PREPARE second_comment AS INSERT INTO blogstore.posts SELECT * FROM blogstore.posts WHERE type = 'comment' AND id = kit.c(101);
SELECT throws_ok('EXECUTE second_comment', '23505', NULL, 'a second comment of one id cannot be inserted');
PREPARE second_user AS INSERT INTO blogstore.users SELECT * FROM blogstore.users WHERE type = 'user' AND user_id = kit.u(1);
SELECT throws_ok('EXECUTE second_user', '23505', NULL, 'a second user of one id cannot be inserted');
SELECT throws_ok($$ INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date)
	VALUES (kit.p(1), 'share', kit.p(1), kit.u(1), 'x', now()) $$, '23514', NULL, 'there is no place for another type');

-- Requests serve triggers and constraints of the owner, like any statement
CREATE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	IF NEW.content LIKE '%spam%' THEN
		RAISE 'no spam' USING ERRCODE = 'P0099';
	END IF;
	NEW.content := NEW.content || ' (checked)';
	RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION kit.refuse();
SELECT throws_ok($$ SELECT blogstore.create_comment(kit.p(1), kit.u(1), 'spam') $$, 'P0099', NULL, 'a trigger may refuse an item');
SELECT is((SELECT comment_count FROM blogstore.get_post(kit.p(1))), 20::bigint, 'what was refused is not counted');
SELECT lives_ok($$ SELECT blogstore.create_comment(kit.p(1), kit.u(1), 'ham', kit.c(1), kit.d(5000)) $$, 'a trigger may let it pass');
SELECT is((SELECT content FROM blogstore.list_post_comments(kit.p(1), 1)), 'ham (checked)', 'a trigger may change it');
ALTER TABLE blogstore.posts ADD CONSTRAINT no_shouting CHECK (title <> upper(title)) NOT VALID;
SELECT throws_ok($$ SELECT blogstore.edit_post(kit.p(1), 'SHOUT') $$, '23514', NULL, 'a constraint holds for a request');
SELECT throws_ok($$ SELECT blogstore.create_post(kit.u(1), 'SHOUT', 'x') $$, '23514', NULL, 'and for another one');

SELECT * FROM finish();
ROLLBACK;
