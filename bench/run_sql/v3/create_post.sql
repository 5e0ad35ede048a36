WITH new AS MATERIALIZED (
	SELECT blogstore.new_id() AS id
)
INSERT INTO posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count)
SELECT new.id, 'post', new.id, user_id, username, 'Written ' || :number,
	'Content of post ' || :number || repeat(', and what one writes about it', 32), 0, 0
FROM new, users
WHERE user_id = ('0180000000007000' || :user)::uuid AND users.id = ('0180000000007000' || :user)::uuid
RETURNING id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date;
