--
-- AS_CALLER: wrappers for the roles of browser clients
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(3, 3);
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(2), 'by two', kit.c(1), kit.d(10));
SELECT blogstore.wait_for_views();

-- who owns the wrappers, who calls them, and who tells for whom
CREATE ROLE regress_blogstore_site;
CREATE ROLE regress_blogstore_web;
CREATE ROLE regress_blogstore_door;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA kit TO PUBLIC;
SELECT blogstore.grant_requests('regress_blogstore_site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO regress_blogstore_site;
CREATE SCHEMA web AUTHORIZATION regress_blogstore_site;
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('web', 'regress_blogstore_web', as_caller => true);
RESET ROLE;

--
-- What is made
--
SELECT count(*) = (SELECT count(*) FROM pg_proc WHERE pronamespace = 'web'::regnamespace) AS all, prosecdef, proconfig, proowner::regrole
FROM pg_proc WHERE pronamespace = 'web'::regnamespace GROUP BY 2, 3, 4;
-- Every request has a wrapper. A command passes the user of the session, or it
-- has a function that looks up the author. An author may not publish or hide a
-- comment, because a moderator may have hidden it.
SELECT function FROM blogstore.stat_requests EXCEPT SELECT proname FROM pg_proc WHERE pronamespace = 'web'::regnamespace;
-- Each function that looks up an author is called, with arguments of the types
-- that its request has
SELECT p.oid::regprocedure FROM blogstore.request_functions() f JOIN pg_proc p ON p.oid = f.function WHERE kind = 'own'
	AND NOT EXISTS (SELECT FROM pg_proc w WHERE w.pronamespace = 'web'::regnamespace AND w.prosrc LIKE '% FROM blogstore.' || p.proname || '(%');
-- no command names a user, an author or a date
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'web'::regnamespace AND provolatile = 'v' AND proargnames && '{user_id,author,creation_date}';
-- all else is as in the extension
SELECT p.oid::regprocedure, a.name FROM pg_proc w JOIN pg_proc p USING (proname), unnest(p.proargnames) WITH ORDINALITY a (name, n)
WHERE w.pronamespace = 'web'::regnamespace AND p.pronamespace = 'blogstore'::regnamespace
	AND NOT a.name = ANY (coalesce(w.proargnames, '{}')) AND NOT (p.provolatile = 'v' AND a.name IN ('user_id', 'creation_date', 'publish_date'));
SELECT pg_get_function_arguments('web.create_comment'::regproc) ~ '^post_id uuid, content text, comment_id uuid DEFAULT NULL::uuid' AS comment,
	pg_get_function_arguments('web.delete_like'::regproc) AS like, pg_get_function_arguments('web.delete_user'::regproc) AS user,
	pg_get_function_arguments('web.get_like'::regproc) AS query;

--
-- Nobody is signed in: everything may be read, nothing written
--
CREATE FUNCTION kit.nulls(schema regnamespace) RETURNS TABLE (wrapper text, outcome text) LANGUAGE plpgsql AS $$
BEGIN
	FOR wrapper, outcome IN SELECT p.proname, format('SELECT %s.%I(%s)', schema, p.proname,
			(SELECT string_agg(format('NULL::%s', format_type(t, NULL)), ', ') FROM unnest(p.proargtypes) t))
		FROM pg_proc p WHERE pronamespace = schema AND provolatile = 'v' ORDER BY proname COLLATE "C"
	LOOP
		outcome := kit.outcome(outcome);
		RETURN NEXT;
	END LOOP;
END $$;
SET ROLE regress_blogstore_web;
SELECT count(*) > 10 AS commands FROM kit.nulls('web');
SELECT wrapper AS allowed, outcome FROM kit.nulls('web') WHERE outcome <> '42501 nobody is signed in';
SELECT title, comment_count FROM web.list_feed();
SELECT title, (web.post_item_author(p)).username, (SELECT count(*) FROM web.post_item_comments(p)) FROM web.get_post(kit.p(1)) p;
RESET ROLE;
SET blogstore.current_user_id = '';
SET ROLE regress_blogstore_web;
SELECT wrapper AS allowed, outcome FROM kit.nulls('web') WHERE outcome <> '42501 nobody is signed in';
SELECT web.wait_for_posts('1 min');
-- the wrappers are the only way
SELECT call, kit.try('blogstore.' || call) FROM (VALUES
	('get_post(kit.p(1))'), ('create_like(kit.p(1), kit.u(1))'), ('delete_post(kit.p(1))'), ('own_edit_post(kit.u(1), kit.p(1), ''x'')'),
	('own_delete_post(kit.u(1), kit.p(1))'), ('own_edit_comment(kit.u(2), kit.p(1), kit.c(1), ''x'')'), ('own_delete_comment(kit.u(2), kit.p(1), kit.c(1))'),
	('current_user_id()'), ('create_api(''web'', ''regress_blogstore_web'')'), ('posts'), ('users')) AS v (call);
RESET ROLE;
SELECT call, kit.outcome('SELECT * FROM blogstore.' || call) FROM (VALUES
	('own_edit_post(NULL, kit.p(1), ''x'')'), ('own_delete_post(NULL, kit.p(1))'), ('own_edit_comment(NULL, kit.p(1), kit.c(1), ''x'')'),
	('own_delete_comment(NULL, kit.p(1), kit.c(1))'), ('own_edit_post(kit.u(1), NULL, ''x'')')) AS v (call);
SET ROLE regress_blogstore_web;
-- nobody makes oneself somebody
SELECT kit.outcome('SET blogstore.current_user_id = ''00000000-0000-7000-8000-000000000001''');
SELECT kit.outcome('SET LOCAL blogstore.current_user_id = ''00000000-0000-7000-8000-000000000001''');
SELECT kit.outcome('SELECT set_config(''blogstore.current_user_id'', ''00000000-0000-7000-8000-000000000001'', true)');
SELECT kit.outcome('ALTER ROLE regress_blogstore_web SET blogstore.current_user_id = ''00000000-0000-7000-8000-000000000001''') ~ '^42501' AS refused;
CREATE FUNCTION pg_temp.somebody() RETURNS uuid LANGUAGE sql SECURITY DEFINER
AS $$ SELECT set_config('blogstore.current_user_id', '00000000-0000-7000-8000-000000000001', true); SELECT (web.create_post('x', 'x')).id $$;
SELECT kit.outcome('SELECT pg_temp.somebody()');
SELECT kit.outcome('CREATE FUNCTION pg_temp.other() RETURNS int LANGUAGE sql SET blogstore.current_user_id = ''00000000-0000-7000-8000-000000000001'' AS ''SELECT 1''') ~ '^42501' AS refused;
SELECT kit.outcome('UPDATE pg_settings SET setting = ''00000000-0000-7000-8000-000000000001'' WHERE name = ''blogstore.current_user_id''');
DROP FUNCTION pg_temp.somebody;
RESET ROLE;

--
-- A role that may set the user, and a function of this role, as PostgREST
-- calls one before each request
--
GRANT SET ON PARAMETER blogstore.current_user_id TO regress_blogstore_door;
CREATE SCHEMA door;
GRANT USAGE ON SCHEMA door TO regress_blogstore_web;
CREATE FUNCTION door.pre_request() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT set_config('blogstore.current_user_id', nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub', true)
$$;
ALTER FUNCTION door.pre_request OWNER TO regress_blogstore_door;
REVOKE ALL ON FUNCTION door.pre_request FROM PUBLIC;
GRANT EXECUTE ON FUNCTION door.pre_request TO regress_blogstore_web;

\set one '{"role": "regress_blogstore_web", "sub": "00000000-0000-7000-8000-000000000001"}'
\set two '{"role": "regress_blogstore_web", "sub": "00000000-0000-7000-8000-000000000002"}'
\set ten '{"role": "regress_blogstore_web", "sub": "00000000-0000-7000-8000-00000000000a"}'
BEGIN;
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'one', true) = :'one' AS claims;
SELECT door.pre_request();
SELECT user_username, title FROM web.create_post('a title', 'a content', kit.p(20));
SELECT title, content FROM web.edit_post(kit.p(20), content => 'changed');
SELECT title, properties FROM web.edit_post(kit.p(20), properties => '{"slug": "a-title"}');
SELECT user_username, content FROM web.create_comment(kit.p(20), 'mine', kit.c(20));
SELECT content FROM web.edit_comment(kit.p(20), kit.c(20), 'mine!');
SELECT user_username FROM web.create_like(post_id => kit.p(20));
-- she follows for herself, and ends her own follows
SELECT user_username, followed_username FROM web.follow_user(kit.u(2));
SELECT user_username FROM web.list_followers(kit.u(2));
SELECT to_regprocedure('web.follow_user(uuid, uuid)') IS NULL AS not_for_others, to_regprocedure('web.unfollow_user(uuid, uuid)') IS NULL AS nor_ended;
SELECT web.unfollow_user(kit.u(2)), web.unfollow_user(kit.u(2));
-- repeated, a command returns what there is; another's id is taken
SELECT content FROM web.create_comment(kit.p(20), 'mine!', kit.c(20));
SELECT kit.outcome('SELECT web.create_comment(kit.p(1), ''by two'', kit.c(1))');
-- what is another's: not to be changed
SELECT kit.outcome('SELECT web.edit_post(kit.p(2), ''mine now'')'), kit.outcome('SELECT web.edit_comment(kit.p(1), kit.c(1), ''mine now'')');
SELECT web.delete_post(kit.p(2)), web.delete_comment(kit.p(1), kit.c(1)), web.delete_like(kit.p(1));
SELECT title FROM web.get_post(kit.p(2));
-- what is one's own goes
SELECT web.delete_like(kit.p(20)), web.delete_comment(kit.p(20), kit.c(20)), web.delete_post(kit.p(20)), web.delete_post(kit.p(20));
SELECT username FROM web.edit_user('Una');
SELECT kit.outcome('SELECT web.edit_user(''user 2'')');
SELECT web.delete_user(), web.delete_user();
ROLLBACK;
-- what there is no such user for
BEGIN;
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'ten', true) = :'ten' AS claims;
SELECT door.pre_request();
SELECT kit.outcome('SELECT web.create_post(''x'', ''x'')'), web.delete_user();
SELECT username, user_id FROM web.create_user('Tenth');
SELECT user_username FROM web.create_post('x', 'x');
ROLLBACK;
-- NULLs: as in the requests
BEGIN;
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'one', true) = :'one' AS claims;
SELECT door.pre_request();
SELECT kit.outcome('SELECT web.edit_post(NULL)'), kit.outcome('SELECT web.delete_post(NULL)'), kit.outcome('SELECT web.edit_comment(NULL, NULL, NULL)'),
	kit.outcome('SELECT web.delete_comment(NULL, NULL)'), kit.outcome('SELECT web.create_like(NULL)'), kit.outcome('SELECT web.edit_post(kit.p(99))');
ROLLBACK;
-- Without claims, and with claims that name no user, there is no user, even if
-- there was one before
BEGIN;
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'one', true) = :'one' AS claims;
SELECT door.pre_request();
SELECT set_config('request.jwt.claims', '{"role": "regress_blogstore_web"}', true);
SELECT door.pre_request();
SELECT kit.outcome('SELECT web.create_like(kit.p(1))');
SELECT set_config('request.jwt.claims', '{"sub": "robert''); DROP TABLE"}', true);
SELECT kit.outcome('SELECT door.pre_request()');
SELECT set_config('request.jwt.claims', '', true);
SELECT door.pre_request();
SELECT kit.outcome('SELECT web.create_like(kit.p(1))');
COMMIT;
-- it is the transaction's, and a savepoint's
BEGIN;
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'one', true) = :'one' AS claims;
SELECT door.pre_request();
SAVEPOINT s;
SELECT set_config('request.jwt.claims', :'two', true) = :'two' AS claims;
SELECT door.pre_request();
SELECT user_username FROM web.create_like(kit.p(1));
ROLLBACK TO s;
SELECT user_username FROM web.create_like(kit.p(1));
COMMIT;
SET ROLE regress_blogstore_web;
SELECT kit.outcome('SELECT web.create_like(kit.p(1))');
RESET ROLE;
SELECT user_username FROM blogstore.list_post_likes(kit.p(1));
-- for sessions of a role that may set it
SET ROLE regress_blogstore_door;
SELECT kit.outcome('SELECT set_config(''blogstore.current_user_id'', ''me'', true)');
SELECT kit.outcome(format('SELECT set_config(''blogstore.current_user_id'', %L, true)', id)) FROM unnest(ARRAY['{00000000-0000-7000-8000-000000000001}',
	'00000000-0000-7000-8000-000000000001 ', '00000000-0000-7000-8000-00000000000', '0000000000007000800000000000000001', '-', '00000000-0000-7000-8000-00000000000G']) id;
RESET ROLE;

--
-- What is hidden is its author's alone
--
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'a draft', 'c', kit.p(40), kit.d(40));
SELECT count(*) FROM blogstore.create_like(kit.p(40), kit.u(2), kit.d(41)), blogstore.create_comment(kit.p(40), kit.u(2), 'on a draft', kit.c(40), kit.d(41));
SELECT count(*) FROM blogstore.create_comment(kit.p(40), kit.u(2), 'reply on a draft', kit.c(41), kit.d(42), parent_id => kit.c(40));
SELECT hidden FROM blogstore.hide_post(kit.p(40));
SELECT count(*) FROM blogstore.create_comment(kit.p(2), kit.u(3), 'parent', kit.c(80), kit.d(80));
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1 + n % 2), 'reply ' || n, kit.c(80 + n), kit.d(80 + n), hidden => n % 3 > 0, parent_id => kit.c(80))) FROM generate_series(1, 12) n;
SELECT count(blogstore.create_comment(kit.p(1), kit.u(1 + n % 2), 'held ' || n, kit.c(50 + n), kit.d(50 + n), hidden => n % 3 > 0)) FROM generate_series(1, 12) n;
-- a hidden comment that has likes, and a shown one
SELECT count(*) FROM blogstore.create_comment(kit.p(3), kit.u(1), 'liked and hidden', kit.c(70), kit.d(70)) a, blogstore.create_comment(kit.p(3), kit.u(3), 'liked', kit.c(71), kit.d(71)) b;
SELECT count(blogstore.create_like(kit.p(3), kit.u(u), kit.d(72), kit.c(c))) FROM (VALUES (2, 70), (3, 70), (1, 71), (3, 71)) AS v (u, c);
SELECT hidden, like_count FROM blogstore.hide_comment(kit.p(3), kit.c(70));
SELECT blogstore.wait_for_views();
CREATE FUNCTION kit.seen() RETURNS TABLE (what text, seen text) LANGUAGE sql AS $$
	SELECT 'get_post', string_agg(title, ',') FROM web.get_post(kit.p(40))
	UNION ALL SELECT 'get_posts', string_agg(title, ',') FROM web.get_posts(ARRAY[kit.p(40), kit.p(1)])
	UNION ALL SELECT 'list_user_posts', string_agg(title, ',') FROM web.list_user_posts(kit.u(1), include_hidden => true)
	UNION ALL SELECT 'user_item_posts', (SELECT string_agg(p.title, ',') FROM web.user_item_posts(u, include_hidden => true) p) FROM web.get_user(kit.u(1)) u
	UNION ALL SELECT 'list_feed', string_agg(title, ',') FROM web.list_feed() WHERE post_id = kit.p(40)
	UNION ALL SELECT 'list_post_comments', string_agg(content, ',') FROM web.list_post_comments(kit.p(40))
	UNION ALL SELECT 'list_post_likes', string_agg(user_username, ',') FROM web.list_post_likes(kit.p(40))
	UNION ALL SELECT 'get_like', string_agg(user_username, ',') FROM web.get_like(kit.p(40), kit.u(2))
	UNION ALL SELECT 'get_likes', string_agg(user_username, ',') FROM web.get_likes(kit.u(2), ARRAY[kit.p(40)])
	UNION ALL SELECT 'post_item_comments', string_agg(content, ',') FROM web.post_item_comments(jsonb_populate_record(NULL::web.post_item, jsonb_build_object('post_id', kit.p(40))))
	UNION ALL SELECT 'like_item_post', (web.like_item_post(jsonb_populate_record(NULL::web.like_item, jsonb_build_object('post_id', kit.p(40))))).title
	UNION ALL SELECT 'list_comment_replies', string_agg(content, ',') FROM web.list_comment_replies(kit.p(40), kit.c(40))
	UNION ALL SELECT 'held replies', string_agg(content, ',') FROM web.list_comment_replies(kit.p(2), kit.c(80), 4, include_hidden => true)
	UNION ALL SELECT 'shown replies', string_agg(content, ',') FROM web.list_comment_replies(kit.p(2), kit.c(80), 4, oldest_first => true)
	UNION ALL SELECT 'comment_item_replies', (SELECT string_agg(r.content, ',') FROM web.comment_item_replies(c, 3, include_hidden => true) r) FROM web.list_post_comments(kit.p(2), 1, oldest_first => true) c
	UNION ALL SELECT 'list_user_comments', string_agg(content, ',') FROM web.list_user_comments(kit.u(2), 6, include_hidden => true)
	UNION ALL SELECT 'user_item_comments', (SELECT string_agg(c.content, ',') FROM web.user_item_comments(u, 3) c) FROM web.get_user(kit.u(2)) u
	UNION ALL SELECT 'list_user_likes', string_agg(right(post_id::text, 2), ',') FROM web.list_user_likes(kit.u(2), 9)
	UNION ALL SELECT 'get_comment', (SELECT string_agg(c.content, ',') FROM unnest(ARRAY[70, 71]) n, web.get_comment(kit.p(3), kit.c(n)) c)
	UNION ALL SELECT 'get_like of a comment', (SELECT string_agg(right(l.comment_id::text, 2), ',') FROM unnest(ARRAY[70, 71]) n, web.get_like(kit.p(3), kit.u(3), kit.c(n)) l)
	UNION ALL SELECT 'get_comment_likes', (SELECT string_agg(right(l.comment_id::text, 2), ',') FROM web.get_comment_likes(kit.u(3), kit.p(3)) l)
	UNION ALL SELECT 'list_comment_likes', (SELECT string_agg(l.user_username, ',') FROM unnest(ARRAY[70, 71]) n, web.list_comment_likes(kit.p(3), kit.c(n), 5) l)
	UNION ALL SELECT 'list_user_likes of comments', string_agg(right(comment_id::text, 2), ',') FROM web.list_user_likes(kit.u(3), 5)
	UNION ALL SELECT 'comment_item_likes', (SELECT string_agg(l.user_username, ',') FROM unnest(ARRAY[70, 71]) n, web.comment_item_likes(jsonb_populate_record(NULL::web.comment_item, jsonb_build_object('post_id', kit.p(3), 'id', kit.c(n)))) l)
	UNION ALL SELECT 'comment_item_my_like', (SELECT string_agg((l).user_username, ',') FROM unnest(ARRAY[70, 71]) n, web.comment_item_my_like(jsonb_populate_record(NULL::web.comment_item, jsonb_build_object('post_id', kit.p(3), 'id', kit.c(n)))) l)
	UNION ALL SELECT 'post_item_my_like', (web.post_item_my_like(jsonb_populate_record(NULL::web.post_item, jsonb_build_object('post_id', kit.p(1))))).user_username
	UNION ALL SELECT 'like_item_comment', (SELECT string_agg((c).content, ',') FROM unnest(ARRAY[kit.c(70), kit.c(71), NULL]) n, web.like_item_comment(jsonb_populate_record(NULL::web.like_item, jsonb_build_object('post_id', kit.p(3), 'comment_id', n))) c)
	UNION ALL SELECT 'held comments', string_agg(content, ',') FROM web.list_post_comments(kit.p(1), 4, include_hidden => true)
	UNION ALL SELECT 'shown comments', string_agg(content, ',') FROM web.list_post_comments(kit.p(1), 4, oldest_first => true)
$$;
CREATE FUNCTION kit.sees(who text) RETURNS TABLE (what text, seen text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('blogstore.current_user_id', who, true);
	SET LOCAL ROLE regress_blogstore_web;
	RETURN QUERY SELECT * FROM kit.seen();
	RESET ROLE;
END $$;
SELECT * FROM kit.sees('') n (what, nobody) NATURAL JOIN kit.sees(kit.u(2)::text) o (what, "another") NATURAL JOIN kit.sees(kit.u(1)::text) a (what, author);
-- pages are full, whatever is left out
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000001';
SELECT kit.walk('web.list_post_comments(kit.p(1), $1, $2, $3, include_hidden => true)', 3) = ARRAY(SELECT id FROM blogstore.list_post_comments(kit.p(1), NULL, include_hidden => true)
	WHERE NOT hidden OR user_id = kit.u(1)) AS same;
SELECT kit.walk('web.list_comment_replies(kit.p(2), kit.c(80), $1, $2, $3, include_hidden => true)', 3) = ARRAY(SELECT id FROM blogstore.list_comment_replies(kit.p(2), kit.c(80), NULL, include_hidden => true)
	WHERE NOT hidden OR user_id = kit.u(1)) AS same;
SELECT kit.walk('web.list_user_comments(kit.u(2), $1, $2, $3, include_hidden => true)', 3) = ARRAY(SELECT id FROM blogstore.list_user_comments(kit.u(2), NULL, include_hidden => true)
	WHERE NOT hidden) AS same;
-- a reply to any user's comment; a hidden comment takes no reply
SELECT content, user_username, parent_deleted FROM web.create_comment(kit.p(2), 'reply 20', kit.c(100), parent_id => kit.c(80));
SELECT parent, kit.outcome(format('SELECT web.create_comment(%s, ''x'', parent_id => %s)', post, parent)) FROM (VALUES
	('kit.p(2)', 'kit.c(82)'), ('kit.p(2)', 'kit.c(81)'), ('kit.p(2)', 'kit.c(999)'), ('kit.p(1)', 'kit.c(80)')) AS v (post, parent);
-- not 40001, by which a retry would come to the same
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kit.outcome('SELECT web.create_comment(kit.p(2), ''x'', parent_id => kit.c(81))');
COMMIT;
SELECT web.delete_comment(kit.p(2), kit.c(100));
SELECT kit.outcome('SELECT web.list_post_comments(kit.p(1), 0)'), kit.outcome('SELECT web.list_comment_replies(kit.p(1), kit.c(1), 0)'), kit.outcome('SELECT web.list_post_likes(kit.p(1), -1)');
-- drafts: one's own
SELECT title, hidden FROM web.create_post('my draft', 'c', kit.p(41), hidden => true);
SELECT title, hidden, creation_date > now() - interval '1 hour' AS now FROM web.publish_post(kit.p(41));
SELECT hidden FROM web.hide_post(kit.p(41));
SELECT hidden FROM web.hide_post(kit.p(41), false);
SELECT hidden, publish_date = '2200-01-01' AS scheduled FROM web.schedule_post(kit.p(41), '2200-01-01');
SELECT hidden, publish_date FROM web.schedule_post(kit.p(41), NULL);
-- a date that has passed is not the post's date
SELECT hidden, creation_date > now() - interval '1 hour' AS now, publish_date FROM web.schedule_post(kit.p(41), '2020-01-01');
SELECT web.delete_post(kit.p(41));
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000002';
SELECT call, kit.outcome('SELECT web.' || call) FROM (VALUES ('edit_post(kit.p(40), ''x'')'), ('publish_post(kit.p(40))'), ('schedule_post(kit.p(40), NULL)'), ('schedule_post(kit.p(3), NULL)'), ('hide_post(kit.p(40))'), ('publish_post(kit.p(3))'), ('hide_post(kit.p(3))'),
	('edit_comment(kit.p(1), kit.c(52), ''x'')'), ('create_like(kit.p(40))'), ('create_comment(kit.p(40), ''x'')'), ('create_comment(kit.p(40), ''on a draft'', kit.c(40))'),
	('create_comment(kit.p(40), ''x'', parent_id => kit.c(40))'), ('create_comment(kit.p(40), ''x'', parent_id => kit.c(99))'), ('create_comment(kit.p(1), ''x'', parent_id => kit.c(52))'),
	('create_comment(kit.p(1), ''x'', parent_id => kit.c(99))'), ('create_like(kit.p(99))'), ('delete_post(kit.p(40))'), ('delete_comment(kit.p(1), kit.c(52))')) AS v (call);
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000003';
SELECT call, kit.outcome('SELECT web.' || call) FROM (VALUES ('edit_comment(kit.p(40), kit.c(40), ''x'')'), ('delete_comment(kit.p(40), kit.c(40))'), ('create_like(kit.p(40))')) AS v (call);
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000001';
SELECT call, kit.outcome('SELECT web.' || call) FROM (VALUES ('edit_comment(kit.p(40), kit.c(40), ''x'')'), ('create_comment(kit.p(40), ''x'')'), ('create_like(kit.p(40))')) AS v (call);
SELECT call, kit.outcome('SELECT blogstore.' || call) FROM (VALUES ('own_create_like(kit.u(1), kit.p(1), kit.u(2))'), ('own_create_comment(kit.u(1), kit.p(1), kit.u(2), ''x'')'),
	('own_create_like(kit.u(1), kit.p(40), kit.u(2))'), ('own_create_like(NULL, kit.p(1), kit.u(1))'), ('own_create_comment(NULL, kit.p(1), kit.u(1), ''x'')')) AS v (call);
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000002';
-- A user who writes on another user's hidden post does not learn that the post
-- exists, nor that somebody has liked it
SELECT count(*) FROM blogstore.create_post(kit.u(1), 'discussed', 'c', kit.p(42), kit.d(42)) p, LATERAL blogstore.create_comment(p.id, kit.u(3), 'by three', kit.c(42)) c,
	LATERAL blogstore.create_like(p.id, kit.u(2));
SELECT hidden FROM blogstore.hide_post(kit.p(42));
SELECT post, call, kit.outcome('SELECT web.' || replace(call, '$', format('%L', kit.p(post)))) FROM (VALUES (1, 'create_like($)'), (2, 'create_comment($, ''x'')'),
	(3, 'edit_comment($, kit.c(42), ''x'')'), (4, 'create_comment($, ''x'', parent_id => kit.c(42))'), (5, 'create_comment($, ''x'', parent_id => kit.c(999))')) AS v (n, call),
	(VALUES (42), (999)) AS p (post) ORDER BY n, post DESC;
-- nor who replies to another's hidden comment, of that
SELECT kit.outcome(format('SELECT web.create_comment(kit.p(1), ''x'', parent_id => kit.c(%s))', n)) FROM (VALUES (52), (999)) AS v (n);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kit.outcome('SELECT web.create_comment(kit.p(1), ''x'', parent_id => kit.c(52))');
ROLLBACK;
-- nor who likes it
SELECT n, kit.outcome(format('SELECT web.create_like(kit.p(3), kit.c(%s))', n)) FROM (VALUES (999), (1)) AS v (n);
SELECT user_username FROM web.create_like(kit.p(3), kit.c(71));
SELECT web.delete_like(kit.p(3), kit.c(71)), web.delete_like(kit.p(3), kit.c(71));
SELECT web.delete_like(kit.p(3), kit.c(70));
SELECT kit.outcome('SELECT web.create_like(kit.p(3), kit.c(70))');
SELECT kit.outcome('SELECT web.create_like(NULL)'), kit.outcome('SELECT web.create_comment(NULL, ''x'')'), kit.outcome('SELECT web.edit_comment(NULL, kit.c(42), ''x'')');
-- its author is told why
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000001';
SELECT kit.outcome('SELECT web.create_comment(kit.p(1), ''x'', parent_id => kit.c(52))'), kit.outcome('SELECT web.create_comment(kit.p(42), ''x'', parent_id => kit.c(42))');
SELECT kit.outcome('SELECT web.create_like(kit.p(3), kit.c(70))');
SELECT kit.outcome('SELECT web.create_like(kit.p(42))'), kit.outcome('SELECT web.create_comment(kit.p(42), ''x'')'), kit.outcome('SELECT web.edit_comment(kit.p(42), kit.c(42), ''x'')');
SELECT web.delete_post(kit.p(42));
RESET blogstore.current_user_id;
SELECT count(*) FROM blogstore.get_post(kit.p(40)), blogstore.list_post_comments(kit.p(1), NULL, include_hidden => true) c WHERE c.id = kit.c(52);
DROP FUNCTION kit.seen, kit.sees;

--
-- A function is not called if the owner of the schemas, or anybody else who
-- may create functions beside the requests, adds it with argument types that
-- fit a call better
--
CREATE FUNCTION blogstore.current_user_id() RETURNS uuid LANGUAGE sql AS $$ SELECT kit.u(2) $$;
SET blogstore.current_user_id = '00000000-0000-7000-8000-000000000001';
SELECT user_username FROM web.create_like(kit.p(2));
SELECT web.delete_like(kit.p(2));
RESET blogstore.current_user_id;
DROP FUNCTION blogstore.current_user_id();

--
-- A caller who brings names, settings and functions
--
CREATE SCHEMA trap;
GRANT ALL ON SCHEMA trap TO regress_blogstore_web;
BEGIN;
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'one', true) = :'one' AS claims;
SELECT door.pre_request();
CREATE FUNCTION trap.current_user_id(required boolean DEFAULT true) RETURNS uuid LANGUAGE sql AS $$ SELECT kit.u(2) $$;
CREATE FUNCTION trap.get_post(uuid) RETURNS SETOF web.post_item LANGUAGE sql AS $$ SELECT * FROM web.list_feed() $$;
CREATE FUNCTION trap.eq(uuid, uuid) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE OPERATOR trap.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = trap.eq);
CREATE DOMAIN trap.timestamptz AS text DEFAULT 'trap';
CREATE TYPE trap.uuid AS (a int);
CREATE TEMP TABLE posts (id uuid, type text);
CREATE TEMP VIEW post_item AS SELECT 1 AS id;
SET LOCAL search_path = trap, pg_temp, web, pg_catalog;
SET LOCAL row_security = off;
SET LOCAL transform_null_equals = on;
SET LOCAL default_transaction_read_only = off;
-- PostgreSQL 19 refuses this setting
SELECT current_setting('server_version_num')::int < 190000 AS has_setting \gset
\if :has_setting
SET LOCAL standard_conforming_strings = off;
\endif
SET LOCAL blogstore.enable_custom_scan = off;
SET LOCAL constraint_exclusion = off;
SELECT user_username FROM web.create_like('00000000-0000-7000-8001-000000000002');
SELECT (web.post_item_author(p)).username FROM web.get_post('00000000-0000-7000-8001-000000000002') p;
SELECT web.delete_post('00000000-0000-7000-8001-000000000002');
SELECT user_username, creation_date > pg_catalog.now() - interval '1 hour' AS now FROM web.create_post('t', 'c', '00000000-0000-7000-8001-000000000030');
SELECT count(*) FROM web.get_post('00000000-0000-7000-8001-000000000030');
SELECT (web.edit_post('00000000-0000-7000-8001-000000000030', 't2')).title;
SELECT kit.outcome('SET session_replication_role = replica');
SELECT web.edit_post('00000000-0000-7000-8001-000000000002', 'mine now');
ROLLBACK;
-- A trigger of the schemas' owner sees the user of its command, and so does
-- the next command
BEGIN;
CREATE FUNCTION kit.acting() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RAISE NOTICE 'user: "%"', current_setting('blogstore.current_user_id'); RETURN new; END $$;
CREATE TRIGGER acting BEFORE INSERT ON blogstore.posts FOR EACH ROW WHEN (new.type = 'post') EXECUTE FUNCTION kit.acting();
SET LOCAL ROLE regress_blogstore_web;
SELECT set_config('request.jwt.claims', :'one', true) = :'one' AS claims;
SELECT door.pre_request();
SELECT user_username FROM web.create_post('t', 'c');
SELECT user_username FROM web.create_post('t2', 'c');
ROLLBACK;
-- queries in parallel workers have the setting
BEGIN;
SET LOCAL blogstore.current_user_id = '00000000-0000-7000-8000-000000000001';
SELECT blogstore.current_user_id(), blogstore.current_user_id(false);
SELECT set_config(name, 'on', true) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT blogstore.current_user_id();
ROLLBACK;
SELECT blogstore.current_user_id(false) IS NULL AS nobody, kit.outcome('SELECT blogstore.current_user_id()'), kit.outcome('SELECT blogstore.current_user_id(NULL)');

--
-- Called again, it grants nothing that was revoked from the role: an author
-- does not publish what was hidden
--
REVOKE EXECUTE ON FUNCTION web.publish_post, web.hide_post, web.get_user FROM regress_blogstore_web;
GRANT EXECUTE ON FUNCTION web.get_post TO regress_blogstore_door;
SET ROLE regress_blogstore_site;
-- The wrappers of a new request are granted to the roles that may call
-- get_post(), other new wrappers to those that may call another wrapper of the
-- same request
DROP FUNCTION web.get_like, web.one_like, web.one_post, web.one_user, web.post_item_author;
SELECT blogstore.create_api('web', 'regress_blogstore_web', as_caller => true);
RESET ROLE;
SELECT proname FROM pg_proc WHERE pronamespace = 'web'::regnamespace AND NOT has_function_privilege('regress_blogstore_web', oid, 'EXECUTE') ORDER BY 1;
SELECT proname FROM pg_proc WHERE pronamespace = 'web'::regnamespace AND has_function_privilege('regress_blogstore_door', oid, 'EXECUTE') ORDER BY 1;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA web FROM regress_blogstore_door;
-- but to a role that has none of them it gives all
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA web FROM regress_blogstore_web;
SET ROLE regress_blogstore_site;
SELECT blogstore.create_api('web', 'regress_blogstore_web', as_caller => true);
RESET ROLE;
SELECT count(*) FROM pg_proc WHERE pronamespace = 'web'::regnamespace AND NOT has_function_privilege('regress_blogstore_web', oid, 'EXECUTE');

--
-- Who is refused
--
CREATE FUNCTION kit.refused(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result	text;
BEGIN
	EXECUTE change;
	SET LOCAL ROLE regress_blogstore_site;
	result := kit.outcome('SELECT blogstore.create_api(''web'', ''regress_blogstore_web'', true)');
	RAISE EXCEPTION USING ERRCODE = 'KIT00', MESSAGE = result;
EXCEPTION WHEN SQLSTATE 'KIT00' THEN
	RETURN SQLERRM;
END $$;
CREATE ROLE regress_blogstore_mid NOINHERIT;
-- Each drop runs in a transaction of its own: a server with assertions fails
-- when it decodes much DDL in subtransactions
\pset tuples_only on
SELECT format('SELECT kit.refused(%L)', change) FROM unnest(ARRAY[
	'SELECT 1',
	'GRANT EXECUTE ON FUNCTION blogstore.get_post TO regress_blogstore_web',
	'GRANT EXECUTE ON FUNCTION blogstore.get_post TO PUBLIC',
	'GRANT EXECUTE ON FUNCTION blogstore.own_delete_post TO regress_blogstore_web',
	'GRANT EXECUTE ON FUNCTION blogstore.export_documents TO regress_blogstore_web',
	'GRANT EXECUTE ON FUNCTION blogstore.wait_for_views, blogstore.new_id, blogstore.get_worker_status TO regress_blogstore_web',
	'GRANT EXECUTE ON FUNCTION blogstore.get_post TO regress_blogstore_mid; GRANT regress_blogstore_mid TO regress_blogstore_web',
	'ALTER ROLE regress_blogstore_web NOINHERIT; GRANT EXECUTE ON FUNCTION blogstore.get_post TO regress_blogstore_mid; GRANT regress_blogstore_mid TO regress_blogstore_web',
	'GRANT EXECUTE ON FUNCTION blogstore.get_post TO regress_blogstore_door; GRANT regress_blogstore_door TO regress_blogstore_mid; GRANT regress_blogstore_mid TO regress_blogstore_web; REVOKE SET ON PARAMETER blogstore.current_user_id FROM regress_blogstore_door',
	'ALTER ROLE regress_blogstore_web SUPERUSER',
	'ALTER ROLE regress_blogstore_web CREATEROLE',
	'ALTER ROLE regress_blogstore_mid CREATEROLE; GRANT regress_blogstore_mid TO regress_blogstore_web',
	'ALTER ROLE regress_blogstore_web REPLICATION',
	'GRANT pg_read_server_files TO regress_blogstore_mid; GRANT regress_blogstore_mid TO regress_blogstore_web',
	'GRANT CREATE ON SCHEMA blogstore TO regress_blogstore_web',
	'GRANT ALTER SYSTEM ON PARAMETER blogstore.current_user_id TO regress_blogstore_web',
	'GRANT SET ON PARAMETER blogstore.current_user_id TO regress_blogstore_web',
	'GRANT SET ON PARAMETER blogstore.current_user_id TO PUBLIC',
	'GRANT regress_blogstore_door TO regress_blogstore_web',
	'GRANT SELECT ON blogstore.posts TO regress_blogstore_web',
	'GRANT UPDATE (title) ON blogstore.posts TO PUBLIC',
	'GRANT pg_read_all_data TO regress_blogstore_web',
	'ALTER ROLE regress_blogstore_site SUPERUSER',
	'REVOKE EXECUTE ON FUNCTION blogstore.own_delete_post FROM regress_blogstore_site',
	'ALTER SCHEMA web OWNER TO regress_blogstore_mid']) change \gexec
\pset tuples_only off
SELECT regexp_replace(kit.refused('GRANT regress_blogstore_site TO regress_blogstore_web'), 'blogstore[.].*', '...');
SET ROLE regress_blogstore_site;
SELECT regexp_replace(kit.outcome('SELECT blogstore.create_api(''web'', ''regress_blogstore_site'', true)'), 'blogstore[.].*', '...');
SELECT kit.outcome('SELECT blogstore.create_api(''web'', ''regress_blogstore_site'', false)');
RESET ROLE;
SELECT kit.outcome('SELECT blogstore.create_api(''web2'', ''regress_blogstore_web'', true)');

-- All of the extension's functions but these get a role past the wrappers
CREATE TEMP TABLE granted (function regprocedure, bypass text);
DO $$
DECLARE
	function	regprocedure;
BEGIN
	FOR function IN SELECT d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
		WHERE e.extname = 'blogstore' AND d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_proc'::regclass
	LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO regress_blogstore_mid', function);
		INSERT INTO granted VALUES (function, blogstore.api_bypass('regress_blogstore_mid'));
		EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM regress_blogstore_mid', function);
		COMMIT;
	END LOOP;
END $$;
SELECT count(*) > 60 AS many FROM granted WHERE bypass = 'can execute ' || function;
SELECT function, bypass FROM granted WHERE bypass IS DISTINCT FROM 'can execute ' || function ORDER BY function::text COLLATE "C";
DROP TABLE granted;

SET client_min_messages = warning;
DROP SCHEMA web, door, trap CASCADE;
DROP FUNCTION kit.nulls, kit.refused;
REVOKE SET ON PARAMETER blogstore.current_user_id FROM regress_blogstore_door;
REVOKE ALL ON FUNCTION blogstore.create_api FROM regress_blogstore_site;
SELECT blogstore.revoke_requests('regress_blogstore_site');
DROP ROLE regress_blogstore_site, regress_blogstore_web, regress_blogstore_door, regress_blogstore_mid;
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
