SELECT id, type, post_id, user_posts.user_id, user_username, title, content, comment_count, like_count, creation_date
FROM follows JOIN user_posts ON user_posts.user_id = follows.followed_id
WHERE follows.user_id = ('0180000000007000' || :reader)::uuid
ORDER BY creation_date DESC, id DESC LIMIT 20;
