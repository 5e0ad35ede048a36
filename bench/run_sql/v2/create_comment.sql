WITH added AS (
	INSERT INTO comments (post_id, user_id, user_username, content)
	SELECT ('0190000000007000' || :post)::uuid, user_id, username,
		'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.'
	FROM users
	WHERE user_id = ('0180000000007000' || :user)::uuid
	RETURNING comment_id AS id, 'comment' AS type, post_id, user_id, user_username, content, creation_date
), counted AS (
	UPDATE posts SET comment_count = comment_count + 1
	FROM added WHERE posts.post_id = added.post_id
)
SELECT * FROM added;
