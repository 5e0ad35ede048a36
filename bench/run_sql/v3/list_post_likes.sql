SELECT id, type, post_id, user_id, user_username, creation_date
FROM posts
WHERE post_id = ('0190000000007000' || :post)::uuid AND type = 'like'
ORDER BY creation_date DESC, id DESC LIMIT 20;
