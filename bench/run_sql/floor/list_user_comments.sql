SELECT id, type, post_id, user_id, user_username, content, creation_date
FROM comments
WHERE user_id = ('0180000000007000' || :user)::uuid
ORDER BY creation_date DESC, id DESC LIMIT 20;
