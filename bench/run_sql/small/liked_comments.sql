-- liked_comments.sql
--		One comment on each of :posts posts.
SELECT count(blogstore.create_comment(dataset.post_id(p), dataset.user_id(1 + p % :users), 'A comment', dataset.child_id(p)))
FROM generate_series(1, :posts) AS p;
