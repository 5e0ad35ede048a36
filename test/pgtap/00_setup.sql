-- The database that the other files test: the extension with its default
-- number of partitions and a small store. Runs first and commits.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS blogstore;
DROP SCHEMA IF EXISTS kit CASCADE;
CREATE SCHEMA kit;
CREATE FUNCTION kit.u(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.p(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8001-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.c(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-7000-8002-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION kit.d(n int) RETURNS timestamptz LANGUAGE sql IMMUTABLE
AS $$ SELECT timestamptz '2024-01-01 00:00:00+00' + n * interval '1 minute' $$;

SELECT plan(8);

SELECT lives_ok('SELECT blogstore.create_containers()', 'the containers are created');
-- Post items with their deltas added up
CREATE VIEW kit.posts AS
SELECT p.id, p.type, p.post_id, p.user_id, p.user_username, p.title, p.content,
	p.comment_count + coalesce(d.comment_count, 0) AS comment_count,
	p.like_count + coalesce(d.like_count, 0) AS like_count, p.creation_date
FROM blogstore.posts p
LEFT JOIN (SELECT post_id, sum(comment_count)::bigint AS comment_count, sum(like_count)::bigint AS like_count
	FROM blogstore.posts WHERE type = 'delta' GROUP BY post_id) d ON d.post_id = p.post_id
WHERE p.type = 'post';
SELECT throws_ok('SELECT blogstore.create_containers()', '42P07', NULL, 'a second time they are there already');
SELECT ok(blogstore.wait_for_views(), 'the worker has started');
SELECT lives_ok($$
	SELECT blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, 20) n
$$, '20 users are created');
SELECT lives_ok($$
	SELECT blogstore.create_post(kit.u(1 + n % 20), 'title ' || n, repeat(n || ' ', 200), kit.p(n), kit.d(n)) FROM generate_series(1, 300) n
$$, '300 posts are created');
SELECT lives_ok($$
	SELECT blogstore.create_comment(kit.p(n), kit.u(m), 'comment', kit.c(100 * n + m), kit.d(n + m))
	FROM generate_series(1, 300, 10) n, generate_series(1, 20) m
$$, '600 comments are created');
SELECT lives_ok($$
	SELECT blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m)) FROM generate_series(1, 300, 5) n, generate_series(1, 20) m
$$, '1200 likes are created');
SELECT ok(blogstore.wait_for_views(), 'the views follow');

SELECT * FROM finish();
