-- cluster.sql
--		Helpers of test/sql/install.sql, beside those in ids.sql, for
--		pg_regress suites that run on a cluster.
--
-- They differ from test/sql/install.sql where a cluster does. Users are in the
-- table user_items. Citus runs no SQL function whose arguments depend on a
-- query over its tables. The helpers call requests on the node where the suite
-- runs, never within a query that Citus runs elsewhere.

-- The rows of a query in its own order. An aggregate on a cluster would not
-- keep the order.
CREATE FUNCTION kit.rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	item	record;
	found	text[] := '{}';
BEGIN
	FOR item IN EXECUTE query LOOP
		found := found || item::text;
	END LOOP;
	RETURN found;
END $$;

CREATE FUNCTION kit.compare(a text, b text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows_a	text[];
	rows_b	text[];
BEGIN
	rows_a := kit.rows_of(a);
	rows_b := kit.rows_of(b);
	IF rows_a = rows_b THEN
		RETURN 'same ' || cardinality(rows_a) || ' rows';
	END IF;
	FOR i IN 1 .. greatest(cardinality(rows_a), cardinality(rows_b)) LOOP
		IF rows_a[i] IS DISTINCT FROM rows_b[i] THEN
			RETURN format('row %s differs: %s against %s', i,
				coalesce(rows_a[i], 'none'), coalesce(rows_b[i], 'none'));
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION kit.walk(list text, page int, cut boolean DEFAULT false) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
	seen	uuid[] := '{}';
	item	record;
	n		int;
	after_date	timestamptz;
	after_id	uuid;
BEGIN
	LOOP
		n := 0;
		FOR item IN EXECUTE 'SELECT id, creation_date FROM ' || list USING page, after_date, after_id LOOP
			seen := seen || item.id;
			after_date := CASE WHEN cut THEN date_trunc('milliseconds', item.creation_date) ELSE item.creation_date END;
			after_id := item.id;
			n := n + 1;
		END LOOP;
		IF n > page THEN
			RAISE 'a page of % has % rows', page, n;
		END IF;
		EXIT WHEN n < page OR cardinality(seen) > 9000;
	END LOOP;
	RETURN seen;
END $$;

CREATE VIEW kit.implied AS
SELECT p.id, p.type, p.post_id, p.user_id, u.username AS user_username,
	p.title, left(p.content, 200) AS content,
	(SELECT count(*) FROM blogstore.posts c WHERE c.post_id = p.post_id AND c.type = 'comment' AND c.hidden IS NOT TRUE) AS comment_count,
	(SELECT count(*) FROM blogstore.posts l WHERE l.post_id = p.post_id AND l.type = 'like') AS like_count,
	p.creation_date, coalesce(p.hidden, false) AS hidden, p.modification_date, p.properties, p.publish_date
FROM blogstore.posts p
LEFT JOIN blogstore.user_items u ON u.user_id = p.user_id AND u.type = 'user'
WHERE p.type = 'post';

CREATE FUNCTION kit.wrong_counts() RETURNS TABLE (post_id uuid, counts bigint[], counted bigint[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
	i	kit.implied;
BEGIN
	FOR i IN SELECT * FROM kit.implied ORDER BY 1 LOOP
		post_id := i.post_id;
		counted := ARRAY[i.comment_count, i.like_count];
		counts := (SELECT ARRAY[g.comment_count, g.like_count] FROM blogstore.get_post(i.post_id) g);
		IF counts IS DISTINCT FROM counted THEN
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION kit.digest() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	lines	text[] := '{}';
BEGIN
	lines := lines || ARRAY(SELECT u::text FROM blogstore.user_items u);
	lines := lines || ARRAY(SELECT p::text FROM blogstore.posts p WHERE type NOT IN ('post', 'delta'));
	lines := lines || ARRAY(SELECT (to_jsonb(p) - '{comment_count,like_count}'::text[])::text || (
			SELECT (sum(c.comment_count), sum(c.like_count))::text FROM blogstore.posts c
			WHERE c.post_id = p.post_id AND (c.type = 'post' OR c.item_id = p.post_id)
		) FROM blogstore.posts p WHERE type = 'post');
	lines := lines || ARRAY(SELECT n::text FROM blogstore.usernames n);
	RETURN (SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM unnest(lines) line);
END $$;

CREATE FUNCTION kit.clear() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.delete_user(user_id) FROM (SELECT user_id FROM blogstore.user_items OFFSET 0) u;
END $$;

CREATE FUNCTION kit.fill(users int, posts int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, users) n;
	PERFORM blogstore.create_post(kit.u(1 + n % users), 'title ' || n, repeat('content ' || n || ' ', 30), kit.p(n), kit.d(n))
	FROM generate_series(1, posts) n;
END $$;
