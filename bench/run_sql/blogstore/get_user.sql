SELECT * FROM blogstore.get_user(user_id => ('0180000000007000' || :user)::uuid);
