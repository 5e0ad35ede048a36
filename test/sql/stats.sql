--
-- stat_requests: what requests have cost, and their errors
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
SELECT g.content, g.reply_count FROM blogstore.list_post_comments(kit.p(900)) l, LATERAL blogstore.get_comment(l.post_id, l.id) g;
-- a list of ids is one call
SELECT count(*) FROM blogstore.get_posts(ARRAY[kit.p(900), kit.p(900)]);
SELECT count(*) FROM blogstore.get_users(ARRAY[kit.u(901), kit.u(902), kit.u(903)]);
SELECT count(*) FROM blogstore.get_likes(kit.u(901), ARRAY[kit.p(900)]);
SELECT (blogstore.get_likes(kit.u(902), ARRAY[kit.p(900)])).post_id = kit.p(900) AS liked;
SELECT blogstore.delete_like(kit.p(900), kit.u(901));
SELECT blogstore.delete_like(kit.p(900), kit.u(901));
SELECT request, function, calls, rows, caller_errors, server_errors FROM blogstore.stat_requests WHERE calls > 0;

-- Commands write WAL and queries none; all look at pages and take time
SELECT function, wal_bytes > 100 * calls AS writes, buffers_hit + buffers_read >= 2 * calls AS looks,
	total_time > 0 AND max_time > 0 AND max_time <= total_time AS times
FROM blogstore.stat_requests WHERE calls > 0;

-- A request unit is about what reading one item of 1 kB costs
SELECT units_per_call BETWEEN 0.5 AND 2 AS read FROM blogstore.stat_requests WHERE function = 'get_post';
SELECT abs(request_units - ((buffers_hit + buffers_read) / 4.0 + wal_bytes * 5 / 1024.0)) < 0.001 AS formula,
	abs(units_per_call * calls - request_units) < 0.001 AS per_call
FROM blogstore.stat_requests WHERE function = 'create_like';

-- An error counts by the class of its SQLSTATE, as the caller's or the
-- server's, from a function and from a scan
SELECT kit.try('blogstore.get_post(NULL)');
SELECT blogstore.get_post(NULL);
SELECT kit.try('blogstore.create_comment(kit.p(900), kit.u(999), ''x'')');
SELECT kit.try('blogstore.list_user_likes(kit.u(901), by_date => true)');
SELECT blogstore.list_user_likes(kit.u(901), by_date => true);
CREATE FUNCTION kit.fail() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NEW.content ~ 'warning' THEN
		RAISE WARNING 'a warning' USING ERRCODE = '22023';
	END IF;
	IF NEW.content ~ 'caught' THEN
		BEGIN
			RAISE 'an error' USING ERRCODE = '23514';
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
	END IF;
	IF NEW.content ~ 'retry' THEN
		RAISE 'another error' USING ERRCODE = '40001';
	END IF;
	IF NEW.content ~ 'slow' THEN
		PERFORM pg_sleep(0.03);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION kit.fail();
SELECT kit.try('blogstore.create_comment(kit.p(900), kit.u(902), ''retry'')');
SELECT function, calls, caller_errors, server_errors FROM blogstore.stat_requests WHERE caller_errors + server_errors > 0;
-- only the error counts with which the request has failed
SELECT content FROM blogstore.create_comment(kit.p(900), kit.u(902), 'caught');
SELECT content FROM blogstore.create_comment(kit.p(900), kit.u(902), 'warning');
SELECT function, calls, caller_errors, server_errors FROM blogstore.stat_requests WHERE function = 'create_comment';
SELECT kit.try('blogstore.create_comment(kit.p(900), kit.u(902), ''warning, caught, retry'')');
SELECT function, calls, caller_errors, server_errors FROM blogstore.stat_requests WHERE function = 'create_comment';
-- an error between two rows of a scan is not the request's
SELECT 1 / (p.like_count - 2) FROM blogstore.get_post(kit.p(900)) p;
SELECT function, calls, caller_errors, server_errors FROM blogstore.stat_requests WHERE function = 'get_post';

-- A percentile is at most sqrt(2) times the true one, and at most max_time
SELECT function FROM blogstore.stat_requests
WHERE calls > 0 AND NOT (0 < p50_time AND p50_time <= p95_time AND p95_time <= p99_time AND p99_time <= max_time
	AND p50_time / sqrt(2) * calls / 2 <= total_time) OR calls = 1 AND p50_time <> max_time
	OR (calls = 0) <> (p50_time IS NULL) OR (calls = 0) <> (p95_time IS NULL) OR (calls = 0) <> (p99_time IS NULL);
SELECT blogstore.reset_request_stats('create_comment');
SELECT count(blogstore.create_comment(kit.p(900), kit.u(902), CASE WHEN n <= 94 THEN 'text' ELSE 'slow' END)) FROM generate_series(1, 100) n;
SELECT calls, total_time >= 180, p95_time >= 30, p99_time >= 30, p95_time <= max_time, p50_time < total_time / 50 * sqrt(2)
FROM blogstore.stat_requests WHERE function = 'create_comment';
DROP TRIGGER fail ON blogstore.posts;
DROP FUNCTION kit.fail;

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

-- Follows, topics and scheduled posts: calls, rows, and an error of each
SELECT count(blogstore.follow_user(kit.u(a), kit.u(b))) FROM (VALUES (901, 902), (901, 903), (902, 901)) AS v (a, b);
SELECT blogstore.unfollow_user(kit.u(901), kit.u(903)), blogstore.unfollow_user(kit.u(901), kit.u(903));
SELECT count(*) FROM blogstore.list_following(kit.u(901));
SELECT count(*) FROM blogstore.list_followers(kit.u(902));
SELECT count(*) FROM blogstore.get_follows(kit.u(901), ARRAY[kit.u(902), kit.u(902), kit.u(903)]);
SELECT title FROM blogstore.edit_post(kit.p(900), properties => '{"tags": ["a", "b", "c"]}');
SELECT count(*) FROM blogstore.list_home_feed(kit.u(902));
SELECT title FROM blogstore.create_post(kit.u(901), 'later', 'content', kit.p(901));
SELECT hidden FROM blogstore.schedule_post(kit.p(901), '2200-01-01');
-- topics are not set, and then are
SELECT kit.try('blogstore.list_topics()'), kit.try('blogstore.list_topic_posts(''a'')');
ALTER SYSTEM SET blogstore.topic_property = 'tags';
CALL kit.reload();
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.list_topics();
SELECT count(*) FROM blogstore.list_topic_posts('A');
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('follow_user(kit.u(901), kit.u(901))'),
	('unfollow_user(NULL, kit.u(901))'),
	('list_following(NULL)'),
	('list_followers(NULL)'),
	('get_follows(NULL, ARRAY[kit.u(901)])'),
	('list_home_feed(kit.u(902), 0)'),
	('list_topics(NULL)'),
	('list_topic_posts(NULL)'),
	('schedule_post(kit.p(999), ''2200-01-01'')')) AS v (call);
SELECT function, calls, rows, caller_errors, server_errors FROM blogstore.stat_requests
WHERE function ~ 'follow|home_feed|topic|schedule';
ALTER SYSTEM RESET blogstore.topic_property;
CALL kit.reload();
SELECT blogstore.delete_post(kit.p(901));
SELECT blogstore.wait_for_views();

-- and begun anew, for one request or all
SELECT max(stats_reset) AS before FROM blogstore.stat_requests \gset
CREATE TABLE kit.before AS SELECT * FROM blogstore.stat_requests;
SELECT blogstore.reset_request_stats('get_post');
SELECT function, calls, rows, caller_errors, server_errors, total_time, p50_time, max_time, buffers_hit, wal_bytes, stats_reset > :'before' AS later
FROM blogstore.stat_requests s WHERE s::text NOT IN (SELECT b::text FROM kit.before b);
DROP TABLE kit.before;
SELECT kit.try('blogstore.reset_request_stats(''get_posters'')');
SELECT blogstore.reset_request_stats();
SELECT sum(calls), sum(rows), sum(caller_errors + server_errors), sum(max_time), bool_and(stats_reset > :'before') FROM blogstore.stat_requests;
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
SELECT blogstore.reset_request_stats('get_post');
SET blogstore.track_requests = off;
SET ROLE stats_other;
SELECT blogstore.reset_request_stats('get_post');
SELECT calls FROM blogstore.stat_requests;
SELECT * FROM blogstore.get_request_stats();
-- a role that was granted it may reset
RESET ROLE;
GRANT EXECUTE ON FUNCTION blogstore.reset_request_stats TO stats_monitor;
SET ROLE stats_monitor;
SELECT blogstore.reset_request_stats('get_post');
SELECT function, calls FROM blogstore.stat_requests WHERE calls > 0;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION blogstore.reset_request_stats FROM stats_monitor;
REVOKE USAGE ON SCHEMA kit FROM stats_monitor, stats_other;
DROP ROLE stats_monitor, stats_other;
