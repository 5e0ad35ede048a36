DELETE FROM likes
WHERE user_id = md5('u' || :user)::uuid AND post_id = md5('p' || :post)::uuid;
