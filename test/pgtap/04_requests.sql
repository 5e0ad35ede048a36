-- The ten requests and the rest of the interface as a reader of its manual
-- would assert it, over the store that 00_setup made.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;
SELECT plan(71);

-- C1, Q1
SELECT is((SELECT i FROM blogstore.create_user('Newcomer', kit.u(100), kit.d(1000)) i),
	ROW(kit.u(100), 'user', kit.u(100), 'Newcomer', kit.d(1000), NULL)::blogstore.user_item, 'C1 create_user returns the item');
SELECT is((SELECT i FROM blogstore.get_user(kit.u(100)) i),
	ROW(kit.u(100), 'user', kit.u(100), 'Newcomer', kit.d(1000), NULL)::blogstore.user_item, 'Q1 get_user returns it');
SELECT is((SELECT i FROM blogstore.get_user_by_name('NEWCOMER') i),
	ROW(kit.u(100), 'user', kit.u(100), 'Newcomer', kit.d(1000), NULL)::blogstore.user_item, 'get_user_by_name finds it regardless of case');
SELECT is((blogstore.edit_user(kit.u(100), 'Oldtimer')).username, 'Oldtimer', 'C1 edit_user returns the new name');
SELECT is_empty($$ SELECT * FROM blogstore.get_user_by_name('Newcomer') $$, 'the old name is gone');
SELECT is((blogstore.create_user('somebody')).type, 'user', 'an id is made where none is passed');
SELECT matches((blogstore.new_id())::text, '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$', 'new_id makes version 7');

-- C2, Q2
SELECT is((SELECT i FROM blogstore.create_post(kit.u(100), 'A title', 'Some content', kit.p(1000), kit.d(1000)) i),
	ROW(kit.p(1000), 'post', kit.p(1000), kit.u(100), 'Oldtimer', 'A title', 'Some content', 0, 0, kit.d(1000), false, NULL, NULL, NULL)::blogstore.post_item, 'C2 create_post returns the item');
SELECT is(i, ROW(kit.p(1000), 'post', kit.p(1000), kit.u(100), 'Oldtimer', 'A title', 'Other content', 0, 0, kit.d(1000), false, i.modification_date, NULL, NULL)::blogstore.post_item, 'C2 edit_post keeps what is NULL')
FROM blogstore.edit_post(kit.p(1000), content => 'Other content') i WHERE i.modification_date > kit.d(1000);
SELECT is(i, ROW(kit.p(1000), 'post', kit.p(1000), kit.u(100), 'Oldtimer', 'A title', 'Other content', 0, 0, kit.d(1000), false, i.modification_date, NULL, NULL)::blogstore.post_item, 'Q2 get_post returns it')
FROM blogstore.get_post(kit.p(1000)) i WHERE i.modification_date > kit.d(1000);

-- C3, Q4
SELECT is((SELECT i FROM blogstore.create_comment(kit.p(1000), kit.u(1), 'A comment', kit.c(1), kit.d(1001)) i),
	ROW(kit.c(1), 'comment', kit.p(1000), kit.u(1), 'user 1', 'A comment', kit.d(1001), NULL, NULL, false, NULL, NULL, 0, 0)::blogstore.comment_item, 'C3 create_comment returns the item');
SELECT is(i, ROW(kit.c(1), 'comment', kit.p(1000), kit.u(1), 'user 1', 'Another comment', kit.d(1001), NULL, NULL, false, i.modification_date, NULL, 0, 0)::blogstore.comment_item, 'edit_comment changes its content')
FROM blogstore.edit_comment(kit.p(1000), kit.c(1), 'Another comment') i WHERE i.modification_date > kit.d(1001);
SELECT is(i, ROW(kit.c(1), 'comment', kit.p(1000), kit.u(1), 'user 1', 'Another comment', kit.d(1001), NULL, NULL, false, i.modification_date, NULL, 0, 0)::blogstore.comment_item, 'Q4 list_post_comments lists it')
FROM blogstore.list_post_comments(kit.p(1000)) i WHERE i.modification_date > kit.d(1001);
SELECT is((SELECT comment_count FROM blogstore.get_post(kit.p(1000))), 1::bigint, 'and get_post counts it');

-- C4, Q5
SELECT results_eq('SELECT type, post_id, user_id, user_username, creation_date FROM blogstore.create_like(kit.p(1000), kit.u(2), kit.d(1002))',
	'VALUES (''like'', kit.p(1000), kit.u(2), ''user 2'', kit.d(1002))', 'C4 create_like returns the item');
SELECT results_eq('SELECT type, post_id, user_id, user_username, creation_date FROM blogstore.list_post_likes(kit.p(1000))',
	'VALUES (''like'', kit.p(1000), kit.u(2), ''user 2'', kit.d(1002))', 'Q5 list_post_likes lists it');
SELECT results_eq('SELECT type, post_id, user_id, user_username, creation_date FROM blogstore.get_like(kit.p(1000), kit.u(2))',
	'VALUES (''like'', kit.p(1000), kit.u(2), ''user 2'', kit.d(1002))', 'get_like finds it');
SELECT is_empty('SELECT * FROM blogstore.get_like(kit.p(1000), kit.u(3))', 'get_like finds no other');
SELECT is((SELECT like_count FROM blogstore.get_post(kit.p(1000))), 1::bigint, 'and get_post counts it');
SELECT is((SELECT id FROM blogstore.create_like(kit.p(1000), kit.u(2))), (SELECT id FROM blogstore.get_like(kit.p(1000), kit.u(2))), 'a second like is the first one');
SELECT is((SELECT like_count FROM blogstore.get_post(kit.p(1000))), 1::bigint, 'and not counted again');

-- Deletions
SELECT is(blogstore.delete_like(kit.p(1000), kit.u(2)), true, 'delete_like: there was one');
SELECT is(blogstore.delete_like(kit.p(1000), kit.u(2)), false, 'delete_like: there was none');
SELECT is(blogstore.delete_comment(kit.p(1000), kit.c(1)), true, 'delete_comment: there was one');
SELECT is(blogstore.delete_comment(kit.p(1000), kit.c(1)), false, 'delete_comment: there was none');
SELECT results_eq('SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1000))', 'VALUES (0::bigint, 0::bigint)', 'the counts have fallen');
SELECT is(blogstore.delete_post(kit.p(1000)), true, 'delete_post: there was one');
SELECT is(blogstore.delete_post(kit.p(1000)), false, 'delete_post: there was none');
SELECT is(blogstore.delete_user(kit.u(100)), true, 'delete_user: there was one');
SELECT is(blogstore.delete_user(kit.u(100)), false, 'delete_user: there was none');

-- Q3 to Q6 over what was there before this transaction
SELECT is((SELECT count(*) FROM blogstore.list_user_posts(kit.u(2), NULL)), 15::bigint, 'Q3 lists all of a user''s posts');
SELECT is((SELECT count(*) FROM blogstore.list_user_posts(kit.u(2))), 15::bigint, 'Q3 a page has up to 20');
SELECT results_eq('SELECT id FROM blogstore.list_user_posts(kit.u(2), 3)', 'VALUES (kit.p(281)), (kit.p(261)), (kit.p(241))', 'Q3 newest first');
SELECT results_eq('SELECT id FROM blogstore.list_user_posts(kit.u(2), 2, kit.d(261), kit.p(261))', 'VALUES (kit.p(241)), (kit.p(221))', 'Q3 the next page');
SELECT is((SELECT max(length(content)) FROM blogstore.list_user_posts(kit.u(2))), 200, 'Q3 in short form');
SELECT results_eq('SELECT id FROM blogstore.list_post_comments(kit.p(1), 3)', 'VALUES (kit.c(120)), (kit.c(119)), (kit.c(118))', 'Q4 newest first');
SELECT results_eq('SELECT id FROM blogstore.list_post_comments(kit.p(1), 2, kit.d(19), kit.c(118))', 'VALUES (kit.c(117)), (kit.c(116))', 'Q4 the next page');
SELECT results_eq('SELECT user_id FROM blogstore.list_post_likes(kit.p(1), 3)', 'VALUES (kit.u(20)), (kit.u(19)), (kit.u(18))', 'Q5 newest first');
SELECT results_eq('SELECT n.user_id FROM blogstore.list_post_likes(kit.p(1), 3) l, LATERAL blogstore.list_post_likes(kit.p(1), 1, l.creation_date, l.id) n',
	'VALUES (kit.u(19)), (kit.u(18)), (kit.u(17))', 'Q5 the next pages');
SELECT results_eq('SELECT id FROM blogstore.list_feed()', 'SELECT kit.p(n) FROM generate_series(300, 201, -1) n', 'Q6 the newest 100');
SELECT results_eq('SELECT id FROM blogstore.list_feed(50, kit.d(230), kit.p(230))', 'SELECT kit.p(n) FROM generate_series(229, 180, -1) n', 'Q6 a page past the feed');
SELECT results_eq('SELECT id FROM blogstore.list_feed(NULL)', 'SELECT kit.p(n) FROM generate_series(300, 1, -1) n', 'Q6 all of it');
SELECT is((SELECT max(length(content)) FROM blogstore.list_feed(NULL)), 200, 'Q6 in short form');
SELECT results_eq('SELECT comment_count, like_count FROM blogstore.list_feed(1, kit.d(292), kit.p(292))', 'VALUES (20::bigint, 20::bigint)', 'Q6 with counts');

-- Errors, as the manual gives them
SELECT throws_ok(call, code, NULL, call || ' raises ' || code) FROM (VALUES
	('SELECT blogstore.create_user('''')', '22023'),
	('SELECT blogstore.create_user(repeat(''x'', 65))', '22023'),
	('SELECT blogstore.create_user('' '')', '22023'),
	('SELECT blogstore.create_user(NULL)', '22004'),
	('SELECT blogstore.create_user(''USER 7'')', '23505'),
	('SELECT blogstore.create_user(''other'', kit.u(7))', '23505'),
	('SELECT blogstore.edit_user(kit.u(7), ''user 8'')', '23505'),
	('SELECT blogstore.edit_user(kit.u(77), ''user 77'')', '23503'),
	('SELECT blogstore.create_post(kit.u(77), ''x'', ''x'')', '23503'),
	('SELECT blogstore.create_post(kit.u(7), '''', ''x'')', '22023'),
	('SELECT blogstore.create_post(kit.u(7), ''x'', NULL)', '22004'),
	('SELECT blogstore.create_post(kit.u(7), ''x'', ''x'', kit.p(7))', '23505'),
	('SELECT blogstore.edit_post(kit.p(777), ''x'')', '23503'),
	('SELECT blogstore.create_comment(kit.p(777), kit.u(7), ''x'')', '23503'),
	('SELECT blogstore.create_comment(kit.p(7), kit.u(77), ''x'')', '23503'),
	('SELECT blogstore.create_comment(kit.p(7), kit.u(7), '''')', '22023'),
	('SELECT blogstore.create_comment(kit.p(1), kit.u(7), ''x'', kit.c(101))', '23505'),
	('SELECT blogstore.edit_comment(kit.p(1), kit.c(7), ''x'')', '23503'),
	('SELECT blogstore.create_like(kit.p(777), kit.u(7))', '23503'),
	('SELECT blogstore.create_like(kit.p(7), kit.u(77))', '23503'),
	('SELECT blogstore.create_like(NULL, kit.u(7))', '22004'),
	('SELECT blogstore.list_feed(0)', '22023'),
	('SELECT blogstore.list_feed(10, now())', '22023'),
	('SELECT blogstore.list_user_posts(kit.u(7), 10, NULL, kit.p(7))', '22023'),
	('SELECT blogstore.get_post(NULL)', '22004'),
	('SELECT blogstore.create_containers(0)', '22023')) AS v (call, code);

-- All of it leaves nothing to repair
SELECT is_empty('SELECT * FROM blogstore.verify() WHERE container <> ''users'' AND container <> ''feed''', 'verify() shows nothing');

SELECT * FROM finish();
ROLLBACK;
