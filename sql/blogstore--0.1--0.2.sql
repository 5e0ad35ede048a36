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
'A post with its author''s name and its exact counts. type is ''post''; id and post_id are the same. In short form, content is cut to the first blogstore.short_form_length characters. hidden: in no feed; modification_date: of the last edit, NULL if there was none; properties: an object of the site''s own.';
ALTER TYPE @extschema@.comment_item
	ADD ATTRIBUTE parent_id uuid,
	ADD ATTRIBUTE hidden boolean,
	ADD ATTRIBUTE modification_date timestamptz,
	ADD ATTRIBUTE properties jsonb;
COMMENT ON TYPE @extschema@.comment_item IS
'A comment on a post with its author''s name. type is ''comment''. parent_id: the comment that it replies to; hidden: not counted; modification_date: of the last edit, NULL if there was none; properties: an object of the site''s own.';

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

CREATE FUNCTION @extschema@.create_comment(post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false)
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
'Make containers of an older version what create_containers() makes now: settings of leaves that the owner has not changed, a counter for each post that has none, NOT NULL for columns that an item must have. In chunks beside traffic, whether the worker runs or not; older containers are served without it, too. Whoever calls it again after it was cut short goes on there.
CALL it by itself: each chunk is a transaction. pg_stat_activity shows how far it is. Settings and the reading of rows lock a leaf as ANALYZE does; NOT NULL takes it twice for a moment alone, which is not waited for in a queue. A warning counts what others had in use all the time, and leaves with items that lack a value: call it again then.
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
post_id: the post; user_id: the author; content: not empty; comment_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most; NULL or {} for none; hidden: true to hold it for approval: it is in no list but with include_hidden, and not counted, until hide_comment(..., false).
Returns the comment; a repetition with the same id, author, content and properties returns it unchanged.
Errors: 22004 a NULL; 22023 an empty comment, bad date or bad properties; 23503 no such user or post; 23505 the id has another comment; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 the post is hidden, or no containers.';
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
COMMENT ON FUNCTION @extschema@.import IS
'Import a site''s tables or views, in one transaction beside live traffic. They are read with the caller''s rights; other columns are ignored.
users: user_id uuid, username text, creation_date timestamptz; posts: post_id, user_id, title, content, creation_date; comments: comment_id, post_id, user_id, content, creation_date; likes: post_id, user_id, creation_date; each may be left out. creation_date NULL: now. rejects: a table of the caller with the columns type text, reason text, item jsonb for what cannot be imported, as documents that import_documents() takes once they are mended; without it the import is all or nothing.
Returns for each type of item how many were read, imported, present (there with the same values, so that an import can be repeated) and rejected (values that no command takes, an unknown post or user, a user being deleted, a duplicate id, an id taken by other values, a username taken, a post liked already).
What is being done shows in pg_stat_activity; sorts and hash tables may take maintenance_work_mem each. The containers'' owner needs TEMPORARY on the database.
Errors: 23514 rejects, and no table for them; 25001 not in READ COMMITTED; 25006 read-only transaction; 40001 items were created or deleted meanwhile: repeat it; 42501 no right on a table; 42703 a column is missing; 42809, 42P01 no table or view; 54000 a text longer than 64 MB, and no table for rejects; 55000 no containers.';

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
 * Functions that were made anew have owner and rights of those in whose place they
 * are. This stays the end of the file.
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
