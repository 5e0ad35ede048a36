SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
FROM blogstore.list_topic_posts(topic => 'topic ' || :user);
