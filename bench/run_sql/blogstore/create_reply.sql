SELECT id, type, post_id, user_id, user_username, content, creation_date, parent_id
FROM blogstore.create_comment(post_id => ('0190000000007000' || :post)::uuid, user_id => ('0180000000007000' || :user)::uuid,
	content => 'Comment ' || :number || ' says what people say, and takes two lines to say it, as they come.', parent_id => ('01a0000000007000' || :comment)::uuid);
