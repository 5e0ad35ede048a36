-- indexes.sql
--		Version 2 with pg_ivm: version 1 (see there), and counts that pg_ivm
--		keeps in the transaction of each like and comment.
\ir ../v1/indexes.sql
SELECT nspname AS ivm FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE proname = 'create_immv' LIMIT 1 \gset
SELECT :"ivm".create_immv('comment_counts', 'SELECT post_id, count(*) AS comment_count FROM comments GROUP BY post_id');
SELECT :"ivm".create_immv('like_counts', 'SELECT post_id, count(*) AS like_count FROM likes GROUP BY post_id');
