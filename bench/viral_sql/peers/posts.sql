-- posts.sql
--		:posts posts from number :first on.
INSERT INTO posts (post_id, user_id, title, content, creation_date)
SELECT post_id, user_id, title, content, creation_date FROM dataset.scattered_posts(:first, :posts, :users);
