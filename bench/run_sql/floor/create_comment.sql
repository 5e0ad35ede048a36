INSERT INTO comments (post_id, user_id, user_username, content)
VALUES (('0190000000007000' || :post)::uuid, ('0180000000007000' || :user)::uuid, 'author of it',
	'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.')
RETURNING id, type, post_id, user_id, user_username, content, creation_date;
