--
-- REPLIES: comments that reply to others, and outlive them
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 3);

-- What is replied to has to be a comment on the same post that is shown
SELECT count(blogstore.create_comment(kit.p(1), kit.u(n), 'comment ' || n, kit.c(n), kit.d(n))) FROM generate_series(1, 4) n;
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1), 'on another post', kit.c(20), kit.d(20)));
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(4));
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted, hidden FROM blogstore.create_comment(kit.p(1), kit.u(2), 'reply 11', kit.c(11), kit.d(11), parent_id => kit.c(1));
SELECT parent_id, parent_deleted FROM blogstore.create_comment(kit.p(1), kit.u(2), 'no reply', kit.c(12), kit.d(12), parent_id => NULL);
SELECT call, kit.try('blogstore.create_comment(' || call || ')') FROM (VALUES
	('kit.p(1), kit.u(2), ''x'', parent_id => kit.c(99)'),
	('kit.p(1), kit.u(2), ''x'', parent_id => kit.c(20)'),
	('kit.p(1), kit.u(2), ''x'', parent_id => kit.p(1)'),
	('kit.p(1), kit.u(2), ''x'', parent_id => ''00000000-0000-0000-0000-000000000000'''),
	('kit.p(1), kit.u(2), ''x'', kit.c(50), parent_id => kit.c(50)'),
	('kit.p(1), kit.u(2), ''x'', parent_id => kit.c(4)'),
	('kit.p(99), kit.u(2), ''x'', parent_id => kit.c(1)'),
	('kit.p(1), kit.u(99), ''x'', parent_id => kit.c(1)'),
	('kit.p(1), kit.u(2), '''', parent_id => kit.c(1)')) AS v (call);
\set VERBOSITY terse
SELECT blogstore.create_comment(kit.p(1), kit.u(2), 'x', parent_id => kit.c(99));
SELECT blogstore.create_comment(kit.p(1), kit.u(2), 'x', parent_id => kit.c(4));
\set VERBOSITY default
SELECT comment_count FROM blogstore.get_post(kit.p(1));

-- A comment repeated with the same parent is returned; with another parent or
-- none the id belongs to another item
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted FROM blogstore.create_comment(kit.p(1), kit.u(2), 'reply 11', kit.c(11), parent_id => kit.c(1));
SELECT call, kit.try('blogstore.create_comment(' || call || ')') FROM (VALUES
	('kit.p(1), kit.u(2), ''reply 11'', kit.c(11), parent_id => kit.c(2)'),
	('kit.p(1), kit.u(2), ''reply 11'', kit.c(11), parent_id => kit.c(99)'),
	('kit.p(1), kit.u(2), ''reply 11'', kit.c(11), parent_id => kit.c(4)'),
	('kit.p(1), kit.u(2), ''reply 11'', kit.c(11), parent_id => kit.c(11)'),
	('kit.p(1), kit.u(2), ''reply 11'', kit.c(11)'),
	('kit.p(1), kit.u(2), ''no reply'', kit.c(12), parent_id => kit.c(1)')) AS v (call);

-- A parent that the same transaction, and the same statement, has made
BEGIN;
SELECT content FROM blogstore.create_comment(kit.p(3), kit.u(1), 'parent', kit.c(30), kit.d(30));
SELECT content, parent_deleted FROM blogstore.create_comment(kit.p(3), kit.u(2), 'reply', kit.c(31), kit.d(31), parent_id => kit.c(30));
SELECT content FROM blogstore.create_comment(kit.p(3), kit.u(3), 'reply to it', kit.c(32), kit.d(32), parent_id => kit.c(31));
SELECT content, parent_deleted FROM blogstore.list_comment_replies(kit.p(3), kit.c(30));
SELECT blogstore.delete_comment(kit.p(3), kit.c(30));
SELECT content, parent_deleted FROM blogstore.list_comment_replies(kit.p(3), kit.c(30));
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(2), ''too late'', parent_id => kit.c(30))');
ROLLBACK;
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(2), ''too early'', parent_id => kit.c(30))');
SELECT count(blogstore.create_comment(kit.p(3), kit.u(1), 'chain ' || n, kit.c(29 + n), kit.d(n), NULL, false, CASE WHEN n > 1 THEN kit.c(28 + n) END)) FROM generate_series(1, 20) n;
SELECT content, (SELECT content FROM blogstore.list_comment_replies(kit.p(3), kit.c(30))) AS reply FROM blogstore.list_post_comments(kit.p(3), 1, oldest_first => true);

-- Replies outlive what they reply to, and say so wherever they are read
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1 + n % 3), 'reply ' || n, kit.c(n), kit.d(n), NULL, n = 15, kit.c(1 + n % 2))) FROM generate_series(13, 16) n;
CREATE FUNCTION kit.parents(post uuid) RETURNS TABLE (content text, parent text, gone boolean, document jsonb, alone boolean) LANGUAGE sql AS $$
SELECT c.content, right(c.parent_id::text, 2), c.parent_deleted, c::jsonb -> 'parentDeleted',
	CASE WHEN c.parent_id IS NOT NULL THEN (SELECT r.parent_deleted FROM blogstore.list_comment_replies(post, c.parent_id, NULL, include_hidden => true) r WHERE r.id = c.id) END
FROM blogstore.list_post_comments(post, NULL, include_hidden => true) c
$$;
SELECT * FROM kit.parents(kit.p(1));
SELECT blogstore.delete_comment(kit.p(1), kit.c(1));
SELECT * FROM kit.parents(kit.p(1));
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted FROM blogstore.edit_comment(kit.p(1), kit.c(11), 'reply 11, edited');
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted FROM blogstore.own_edit_comment(kit.u(2), kit.p(1), kit.c(11), 'reply 11');
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted, hidden FROM blogstore.hide_comment(kit.p(1), kit.c(11));
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted, hidden FROM blogstore.hide_comment(kit.p(1), kit.c(11), false);
SELECT content, parent_deleted FROM blogstore.edit_comment(kit.p(1), kit.c(15), 'reply 15', '{"k": 1}');
-- a retry is answered all the same, and another is refused
SELECT content, parent_id = kit.c(1) AS parent, parent_deleted FROM blogstore.create_comment(kit.p(1), kit.u(2), 'reply 11', kit.c(11), parent_id => kit.c(1));
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(2), ''another'', kit.c(11), parent_id => kit.c(1))');
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(2), ''reply'', kit.c(51), parent_id => kit.c(1))');
-- as the article's documents
SELECT blogstore.comment_document(c) FROM blogstore.list_comment_replies(kit.p(1), kit.c(1), 1) c;
SELECT c.doc -> 'parentId' AS parent, c.doc ? 'parentDeleted' AS tells FROM blogstore.export_documents() AS c (doc) WHERE c.doc ->> 'id' = kit.c(11)::text;
-- a document that says so is taken in without it: it is looked up anew
CREATE TABLE kit.replies_taken AS SELECT c::jsonb AS doc FROM blogstore.list_comment_replies(kit.p(1), kit.c(1), 1) c;
SELECT blogstore.delete_comment(kit.p(1), kit.c(16));
SELECT type, read, imported, rejected FROM blogstore.import_documents('kit.replies_taken') WHERE read > 0;
SELECT c.parent_deleted, c.properties, c::jsonb = t.doc AS same FROM blogstore.list_comment_replies(kit.p(1), kit.c(1), 1) c, kit.replies_taken t;
DROP TABLE kit.replies_taken;
SELECT kit.try('blogstore.edit_comment(kit.p(1), kit.c(11), properties => ''{"parentDeleted": true}'')');
SELECT comment_count, (SELECT count(*) FROM blogstore.list_post_comments(kit.p(1), NULL)) AS listed FROM blogstore.get_post(kit.p(1));

-- A hidden parent is there, and so are the replies to it, which are shown
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(2));
SELECT content, parent_deleted FROM blogstore.list_comment_replies(kit.p(1), kit.c(2));
SELECT content FROM blogstore.list_comment_replies(kit.p(1), kit.c(1));
SELECT content, hidden FROM blogstore.list_comment_replies(kit.p(1), kit.c(2), include_hidden => true);
SELECT content, parent_deleted FROM blogstore.create_comment(kit.p(1), kit.u(3), 'reply 14', kit.c(14), parent_id => kit.c(1));
SELECT content FROM blogstore.create_comment(kit.p(1), kit.u(2), 'reply 13', kit.c(13), parent_id => kit.c(2));
SELECT hidden FROM blogstore.hide_comment(kit.p(1), kit.c(2), false);
-- unknown ones have no replies
SELECT count(*) FROM blogstore.list_comment_replies(kit.p(1), kit.c(99));
SELECT count(*) FROM blogstore.list_comment_replies(kit.p(99), kit.c(1));
SELECT count(*) FROM blogstore.list_comment_replies(kit.p(2), kit.c(2));

-- A user is renamed, another deleted: comments of the deleted user are gone
-- from the commit on, whether or not the worker runs
SELECT username FROM blogstore.edit_user(kit.u(2), 'renamed');
SELECT blogstore.wait_for_views();
SELECT content, user_username FROM blogstore.list_comment_replies(kit.p(1), kit.c(1));
SELECT count(blogstore.create_comment(kit.p(1), kit.u(n), 'by ' || n, kit.c(60 + n), kit.d(60 + n), NULL, false, kit.c(3))) FROM generate_series(4, 6) n;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(4), 'to ' || n, kit.c(70 + n), kit.d(70 + n), NULL, false, kit.c(60 + n))) FROM generate_series(5, 6) n;
BEGIN;
SELECT blogstore.delete_user(kit.u(5));
SELECT content, parent_deleted FROM blogstore.list_post_comments(kit.p(1), 6);
SELECT c.parent_deleted FROM blogstore.list_post_comments(kit.p(1), 6) c;
SELECT content, parent_deleted FROM blogstore.list_comment_replies(kit.p(1), kit.c(3));
SELECT content, parent_deleted FROM blogstore.edit_comment(kit.p(1), kit.c(75), 'to 5, edited');
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(4), ''x'', parent_id => kit.c(65))');
SELECT kit.try('blogstore.create_comment(kit.p(1), kit.u(4), ''x'', parent_id => kit.c(66))');
COMMIT;
SELECT content, parent_deleted FROM blogstore.list_post_comments(kit.p(1), 6) WHERE content LIKE 'to%';
SELECT blogstore.wait_for_views();
SELECT content, parent_deleted FROM blogstore.list_post_comments(kit.p(1), 6) WHERE content LIKE 'to%';
SELECT * FROM blogstore.verify();

-- No circles, though an id is used again
SELECT blogstore.delete_comment(kit.p(3), kit.c(30)), blogstore.delete_comment(kit.p(3), kit.c(35));
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(1), ''x'', kit.c(30), parent_id => kit.c(31))');
SELECT content, parent_deleted FROM blogstore.create_comment(kit.p(3), kit.u(1), 'chain 1', kit.c(30), parent_id => kit.c(49));
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(1), ''x'', kit.c(35), parent_id => kit.c(34))');
SELECT blogstore.delete_comment(kit.p(3), kit.c(35));
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(1), ''x'', kit.c(35), parent_id => kit.c(49))');
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(1), ''x'', kit.c(35), parent_id => kit.c(33))');
-- one that was made past blogstore holds nobody up
UPDATE blogstore.posts SET parent_id = kit.c(46) WHERE post_id = kit.p(3) AND id = kit.c(40);
SELECT blogstore.delete_comment(kit.p(3), kit.c(48));
SELECT kit.try('blogstore.create_comment(kit.p(3), kit.u(1), ''x'', kit.c(48), parent_id => kit.c(47))');
SELECT blogstore.delete_post(kit.p(3));
SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(3);

-- Thousands of replies, many of one date, in an order other than their ids'
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1 + n % 4), 'parent ' || n, kit.c(1000 + n), kit.d(n))) FROM generate_series(1, 40) n;
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1 + n % 4), 'reply ' || n, kit.c(10000 + (n * 37) % 4001), kit.d(100 + n / 7), NULL, n % 10 = 0,
	CASE WHEN n % 3 = 0 THEN kit.c(1001) ELSE kit.c(1001 + n % 40) END)) FROM generate_series(1, 4000) n;
SELECT count(blogstore.delete_comment(kit.p(2), kit.c(1000 + n))) FROM generate_series(1, 40, 2) n;
CREATE TABLE kit.replies AS SELECT h.with_hidden, p.parent_id, array_agg(p.id ORDER BY p.creation_date DESC, p.id DESC) AS ids
FROM blogstore.posts p, unnest(ARRAY[false, true]) h (with_hidden)
WHERE p.post_id = kit.p(2) AND p.type = 'comment' AND p.parent_id IN (kit.c(1001), kit.c(1002)) AND (with_hidden OR p.hidden IS NOT TRUE) GROUP BY 1, 2;
SELECT with_hidden, right(parent_id::text, 4) AS parent, cardinality(ids) FROM kit.replies ORDER BY 1, 2;
SELECT right(parent_id::text, 4) AS parent, page, with_hidden,
	kit.walk(format('blogstore.list_comment_replies(kit.p(2), %L, $1, $2, $3, false, %L)', parent_id, with_hidden), page) = ids AS newest,
	kit.walk(format('blogstore.list_comment_replies(kit.p(2), %L, $1, $2, $3, true, %L)', parent_id, with_hidden), page)
		= ARRAY(SELECT id FROM unnest(ids) WITH ORDINALITY r (id, n) ORDER BY n DESC) AS oldest
FROM kit.replies, unnest(ARRAY[1, 7, 333, 2000]) page WHERE page > 1 OR cardinality(ids) < 100 ORDER BY 1, 2, 3;
-- from each of some rows both ways
SELECT count(*) AS rows, bool_and(ARRAY(SELECT b.id FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), 5, r.creation_date, r.id) b)
		= coalesce(k.ids[r.n + 1 : r.n + 5], '{}')) AS onward,
	bool_and(ARRAY(SELECT b.id FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), 5, r.creation_date, r.id, true) WITH ORDINALITY AS b (id, type, post_id, user_id, user_username, content, creation_date, parent_id, parent_deleted, hidden, modification_date, properties, like_count, reply_count, m) ORDER BY m DESC)
		= coalesce(k.ids[greatest(r.n - 5, 1) : r.n - 1], '{}')) AS back
FROM kit.replies k, blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL) WITH ORDINALITY AS r (id, type, post_id, user_id, user_username, content, creation_date, parent_id, parent_deleted, hidden, modification_date, properties, like_count, reply_count, n)
WHERE r.n % 41 = 1 AND k.parent_id = kit.c(1001) AND NOT k.with_hidden;
-- a cursor that names no reply is a place, and one that was cut finds it
SELECT count(*) FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL, kit.d(300), 'ffffffff-ffff-ffff-ffff-ffffffffffff')
	EXCEPT SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(2) AND parent_id = kit.c(1001) AND hidden IS NOT TRUE AND creation_date <= kit.d(300);
-- each reply says what its own parent is, by whichever way it is read
CREATE TABLE kit.truth (id uuid PRIMARY KEY, gone boolean);
INSERT INTO kit.truth SELECT o.id, CASE WHEN o.parent_id IS NOT NULL THEN p.id IS NULL END FROM blogstore.posts o
LEFT JOIN (SELECT id FROM blogstore.posts WHERE post_id = kit.p(2) AND type = 'comment' AND parent_id IS NULL) p ON p.id = o.parent_id
WHERE o.post_id = kit.p(2) AND o.type = 'comment';
ANALYZE kit.truth;
CREATE FUNCTION kit.wrong_parents(columns text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	wrong	bigint;
BEGIN
	EXECUTE 'SELECT count(*) FILTER (WHERE c.gone IS DISTINCT FROM t.gone OR t.id IS NULL)'
		' FROM (SELECT ' || columns || ' FROM blogstore.list_post_comments(kit.p(2), NULL, include_hidden => true) l) AS c (id, gone)'
		' LEFT JOIN kit.truth t ON t.id = c.id' INTO wrong;
	RETURN wrong;
END $$;
SELECT kit.wrong_parents('id, parent_deleted'), kit.wrong_parents('id, CASE WHEN parent_id IS NULL OR post_id IS NOT NULL THEN parent_deleted END'), kit.wrong_parents('(l).id, (l).parent_deleted'), kit.wrong_parents('id, (l::jsonb ? ''parentDeleted'') AND parent_id IS NOT NULL OR NULLIF(parent_id IS NULL, true)');
SET blogstore.enable_custom_scan = off;
SELECT kit.wrong_parents('id, parent_deleted'), kit.wrong_parents('(l).id, (l).parent_deleted');
RESET blogstore.enable_custom_scan;
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT kit.wrong_parents('id, parent_deleted'), kit.wrong_parents('(l).id, (l).parent_deleted');
SELECT count(*) FILTER (WHERE parent_deleted) AS gone, count(*) FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL);
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(*) FILTER (WHERE parent_deleted) AS gone, count(*) FILTER (WHERE NOT parent_deleted) AS there, count(*) FILTER (WHERE parent_deleted IS NULL) AS no_replies
FROM blogstore.list_post_comments(kit.p(2), NULL, include_hidden => true);

-- A parent is looked up once if replies to it stand together, and not at all
-- if the column is not asked for
SELECT call, kit.descents('SELECT ' || call) FROM (VALUES
	('* FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001))'),
	('* FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL)'),
	('parent_deleted FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL)'),
	('content, parent_id FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL)'),
	('count(*) FROM blogstore.list_post_comments(kit.p(2), NULL)'),
	('count(parent_deleted) FROM blogstore.list_post_comments(kit.p(2), 40, oldest_first => true)'),
	('blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL)')) AS v (call);

-- Rows that a cursor asks for in savepoints
BEGIN;
DECLARE c CURSOR FOR SELECT content, parent_deleted FROM blogstore.list_post_comments(kit.p(2), 12, kit.d(150), kit.c(1), true);
SAVEPOINT s;
FETCH 2 c;
RELEASE s;
FETCH 2 c;
SAVEPOINT s;
FETCH 2 c;
ROLLBACK TO s;
FETCH 2 c;
SAVEPOINT s;
DECLARE d CURSOR WITH HOLD FOR SELECT count(*), count(*) FILTER (WHERE parent_deleted) FROM blogstore.list_comment_replies(kit.p(2), kit.c(1001), NULL);
RELEASE s;
FETCH ALL c;
COMMIT;
FETCH d;
CLOSE d;

-- Without the index nothing is read by another
BEGIN;
DO $$
DECLARE
	one	regclass;
BEGIN
	FOR one IN SELECT i.indexrelid FROM pg_index i JOIN pg_partition_tree('blogstore.posts') t ON t.relid = i.indrelid
		WHERE i.indpred IS NOT NULL AND i.indnkeyatts = 4 LOOP
		EXECUTE 'DROP INDEX ' || one;
	END LOOP;
END $$;
SELECT kit.try('blogstore.list_comment_replies(kit.p(2), kit.c(1001))');
SELECT content, parent_deleted FROM blogstore.list_post_comments(kit.p(2), 1);
SELECT content, parent_deleted FROM blogstore.create_comment(kit.p(2), kit.u(1), 'a reply', kit.c(5000), kit.d(5000), parent_id => kit.c(1002));
SELECT content FROM blogstore.create_comment(kit.p(2), kit.u(1), 'a reply', kit.c(5000), kit.d(5000), parent_id => kit.c(1002));
SELECT reply_count = (SELECT count(*) FROM blogstore.posts WHERE parent_id = kit.c(1001) AND hidden IS NOT TRUE) AS exact FROM blogstore.create_comment(kit.p(2), kit.u(1), 'anew', kit.c(1001), kit.d(1));
DO $$
DECLARE
	one	regclass;
BEGIN
	FOR one IN SELECT i.indexrelid FROM pg_index i JOIN pg_partition_tree('blogstore.posts') t ON t.relid = i.indrelid WHERE i.indpred IS NOT NULL LOOP
		EXECUTE 'DROP INDEX ' || one;
	END LOOP;
END $$;
SELECT call, kit.try('blogstore.list_post_comments(kit.p(2), ' || call || ')') FROM (VALUES ('1'), ('1, top_level => true')) AS v (call);
ROLLBACK;
-- nor without a column
BEGIN;
ALTER TABLE blogstore.posts DROP COLUMN parent_id CASCADE;
SELECT call, kit.try('blogstore.' || call) FROM unnest(ARRAY['list_comment_replies(kit.p(2), kit.c(1001))', 'list_post_comments(kit.p(2))',
	'create_comment(kit.p(2), kit.u(1), ''x'')', 'create_comment(kit.p(2), kit.u(1), ''x'', parent_id => kit.c(1002))', 'list_post_likes(kit.p(2))']) AS call;
ROLLBACK;
-- a column of the owner's of this name is the owner's
BEGIN;
ALTER TABLE blogstore.posts ADD COLUMN parent_deleted boolean NOT NULL DEFAULT true;
SELECT content, parent_deleted FROM blogstore.create_comment(kit.p(2), kit.u(1), 'a reply', kit.c(5000), kit.d(5000), parent_id => kit.c(1002));
SELECT content, parent_deleted FROM blogstore.list_post_comments(kit.p(2), 1);
SELECT content, parent_deleted FROM blogstore.edit_comment(kit.p(2), kit.c(5000), 'edited');
SELECT parent_deleted FROM blogstore.posts WHERE id = kit.c(5000);
ROLLBACK;
-- parents that lack values are there
BEGIN;
DO $$
DECLARE
	one	regclass;
BEGIN
	FOR one IN SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf AND relid::regclass::text LIKE '%comment' LOOP
		EXECUTE format('ALTER TABLE %s ALTER content DROP NOT NULL', one);
	END LOOP;
END $$;
UPDATE blogstore.posts SET content = NULL WHERE post_id = kit.p(2) AND id = kit.c(1002);
SELECT DISTINCT parent_deleted FROM blogstore.list_comment_replies(kit.p(2), kit.c(1002));
ROLLBACK;

-- Wrappers: replies are what relates comments
CREATE ROLE regress_blogstore_replies;
SELECT blogstore.grant_requests('regress_blogstore_replies');
SELECT blogstore.create_api('replies', 'regress_blogstore_replies');
SET ROLE regress_blogstore_replies;
SET search_path = replies;
SELECT c.content, r.content AS reply, r.parent_deleted FROM list_post_comments(kit.p(1), NULL) c, LATERAL comment_item_replies(c, 2) r;
SELECT parent_id = kit.c(3) AS parent, parent_deleted FROM create_comment(kit.p(1), kit.u(1), 'by wrapper', kit.c(80), kit.d(80), parent_id => kit.c(3));
RESET search_path;
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA replies CASCADE;
RESET client_min_messages;
SELECT blogstore.revoke_requests('regress_blogstore_replies');
DROP ROLE regress_blogstore_replies;

DROP TABLE kit.replies, kit.truth;
DROP FUNCTION kit.parents, kit.wrong_parents;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
