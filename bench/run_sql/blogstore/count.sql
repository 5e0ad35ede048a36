-- count.sql
--		The counts that verify() has to compute, computed by plain SQL from
--		the same rows.
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(comments), sum(likes)
FROM (
	SELECT post_id, count(*) FILTER (WHERE type = 'comment') AS comments, count(*) FILTER (WHERE type = 'like') AS likes
	FROM blogstore.posts GROUP BY post_id) AS counted;
