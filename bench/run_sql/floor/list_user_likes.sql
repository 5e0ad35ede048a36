SELECT id, type, post_id, user_id, user_username, creation_date
FROM likes
WHERE user_id = ('0180000000007000' || :user)::uuid
ORDER BY post_id LIMIT 20;
