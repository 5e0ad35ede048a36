--
-- DOCUMENTS: the cast of each item to jsonb, with the article's names
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();

SELECT count(*) FROM blogstore.create_user('Alice', kit.u(1), kit.d(1));
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'title', 'content', kit.p(1), kit.d(2));
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'comment', kit.c(1), kit.d(3));
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(4));

SELECT jsonb_pretty(i::jsonb) FROM blogstore.get_user(kit.u(1)) i;
SELECT jsonb_pretty(i::jsonb) FROM blogstore.get_post(kit.p(1)) i;
SELECT jsonb_pretty(i::jsonb) FROM blogstore.list_post_comments(kit.p(1)) i;
SELECT jsonb_pretty(i::jsonb - 'id'), i::jsonb ->> 'id' = i.id::text AS id FROM blogstore.list_post_likes(kit.p(1)) i;

-- A cast, a function, and an assignment are one
CREATE TEMP TABLE document (body jsonb);
INSERT INTO document SELECT i FROM blogstore.get_post(kit.p(1)) i;
SELECT body = CAST(i AS jsonb) AND body = blogstore.post_document(i) AS same FROM document, blogstore.get_post(kit.p(1)) i;
-- of a command's result and of a list's items too
SELECT jsonb_pretty(blogstore.create_user('Bob', kit.u(2), kit.d(5))::jsonb);
SELECT blogstore.wait_for_views();
SELECT i::jsonb ->> 'title' FROM blogstore.list_feed() i;
SELECT i::jsonb ->> 'userUsername' FROM blogstore.list_user_posts(kit.u(1)) i;

-- Values keep their JSON type; texts are quoted
SELECT key, jsonb_typeof(value) FROM blogstore.get_post(kit.p(1)) i, jsonb_each(i::jsonb) ORDER BY key COLLATE "C";
SELECT content FROM blogstore.edit_post(kit.p(1), E'"quoted" \\ {}', E'tab\tline\nend');
SELECT i::jsonb -> 'title', i::jsonb -> 'content', (i::jsonb ->> 'title') = i.title AND (i::jsonb ->> 'content') = i.content AS round
FROM blogstore.get_post(kit.p(1)) i;

-- Dates are ISO 8601 in the session's zone, whatever DateStyle; missing
-- values are null
SET timezone = 'Asia/Kolkata';
SET datestyle = 'SQL, DMY';
SELECT i::jsonb ->> 'creationDate' AS kolkata, (i::jsonb ->> 'creationDate')::timestamptz = i.creation_date AS same FROM blogstore.get_user(kit.u(1)) i;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT jsonb_pretty(ROW(NULL, 'user', NULL, NULL, NULL, NULL)::blogstore.user_item::jsonb);
SELECT (NULL::blogstore.user_item)::jsonb IS NULL AS none;

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
