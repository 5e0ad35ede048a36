SELECT id, type, user_id, username, creation_date
FROM blogstore.get_user(user_id => ('0180000000007000' || :user)::uuid);
