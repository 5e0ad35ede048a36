-- check.sql
--		Of :posts posts from number :first on, in one snapshot: how many likes
--		and comments there are, and how many posts have wrong counts.
WITH post AS (
	SELECT md5('p' || n)::uuid AS post_id
	FROM generate_series(:first, :first + :posts - 1) AS n
), item AS (
	SELECT post_id,
		count(*) FILTER (WHERE type = 'like') AS likes,
		count(*) FILTER (WHERE type = 'comment') AS comments
	FROM blogstore.posts
	WHERE type IN ('like', 'comment') AND post_id IN (SELECT post_id FROM post)
	GROUP BY post_id
)
SELECT coalesce(sum(likes), 0), coalesce(sum(comments), 0),
	count(*) FILTER (WHERE like_count IS DISTINCT FROM coalesce(likes, 0)
		OR comment_count IS DISTINCT FROM coalesce(comments, 0))
FROM post
LEFT JOIN LATERAL (SELECT like_count, comment_count FROM blogstore.get_post(post.post_id)) AS got ON true
LEFT JOIN item USING (post_id);
