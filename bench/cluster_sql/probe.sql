-- probe.sql
--		Milliseconds from the commit of a new post until list_user_posts()
--		shows it on this server, which has the author's copies. Repeated for
--		:seconds. On a cluster the post is on another node, so its copy has to
--		be shipped. The query runs every 0.1 ms. Without a pause it would keep
--		a processor busy that the workers need.
CREATE UNLOGGED TABLE IF NOT EXISTS staging.probes (ms double precision);
TRUNCATE staging.probes;
CREATE OR REPLACE FUNCTION staging.elsewhere(elsewhere boolean) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
	id uuid;
BEGIN
	LOOP
		id := blogstore.new_id();
		EXIT WHEN NOT elsewhere;
		EXIT WHEN NOT staging.is_mine(id);
	END LOOP;
	RETURN id;
END $$;
CREATE OR REPLACE PROCEDURE staging.probe(seconds integer, elsewhere boolean) LANGUAGE plpgsql AS $$
DECLARE
	probe uuid;
	author uuid := (SELECT user_id FROM staging.mine_users LIMIT 1);
	committed timestamptz;
	ending CONSTANT timestamptz := clock_timestamp() + seconds * interval '1 s';
BEGIN
	WHILE clock_timestamp() < ending LOOP
		probe := staging.elsewhere(elsewhere);
		PERFORM FROM blogstore.create_post(user_id => author, title => 'Probe', content => 'Is it there?', post_id => probe);
		COMMIT;
		committed := clock_timestamp();
		WHILE NOT EXISTS (SELECT FROM blogstore.list_user_posts(author, 1) AS l WHERE l.post_id = probe) LOOP
			IF clock_timestamp() > committed + interval '5 min' THEN
				RAISE EXCEPTION 'a post does not show at its author''s';
			END IF;
			COMMIT;
			PERFORM pg_sleep(0.0001);
		END LOOP;
		INSERT INTO staging.probes VALUES (1000 * extract(epoch FROM clock_timestamp() - committed));
		COMMIT;
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
CALL staging.probe(:seconds, :elsewhere);
SELECT ms FROM staging.probes ORDER BY ms;
