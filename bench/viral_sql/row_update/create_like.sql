WITH added AS (
	INSERT INTO likes (post_id, user_id)
	VALUES (md5('p' || :post)::uuid, md5('u' || :user)::uuid)
	ON CONFLICT DO NOTHING
	RETURNING post_id
)
UPDATE posts SET like_count = like_count + 1
FROM added WHERE posts.post_id = added.post_id;
