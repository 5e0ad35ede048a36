SELECT post_id AS id, 'post' AS type, post_id, user_id, username AS user_username, title, left(content, 200) AS content,
	coalesce(comment_count, 0) AS comment_count, coalesce(like_count, 0) AS like_count, posts.creation_date
FROM posts JOIN users USING (user_id)
LEFT JOIN comment_counts USING (post_id) LEFT JOIN like_counts USING (post_id)
WHERE user_id = ('0180000000007000' || :user)::uuid
ORDER BY posts.creation_date DESC, post_id DESC LIMIT 20;
