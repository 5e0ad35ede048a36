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
\ir ../kit/ids.sql

SELECT plan(8);

SELECT lives_ok('SELECT blogstore.create_containers()', 'the containers are created');
\ir ../kit/store.sql
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
