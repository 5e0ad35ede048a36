SELECT id, type, post_id, user_id, user_username, content, creation_date, parent_id
FROM comments
WHERE post_id = ('0190000000007000' || :post)::uuid AND parent_id = ('01a0000000007000' || :comment)::uuid
ORDER BY creation_date DESC, id DESC LIMIT 20;
