SELECT comment_id AS id, 'comment' AS type, post_id, user_id, username AS user_username, content, comments.creation_date
FROM comments JOIN users USING (user_id)
WHERE post_id = ('0190000000007000' || :post)::uuid
ORDER BY comments.creation_date DESC, comment_id DESC LIMIT 20;
