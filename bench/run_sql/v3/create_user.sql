WITH named AS (
	INSERT INTO usernames VALUES (lower('writer ' || :number), blogstore.new_id())
	RETURNING user_id
)
INSERT INTO users (id, type, user_id, username)
SELECT user_id, 'user', user_id, 'writer ' || :number FROM named
RETURNING id, type, user_id, username, creation_date;
