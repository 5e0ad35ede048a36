SELECT * FROM blogstore.get_post(post_id => ('0190000000007000' || :post)::uuid);
