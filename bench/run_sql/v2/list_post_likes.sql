SELECT like_id AS id, 'like' AS type, post_id, user_id, user_username, creation_date
FROM likes
WHERE post_id = ('0190000000007000' || :post)::uuid
ORDER BY creation_date DESC, like_id DESC LIMIT 20;
