SELECT like_id AS id, 'like' AS type, post_id, user_id, username AS user_username, likes.creation_date
FROM likes JOIN users USING (user_id)
WHERE post_id = ('0190000000007000' || :post)::uuid
ORDER BY likes.creation_date DESC, like_id DESC LIMIT 20;
