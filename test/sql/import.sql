--
-- IMPORT: a site's tables and documents in, documents out
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- A site: other columns in any order, names that need quotes, a view
CREATE SCHEMA "Old Site";
SET search_path = public;
CREATE TABLE "Old Site"."User" (extra int, username varchar(100), user_id uuid, creation_date timestamptz);
INSERT INTO "Old Site"."User" SELECT n, 'Member ' || n, kit.u(n), kit.d(n) FROM generate_series(1, 5) n;
CREATE TABLE "Old Site"."all posts" (LIKE blogstore.posts INCLUDING ALL, wordpress_id int);
INSERT INTO "Old Site"."all posts" (id, type, post_id, user_id, title, content, creation_date, like_count)
SELECT kit.p(n), 'x', kit.p(n), kit.u(1 + n % 5), 'title ' || n, repeat('content ' || n || ' ', 400 * (n % 3)), kit.d(100 + n), 99
FROM generate_series(1, 10) n;
CREATE TABLE site_comments (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz);
INSERT INTO site_comments SELECT kit.c(n), kit.p(1 + n % 9), kit.u(1 + n % 3), 'comment ' || n, kit.d(200 + n) FROM generate_series(1, 40) n;
CREATE TABLE site_votes (post_id uuid, user_id uuid, vote int, creation_date timestamptz);
INSERT INTO site_votes SELECT kit.p(p), kit.u(u), 1, kit.d(300 + p) FROM generate_series(1, 9) p, generate_series(1, 5) u WHERE (p + u) % 2 = 0;
INSERT INTO site_votes SELECT kit.p(1), kit.u(2), -1, kit.d(300);
CREATE VIEW site_likes AS SELECT * FROM site_votes WHERE vote > 0;

SELECT * FROM blogstore.import('"Old Site"."User"', '"Old Site"."all posts"', 'site_comments', 'site_likes');
SET client_min_messages = warning;
SELECT count(*) AS wrong FROM kit.wrong_counts();
SELECT id, type, post_id, user_username, title, length(content), comment_count, like_count, creation_date FROM blogstore.get_post(kit.p(2));
SELECT * FROM blogstore.get_user_by_name('member 2');
SELECT * FROM blogstore.list_post_comments(kit.p(2), 2);
SELECT user_id, user_username, creation_date FROM blogstore.list_post_likes(kit.p(2)) ORDER BY 1;
-- their ids and names are those of what was imported
SELECT kit.compare('SELECT post_id, user_id, title, content, creation_date FROM "Old Site"."all posts" ORDER BY 1',
	'SELECT post_id, user_id, title, content, creation_date FROM blogstore.posts WHERE type = ''post'' ORDER BY 1');
SELECT kit.compare('SELECT comment_id, post_id, user_id, content, creation_date FROM site_comments ORDER BY 1',
	'SELECT id, post_id, user_id, content, creation_date FROM blogstore.posts WHERE type = ''comment'' ORDER BY 1');
SELECT kit.compare('SELECT post_id, user_id, creation_date FROM site_likes ORDER BY 1, 2',
	'SELECT post_id, user_id, creation_date FROM blogstore.posts WHERE type = ''like'' ORDER BY 1, 2');
-- the views follow
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT count(*) FROM blogstore.list_feed();
SELECT title, comment_count, like_count FROM blogstore.list_user_posts(kit.u(2));

-- Again: nothing changes. Temporary tables do not stay
SELECT kit.digest() AS digest \gset
SELECT * FROM blogstore.import('"Old Site"."User"', '"Old Site"."all posts"', 'site_comments', 'site_likes');
SELECT kit.digest() = :'digest' AS same;
SELECT count(*) FROM pg_class WHERE relname LIKE 'blogstore\_%';
-- no date matches any
UPDATE "Old Site"."User" SET creation_date = NULL;
UPDATE site_comments SET creation_date = NULL;
SELECT * FROM blogstore.import(users => '"Old Site"."User"', comments => 'site_comments');
SELECT kit.digest() = :'digest' AS same;
-- nothing to do
SELECT * FROM blogstore.import();

-- Onto posts that are there: one delta each, exact at once, folded later
INSERT INTO site_comments SELECT kit.c(100 + n), kit.p(1 + n % 2), kit.u(4), 'more ' || n, NULL FROM generate_series(1, 7) n;
INSERT INTO "Old Site"."all posts" (id, type, post_id, user_id, title, content) VALUES (kit.p(11), 'x', kit.p(11), kit.u(5), 'new', '');
INSERT INTO site_comments VALUES (kit.c(110), kit.p(11), kit.u(1), 'first', NULL);
BEGIN;
SELECT * FROM blogstore.import(NULL, '"Old Site"."all posts"', 'site_comments', 'site_likes');
SELECT post_id, comment_count, like_count FROM blogstore.posts WHERE type = 'delta' AND comment_count + like_count > 0 ORDER BY 1;
SELECT count(*) AS wrong FROM kit.wrong_counts();
SELECT post_id, comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT comment_count, creation_date = now() AS dated_now FROM blogstore.get_post(kit.p(11));
COMMIT;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- What cannot be imported: all or nothing ...
CREATE TABLE bad_users AS SELECT user_id, username, creation_date FROM "Old Site"."User" WHERE false;
CREATE TABLE bad_posts AS SELECT post_id, user_id, title, content, creation_date FROM "Old Site"."all posts" WHERE false;
CREATE TABLE bad_comments AS SELECT * FROM site_comments WHERE false;
CREATE TABLE bad_likes AS SELECT * FROM site_likes WHERE false;
INSERT INTO bad_users VALUES (kit.u(20), 'Newcomer', kit.d(1)), (kit.u(21), NULL, NULL);
-- with no deltas left that would be folded meanwhile
SELECT blogstore.repair();
SELECT kit.digest() AS digest \gset
DO $$
DECLARE
	state	text;
	detail	text;
	hint	text;
BEGIN
	PERFORM blogstore.import('bad_users');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RAISE WARNING '% % | % | %', state, SQLERRM, detail, hint;
END $$;
SELECT kit.digest() = :'digest' AS same, count(*) AS newcomers FROM blogstore.get_user_by_name('newcomer');

-- ... or into a table, each with its reason
INSERT INTO bad_users VALUES
	(NULL, 'No id', NULL), (kit.u(22), NULL, NULL), (kit.u(22), ' x', NULL), (kit.u(22), repeat('x', 65), NULL), (kit.u(22), E'a\tb', NULL),
	(kit.u(23), 'Forever', 'infinity'), (kit.u(1), 'Other', NULL), (kit.u(1), 'Member 1', kit.d(2)), (kit.u(24), 'MEMBER 2', NULL),
	(kit.u(25), 'Twice', kit.d(2)), (kit.u(26), 'twice', kit.d(1)), (kit.u(27), 'ok', kit.d(3)), (kit.u(27), 'ok too', kit.d(2)),
	(kit.u(27), '', kit.d(1)), (kit.u(2), 'Member 2', NULL), (kit.u(2), 'Member 2', NULL);
INSERT INTO bad_posts VALUES
	(kit.p(20), kit.u(20), 'fine', 'by a new user', NULL), (NULL, kit.u(1), 't', 'c', NULL), (kit.p(21), NULL, 't', 'c', NULL),
	(kit.p(21), kit.u(1), NULL, 'c', NULL), (kit.p(21), kit.u(1), '', 'c', NULL), (kit.p(21), kit.u(1), 't', NULL, NULL),
	(kit.p(21), kit.u(1), 't', 'c', '-infinity'), (kit.p(21), kit.u(99), 't', 'c', NULL), (kit.p(21), kit.u(21), 'by a bad user', 'c', NULL),
	(kit.p(1), kit.u(2), 'title 1', 'edited', NULL), (kit.p(22), kit.u(1), 'second', 'c', kit.d(2)), (kit.p(22), kit.u(1), 'first', 'c', kit.d(1));
INSERT INTO bad_comments VALUES
	(kit.c(20), kit.p(20), kit.u(20), 'fine', NULL), (NULL, kit.p(1), kit.u(1), 'c', NULL), (kit.c(21), NULL, kit.u(1), 'c', NULL),
	(kit.c(21), kit.p(1), NULL, 'c', NULL), (kit.c(21), kit.p(1), kit.u(1), '', NULL), (kit.c(21), kit.p(1), kit.u(99), 'c', NULL),
	(kit.c(21), kit.p(99), kit.u(1), 'c', NULL), (kit.c(21), kit.p(21), kit.u(1), 'on a bad post', NULL),
	(kit.c(9), kit.p(1), kit.u(1), 'edited', NULL), (kit.c(22), kit.p(1), kit.u(1), 'second', kit.d(2)), (kit.c(22), kit.p(1), kit.u(1), 'first', kit.d(1)),
	(kit.c(22), kit.p(2), kit.u(1), 'another post''s', NULL);
INSERT INTO bad_likes VALUES
	(kit.p(20), kit.u(20), 1, NULL), (NULL, kit.u(1), 1, NULL), (kit.p(1), NULL, 1, NULL), (kit.p(1), kit.u(99), 1, NULL), (kit.p(99), kit.u(1), 1, NULL),
	(kit.p(1), kit.u(1), 1, 'infinity'), (kit.p(1), kit.u(1), 1, kit.d(1)), (kit.p(20), kit.u(1), 1, kit.d(2)), (kit.p(20), kit.u(1), 1, kit.d(1));
CREATE TABLE rejects (at timestamptz DEFAULT now(), item jsonb, reason text, type text);
SELECT * FROM blogstore.import('bad_users', 'bad_posts', 'bad_comments', 'bad_likes', 'rejects');
SELECT type, reason, item - 'type' AS item FROM rejects ORDER BY array_position('{user,post,comment,like}', type), reason COLLATE "C", item;
SELECT username, creation_date FROM blogstore.get_user(kit.u(27));
SELECT user_id FROM blogstore.get_user_by_name('Twice');
SELECT username FROM blogstore.get_users(ARRAY[kit.u(22), kit.u(24), kit.u(25)]);
SELECT title FROM blogstore.get_post(kit.p(22));
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(20));
SELECT content FROM blogstore.posts WHERE type = 'comment' AND id = kit.c(22) ORDER BY 1;
SELECT creation_date FROM blogstore.get_like(kit.p(20), kit.u(1));
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
-- mended, they are documents to import
DELETE FROM rejects WHERE reason <> 'creation_date must be finite' OR item ->> 'username' IS DISTINCT FROM 'Forever';
UPDATE rejects SET item = item || '{"creationDate": "2024-01-01T00:02:00Z"}';
SELECT * FROM blogstore.import_documents('rejects');
SELECT username, creation_date FROM blogstore.get_user(kit.u(23));

-- Sources and rejects that cannot be used
CREATE TABLE no_title (post_id uuid, user_id uuid, content text, creation_date timestamptz);
CREATE TABLE odd_types (post_id real, user_id uuid, creation_date timestamptz);
CREATE INDEX no_table ON no_title (post_id);
CREATE TABLE two_documents (a jsonb, b jsonb);
CREATE TABLE no_documents (a int);
SELECT kit.try('blogstore.import(posts => ''no_title'')');
SELECT kit.try('blogstore.import(users => ''no_table'')');
SELECT kit.try('blogstore.import(users => 1::regclass)');
SELECT kit.try('blogstore.import(likes => ''odd_types'')');
SELECT kit.try('blogstore.import(rejects => ''no_title'')');
SELECT kit.try('blogstore.import_documents(''two_documents'')');
SELECT kit.try('blogstore.import_documents(''no_documents'')');
SELECT kit.try('blogstore.import_documents(NULL)');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kit.try('blogstore.import()');
ROLLBACK;
BEGIN READ ONLY;
SELECT kit.try('blogstore.import()');
SELECT kit.try('blogstore.import_documents(''rejects'')');
ROLLBACK;
-- rolled back, the rejects are too
BEGIN;
SELECT imported FROM blogstore.import(posts => 'bad_posts', rejects => 'rejects') WHERE type = 'post';
ROLLBACK;
SELECT count(*) FROM rejects;

-- Documents: any order, unknown properties, ids once or twice, forms of values
CREATE TABLE documents (id serial, body json);
INSERT INTO documents (body) VALUES
	('{"id": "00000000-0000-7000-8002-000000000030", "type": "comment", "postId": "00000000-0000-7000-8001-000000000030", "userId": "00000000-0000-7000-8000-000000000030", "userUsername": "wrong", "content": "c", "creationDate": "2024-01-01T12:00:00.1234567Z"}'),
	('{"id": "00000000-0000-7000-8001-000000000030", "type": "post", "userId": "00000000000070008000000000000030", "title": "t \"q\"", "content": "", "likeCount": 77, "_ts": 1, "_etag": {"a": [1]}}'),
	('{"type": "user", "userId": "00000000-0000-7000-8000-000000000030", "username": "Documented", "creationDate": null}'),
	('{"id": "00000000-0000-7000-8003-000000000001", "type": "like", "postId": "00000000-0000-7000-8001-000000000030", "userId": "00000000-0000-7000-8000-000000000030", "creationDate": "2024-01-01T12:00:00+05:30"}');
SELECT * FROM blogstore.import_documents('documents');
SELECT * FROM blogstore.list_post_comments(kit.p(30));
SELECT id, creation_date FROM blogstore.get_like(kit.p(30), kit.u(30));
SELECT title, content, comment_count, like_count FROM blogstore.get_post(kit.p(30));
-- ... and what is none
INSERT INTO documents (body) VALUES (NULL), ('[]'), ('1'), ('{"type": "video"}'), ('{"type": 1}'), ('{}'),
	('{"type": "user", "id": "x", "username": "x"}'), ('{"type": "user", "id": 5, "username": "x"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-00000000003", "username": "x"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-0000000000310", "username": "x"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000031", "userId": "00000000-0000-7000-8000-000000000032", "username": "x"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000031", "username": ["x"]}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000031"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000031", "username": "x", "creationDate": "2024-02-30T00:00:00Z"}'),
	('{"type": "user", "id": "00000000-0000-7000-8000-000000000031", "username": "x", "creationDate": "infinity"}'),
	('{"type": "like", "id": "00000000-0000-7000-8003-000000000002", "postId": "00000000-0000-7000-8001-000000000030", "userId": "00000000-0000-7000-8000-000000000030"}'),
	('{"type": "comment", "postId": "00000000-0000-7000-8001-000000000030", "userId": "00000000-0000-7000-8000-000000000030", "content": "no id"}');
TRUNCATE rejects;
SELECT * FROM blogstore.import_documents('documents', 'rejects');
SELECT type, reason, item FROM rejects ORDER BY type, reason COLLATE "C", item;

-- Words such as `now` are no dates in documents; dates are read as before
TRUNCATE documents, rejects;
INSERT INTO documents (body) SELECT jsonb_build_object('type', 'user', 'id', kit.u(500 + n::int), 'username', 'at ' || n, 'creationDate', date)
FROM unnest(ARRAY['now', 'today', 'tomorrow', 'yesterday', 'epoch', 'infinity', '-infinity', '+infinity', 'NOW', ' Today ', 'Epoch', 'now UTC', 'tomorrow 12:00', '04:05 yesterday',
	'2024-01-01 allballs', 'allballs 2024-01-01', 'today allballs', 'tomorrow America/New_York', 'now()', 'noon', '',
	'2024-01-01T12:00:00Z', '2024-01-01T12:00:00.123456+05:30', '2024-01-01 12:00 PM UTC', 'Jan 2 2024 03:04:05 PST', 'Mon 1 January 2024 12:00 zulu', '0044-03-15 12:00+00 BC', '20240101T120000Z',
	'2024-01-01 12:00 America/New_York', 'J2460311 UTC'])
	WITH ORDINALITY AS v (date, n);
SELECT imported, rejected FROM blogstore.import_documents('documents', 'rejects') WHERE type = 'user';
SELECT reason, string_agg(item ->> 'creationDate', '|' ORDER BY item ->> 'id') AS dates FROM rejects GROUP BY 1;
SELECT user_id, creation_date AT TIME ZONE 'UTC' AS utc FROM blogstore.users WHERE type = 'user' AND user_id IN (SELECT kit.u(n) FROM generate_series(500, 599) n) ORDER BY 1;
TRUNCATE documents, rejects;
INSERT INTO documents (body) SELECT jsonb_build_object('type', 'post', 'id', kit.p(500 + n::int), 'userId', kit.u(522), 'title', 't', 'content', 'c', 'modificationDate', date)
FROM unnest(ARRAY['now', 'today', 'epoch', 'infinity', '2024-01-01 allballs', '2024-01-01T12:00:00Z']) WITH ORDINALITY AS v (date, n);
SELECT imported, rejected FROM blogstore.import_documents('documents', 'rejects') WHERE type = 'post';
SELECT reason, count(*) FROM rejects GROUP BY 1;
SELECT count(blogstore.delete_user(kit.u(n))) FROM generate_series(500, 599) n;
SELECT blogstore.wait_for_views();

-- Out and in again: the documents are the casts', and come back the same
CREATE TABLE exported (document jsonb);
INSERT INTO exported SELECT blogstore.export_documents();
SELECT document ->> 'type' AS type, count(*) FROM exported GROUP BY 1 ORDER BY 1;
SELECT count(*) AS other FROM (
	SELECT u::jsonb FROM blogstore.users x, blogstore.get_user(x.user_id) u WHERE x.type = 'user'
	UNION ALL SELECT p::jsonb FROM blogstore.posts x, blogstore.get_post(x.post_id) p WHERE x.type = 'post'
	UNION ALL SELECT c::jsonb FROM blogstore.posts x, blogstore.list_post_comments(x.post_id, NULL) c WHERE x.type = 'post'
	UNION ALL SELECT l::jsonb FROM blogstore.posts x, blogstore.list_post_likes(x.post_id, NULL) l WHERE x.type = 'post') i (document)
FULL JOIN exported USING (document) WHERE i IS NULL OR exported IS NULL;
SELECT count(*) FROM (SELECT blogstore.export_documents() LIMIT 3) x;
SELECT count(*) = (SELECT count(*) FROM exported) AS all FROM blogstore.export_documents();
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.posts;
SELECT * FROM blogstore.import_documents('exported');
SELECT count(*) AS other FROM (SELECT blogstore.export_documents() AS document) x FULL JOIN exported USING (document)
WHERE x IS NULL OR exported IS NULL;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();

-- Users being deleted: more items than a deletion takes at once
CREATE TABLE many (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz);
INSERT INTO many SELECT kit.c(1000 + n), kit.p(4), kit.u(3), 'comment ' || n, NULL FROM generate_series(1, 300) n;
INSERT INTO many SELECT kit.c(2000 + n), kit.p(2), kit.u(4), 'comment ' || n, NULL FROM generate_series(1, 300) n;
SELECT imported FROM blogstore.import(comments => 'many') WHERE type = 'comment';
BEGIN;
SELECT blogstore.delete_user(kit.u(3));
SELECT count(*) > 0 AS leftover FROM blogstore.posts WHERE user_id = kit.u(3);
CREATE TEMP TABLE leaving ON COMMIT DROP AS SELECT blogstore.export_documents() AS document;
SELECT count(*) FROM leaving WHERE document ->> 'userId' = kit.u(3)::text;
SELECT count(*) AS other FROM (
	SELECT p::jsonb FROM blogstore.posts x, blogstore.get_post(x.post_id) p WHERE x.type = 'post'
	UNION ALL SELECT c::jsonb FROM blogstore.posts x, blogstore.list_post_comments(x.post_id, NULL) c WHERE x.type = 'post'
	UNION ALL SELECT l::jsonb FROM blogstore.posts x, blogstore.list_post_likes(x.post_id, NULL) l WHERE x.type = 'post') i (document)
FULL JOIN (SELECT * FROM leaving WHERE document ->> 'type' <> 'user') e USING (document) WHERE i IS NULL OR e IS NULL;
-- nothing comes of them, onto them, or as them
TRUNCATE rejects, bad_users, bad_posts, bad_comments, bad_likes;
INSERT INTO bad_users VALUES (kit.u(3), 'Member 3', NULL);
INSERT INTO bad_posts VALUES (kit.p(40), kit.u(3), 't', 'c', NULL);
INSERT INTO bad_comments SELECT kit.c(40), post_id, kit.u(1), 'c', NULL FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u(3);
INSERT INTO bad_likes VALUES (kit.p(1), kit.u(3), 1, NULL);
SELECT * FROM blogstore.import('bad_users', 'bad_posts', 'bad_comments', 'bad_likes', 'rejects');
SELECT DISTINCT type, reason FROM rejects ORDER BY 1;
ROLLBACK;

-- Sources are read with the caller's rights, and only those
CREATE ROLE "regress_blogstore_mover@old";
CREATE ROLE regress_blogstore_other;
GRANT EXECUTE ON FUNCTION blogstore.import, blogstore.import_documents, blogstore.export_documents TO "regress_blogstore_mover@old";
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA kit TO PUBLIC;
TRUNCATE bad_likes, bad_users, rejects;
INSERT INTO bad_users VALUES (kit.u(50), 'Seen', NULL), (kit.u(51), 'Hidden', NULL);
SET ROLE regress_blogstore_other;
SELECT kit.try('blogstore.import()');
SELECT kit.try('blogstore.import_documents(''exported'')');
SELECT kit.try('blogstore.export_documents()');
SET ROLE "regress_blogstore_mover@old";
SELECT kit.try('blogstore.import(''bad_users'')');
SELECT kit.try('blogstore.import(rejects => ''rejects'')');
SELECT kit.try('blogstore.import(''blogstore.users'')');
SELECT kit.try('blogstore.import_documents(''exported'')');
SELECT kit.try('blogstore.export_documents()');
RESET ROLE;
GRANT SELECT ON bad_users TO "regress_blogstore_mover@old";
GRANT INSERT ON rejects TO "regress_blogstore_mover@old";
ALTER TABLE bad_users ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON bad_users USING (username = 'Seen');
SET ROLE "regress_blogstore_mover@old";
SELECT * FROM blogstore.import('bad_users', rejects => 'rejects');
RESET ROLE;
SELECT count(*) FROM blogstore.get_user_by_name('Seen');
SELECT count(*) FROM blogstore.get_user_by_name('Hidden');

-- What the caller's objects do, they do as the caller: functions in a source,
-- triggers on the table for rejects; and they find no way to the store
CREATE SCHEMA mover AUTHORIZATION "regress_blogstore_mover@old";
SET ROLE "regress_blogstore_mover@old";
SET search_path = mover;
CREATE TABLE who (place text, name text DEFAULT current_user);
CREATE FUNCTION own_name() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	-- the caller's search_path holds
	INSERT INTO who (place) VALUES ('source');
	BEGIN
		DISCARD TEMP;
	EXCEPTION WHEN object_in_use THEN
		INSERT INTO who (place) VALUES ('temporary tables are in use');
	END;
	BEGIN
		EXECUTE (SELECT format('CREATE POLICY p ON pg_temp.%I USING (true)', relname) FROM pg_catalog.pg_class WHERE relname ~ '^blogstore_.*_checked_user$');
	EXCEPTION WHEN insufficient_privilege THEN
		INSERT INTO who (place) VALUES ('temporary tables are not the caller''s');
	END;
	RETURN 'Moved';
END $$;
CREATE VIEW moved AS SELECT kit.u(60) AS user_id, own_name() AS username, NULL::timestamptz AS creation_date
UNION ALL SELECT NULL, 'rejected', NULL;
CREATE TABLE "refused@" (type text, reason text, item jsonb);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO who (place) VALUES ('rejects');
	RETURN NEW;
END $$;
CREATE TRIGGER note AFTER INSERT ON "refused@" FOR EACH ROW EXECUTE FUNCTION note();
SELECT * FROM blogstore.import('moved', rejects => '"refused@"');
SELECT current_user, * FROM who ORDER BY place;
SHOW search_path;
SELECT reason FROM "refused@";
RESET ROLE;
SET search_path = public;
SELECT username FROM blogstore.get_user(kit.u(60));

-- What the owner adds to the containers holds: a trigger that suppresses rows,
-- a unique index of the owner's
CREATE FUNCTION kit.suppress() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RETURN CASE WHEN NEW.title = 'suppressed' THEN NULL ELSE NEW END; END $$;
CREATE TRIGGER suppress BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.suppress();
TRUNCATE bad_posts;
INSERT INTO bad_posts VALUES (kit.p(70), kit.u(1), 'suppressed', '', kit.d(1));
SELECT kit.try('blogstore.import(posts => ''bad_posts'')');
DROP TRIGGER suppress ON blogstore.posts;
DROP FUNCTION kit.suppress();
SELECT kit.try('blogstore.import(posts => ''bad_posts'')');
DO $$
DECLARE
	leaf	text;
BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf AND relid::text ~ '_post$' LOOP
		EXECUTE format('CREATE UNIQUE INDEX %I ON %s (title) WHERE title = ''suppressed''', 'one_' || replace(leaf, '.', '_'), leaf);
	END LOOP;
END $$;
-- 4 hash partitions: of five, two share one
INSERT INTO bad_posts SELECT kit.p(70 + n), kit.u(1), 'suppressed', '', kit.d(1) FROM generate_series(1, 4) n;
SELECT kit.try('blogstore.import(posts => ''bad_posts'')');
CREATE FUNCTION kit.keep() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER keep BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.keep();
SELECT kit.try('blogstore.import(posts => ''bad_posts'')');
DROP TRIGGER keep ON blogstore.posts;
DROP FUNCTION kit.keep();
DO $$
DECLARE
	index	text;
BEGIN
	FOR index IN SELECT relname FROM pg_class WHERE relname LIKE 'one\_blogstore\_posts%' LOOP
		EXECUTE format('DROP INDEX blogstore.%I', index);
	END LOOP;
END $$;

-- Columns with a default, generated columns, and constraints; with and without
-- triggers
ALTER TABLE blogstore.posts ADD COLUMN origin text DEFAULT 'site', ADD COLUMN loud text GENERATED ALWAYS AS (upper(user_username)) STORED;
ALTER TABLE blogstore.posts ADD CONSTRAINT short CHECK (content <> 'too long');
CREATE VIEW own_posts AS SELECT kit.p(500 + n) AS post_id, kit.u(1) AS user_id, 'own' AS title, '' AS content, kit.d(n) AS creation_date FROM generate_series(1, 9) n;
CREATE TABLE own_comments AS
SELECT kit.c(500 + n) AS comment_id, kit.p(501 + n % 9) AS post_id, kit.u(2) AS user_id, 'own' AS content, kit.d(n) AS creation_date
FROM generate_series(1, 3000) n;
SELECT * FROM blogstore.import(posts => 'own_posts', comments => 'own_comments');
SELECT type, origin, loud, count(*) FROM blogstore.posts WHERE origin IS NOT NULL AND (title = 'own' OR content = 'own') GROUP BY 1, 2, 3 ORDER BY 1;
SELECT id, comment_count FROM blogstore.list_post_comments(kit.p(501), 2), LATERAL (SELECT comment_count FROM blogstore.get_post(kit.p(501))) p;
-- no id is special
CREATE VIEW nil_posts AS SELECT '00000000-0000-0000-0000-000000000000'::uuid AS post_id, kit.u(1) AS user_id, 'nil' AS title, '' AS content, kit.d(1) AS creation_date;
CREATE VIEW nil_likes AS SELECT post_id, kit.u(2) AS user_id, creation_date FROM nil_posts;
SELECT type, imported FROM blogstore.import(posts => 'nil_posts', likes => 'nil_likes');
SELECT title, like_count FROM blogstore.get_post('00000000-0000-0000-0000-000000000000');
DROP VIEW nil_posts CASCADE;
TRUNCATE own_comments;
INSERT INTO own_comments VALUES (kit.c(4000), kit.p(501), kit.u(2), 'too long', kit.d(1));
SELECT kit.try('blogstore.import(comments => ''own_comments'')');
CREATE TABLE heard (id uuid, username text, comment_count bigint);
CREATE FUNCTION kit.hear() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	INSERT INTO public.heard SELECT NEW.id, NEW.loud, p.comment_count FROM blogstore.posts p WHERE p.type = 'post' AND p.post_id = NEW.post_id;
	RETURN NULL;
END $$;
CREATE TRIGGER hear AFTER INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION kit.hear();
TRUNCATE own_comments;
INSERT INTO own_comments SELECT kit.c(5000 + n), kit.p(510 + n % 9), kit.u(2), 'own', kit.d(n) FROM generate_series(1, 90) n;
CREATE OR REPLACE VIEW own_posts AS SELECT kit.p(509 + n) AS post_id, kit.u(1) AS user_id, 'own' AS title, '' AS content, kit.d(n) AS creation_date FROM generate_series(1, 9) n;
SELECT type, imported FROM blogstore.import(posts => 'own_posts', comments => 'own_comments');
SELECT username, comment_count, count(*), count(DISTINCT id) FROM heard GROUP BY 1, 2;
DROP TRIGGER hear ON blogstore.posts;
DROP FUNCTION kit.hear();
ALTER TABLE blogstore.posts DROP CONSTRAINT short;
ALTER TABLE blogstore.posts DROP COLUMN origin, DROP COLUMN loud;
DROP VIEW own_posts;

-- Posts with the ids of others that were deleted by hand, whose counters and
-- deltas are still there
CREATE VIEW own_posts AS SELECT kit.p(600 + n) AS post_id, kit.u(1) AS user_id, 'again' AS title, '' AS content, kit.d(n) AS creation_date FROM generate_series(1, 40) n;
SELECT type, imported FROM blogstore.import(posts => 'own_posts') WHERE type = 'post';
SELECT count(blogstore.create_like(post_id, kit.u(2))) FROM own_posts;
DELETE FROM blogstore.posts p USING own_posts o WHERE p.post_id = o.post_id AND p.type <> 'delta';
SELECT type, imported FROM blogstore.import(posts => 'own_posts') WHERE type = 'post';
SELECT sum(p.like_count) FROM own_posts o, blogstore.get_post(o.post_id) p;
DROP VIEW own_posts;

-- Indexes are as dense as if they were built anew, whatever the order of rows
CREATE TABLE many_users AS SELECT kit.u(1000 + n) AS user_id, 'one of many ' || n AS username, kit.d(1) AS creation_date FROM generate_series(1, 300) n;
CREATE TABLE many_posts AS SELECT kit.p(1000 + n) AS post_id, kit.u(1001) AS user_id, 'liked by many' AS title, '' AS content, kit.d(n) AS creation_date FROM generate_series(1, 80) n;
CREATE TABLE many_likes AS SELECT post_id, u.user_id, kit.d(1) + ascii(md5(username)) * interval '1 s' AS creation_date FROM many_posts, many_users u;
CREATE VIEW scans AS SELECT sum(seq_scan) AS read, sum(idx_scan) AS looks FROM pg_stat_xact_all_tables WHERE relname LIKE 'posts\_p%\_like';
BEGIN;
CREATE TEMP TABLE scans_before AS SELECT * FROM scans;
SELECT type, imported FROM blogstore.import('many_users', 'many_posts', likes => 'many_likes');
-- of what is there, only whether there is anything on a post is looked at
SELECT s.read - b.read AS read, s.looks - b.looks AS looks FROM scans s, scans_before b;
COMMIT;
DROP VIEW scans;
DROP TABLE scans_before;
CREATE TEMP TABLE loaded AS
SELECT indexrelid::regclass AS index, pg_relation_size(indexrelid) AS size FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE relname LIKE 'posts\_p%\_like';
DO $$
DECLARE
	name	regclass;
BEGIN
	FOR name IN SELECT index FROM loaded LOOP
		EXECUTE format('REINDEX INDEX %s', name);
	END LOOP;
END $$;
SELECT count(*), bool_and(size <= 1.1 * pg_relation_size(index)) AS dense FROM loaded;

-- Leaves may lack the indexes of lists while much is loaded
CREATE TABLE many_comments AS SELECT kit.c(1000 + n) AS comment_id, kit.p(1001 + n % 80) AS post_id, kit.u(1001) AS user_id, 'x' AS content, kit.d(n) AS creation_date FROM generate_series(1, 100) n;
BEGIN;
DO $$
DECLARE
	name	regclass;
BEGIN
	FOR name IN SELECT indexrelid FROM pg_index JOIN pg_class ON pg_class.oid = indrelid WHERE relname ~ '^posts_p.*_(comment|like)$' AND NOT indisunique LOOP
		EXECUTE format('DROP INDEX %s', name);
	END LOOP;
END $$;
SELECT type, imported, present FROM blogstore.import(comments => 'many_comments', likes => 'many_likes');
DELETE FROM blogstore.posts WHERE type = 'like' AND post_id = kit.p(1001) AND user_id < kit.u(1011);
SELECT type, imported, present FROM blogstore.import(comments => 'many_comments', likes => 'many_likes');
ROLLBACK;
-- An item in a detached partition is neither unknown nor new. Posts are not
-- looked up if only users are imported.
BEGIN;
ALTER TABLE blogstore.users DETACH PARTITION blogstore.users_p01;
SELECT kit.try('blogstore.import(comments => ''many_comments'', rejects => ''rejects'')');
ROLLBACK;
BEGIN;
ALTER TABLE blogstore.users_p01 DETACH PARTITION blogstore.users_p01_user;
SELECT kit.try('blogstore.import(likes => ''many_likes'', rejects => ''rejects'')');
ROLLBACK;
BEGIN;
ALTER TABLE blogstore.users_p01 DETACH PARTITION blogstore.users_p01_user;
CREATE TABLE blogstore.users_p01_odd PARTITION OF blogstore.users_p01 FOR VALUES IN ('user') PARTITION BY RANGE (creation_date);
SELECT kit.try('blogstore.import(likes => ''many_likes'', rejects => ''rejects'')');
ROLLBACK;
BEGIN;
ALTER TABLE blogstore.posts_p01 DETACH PARTITION blogstore.posts_p01_post;
SELECT kit.try('blogstore.import(likes => ''many_likes'', rejects => ''rejects'')');
ROLLBACK;
DROP TABLE many_users, many_posts, many_comments, many_likes, loaded;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA blogstore FROM "regress_blogstore_mover@old";
DROP SCHEMA mover CASCADE;
REVOKE ALL ON bad_users, rejects FROM "regress_blogstore_mover@old";
DROP ROLE "regress_blogstore_mover@old", regress_blogstore_other;
DROP SCHEMA "Old Site" CASCADE;
DROP TABLE site_comments, site_votes, bad_users, bad_posts, bad_comments, bad_likes, rejects, no_title, odd_types, two_documents, no_documents,
	documents, exported, many, own_comments, heard CASCADE;
SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
