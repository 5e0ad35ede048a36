--
-- SCHEDULED: posts that are hidden until a date
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(4, 0);
SELECT count(blogstore.create_post(kit.u(1), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 3) n;
SELECT blogstore.wait_for_views();

-- Wait until a query returns true.
CREATE FUNCTION kit.await(query text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	done	boolean;
BEGIN
	FOR i IN 1..60000 LOOP
		EXECUTE query INTO done;
		IF done THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN false;
END $$;
-- The owner lets the date of scheduled posts pass.
CREATE PROCEDURE kit.let_pass(ids uuid[], date timestamptz) LANGUAGE sql AS $$
UPDATE blogstore.posts SET publish_date = date WHERE type = 'post' AND post_id = ANY (ids)
$$;
CREATE FUNCTION kit.await_published(ids uuid[]) RETURNS boolean LANGUAGE sql AS $$
SELECT kit.await(format('SELECT bool_and(NOT hidden) FROM blogstore.get_posts(%L)', ids))
$$;
CREATE TEMP VIEW scheduled AS
SELECT p.title, g.hidden, g.creation_date, g.publish_date, f.id IS NOT NULL AS in_feed, l.id IS NOT NULL AS listed,
	a.hidden AS copy_hidden, a.publish_date AS copy_date
FROM blogstore.posts AS p CROSS JOIN LATERAL blogstore.get_post(p.post_id) AS g
LEFT JOIN blogstore.list_feed(NULL) AS f ON f.id = p.post_id
LEFT JOIN LATERAL blogstore.list_user_posts(p.user_id, NULL) AS l ON l.id = p.post_id
LEFT JOIN LATERAL blogstore.list_user_posts(p.user_id, NULL, include_hidden => true) AS a ON a.id = p.post_id
WHERE p.type = 'post' AND p.title NOT LIKE 'title%' ORDER BY p.title;

-- A scheduled post is hidden
SELECT title, hidden, creation_date, publish_date FROM blogstore.create_post(kit.u(1), 'later', 'not yet', kit.p(10), kit.d(10), publish_date => '2200-01-01');
SELECT blogstore.wait_for_views();
SELECT * FROM scheduled;
SELECT p::jsonb -> 'publishDate' AS publish_date, p::jsonb -> 'hidden' AS hidden FROM blogstore.get_post(kit.p(10)) p;
SELECT publish_date FROM blogstore.posts_with_counts WHERE id = kit.p(10);
SELECT kit.try('blogstore.create_like(kit.p(10), kit.u(2))');
SELECT kit.try('blogstore.create_comment(kit.p(10), kit.u(2), ''comment'')');
SELECT post_id = kit.p(10) AS post, publish_date, retry_at FROM blogstore.publish_queue;
-- the same command again, and with another date
SELECT title, publish_date FROM blogstore.create_post(kit.u(1), 'later', 'not yet', kit.p(10), kit.d(10), publish_date => '2200-01-01');
SELECT title, publish_date FROM blogstore.create_post(kit.u(1), 'later', 'not yet', kit.p(10), publish_date => '2201-01-01');
-- edited, it stays scheduled
SELECT title, hidden, publish_date FROM blogstore.edit_post(kit.p(10), content => 'edited');

-- Another date, and none
SELECT hidden, creation_date, publish_date FROM blogstore.schedule_post(kit.p(10), '2199-01-01');
SELECT blogstore.wait_for_views();
SELECT * FROM scheduled;
SELECT publish_date FROM blogstore.publish_queue;
SELECT hidden, publish_date FROM blogstore.schedule_post(kit.p(10), NULL);
SELECT blogstore.wait_for_views();
SELECT * FROM scheduled;
-- of a post that is hidden without a date, and of one that is shown
SELECT hidden, publish_date FROM blogstore.schedule_post(kit.p(10), NULL);
SELECT hidden, publish_date FROM blogstore.schedule_post(kit.p(1), NULL);

-- A post that is shown is hidden again at once
SELECT count(blogstore.create_like(kit.p(1), kit.u(n))) FROM generate_series(1, 3) n;
SELECT blogstore.wait_for_views();
BEGIN;
SELECT hidden, publish_date, like_count FROM blogstore.schedule_post(kit.p(1), '2200-01-01');
SELECT count(*) FROM blogstore.list_feed(NULL);
SELECT title, hidden, publish_date FROM blogstore.list_user_posts(kit.u(1), NULL, include_hidden => true) WHERE id = kit.p(1);
COMMIT;
SELECT count(*) FROM blogstore.list_feed(NULL);
SELECT title, hidden, publish_date FROM blogstore.list_user_posts(kit.u(1), NULL, include_hidden => true) WHERE id = kit.p(1);
SELECT blogstore.wait_for_views();
SELECT title, hidden, publish_date FROM blogstore.list_user_posts(kit.u(1), NULL, include_hidden => true) WHERE id = kit.p(1);
SELECT * FROM blogstore.verify();

-- hide_post() and publish_post() end the schedule
SELECT hidden, publish_date FROM blogstore.hide_post(kit.p(1));
SELECT hidden, publish_date FROM blogstore.schedule_post(kit.p(1), '2200-01-01');
SELECT hidden, creation_date, publish_date, like_count FROM blogstore.hide_post(kit.p(1), false);
SELECT hidden, publish_date FROM blogstore.schedule_post(kit.p(1), '2200-01-01');
SELECT hidden, creation_date > now() - interval '1 h' AS now, publish_date FROM blogstore.publish_post(kit.p(1));

-- A date that has come
SELECT hidden, creation_date, publish_date FROM blogstore.create_post(kit.u(2), 'past', 'at once', kit.p(20), kit.d(20), publish_date => '2020-02-03 04:05:06.789012');
SELECT hidden, creation_date, publish_date FROM blogstore.create_post(kit.u(2), 'past', 'at once', kit.p(20), kit.d(20), publish_date => '2020-02-03 04:05:06.789012');
SELECT hidden, creation_date, publish_date FROM blogstore.schedule_post(kit.p(10), '2020-02-04');
-- a post that is shown keeps its date
SELECT hidden, creation_date > now() - interval '1 h' AS now, publish_date, like_count FROM blogstore.schedule_post(kit.p(1), '2020-02-05');
SELECT blogstore.wait_for_views();
SELECT * FROM scheduled;
SELECT * FROM blogstore.verify();

-- The worker publishes
SELECT hidden FROM blogstore.create_post(kit.u(3), 'soon', 'content', kit.p(30), kit.d(30), publish_date => '2200-01-01');
SELECT hidden FROM blogstore.schedule_post(kit.p(2), '2200-01-01');
CALL kit.let_pass(ARRAY[kit.p(30), kit.p(2)], '2016-02-03 04:05:06.789012');
SELECT kit.await_published(ARRAY[kit.p(30), kit.p(2)]);
SELECT blogstore.wait_for_views();
SELECT title, hidden, creation_date, publish_date, modification_date FROM blogstore.get_posts(ARRAY[kit.p(30), kit.p(2)]);
SELECT title, creation_date FROM blogstore.list_user_posts(kit.u(3));
SELECT count(*) FROM blogstore.list_feed(NULL) WHERE id IN (kit.p(30), kit.p(2)) AND creation_date = '2016-02-03 04:05:06.789012';
SELECT count(*) FROM blogstore.users WHERE type = 'post' AND id IN (kit.p(30), kit.p(2));
SELECT count(*) FROM blogstore.publish_queue WHERE post_id IN (kit.p(30), kit.p(2));
SELECT kit.try('blogstore.create_like(kit.p(30), kit.u(1))');
SELECT * FROM blogstore.verify();
-- the command again, after the post was published
SELECT hidden, creation_date FROM blogstore.create_post(kit.u(3), 'soon', 'content', kit.p(30), kit.d(31), publish_date => '2016-02-03 04:05:06.789012');
SELECT kit.try('blogstore.create_post(kit.u(3), ''soon'', ''content'', kit.p(30), kit.d(31), publish_date => kit.d(32))');
-- a date that comes while the test runs
SELECT now() + interval '1 s' AS soon \gset
SELECT title FROM blogstore.create_post(kit.u(3), 'in a second', 'content', kit.p(31), publish_date => :'soon');
SELECT kit.await_published(ARRAY[kit.p(31)]);
SELECT creation_date = :'soon' AS dated, publish_date FROM blogstore.get_post(kit.p(31));

-- The owner's own writes: a draft
SELECT title, hidden FROM blogstore.create_post(kit.u(3), 'draft', 'content', kit.p(40), kit.d(40), hidden => true);
CALL kit.let_pass(ARRAY[kit.p(40)], '2021-01-01');
SELECT kit.await_published(ARRAY[kit.p(40)]);
SELECT title, hidden, creation_date, publish_date FROM blogstore.get_post(kit.p(40));
-- a post that is shown, and an infinite date
SELECT title FROM blogstore.create_post(kit.u(3), 'never', 'content', kit.p(41), kit.d(41), hidden => true);
CALL kit.let_pass(ARRAY[kit.p(3), kit.p(41)], '-infinity');
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.publish_queue WHERE post_id IN (kit.p(3), kit.p(41));
SELECT * FROM blogstore.verify();
CALL kit.let_pass(ARRAY[kit.p(3), kit.p(41)], NULL);

-- A post that a trigger refuses to change does not keep others
CREATE FUNCTION kit.keep_hidden() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'kept' USING ERRCODE = 'P0001';
END $$;
SELECT count(blogstore.create_post(kit.u(3), CASE n WHEN 0 THEN 'kept' ELSE 'beside' END, 'content', kit.p(50 + n), kit.d(50), publish_date => '2200-01-01')) FROM generate_series(0, 3) n;
CREATE TRIGGER keep BEFORE UPDATE ON blogstore.posts FOR EACH ROW WHEN (OLD.title = 'kept' AND NEW.publish_date IS NULL) EXECUTE FUNCTION kit.keep_hidden();
CALL kit.let_pass(ARRAY[kit.p(50), kit.p(51), kit.p(52), kit.p(53)], '2022-01-01');
SELECT kit.await_published(ARRAY[kit.p(51), kit.p(52), kit.p(53)]);
SELECT kit.await('SELECT retry_at IS NOT NULL FROM blogstore.publish_queue WHERE post_id = kit.p(50)');
SELECT hidden, publish_date FROM blogstore.get_post(kit.p(50));
SELECT last_error FROM blogstore.stat_worker;
-- an error of a connection, such as postgres_fdw raises
CREATE OR REPLACE FUNCTION kit.keep_hidden() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'no connection' USING ERRCODE = '08001';
END $$;
SELECT count(blogstore.create_post(kit.u(3), CASE n WHEN 0 THEN 'kept' ELSE 'beside' END, 'content', kit.p(54 + n), kit.d(50), publish_date => '2200-01-01')) FROM generate_series(0, 1) n;
CALL kit.let_pass(ARRAY[kit.p(54), kit.p(55)], '2022-01-01');
SELECT kit.await_published(ARRAY[kit.p(55)]);
SELECT kit.await('SELECT retry_at IS NOT NULL FROM blogstore.publish_queue WHERE post_id = kit.p(54)');
SELECT last_error, state FROM blogstore.stat_worker;
-- a trigger that keeps the row as it is
CREATE OR REPLACE FUNCTION kit.keep_hidden() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN OLD;
END $$;
SELECT count(blogstore.create_post(kit.u(3), CASE n WHEN 0 THEN 'kept' ELSE 'beside' END, 'content', kit.p(56 + n), kit.d(50), publish_date => '2200-01-01')) FROM generate_series(0, 1) n;
CALL kit.let_pass(ARRAY[kit.p(56), kit.p(57)], '2022-01-01');
SELECT kit.await_published(ARRAY[kit.p(57)]);
SELECT kit.await('SELECT retry_at IS NOT NULL FROM blogstore.publish_queue WHERE post_id = kit.p(56)');
SELECT last_error FROM blogstore.stat_worker;
DROP TRIGGER keep ON blogstore.posts;
SELECT bool_and(blogstore.delete_post(kit.p(n))) FROM (VALUES (50), (54), (56)) AS v (n);

-- The views and the queue are made again
SELECT hidden FROM blogstore.schedule_post(kit.p(41), '2200-01-01');
SELECT blogstore.wait_for_views();
DELETE FROM blogstore.publish_queue;
SELECT blogstore.rebuild_views();
SELECT blogstore.wait_for_views();
SELECT post_id = kit.p(41) AS post, publish_date FROM blogstore.publish_queue;

-- A queue that was damaged: a row that is missing, and one with another date
SELECT * FROM blogstore.verify();
DELETE FROM blogstore.publish_queue;
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT post_id = kit.p(41) AS post, publish_date FROM blogstore.publish_queue;
UPDATE blogstore.publish_queue SET publish_date = '2300-01-01', retry_at = '2300-01-01';
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT post_id = kit.p(41) AS post, publish_date, retry_at FROM blogstore.publish_queue;
-- rows that lack a value; the worker ignores one without a post
ALTER TABLE blogstore.publish_queue ALTER publish_date DROP NOT NULL;
UPDATE blogstore.publish_queue SET publish_date = NULL;
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT blogstore.wait_for_views();
SELECT post_id = kit.p(41) AS post, publish_date FROM blogstore.publish_queue;
UPDATE blogstore.publish_queue SET publish_date = NULL;
SELECT hidden FROM blogstore.edit_post(kit.p(41), content => 'edited');
SELECT blogstore.wait_for_views();
SELECT post_id = kit.p(41) AS post, publish_date FROM blogstore.publish_queue;
ALTER TABLE blogstore.publish_queue ALTER publish_date SET NOT NULL, DROP CONSTRAINT publish_queue_pkey, ALTER post_id DROP NOT NULL;
CREATE UNIQUE INDEX publish_queue_key ON blogstore.publish_queue (post_id);
INSERT INTO blogstore.publish_queue (publish_date) VALUES ('2020-01-01');
SELECT hidden FROM blogstore.edit_post(kit.p(41), content => 'edited again');
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
SELECT blogstore.repair();
SELECT * FROM blogstore.verify();
ALTER TABLE blogstore.publish_queue ADD PRIMARY KEY (post_id);
DROP INDEX blogstore.publish_queue_key;
-- a row of no scheduled post is no error, and is removed at its date
INSERT INTO blogstore.publish_queue (post_id, publish_date) VALUES (kit.p(999), '2020-01-01'), (kit.p(1), '2020-01-01'), (kit.p(998), '2200-01-01');
SELECT * FROM blogstore.verify();
SELECT hidden FROM blogstore.edit_post(kit.p(41), content => 'edited');
SELECT kit.await('SELECT count(*) = 2 FROM blogstore.publish_queue');
DELETE FROM blogstore.publish_queue WHERE post_id = kit.p(998);
-- what a transaction has written itself is not compared
BEGIN;
SELECT hidden FROM blogstore.schedule_post(kit.p(2), '2200-01-01');
SELECT * FROM blogstore.verify();
ROLLBACK;

-- Posts whose copies are refreshed twice in one batch: their counts change,
-- too, in the same transaction
SELECT count(blogstore.create_like(kit.p(n), kit.u(2))) FROM (VALUES (1), (2), (3), (51)) AS v (n);
SELECT blogstore.wait_for_views();
BEGIN;
SELECT count(blogstore.edit_post(kit.p(n), content => 'edited')) FROM (VALUES (1), (2), (3), (51)) AS v (n);
SELECT blogstore.delete_like(kit.p(n), kit.u(2)) FROM (VALUES (1), (2), (3), (51)) AS v (n);
SELECT bool_and(hidden) FROM (VALUES (1), (2), (3), (51)) AS v (n), blogstore.schedule_post(kit.p(n), '2190-01-01');
COMMIT;
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.publish_queue WHERE publish_date = '2190-01-01';
SELECT state FROM blogstore.stat_worker;

-- Bad input
SELECT kit.try('blogstore.schedule_post(NULL, now())');
SELECT kit.try('blogstore.schedule_post(kit.p(41), ''infinity'')');
SELECT kit.try('blogstore.schedule_post(kit.p(41), ''-infinity'')');
SELECT kit.try('blogstore.schedule_post(kit.p(999), now())');
SELECT kit.try('blogstore.create_post(kit.u(1), ''t'', ''c'', publish_date => ''infinity'')');
SELECT hidden, publish_date FROM blogstore.get_post(kit.p(41));

-- Imported and exported
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(4, 0);
CREATE TEMP TABLE site (post_id int, user_id uuid, title text, content text, creation_date timestamptz, hidden boolean, publish_date timestamptz);
CREATE TEMP TABLE rejects (type text, reason text, item jsonb);
INSERT INTO site VALUES (1, kit.u(1), 'to come', 'c', kit.d(1), NULL, '2200-01-01'), (2, kit.u(1), 'to come, shown', 'c', NULL, false, '2200-01-01'),
	(3, kit.u(1), 'past', 'c', kit.d(3), true, '2020-01-01'), (4, kit.u(1), 'plain', 'c', kit.d(4), NULL, NULL), (5, kit.u(1), 'endless', 'c', kit.d(5), NULL, 'infinity');
SET client_min_messages = warning;
SELECT type, read, imported, present, rejected FROM blogstore.import(posts => 'site', rejects => 'rejects', key_prefix => 's:') WHERE read > 0;
SELECT reason, item ->> 'title' AS title FROM rejects;
SELECT title, hidden, CASE WHEN creation_date < '2025-01-01' THEN creation_date END AS creation_date, publish_date FROM blogstore.posts WHERE type = 'post' ORDER BY title;
SELECT blogstore.wait_for_views();
SELECT count(*), min(publish_date) FROM blogstore.publish_queue;
SELECT title FROM blogstore.list_feed() ORDER BY title;
-- again: all is there
DELETE FROM site WHERE post_id = 5;
SELECT type, read, imported, present, rejected FROM blogstore.import(posts => 'site', key_prefix => 's:') WHERE read > 0;
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
-- changes at the source: another date, a date that has come, a post that is
-- scheduled again; a schedule that the source no longer has stays
UPDATE site SET publish_date = '2199-01-01' WHERE post_id = 1;
UPDATE site SET publish_date = '2021-01-01' WHERE post_id = 2;
UPDATE site SET publish_date = '2198-01-01' WHERE post_id = 4;
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT title, hidden, creation_date, publish_date FROM blogstore.posts WHERE type = 'post' ORDER BY title;
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
UPDATE site SET publish_date = NULL WHERE post_id = 1;
UPDATE site SET publish_date = NULL, hidden = false WHERE post_id = 4;
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT title, hidden, creation_date, publish_date FROM blogstore.posts WHERE type = 'post' ORDER BY title;
-- a draft again; a source that has no dates does not say so, nor one that does
-- not say whether the post is hidden
CREATE TEMP VIEW undated AS SELECT post_id, user_id, title, content, creation_date, true AS hidden FROM site WHERE post_id = 1;
SELECT type, updated, present FROM blogstore.import(posts => 'undated', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT title, hidden, publish_date FROM blogstore.get_post(blogstore.key_id('post', 's:1'));
UPDATE site SET hidden = true WHERE post_id = 1;
SELECT type, imported, present FROM blogstore.import(posts => 'site', key_prefix => 's:') WHERE read > 0;
SELECT title, hidden, publish_date FROM blogstore.get_post(blogstore.key_id('post', 's:1'));
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT title, hidden, publish_date FROM blogstore.get_post(blogstore.key_id('post', 's:1'));
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
UPDATE site SET title = 'edited' WHERE post_id = 1;
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT title, hidden, publish_date FROM blogstore.get_post(blogstore.key_id('post', 's:1'));
UPDATE site SET title = 'to come', hidden = NULL, publish_date = '2199-01-01' WHERE post_id = 1;
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT title, hidden, publish_date FROM blogstore.get_post(blogstore.key_id('post', 's:1'));
DROP VIEW undated;
-- the worker publishes what was imported; the source's row is then the same
UPDATE site SET publish_date = '2022-01-01' WHERE post_id = 1;
CALL kit.let_pass(ARRAY[blogstore.key_id('post', 's:1')], '2022-01-01');
SELECT kit.await_published(ARRAY[blogstore.key_id('post', 's:1')]);
SELECT type, updated, present FROM blogstore.import(posts => 'site', key_prefix => 's:', changed => 'update') WHERE read > 0;
SELECT * FROM blogstore.verify();
-- a column of another type
CREATE TEMP VIEW odd AS SELECT post_id, user_id, title, content, creation_date, 'x'::text AS publish_date FROM site;
SELECT kit.try('blogstore.import(posts => ''odd'', key_prefix => ''s:'')');
DROP VIEW odd;
-- documents out and in
SELECT hidden FROM blogstore.schedule_post(blogstore.key_id('post', 's:3'), '2200-06-07 08:09:10.123456');
CREATE TEMP TABLE documents AS SELECT d FROM blogstore.export_documents() AS d;
SELECT d ->> 'title' AS title, d -> 'hidden' AS hidden, d -> 'publishDate' AS publish_date FROM documents WHERE d ->> 'type' = 'post' ORDER BY 1;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT type, imported, rejected FROM blogstore.import_documents('documents') WHERE read > 0 ORDER BY 1;
SELECT title, hidden, publish_date FROM blogstore.posts WHERE type = 'post' ORDER BY title;
SELECT count(*) FROM (SELECT d FROM blogstore.export_documents() AS d EXCEPT SELECT d FROM documents) AS other;
INSERT INTO documents SELECT d || jsonb_build_object('id', kit.p(n), 'postId', kit.p(n), 'publishDate', date)
FROM documents, (VALUES (60, jsonb '"now"'), (61, '1'), (62, '"2023-01-01"')) AS v (n, date) WHERE d ->> 'title' = 'past';
SELECT type, imported, present, rejected FROM blogstore.import_documents('documents', 'rejects') WHERE type = 'post';
SELECT reason, item -> 'publishDate' AS publish_date FROM rejects WHERE item ? 'publishDate' AND reason LIKE 'publishDate%' ORDER BY 2;
SELECT title, hidden, creation_date, publish_date FROM blogstore.get_post(kit.p(62));
SELECT kit.try('blogstore.create_post(kit.u(1), ''t'', ''c'', properties => ''{"publishDate": "x"}'')');

-- The error of the trigger is gone once no post is scheduled.
DELETE FROM blogstore.publish_queue;
SELECT title FROM blogstore.create_post(kit.u(1), 'last', 'c', kit.p(70), kit.d(70), hidden => true);
CALL kit.let_pass(ARRAY[kit.p(70)], '2024-01-01');
SELECT kit.await('SELECT last_error IS NULL FROM blogstore.stat_worker');
RESET client_min_messages;
DROP VIEW scheduled;
DROP PROCEDURE kit.let_pass(uuid[], timestamptz);
DROP FUNCTION kit.await_published(uuid[]), kit.await(text), kit.keep_hidden();
