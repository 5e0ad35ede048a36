INSERT INTO posts (id, post_id, user_id, user_username, title, content, properties)
VALUES (blogstore.new_id(), blogstore.new_id(), ('0180000000007000' || :user)::uuid, 'author of it', 'Written ' || :number,
	'Content of post ' || :number || repeat(', and what one writes about it', 32),
	jsonb_build_object('slug', 'written-' || :number, 'tags', '["one", "another"]'::jsonb))
RETURNING id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, properties;
