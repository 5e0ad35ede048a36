WITH removed AS (
	DELETE FROM likes
	WHERE user_id = md5('u' || :user)::uuid AND post_id = md5('p' || :post)::uuid
	RETURNING post_id
)
UPDATE posts SET like_count = like_count - 1
FROM removed WHERE posts.post_id = removed.post_id;
