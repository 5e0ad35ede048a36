-- probe.sql
--		Milliseconds from the commit of a new post until a query finds it in
--		the view feed, both within the server. Repeated for :seconds. The
--		query runs every 0.1 ms. Without a pause it would keep a processor
--		busy that the worker needs.
CREATE UNLOGGED TABLE IF NOT EXISTS staging.probes (ms double precision);
TRUNCATE staging.probes;
CREATE OR REPLACE PROCEDURE staging.probe(seconds integer) LANGUAGE plpgsql AS $$
DECLARE
	probe uuid;
	committed timestamptz;
	ending CONSTANT timestamptz := clock_timestamp() + seconds * interval '1 s';
BEGIN
	WHILE clock_timestamp() < ending LOOP
		SELECT p.post_id INTO probe
		FROM blogstore.create_post(user_id => dataset.user_id(1), title => 'Probe', content => 'Is it there?') AS p;
		COMMIT;
		committed := clock_timestamp();
		WHILE NOT EXISTS (SELECT FROM blogstore.feed AS f WHERE f.post_id = probe) LOOP
			IF clock_timestamp() > committed + interval '1 min' THEN
				RAISE EXCEPTION 'a post does not show in the feed';
			END IF;
			PERFORM pg_sleep(0.0001);
		END LOOP;
		INSERT INTO staging.probes VALUES (1000 * extract(epoch FROM clock_timestamp() - committed));
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
CALL staging.probe(:seconds);
SELECT ms FROM staging.probes ORDER BY ms;
