SELECT * FROM blogstore.get_post(md5('p' || :post)::uuid);
