-- tables.sql
--		By kind of table: bytes of tables and indexes, rows inserted, updated,
--		and updated without touching an index (HOT).
SELECT kind, sum(pg_total_relation_size(relid)), sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_hot_upd)
FROM pg_stat_user_tables,
	LATERAL (SELECT CASE
		WHEN relname ~ '^posts_p\d+_post$' THEN 'posts'
		WHEN relname ~ '^posts_p\d+_like$' THEN 'likes'
		WHEN relname ~ '^posts_p\d+_comment$' THEN 'comments'
		WHEN relname ~ '^posts_p\d+_delta$' THEN 'deltas'
		ELSE 'others' END AS kind) AS k
WHERE schemaname = 'blogstore'
GROUP BY kind;
