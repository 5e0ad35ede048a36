UPDATE posts SET content = 'Content by edit ' || :number || repeat(', and what one writes about it', 32)
WHERE post_id = ('0190000000007000' || :post)::uuid
RETURNING post_id AS id, 'post' AS type, post_id, user_id, user_username, title, content,
	comment_count, like_count, creation_date;
