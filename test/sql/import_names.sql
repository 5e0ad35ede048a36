--
-- IMPORT_NAMES: users whose names cannot be had come in under others
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
CREATE TABLE rejects (type text, reason text, item jsonb);
SELECT username FROM blogstore.create_user('Ann', kit.u(100));
CREATE TABLE site_users (user_id int, username text, creation_date timestamptz);
CREATE TABLE site_posts (post_id int, user_id int, title text, content text, creation_date timestamptz);
INSERT INTO site_users VALUES
	(1, 'Bob', kit.d(2)), (2, 'bob', kit.d(1)), (3, 'ANN', kit.d(3)), (4, U&'\ff22o\200bB', kit.d(4)), (5, repeat('long ', 20), kit.d(5)), (6, repeat(U&'\+01f600', 65), kit.d(6)),
	(7, '', kit.d(7)), (8, '   ', kit.d(8)), (9, U&'\3164', kit.d(9)), (10, E'tab\tbed', kit.d(10)), (11, U&'a\202eb', kit.d(11)), (12, repeat('x', 1000000), kit.d(12)),
	(13, repeat(E'\n', 300), kit.d(13)), (14, 'fine', kit.d(14)), (15, 'John', kit.d(15)), (16, 'john', kit.d(16)), (17, U&'o\0308ha', kit.d(17)), (18, U&'\00d6HA', kit.d(18)),
	(19, NULL, kit.d(19));
INSERT INTO site_posts SELECT n, n, 'by ' || n, '', kit.d(100 + n) FROM generate_series(1, 18) n;
SELECT type, read, imported, present, rejected, updated FROM blogstore.import('site_users', 'site_posts', rejects => 'rejects', key_prefix => 's:');
SELECT type, reason FROM rejects;
SELECT s.user_id, translate(u.username, U&'\200b', '_') AS username, length(u.username) <= 64 AS fits, u.username ~ ' [(][0-9a-f]{8}[)]$' AS other, p.user_username = u.username AS on_post
FROM site_users s, blogstore.get_user(blogstore.key_id('user', 's:' || s.user_id)) u, blogstore.get_post(blogstore.key_id('post', 's:' || s.user_id)) p ORDER BY 1;
-- the same once more changes nothing, and says the same; in the other way, too
SELECT kit.digest() AS digest \gset
SELECT type, read, imported, present, rejected, updated FROM blogstore.import('site_users', rejects => 'rejects', key_prefix => 's:') WHERE read > 0;
SELECT type, read, imported, present, rejected, updated FROM blogstore.import('site_users', rejects => 'rejects', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT kit.digest() = :'digest' AS same;
-- A name that is free again goes to the next user, or is given back at the
-- source. Users who have another name than at the source get their properties,
-- too.
SELECT username FROM blogstore.edit_user(kit.u(100), 'Anna');
UPDATE site_users SET username = 'Robert' WHERE user_id = 2;
UPDATE site_users SET username = 'not so long' WHERE user_id = 5;
ALTER TABLE site_users ADD COLUMN properties jsonb;
UPDATE site_users SET properties = '{"a": 1}' WHERE user_id IN (9, 16);
TRUNCATE rejects;
SELECT type, read, imported, present, rejected, updated FROM blogstore.import('site_users', rejects => 'rejects', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT s.user_id, translate(u.username, U&'\200b', '_') AS username, u.properties FROM site_users s, blogstore.get_user(blogstore.key_id('user', 's:' || s.user_id)) u WHERE s.user_id IN (1, 2, 3, 4, 5, 9, 16) ORDER BY 1;
SELECT type, read, imported, present, rejected, updated FROM blogstore.import('site_users', rejects => 'rejects', key_prefix => 's:', changed => 'update') WHERE read > 0;
-- An existing user is rejected if the new name is another user's. A user whose
-- new name is invalid gets a generated one.
UPDATE site_users SET username = 'Anna' WHERE user_id = 14;
UPDATE site_users SET username = E'\t' WHERE user_id = 15;
TRUNCATE rejects;
SELECT type, read, imported, present, rejected, updated FROM blogstore.import('site_users', rejects => 'rejects', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT reason, item ->> 'username' AS username FROM rejects WHERE item ->> 'username' <> '';
SELECT s.user_id, u.username FROM site_users s, blogstore.get_user(blogstore.key_id('user', 's:' || s.user_id)) u WHERE s.user_id IN (14, 15, 16) ORDER BY 1;
-- what another name is made of can be taken, too, or be two users'
CREATE TABLE uuid_users (user_id uuid, username text, creation_date timestamptz);
INSERT INTO uuid_users VALUES ('00000001-0000-4000-8000-00000000beef', 'Anna', NULL), ('00000000-0000-4000-8000-00010000beef', 'ANNA', NULL), ('00000002-0000-4000-8000-00000000beef', 'ANna', NULL),
	('00000000-0000-4000-8002-0000000beef1', 'anna', NULL), ('00000000-0000-4000-8002-000000000001', 'anna (8009AEF1)', kit.d(1)), ('00000000-0000-4000-8002-0000000beef2', 'anna', kit.d(1)), (kit.u(100), 'Anna', NULL);
SELECT username FROM blogstore.create_user('anna (8009aef2)', kit.u(101));
TRUNCATE rejects;
SELECT type, read, imported, present, rejected FROM blogstore.import('uuid_users', rejects => 'rejects') WHERE read > 0;
SELECT reason, item ->> 'id' AS id, item ->> 'username' AS username FROM rejects ORDER BY 2;
SELECT user_id, username FROM blogstore.get_users((SELECT array_agg(user_id) FROM uuid_users)) ORDER BY 1;
-- documents, too, and without a table for rejects
CREATE TABLE documents AS SELECT jsonb_build_object('type', 'user', 'id', kit.u(200 + n::int), 'username', name) AS document FROM unnest('{Carl,CARL,""}'::text[]) WITH ORDINALITY AS v (name, n);
SELECT * FROM blogstore.import_documents('documents');
SELECT username FROM blogstore.get_users(ARRAY[kit.u(201), kit.u(202), kit.u(203)]) ORDER BY user_id;
SELECT * FROM blogstore.import_documents('documents');

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT count(*) AS wrong FROM kit.wrong_counts();
DROP TABLE rejects, site_users, site_posts, uuid_users, documents;
