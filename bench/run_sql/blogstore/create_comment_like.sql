SELECT id, type, post_id, user_id, user_username, creation_date, comment_id
FROM blogstore.create_like(post_id => ('0190000000007000' || :post)::uuid, user_id => ('0180000000007000' || :user)::uuid,
	comment_id => ('01a0000000007000' || :post)::uuid);
