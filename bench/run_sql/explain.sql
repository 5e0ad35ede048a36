-- explain.sql
--		Run a statement, read all it returns, and all that it sets off: inside a
--		function, where EXPLAIN sees what triggers and foreign keys cost, too.
CREATE FUNCTION staging.run(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN EXECUTE statement LOOP
		PERFORM length(r::text);
	END LOOP;
END $$;
