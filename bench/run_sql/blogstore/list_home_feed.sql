SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.list_home_feed(user_id => ('0180000000007000' || :reader)::uuid);
