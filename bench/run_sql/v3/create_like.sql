INSERT INTO posts (id, type, post_id, user_id, user_username)
SELECT blogstore.new_id(), 'like', ('0190000000007000' || :post)::uuid, user_id, username
FROM users
WHERE user_id = ('0180000000007000' || :user)::uuid AND id = ('0180000000007000' || :user)::uuid
ON CONFLICT DO NOTHING
RETURNING id, type, post_id, user_id, user_username, creation_date;
