--
-- OPERATION: the worker and its slot, stopped, started and made to rebuild
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = error;
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(2, 4);
SELECT blogstore.wait_for_views();

-- One worker, active on a slot of its own in this database
CREATE VIEW kit.worker AS
SELECT w.state, a.backend_type, a.datname = current_database() AS here,
	s.plugin, s.slot_type, s.database = current_database() AS of_here, s.active_pid = w.pid AS active, s.temporary
FROM blogstore.stat_worker w
LEFT JOIN pg_stat_activity a ON a.pid = w.pid
LEFT JOIN pg_replication_slots s ON s.slot_name = w.slot;
SELECT * FROM kit.worker;
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore launcher';
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = current_database();
SELECT count(*) FROM pg_replication_slots WHERE plugin = 'blogstore' AND database = current_database();
SELECT lag_bytes >= 0 AS lag_bytes, lag_time IS NULL OR lag_time >= '0' AS lag_time,
	retained_bytes >= 0 AS retained_bytes, wal_status IN ('reserved', 'extended') AS wal_status, batches > 0 AS batches, changes > 0 AS changes,
	started_at BETWEEN now() - interval '1 day' AND now() AS started_at, last_error, last_error_at, hint
FROM blogstore.stat_worker;
SELECT changes AS changes_before FROM blogstore.stat_worker \gset
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'five', 'x', kit.p(5), kit.d(5));
SELECT blogstore.wait_for_views();
SELECT changes > :changes_before AS more FROM blogstore.stat_worker;
SELECT count(*) FROM blogstore.progress;

-- Starting what runs changes nothing
SELECT pid AS worker_pid FROM blogstore.stat_worker \gset
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
SELECT pid = :worker_pid AS same FROM blogstore.stat_worker;

-- Stopped: it has ended when the call returns, its slot stays
SELECT blogstore.stop_worker();
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = current_database();
SELECT state, pid FROM blogstore.stat_worker;
SELECT plugin, active FROM pg_replication_slots WHERE database = current_database();
SELECT kit.try('blogstore.wait_for_views()');
-- Q3 and Q6 answer from the posts container, at once
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'six', repeat('x', 300), kit.p(6), kit.d(6));
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1));
SELECT title FROM blogstore.edit_post(kit.p(5), 'five!');
SELECT blogstore.delete_post(kit.p(2));
SELECT title, length(content), like_count FROM blogstore.list_user_posts(kit.u(1));
SELECT title, length(content), like_count FROM blogstore.list_user_posts(kit.u(2));
SELECT kit.compare('SELECT * FROM blogstore.list_feed()', 'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT * FROM blogstore.verify();
-- a rename is taken, and shows on the user
SELECT username FROM blogstore.edit_user(kit.u(2), 'two');
SELECT username FROM blogstore.get_user_by_name('two');
-- stopped twice is stopped
SELECT blogstore.stop_worker(drop_slot => false);
SELECT state FROM blogstore.stat_worker;
-- Started, it goes on where it stood
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
SELECT * FROM kit.worker;
SELECT title, user_username FROM blogstore.list_user_posts(kit.u(2));
SELECT kit.compare('SELECT id, title, user_username, comment_count, like_count FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	'SELECT id, title, user_username, comment_count, like_count FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT * FROM blogstore.verify();

-- Stopped with its slot dropped, it builds the views anew
SELECT blogstore.stop_worker(true);
SELECT count(*) FROM pg_replication_slots WHERE database = current_database();
SELECT state FROM blogstore.stat_worker;
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'seven', 'x', kit.p(7), kit.d(7));
SELECT blogstore.delete_post(kit.p(1));
SELECT title FROM blogstore.list_feed();
SELECT blogstore.start_worker();
SELECT blogstore.wait_for_views();
SELECT * FROM kit.worker;
SELECT title FROM blogstore.feed ORDER BY creation_date DESC, id DESC;
SELECT * FROM blogstore.verify();

-- A rebuild mends what was broken by hand in the views
BEGIN;
DELETE FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(3);
UPDATE blogstore.users SET title = 'wrong' WHERE type = 'post' AND post_id = kit.p(4);
DELETE FROM blogstore.feed WHERE post_id = kit.p(5);
UPDATE blogstore.feed SET like_count = 77 WHERE post_id = kit.p(6);
INSERT INTO blogstore.feed (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
VALUES (kit.p(70), 'post', kit.p(70), kit.u(1), 'user 1', 'never', 'x', 0, 0, kit.d(70));
INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
VALUES (kit.p(70), 'post', kit.p(70), kit.u(1), 'user 1', 'never', 'x', 0, 0, kit.d(70));
SELECT count(*) > 0 AS broken FROM blogstore.verify();
COMMIT;
SELECT blogstore.rebuild_views();
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.progress;
SELECT kit.compare('SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, false, modification_date, properties, NULL::timestamptz FROM blogstore.feed ORDER BY creation_date DESC, id DESC',
	'SELECT * FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 100');
SELECT kit.compare('SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, coalesce(hidden, false), modification_date, properties, publish_date FROM blogstore.users WHERE type = ''post'' ORDER BY id',
	'SELECT * FROM kit.implied ORDER BY id');
SELECT * FROM blogstore.verify();

-- Twice in a row, beside changes
SELECT blogstore.rebuild_views();
SELECT blogstore.rebuild_views();
SELECT count(blogstore.create_post(kit.u(1), 'more', 'x', kit.p(100 + n), kit.d(100 + n))) FROM generate_series(1, 150) n;
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.feed;
SELECT * FROM blogstore.verify();

-- this transaction's own jobs are not waited for: nobody can do them yet
BEGIN;
SELECT count(blogstore.create_user('own job', '00000000-0000-7000-8000-00000000b001'));
SELECT username FROM blogstore.edit_user('00000000-0000-7000-8000-00000000b001', 'own job renamed');
SELECT blogstore.wait_for_views('20 s');
COMMIT;
SELECT blogstore.wait_for_views();
SELECT blogstore.delete_user('00000000-0000-7000-8000-00000000b001');
SELECT blogstore.wait_for_views();
