-- fresh.sql
--		Of each leaf of posts: the bytes of its table, and of a copy built just
--		now with the same options and indexes; and the same of its indexes.
CREATE TEMPORARY TABLE fresh (leaf text, bytes bigint, copy_bytes bigint, index_bytes bigint, copy_index_bytes bigint);
DO $$
DECLARE
	leaf record;
BEGIN
	FOR leaf IN
		SELECT oid::regclass AS name, coalesce('WITH (' || array_to_string(reloptions, ', ') || ')', '') AS options
		FROM pg_class
		WHERE relnamespace = 'blogstore'::regnamespace AND relkind = 'r' AND relname ~ '^posts_p\d+_post$'
		ORDER BY relname
	LOOP
		EXECUTE format('CREATE TABLE public.fresh_copy (LIKE %s INCLUDING ALL) %s', leaf.name, leaf.options);
		EXECUTE format('INSERT INTO public.fresh_copy SELECT * FROM %s', leaf.name);
		INSERT INTO fresh VALUES (leaf.name::text,
			pg_table_size(leaf.name), pg_table_size('public.fresh_copy'),
			pg_indexes_size(leaf.name), pg_indexes_size('public.fresh_copy'));
		DROP TABLE public.fresh_copy;
	END LOOP;
END $$;
SELECT * FROM fresh ORDER BY leaf;
