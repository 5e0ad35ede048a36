/*
 * blogstore--0.1--0.2.sql
 *		What 0.2 changes of 0.1's SQL objects. CREATE EXTENSION runs 0.1 first, so
 *		that a new installation and an updated one are the same.
 *
 * Nothing in here touches the containers. A function that is new here must be
 * taken from PUBLIC here too: 0.1 does that once, for its own. One that is made anew
 * has the rights that it had.
 */
\echo Use "ALTER EXTENSION blogstore UPDATE TO '0.2'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Functions that are made anew
 *
 * An argument cannot be added to a function, nor a column to the rows that its OUT
 * arguments make. Those listed here are set aside under another name; each is made anew,
 * in plain SQL under its own name, somewhere below; and at the end of this file the new
 * one takes over owner and rights from the old one, which goes. Nothing else needs to be
 * granted or revoked. (Where only the library's function is another, CREATE OR REPLACE
 * does it, and keeps all of that.)
 *
 * Whatever stands in the way is found before anything is done.
 * ------------------------------------------------------------------------ */

-- nothing is found by name in a schema that others may write to
SET LOCAL search_path = pg_catalog, pg_temp;

DO $body$
DECLARE
	replaced	regprocedure[] := ARRAY[
		'@extschema@.create_containers(integer)',
		'@extschema@.create_user(text, uuid, timestamptz)',
		'@extschema@.edit_user(uuid, text)',
		'@extschema@.create_post(uuid, text, text, uuid, timestamptz)',
		'@extschema@.edit_post(uuid, text, text)',
		'@extschema@.create_comment(uuid, uuid, text, uuid, timestamptz)',
		'@extschema@.edit_comment(uuid, uuid, text)',
		'@extschema@.import(regclass, regclass, regclass, regclass, regclass)',
		'@extschema@.list_user_posts(uuid, integer, timestamptz, uuid)',
		'@extschema@.list_post_comments(uuid, integer, timestamptz, uuid)',
		'@extschema@.list_post_likes(uuid, integer, timestamptz, uuid)',
		'@extschema@.list_feed(integer, timestamptz, uuid)'
	];
	one			regprocedure;
	problems	text;
BEGIN
	SELECT string_agg(f::text, ', ' ORDER BY f::text) INTO problems
	FROM unnest(replaced) AS f
	WHERE NOT EXISTS (SELECT FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
		WHERE d.classid = 'pg_proc'::regclass AND d.objid = f AND d.deptype = 'e'
			AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'blogstore');
	IF problems IS NOT NULL THEN
		RAISE EXCEPTION 'functions that are to be replaced are not members of the extension blogstore'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = problems,
				HINT = 'Take them back by ALTER EXTENSION blogstore ADD FUNCTION.';
	END IF;

	-- a view's rule stands for the view
	WITH RECURSIVE dependent (function, classid, objid, objsubid) AS (
		SELECT f::oid, 'pg_proc'::regclass::oid, f::oid, 0
		FROM unnest(replaced) AS f
		UNION
		SELECT t.function, CASE WHEN r.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass::oid END,
			coalesce(r.ev_class, d.objid), CASE WHEN r.oid IS NULL THEN d.objsubid ELSE 0 END
		FROM dependent AS t
			JOIN pg_depend AS d ON d.refclassid = t.classid AND d.refobjid = t.objid
				AND (d.deptype = 'n' OR t.objid = t.function AND t.classid = 'pg_proc'::regclass)
			LEFT JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid AND r.ev_type = '1'
	)
	SELECT string_agg(what, E'\n' ORDER BY what COLLATE "C") INTO problems
	FROM (
		SELECT pg_describe_object(classid, objid, objsubid) || ' depends on ' || string_agg(function::regprocedure::text, ', ' ORDER BY function::regprocedure::text COLLATE "C") AS what
		FROM dependent
		WHERE NOT (classid = 'pg_proc'::regclass AND objid = function)
		GROUP BY classid, objid, objsubid
	) AS d;
	IF problems IS NOT NULL THEN
		RAISE EXCEPTION 'cannot update blogstore because other objects depend on functions that must be replaced'
			USING ERRCODE = 'dependent_objects_still_exist', DETAIL = problems,
				HINT = 'Keep their definitions (pg_dump shows them), drop them, update the extension, and create them again.';
	END IF;

	FOREACH one IN ARRAY replaced LOOP
		EXECUTE format('ALTER FUNCTION %s RENAME TO %I', one, (SELECT proname || ' (0.1)' FROM pg_proc WHERE oid = one));
	END LOOP;
END
$body$;

/* ------------------------------------------------------------------------
 * Containers: whose they are
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.create_containers(partitions integer DEFAULT 16, owner regrole DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_create_containers_0_2'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_containers IS
'Create the containers users, posts and feed, and the bookkeeping tables beside them, in schema blogstore, or those of them that are missing.
partitions: hash partitions of users and of posts, 1 to 1024; owner: the role that is to own them, NULL for the caller. What is attached to them runs with the owner''s rights, so it had better be no superuser. To give them to another role takes what ALTER TABLE ... OWNER TO takes.
Errors: 22004 no partitions; 22023 partitions out of range; 42P07 nothing is missing, or a table of another role or shape has one of their names; 42501 no CREATE right on the schema, or not a member of owner; 42704 no such role. On a server that is not prepared for the views it works and says what to set.';

/* ------------------------------------------------------------------------
 * Items: what sites bring beside the article's properties
 * ------------------------------------------------------------------------ */

ALTER TYPE @extschema@.user_item
	ADD ATTRIBUTE properties jsonb;
COMMENT ON TYPE @extschema@.user_item IS
'A user. type is ''user''; id and user_id are the same. properties: an object of the site''s own.';
ALTER TYPE @extschema@.post_item
	ADD ATTRIBUTE hidden boolean,
	ADD ATTRIBUTE modification_date timestamptz,
	ADD ATTRIBUTE properties jsonb;
COMMENT ON TYPE @extschema@.post_item IS
'A post with its author''s name and its exact counts. type is ''post''; id and post_id are the same. In short form, content is cut to the first blogstore.short_form_length characters, or, by blogstore.short_form_format, to those of the text in it. hidden: in no feed; modification_date: of the last edit, NULL if there was none; properties: an object of the site''s own.';
ALTER TYPE @extschema@.comment_item
	ADD ATTRIBUTE parent_id uuid,
	ADD ATTRIBUTE parent_deleted boolean,
	ADD ATTRIBUTE hidden boolean,
	ADD ATTRIBUTE modification_date timestamptz,
	ADD ATTRIBUTE properties jsonb;
COMMENT ON TYPE @extschema@.comment_item IS
'A comment on a post with its author''s name. type is ''comment''. parent_id: the comment on the same post that it replies to, NULL if to none; parent_deleted: whether that is gone, which replies outlive, NULL without parent_id; hidden: not counted; modification_date: of the last edit, NULL if there was none; properties: an object of the site''s own.';

-- A session that has still loaded 0.1's library finds no function of the new names there,
-- and says so; it would return rows without the new columns.
CREATE OR REPLACE FUNCTION @extschema@.user_document(item @extschema@.user_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document_0_2'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE OR REPLACE FUNCTION @extschema@.post_document(item @extschema@.post_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document_0_2'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE OR REPLACE FUNCTION @extschema@.comment_document(item @extschema@.comment_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document_0_2'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.create_user(username text, user_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_create_user_0_2'
LANGUAGE C VOLATILE;

CREATE FUNCTION @extschema@.edit_user(user_id uuid, username text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_edit_user_0_2'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.edit_user IS
'C1: rename a user, or change the user''s properties; NULL keeps what is there. The items that carry the name are relabelled by a job of the worker, or at once where no worker can run.
user_id: the user; username: as in create_user; properties: an object in place of the one that is there, {} for none.
Returns the user as it is now.
Errors: 22004 no user_id, or neither username nor properties; 22023 a bad username or bad properties; 23503 no such user; 23505 the name is taken; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.create_post(user_id uuid, title text, content text, post_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_create_post_0_2'
LANGUAGE C VOLATILE;

CREATE FUNCTION @extschema@.edit_post(post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_edit_post_0_2'
LANGUAGE C VOLATILE;

CREATE FUNCTION @extschema@.create_comment(post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_create_comment_0_2'
LANGUAGE C VOLATILE;

CREATE FUNCTION @extschema@.edit_comment(post_id uuid, comment_id uuid, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_edit_comment_0_2'
LANGUAGE C VOLATILE;

CREATE OR REPLACE FUNCTION @extschema@.get_user(user_id uuid)
RETURNS SETOF @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_user_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;

CREATE OR REPLACE FUNCTION @extschema@.get_user_by_name(username text)
RETURNS SETOF @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_user_by_name_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;

CREATE OR REPLACE FUNCTION @extschema@.get_post(post_id uuid)
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_get_post_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;

/* ------------------------------------------------------------------------
 * Containers that 0.1 has made
 * ------------------------------------------------------------------------ */

CREATE PROCEDURE @extschema@.upgrade_containers()
AS 'MODULE_PATHNAME', 'blogstore_upgrade_containers'
LANGUAGE C;
REVOKE ALL ON PROCEDURE @extschema@.upgrade_containers FROM PUBLIC;
COMMENT ON PROCEDURE @extschema@.upgrade_containers IS
'Make containers of an older version what create_containers() makes now: columns that items have since, settings of leaves that the owner has not changed, a counter for each post that has none, NOT NULL for columns that an item must have, indexes. In chunks beside traffic, whether the worker runs or not; older containers are served without it, too. Whoever calls it again after it was cut short goes on there.
CALL it by itself: each chunk is a transaction. pg_stat_activity shows how far it is. Settings and the reading of rows lock a leaf as ANALYZE does; NOT NULL takes it twice for a moment alone, which is waited for a tenth of a second at most. Indexes of large leaves are built by a process of their own, as by CREATE INDEX CONCURRENTLY. A warning counts what others had in use all the time, and leaves with items that lack a value: call it again then.
Errors: 25001 in a transaction block, or not in READ COMMITTED; 25006 read-only transaction; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Operation, and export
 * ------------------------------------------------------------------------ */

COMMENT ON FUNCTION @extschema@.start_worker IS
'Let this database''s worker run again after stop_worker(); it starts when the transaction commits. Waits for transactions that have called stop_worker() or start_worker() and not ended yet.
Errors: 25006 read-only transaction; 40001 stopped by a transaction that this one''s snapshot does not see; 55000 no containers, or no worker can run here.';
COMMENT ON FUNCTION @extschema@.stop_worker IS
'Stop this database''s worker, and keep it stopped over restarts of the server until start_worker(). Returns when it has ended. Requests go on; Q3 and Q6 answer from the posts container.
drop_slot: also drop the replication slot. Without, the slot keeps all WAL from here on (a warning says how much it keeps already, stat_worker how much it has come to, and the server''s log when that exceeds max_wal_size); with, the views are built anew at the next start.
In a transaction, the worker ends at once, and stays so until that ends, whatever others do; rolled back, it starts again. Waits for transactions that have called stop_worker() or start_worker() and not ended yet. A transaction that has called it cannot be prepared (PREPARE TRANSACTION: 0A000).
Errors: 22004 NULL; 25001 not in READ COMMITTED; 25006 read-only transaction; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.export_documents IS
'All users, posts, comments and likes that are served, as the article''s JSON documents with the authors'' present names and exact counts, in one snapshot. All are read before the first is returned, and kept in a temporary file beyond work_mem.
Errors: 55000 no containers.';

/* ------------------------------------------------------------------------
 * Requests and import: limits, and cursors cut to milliseconds
 * ------------------------------------------------------------------------ */

COMMENT ON FUNCTION @extschema@.create_post IS
'C2: create a post.
user_id: the author; title: not empty; content: may be empty; post_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most; NULL or {} for none; hidden: true for a draft, which is in no feed and no list but its author''s with include_hidden, until publish_post().
Returns the post; a repetition with the same id, author, texts and properties returns it unchanged.
Errors: 22004 a NULL; 22023 an empty title, bad date or bad properties; 23503 no such user; 23505 the id has another post; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.create_comment IS
'C3: comment on a post; its comment_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: the author; content: not empty; comment_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most; NULL or {} for none; hidden: true to hold it for approval: it is in no list but with include_hidden, and not counted, until hide_comment(..., false); parent_id: the comment on the same post that it replies to, NULL for none.
Returns the comment; a repetition with the same id, author, content, properties and parent_id returns it unchanged, also if the parent is gone by then.
Errors: 22004 a NULL; 22023 an empty comment, bad date or bad properties, or it would reply to itself; 23503 no such user, post, or parent on the post; 23505 the id has another comment; 25006 read-only transaction; 40001 the parent was created since the transaction''s snapshot; 54000 a text longer than 64 MB; 55000 the post or the parent is hidden, no containers, or for parent_id they are of 0.1: upgrade_containers().';
COMMENT ON FUNCTION @extschema@.create_like IS
'C4: like a post; its like_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: who likes it; creation_date: NULL for now.
Returns the like; a second like by the same user returns the first one unchanged.
Errors: 22004 a NULL; 22023 a bad date; 23503 no such user or post; 25006 read-only transaction; 55000 the post is hidden, or no containers.';
COMMENT ON FUNCTION @extschema@.edit_post IS
'C2: change a post''s title, content or properties; NULL keeps what is there. Counts are not touched, modification_date becomes now.
title: not empty; content: may be empty; properties: an object in place of the one that is there, {} for none.
Returns the post as it is now.
Errors: 22004 no post_id; 22023 an empty title or bad properties; 23503 no such post; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.edit_comment IS
'Change a comment''s content or properties; NULL keeps what is there. modification_date becomes now.
content: not empty; properties: an object in place of the one that is there, {} for none.
Returns the comment as it is now.
Errors: 22004 no post_id or comment_id, or neither content nor properties; 22023 an empty comment or bad properties; 23503 no such comment; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.create_user IS
'C1: create a user.
username: 1 to 64 characters, unique regardless of case, without leading or trailing space and control characters; user_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most; NULL or {} for none.
Returns the user; a repetition with the same id, name and properties returns it unchanged.
Errors: 22004 no username; 22023 a bad username, date or properties; 23505 the name is taken, or the id has another name; 25006 read-only transaction; 40001 a user with this id was deleted or made anew since the transaction''s snapshot; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.get_user_by_name IS
'Q1: retrieve a user by name, regardless of case.
Returns the user, or no row.
Errors: 22004 a NULL; 54000 a text longer than 64 MB; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Lists: in either order
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.list_user_posts(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_posts_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.list_user_posts IS
'Q3: list a user''s posts in short form by (creation_date, id), newest or oldest first. Read from the view in users, or from posts where that is not ready.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden posts, too, for who may see them.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.list_post_comments(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_post_comments_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.list_post_comments IS
'Q4: list a post''s comments by (creation_date, id), newest or oldest first.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden comments, too, for who may see them.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.list_post_likes(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_list_post_likes_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.list_post_likes IS
'Q5: list a post''s likes by (creation_date, id), newest or oldest first.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.list_feed(page_size integer DEFAULT 100, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_list_feed_0_2'
LANGUAGE C STABLE PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.list_feed IS
'Q6: list the posts of all users in short form by (creation_date, id), newest or oldest first. Newest first it is read from the view feed, past its end or where it is not ready from posts; oldest first from the feed if that holds all that follows before_date and before_id, else from posts.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows.
Errors: 22004 oldest_first is NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Hidden posts and comments
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.hide_post(post_id uuid, hidden boolean DEFAULT true)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_hide_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.hide_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.hide_post IS
'Hide a post, or show it again at the date that it has. From the commit on a hidden post is in no feed and no list but its author''s with include_hidden, and takes no comments and likes; those that it has stay.
post_id: the post; hidden: false to show it.
Returns the post as it is now.
Errors: 22004 a NULL; 23503 no such post; 25006 read-only transaction; 55000 no containers, or they are of 0.1: upgrade_containers().';

CREATE FUNCTION @extschema@.publish_post(post_id uuid)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_publish_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.publish_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.publish_post IS
'Show a hidden post, dated now, so that it heads the feed. A post that is shown stays as it is.
Returns the post as it is now.
Errors: 22004 no post_id; 23503 no such post; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.hide_comment(post_id uuid, comment_id uuid, hidden boolean DEFAULT true)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_hide_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.hide_comment FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.hide_comment IS
'Hide a comment, or show it again; its post''s comment_count falls or grows by one with it. A hidden comment is in no list but with include_hidden.
post_id: the post; comment_id: the comment; hidden: false to show it.
Returns the comment as it is now.
Errors: 22004 a NULL; 23503 no such comment; 25006 read-only transaction; 55000 no containers, or they are of 0.1: upgrade_containers().';

/* ------------------------------------------------------------------------
 * Replies
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.list_comment_replies(post_id uuid, parent_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_comment_replies'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION @extschema@.list_comment_replies FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.list_comment_replies IS
'List the replies to a comment by (creation_date, id), newest or oldest first; those to replies are not among them.
post_id: the post; parent_id: the comment on it, which may be hidden or deleted since; page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden comments, too, for who may see them.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers, or they are of 0.1: upgrade_containers().';

/* ------------------------------------------------------------------------
 * What a user has written and liked
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.list_user_comments(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_comments'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION @extschema@.list_user_comments FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.list_user_comments IS
'List a user''s comments on all posts, those on hidden posts too, by (creation_date, id), newest or oldest first.
user_id: the author; page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden comments, too, for who may see them. A page looks into every partition.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers, or they are of 0.1: upgrade_containers().';

CREATE FUNCTION @extschema@.list_user_likes(user_id uuid, page_size integer DEFAULT 20, after_post_id uuid DEFAULT NULL, by_date boolean DEFAULT false, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION @extschema@.list_user_likes FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.list_user_likes IS
'List a user''s likes of all posts, of hidden ones too: in the order of post_id; or by (creation_date, id), newest or oldest first, where the site has made the index that the manual names.
user_id: who likes; page_size: items a page, 1 or more, NULL for all; after_post_id: post_id of the last row of the page before. by_date: true for the order by date; then before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither; oldest_first: true for the other order, which leads from the same place to newer rows. A page looks into every partition.
Errors: 22004 a NULL; 22023 page_size below 1, half a cursor, or one of the other order; 55000 no containers, or no index for likes by date.';

/* ------------------------------------------------------------------------
 * Operation: values that are missing
 * ------------------------------------------------------------------------ */

COMMENT ON FUNCTION @extschema@.verify IS
'Compare counts, usernames and views with what the containers imply, in one snapshot; reads everything. Views are compared while they are served: call wait_for_views() first, or what is on its way shows here.
Returns one row per discrepancy: the container (or usernames, jobs), the problem (orphan, comment_count, like_count, username, registry, missing copy, extra copy, stale copy; invalid: a value that must be there is NULL), the item and its keys, what it should be and what it is (of an invalid item the property, of an invalid copy what it shows). No row when all is well.
Errors: 55000 no containers, or a column is missing or has another type.';
COMMENT ON FUNCTION @extschema@.repair IS
'Mend what verify() finds, beside live traffic: each item is locked, computed anew and written. Deltas of counts are folded into the counters of their posts, which the worker does otherwise. A value that is NULL is written where it follows from others (counts, names, copies); where it does not, a warning names the item. While a partition is away or not what it should be, what hangs on its items, and counts of what is in it, stay as they are, and a warning says so.
Returns how many discrepancies were mended.
Errors: 25001 not in READ COMMITTED; 25006 read-only transaction; 55000 no containers, or a column is missing or has another type.';

/* ------------------------------------------------------------------------
 * Operation: a rebuild has one phase for all copies
 * ------------------------------------------------------------------------ */

COMMENT ON VIEW @extschema@.progress IS
'Jobs the worker has yet to finish, one row each. kind: rebuild, rename or deletion; user_id: whose (rename, deletion); phase: waiting, copies or feed of a rebuild, sweep, waiting, recheck or showing of the others; done, total: items (total is an estimate, for a rebuild only); rows_per_second, estimated_end: at the rate so far.';

/* ------------------------------------------------------------------------
 * Keys of the site's own
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.key_id(type text, key text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_key_id'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.key_id FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.key_id IS
'The id of the item that a site knows by a key of its own: always the same, on every server, in every version and encoding. import() uses it for keys that are no uuid.
type: user, post, comment or like; key: the site''s key, a number as it is written; case and spaces count.
Returns a uuid of version 8 (RFC 9562): the first 16 bytes of the SHA-256 of type, a byte 0 and key, in UTF-8, with the version in the upper half of byte 6 and the variant in the upper two bits of byte 8. NULL for a NULL.
Errors: 22021 a key that cannot be written in UTF-8; 22023 another type or an empty key; 54000 a key longer than 64 MB.';

/* ------------------------------------------------------------------------
 * Import: keys of the site's own, and catching up
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.import(users regclass DEFAULT NULL, posts regclass DEFAULT NULL, comments regclass DEFAULT NULL, likes regclass DEFAULT NULL, rejects regclass DEFAULT NULL, key_prefix text DEFAULT '', guest uuid DEFAULT NULL, changed text DEFAULT 'reject', extra text[] DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint, OUT updated bigint, OUT left_out text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import_0_2'
LANGUAGE C VOLATILE ROWS 4;
COMMENT ON FUNCTION @extschema@.import IS
'Import a site''s tables or views, in one transaction beside live traffic. They are read with the caller''s rights.
users: user_id, username text, creation_date timestamptz; posts: post_id, user_id, title, content, creation_date; comments: comment_id, post_id, user_id, content, creation_date; likes: post_id, user_id, creation_date; each may be left out. They may have as well: users, posts and comments properties jsonb; posts and comments hidden boolean, modification_date timestamptz; comments parent_id. creation_date NULL: now. Ids are uuid, or keys of the site''s own: bigint, integer, smallint, text or varchar. rejects: a table of the caller with the columns type text, reason text, item jsonb for what cannot be imported, as documents that import_documents() takes once they are mended; without it the import is all or nothing.
key_prefix: of a key the id is key_id(type, key_prefix || key); two sources whose keys are not the same need prefixes of their own. A text that is a uuid is rejected where there is no prefix: cast it to uuid, or pass one. guest: the user who becomes the author of posts and comments whose user_id is NULL, which are rejected otherwise. changed: reject, or update: an item that is there with the same id and author, but another username, title, content, parent_id, other properties, or hidden otherwise, becomes what the source says; another author or creation_date is rejected all the same, but of a hidden post that the source shows. extra: columns of users, posts and comments that become properties, those that are NULL left out; no other column is taken in.
Returns for each type of item how many were read, imported, present (there with the same values, so that an import can be repeated), rejected (values that no command takes, an unknown post or user, a user being deleted, a duplicate id, an id taken by other values, a username taken, a post liked already) and updated, and which columns of its table were left out (NULL: there was no table).
What is being done shows in pg_stat_activity; sorts and hash tables may take maintenance_work_mem each. The containers'' owner needs TEMPORARY on the database.
Errors: 22004 key_prefix or changed NULL, a NULL in extra; 22023 another value of changed, a name in extra that no property may have; 23503 no such guest; 23514 rejects, and no table for them; 25001 not in READ COMMITTED; 25006 read-only transaction; 40001 items were created, changed or deleted meanwhile: repeat it; 42501 no right on a table; 42703 a column is missing; 42804 a column of another type; 42809, 42P01 no table or view; 54000 a text longer than 64 MB, and no table for rejects; 55000 no containers, a partition of them is away, or they are of an older version and items have what these have no column for.';

COMMENT ON FUNCTION @extschema@.import_documents IS
'Import JSON documents in the article''s shape, as the casts of items to jsonb and export_documents() give them, in any order. Keys that are not the article''s are properties of users, posts and comments, hidden, modificationDate and parentId are what import() takes by these names; ignored are names of authors, counts, what is the article''s but not of this type of item (a comment''s title), and further keys of likes. A document that export_documents() has given comes out of it again as it went in, byte for byte as jsonb.
documents: a table or view with one column of type jsonb; rejects: as in import(); documents that are no items are in it as they are.
Returns as import(), with another row, type NULL, for documents of no known type if there are any.
Errors: 22004 no documents; else as import().';

/* ------------------------------------------------------------------------
 * Requests: pages in one call
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.get_posts(post_ids uuid[])
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_get_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION @extschema@.get_posts FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.get_posts IS
'Retrieve many posts in full, with exact counts, in one snapshot.
post_ids: of the posts; of an array of several dimensions all elements, as unnest() gives them.
Returns the posts in the order asked, a post as often as it is asked for; an unknown id and a NULL leave no row.
Errors: 22004 no array; 55000 no containers, or the partition of one of the ids is away.';

CREATE FUNCTION @extschema@.get_users(user_ids uuid[])
RETURNS SETOF @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_users'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION @extschema@.get_users FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.get_users IS
'Retrieve many users.
user_ids: of the users; of an array of several dimensions all elements, as unnest() gives them.
Returns the users in the order asked, a user as often as asked for; an unknown id and a NULL leave no row.
Errors: 22004 no array; 55000 no containers, or the partition of one of the ids is away.';

CREATE FUNCTION @extschema@.get_likes(user_id uuid, post_ids uuid[])
RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_get_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION @extschema@.get_likes FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.get_likes IS
'Which of these posts has this user liked?
user_id: who may have liked them; post_ids: of the posts; of an array of several dimensions all elements, as unnest() gives them.
Returns the likes in the order in which their posts were asked for, a like as often as its post; a post that the user has not liked, an unknown id and a NULL leave no row.
Errors: 22004 a NULL user_id, or no array; 55000 no containers, or the partition of one of the posts is away.';

/* ------------------------------------------------------------------------
 * Doors: who may call the requests, and wrappers of them
 *
 * These are written in SQL and PL/pgSQL, and not in C: they read the catalogs and
 * write statements, with the rights of whoever calls them.
 *
 * Which functions the requests are is known from one place, the table of names in
 * src/stats/stats.c, to which whoever adds a request adds it.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.request_names()
RETURNS text[]
AS 'MODULE_PATHNAME', 'blogstore_request_names'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.request_names FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.request_names IS
'The names of the requests, which are those of their functions.';

CREATE FUNCTION @extschema@.request_functions(OUT function regprocedure, OUT kind text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $body$
SELECT p.oid::regprocedure, k.kind
FROM pg_extension AS e
JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
JOIN pg_proc AS p ON p.oid = d.objid
CROSS JOIN (SELECT @extschema@.request_names() AS names) AS r
CROSS JOIN LATERAL (SELECT CASE
	WHEN p.proname::text = ANY (r.names) THEN CASE p.provolatile WHEN 'v' THEN 'command' ELSE 'query' END
	WHEN p.proname LIKE 'own\_%' AND substr(p.proname, 5) = ANY (r.names) THEN 'own'
	WHEN EXISTS (SELECT FROM pg_cast AS c WHERE c.castfunc = p.oid) THEN 'document'
	WHEN p.proname IN ('request_names', 'request_functions', 'api_functions', 'api_bypass', 'current_user_id') THEN 'tool'
	END AS kind) AS k
WHERE e.extname = 'blogstore' AND p.pronamespace = e.extnamespace AND k.kind IS NOT NULL
$body$;
REVOKE ALL ON FUNCTION @extschema@.request_functions FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.request_functions IS
'The functions that grant_requests() grants. kind: command or query, which are the requests; own: a request for one author''s items alone, whose first argument that author is; document: what casts an item to jsonb; tool: what create_api() and its wrappers call.';

CREATE FUNCTION @extschema@.current_user_id(required boolean DEFAULT true)
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_current_user_id'
LANGUAGE C STABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.current_user_id FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.current_user_id IS
'The user in the setting blogstore.current_user_id, for whom wrappers act that create_api(..., as_caller => true) has made.
required: raise an error if there is none, else return NULL.
Errors: 22004 required is NULL; 42501 none, and one is required.';

CREATE FUNCTION @extschema@.own_edit_post(author uuid, post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_own_edit_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_edit_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_edit_post IS
'C2: edit_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns the post as it is now.
Errors: those of edit_post(); 22004 no author; 42501 the post is another user''s, 23503 if it is hidden.';

CREATE FUNCTION @extschema@.own_delete_post(author uuid, post_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_own_delete_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_delete_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_delete_post IS
'delete_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns whether there was one by the author.
Errors: those of delete_post(); 22004 no author.';

CREATE FUNCTION @extschema@.own_hide_post(author uuid, post_id uuid, hidden boolean DEFAULT true)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_own_hide_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_hide_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_hide_post IS
'hide_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns the post as it is now.
Errors: those of hide_post(); 22004 no author; 42501 the post is another user''s, 23503 if it is hidden.';

CREATE FUNCTION @extschema@.own_publish_post(author uuid, post_id uuid)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_own_publish_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_publish_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_publish_post IS
'publish_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns the post as it is now.
Errors: those of publish_post(); 22004 no author; 42501 the post is another user''s, 23503 if it is hidden.';

CREATE FUNCTION @extschema@.own_create_comment(author uuid, post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_own_create_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_create_comment FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_create_comment IS
'create_comment() of a comment that is the author''s, to whom others'' hidden posts and comments are unknown. For wrappers.
Returns the comment.
Errors: those of create_comment(); 22004 no author; 42501 the comment is to be another user''s, 23503 the post or the parent is another user''s and hidden.';

CREATE FUNCTION @extschema@.own_create_like(author uuid, post_id uuid, user_id uuid, creation_date timestamptz DEFAULT NULL)
RETURNS @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_own_create_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_create_like FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_create_like IS
'create_like() of a like that is the author''s, to whom others'' hidden posts are unknown. For wrappers.
Returns the like.
Errors: those of create_like(); 22004 no author; 42501 the like is to be another user''s, 23503 the post is another user''s and hidden.';

CREATE FUNCTION @extschema@.own_edit_comment(author uuid, post_id uuid, comment_id uuid, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_own_edit_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_edit_comment FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_edit_comment IS
'edit_comment() of a comment that is the author''s, which is looked at while the comment is locked. For wrappers.
Returns the comment as it is now.
Errors: those of edit_comment(); 22004 no author; 42501 the comment is another user''s, 23503 if it or its post is hidden.';

CREATE FUNCTION @extschema@.own_delete_comment(author uuid, post_id uuid, comment_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_own_delete_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.own_delete_comment FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.own_delete_comment IS
'delete_comment() of a comment that is the author''s, which is looked at while the comment is locked. For wrappers.
Returns whether there was one by the author.
Errors: those of delete_comment(); 22004 no author.';

CREATE FUNCTION @extschema@.grant_requests(role regrole)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
	grantee	name;
	refused	regprocedure;
BEGIN
	IF role IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = '22004', MESSAGE = 'role must not be null', HINT = 'Pass a value for role.';
	END IF;
	SELECT r.rolname INTO grantee FROM pg_roles AS r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('role with OID %s does not exist', role::oid),
			HINT = 'Pass the name of a role.';
	END IF;
	-- who may not grant it need not, where the role has it from PUBLIC
	IF has_schema_privilege('@extschema@', 'USAGE WITH GRANT OPTION')
		OR NOT has_schema_privilege(role, '@extschema@', 'USAGE')
	THEN
		EXECUTE format('GRANT USAGE ON SCHEMA @extschema@ TO %I', grantee);
	END IF;
	EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I',
		(SELECT string_agg(f.function::text, ', ') FROM @extschema@.request_functions() AS f), grantee);
	-- of what it must not grant the server only warns
	SELECT f.function INTO refused FROM @extschema@.request_functions() AS f
	WHERE NOT has_function_privilege(role, f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('no right to grant EXECUTE on %s', refused),
			HINT = 'Call it as the owner of the extension.';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION @extschema@.grant_requests FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.grant_requests IS
'Let a role call the requests: EXECUTE on them, on the casts of their results to jsonb, on the functions own_...() that do less, and on what create_api() and its wrappers call; USAGE on the schema. Nothing else: no operation, no import, no table.
role: whom. An update of the extension grants the queries that it adds to whoever holds get_post(), and the commands to whoever of these holds create_post() too.
Errors: 22004 NULL; 25006 read-only transaction; 42501 no right to grant them; 42704 no such role.';

CREATE FUNCTION @extschema@.revoke_requests(role regrole)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
	grantee	name;
	kept	regprocedure;
BEGIN
	IF role IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = '22004', MESSAGE = 'role must not be null', HINT = 'Pass a value for role.';
	END IF;
	SELECT r.rolname INTO grantee FROM pg_roles AS r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('role with OID %s does not exist', role::oid),
			HINT = 'Pass the name of a role.';
	END IF;
	EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I',
		(SELECT string_agg(f.function::text, ', ') FROM @extschema@.request_functions() AS f), grantee);
	-- it may need the schema for functions that it was granted otherwise
	IF NOT EXISTS (SELECT FROM pg_proc AS p, aclexplode(p.proacl) AS a
			WHERE p.pronamespace = '@extschema@'::regnamespace AND a.grantee = role AND p.proowner <> role)
		AND has_schema_privilege('@extschema@', 'USAGE WITH GRANT OPTION')
	THEN
		EXECUTE format('REVOKE USAGE ON SCHEMA @extschema@ FROM %I', grantee);
	END IF;
	SELECT f.function INTO kept FROM @extschema@.request_functions() AS f
	WHERE has_function_privilege(role, f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE WARNING USING MESSAGE = format('role %I can still execute %s', grantee, kept),
			HINT = 'It is a superuser or the owner, or has the right from PUBLIC, from a role that it is a member of, or from whom somebody else has let grant it.';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION @extschema@.revoke_requests FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.revoke_requests IS
'Take from a role what grant_requests() gives. USAGE on the schema stays if the role holds other functions in it. A warning tells if the role can execute requests all the same.
role: from whom.
Errors: 22004 NULL; 25006 read-only transaction; 2BP01 the role has granted them to others; 42501 no right to revoke them; 42704 no such role.';

CREATE FUNCTION @extschema@.api_functions(schema text, as_caller boolean DEFAULT false, OUT name text, OUT arguments text, OUT returns text, OUT options text, OUT body text, OUT comment text)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $body$
WITH
-- Requests, each with the function that is called for it. As the caller, that is
-- own_...() where there is one, with the current user before the request's arguments:
-- the author of the items that a command may change, and to a query who looks, NULL for
-- nobody. A command that names no user and has no such function has no wrapper.
-- What a wrapper guarantees of a query: nobody but its author sees through it a post that
-- is hidden, the comments and likes on it, or a comment that is hidden. Where there is no
-- function of this kind, the wrapper itself leaves out what is not to be seen.
request AS (
	SELECT p.*, p.provolatile = 'v' AS command, o.oid IS NOT NULL AS own,
		-- whether some of what it returns is to be kept from others: posts, or what is on them
		CASE WHEN p.provolatile = 'v' THEN ''
			WHEN p.prorettype = '@extschema@.post_item'::regtype THEN 'post'
			WHEN p.prorettype IN ('@extschema@.comment_item'::regtype, '@extschema@.like_item'::regtype) THEN 'child'
			ELSE '' END AS kept,
		'@extschema@.' || quote_ident(coalesce(o.proname, p.proname)) AS callee
	FROM @extschema@.request_functions() AS f
	JOIN pg_proc AS p ON p.oid = f.function
	LEFT JOIN (pg_proc AS o JOIN @extschema@.request_functions() AS g ON g.function = o.oid AND g.kind = 'own')
		ON as_caller AND o.proname = 'own_' || p.proname
		AND o.proargtypes::oid[] = 'uuid'::regtype::oid || p.proargtypes::oid[]
		AND o.prorettype = p.prorettype AND o.proretset = p.proretset
	WHERE f.kind IN ('command', 'query') AND p.proargmodes IS NULL
		AND NOT (as_caller AND p.provolatile = 'v' AND o.oid IS NULL AND NOT 'user_id' = ANY (p.proargnames))
),
-- What relates items: by which request, and which of its arguments an item's
-- properties are. Those whose request there is not are left out.
relation (type, relation, request, bound) AS (VALUES
	('user_item', 'posts', 'list_user_posts', '{"user_id": "user_id"}'::jsonb),
	('user_item', 'comments', 'list_user_comments', '{"user_id": "user_id"}'),
	('user_item', 'likes', 'list_user_likes', '{"user_id": "user_id"}'),
	('post_item', 'author', 'get_user', '{"user_id": "user_id"}'),
	('post_item', 'comments', 'list_post_comments', '{"post_id": "post_id"}'),
	('post_item', 'likes', 'list_post_likes', '{"post_id": "post_id"}'),
	('comment_item', 'author', 'get_user', '{"user_id": "user_id"}'),
	('comment_item', 'post', 'get_post', '{"post_id": "post_id"}'),
	('comment_item', 'replies', 'list_comment_replies', '{"post_id": "post_id", "parent_id": "id"}'),
	('like_item', 'author', 'get_user', '{"user_id": "user_id"}'),
	('like_item', 'post', 'get_post', '{"post_id": "post_id"}')
),
wrapper AS (
	SELECT r.proname::text AS name, r.oid AS request, NULL::text AS item, '{}'::jsonb AS bound, r.proretset AS set
	FROM request AS r
	UNION ALL
	SELECT v.type || '_' || v.relation, r.oid, v.type, v.bound, r.proretset AND r.prorows > 1
	FROM relation AS v JOIN request AS r ON r.proname = v.request
),
-- The arguments of a wrapper's request, and where it takes them from: "given" are
-- those that its caller does not name. As the caller, a command acts for the current
-- user and dates what it writes now; and a query is asked for hidden posts of the current
-- user alone. A list from which comments or likes may have to be left out is asked for all that
-- follows, and read until the page is full.
argument AS (
	SELECT w.name, n, quote_ident(r.proargnames[n]) || ' ' || format_type(r.proargtypes[n - 1], NULL) AS declared,
		pg_get_function_arg_default(r.oid, n) AS default,
		CASE WHEN w.bound ? r.proargnames[n] THEN '($1).' || quote_ident(w.bound ->> r.proargnames[n])
			WHEN as_caller AND r.command AND r.proargnames[n] = 'user_id' THEN '@extschema@.current_user_id(true)'
			WHEN as_caller AND r.command AND r.proargnames[n] = 'creation_date' THEN 'NULL::timestamptz'
		END AS given, w.item IS NOT NULL AS related, r.proargnames[n] AS argument, r.own, r.kept
	FROM wrapper AS w JOIN request AS r ON r.oid = w.request
	CROSS JOIN LATERAL generate_series(1, r.pronargs) AS n
),
numbered AS (
	SELECT a.*, coalesce(a.given, '$' || (a.related::int + count(*) FILTER (WHERE a.given IS NULL)
		OVER (PARTITION BY a.name ORDER BY a.n))) AS value
	FROM argument AS a
),
-- as the caller's: where a query has no function of its own for that
adapted AS (
	SELECT a.*, u.value AS user_id, p.value AS post_id, s.value AS page_size,
		CASE WHEN NOT as_caller OR a.own OR a.kept = '' THEN a.value
			WHEN a.argument = 'include_hidden' AND a.kept = 'post' THEN
				format('%s AND %s IS NOT DISTINCT FROM @extschema@.current_user_id(false)', a.value, u.value)
			WHEN a.argument = 'page_size' AND a.kept = 'child' THEN format('CASE WHEN %1$s < 1 THEN %1$s END', a.value)
			ELSE a.value END AS passed
	FROM numbered AS a
	LEFT JOIN numbered AS u ON u.name = a.name AND u.argument = 'user_id'
	LEFT JOIN numbered AS p ON p.name = a.name AND p.argument = 'post_id'
	LEFT JOIN numbered AS s ON s.name = a.name AND s.argument = 'page_size'
),
listed AS (
	SELECT a.name, min(a.post_id) AS post_id, min(a.page_size) AS page_size, string_agg(a.declared || coalesce(' DEFAULT ' || a.default, ''), ', ' ORDER BY a.n)
			FILTER (WHERE a.given IS NULL) AS declared,
		string_agg(a.passed, ', ' ORDER BY a.n) AS passed
	FROM adapted AS a GROUP BY a.name
),
item AS (
	SELECT t.oid, t.typname, string_agg('r.' || quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
	FROM pg_type AS t JOIN pg_attribute AS a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE t.typnamespace = '@extschema@'::regnamespace AND t.typname LIKE '%\_item'
	GROUP BY t.oid, t.typname
)
SELECT w.name,
	concat_ws(', ', CASE WHEN w.item IS NOT NULL THEN 'item ' || quote_ident(schema) || '.' || w.item END, l.declared),
	CASE WHEN w.set THEN 'SETOF ' ELSE '' END
		|| coalesce(quote_ident(schema) || '.' || i.typname, format_type(r.prorettype, NULL)),
	concat_ws(' ', CASE r.provolatile WHEN 'v' THEN 'VOLATILE' ELSE 'STABLE' END,
		CASE r.proparallel WHEN 's' THEN 'PARALLEL SAFE' END,
		CASE WHEN w.set THEN 'ROWS ' || r.prorows END,
		CASE WHEN as_caller THEN 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp' END),
	-- the columns are named, so that a wrapper serves until it is made anew where an
	-- update has given an item more of them
	format('SELECT %s FROM %s(%s) AS r', coalesce(i.columns, 'r'), r.callee,
		concat_ws(', ', CASE WHEN r.own THEN format('@extschema@.current_user_id(%s)', r.command::text) END, l.passed))
		|| CASE WHEN NOT as_caller OR r.own OR r.kept = '' THEN '' ELSE
			' WHERE ' || concat_ws(' AND ',
				-- a subquery, which the planner leaves where it is, so that the order stays
				CASE WHEN r.kept = 'child' THEN
					format('coalesce((SELECT p.hidden IS NOT TRUE OR p.user_id = @extschema@.current_user_id(false) FROM @extschema@.get_post(%s) AS p), false)',
						coalesce(l.post_id, 'r.post_id')) END,
				CASE WHEN r.prorettype <> '@extschema@.like_item'::regtype THEN
					'(r.hidden IS NOT TRUE OR r.user_id = @extschema@.current_user_id(false))' END)
			|| CASE WHEN r.kept = 'child' AND l.page_size IS NOT NULL THEN
				format(' LIMIT CASE WHEN %1$s >= 1 THEN %1$s END', l.page_size) ELSE '' END
		END,
	concat_ws(E'\n', CASE WHEN w.item IS NULL THEN obj_description(r.oid, 'pg_proc')
			WHEN w.set THEN format('What %s() lists for this item.', r.proname)
			ELSE format('What %s() retrieves for this item.', r.proname) END,
		CASE WHEN as_caller AND r.command THEN
			'The user is the one who is signed in (42501 nobody is), who changes own items alone; the date is the present.' END)
FROM wrapper AS w JOIN request AS r ON r.oid = w.request
LEFT JOIN listed AS l ON l.name = w.name
LEFT JOIN item AS i ON i.oid = r.prorettype
$body$;
REVOKE ALL ON FUNCTION @extschema@.api_functions FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.api_functions IS
'The functions that create_api() makes in a schema, one row each.
schema: its name; as_caller: as in create_api().';

-- What a role may do that as_caller is to keep from it; NULL: nothing. By which role
-- does not matter: it may become any that it is a member of.
CREATE FUNCTION @extschema@.api_bypass(role regrole)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $body$
WITH reach AS (
	SELECT r.oid, r.rolname, r.rolsuper, r.rolcreaterole, r.rolreplication
	FROM pg_roles AS r WHERE pg_has_role(role, r.oid, 'MEMBER')
)
SELECT b.bypass FROM (
	SELECT 0, 'is a superuser, or may grant itself any role' FROM reach AS r
	WHERE r.rolsuper OR r.rolcreaterole
	UNION ALL
	SELECT 1, 'may replicate the server' FROM reach AS r WHERE r.rolreplication
	UNION ALL
	SELECT 1, format('has the rights of %s', r.rolname) FROM reach AS r
	WHERE r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
	UNION ALL
	-- whoever makes functions there may make what wrappers call
	SELECT 1, 'can create functions in schema @extschema@' FROM reach AS r
	WHERE has_schema_privilege(r.oid, '@extschema@', 'CREATE')
	UNION ALL
	SELECT 2, format('can execute %s', f.function) FROM reach AS r, @extschema@.request_functions() AS f
	WHERE f.kind IN ('command', 'query', 'own') AND has_function_privilege(r.oid, f.function, 'EXECUTE')
	UNION ALL
	SELECT 2, format('can execute %s', p.oid::regprocedure) FROM reach AS r, pg_proc AS p
	WHERE p.pronamespace = '@extschema@'::regnamespace
		AND p.proname IN ('import', 'import_documents', 'export_documents', 'verify') AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
	UNION ALL
	SELECT 3, 'can set blogstore.current_user_id' FROM reach AS r
	WHERE has_parameter_privilege(r.oid, 'blogstore.current_user_id', 'SET, ALTER SYSTEM')
	UNION ALL
	SELECT 4, format('has rights on %s', c.oid::regclass) FROM reach AS r, pg_class AS c
	WHERE c.relnamespace = '@extschema@'::regnamespace AND c.relkind IN ('r', 'p')
		AND (has_table_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
			OR has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
) AS b (place, bypass)
ORDER BY b.place, b.bypass COLLATE "C" LIMIT 1
$body$;
REVOKE ALL ON FUNCTION @extschema@.api_bypass FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.api_bypass IS
'By what a role gets past wrappers made with as_caller, itself or as a role that it is a member of, as the end of a sentence; NULL if it does not.
role: who is to have the wrappers alone.';

CREATE FUNCTION @extschema@.create_api(schema text, role regrole, as_caller boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $body$
<<api>>
DECLARE
	mark	CONSTANT text := 'Made by blogstore.create_api().';
	caller	CONSTANT oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user);
	grantee	name;
	space	oid;
	owner	oid;
	found_one text;
	made	regprocedure[];
	there	text[];
	taken	text[];
	kept	jsonb;
	wanted	record;
	grant_of record;
BEGIN
	-- Arguments

	IF schema IS NULL OR role IS NULL OR as_caller IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = '22004', MESSAGE = format('%s must not be null',
				CASE WHEN schema IS NULL THEN 'schema' WHEN role IS NULL THEN 'role' ELSE 'as_caller' END),
			HINT = 'Pass a value for each argument.';
	END IF;
	IF schema = '' OR octet_length(schema) > 63 OR schema IN ('@extschema@', 'information_schema') OR schema LIKE 'pg\_%' THEN
		RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('schema %I cannot have wrappers', schema),
			HINT = 'Name a schema of your own, or one that is to be made.';
	END IF;
	SELECT r.rolname INTO grantee FROM pg_roles AS r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('role with OID %s does not exist', role::oid),
			HINT = 'Pass the name of a role.';
	END IF;

	-- Who may have them

	IF NOT as_caller THEN
		SELECT f.function::text INTO found_one FROM @extschema@.request_functions() AS f
		WHERE f.kind IN ('command', 'query') AND NOT has_function_privilege(role, f.function, 'EXECUTE')
		ORDER BY f.function::text COLLATE "C" LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('role %I cannot execute %s', grantee, found_one),
				HINT = format('Call blogstore.grant_requests(%L) first, or make wrappers with as_caller => true for a role that a browser speaks as.', quote_ident(grantee));
		END IF;
	ELSE
		IF (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = caller) THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'a superuser cannot own wrappers that act for their callers',
				DETAIL = 'They run with the rights of whoever makes them.',
				HINT = 'SET ROLE to an ordinary role that has the requests (grant_requests()) and EXECUTE on create_api().';
		END IF;
		SELECT f.function::text INTO found_one FROM @extschema@.request_functions() AS f
		WHERE NOT has_function_privilege(f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('no right to execute %s, which the wrappers call', found_one),
				HINT = format('Have the owner of the extension call blogstore.grant_requests(%L).', quote_ident(current_user));
		END IF;
		found_one := @extschema@.api_bypass(role);
		IF found_one IS NOT NULL THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('role %I %s', grantee, found_one),
				DETAIL = 'It has the right itself, from PUBLIC, or by a role that it is a member of.',
				HINT = 'Wrappers with as_caller are for a role that has no other way to the items. Revoke the right, or name another role.';
		END IF;
	END IF;

	-- Where they are: in a schema of the caller's, beside nothing of their names that
	-- was not made here

	SELECT n.oid, n.nspowner INTO space, owner FROM pg_namespace AS n WHERE n.nspname = schema;
	IF NOT FOUND THEN
		EXECUTE format('CREATE SCHEMA %I', schema);
		SELECT n.oid, n.nspowner INTO space, owner FROM pg_namespace AS n WHERE n.nspname = schema;
	END IF;
	IF owner <> caller THEN
		RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('schema %I belongs to role %I', schema, pg_get_userbyid(owner)),
			HINT = 'SET ROLE to its owner, or name another schema.';
	END IF;
	SELECT d.description INTO found_one FROM (
		SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0) FROM pg_proc AS p
		WHERE p.pronamespace = space AND p.proname IN (SELECT w.name FROM @extschema@.api_functions(schema, as_caller) AS w)
			AND NOT (p.proowner = caller AND coalesce(obj_description(p.oid, 'pg_proc'), '') LIKE '%' || mark)
		UNION ALL
		SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) FROM pg_class AS c
		WHERE c.relnamespace = space AND c.relname IN ('user_item', 'post_item', 'comment_item', 'like_item')
			AND NOT (c.relowner = caller AND c.relkind = 'v' AND coalesce(obj_description(c.oid, 'pg_class'), '') LIKE '%' || mark)
		UNION ALL
		SELECT pg_describe_object('pg_type'::regclass, t.oid, 0) FROM pg_type AS t
		WHERE t.typnamespace = space AND t.typname IN ('user_item', 'post_item', 'comment_item', 'like_item') AND t.typrelid = 0
	) AS d (description) ORDER BY d.description COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('%s was not made by create_api()', found_one),
			HINT = 'Drop or rename it, or name another schema.';
	END IF;
	SELECT array_agg(p.oid::regprocedure) INTO made FROM pg_proc AS p
	WHERE p.pronamespace = space AND p.proowner = caller AND obj_description(p.oid, 'pg_proc') LIKE '%' || mark;
	IF EXISTS (SELECT FROM pg_proc AS p WHERE p.oid = ANY (made) AND p.prosecdef <> as_caller) THEN
		RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('schema %I has wrappers made with as_caller => %s', schema, (NOT as_caller)::text),
			HINT = 'Pass the same as_caller, name another schema, or drop this one first.';
	END IF;

	-- Away with those that are not what they should be. Whoever held one holds the new
	-- one of its name.

	kept := coalesce((SELECT jsonb_agg(jsonb_build_object('name', p.proname, 'grantee', a.grantee, 'grantable', a.is_grantable))
		FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
		WHERE p.oid = ANY (made) AND a.grantee <> caller), '[]');
	there := coalesce((SELECT array_agg(p.proname::text) FROM pg_proc AS p WHERE p.oid = ANY (made)), '{}');
	-- what was taken from the role, as publish_post() by who moderates posts, does not come back
	taken := coalesce((SELECT array_agg(t.name) FROM unnest(there) AS t (name)
		WHERE as_caller AND EXISTS (SELECT FROM jsonb_to_recordset(kept) AS k (grantee oid) WHERE k.grantee = role)
			AND NOT EXISTS (SELECT FROM jsonb_to_recordset(kept) AS k (name text, grantee oid) WHERE k.grantee = role AND k.name = t.name)), '{}');
	FOR wanted IN SELECT f.oid::regprocedure AS function FROM unnest(made) AS f (oid) JOIN pg_proc AS p USING (oid)
		WHERE NOT EXISTS (SELECT FROM @extschema@.api_functions(schema, as_caller) AS w
			WHERE w.name = p.proname AND w.arguments = pg_get_function_arguments(p.oid)
				AND w.returns = pg_get_function_result(p.oid))
	LOOP
		EXECUTE format('DROP FUNCTION %s', wanted.function);
	END LOOP;

	-- Items, as views without a row. Hasura takes functions that return rows of a table or
	-- view; PostGraphile and PostgREST know what belongs to an item from functions of its
	-- type in the type's own schema.

	FOR wanted IN SELECT t.typname, obj_description(t.oid, 'pg_type') AS comment,
			string_agg(format('NULL::%s AS %I', format_type(a.atttypid, a.atttypmod), a.attname), ', ' ORDER BY a.attnum) AS columns
		FROM pg_type AS t JOIN pg_attribute AS a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE t.typnamespace = '@extschema@'::regnamespace AND t.typname IN ('user_item', 'post_item', 'comment_item', 'like_item')
		GROUP BY t.oid, t.typname
	LOOP
		EXECUTE format('CREATE OR REPLACE VIEW %I.%I AS SELECT %s WHERE false', schema, wanted.typname, wanted.columns);
		EXECUTE format('COMMENT ON VIEW %I.%I IS %L', schema, wanted.typname,
			concat_ws(E'\n', '@name ' || replace(wanted.typname, '_item', ''), '@omit all,many,create,update,delete,filter,order',
				'@behavior -query:resource:list -query:resource:connection -query:resource:single -resource:insert -resource:update -resource:delete',
				wanted.comment, mark));
		EXECUTE format('GRANT SELECT ON %I.%I TO %I', schema, wanted.typname, grantee);
	END LOOP;

	-- The wrappers

	FOR wanted IN SELECT w.* FROM @extschema@.api_functions(schema, as_caller) AS w LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE sql %s AS %L',
			schema, wanted.name, wanted.arguments, wanted.returns, wanted.options, wanted.body);
		EXECUTE format('COMMENT ON FUNCTION %I.%I IS %L', schema, wanted.name, concat_ws(E'\n', wanted.comment, mark));
		-- PUBLIC, and whomever default privileges name
		FOR grant_of IN SELECT DISTINCT r.rolname FROM pg_proc AS p
			CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
			LEFT JOIN pg_roles AS r ON r.oid = a.grantee
			WHERE p.pronamespace = space AND p.proname = wanted.name AND a.grantee <> caller
				AND NOT EXISTS (SELECT FROM jsonb_to_recordset(kept) AS k (name text, grantee oid)
					WHERE k.name = wanted.name AND k.grantee = a.grantee)
		LOOP
			EXECUTE format('REVOKE ALL ON FUNCTION %I.%I FROM %s', schema, wanted.name,
				coalesce(quote_ident(grant_of.rolname), 'PUBLIC'));
		END LOOP;
		IF wanted.name <> ALL (taken) THEN
			EXECUTE format('GRANT EXECUTE ON FUNCTION %I.%I TO %I', schema, wanted.name, grantee);
		END IF;
		-- one that is new goes to whoever holds get_post()
		FOR grant_of IN SELECT r.rolname, k.grantable FROM jsonb_to_recordset(kept) AS k (name text, grantee oid, grantable boolean)
			LEFT JOIN pg_roles AS r ON r.oid = k.grantee
			WHERE k.name = CASE WHEN wanted.name = ANY (there) THEN wanted.name ELSE 'get_post' END
		LOOP
			EXECUTE format('GRANT EXECUTE ON FUNCTION %I.%I TO %s%s', schema, wanted.name,
				coalesce(quote_ident(grant_of.rolname), 'PUBLIC'), CASE WHEN grant_of.grantable THEN ' WITH GRANT OPTION' END);
		END LOOP;
	END LOOP;
	EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', schema, grantee);

	SELECT pg_describe_object(d.classid, d.objid, 0) INTO found_one FROM pg_depend AS d
	WHERE d.deptype = 'e' AND (d.classid, d.objid) IN (SELECT 'pg_namespace'::regclass, space
		UNION ALL SELECT 'pg_proc'::regclass, p.oid FROM pg_proc AS p WHERE p.pronamespace = space
		UNION ALL SELECT 'pg_class'::regclass, c.oid FROM pg_class AS c WHERE c.relnamespace = space)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('%s is a member of an extension', found_one),
			HINT = 'Call create_api() outside of extensions'' scripts, and take what is in the schema out of them with ALTER EXTENSION ... DROP.';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION @extschema@.create_api FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.create_api IS
'Make wrappers of all requests for a role, in a schema of the caller''s: plain SQL functions, and views without rows for the types of their results, which are no members of the extension. Generators of GraphQL and REST APIs show them. Call it again after an update.
schema: made if it is missing; role: is granted the wrappers. It must be able to execute the requests (grant_requests()); as_caller: the wrappers are for a role that a browser speaks as, which must not: they are SECURITY DEFINER, commands act for the user in blogstore.current_user_id, and change what this user has written alone. They have no arguments user_id and creation_date.
Only what it has made itself is replaced or dropped; whoever held a wrapper goes on holding it, and, as_caller, a wrapper that was revoked from the role stays so while it holds others.
Errors: 2BP01 something depends on a wrapper that must be dropped; 22004 NULL; 22023 a schema that is PostgreSQL''s or blogstore''s; 25006 read-only transaction; 42501 the schema is another role''s, the caller lacks a right or, as_caller, is a superuser, or the role has too few rights, or, as_caller, others than the wrappers; 42704 no such role; 42710 something else has a wrapper''s name; 55000 the schema has wrappers of the other kind, or it is within an extension''s script.';

/* ------------------------------------------------------------------------
 * Functions that were made anew have owner and rights of those in whose place they
 * are. Only grants come behind it.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.take_rights(regprocedure, regprocedure) RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_take_rights_0_2'
LANGUAGE C VOLATILE STRICT;

DO $body$
DECLARE
	aside	record;
	anew	regprocedure;
BEGIN
	FOR aside IN
		SELECT p.oid::regprocedure AS function, p.proowner::regrole AS owner, left(p.proname, -6) AS name
		FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
			JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		WHERE e.extname = 'blogstore' AND p.proname LIKE '% (0.1)'
	LOOP
		-- the only one of its name, or an error
		anew := format('@extschema@.%I', aside.name)::regproc;
		EXECUTE format('ALTER FUNCTION %s OWNER TO %s', anew, aside.owner);
		PERFORM @extschema@.take_rights(aside.function, anew);
		EXECUTE format('DROP FUNCTION %s', aside.function);
	END LOOP;
END
$body$;

DROP FUNCTION @extschema@.take_rights(regprocedure, regprocedure);

/* ------------------------------------------------------------------------
 * Grants: requests that are new here go to whoever holds get_post(), commands only if
 * create_post() too, behind all that is made and made anew above
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.grant_for_site(statement text) RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_grant_for_site'
LANGUAGE C VOLATILE STRICT;

DO $body$
DECLARE
	of_0_1	CONSTANT text[] := ARRAY['create_user', 'edit_user', 'get_user', 'get_user_by_name', 'create_post', 'edit_post', 'get_post',
		'list_user_posts', 'create_comment', 'list_post_comments', 'create_like', 'list_post_likes', 'list_feed', 'edit_comment',
		'get_like', 'delete_like', 'delete_comment', 'delete_post', 'delete_user'];
	added	record;
BEGIN
	FOR added IN
		WITH held AS (
			SELECT p.proname, a.grantee, a.is_grantable
			FROM @extschema@.request_functions() AS f JOIN pg_proc AS p ON p.oid = f.function, aclexplode(p.proacl) AS a
			WHERE p.proname IN ('get_post', 'create_post') AND a.grantee <> p.proowner
		)
		SELECT f.function, h.grantee, bool_or(h.is_grantable) AS grantable
		FROM @extschema@.request_functions() AS f JOIN pg_proc AS p ON p.oid = f.function
			JOIN held AS h ON h.proname = 'get_post'
		WHERE p.proname::text <> ALL (of_0_1) AND f.kind <> 'document'
			AND (p.provolatile <> 'v' OR EXISTS (SELECT FROM held AS c WHERE c.proname = 'create_post' AND c.grantee = h.grantee))
		GROUP BY f.function, h.grantee
	LOOP
		PERFORM @extschema@.grant_for_site(format('GRANT EXECUTE ON FUNCTION %s TO %s%s', added.function,
			CASE WHEN added.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(added.grantee)) END,
			CASE WHEN added.grantable THEN ' WITH GRANT OPTION' END));
	END LOOP;
END
$body$;

DROP FUNCTION @extschema@.grant_for_site(text);
