-- copies.sql
--		Version 3's feed: the newest posts are in the last slice.
INSERT INTO feed
SELECT post_id, 'post', post_id, user_id, username, title, left(content, 200), comments, likes, posts.creation_date
FROM staging.posts JOIN staging.users USING (user_id)
ORDER BY posts.creation_date DESC, post_id DESC LIMIT 100;
