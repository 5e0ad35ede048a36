SELECT id, type, post_id, user_id, user_username, content, creation_date
FROM blogstore.list_user_comments(user_id => ('0180000000007000' || :user)::uuid);
