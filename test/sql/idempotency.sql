--
-- IDEMPOTENCY: a command repeated with the same ids returns the same item
-- and changes nothing; with other content it is refused
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 2);

-- Each command once ...
SELECT * FROM blogstore.create_user('Alice', kit.u(50), kit.d(50));
SELECT * FROM blogstore.create_post(kit.u(50), 'title', 'content', kit.p(50), kit.d(51));
SELECT * FROM blogstore.create_comment(kit.p(50), kit.u(1), 'comment', kit.c(50), kit.d(52));
SELECT id AS like_id FROM blogstore.create_like(kit.p(50), kit.u(1), kit.d(53)) \gset
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(50));
SELECT kit.digest() AS digest \gset

-- ... and again: the same item
SELECT * FROM blogstore.create_user('Alice', kit.u(50), kit.d(50));
SELECT * FROM blogstore.create_post(kit.u(50), 'title', 'content', kit.p(50), kit.d(51));
SELECT * FROM blogstore.create_comment(kit.p(50), kit.u(1), 'comment', kit.c(50), kit.d(52));
SELECT id = :'like_id' AS same_id, creation_date FROM blogstore.create_like(kit.p(50), kit.u(1), kit.d(53));
-- without the date the first one's date stays
SELECT creation_date FROM blogstore.create_user('Alice', kit.u(50));
SELECT creation_date, comment_count, like_count FROM blogstore.create_post(kit.u(50), 'title', 'content', kit.p(50));
SELECT creation_date FROM blogstore.create_comment(kit.p(50), kit.u(1), 'comment', kit.c(50));
SELECT id = :'like_id' AS same_id, creation_date FROM blogstore.create_like(kit.p(50), kit.u(1));
-- a second like with another date is the first one
SELECT id = :'like_id' AS same_id, creation_date FROM blogstore.create_like(kit.p(50), kit.u(1), kit.d(54));
-- nothing has changed, counts neither
SELECT kit.digest() = :'digest' AS unchanged;
SELECT like_count, comment_count FROM blogstore.get_post(kit.p(50));

-- The same id with other content
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('create_user(''Alicia'', kit.u(50), kit.d(50))'),
	('create_user(''alice'', kit.u(50), kit.d(50))'),
	('create_user(''Alice'', kit.u(50), kit.d(49))'),
	('create_user(''Alice'', kit.u(51), kit.d(50))'),
	('create_post(kit.u(1), ''title'', ''content'', kit.p(50), kit.d(51))'),
	('create_post(kit.u(50), ''Title'', ''content'', kit.p(50), kit.d(51))'),
	('create_post(kit.u(50), ''title'', ''content '', kit.p(50), kit.d(51))'),
	('create_post(kit.u(50), ''title'', '''', kit.p(50))'),
	('create_post(kit.u(50), ''title'', ''content'', kit.p(50), kit.d(52))'),
	('create_comment(kit.p(50), kit.u(2), ''comment'', kit.c(50), kit.d(52))'),
	('create_comment(kit.p(50), kit.u(1), ''comment!'', kit.c(50), kit.d(52))'),
	('create_comment(kit.p(50), kit.u(1), ''comment'', kit.c(50), kit.d(53))')) AS v (call);
SELECT kit.digest() = :'digest' AS unchanged;

-- Edits repeated change nothing either
SELECT username FROM blogstore.edit_user(kit.u(50), 'Alice');
SELECT title, content FROM blogstore.edit_post(kit.p(50), 'title', 'content');
SELECT content FROM blogstore.edit_comment(kit.p(50), kit.c(50), 'comment');
SELECT kit.digest() = :'digest' AS unchanged;

-- Twice in one transaction, and in one statement
BEGIN;
SELECT id FROM blogstore.create_comment(kit.p(1), kit.u(1), 'x', kit.c(60), kit.d(60));
SELECT id FROM blogstore.create_comment(kit.p(1), kit.u(1), 'x', kit.c(60), kit.d(60));
SELECT user_id FROM blogstore.create_like(kit.p(1), kit.u(1));
SELECT user_id FROM blogstore.create_like(kit.p(1), kit.u(1));
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1));
COMMIT;
SELECT count(blogstore.create_like(kit.p(1), kit.u(2))) FROM generate_series(1, 5);
SELECT count(blogstore.create_comment(kit.p(1), kit.u(2), 'y', kit.c(61))) FROM generate_series(1, 5);
SELECT count(blogstore.create_post(kit.u(1), 'z', 'z', kit.p(61))) FROM generate_series(1, 5);
SELECT count(blogstore.create_user('twice', kit.u(61))) FROM generate_series(1, 5);
SELECT comment_count, like_count FROM blogstore.get_post(kit.p(1));
SELECT username FROM blogstore.get_user(kit.u(61));
-- The command of a transaction that was rolled back may be repeated with other
-- content
BEGIN;
SELECT title FROM blogstore.create_post(kit.u(1), 'first try', 'x', kit.p(62));
SELECT username FROM blogstore.create_user('first try', kit.u(62));
ROLLBACK;
SELECT title FROM blogstore.create_post(kit.u(1), 'second try', 'x', kit.p(62));
SELECT username FROM blogstore.create_user('second try', kit.u(62));
SELECT count(*) FROM blogstore.get_user_by_name('first try');

-- The repeated item is as it is now: with its counts and its author's name
SELECT username FROM blogstore.edit_user(kit.u(50), 'Alison');
SELECT blogstore.wait_for_views();
SELECT user_username, comment_count, like_count FROM blogstore.create_post(kit.u(50), 'title', 'content', kit.p(50));

SELECT * FROM kit.wrong_counts();
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
