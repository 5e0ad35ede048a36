-- ids.sql
--		Helpers that need no containers, in the schema "kit", for TAP tests and
--		pgTAP.
--
-- The functions stand twice: test/sql/install.sql has them too, because the
-- expected output of pg_regress shows every statement of its files.
CREATE SCHEMA kit;

-- Ids of user, post and comment number n, and minute n of 2024. The bodies are
-- parsed when they are created, because triggers on the containers use the
-- functions.
CREATE FUNCTION kit.u(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid;
CREATE FUNCTION kit.p(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN ('00000000-0000-7000-8001-' || lpad(n::text, 12, '0'))::uuid;
CREATE FUNCTION kit.c(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN ('00000000-0000-7000-8002-' || lpad(n::text, 12, '0'))::uuid;
CREATE FUNCTION kit.d(n int) RETURNS timestamptz LANGUAGE sql IMMUTABLE
RETURN timestamptz '2024-01-01 00:00:00+00' + n * interval '1 minute';

-- The outcome of a call: ok, or its SQLSTATE and whether there was a hint
CREATE FUNCTION kit.try(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state	text;
	message	text;
	hint	text;
BEGIN
	EXECUTE 'SELECT * FROM ' || call;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	-- Report a message against the server's style: lower case, no full stop.
	IF message ~ '^[A-Z][a-z]|[.]$' THEN
		state := state || ' (bad style: ' || message || ')';
	END IF;
	RETURN state || CASE WHEN hint <> '' THEN ', hint' ELSE ', no hint' END;
END $$;
