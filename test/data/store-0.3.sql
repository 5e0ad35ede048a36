-- Fills a store of 0.3 with every kind of item, and writes what it exports to
-- store-0.3.jsonl. Run it by psql in this directory, in an empty database of a
-- server with blogstore 0.3 (commit 73a1919), as a superuser:
--
--     psql -X -v ON_ERROR_STOP=1 -d DATABASE -f store-0.3.sql
--
-- Edits are dated now, so the file is not the same each time.

SET timezone = 'UTC';
CREATE EXTENSION blogstore VERSION '0.3';
SELECT blogstore.create_containers(4);
CREATE FUNCTION u(n int) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$SELECT format('00000000-0000-7000-8000-%s', lpad(n::text, 12, '0'))::uuid$$;
CREATE FUNCTION p(n int) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$SELECT format('00000000-0000-7000-8001-%s', lpad(n::text, 12, '0'))::uuid$$;
CREATE FUNCTION c(n int) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$SELECT format('00000000-0000-7000-8002-%s', lpad(n::text, 12, '0'))::uuid$$;
CREATE FUNCTION d(n int) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS $$SELECT timestamptz '2024-01-01 00:00:00.000001+00' + n * interval '1 minute'$$;

-- ---- Users: 1 to 30 of the usual kind, and odd ones

SELECT count(blogstore.create_user('user ' || n, u(n), d(n))) FROM generate_series(1, 30) AS n;
SELECT (blogstore.create_user(name, u(number), date::timestamptz, properties::jsonb)).username
FROM (VALUES
	(31, '日本', '2024-02-29 23:59:59.999999+05:45', '{"größe": "groß", "😀": ["é", "é"]}'),
	(32, 'Ĳsbrand Ångström', '2024-02-29 12:00:00-11:59', '{}'),
	(33, 'O''Brien \ "the" {quoted}', '1969-12-31 23:59:59.5+14:00', '{"bio": "line\nline\ttab \\ \"quote\" \u0001"}'),
	(34, repeat('ü', 64), '2024-01-01 00:00:00-09:30', '{"deep": {"a": [1, {"b": null}, [], {}]}}'),
	(35, 'ПОЛЬЗОВАТЕЛЬ', '0044-03-15 12:00:00+00 BC', '{"n": 1.0, "m": 1.000, "small": 1e-50, "big": 123456789012345678901234567890.5, "minus": -0.0}'),
	(36, 'far away', '9999-12-31 23:59:59.999999+00', '{"true": true, "null": null}'),
	(37, '👩‍👩‍👧', '1883-11-18 12:03:58+00', NULL),
	(38, 'ß', '2024-03-31 01:30:00+00', NULL)) AS v (number, name, date, properties);

-- renamed: one of them twice, one to a name that another had, one in case only
SELECT (blogstore.edit_user(u(1), 'renamed')).username;
SELECT (blogstore.edit_user(u(2), 'renamed for a while')).username;
SELECT (blogstore.edit_user(u(2), 'user 1')).username;
SELECT (blogstore.edit_user(u(3), 'USER 3', '{"renamed": "with properties"}')).username;
SELECT (blogstore.edit_user(u(38), 'ẞ')).username;

-- ---- Posts

SELECT count(blogstore.create_post(u(1 + n % 30), 'title ' || n, repeat('content ' || n || ' ', 1 + n % 7), p(n), d(100 + n), CASE WHEN n % 5 = 0 THEN jsonb_build_object('tags', ARRAY['t' || n, 'even'], 'slug', 'post-' || n) END))
FROM generate_series(1, 30) AS n;
SELECT count(blogstore.create_post(u(30 + number), title, content, p(60 + number), date::timestamptz, properties::jsonb, hidden))
FROM (VALUES
	(1, 'empty', '', '2024-05-01 00:00:00+00', NULL, false),
	(2, E'tab\tand\nline', E'\\N \\. \r\n \u0001 \u2028', '2024-05-01 00:00:00.000001+12:45', '{"content-type": "text/plain"}', false),
	(3, '題', repeat('日本語 😀 ', 400), '2024-05-01 00:00:00-03:30', '{}', false),
	(4, 'html', '<p>1 &lt; 2 <b>&amp;</b> <!-- x --></p>', '1900-01-01 00:00:00+00', '{"a": {"b": {"c": [[[1]]]}}}', false),
	(5, 'long', (SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 200) AS n), '2024-05-02 00:00:00+00', jsonb_build_object('text', repeat('x', 3000))::text, false),
	(6, 'a draft', 'not yet', '2024-05-03 00:00:00+00', '{"draft": true}', true),
	(7, 'a draft that is published', 'now', '2024-05-04 00:00:00+00', NULL, true),
	(8, 'like one of the article''s', 'x', '2024-05-05 00:00:00+00', '{"Title": 1, "post_id": 2}', false)) AS v (number, title, content, date, properties, hidden);
SELECT hidden FROM blogstore.publish_post(p(67));
-- two at the same moment
SELECT count(blogstore.create_post(u(4), 'twin ' || n, 'x', p(70 + n), d(1000))) FROM generate_series(1, 2) AS n;

-- ---- Comments, with replies and hidden ones

SELECT count(blogstore.create_comment(p(1 + n % 20), u(1 + n % 29), 'comment ' || n, c(n), d(200 + n), CASE WHEN n % 4 = 0 THEN '{"score": 0.10}'::jsonb END))
FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_comment(p(1 + n % 20), u(31 + n % 8), 'reply to ' || n, c(200 + n), d(400 + n), parent_id => c(n))) FROM generate_series(1, 16) AS n;
SELECT count(blogstore.create_comment(p(1 + n % 20), u(1 + n % 30), 'reply to a reply', c(300 + n), d(500 + n), parent_id => c(200 + n))) FROM generate_series(1, 10) AS n;
SELECT count(blogstore.create_comment(p(21), u(5), 'held for approval', c(400 + n), d(600 + n), hidden => true)) FROM generate_series(1, 3) AS n;
SELECT hidden FROM blogstore.hide_comment(p(21), c(402), false);
SELECT hidden FROM blogstore.hide_comment(p(2), c(1));
SELECT (blogstore.create_comment(p(3), u(31), E'\\ "quoted" \u0001 日本 😀\n', c(410), '2024-02-29 23:59:59.999999-00:01')).type;
-- a comment and a reply of which the comment they reply to is gone
SELECT blogstore.delete_comment(p(1 + n), c(n)) FROM generate_series(5, 7) AS n;

-- ---- Likes, some of them taken back

SELECT count(blogstore.create_like(p(1 + n % 30), u(1 + n / 30), d(700 + n))) FROM generate_series(0, 119) AS n;
SELECT count(blogstore.create_like(p(61 + n % 5), u(31 + n), '1999-12-31 23:59:59.000001+13:45')) FROM generate_series(0, 7) AS n;
SELECT count(*) FROM generate_series(0, 119, 10) AS n, blogstore.delete_like(p(1 + n % 30), u(1 + n / 30)) AS d WHERE d;

-- ---- Edits; posts hidden with all their items, one of them for a while

SELECT count(blogstore.edit_post(p(n), 'edited ' || n)) FROM generate_series(11, 14) AS n;
SELECT count(blogstore.edit_post(p(n), content => '', properties => '{"edited": true}')) FROM generate_series(15, 16) AS n;
SELECT count(blogstore.edit_comment(p(1 + n % 20), c(n), 'edited')) FROM generate_series(20, 22) AS n;
SELECT count(blogstore.edit_comment(p(5), c(24), properties => '{"edited": true}'));
SELECT hidden FROM blogstore.hide_post(p(17));
SELECT hidden FROM blogstore.hide_post(p(18));
SELECT hidden FROM blogstore.hide_post(p(18), false);

-- ---- Deleted posts and users, with their items; one is created again

SELECT blogstore.delete_post(p(n)) FROM generate_series(19, 20) AS n;
SELECT blogstore.delete_user(u(n)) FROM generate_series(29, 30) AS n;
SELECT blogstore.wait_for_views('10 min');
SELECT (blogstore.create_user('user 30', u(30), d(2000))).username;
SELECT (blogstore.create_post(u(30), 'by one who is back', 'x', p(80), d(2001))).type;

SELECT blogstore.wait_for_views('10 min');
SELECT * FROM blogstore.verify();

-- dates with an offset that is no whole hour
SET timezone = 'Asia/Kathmandu';
\pset format unaligned
\pset tuples_only on
\o store-0.3.jsonl
SELECT document FROM blogstore.export_documents() AS document ORDER BY document ->> 'type', document ->> 'id', document ->> 'postId';
