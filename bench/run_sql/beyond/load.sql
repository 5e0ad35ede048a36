-- load.sql
--		The floor from a slice in staging, with properties and answers.
INSERT INTO posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, properties)
SELECT post_id, 'post', post_id, user_id, username, title, content, comments, likes, posts.creation_date, posts.properties
FROM staging.posts JOIN staging.users USING (user_id) ORDER BY posts.n;
INSERT INTO comments (id, type, post_id, user_id, user_username, content, creation_date, parent_id)
SELECT comment_id, 'comment', post_id, user_id, username, content, comments.creation_date, parent_id
FROM staging.comments JOIN staging.users USING (user_id);
INSERT INTO likes
SELECT like_id, 'like', post_id, user_id, username, likes.creation_date
FROM staging.likes JOIN staging.users USING (user_id);
