SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM users
WHERE user_id = ('0180000000007000' || :user)::uuid AND type = 'post'
ORDER BY creation_date DESC, id DESC LIMIT 20;
