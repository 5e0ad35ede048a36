SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.get_posts(post_ids => ARRAY(SELECT ('0190000000007000' || 8000000000000001 + mod(:post::text::bigint + n * 7919, :posts::text::bigint))::uuid FROM generate_series(1, 20) n));
