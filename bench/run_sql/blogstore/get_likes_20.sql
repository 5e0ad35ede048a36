SELECT id, type, post_id, user_id, user_username, creation_date
FROM blogstore.get_likes(user_id => ('0180000000007000' || :user)::uuid, post_ids => ARRAY(SELECT ('0190000000007000' || 8000000000000001 + mod(:post::text::bigint + n * 7919, :posts::text::bigint))::uuid FROM generate_series(1, 20) n));
