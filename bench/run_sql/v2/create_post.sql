INSERT INTO posts (user_id, user_username, title, content)
SELECT user_id, username, 'Written ' || :number,
	'Content of post ' || :number || repeat(', and what one writes about it', 32)
FROM users
WHERE user_id = ('0180000000007000' || :user)::uuid
RETURNING post_id AS id, 'post' AS type, post_id, user_id, user_username, title, content,
	comment_count, like_count, creation_date;
