SELECT posts.id, type, post_id, posts.user_id, user_username, title, content, comment_count, like_count, posts.creation_date
FROM (SELECT user_posts.user_id, creation_date, id
	FROM follows JOIN user_posts ON user_posts.user_id = follows.followed_id
	WHERE follows.user_id = ('0180000000007000' || :reader)::uuid
	ORDER BY creation_date DESC, id DESC LIMIT 20) AS page
JOIN user_posts AS posts USING (user_id, creation_date, id)
ORDER BY posts.creation_date DESC, posts.id DESC;
