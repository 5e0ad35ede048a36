-- load.sql
--		Load the floor from a slice in the staging tables: plain INSERTs of
--		the rows that import() would write, with names and counts.
INSERT INTO posts
SELECT post_id, 'post', post_id, user_id, username, title, content, comments, likes, posts.creation_date
FROM staging.posts JOIN staging.users USING (user_id) ORDER BY posts.n;
INSERT INTO comments
SELECT comment_id, 'comment', post_id, user_id, username, content, comments.creation_date
FROM staging.comments JOIN staging.users USING (user_id);
INSERT INTO likes
SELECT like_id, 'like', post_id, user_id, username, likes.creation_date
FROM staging.likes JOIN staging.users USING (user_id);
