WITH freed AS (
	DELETE FROM usernames USING users
	WHERE username_key = lower(username)
		AND users.user_id = ('0180000000007000' || :user)::uuid AND users.id = ('0180000000007000' || :user)::uuid
), named AS (
	INSERT INTO usernames VALUES (lower('renamed ' || :number), ('0180000000007000' || :user)::uuid)
)
UPDATE users SET username = 'renamed ' || :number
WHERE user_id = ('0180000000007000' || :user)::uuid AND id = ('0180000000007000' || :user)::uuid
RETURNING id, type, user_id, username, creation_date;
