SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM feed
ORDER BY creation_date DESC, id DESC LIMIT 100;
