SELECT posts.id, type, post_id, posts.user_id, user_username, title, content, comment_count, like_count, posts.creation_date
FROM (SELECT newest.*
	FROM (SELECT followed_id FROM follows WHERE user_id = ('0180000000007000' || :reader)::uuid) AS f,
		LATERAL (SELECT user_id, creation_date, id
			FROM user_posts WHERE user_posts.user_id = f.followed_id
			ORDER BY creation_date DESC, id DESC LIMIT 20) AS newest
	ORDER BY creation_date DESC, id DESC LIMIT 20) AS page
JOIN user_posts AS posts USING (user_id, creation_date, id)
ORDER BY posts.creation_date DESC, posts.id DESC;
