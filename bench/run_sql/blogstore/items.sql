-- items.sql
--		All that is stored, for comparison: without the ids and dates that
--		contestants made themselves. Counts are those that get_post() shows.
CREATE VIEW all_users AS SELECT username FROM blogstore.users WHERE type = 'user';
CREATE VIEW all_posts AS
SELECT g.user_id, g.user_username, g.title, g.content, g.comment_count, g.like_count
FROM blogstore.posts, blogstore.get_post(posts.post_id) AS g WHERE posts.type = 'post';
CREATE VIEW all_copies AS
SELECT user_id, user_username, title, content, comment_count, like_count FROM blogstore.users WHERE type = 'post';
CREATE VIEW all_comments AS SELECT post_id, user_id, user_username, content FROM blogstore.posts WHERE type = 'comment';
CREATE VIEW all_likes AS SELECT post_id, user_id, user_username FROM blogstore.posts WHERE type = 'like';
