-- The owner's triggers, constraints and columns are served, and cannot make
-- counts wrong.
SET client_min_messages = warning;
CREATE TABLE audit (who text, what text);
CREATE ROLE regress_blogstore_caller;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO regress_blogstore_caller;
SELECT (blogstore.create_user('trigger user', '00000000-0000-7000-8000-00000000a001')).id IS NOT NULL AS made;
SELECT (blogstore.create_post('00000000-0000-7000-8000-00000000a001', 'plain', 'text', '00000000-0000-7000-8000-00000000a011')).id IS NOT NULL AS made;

CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	INSERT INTO public.audit VALUES
		(CASE WHEN current_user = 'regress_blogstore_caller' THEN 'caller' ELSE 'owner' END,
		 TG_OP || ' ' || NEW.type);
	RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION note();
SET ROLE regress_blogstore_caller;
SELECT type FROM blogstore.create_like('00000000-0000-7000-8000-00000000a011', '00000000-0000-7000-8000-00000000a001');
SELECT title FROM blogstore.edit_post('00000000-0000-7000-8000-00000000a011', 'noted');
RESET ROLE;
SELECT * FROM audit;
DROP TRIGGER note ON blogstore.posts;

-- a trigger on some columns fires when these change
CREATE FUNCTION note_column() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	INSERT INTO public.audit VALUES (NEW.title, TG_ARGV[0] || ', ' || TG_WHEN);
	RETURN NEW;
END $$;
TRUNCATE audit;
CREATE TRIGGER note_title AFTER UPDATE OF title ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION note_column('title');
CREATE TRIGGER note_text BEFORE UPDATE OF title, content ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION note_column('title or content');
SELECT type FROM blogstore.create_comment('00000000-0000-7000-8000-00000000a011', '00000000-0000-7000-8000-00000000a001', 'hi',
	'00000000-0000-7000-8000-00000000a021');
SELECT content FROM blogstore.edit_post('00000000-0000-7000-8000-00000000a011', content => 'other text');
SELECT * FROM audit;
SELECT title FROM blogstore.edit_post('00000000-0000-7000-8000-00000000a011', 'other title');
SELECT * FROM audit;
DROP TRIGGER note_title ON blogstore.posts;
DROP TRIGGER note_text ON blogstore.posts;
SELECT blogstore.delete_comment('00000000-0000-7000-8000-00000000a011', '00000000-0000-7000-8000-00000000a021');

-- a trigger that writes to the same post does not disturb the count
CREATE FUNCTION chain() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.type = 'comment' THEN
		PERFORM blogstore.edit_post(NEW.post_id, content => 'edited by a trigger');
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER chain AFTER INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION chain();
SELECT content FROM blogstore.create_comment('00000000-0000-7000-8000-00000000a011', '00000000-0000-7000-8000-00000000a001', 'hello');
SELECT content, comment_count, like_count FROM blogstore.get_post('00000000-0000-7000-8000-00000000a011');
DROP TRIGGER chain ON blogstore.posts;

-- A trigger that suppresses a change causes an error, and nothing changes. The
-- worker, which may have counts to fold, never fires the trigger, because the
-- transaction is rolled back.
\set ON_ERROR_ROLLBACK on
BEGIN;
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER suppress BEFORE INSERT OR UPDATE OR DELETE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION suppress();
\set VERBOSITY sqlstate
SELECT blogstore.delete_like('00000000-0000-7000-8000-00000000a011', '00000000-0000-7000-8000-00000000a001');
SELECT blogstore.edit_post('00000000-0000-7000-8000-00000000a011', 'suppressed');
SELECT blogstore.create_post('00000000-0000-7000-8000-00000000a001', 'suppressed', '');
\set VERBOSITY default
ROLLBACK;
\set ON_ERROR_ROLLBACK off
SELECT title, comment_count, like_count FROM blogstore.get_post('00000000-0000-7000-8000-00000000a011');

-- columns and constraints that the owner adds
ALTER TABLE blogstore.posts ADD COLUMN lang text DEFAULT 'en',
	ADD COLUMN size integer GENERATED ALWAYS AS (length(content)) STORED,
	ADD CONSTRAINT clean CHECK (content <> 'spam');
SELECT title FROM blogstore.create_post('00000000-0000-7000-8000-00000000a001', 'with columns', 'twelve chars', '00000000-0000-7000-8000-00000000a012');
SELECT lang, size FROM blogstore.posts WHERE id = '00000000-0000-7000-8000-00000000a012';
\set VERBOSITY sqlstate
SELECT blogstore.create_comment('00000000-0000-7000-8000-00000000a012', '00000000-0000-7000-8000-00000000a001', 'spam');
\set VERBOSITY default
SELECT blogstore.wait_for_views();
SELECT title, content, comment_count, like_count FROM blogstore.list_user_posts('00000000-0000-7000-8000-00000000a001');
SELECT * FROM blogstore.verify();

-- The tables of the views must have none: the worker writes them, and a
-- command that has to write them fails
BEGIN;
ALTER TABLE blogstore.users ADD COLUMN title_size integer GENERATED ALWAYS AS (length(title)) STORED;
SELECT blogstore.hide_post('00000000-0000-7000-8000-00000000a012');
ROLLBACK;
BEGIN;
CREATE TRIGGER note_copy AFTER UPDATE OF title ON blogstore.users FOR EACH ROW EXECUTE FUNCTION note_column('title of the copy');
SELECT blogstore.hide_post('00000000-0000-7000-8000-00000000a012');
ROLLBACK;
ALTER TABLE blogstore.posts DROP COLUMN lang, DROP COLUMN size, DROP CONSTRAINT clean;
SELECT title FROM blogstore.edit_post('00000000-0000-7000-8000-00000000a012', 'columns dropped');
SELECT blogstore.delete_user('00000000-0000-7000-8000-00000000a001');
SELECT blogstore.wait_for_views();
SELECT * FROM blogstore.verify();
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore FROM regress_blogstore_caller;
DROP ROLE regress_blogstore_caller;
DROP TABLE audit;
DROP FUNCTION note(), note_column(), chain();
