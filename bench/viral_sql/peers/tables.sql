-- tables.sql
--		By table: bytes with indexes, rows inserted, updated, and updated
--		without touching an index (HOT).
SELECT CASE WHEN relname IN ('posts', 'likes', 'comments') THEN relname ELSE 'others' END,
	sum(pg_total_relation_size(relid)), sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_hot_upd)
FROM pg_stat_user_tables
GROUP BY 1;
