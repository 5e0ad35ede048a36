SELECT blogstore.create_like(md5('p' || :post)::uuid, md5('u' || :user)::uuid);
