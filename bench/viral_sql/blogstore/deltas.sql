-- deltas.sql
--		How many counts wait to be folded: of the post with most of them, and
--		of all posts, without the counters, which stay; bytes of posts and of
--		deltas, with their indexes.
SELECT coalesce(max(deltas), 0), coalesce(sum(deltas), 0),
	(SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
	 WHERE relnamespace = 'blogstore'::regnamespace AND relkind = 'r' AND relname ~ '^posts_p\d+_post$'),
	(SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
	 WHERE relnamespace = 'blogstore'::regnamespace AND relkind = 'r' AND relname ~ '^posts_p\d+_delta$')
FROM (SELECT count(*) AS deltas FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000' GROUP BY post_id) AS d;
