--
-- UPGRADE: upgrade_containers() on containers that are as this version makes them,
-- but for what was done to them here; those of older versions have a TAP test
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 6);
CALL blogstore.upgrade_containers();

-- Each chunk is a transaction
BEGIN;
CALL blogstore.upgrade_containers();
ROLLBACK;
CREATE FUNCTION kit.upgrade() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL blogstore.upgrade_containers(); END $$;
SELECT kit.upgrade();
DROP FUNCTION kit.upgrade();
SET default_transaction_isolation = 'repeatable read';
CALL blogstore.upgrade_containers();
SET default_transaction_isolation = 'read committed';
SET default_transaction_read_only = on;
CALL blogstore.upgrade_containers();
SET default_transaction_read_only = off;
-- ... where a block has transactions of its own, it runs
DO $$ BEGIN CALL blogstore.upgrade_containers(); END $$;
SELECT blogstore.upgrade_containers();

-- Posts written past blogstore have no counters
SELECT count(blogstore.create_like(kit.p(n), kit.u(m))) FROM generate_series(1, 6) n, generate_series(1, 3) m WHERE n >= m;
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(1), 'user 1', 'past', 'blogstore', 0, 0, kit.d(n) FROM generate_series(7, 8) n;
SELECT blogstore.wait_for_views();
CALL blogstore.upgrade_containers();
SELECT p.title, d.id IS NOT NULL AS counter
FROM blogstore.posts p LEFT JOIN blogstore.posts d ON d.post_id = p.post_id AND d.type = 'delta' AND d.id = '00000000-0000-0000-0000-000000000000'
WHERE p.type = 'post' ORDER BY p.post_id;
SELECT count(blogstore.create_like(kit.p(7), kit.u(m))) FROM generate_series(1, 3) m;
SELECT title, like_count FROM blogstore.get_post(kit.p(7));

-- What 0.1 has set is set anew; what the owner has set stays
DO $$
DECLARE
	leaf	regclass;
BEGIN
	FOR leaf IN SELECT oid FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relname ~ '^posts_p\d+_delta$' LOOP
		EXECUTE format('ALTER TABLE %s SET (fillfactor = 10, autovacuum_vacuum_scale_factor = 0)', leaf);
	END LOOP;
	FOR leaf IN SELECT oid FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relname ~ '^users_p\d+_post$' LOOP
		EXECUTE format('ALTER TABLE %s SET (fillfactor = 80), ALTER title DROP NOT NULL, ALTER like_count DROP NOT NULL', leaf);
	END LOOP;
END $$;
ALTER TABLE blogstore.posts_p00_delta SET (autovacuum_vacuum_scale_factor = 0.2);
ALTER TABLE blogstore.users_p00_post SET (fillfactor = 81), ALTER like_count SET NOT NULL;
ALTER TABLE blogstore.users_p01_post ALTER title SET NOT NULL;
CALL blogstore.upgrade_containers();
SELECT reloptions, count(*) FROM pg_class
WHERE relnamespace = 'blogstore'::regnamespace AND relname ~ '^(posts_p\d+_delta|users_p\d+_post)$' GROUP BY 1 ORDER BY 2, 1;
SELECT count(*) AS nullable FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
WHERE c.relnamespace = 'blogstore'::regnamespace AND c.relname ~ '^users_p\d+_post$' AND attname IN ('title', 'like_count') AND NOT attnotnull;
CALL blogstore.upgrade_containers();
ALTER TABLE blogstore.posts_p00_delta SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE blogstore.users_p00_post SET (fillfactor = 100);

-- A partition that has no place for counters has none, and is passed by
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(1), 'user 1', 'past', 'blogstore', 0, 0, kit.d(n) FROM generate_series(21, 40) n;
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_delta;
CALL blogstore.upgrade_containers();
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_delta FOR VALUES IN ('delta');
-- ... and a leaf that is not what it should be is told of, and the rest goes on
ALTER TABLE blogstore.posts_p00_delta DROP CONSTRAINT posts_p00_delta_pkey;
CALL blogstore.upgrade_containers();
ALTER TABLE blogstore.posts_p00_delta ADD PRIMARY KEY (post_id, id);
CALL blogstore.upgrade_containers();
CALL blogstore.upgrade_containers();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
