--
-- PROPERTIES: what a site keeps with its items beside the article's properties
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();

-- Set by the commands, given back by the queries, in documents beside the article's
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
-- stored out of line, in lists too
SELECT md5(string_agg(md5(n::text), '' ORDER BY n)) AS digest, string_agg(md5(n::text), '' ORDER BY n) AS noise FROM generate_series(1, 1900) n \gset
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.edit_post(kit.p(1), properties => jsonb_build_object('a', :'noise', 'b', 1));
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.edit_post(kit.p(1), 'First, again');
SELECT blogstore.wait_for_views();
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.list_feed(1, oldest_first => true);
SELECT md5(properties ->> 'a') = :'digest' AS same FROM blogstore.list_user_posts(kit.u(1)) WHERE id = kit.p(1);

-- Who writes past blogstore may write anything: it is shown as it is
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
