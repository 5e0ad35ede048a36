--
-- FOLLOWS: users who follow other users
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(6, 0);

CREATE FUNCTION kit.follow(n int, m int, day int DEFAULT NULL) RETURNS text LANGUAGE sql
AS $$ SELECT user_username || ' follows ' || followed_username FROM blogstore.follow_user(kit.u(n), kit.u(m), kit.d(day)) $$;
CREATE FUNCTION kit.following(n int, page_size int DEFAULT NULL, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(followed_username, ', ' ORDER BY n) FROM ROWS FROM (blogstore.list_following(kit.u(n), page_size, before_date, before_id, oldest_first)) WITH ORDINALITY AS l (id, type, user_id, user_username, followed_id, followed_username, creation_date, n) $$;
CREATE FUNCTION kit.followers(n int) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(user_username, ', ' ORDER BY n) FROM ROWS FROM (blogstore.list_followers(kit.u(n), NULL)) WITH ORDINALITY AS l (id, type, user_id, user_username, followed_id, followed_username, creation_date, n) $$;

-- every column as given (the id is made), by position and by name
SELECT id NOT IN (user_id, followed_id) AS id, type, user_id, user_username, followed_id, followed_username, creation_date
FROM blogstore.follow_user(kit.u(1), kit.u(2), kit.d(2));
SELECT user_username, followed_username, creation_date
FROM blogstore.follow_user(creation_date => kit.d(3), followed_id => kit.u(3), user_id => kit.u(1));
SELECT creation_date BETWEEN now() AND clock_timestamp() AS dated_now FROM blogstore.follow_user(kit.u(2), kit.u(1));
-- a second call returns the first follow
SELECT a.id = b.id AS same_item, a.creation_date, b.followed_username
FROM blogstore.follow_user(kit.u(1), kit.u(2), kit.d(5)) a, blogstore.get_follows(kit.u(1), ARRAY[kit.u(2)]) b;
-- several in one statement
SELECT kit.follow(1, m, m) FROM generate_series(4, 6) AS m;
SELECT jsonb_pretty(f::jsonb - 'id') FROM blogstore.get_follows(kit.u(1), ARRAY[kit.u(4)]) AS f;

-- lists, newest first, by pages and back
SELECT kit.following(1), kit.following(2), kit.following(3), kit.following(99);
SELECT kit.following(1, oldest_first => true);
SELECT kit.following(1, 2);
SELECT kit.following(1, 2, creation_date, id) FROM blogstore.list_following(kit.u(1)) WHERE followed_id = kit.u(5);
SELECT kit.following(1, 2, creation_date, id, true) FROM blogstore.list_following(kit.u(1)) WHERE followed_id = kit.u(3);
-- a driver that cuts dates to milliseconds
SELECT kit.follow(3, m) FROM generate_series(1, 2) AS m;
UPDATE blogstore.users SET creation_date = kit.d(1) + interval '1.5 milliseconds' WHERE type = 'follow' AND user_id = kit.u(3);
SELECT (SELECT string_agg(f.id::text, ',') = string_agg(l.id::text, ',') FROM blogstore.list_following(kit.u(3)) AS f)
FROM (SELECT a.id FROM blogstore.list_following(kit.u(3), 1) AS a UNION ALL
	SELECT b.id FROM blogstore.list_following(kit.u(3), 1) AS a, blogstore.list_following(kit.u(3), 1, date_trunc('milliseconds', a.creation_date), a.id) AS b) AS l;

-- followers, from all partitions
SELECT kit.followers(1), kit.followers(2), kit.followers(3), kit.followers(99);
SELECT count(blogstore.create_user('fan ' || n, kit.u(n), kit.d(n))), count(blogstore.follow_user(kit.u(n), kit.u(4), kit.d(n / 3))) FROM generate_series(101, 160) AS n;
CREATE VIEW kit.fans AS SELECT id, creation_date FROM blogstore.users WHERE type = 'follow' AND followed_id = kit.u(4);
SELECT page, kit.walk('blogstore.list_followers(kit.u(4), $1, $2, $3)', page, page = 20)
		= ARRAY(SELECT id FROM kit.fans ORDER BY creation_date DESC, id DESC) AS newest,
	kit.walk('blogstore.list_followers(kit.u(4), $1, $2, $3, true)', page, page = 20)
		= ARRAY(SELECT id FROM kit.fans ORDER BY creation_date, id) AS oldest
FROM unnest(ARRAY[1, 20, 61, 1000]) AS page;
SELECT kit.descents('SELECT * FROM blogstore.list_followers(kit.u(4))') AS partitions,
	kit.descents('SELECT * FROM blogstore.list_following(kit.u(1))') AS following,
	kit.descents('SELECT * FROM blogstore.get_follows(kit.u(1), ARRAY[kit.u(2), kit.u(9)])') AS follows;
BEGIN;
DECLARE fans CURSOR FOR SELECT creation_date FROM blogstore.list_followers(kit.u(4), NULL, oldest_first => true);
FETCH 3 FROM fans;
SAVEPOINT a;
MOVE 50 FROM fans;
ROLLBACK TO a;
FETCH 2 FROM fans;
COMMIT;
DROP VIEW kit.fans;
SELECT bool_and(blogstore.delete_user(kit.u(n))) FROM generate_series(101, 160) AS n;
SELECT kit.followers(4);

-- one snapshot for a transaction that keeps it; savepoints
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kit.followers(5);
SAVEPOINT a;
SELECT kit.follow(4, 5), kit.followers(5), kit.following(4);
ROLLBACK TO a;
SELECT kit.followers(5), kit.following(4);
SELECT kit.follow(4, 6), blogstore.unfollow_user(kit.u(1), kit.u(5));
COMMIT;
SELECT kit.followers(5), kit.followers(6);
SELECT blogstore.unfollow_user(kit.u(4), kit.u(6)), kit.follow(1, 5, 5);

-- in the order of the ids, as often as named; nobody for the rest
SELECT followed_username FROM blogstore.get_follows(kit.u(1), ARRAY[kit.u(6), NULL, kit.u(1), kit.u(2), kit.u(99), kit.u(6)]);
SELECT count(*) FROM blogstore.get_follows(kit.u(1), '{}');
SELECT followed_username FROM blogstore.get_follows(kit.u(1), ARRAY[[kit.u(2)], [kit.u(3)]]);

-- no longer
SELECT blogstore.unfollow_user(kit.u(1), kit.u(6)), blogstore.unfollow_user(user_id => kit.u(1), followed_id => kit.u(6));
SELECT blogstore.unfollow_user(kit.u(1), kit.u(99)), blogstore.unfollow_user(kit.u(99), kit.u(1));
SELECT kit.following(1);
SELECT kit.follow(1, 6, 6), kit.following(1);

-- bad input
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('follow_user(NULL, kit.u(1))'),
	('follow_user(kit.u(1), NULL)'),
	('follow_user(kit.u(1), kit.u(1))'),
	('follow_user(kit.u(99), kit.u(1))'),
	('follow_user(kit.u(1), kit.u(99))'),
	('follow_user(kit.u(1), kit.u(2), ''infinity'')'),
	('unfollow_user(NULL, kit.u(1))'),
	('unfollow_user(kit.u(1), NULL)'),
	('get_follows(NULL, ''{}'')'),
	('get_follows(kit.u(1), NULL)'),
	('list_following(NULL)'),
	('list_following(kit.u(1), 0)'),
	('list_following(kit.u(1), 1, now())'),
	('list_following(kit.u(1), oldest_first => NULL)')) AS v (call);

-- renames reach both ends
SELECT username FROM blogstore.edit_user(kit.u(2), 'new 2');
SELECT blogstore.wait_for_views();
SELECT kit.following(1), kit.following(2), kit.followers(2), kit.followers(1);
SELECT DISTINCT user_username, followed_username FROM blogstore.users WHERE type = 'follow' AND kit.u(2) IN (user_id, followed_id) ORDER BY 1, 2;

-- deletions reach both ends: at once in all lists, then in the table
SELECT kit.follow(2, 5), kit.follow(5, 2);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT blogstore.delete_user(kit.u(2));
SELECT kit.following(1), kit.following(2), kit.following(5), kit.followers(2), kit.followers(5);
SELECT count(*) FROM blogstore.get_follows(kit.u(1), ARRAY[kit.u(2)]);
SELECT blogstore.unfollow_user(kit.u(1), kit.u(2));
SELECT kit.try('blogstore.follow_user(kit.u(1), kit.u(2))'), kit.try('blogstore.follow_user(kit.u(2), kit.u(1))');
SELECT count(*) FROM blogstore.users WHERE type = 'follow' AND kit.u(2) IN (user_id, followed_id);
COMMIT;
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.users WHERE type = 'follow' AND kit.u(2) IN (user_id, followed_id);
SELECT kit.following(1), kit.following(3);
-- a new user with that id follows nobody, and nobody follows her
SELECT username FROM blogstore.create_user('again', kit.u(2));
SELECT kit.following(2), kit.following(1), kit.followers(2);
SELECT kit.follow(1, 2), kit.followers(2);

-- at most 10,000, which repeated calls may name again
INSERT INTO blogstore.users (id, type, user_id, username, creation_date)
SELECT kit.u(n), 'user', kit.u(n), 'many ' || n, kit.d(n) FROM generate_series(1001, 11001) AS n;
INSERT INTO blogstore.users (id, type, user_id, user_username, followed_id, followed_username, creation_date)
SELECT kit.c(n), 'follow', kit.u(6), 'user 6', kit.u(n), 'many ' || n, kit.d(n) FROM generate_series(1001, 10999) AS n;
SELECT kit.follow(6, 11000);
SELECT blogstore.follow_user(kit.u(6), kit.u(11001));
SELECT kit.follow(6, 11000), kit.follow(6, 1001);
SELECT blogstore.unfollow_user(kit.u(6), kit.u(1001)), kit.follow(6, 11001);
SELECT kit.try('blogstore.follow_user(kit.u(6), kit.u(1001))');
SELECT count(*) FROM blogstore.list_following(kit.u(6), NULL);
-- the home feed of all of them, with 1,300 posts by 400 users, which takes no
-- memory for each post
SELECT count(blogstore.create_post(kit.u(1002 + n % 400), 'title ' || n, repeat(md5(n::text), 10), kit.p(n), kit.d(n / 2))) FROM generate_series(1, 1300) AS n;
SELECT blogstore.wait_for_views();
SELECT kit.compare('SELECT * FROM blogstore.list_home_feed(kit.u(6), NULL)', 'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC');
BEGIN;
DECLARE home CURSOR FOR SELECT * FROM blogstore.list_home_feed(kit.u(6), NULL);
MOVE 266 FROM home;
SELECT sum(used_bytes) AS used FROM pg_backend_memory_contexts \gset
MOVE 1024 FROM home;
SELECT sum(used_bytes) - :used < 50000 AS no_memory_for_each_post FROM pg_backend_memory_contexts;
MOVE 20 FROM home;
COMMIT;
SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(1, 1300) AS n;
DELETE FROM blogstore.users WHERE type = 'follow' AND user_id = kit.u(6);
DELETE FROM blogstore.users WHERE type = 'user' AND username LIKE 'many %';

-- the owner's own statements
UPDATE blogstore.users SET creation_date = kit.d(9) WHERE type = 'follow' AND user_id = kit.u(1) AND followed_id = kit.u(3);
DELETE FROM blogstore.users WHERE type = 'follow' AND user_id = kit.u(1) AND followed_id = kit.u(4);
SELECT kit.following(1), kit.followers(3), kit.followers(4);

-- verify() and repair(): names, and users who do not exist
INSERT INTO blogstore.users (id, type, user_id, user_username, followed_id, followed_username, creation_date) VALUES
	(kit.c(1), 'follow', kit.u(98), 'nobody', kit.u(1), 'user 1', kit.d(1)),
	(kit.c(2), 'follow', kit.u(1), 'user 1', kit.u(99), 'nobody', kit.d(1));
UPDATE blogstore.users SET user_username = 'wrong' WHERE type = 'follow' AND user_id = kit.u(1) AND followed_id = kit.u(3);
UPDATE blogstore.users SET followed_username = 'wrong' WHERE type = 'follow' AND user_id = kit.u(1) AND followed_id = kit.u(5);
CREATE VIEW kit.wrong AS SELECT container, problem, type, right(id::text, 4) AS id, right(user_id::text, 4) AS user_id, expected, actual FROM blogstore.verify();
SELECT container, problem, type, CASE problem WHEN 'orphan' THEN id END AS id, user_id, expected, actual FROM kit.wrong ORDER BY problem, user_id;
SELECT blogstore.repair();
SELECT * FROM kit.wrong;
SELECT kit.following(1), kit.followers(3), kit.followers(1);
-- a value that is missing
CREATE PROCEDURE kit.names(change text) LANGUAGE plpgsql AS $$
DECLARE leaf regclass;
BEGIN
	FOR leaf IN SELECT relid FROM pg_partition_tree('blogstore.users') WHERE relid::text LIKE '%follow' LOOP
		EXECUTE format('ALTER TABLE %s ALTER followed_username %s NOT NULL', leaf, change);
	END LOOP;
END $$;
CALL kit.names('DROP');
UPDATE blogstore.users SET followed_username = NULL WHERE type = 'follow' AND user_id = kit.u(1) AND followed_id = kit.u(5);
SELECT problem, type, user_id, expected, actual FROM kit.wrong;
SELECT kit.try('blogstore.list_following(kit.u(1))'), kit.try('blogstore.list_followers(kit.u(5))'), kit.try('blogstore.list_home_feed(kit.u(1))');
SELECT blogstore.repair();
CALL kit.names('SET');
DROP PROCEDURE kit.names;
DROP VIEW kit.wrong;

-- import(): a table of follows, with the users or later
CREATE TEMP TABLE people (user_id int, username text, creation_date timestamptz);
CREATE TEMP TABLE follow (user_id int, followed_id int, creation_date timestamptz, note text);
CREATE TEMP TABLE rejects (type text, reason text, item jsonb);
INSERT INTO people SELECT n, 'imported ' || n FROM generate_series(1, 4) AS n;
INSERT INTO follow VALUES (1, 2, '2020-01-01'), (1, 3, NULL), (2, 1, '2020-01-02'), (1, 2, '2020-01-03'), (1, 1, '2020-01-01'),
	(1, 99, '2020-01-01'), (99, 1, '2020-01-01'), (NULL, 1, '2020-01-01'), (3, NULL, '2020-01-01'), (2, 3, 'infinity');
SET client_min_messages = warning;
SELECT * FROM blogstore.import(users => 'people', follows => 'follow', rejects => 'rejects', key_prefix => 'f:');
SELECT type, reason, count(*), bool_and(item ? 'userId' OR item ? 'followedId') AS item FROM rejects GROUP BY 1, 2 ORDER BY 2;
SELECT followed_username, creation_date > now() - interval '1 hour' AS dated_now FROM blogstore.list_following(blogstore.key_id('user', 'f:1'));
SELECT user_username FROM blogstore.list_followers(blogstore.key_id('user', 'f:1'));
-- again: present; with another date: rejected
DELETE FROM follow WHERE user_id IS DISTINCT FROM 1 OR followed_id NOT IN (2, 3) OR creation_date = '2020-01-03';
UPDATE follow SET creation_date = '2020-01-04' WHERE followed_id = 3;
INSERT INTO follow VALUES (4, 1, '2020-01-05');
SELECT * FROM blogstore.import(follows => 'follow', rejects => 'rejects', key_prefix => 'f:') WHERE type = 'follow';
SELECT * FROM blogstore.import(follows => 'follow', rejects => 'rejects', key_prefix => 'f:', changed => 'update') WHERE type = 'follow';
SELECT reason FROM rejects WHERE reason LIKE 'id %' ORDER BY 1;
SELECT kit.try($$blogstore.import(follows => 'people')$$), kit.try($$blogstore.import(follows => 'follow', key_prefix => 'f:')$$);
-- no more than 10,000
CREATE TEMP TABLE many (user_id uuid, followed_id uuid, creation_date timestamptz);
INSERT INTO blogstore.users (id, type, user_id, username, creation_date)
SELECT kit.u(n), 'user', kit.u(n), 'many ' || n, kit.d(n) FROM generate_series(1001, 11001) AS n;
INSERT INTO many SELECT kit.u(6), kit.u(n), kit.d(n) FROM generate_series(1001, 11001) AS n;
SELECT kit.follow(6, 1001, 1001), kit.follow(6, 1);
SELECT * FROM blogstore.import(follows => 'many', rejects => 'rejects') WHERE type = 'follow';
SELECT reason, item ->> 'followedId' AS followed_id FROM rejects WHERE reason LIKE '%many%' ORDER BY 2;
DELETE FROM blogstore.users WHERE type = 'follow' AND user_id = kit.u(6);
DELETE FROM blogstore.users WHERE type = 'user' AND username LIKE 'many %';

-- export_documents() and import_documents(): the same documents
CREATE TEMP TABLE documents AS SELECT item FROM blogstore.export_documents() AS item WHERE item ->> 'type' IN ('user', 'follow');
SELECT count(*) FROM documents WHERE item ->> 'type' = 'follow';
SELECT count(*) FROM documents AS d, blogstore.list_following(kit.u(1)) AS f WHERE d.item = f::jsonb;
DELETE FROM blogstore.users WHERE type = 'follow';
SELECT * FROM blogstore.import_documents('documents') WHERE read > 0;
SELECT * FROM blogstore.import_documents('documents') WHERE read > 0;
SELECT item FROM documents EXCEPT SELECT item FROM blogstore.export_documents() AS item;
RESET client_min_messages;
DROP TABLE people, follow, rejects, many, documents;

-- plans
EXPLAIN (COSTS OFF) SELECT * FROM blogstore.list_following(kit.u(1));
CREATE FUNCTION kit.plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan	jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN concat_ws(', ', plan ->> 'Container', plan ->> 'Partitions');
END $$;
SELECT kit.plan('SELECT * FROM blogstore.list_followers(kit.u(1))');

SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
DROP FUNCTION kit.follow, kit.following, kit.followers, kit.plan;
