--
-- PROPERTIES: what a site keeps with its items beside the article's properties
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- Commands set them and queries return them; in documents they stand beside
-- the properties of the article
SELECT properties FROM blogstore.create_user('Ann', kit.u(1), kit.d(1), properties => '{"bio": "writes", "title": null}');
SELECT properties FROM blogstore.create_user('Ann', kit.u(1), kit.d(1), properties => '{"bio": "writes"}');
SELECT properties FROM blogstore.create_user('Bob', kit.u(2), kit.d(2));
SELECT properties FROM blogstore.create_post(kit.u(1), 'First', 'Hello', kit.p(1), kit.d(1),
	properties => '{"slug": "first", "tags": ["a", "b"], "score": 1.50, "deep": {"er": [1, {"x": null}]}, "ünï": true}');
SELECT properties FROM blogstore.create_post(kit.u(1), 'Second', 'Hello', kit.p(2), kit.d(2), properties => '{}');
SELECT properties FROM blogstore.create_comment(kit.p(1), kit.u(2), 'comment', kit.c(1), kit.d(3), properties => '{"stars": 5}');
SELECT properties FROM blogstore.get_user(kit.u(1));
SELECT properties FROM blogstore.get_user_by_name('ann');
SELECT properties FROM blogstore.get_post(kit.p(1));
SELECT properties FROM blogstore.list_post_comments(kit.p(1));
SELECT blogstore.wait_for_views();
SELECT id = kit.p(1) AS first, properties FROM blogstore.list_feed();
SELECT id = kit.p(1) AS first, properties FROM blogstore.list_user_posts(kit.u(1));
SELECT jsonb_pretty(p::jsonb) FROM blogstore.get_post(kit.p(1)) p;
SELECT jsonb_pretty(u::jsonb) FROM blogstore.get_user(kit.u(1)) u;
SELECT c::jsonb FROM blogstore.list_post_comments(kit.p(1)) c;
-- without properties a document is the article's
SELECT p::jsonb FROM blogstore.get_post(kit.p(2)) p;

-- A repetition is the same with the same properties, or without any
SELECT properties FROM blogstore.create_post(kit.u(1), 'First', 'Hello', kit.p(1), kit.d(1)) \gset
SELECT kit.try('blogstore.create_post(kit.u(1), ''First'', ''Hello'', kit.p(1), kit.d(1), properties => ''{"slug": "other"}'')');
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(2), ''comment'', kit.c(1), kit.d(3), properties => ''{"stars": 4}'')');
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(2), ''comment'', kit.c(1), kit.d(3), properties => ''{"stars": 5}'')');
SELECT kit.try('blogstore.create_user(''Bob'', kit.u(2), properties => ''{"bio": "reads"}'')');

-- Edits: an object takes the place of the one there, {} clears, NULL keeps
SELECT title, content, properties, modification_date > creation_date AS edited FROM blogstore.edit_post(kit.p(1), properties => '{"slug": "moved"}');
SELECT title, content, properties FROM blogstore.edit_post(kit.p(1), title => 'First!');
SELECT title, content, properties FROM blogstore.edit_post(kit.p(1), properties => '{}');
SELECT modification_date AS edited FROM blogstore.edit_post(kit.p(1), properties => '{"slug": "again"}') \gset
-- what changes nothing is no edit
SELECT modification_date = :'edited' AS same FROM blogstore.edit_post(kit.p(1), properties => '{"slug":   "again"}');
SELECT content, properties FROM blogstore.edit_comment(kit.p(1), kit.c(1), properties => '{"stars": 1}');
SELECT content, properties FROM blogstore.edit_comment(kit.p(1), kit.c(1), 'comment!');
SELECT content, properties FROM blogstore.edit_comment(kit.p(1), kit.c(1), properties => '{}');
SELECT username, properties FROM blogstore.edit_user(kit.u(2), properties => '{"bio": "reads"}');
SELECT username, properties FROM blogstore.edit_user(kit.u(2), 'Bobby');
SELECT username, properties FROM blogstore.edit_user(kit.u(2), 'Bob', '{}');
SELECT blogstore.wait_for_views();
SELECT title, properties FROM blogstore.list_feed(1, oldest_first => true);
SELECT * FROM blogstore.verify();

-- What is refused, on each command
SELECT call, kit.try('blogstore.' || replace(call, '$', quote_literal(bad)))
FROM (VALUES ('create_user(''Carl'', properties => $)'), ('edit_user(kit.u(1), properties => $)'),
	('create_post(kit.u(1), ''t'', ''c'', properties => $)'), ('edit_post(kit.p(1), properties => $)'),
	('create_comment(kit.p(1), kit.u(1), ''c'', properties => $)'), ('edit_comment(kit.p(1), kit.c(1), properties => $)')) c (call),
	(VALUES (1, '[]'), (2, '"text"'), (3, '1'), (4, 'null'), (5, '{"id": 1}')) b (n, bad)
ORDER BY call COLLATE "C", n;
SELECT key, kit.try(format('blogstore.edit_post(kit.p(1), properties => jsonb_build_object(%L, 1))', key))
FROM unnest(ARRAY['id', 'type', 'postId', 'userId', 'username', 'userUsername', 'title', 'content', 'commentCount', 'likeCount', 'creationDate',
	'hidden', 'parentId', 'parentDeleted', 'modificationDate', 'ID', 'post_id', 'properties', '', 'deep']) key;
\set VERBOSITY terse
SELECT blogstore.edit_post(kit.p(1), properties => '{"ok": {"title": "below the first level"}, "title": "taken"}');
\set VERBOSITY default
-- 64 kB, as jsonb takes them
SELECT kit.try(format('blogstore.edit_post(kit.p(1), properties => jsonb_build_object(''a'', repeat(''x'', %s)))', n)) FROM (VALUES (65000), (65536), (100000)) v (n);
SELECT length(properties ->> 'a') FROM blogstore.get_post(kit.p(1));
SELECT blogstore.wait_for_views();
SELECT length(properties ->> 'a') FROM blogstore.list_feed(1, oldest_first => true);
-- The limit is 256 kB as printed: a number of a few bytes, or an escaped
-- character, can be much longer when printed
SELECT kit.try(format('blogstore.edit_post(kit.p(1), properties => %L)', bad)) AS tried, count(*), min(octet_length(bad::text)) AS least, max(octet_length(bad::text)) AS most,
	max(pg_column_size(bad)) < 65536 AS stored
FROM (SELECT jsonb_build_object('a', (SELECT jsonb_agg(1e130000::numeric) FROM generate_series(1, n))) FROM generate_series(1, 3) n
	UNION ALL SELECT jsonb_build_object('n', -1e131071::numeric, 'm', 1e-16383::numeric)
	UNION ALL SELECT jsonb_build_object('s', repeat(U&'\0001', n)) FROM unnest(ARRAY[43688, 43689, 65000]) n
	UNION ALL SELECT jsonb_build_object(repeat(U&'\0001', n), 1) FROM unnest(ARRAY[43688, 43689]) n) AS v (bad)
GROUP BY tried ORDER BY tried;
-- to the byte, whatever values stand beside: the numbers fill what these leave
SELECT kind, kit.try(format('blogstore.edit_post(kit.p(1), properties => %L)', p)) AS fits, octet_length(p::text) AS printed,
	kit.try(format('blogstore.edit_post(kit.p(1), properties => %L)', q)) AS over, octet_length(q::text) AS over_printed
FROM unnest(ARRAY['"a"', '-0.50', '1e3', 'true', 'false', 'null', '[]', '{}', '[1, [2, [], 3]]', '{"a": 1, "b": [{}, {"c": {"d": null}}]}', '"\u0001\"\\\b\f\n\r\té/\u0007\u20ac"']) kind
CROSS JOIN LATERAL (SELECT 262144 - octet_length(jsonb_build_object('k', kind::jsonb, 'n', 1, 'o', 1)::text) AS room) r
CROSS JOIN LATERAL (SELECT jsonb_build_object('k', kind::jsonb, 'n', ('1e' || 131071)::numeric, 'o', ('1e' || room - 131071)::numeric) AS p,
	jsonb_build_object('k', kind::jsonb, 'n', ('1e' || 131071)::numeric, 'o', ('1e' || room - 131071 + 1)::numeric) AS q) v;
-- an item of each kind, by each command, without printing half a gigabyte
CREATE TABLE kit.bomb AS SELECT jsonb_build_object('a', jsonb_agg(1e131071::numeric)) AS properties FROM generate_series(1, 4000);
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(''bomb'', properties => (SELECT properties FROM kit.bomb))'),
	('edit_user(kit.u(1), properties => (SELECT properties FROM kit.bomb))'),
	('create_post(kit.u(1), ''t'', ''c'', properties => (SELECT properties FROM kit.bomb))'),
	('edit_post(kit.p(1), properties => (SELECT properties FROM kit.bomb))'),
	('own_edit_post(kit.u(1), kit.p(1), properties => (SELECT properties FROM kit.bomb))'),
	('create_comment(kit.p(1), kit.u(1), ''c'', properties => (SELECT properties FROM kit.bomb))'),
	('own_create_comment(kit.u(1), kit.p(1), kit.u(1), ''c'', properties => (SELECT properties FROM kit.bomb))'),
	('edit_comment(kit.p(1), kit.c(1), properties => (SELECT properties FROM kit.bomb))'),
	('own_edit_comment(kit.u(1), kit.p(1), kit.c(1), properties => (SELECT properties FROM kit.bomb))')) v (call);
-- imported: as properties, as columns that become some, and in documents
CREATE TABLE kit.bombs AS SELECT kit.u(901) AS user_id, 'bomb' AS username, NULL::timestamptz AS creation_date, kit.p(901) AS post_id, kit.c(901) AS comment_id,
	't' AS title, 'c' AS content, properties FROM kit.bomb;
CREATE VIEW kit.wide AS SELECT user_id, 'wide' AS username, creation_date, post_id, comment_id, title, content, 1e131071::numeric AS a, 1e131071::numeric AS b FROM kit.bombs;
CREATE TABLE kit.reasons (type text, reason text, item jsonb);
SELECT type, imported, rejected FROM blogstore.import('kit.bombs', 'kit.bombs', 'kit.bombs', NULL, 'kit.reasons');
SELECT type, imported, rejected FROM blogstore.import('kit.wide', 'kit.wide', 'kit.wide', NULL, 'kit.reasons', extra => '{a,b}');
SELECT type, imported, rejected FROM blogstore.import('kit.wide', extra => '{a}');
SELECT type, imported, rejected FROM blogstore.import('kit.wide', NULL, NULL, NULL, 'kit.reasons', changed => 'update', extra => '{a,b}');
CREATE TABLE kit.documents AS
SELECT properties || jsonb_build_object('type', type, 'id', CASE type WHEN 'comment' THEN kit.c(902) WHEN 'post' THEN kit.p(902) ELSE kit.u(902) END, 'postId', CASE type WHEN 'comment' THEN kit.p(1) ELSE kit.p(902) END,
	'userId', CASE type WHEN 'user' THEN kit.u(902) ELSE kit.u(1) END, 'username', 'documented', 'title', 't', 'content', 'c') AS document
FROM kit.bomb, unnest(ARRAY['user', 'post', 'comment']) type;
SELECT type, imported, rejected FROM blogstore.import_documents('kit.documents', 'kit.reasons');
SELECT type, reason, count(*) FROM kit.reasons GROUP BY 1, 2 ORDER BY 1, 2;
-- nor is the item printed in an error
SELECT blogstore.import('kit.bombs');
SELECT blogstore.import_documents('kit.documents');
SELECT blogstore.delete_user(kit.u(901));
DROP VIEW kit.wide;
DROP TABLE kit.bomb, kit.bombs, kit.reasons, kit.documents;
-- stored out of line, in lists too
SELECT md5(string_agg(md5(n::text), '' ORDER BY n)) AS digest, string_agg(md5(n::text), '' ORDER BY n) AS noise FROM generate_series(1, 1900) n \gset
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.edit_post(kit.p(1), properties => jsonb_build_object('a', :'noise', 'b', 1));
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.edit_post(kit.p(1), 'First, again');
SELECT blogstore.wait_for_views();
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.list_feed(1, oldest_first => true);
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.list_user_posts(kit.u(1)) WHERE id = kit.p(1);

-- Properties written by SQL may have any key, and are shown as they are
UPDATE blogstore.posts SET properties = '{"title": "theirs", "likeCount": "many", "own": 1}' WHERE type = 'post' AND post_id = kit.p(2);
SELECT blogstore.wait_for_views();
SELECT p::jsonb -> 'title' AS title, p::jsonb -> 'likeCount' AS likes, p::jsonb -> 'own' AS own, properties FROM blogstore.list_feed(1) p;
UPDATE blogstore.posts SET properties = '[1]' WHERE type = 'post' AND post_id = kit.p(2);
SELECT blogstore.wait_for_views();
SELECT p::jsonb, properties FROM blogstore.list_feed(1) p;
-- a copy that has others is a stale one
UPDATE blogstore.users SET properties = '{"own": 2}' WHERE type = 'post' AND post_id = kit.p(2);
SELECT blogstore.wait_for_views();
SELECT properties FROM blogstore.list_user_posts(kit.u(1), 1);
SELECT * FROM blogstore.verify();

-- An index of the site's own
CREATE INDEX posts_tags ON blogstore.posts USING gin ((properties -> 'tags')) WHERE type = 'post';
SELECT properties FROM blogstore.edit_post(kit.p(2), properties => '{"tags": ["new", "b"]}');
SELECT hidden FROM blogstore.create_post(kit.u(1), 'A draft', 'Hello', kit.p(3), properties => '{"tags": ["new"]}', hidden => true);
SELECT properties -> 'tags' AS tags, hidden FROM blogstore.create_post(kit.u(2), 'Third', 'Hello', kit.p(4), kit.d(4), properties => '{"tags": ["new"]}');
SELECT count(blogstore.create_like(kit.p(4), kit.u(n))) FROM generate_series(1, 2) n;
SET enable_seqscan = off;
SET enable_indexscan = off;
-- as the manual shows it
PREPARE tagged(text) AS SELECT title, like_count FROM blogstore.get_posts(ARRAY(
	SELECT post_id FROM blogstore.posts
	WHERE type = 'post' AND properties -> 'tags' ? $1 AND hidden IS NOT TRUE
	ORDER BY creation_date DESC, id DESC LIMIT 20));
EXECUTE tagged('new');
EXECUTE tagged('a');
DEALLOCATE tagged;
RESET enable_seqscan;
RESET enable_indexscan;
DROP INDEX blogstore.posts_tags;

-- Slugs that stay: the post's key
SELECT id = blogstore.key_id('post', 'hello-world') AS id, properties FROM blogstore.create_post(kit.u(1), 'Hello', 'World', post_id => blogstore.key_id('post', 'hello-world'),
	properties => '{"slug": "hello-world"}');
SELECT title FROM blogstore.get_post(blogstore.key_id('post', 'hello-world'));
SELECT kit.try('blogstore.create_post(kit.u(2), ''Hello'', ''again'', post_id => blogstore.key_id(''post'', ''hello-world''))');
-- Slugs that change: a table of the site's own
CREATE TABLE slugs (slug text PRIMARY KEY, post_id uuid NOT NULL, creation_date timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON slugs (post_id);
INSERT INTO slugs (slug, post_id) SELECT 'hello-world', p.id FROM blogstore.create_post(kit.u(1), 'Hello', 'World') AS p RETURNING post_id AS post \gset
INSERT INTO slugs (slug, post_id) VALUES ('hello', :'post');
SELECT p.title, (SELECT n.slug FROM slugs AS n WHERE n.post_id = s.post_id ORDER BY n.creation_date DESC LIMIT 1) AS slug
FROM slugs AS s, LATERAL blogstore.get_post(s.post_id) AS p WHERE s.slug = 'hello-world';
-- taken: neither the slug nor the post
SELECT count(*) AS posts FROM blogstore.posts WHERE type = 'post' \gset
\set VERBOSITY sqlstate
INSERT INTO slugs (slug, post_id) SELECT 'hello', p.id FROM blogstore.create_post(kit.u(2), 'Hello', 'World') AS p;
\set VERBOSITY default
SELECT count(*) - :posts AS more FROM blogstore.posts WHERE type = 'post';
SELECT blogstore.delete_post(:'post');
DELETE FROM slugs AS s WHERE NOT EXISTS (SELECT FROM blogstore.get_post(s.post_id)) RETURNING slug;
DROP TABLE slugs;
SELECT kit.clear();
