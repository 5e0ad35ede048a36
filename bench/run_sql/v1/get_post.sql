SELECT post_id AS id, 'post' AS type, post_id, user_id, username AS user_username, title, content,
	(SELECT count(*) FROM comments WHERE comments.post_id = posts.post_id) AS comment_count,
	(SELECT count(*) FROM likes WHERE likes.post_id = posts.post_id) AS like_count,
	posts.creation_date
FROM posts JOIN users USING (user_id)
WHERE post_id = ('0190000000007000' || :post)::uuid;
