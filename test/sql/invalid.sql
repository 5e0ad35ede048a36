--
-- INVALID: the owner has dropped the constraints and written NULL where an
-- item must have a value. verify() reports each. verify() and repair() do not
-- fail, and repair() mends what can be derived from other values.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT kit.fill(3, 4);
SELECT count(blogstore.create_comment(kit.p(p), kit.u(u), 'comment', kit.c(10 * p + u), kit.d(p))), count(blogstore.create_like(kit.p(p), kit.u(u), kit.d(p)))
FROM generate_series(1, 4) p, generate_series(1, 3) u;
SELECT blogstore.wait_for_views();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
SELECT kit.digest() AS digest \gset

-- in a transaction, of which the worker sees nothing
BEGIN;
-- the columns of a primary key can be NULL where it is a unique index
DO $$
DECLARE
	r	record;
BEGIN
	FOR r IN SELECT conrelid::regclass AS leaf, conname, replace(pg_get_constraintdef(c.oid), 'PRIMARY KEY', '') AS columns
		FROM pg_constraint c, unnest(ARRAY['users', 'posts', 'feed']) root, pg_partition_tree(('blogstore.' || root)::regclass) t
		WHERE contype = 'p' AND conrelid = t.relid
	LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', r.leaf, r.conname);
		EXECUTE format('CREATE UNIQUE INDEX ON %s %s', r.leaf, r.columns);
		EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', r.leaf);
	END LOOP;
	FOR depth IN 0 .. 2 LOOP
		FOR r IN SELECT t.relid::regclass AS tab, attname
			FROM pg_attribute a, unnest(ARRAY['users', 'posts', 'feed']) root, pg_partition_tree(('blogstore.' || root)::regclass) t
			WHERE attrelid = t.relid AND t.level = depth AND attnum > 0 AND attnotnull AND attname <> 'type'
		LOOP
			EXECUTE format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', r.tab, r.attname);
		END LOOP;
	END LOOP;
END $$;
ALTER TABLE blogstore.usernames ALTER COLUMN user_id DROP NOT NULL;
ALTER TABLE blogstore.jobs ALTER COLUMN kind DROP NOT NULL, ALTER COLUMN phase DROP NOT NULL, ALTER COLUMN partition_number DROP NOT NULL, ALTER COLUMN done DROP NOT NULL, ALTER COLUMN created_at DROP NOT NULL;

-- what verify() shows of an update, and what is left after repair()
CREATE FUNCTION kit.shown(OUT container text, OUT problem text, OUT type text, OUT id text, OUT post_id text, OUT user_id text, OUT expected text, OUT actual text)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT v.container, v.problem, v.type, right(v.id::text, 6), right(v.post_id::text, 6), right(v.user_id::text, 6), left(v.expected, 20), left(v.actual, 20)
	FROM blogstore.verify() v
	ORDER BY v.container COLLATE "C", v.problem COLLATE "C", v.type COLLATE "C", v.id, v.actual COLLATE "C"
$$;

-- A user without each of the properties
SAVEPOINT s;
UPDATE blogstore.users SET username = NULL WHERE type = 'user' AND user_id = kit.u(1);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT count(*) FROM blogstore.verify();
ROLLBACK TO s;
UPDATE blogstore.users SET id = NULL, creation_date = NULL WHERE type = 'user' AND user_id = kit.u(1);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT count(*) FROM blogstore.verify();
ROLLBACK TO s;

-- A post: what can be told from others is mended, counts and name
UPDATE blogstore.posts SET comment_count = NULL, like_count = NULL, user_username = NULL WHERE type = 'post' AND post_id = kit.p(1);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
SELECT kit.digest() = :'digest' AS mended;
ROLLBACK TO s;
-- and what cannot is not
UPDATE blogstore.posts SET user_id = NULL WHERE type = 'post' AND post_id = kit.p(1);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
ROLLBACK TO s;
UPDATE blogstore.posts SET id = NULL, title = NULL, content = NULL, creation_date = NULL WHERE type = 'post' AND post_id = kit.p(1);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
ROLLBACK TO s;

-- Comments and likes
UPDATE blogstore.posts SET user_username = NULL WHERE type IN ('comment', 'like') AND post_id = kit.p(2) AND user_id = kit.u(1);
SELECT container, problem, type, post_id, user_id, expected, actual FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
SELECT kit.digest() = :'digest' AS mended;
ROLLBACK TO s;
UPDATE blogstore.posts SET user_id = NULL WHERE type IN ('comment', 'like') AND post_id = kit.p(2) AND user_id = kit.u(1);
SELECT container, problem, type, post_id, user_id, expected, actual FROM kit.shown();
UPDATE blogstore.posts SET user_username = NULL, content = NULL, creation_date = NULL WHERE type = 'comment' AND id = kit.c(22);
SELECT container, problem, type, post_id, user_id, expected, actual FROM kit.shown() WHERE type = 'comment';
UPDATE blogstore.posts SET id = kit.c(90) WHERE type = 'like' AND post_id = kit.p(2) AND user_id IS NULL;
SELECT blogstore.repair();
SELECT container, problem, type, post_id, user_id, expected, actual FROM kit.shown();
ROLLBACK TO s;

-- A delta
INSERT INTO blogstore.posts (id, type, post_id, item_id, like_count) VALUES (kit.c(99), 'delta', kit.p(3), kit.p(3), 1);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
SELECT kit.digest() = :'digest' AS mended;
ROLLBACK TO s;

-- Names, jobs: those that lack a value hide nothing of the others
INSERT INTO blogstore.usernames VALUES ('nobody', NULL);
UPDATE blogstore.usernames SET user_id = NULL WHERE user_id = kit.u(2);
INSERT INTO blogstore.jobs (id, kind, user_id, phase, done) VALUES (kit.c(1), 'deletion', NULL, 0, 0), (kit.c(2), 'rename', kit.u(1), NULL, NULL), (kit.c(3), NULL, kit.u(1), 0, 0);
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, content, creation_date)
VALUES (kit.c(9999), 'comment', kit.p(999), kit.u(1), 'user 1', 'orphan', kit.d(1));
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
ROLLBACK TO s;

-- Values at their bounds
UPDATE blogstore.posts SET like_count = 9223372036854775807 WHERE type = 'post' AND post_id = kit.p(3);
INSERT INTO blogstore.posts (id, type, post_id, item_id, comment_count, like_count) VALUES (kit.c(99), 'delta', kit.p(3), kit.p(3), -9223372036854775808, 9223372036854775807);
SELECT problem, expected, actual FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
SELECT kit.digest() = :'digest' AS mended;
ROLLBACK TO s;

-- Copies, and the feed
UPDATE blogstore.users SET user_username = NULL WHERE type = 'post' AND post_id = kit.p(1);
UPDATE blogstore.users SET creation_date = NULL WHERE type = 'post' AND post_id = kit.p(2);
UPDATE blogstore.feed SET like_count = NULL WHERE post_id = kit.p(3);
UPDATE blogstore.feed SET user_id = NULL WHERE post_id = kit.p(4);
SELECT * FROM kit.shown();
SELECT blogstore.repair();
SELECT * FROM kit.shown();
ROLLBACK TO s;

-- A warning each, but no more than twenty and one
SELECT (blogstore.create_post(kit.u(1), 'many', 'many', kit.p(50), kit.d(50))).id IS NOT NULL AS created;
SELECT count(blogstore.create_comment(kit.p(50), kit.u(1), 'comment', kit.c(500 + n), kit.d(n))) FROM generate_series(1, 22) n;
UPDATE blogstore.posts SET content = NULL WHERE type = 'comment' AND post_id = kit.p(50);
SELECT problem, expected, actual, count(*) FROM kit.shown() WHERE problem <> 'missing copy' GROUP BY 1, 2, 3;
SELECT blogstore.repair() >= 0 AS done;
ROLLBACK;


-- A version that no snapshot shows any more
BEGIN ISOLATION LEVEL SERIALIZABLE;
DO $$ BEGIN
	FOR n IN 0 .. 3 LOOP
		EXECUTE format('ALTER TABLE blogstore.posts_p%s_delta ALTER COLUMN like_count DROP NOT NULL', to_char(n, 'FM00'));
	END LOOP;
END $$;
INSERT INTO blogstore.posts (id, type, post_id, item_id, comment_count) VALUES (kit.c(99), 'delta', kit.p(3), kit.p(3), 0);
UPDATE blogstore.posts SET like_count = 7 WHERE id = kit.c(99);
SELECT like_count - 7 = (SELECT count(*) FROM blogstore.list_post_likes(kit.p(3))) AS counted FROM blogstore.get_post(kit.p(3));
ROLLBACK;

-- Columns that are gone, or of another type
BEGIN;
ALTER TABLE blogstore.posts RENAME COLUMN title TO heading;
SELECT * FROM blogstore.verify();
ROLLBACK;
BEGIN;
ALTER TABLE blogstore.feed ALTER COLUMN title TYPE bytea USING title::bytea;
SELECT blogstore.repair();
ROLLBACK;
SELECT * FROM blogstore.verify();
SELECT kit.digest() = :'digest' AS unchanged;
