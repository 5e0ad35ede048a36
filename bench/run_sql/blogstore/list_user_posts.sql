SELECT * FROM blogstore.list_user_posts(user_id => ('0180000000007000' || :user)::uuid);
