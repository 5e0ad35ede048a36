--
-- ROW TYPES: whose owner has altered them
--
SET timezone = 'UTC';
SET client_min_messages = warning;

SELECT kit.clear();
SELECT blogstore.wait_for_views();
SELECT kit.fill(1, 1);
SELECT count(*) FROM blogstore.create_comment(kit.p(1), kit.u(1), 'a comment', kit.c(1), kit.d(1));
SELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1), kit.d(1));

CREATE TABLE kit.calls (type text, call text);
INSERT INTO kit.calls VALUES
	('user', 'create_user(''user 1'', kit.u(1))'),
	('user', 'get_user(kit.u(1))'),
	('user', 'get_user_by_name(''user 1'')'),
	('post', 'edit_post(kit.p(1))'),
	('post', 'get_post(kit.p(1))'),
	('post', 'list_user_posts(kit.u(1))'),
	('post', 'list_feed()'),
	('comment', 'edit_comment(kit.p(1), kit.c(1), ''a comment'')'),
	('comment', 'list_post_comments(kit.p(1))'),
	('comment', 'list_comment_replies(kit.p(1), kit.c(1))'),
	('comment', 'list_user_comments(kit.u(1))'),
	('like', 'list_user_likes(kit.u(1))'),
	('like', 'create_like(kit.p(1), kit.u(1))'),
	('like', 'get_like(kit.p(1), kit.u(1))'),
	('like', 'list_post_likes(kit.p(1))');

-- Called by one session before and after, in one transaction and over several:
-- refused while the type is another, and right again when it is mended
CREATE PROCEDURE kit.alter_row_type(alteration text) LANGUAGE plpgsql AS $$
DECLARE
	kind	record;
	answer	text;
BEGIN
	FOR kind IN SELECT c.type, array_agg(c.call ORDER BY c.call COLLATE "C") AS calls FROM kit.calls c GROUP BY c.type ORDER BY c.type COLLATE "C" LOOP
		BEGIN
			SELECT string_agg(DISTINCT kit.try('blogstore.' || call), '; ') INTO answer FROM unnest(kind.calls) call;
			EXECUTE format('ALTER TYPE blogstore.%s_item %s', kind.type, alteration);
			SELECT answer || ' | ' || string_agg(DISTINCT kit.try('blogstore.' || call), '; ') INTO answer FROM unnest(kind.calls) call;
			RAISE EXCEPTION USING ERRCODE = 'ZZ001';
		EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
			SELECT answer || ' | ' || string_agg(DISTINCT kit.try('blogstore.' || call), '; ') INTO answer FROM unnest(kind.calls) call;
		END;
		RAISE WARNING '%: %', kind.type, answer;
	END LOOP;
END $$;
CALL kit.alter_row_type('ADD ATTRIBUTE more text, ADD ATTRIBUTE many bigint, ADD ATTRIBUTE such text, ADD ATTRIBUTE things text, ADD ATTRIBUTE still text, ADD ATTRIBUTE further uuid, ADD ATTRIBUTE much text');
CALL kit.alter_row_type('DROP ATTRIBUTE id');
CALL kit.alter_row_type('ALTER ATTRIBUTE creation_date TYPE text');
CALL kit.alter_row_type('ALTER ATTRIBUTE id TYPE text');
CALL kit.alter_row_type('RENAME ATTRIBUTE id TO identity');

-- at one call site
CREATE FUNCTION kit.like_again(OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
	item	record;
BEGIN
	FOR i IN 1 .. 2 LOOP
		item := blogstore.create_like(kit.p(1), kit.u(1));
		IF i = 1 THEN
			ALTER TYPE blogstore.like_item ALTER ATTRIBUTE creation_date TYPE text;
		END IF;
	END LOOP;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	answer := SQLERRM;
END $$;
SELECT kit.like_again();
SELECT kit.like_again();

-- a document is made of whatever the type has
BEGIN;
ALTER TYPE blogstore.like_item ADD ATTRIBUTE number integer, ADD ATTRIBUTE bits bit(3), DROP ATTRIBUTE user_username, ALTER ATTRIBUTE user_id TYPE text;
SELECT jsonb_pretty(ROW(kit.p(1), 'like', kit.p(1), 'nobody', kit.d(1), NULL, 7, B'101')::blogstore.like_item::jsonb);
ROLLBACK;

DROP FUNCTION kit.like_again;
DROP PROCEDURE kit.alter_row_type;
DROP TABLE kit.calls;
DO $$ BEGIN ASSERT blogstore.wait_for_views('10 min'); END $$;
SELECT * FROM blogstore.verify();

-- The owner has left a job without an id: nobody works on it, and nobody waits
-- for it
BEGIN;
ALTER TABLE blogstore.jobs DROP CONSTRAINT jobs_pkey;
ALTER TABLE blogstore.jobs ALTER COLUMN id DROP NOT NULL;
CREATE UNIQUE INDEX jobs_key ON blogstore.jobs (id);
INSERT INTO blogstore.jobs (kind, phase) VALUES ('rename', 0);
COMMIT;
SELECT blogstore.wait_for_views();
BEGIN;
DELETE FROM blogstore.jobs WHERE id IS NULL;
DROP INDEX blogstore.jobs_key;
ALTER TABLE blogstore.jobs ADD PRIMARY KEY (id);
COMMIT;
SELECT blogstore.wait_for_views();
