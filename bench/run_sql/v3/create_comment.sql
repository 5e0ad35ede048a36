INSERT INTO posts (id, type, post_id, user_id, user_username, content)
SELECT blogstore.new_id(), 'comment', ('0190000000007000' || :post)::uuid, user_id, username,
	'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.'
FROM users
WHERE user_id = ('0180000000007000' || :user)::uuid AND id = ('0180000000007000' || :user)::uuid
RETURNING id, type, post_id, user_id, user_username, content, creation_date;
