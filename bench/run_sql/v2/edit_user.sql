WITH renamed AS (
	UPDATE users SET username = 'renamed ' || :number
	WHERE user_id = ('0180000000007000' || :user)::uuid
	RETURNING user_id AS id, 'user' AS type, user_id, username, creation_date
), renamed_posts AS (
	UPDATE posts SET user_username = username FROM renamed WHERE posts.user_id = renamed.user_id
), renamed_comments AS (
	UPDATE comments SET user_username = username FROM renamed WHERE comments.user_id = renamed.user_id
), renamed_likes AS (
	UPDATE likes SET user_username = username FROM renamed WHERE likes.user_id = renamed.user_id
)
SELECT * FROM renamed;
