-- posts.sql
--		:posts posts from number :first on.
SELECT count(blogstore.create_post(user_id, title, content, post_id, creation_date))
FROM dataset.scattered_posts(:first, :posts, :users);
