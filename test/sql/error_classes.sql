--
-- stat_requests counts an error by the class of its SQLSTATE: as one of the
-- server, or of the caller
--
SET client_min_messages = warning;
SELECT id = kit.u(970) AS made FROM blogstore.create_user('classes', kit.u(970));
CREATE FUNCTION kit.raise() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE 'an error' USING ERRCODE = current_setting('kit.sqlstate'), HINT = 'None.';
END $$;
CREATE TRIGGER raise BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.raise();

-- Raise an error in a request, and return whether it was counted as the
-- caller's or the server's.
CREATE FUNCTION kit.made_by(state text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	outcome	text;
	counted	text;
BEGIN
	PERFORM set_config('kit.sqlstate', state, false), blogstore.reset_request_stats('create_post');
	outcome := kit.try('blogstore.create_post(kit.u(970), ''title'', ''content'')');
	SELECT CASE caller_errors || ' ' || server_errors WHEN '1 0' THEN 'caller' WHEN '0 1' THEN 'server' ELSE caller_errors || ' ' || server_errors END
	INTO counted FROM blogstore.stat_requests WHERE function = 'create_post' AND calls = 0;
	RETURN CASE outcome WHEN state || ', hint' THEN '' ELSE outcome || ' ' END || counted;
END $$;

SELECT e.state, e.name, kit.made_by(e.state) AS made_by FROM (VALUES
	('02000', 'no_data'),
	('08006', 'connection_failure'),
	('09000', 'triggered_action_exception'),
	('0A000', 'feature_not_supported'),
	('21000', 'cardinality_violation'),
	('22023', 'invalid_parameter_value'),
	('23514', 'check_violation'),
	('25006', 'read_only_sql_transaction'),
	('28000', 'invalid_authorization_specification'),
	('2BP01', 'dependent_objects_still_exist'),
	('38001', 'containing_sql_not_permitted'),
	('40001', 'serialization_failure'),
	('40P01', 'deadlock_detected'),
	('42501', 'insufficient_privilege'),
	('44000', 'with_check_option_violation'),
	('53100', 'disk_full'),
	('54000', 'program_limit_exceeded'),
	('55P03', 'lock_not_available'),
	('57P01', 'admin_shutdown'),
	('58030', 'io_error'),
	('F0000', 'config_file_error'),
	('HV000', 'fdw_error'),
	('P0001', 'raise_exception'),
	('XX001', 'data_corrupted'),
	('AB123', 'a class of the application')) AS e (state, name);

DROP TRIGGER raise ON blogstore.posts;
DROP FUNCTION kit.raise, kit.made_by;
RESET kit.sqlstate;
SELECT * FROM blogstore.verify();
