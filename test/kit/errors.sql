-- errors.sql
--		What a statement raises, as programs see it: SQLSTATE, table, column
--		and constraint, or "ok". The table of a schema other than blogstore has
--		the schema before it, and "-" if the error names no schema.
CREATE FUNCTION kit.raised(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code	text;
	space	text;
	tab		text;
	col		text;
	rule	text;
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, space = SCHEMA_NAME, tab = TABLE_NAME, col = COLUMN_NAME, rule = CONSTRAINT_NAME;
	RETURN concat_ws('|', code, CASE space WHEN 'blogstore' THEN '' WHEN '' THEN '-' ELSE space || '.' END || tab, col, rule);
END $$;
