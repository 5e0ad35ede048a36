-- explain.sql
--		Run a statement and read all columns of its result. EXPLAIN of a call
--		of this function includes the buffers of triggers and foreign keys.
CREATE FUNCTION staging.run(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN EXECUTE statement LOOP
		PERFORM length(r::text);
	END LOOP;
END $$;
