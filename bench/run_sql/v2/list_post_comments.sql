SELECT comment_id AS id, 'comment' AS type, post_id, user_id, user_username, content, creation_date
FROM comments
WHERE post_id = ('0190000000007000' || :post)::uuid
ORDER BY creation_date DESC, comment_id DESC LIMIT 20;
