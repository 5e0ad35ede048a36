SELECT id, type, post_id, user_id, user_username, creation_date
FROM blogstore.list_user_likes(user_id => ('0180000000007000' || :user)::uuid);
