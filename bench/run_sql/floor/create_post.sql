INSERT INTO posts (id, post_id, user_id, user_username, title, content)
VALUES (blogstore.new_id(), blogstore.new_id(), ('0180000000007000' || :user)::uuid, 'author of it', 'Written ' || :number,
	'Content of post ' || :number || repeat(', and what one writes about it', 32))
RETURNING id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date;
