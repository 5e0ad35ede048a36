-- demo_measure.sql
--		Time a request in blogstore and in plain SQL, side by side.

\set ON_ERROR_STOP on

CREATE TABLE demo.result (
	request			text PRIMARY KEY,
	title			text NOT NULL,
	v1				text NOT NULL,
	runs			integer NOT NULL,
	store_ms		double precision NOT NULL,
	store_buffers	bigint NOT NULL,
	v1_ms			double precision NOT NULL,
	v1_buffers		bigint NOT NULL,
	differing		bigint			-- samples with other rows; NULL for commands
);

-- Users and posts to ask for: pairs that have no like yet, so that a like can
-- be added to each.
CREATE TABLE demo.samples AS
SELECT row_number() OVER (ORDER BY dataset.pick(p.n, 31, 1000000000), p.n) AS n, l.user_id, p.post_id
FROM demo.settings AS s, demo.posts AS p, dataset.likes(p.n, p.creation_date, p.likes, p.likes, s.users, s.seed) AS l
WHERE p.likes > 0 AND p.comments > 0
ORDER BY 1
LIMIT 200;
ALTER TABLE demo.samples ADD PRIMARY KEY (n);
ANALYZE demo.samples;

-- Run a statement and all that it sets off, foreign key checks too, where
-- EXPLAIN can see the buffers of it: inside a function call.
CREATE FUNCTION demo.run(statement text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
END $$;

CREATE FUNCTION demo.explain_ms(statement text) RETURNS double precision
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, FORMAT JSON) ' || statement INTO plan;
	RETURN (plan -> 0 ->> 'Execution Time')::double precision;
END $$;

CREATE FUNCTION demo.explain_buffers(statement text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) SELECT demo.run(%L)', statement) INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint
		+ (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;

CREATE FUNCTION demo.rows_of(query text, user_id uuid, post_id uuid, n integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	all_rows text;
BEGIN
	EXECUTE format('SELECT string_agg(t::text, E''\n'') FROM (%s) AS t', query)
	INTO all_rows USING user_id, post_id, n;
	RETURN coalesce(all_rows, '');
END $$;

-- Run store and v1, statements with the parameters $1 (a user), $2 (a post)
-- and $3 (a number that was not there before), in turn, once for each sample;
-- keep the median of time and buffers. What they write is rolled back, on both
-- sides. Queries must also give the same rows.
CREATE PROCEDURE demo.measure(request text, title text, is_query boolean, store text, v1 text, runs integer)
LANGUAGE plpgsql AS $$
DECLARE
	warm_up CONSTANT integer := 8;		-- enough for the plan cache to settle
	sample record;
	args text;
	store_ms double precision[];
	v1_ms double precision[];
	store_buffers bigint[];
	v1_buffers bigint[];
	ms double precision;
	buffers bigint;
	differing bigint;
BEGIN
	EXECUTE 'PREPARE store(uuid, uuid, integer) AS ' || store;
	EXECUTE 'PREPARE v1(uuid, uuid, integer) AS ' || v1;

	IF is_query THEN
		SELECT count(*) INTO differing
		FROM demo.samples AS s
		WHERE s.n <= runs
			AND demo.rows_of(store, s.user_id, s.post_id, s.n::integer)
				<> demo.rows_of(v1, s.user_id, s.post_id, s.n::integer);
	END IF;

	FOR i IN 1 - warm_up .. 2 * runs LOOP
		SELECT * INTO sample FROM demo.samples AS s WHERE s.n = 1 + (i + warm_up) % runs;
		args := format('(%L, %L, %s)', sample.user_id, sample.post_id, i + warm_up);

		-- first all times, then all buffers, each with the two in turn
		IF i <= runs THEN
			ms := demo.explain_ms('EXECUTE store' || args);
			ROLLBACK;
			IF i > 0 THEN store_ms := store_ms || ms; END IF;
			ms := demo.explain_ms('EXECUTE v1' || args);
			ROLLBACK;
			IF i > 0 THEN v1_ms := v1_ms || ms; END IF;
		ELSE
			buffers := demo.explain_buffers('EXECUTE store' || args);
			ROLLBACK;
			store_buffers := store_buffers || buffers;
			buffers := demo.explain_buffers('EXECUTE v1' || args);
			ROLLBACK;
			v1_buffers := v1_buffers || buffers;
		END IF;
	END LOOP;

	DEALLOCATE store;
	DEALLOCATE v1;

	INSERT INTO demo.result
	SELECT request, title, v1, runs,
		(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(store_ms) AS x),
		(SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(store_buffers) AS x),
		(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(v1_ms) AS x),
		(SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(v1_buffers) AS x),
		differing;
	COMMIT;
END $$;
