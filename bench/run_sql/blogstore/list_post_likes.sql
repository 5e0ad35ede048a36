SELECT id, type, post_id, user_id, user_username, creation_date
FROM blogstore.list_post_likes(post_id => ('0190000000007000' || :post)::uuid);
