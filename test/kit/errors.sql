-- errors.sql
--		What a statement raises, as programs see it: SQLSTATE, table, column and constraint. A "-" is
--		before the table if no schema is named, and another schema than blogstore, if it is that.
--		"ok" if the statement raises nothing.
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
