-- demo_v1.sql
--		The data of blogstore the way the article starts: version 1, normalised, in
--		the tables of schema v1. Names and counts are nowhere stored twice: requests
--		join and count.

\set ON_ERROR_STOP on

INSERT INTO v1.users SELECT user_id, username, creation_date FROM blogstore.users WHERE type = 'user';
INSERT INTO v1.posts SELECT post_id, user_id, title, content, creation_date FROM blogstore.posts WHERE type = 'post';
INSERT INTO v1.comments SELECT id, post_id, user_id, content, creation_date FROM blogstore.posts WHERE type = 'comment';
INSERT INTO v1.likes SELECT id, post_id, user_id, creation_date FROM blogstore.posts WHERE type = 'like';
