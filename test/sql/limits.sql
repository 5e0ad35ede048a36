--
-- LIMITS: names and texts of hundreds of megabytes are refused before anything
-- is done with them; the longest ones that are not, go all the way
--
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 3);
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1), 'comment', kit.c(1)));

-- compressed, and never made whole by the calls below
CREATE TABLE kit.huge AS SELECT repeat(repeat('x', 1000), 300000) AS text;
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user((SELECT text FROM kit.huge))'),
	('create_user((SELECT text FROM kit.huge), kit.u(9))'),
	('edit_user(kit.u(1), (SELECT text FROM kit.huge))'),
	('get_user_by_name((SELECT text FROM kit.huge))'),
	('create_post(kit.u(1), (SELECT text FROM kit.huge), ''x'')'),
	('create_post(kit.u(1), ''x'', (SELECT text FROM kit.huge))'),
	('edit_post(kit.p(1), (SELECT text FROM kit.huge))'),
	('edit_post(kit.p(1), NULL, (SELECT text FROM kit.huge))'),
	('create_comment(kit.p(1), kit.u(1), (SELECT text FROM kit.huge))'),
	('edit_comment(kit.p(1), kit.c(1), (SELECT text FROM kit.huge))')) v (call);
-- as it is
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(repeat(repeat(''x'', 1000), 300000))')) v (call);

-- An import: refused at once, or rejected with their beginnings
CREATE TABLE kit.huge_users (user_id uuid, username text, creation_date timestamptz);
CREATE TABLE kit.huge_posts (post_id uuid, user_id uuid, title text, content text, creation_date timestamptz);
CREATE TABLE kit.huge_comments (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz);
CREATE TABLE kit.rejects (type text, reason text, item jsonb);
INSERT INTO kit.huge_users SELECT kit.u(11), text FROM kit.huge;
INSERT INTO kit.huge_users SELECT kit.u(12), repeat('y', 257);
INSERT INTO kit.huge_users SELECT kit.u(13), repeat(U&'\+01f600', 64);
INSERT INTO kit.huge_users SELECT NULL, text FROM kit.huge;
INSERT INTO kit.huge_posts SELECT kit.p(11), kit.u(1), text, 'x' FROM kit.huge;
INSERT INTO kit.huge_posts SELECT kit.p(12), kit.u(1), 'x', U&'\00e9\4e2d' || repeat(repeat('x', 1024), 65536);
INSERT INTO kit.huge_comments SELECT kit.c(11), kit.p(1), kit.u(1), text FROM kit.huge;
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('import(users => ''kit.huge_users'')'),
	('import(posts => ''kit.huge_posts'')'),
	('import(comments => ''kit.huge_comments'')')) v (call);
SET client_min_messages = warning;
SELECT * FROM blogstore.import('kit.huge_users', 'kit.huge_posts', 'kit.huge_comments', NULL, 'kit.rejects');
SELECT type, reason, length(item ->> 'username') AS username, length(item ->> 'title') AS title, length(item ->> 'content') AS content,
	left(item ->> 'content', 3) AS begins
FROM kit.rejects ORDER BY type COLLATE "C", reason COLLATE "C", 3, 4, 5;
SELECT username = repeat(U&'\+01f600', 64) AS longest FROM blogstore.get_user(kit.u(13));

-- and of documents
TRUNCATE kit.rejects;
CREATE TABLE kit.documents AS
SELECT jsonb_build_object('type', 'user', 'id', kit.u(21), 'username', repeat('x', 1000000)) AS document
UNION ALL SELECT jsonb_build_object('type', 'post', 'id', repeat('0', 1000000), 'userId', kit.u(1), 'title', 'x', 'content', 'x')
UNION ALL SELECT jsonb_build_object('type', 'post', 'id', kit.p(22), 'userId', kit.u(1), 'title', 'x', 'content', repeat(repeat('x', 1024), 65536) || 'x')
UNION ALL SELECT jsonb_build_object('type', repeat('post', 1000000))
UNION ALL SELECT jsonb_build_object('type', 'user', 'id', kit.u(23), 'username', 'short', 'creationDate', repeat('2', 1000000));
SELECT kit.try('blogstore.import_documents(''kit.documents'')');
SELECT * FROM blogstore.import_documents('kit.documents', 'kit.rejects');
SELECT type, reason FROM kit.rejects ORDER BY 1, 2;
DROP TABLE kit.huge_users, kit.huge_posts, kit.huge_comments, kit.documents;

-- A title has 1,000 characters, of whatever bytes
SELECT left(c, 1) AS c, n, kit.try(format('blogstore.create_post(kit.u(1), %L, ''x'', kit.p(40 + %s))', repeat(c, n), case_n)) AS created,
	kit.try(format('blogstore.edit_post(kit.p(1), %L)', repeat(c, n))) AS edited, kit.try(format('blogstore.own_edit_post(%L, kit.p(1), %L)', author, repeat(c, n))) AS own
FROM (VALUES ('x', 1000, 1), ('x', 1001, 2), (U&'\+01f600', 1000, 3), (U&'\+01f600', 1001, 4), (U&'\00e9', 4000, 5), ('x', 10000000, 6)) v (c, n, case_n),
	(SELECT user_id AS author FROM blogstore.get_post(kit.p(1))) a;
SELECT length(title), octet_length(title) FROM blogstore.get_post(kit.p(1));
CREATE TABLE kit.titles (post_id uuid, user_id uuid, title text, content text, creation_date timestamptz);
INSERT INTO kit.titles SELECT kit.p(50 + n::int), kit.u(1), title, 'x'
FROM unnest(ARRAY[repeat('x', 1000), repeat(U&'\+01f600', 1000), repeat('x', 1001), repeat(U&'\+01f600', 1001), repeat('x', 100000)]) WITH ORDINALITY AS v (title, n);
TRUNCATE kit.rejects;
SELECT type, read, imported, rejected FROM blogstore.import(posts => 'kit.titles', rejects => 'kit.rejects') WHERE type = 'post';
SELECT item ->> 'id' AS id, reason, length(item ->> 'title') FROM kit.rejects ORDER BY 1;
UPDATE kit.titles SET title = repeat('y', length(title));
SELECT type, present, rejected, updated FROM blogstore.import(posts => 'kit.titles', rejects => 'kit.rejects', changed => 'update') WHERE type = 'post';
SELECT kit.try('blogstore.import(posts => ''kit.titles'', changed => ''update'')');
TRUNCATE kit.rejects;
CREATE TABLE kit.documents AS
SELECT jsonb_build_object('type', 'post', 'id', kit.p(60 + row_number() OVER (ORDER BY post_id)::int), 'userId', kit.u(1), 'title', title, 'content', 'x') AS document FROM kit.titles;
SELECT type, read, imported, rejected FROM blogstore.import_documents('kit.documents', 'kit.rejects') WHERE type = 'post';
SELECT reason, count(*) FROM kit.rejects GROUP BY 1;
SELECT blogstore.wait_for_views();
SELECT max(length(title)) FROM blogstore.list_feed();
DROP TABLE kit.titles, kit.documents;
SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(40, 70) n;

-- The longest content, and one byte more
SELECT kit.try('blogstore.create_post(kit.u(1), ''x'', repeat(repeat(''x'', 1024), 65536) || ''x'', kit.p(31))') AS longer;
SELECT length(content) FROM blogstore.create_post(kit.u(1), 'longest', repeat(repeat('x', 1024), 65536), kit.p(31));
SELECT content = repeat(repeat('x', 1024), 65536) AS same, length(content) FROM blogstore.get_post(kit.p(31));
SELECT blogstore.wait_for_views();
SELECT length(content) FROM blogstore.list_user_posts(kit.u(1), 1);
CREATE TABLE kit.documents AS SELECT d AS document FROM blogstore.export_documents() d WHERE d ->> 'id' = kit.p(31)::text;
SELECT length(document ->> 'content') FROM kit.documents;
SELECT blogstore.delete_post(kit.p(31));
SELECT type, imported, rejected FROM blogstore.import_documents('kit.documents', 'kit.rejects') WHERE type = 'post';
SELECT length(content) FROM blogstore.get_post(kit.p(31));

-- A name that the owner has written past the functions is not folded
SELECT count(blogstore.create_user('owner''s', kit.u(40)));
UPDATE blogstore.users u SET username = h.text FROM kit.huge h WHERE u.user_id = kit.u(40) AND u.type = 'user';
SELECT username FROM blogstore.edit_user(kit.u(40), 'short again');
SELECT id = kit.u(40) AS found FROM blogstore.get_user_by_name('short again');
DELETE FROM blogstore.usernames WHERE username_key = 'owner''s';

DROP TABLE kit.huge, kit.rejects, kit.documents;
RESET client_min_messages;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
