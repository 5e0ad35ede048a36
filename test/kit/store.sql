-- store.sql
--		Helpers that need the containers, beside ids.sql, for TAP tests and
--		pgTAP.
--
-- What test/sql/install.sql has too stands twice, for the reason given in
-- ids.sql.

-- Posts, with the deltas of their counts added
CREATE VIEW kit.posts AS
SELECT p.id, p.type, p.post_id, p.user_id, p.user_username, p.title, p.content,
	p.comment_count + coalesce(d.comment_count, 0) AS comment_count,
	p.like_count + coalesce(d.like_count, 0) AS like_count, p.creation_date
FROM blogstore.posts p
LEFT JOIN (SELECT post_id, sum(comment_count)::bigint AS comment_count, sum(like_count)::bigint AS like_count
	FROM blogstore.posts WHERE type = 'delta' AND item_id = post_id GROUP BY post_id) d ON d.post_id = p.post_id
WHERE p.type = 'post';

-- Posts in short form as the users and posts containers imply them: with
-- counted comments and likes, and with the authors' present names
CREATE VIEW kit.implied AS
SELECT p.id, p.type, p.post_id, p.user_id, u.username AS user_username,
	p.title, left(p.content, 200) AS content,
	(SELECT count(*) FROM blogstore.posts c WHERE c.post_id = p.post_id AND c.type = 'comment') AS comment_count,
	(SELECT count(*) FROM blogstore.posts l WHERE l.post_id = p.post_id AND l.type = 'like') AS like_count,
	p.creation_date, coalesce(p.hidden, false) AS hidden
FROM blogstore.posts p
LEFT JOIN blogstore.users u ON u.user_id = p.user_id AND u.type = 'user'
WHERE p.type = 'post';

-- Posts whose counts in get_post() differ from the numbers of their comments
-- and likes in the same snapshot
CREATE FUNCTION kit.wrong_counts() RETURNS TABLE (post_id uuid, counts bigint[], counted bigint[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY SELECT i.post_id, ARRAY[g.comment_count, g.like_count], ARRAY[i.comment_count, i.like_count]
	FROM kit.implied i LEFT JOIN LATERAL blogstore.get_post(i.post_id) g ON true
	WHERE (g.comment_count, g.like_count) IS DISTINCT FROM (i.comment_count, i.like_count);
END $$;

-- wait_for_views() with a timeout that suffices on an overloaded machine
CREATE FUNCTION kit.views_follow() RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT blogstore.wait_for_views('10 min') $$;

-- Create users 1 to n, and posts 1 to n by them in turn, all with the given
-- content or each with its own.
CREATE FUNCTION kit.fill(users int, posts int, content text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, users) n;
	PERFORM blogstore.create_post(kit.u(1 + n % users), 'title ' || n,
		coalesce(content, repeat('content ' || n || ' ', 50)), kit.p(n), kit.d(n))
	FROM generate_series(1, posts) n;
END $$;
