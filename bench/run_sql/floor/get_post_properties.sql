SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, properties
FROM posts
WHERE post_id = ('0190000000007000' || :post)::uuid;
