-- copies.sql
--		Short copies of posts, and whom users follow, for the home feed.
INSERT INTO user_posts
SELECT id, type, post_id, user_id, user_username, title, left(content, 200), comment_count, like_count, creation_date
FROM posts ORDER BY post_id;
INSERT INTO follows SELECT user_id, followed_id FROM staging.follows;
