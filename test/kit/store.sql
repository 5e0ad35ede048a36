-- store.sql
--		Helpers that need the containers, beside ids.sql, for the TAP tests and pgTAP.
--
-- What is in test/sql/install.sql, too, stands twice, for the reason that ids.sql gives.

-- post items with their deltas added up
CREATE VIEW kit.posts AS
SELECT p.id, p.type, p.post_id, p.user_id, p.user_username, p.title, p.content,
	p.comment_count + coalesce(d.comment_count, 0) AS comment_count,
	p.like_count + coalesce(d.like_count, 0) AS like_count, p.creation_date
FROM blogstore.posts p
LEFT JOIN (SELECT post_id, sum(comment_count)::bigint AS comment_count, sum(like_count)::bigint AS like_count
	FROM blogstore.posts WHERE type = 'delta' GROUP BY post_id) d ON d.post_id = p.post_id
WHERE p.type = 'post';

-- What the users and posts containers imply: posts in short form with counted
-- comments and likes and the authors' present names
CREATE VIEW kit.implied AS
SELECT p.id, p.type, p.post_id, p.user_id, u.username AS user_username,
	p.title, left(p.content, 200) AS content,
	(SELECT count(*) FROM blogstore.posts c WHERE c.post_id = p.post_id AND c.type = 'comment') AS comment_count,
	(SELECT count(*) FROM blogstore.posts l WHERE l.post_id = p.post_id AND l.type = 'like') AS like_count,
	p.creation_date
FROM blogstore.posts p
LEFT JOIN blogstore.users u ON u.user_id = p.user_id AND u.type = 'user'
WHERE p.type = 'post';

-- counts of get_post that differ from the comments and likes in one snapshot
CREATE FUNCTION kit.wrong_counts() RETURNS TABLE (post_id uuid, counts bigint[], counted bigint[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY SELECT i.post_id, ARRAY[g.comment_count, g.like_count], ARRAY[i.comment_count, i.like_count]
	FROM kit.implied i LEFT JOIN LATERAL blogstore.get_post(i.post_id) g ON true
	WHERE (g.comment_count, g.like_count) IS DISTINCT FROM (i.comment_count, i.like_count);
END $$;

-- wait_for_views(), as long as it takes
CREATE FUNCTION kit.views_follow() RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT blogstore.wait_for_views('10 min') $$;

-- Users 1 to n, posts 1 to n by users in turn, all with this content or each with its own
CREATE FUNCTION kit.fill(users int, posts int, content text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, users) n;
	PERFORM blogstore.create_post(kit.u(1 + n % users), 'title ' || n,
		coalesce(content, repeat('content ' || n || ' ', 50)), kit.p(n), kit.d(n))
	FROM generate_series(1, posts) n;
END $$;
