-- items.sql
--		All that is stored, for comparison: without the ids and dates that
--		contestants made themselves.
CREATE VIEW all_users AS SELECT username FROM users;
CREATE VIEW all_posts AS
SELECT user_id, username AS user_username, title, content,
	coalesce(comment_count, 0) AS comment_count, coalesce(like_count, 0) AS like_count
FROM posts JOIN users USING (user_id)
LEFT JOIN (SELECT post_id, count(*) AS comment_count FROM comments GROUP BY post_id) AS c USING (post_id)
LEFT JOIN (SELECT post_id, count(*) AS like_count FROM likes GROUP BY post_id) AS l USING (post_id);
CREATE VIEW all_copies AS
SELECT user_id, user_username, title, left(content, 200) AS content, comment_count, like_count FROM all_posts;
CREATE VIEW all_comments AS
SELECT post_id, user_id, username AS user_username, content FROM comments JOIN users USING (user_id);
CREATE VIEW all_likes AS
SELECT post_id, user_id, username AS user_username FROM likes JOIN users USING (user_id);
