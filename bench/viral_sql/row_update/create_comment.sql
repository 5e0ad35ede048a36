WITH added AS (
	INSERT INTO comments (post_id, user_id, content)
	VALUES (md5('p' || :post)::uuid, md5('u' || :user)::uuid,
		'A comment of some fifty characters, as they come.')
	RETURNING post_id
)
UPDATE posts SET comment_count = comment_count + 1
FROM added WHERE posts.post_id = added.post_id;
