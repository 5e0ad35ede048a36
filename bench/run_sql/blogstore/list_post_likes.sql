SELECT * FROM blogstore.list_post_likes(post_id => ('0190000000007000' || :post)::uuid);
