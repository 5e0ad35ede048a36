--
-- POSTS: C2, Q2 and deletion
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(2, 0);

-- C2: every property as given, by position and by name
SELECT * FROM blogstore.create_post(kit.u(1), 'First', 'Hello', kit.p(1), kit.d(1));
SELECT * FROM blogstore.create_post(content => 'World', title => 'Second', user_id => kit.u(2), creation_date => kit.d(2), post_id => kit.p(2));
-- empty content is content
SELECT * FROM blogstore.create_post(kit.u(1), 'Empty', '', kit.p(3), kit.d(3));
-- made id and date
SELECT type, id = post_id AS one_id, substr(id::text, 15, 1) AS version, user_id, user_username, title, content,
	comment_count, like_count, creation_date BETWEEN now() AND clock_timestamp() AS dated_now
FROM blogstore.create_post(kit.u(1), 'Now', 'x');

-- Q2
SELECT * FROM blogstore.get_post(kit.p(1));
SELECT * FROM blogstore.get_post(post_id => kit.p(2));
SELECT * FROM blogstore.get_post(kit.p(99));
-- what the transaction itself did is seen, by later statements
BEGIN;
SELECT title FROM blogstore.create_post(kit.u(1), 'Own', 'x', kit.p(10), kit.d(10));
SELECT title FROM blogstore.get_post(kit.p(10));
ROLLBACK;
SELECT title FROM blogstore.get_post(kit.p(10));

-- Long content comes back whole from Q2: compressible, and not
SELECT length(content), md5(content) = md5(repeat('blogstore ', 100000)) AS same
FROM blogstore.create_post(kit.u(1), 'Long', repeat('blogstore ', 100000), kit.p(4), kit.d(4));
SELECT length(content), md5(content) = md5(repeat('blogstore ', 100000)) AS same FROM blogstore.get_post(kit.p(4));
SELECT string_agg(md5(n::text), '' ORDER BY n) AS noise FROM generate_series(1, 5000) n \gset
SELECT content = :'noise' AS same FROM blogstore.create_post(kit.u(1), 'Noise', :'noise', kit.p(5), kit.d(5));
SELECT content = :'noise' AS same FROM blogstore.get_post(kit.p(5));
-- characters of three and four bytes
SELECT length(title), length(content)
FROM blogstore.create_post(kit.u(1), repeat(U&'\4e2d', 1000), repeat(U&'\+01f600', 1000), kit.p(6), kit.d(6));
SELECT length(title), length(content) FROM blogstore.get_post(kit.p(6));

-- C2 edit: title, content or both; NULL keeps
SELECT title, content FROM blogstore.edit_post(kit.p(1), 'First!', 'Hello!');
SELECT title, content FROM blogstore.edit_post(kit.p(1), title => 'First again');
SELECT title, content FROM blogstore.edit_post(kit.p(1), content => '');
SELECT title, content FROM blogstore.edit_post(post_id => kit.p(1), content => 'Hello again');
\set edited 'id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, hidden, modification_date >= transaction_timestamp() - interval ''1 h'' AS edited, properties'
SELECT :edited FROM blogstore.edit_post(kit.p(1));
SELECT :edited FROM blogstore.get_post(kit.p(1));
-- a new title leaves long content as it was
SELECT title, content = :'noise' AS same FROM blogstore.edit_post(kit.p(5), 'Noise 2');
SELECT title, content = :'noise' AS same FROM blogstore.get_post(kit.p(5));
-- edits keep counts, author and date
SELECT count(*) FROM blogstore.create_like(kit.p(2), kit.u(1));
SELECT count(*) FROM blogstore.create_comment(kit.p(2), kit.u(1), 'x');
SELECT :edited FROM blogstore.edit_post(kit.p(2), 'Second!', 'World!');
SELECT :edited FROM blogstore.get_post(kit.p(2));

-- Deletion takes comments and likes along; the id is free again
SELECT blogstore.delete_post(kit.p(2));
SELECT :edited FROM blogstore.get_post(kit.p(2));
SELECT * FROM blogstore.list_post_comments(kit.p(2));
SELECT * FROM blogstore.list_post_likes(kit.p(2));
SELECT * FROM blogstore.get_like(kit.p(2), kit.u(1));
SELECT blogstore.delete_post(kit.p(2));
SELECT blogstore.delete_post(post_id => kit.p(99));
SELECT type, count(*) FROM blogstore.posts WHERE post_id = kit.p(2) GROUP BY type;
SELECT comment_count, like_count, title FROM blogstore.create_post(kit.u(1), 'Second life', 'x', kit.p(2), kit.d(2));
SELECT count(*) FROM blogstore.list_post_comments(kit.p(2));
-- rolled back, everything is there still
BEGIN;
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1));
COMMIT;
BEGIN;
SELECT blogstore.delete_post(kit.p(1));
SELECT count(*) FROM blogstore.get_post(kit.p(1));
ROLLBACK;
SELECT like_count, title FROM blogstore.get_post(kit.p(1));
SELECT count(*) FROM blogstore.list_post_likes(kit.p(1));

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
