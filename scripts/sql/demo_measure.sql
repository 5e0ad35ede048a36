-- demo_measure.sql
--		Compare rows, times and buffers of requests in blogstore and in plain
--		SQL.
--
-- psql's variable :skipped is the number of calls at the start of a session
-- that are not measured, and :calls the number of measured calls. Statements
-- have the parameters $1 (a user), $2 (a post) and $3 (a number), all of type
-- text, in place of the variables of the benchmark's scripts.

\set ON_ERROR_STOP on

CREATE TABLE demo.result (
	request			text PRIMARY KEY,
	title			text NOT NULL,
	v1				text NOT NULL,
	store_ms		double precision NOT NULL,
	store_buffers	bigint NOT NULL,
	v1_ms			double precision NOT NULL,
	v1_buffers		bigint NOT NULL,
	differing		bigint		-- samples whose rows differ; NULL for commands
);

-- Measurements by request and contestant (blogstore or v1).
CREATE TABLE demo.times (request text, contestant text, ms double precision);
CREATE TABLE demo.buffers (request text, contestant text, buffers bigint);
CREATE TABLE demo.answers (request text, differing bigint);

-- The arguments of single calls. Each call takes another post. "writer" is the
-- author of a post or a comment. "liker" has not liked the post. Values are
-- the numbers in ids, as in the benchmark's scripts.
CREATE TABLE demo.samples AS
SELECT row_number() OVER (ORDER BY dataset.pick(p.n, 31, 1000000000), p.n) AS n,
	(8000000000000000 + p.n)::text AS post,
	(8000000000000001 + dataset.pick(p.n, 32, s.users))::text AS writer,
	(8000000000000001 + (p.n * 7919 + s.users - 1) % s.users)::text AS liker
FROM demo.settings AS s, demo.posts AS p
ORDER BY 1
LIMIT :skipped + :calls;
ALTER TABLE demo.samples ADD PRIMARY KEY (n), ADD measured boolean;
UPDATE demo.samples SET measured = n > :skipped;
ANALYZE demo.samples;

CREATE FUNCTION demo.rows_of(query text, author text, post text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	all_rows text;
BEGIN
	EXECUTE format('SELECT string_agg(t::text, E''\n'') FROM (%s) AS t', query)
	INTO all_rows USING author, post;
	RETURN coalesce(all_rows, '');
END $$;

-- Count the samples for which the two queries return different rows.
CREATE PROCEDURE demo.compare(request text, store text, v1 text)
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO demo.answers
	SELECT request, count(*) FILTER (WHERE demo.rows_of(store, writer, post) <> demo.rows_of(v1, writer, post))
	FROM demo.samples
	WHERE measured;
END $$;

-- Count the buffers of single calls, each in a transaction of its own. With
-- the benchmark's staging.run(), EXPLAIN includes the buffers that foreign
-- keys and functions access.
CREATE PROCEDURE demo.count_buffers(request text, contestant text, statement text)
LANGUAGE plpgsql AS $$
DECLARE
	sample demo.samples;
	call text;
	plan json;
BEGIN
	EXECUTE 'PREPARE request(text, text, text) AS ' || statement;
	FOR sample IN SELECT * FROM demo.samples ORDER BY n LOOP
		call := format('EXECUTE request(%L, %L, %L)', CASE request WHEN 'C4' THEN sample.liker ELSE sample.writer END,
			sample.post, 1000000000 + sample.n);
		EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT staging.run(%L)', call) INTO plan;
		IF sample.measured THEN
			INSERT INTO demo.buffers
			SELECT request, contestant, (top ->> 'Shared Hit Blocks')::bigint + (top ->> 'Shared Read Blocks')::bigint
			FROM (SELECT plan -> 0 -> 'Plan') AS p (top);
		END IF;
		COMMIT;
	END LOOP;
	DEALLOCATE request;
END $$;

-- Return a request's row of demo.result, with medians.
CREATE FUNCTION demo.measured(request text, title text, v1 text) RETURNS demo.result
LANGUAGE sql AS $$
	SELECT measured.request, measured.title, measured.v1, store.ms, store_pages.buffers, plain.ms, plain_pages.buffers,
		(SELECT a.differing FROM demo.answers AS a WHERE a.request = measured.request)
	FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms) AS ms
			FROM demo.times AS t WHERE t.request = measured.request AND contestant = 'blogstore') AS store,
		(SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY b.buffers) AS buffers
			FROM demo.buffers AS b WHERE b.request = measured.request AND contestant = 'blogstore') AS store_pages,
		(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms) AS ms
			FROM demo.times AS t WHERE t.request = measured.request AND contestant = 'v1') AS plain,
		(SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY b.buffers) AS buffers
			FROM demo.buffers AS b WHERE b.request = measured.request AND contestant = 'v1') AS plain_pages
$$;
