-- copies.sql
--		The floor's short copies of posts, in the order in which posts came.
INSERT INTO user_posts
SELECT id, type, post_id, user_id, user_username, title, left(content, 200), comment_count, like_count, creation_date
FROM posts ORDER BY post_id;
INSERT INTO feed SELECT * FROM user_posts ORDER BY creation_date DESC, id DESC LIMIT 100;
