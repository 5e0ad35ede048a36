SELECT post_id AS id, 'post' AS type, post_id, user_id, user_username, title, left(content, 200) AS content,
	comment_count, like_count, creation_date
FROM posts
WHERE user_id = ('0180000000007000' || :user)::uuid
ORDER BY creation_date DESC, post_id DESC LIMIT 20;
