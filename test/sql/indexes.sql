--
-- INDEXES: of comments, by user and date, and of replies
--
SET client_min_messages = warning;
SELECT kit.clear();
SELECT kit.fill(3, 4);

-- What each leaf of comments has
SELECT regexp_replace(pg_get_indexdef(indexrelid), '_p\d+_', '_pNN_', 'g') AS index, indisunique AS is_unique, count(*) AS leaves
FROM pg_index WHERE indrelid::regclass::text ~ '^blogstore\.posts_p\d+_comment$' GROUP BY 1, 2 ORDER BY 1;

-- The replies on a post, as the table or the index of replies has them
CREATE FUNCTION kit.replies(post uuid, by_index boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	leaf text = (SELECT tableoid::regclass FROM blogstore.posts WHERE type = 'comment' AND post_id = post LIMIT 1);
	query text = format('SELECT string_agg(content, '', '') FROM (SELECT content FROM %s WHERE post_id = %L AND parent_id IS NOT NULL ORDER BY post_id, parent_id, creation_date, id) AS r',
		leaf, post);
	found text;
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_indexscan', by_index::text, true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', (NOT by_index)::text, true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE query INTO found;
	RETURN CASE WHEN plan::text ~ 'comment_replies' THEN 'index: ' ELSE 'table: ' END || coalesce(found, 'none');
END $$;

-- Creating a comment without a parent does not open the index of replies
CREATE TABLE opened (content text, indexes text);
CREATE FUNCTION note_opened() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	INSERT INTO public.opened SELECT NEW.content, string_agg(regexp_replace(relation::regclass::text, '.*_p\d+_', ''), ', ' ORDER BY relation::regclass::text)
	FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'RowExclusiveLock'
		AND relation IN (SELECT indexrelid FROM pg_index WHERE indrelid = TG_RELID);
	RETURN NULL;
END $$;
CREATE TRIGGER note_opened AFTER INSERT OR UPDATE ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION note_opened();
SELECT (blogstore.create_comment(kit.p(1), kit.u(1), 'a', kit.c(101), kit.d(101))).parent_id;
SELECT * FROM opened;
DROP TRIGGER note_opened ON blogstore.posts;

-- The written row decides whether there is an index entry, also if a trigger
-- or a plain statement of the owner wrote it
CREATE FUNCTION make_reply() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.content LIKE 'reply%' THEN
		NEW.parent_id = kit.c(101);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER make_reply BEFORE INSERT OR UPDATE ON blogstore.posts FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION make_reply();
SELECT (blogstore.create_comment(kit.p(1), kit.u(2), 'reply by a trigger', kit.c(102), kit.d(102))).content;
SELECT (blogstore.create_comment(kit.p(1), kit.u(2), 'b', kit.c(103), kit.d(103))).content;
SELECT (blogstore.create_comment(kit.p(1), kit.u(2), 'c', kit.c(104), kit.d(104))).content;
SELECT (blogstore.edit_comment(kit.p(1), kit.c(104), 'reply by an edit')).content;
DROP TRIGGER make_reply ON blogstore.posts;
SELECT kit.replies(kit.p(1), true), kit.replies(kit.p(1), false);
-- edited and renamed they stay in it
SELECT (blogstore.edit_comment(kit.p(1), kit.c(102), 'edited: ' || repeat('x', 10))).content;
SELECT (blogstore.edit_user(kit.u(2), 'another name')).username;
SELECT blogstore.wait_for_views();
SELECT kit.replies(kit.p(1), true), kit.replies(kit.p(1), false);
SELECT user_username FROM blogstore.list_post_comments(kit.p(1)) WHERE id IN (kit.c(102), kit.c(103), kit.c(104));

-- Sweeps find what they are to change, in steps
SELECT count(blogstore.create_comment(kit.p(2), kit.u(1), 'many', kit.c(1000 + n), kit.d(-n))) FROM generate_series(1, 2500) n;
SELECT (blogstore.edit_user(kit.u(1), 'renamed')).username;
SELECT blogstore.wait_for_views();
SELECT type, count(*), count(*) FILTER (WHERE user_username = 'renamed') AS renamed FROM blogstore.posts WHERE user_id = kit.u(1) GROUP BY 1 ORDER BY 1;
SELECT blogstore.delete_user(kit.u(1));
SELECT blogstore.wait_for_views();
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(1);
SELECT * FROM kit.wrong_counts();
SELECT * FROM blogstore.verify();

DROP TABLE opened;
DROP FUNCTION note_opened, make_reply;
