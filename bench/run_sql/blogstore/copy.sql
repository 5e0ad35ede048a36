-- copy.sql
--		What a rebuild of the views writes, as a plain table with an index.
CREATE TABLE staging.copy AS
SELECT id, type, post_id, user_id, user_username, title, left(content, 200) AS content,
	comment_count, like_count, creation_date
FROM blogstore.posts WHERE type = 'post';
ALTER TABLE staging.copy ADD PRIMARY KEY (user_id, creation_date, id);
