SELECT blogstore.delete_like(md5('p' || :post)::uuid, md5('u' || :user)::uuid);
