-- demo_tidy.sql
--		Delete what the measured commands have written, from blogstore and
--		from version 1: the rows that are newer than the data set.

\set ON_ERROR_STOP on

CREATE VIEW demo.written AS
SELECT i.*
FROM blogstore.posts AS i, demo.settings AS s
WHERE i.creation_date >= s.since + 395 * interval '24 hours';

SELECT count(blogstore.delete_like(post_id, user_id)) FROM demo.written WHERE type = 'like';
SELECT count(blogstore.delete_comment(post_id, id)) FROM demo.written WHERE type = 'comment';
SELECT count(blogstore.delete_post(post_id)) FROM demo.written WHERE type = 'post';
SELECT count(blogstore.delete_user(u.user_id))
FROM blogstore.users AS u, demo.settings AS s
WHERE u.type = 'user' AND u.creation_date >= s.since + 395 * interval '24 hours';
DROP VIEW demo.written;

DELETE FROM v1.likes USING demo.settings AS s WHERE creation_date >= s.since + 395 * interval '24 hours';
DELETE FROM v1.comments USING demo.settings AS s WHERE creation_date >= s.since + 395 * interval '24 hours';
DELETE FROM v1.posts USING demo.settings AS s WHERE creation_date >= s.since + 395 * interval '24 hours';
DELETE FROM v1.users USING demo.settings AS s WHERE creation_date >= s.since + 395 * interval '24 hours';
