INSERT INTO posts (user_id, title, content)
VALUES (('0180000000007000' || :user)::uuid, 'Written ' || :number,
	'Content of post ' || :number || repeat(', and what one writes about it', 32))
RETURNING post_id AS id, 'post' AS type, post_id, user_id, title, content, creation_date;
