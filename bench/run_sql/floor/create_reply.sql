INSERT INTO comments (post_id, user_id, user_username, content, parent_id)
VALUES (('0190000000007000' || :post)::uuid, ('0180000000007000' || :user)::uuid, 'author of it',
	'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.', ('01a0000000007000' || :comment)::uuid)
RETURNING id, type, post_id, user_id, user_username, content, creation_date, parent_id;
