SELECT post_id AS id, 'post' AS type, post_id, user_id, username AS user_username, title, left(content, 200) AS content,
	(SELECT count(*) FROM comments WHERE comments.post_id = posts.post_id) AS comment_count,
	(SELECT count(*) FROM likes WHERE likes.post_id = posts.post_id) AS like_count,
	posts.creation_date
FROM posts JOIN users USING (user_id)
WHERE user_id = ('0180000000007000' || :user)::uuid
ORDER BY posts.creation_date DESC, post_id DESC LIMIT 20;
