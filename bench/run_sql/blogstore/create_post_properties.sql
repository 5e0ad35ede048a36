SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, properties
FROM blogstore.create_post(user_id => ('0180000000007000' || :user)::uuid, title => 'Written ' || :number,
	content => 'Content of post ' || :number || repeat(', and what one writes about it', 32),
	properties => jsonb_build_object('slug', 'written-' || :number, 'tags', '["one", "another"]'::jsonb));
