--
-- stat_requests: what requests have cost, counted where they run
--
SET client_min_messages = warning;
SELECT blogstore.reset_request_stats();
SELECT count(*) = cardinality(blogstore.request_names()) AS "all requests", sum(calls), sum(request_units), bool_and(units_per_call IS NULL) FROM blogstore.stat_requests;
-- the article's come first
SELECT request, function FROM blogstore.stat_requests LIMIT 13;
SELECT count(request) AS "of the article" FROM blogstore.stat_requests;

-- Each call that succeeds counts, and no other
SELECT count(blogstore.create_user('stats ' || n, kit.u(900 + n))) FROM generate_series(1, 3) n;
SELECT title FROM blogstore.create_post(kit.u(901), 'title', repeat('x', 900), kit.p(900));
SELECT count(blogstore.create_like(kit.p(900), kit.u(900 + n))) FROM generate_series(1, 3) n;
SELECT content FROM blogstore.create_comment(kit.p(900), kit.u(902), 'a comment');
SELECT kit.try('blogstore.create_like(kit.p(999), kit.u(901))');
SELECT count(*) FROM generate_series(1, 5) n, LATERAL blogstore.get_post(kit.p(900 + 0 * n));
SELECT like_count FROM blogstore.get_post(kit.p(900));
SELECT count(*) FROM blogstore.list_post_likes(kit.p(900));
-- a list of ids is one call
SELECT count(*) FROM blogstore.get_posts(ARRAY[kit.p(900), kit.p(900)]);
SELECT count(*) FROM blogstore.get_users(ARRAY[kit.u(901), kit.u(902), kit.u(903)]);
SELECT count(*) FROM blogstore.get_likes(kit.u(901), ARRAY[kit.p(900)]);
SELECT (blogstore.get_likes(kit.u(902), ARRAY[kit.p(900)])).post_id = kit.p(900) AS liked;
SELECT blogstore.delete_like(kit.p(900), kit.u(901));
SELECT blogstore.delete_like(kit.p(900), kit.u(901));
SELECT request, function, calls FROM blogstore.stat_requests WHERE calls > 0;

-- Commands write WAL and queries none; all look at pages and take time
SELECT function, wal_bytes > 100 * calls AS writes, buffers_hit + buffers_read >= 2 * calls AS looks,
	total_time > 0 AND max_time > 0 AND max_time <= total_time AS times
FROM blogstore.stat_requests WHERE calls > 0;

-- A request unit is about what reading one item of 1 kB costs
SELECT units_per_call BETWEEN 0.5 AND 2 AS read FROM blogstore.stat_requests WHERE function = 'get_post';
SELECT abs(request_units - ((buffers_hit + buffers_read) / 4.0 + wal_bytes * 5 / 1024.0)) < 0.001 AS formula,
	abs(units_per_call * calls - request_units) < 0.001 AS per_call
FROM blogstore.stat_requests WHERE function = 'create_like';

-- What other sessions have counted stays when they end
\c
SELECT function, calls FROM blogstore.stat_requests WHERE function IN ('create_user', 'get_post');
SELECT like_count FROM blogstore.get_post(kit.p(900));
SELECT function, calls FROM blogstore.stat_requests WHERE function IN ('create_user', 'get_post');

-- It can be switched off, by a superuser
SET blogstore.track_requests = off;
SELECT like_count FROM blogstore.get_post(kit.p(900));
SELECT calls FROM blogstore.stat_requests WHERE function = 'get_post';
RESET blogstore.track_requests;

-- and begun anew
SELECT stats_reset AS before FROM blogstore.stat_requests LIMIT 1 \gset
SELECT blogstore.reset_request_stats();
SELECT sum(calls), bool_and(stats_reset > :'before') FROM blogstore.stat_requests;
SELECT like_count FROM blogstore.get_post(kit.p(900));
SELECT function, calls FROM blogstore.stat_requests WHERE calls > 0;

-- Monitors may look, others may not; neither may reset or switch it off
CREATE ROLE stats_monitor;
CREATE ROLE stats_other;
GRANT pg_monitor TO stats_monitor;
GRANT USAGE ON SCHEMA kit TO stats_monitor, stats_other;
SET ROLE stats_monitor;
SELECT function, calls FROM blogstore.stat_requests WHERE calls > 0;
SELECT blogstore.reset_request_stats();
SET blogstore.track_requests = off;
SET ROLE stats_other;
SELECT calls FROM blogstore.stat_requests;
SELECT * FROM blogstore.get_request_stats();
RESET ROLE;
REVOKE USAGE ON SCHEMA kit FROM stats_monitor, stats_other;
DROP ROLE stats_monitor, stats_other;
