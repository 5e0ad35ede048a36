SELECT posts.*, username FROM posts JOIN users USING (user_id) WHERE post_id = md5('p' || :post)::uuid;
