SELECT post_id AS id, 'post' AS type, post_id, user_id, username AS user_username, title, content,
	coalesce(comment_count, 0) AS comment_count, coalesce(like_count, 0) AS like_count, posts.creation_date
FROM posts JOIN users USING (user_id)
LEFT JOIN comment_counts USING (post_id) LEFT JOIN like_counts USING (post_id)
WHERE post_id = ('0190000000007000' || :post)::uuid;
