SELECT p.*
FROM (SELECT followed_id FROM follows WHERE user_id = ('0180000000007000' || :reader)::uuid) AS f,
	LATERAL (SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date
		FROM user_posts WHERE user_posts.user_id = f.followed_id
		ORDER BY creation_date DESC, id DESC LIMIT 20) AS p
ORDER BY creation_date DESC, id DESC LIMIT 20;
