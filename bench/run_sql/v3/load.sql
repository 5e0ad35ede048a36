-- load.sql
--		Version 3 from a slice in staging.
INSERT INTO users
SELECT post_id, 'post', post_id, user_id, NULL, username, title, left(content, 200), comments, likes, posts.creation_date
FROM staging.posts JOIN staging.users USING (user_id) ORDER BY posts.n;
INSERT INTO posts
SELECT post_id, 'post', post_id, user_id, username, title, content, comments, likes, posts.creation_date
FROM staging.posts JOIN staging.users USING (user_id) ORDER BY posts.n;
INSERT INTO posts
SELECT comment_id, 'comment', post_id, user_id, username, NULL, content, NULL, NULL, comments.creation_date
FROM staging.comments JOIN staging.users USING (user_id);
INSERT INTO posts
SELECT like_id, 'like', post_id, user_id, username, NULL, NULL, NULL, NULL, likes.creation_date
FROM staging.likes JOIN staging.users USING (user_id);
