-- check.sql
--		Of :posts posts from number :first on, in one snapshot: how many likes
--		and comments there are, and how many posts have wrong counts.
WITH post AS (
	SELECT md5('p' || n)::uuid AS post_id
	FROM generate_series(:first, :first + :posts - 1) AS n
), liked AS (
	SELECT post_id, count(*) AS likes FROM likes
	WHERE post_id IN (SELECT post_id FROM post) GROUP BY post_id
), commented AS (
	SELECT post_id, count(*) AS comments FROM comments
	WHERE post_id IN (SELECT post_id FROM post) GROUP BY post_id
)
SELECT coalesce(sum(likes), 0), coalesce(sum(comments), 0),
	count(*) FILTER (WHERE like_count IS DISTINCT FROM coalesce(likes, 0)
		OR comment_count IS DISTINCT FROM coalesce(comments, 0))
FROM post
LEFT JOIN posts USING (post_id)
LEFT JOIN liked USING (post_id)
LEFT JOIN commented USING (post_id);
