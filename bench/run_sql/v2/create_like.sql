WITH added AS (
	INSERT INTO likes (post_id, user_id, user_username)
	SELECT ('0190000000007000' || :post)::uuid, user_id, username
	FROM users
	WHERE user_id = ('0180000000007000' || :user)::uuid
	ON CONFLICT DO NOTHING
	RETURNING like_id AS id, 'like' AS type, post_id, user_id, user_username, creation_date
), counted AS (
	UPDATE posts SET like_count = like_count + 1
	FROM added WHERE posts.post_id = added.post_id
)
SELECT * FROM added;
