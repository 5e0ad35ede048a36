-- items.sql
--		All that is stored, for comparison: without the ids and dates that
--		contestants made themselves.
CREATE VIEW all_users AS SELECT username FROM users;
CREATE VIEW all_posts AS
SELECT user_id, user_username, title, content, comment_count, like_count FROM posts;
CREATE VIEW all_copies AS
SELECT user_id, user_username, title, left(content, 200) AS content, comment_count, like_count FROM posts;
CREATE VIEW all_comments AS SELECT post_id, user_id, user_username, content FROM comments;
CREATE VIEW all_likes AS SELECT post_id, user_id, user_username FROM likes;
