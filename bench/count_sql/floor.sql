-- floor.sql
--		For each query a plain table that holds what it returns, in the order of an index.
CREATE SCHEMA floor;
CREATE TABLE floor.users AS SELECT user_id AS id, 'user'::text AS type, user_id, username, creation_date FROM s.users ORDER BY n;
CREATE TABLE floor.posts AS
SELECT post_id AS id, 'post'::text AS type, post_id, user_id, username AS user_username, title, content,
	p.comments::bigint AS comment_count, p.likes::bigint AS like_count, p.creation_date
FROM s.posts AS p JOIN s.users USING (user_id) ORDER BY p.n;
CREATE TABLE floor.user_posts AS SELECT * FROM floor.posts;
UPDATE floor.user_posts SET content = left(content, 200);
CREATE TABLE floor.feed AS SELECT * FROM floor.user_posts ORDER BY creation_date DESC, id DESC LIMIT 100;
CREATE TABLE floor.comments AS
SELECT comment_id AS id, 'comment'::text AS type, post_id, user_id, username AS user_username, content, c.creation_date
FROM s.comments AS c JOIN s.users USING (user_id);
CREATE TABLE floor.likes AS
SELECT like_id AS id, 'like'::text AS type, post_id, user_id, username AS user_username, l.creation_date
FROM s.likes AS l JOIN s.users USING (user_id);
ALTER TABLE floor.users ADD PRIMARY KEY (user_id);
ALTER TABLE floor.posts ADD PRIMARY KEY (post_id);
ALTER TABLE floor.user_posts ADD PRIMARY KEY (user_id, creation_date, id);
ALTER TABLE floor.feed ADD PRIMARY KEY (creation_date, id);
ALTER TABLE floor.comments ADD PRIMARY KEY (post_id, creation_date, id);
ALTER TABLE floor.likes ADD PRIMARY KEY (post_id, creation_date, id);
