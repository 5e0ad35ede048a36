SELECT id, type, user_id, username, creation_date
FROM blogstore.get_users(user_ids => ARRAY(SELECT ('0180000000007000' || 8000000000000001 + mod(:user::text::bigint + n * 7919, :users::text::bigint))::uuid FROM generate_series(1, 20) n));
