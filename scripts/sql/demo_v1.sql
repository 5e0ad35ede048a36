-- demo_v1.sql
--		Copy blogstore's data into the tables of schema v1: the article's
--		version 1, which is normalised. Requests get names by joins and counts
--		by aggregation.

\set ON_ERROR_STOP on

INSERT INTO v1.users SELECT user_id, username, creation_date FROM blogstore.users WHERE type = 'user';
INSERT INTO v1.posts SELECT post_id, user_id, title, content, creation_date FROM blogstore.posts WHERE type = 'post';
INSERT INTO v1.comments SELECT id, post_id, user_id, content, creation_date FROM blogstore.posts WHERE type = 'comment';
INSERT INTO v1.likes SELECT id, post_id, user_id, creation_date FROM blogstore.posts WHERE type = 'like';
