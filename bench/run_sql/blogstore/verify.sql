-- verify.sql
--		blogstore compares itself with its items.
SET max_parallel_workers_per_gather = 0;
SELECT * FROM blogstore.verify() LIMIT 10;
