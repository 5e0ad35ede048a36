/*
 * blogstore--1.0.sql
 *		The SQL side of blogstore: item types, requests, operation, monitoring.
 *
 * The containers are not made here. blogstore.create_containers() makes them as
 * ordinary tables of its caller, so that they outlive the extension.
 *
 * All of it is read with the settings of the session: no string outside of a function's body has a
 * backslash (standard_conforming_strings), and the schema is named, not substituted
 * (quote_all_identifiers).
 *
 * Each object stands here once, with its privileges and its comment. EXECUTE on a
 * function is what lets a role in: every function is revoked from PUBLIC where it
 * is created.
 */
\echo Use "CREATE EXTENSION blogstore" to load this file. \quit

-- Whoever owns the schema can drop it, with all that is in it, and can put its own
-- functions beside these. Nothing is made in a schema that a role made before.
DO $body$
DECLARE
	owner	name;
BEGIN
	SELECT r.rolname INTO owner FROM pg_catalog.pg_namespace AS n JOIN pg_catalog.pg_roles AS r ON r.oid = n.nspowner
	WHERE n.oid = 'blogstore'::pg_catalog.regnamespace AND NOT r.rolsuper AND r.rolname <> current_user;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = pg_catalog.format('schema "blogstore" belongs to role "%s", who is no superuser', owner),
			DETAIL = 'Its owner could drop it with everything in it.',
			HINT = 'Drop the schema, or look at what is in it and run ALTER SCHEMA blogstore OWNER TO CURRENT_USER.';
	END IF;
END
$body$;

-- USAGE lets a role name the functions, and nothing else.
GRANT USAGE ON SCHEMA blogstore TO PUBLIC;

/* ------------------------------------------------------------------------
 * Items: the article's properties in the article's order, then further ones
 * ------------------------------------------------------------------------ */

CREATE TYPE blogstore.user_item AS (
	id				uuid,
	type			text,
	user_id			uuid,
	username		text,
	creation_date	timestamptz,
	properties		jsonb
);
COMMENT ON TYPE blogstore.user_item IS
'A user. type is ''user''; id and user_id are the same. properties: an object of the site''s own.';

CREATE TYPE blogstore.post_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	title			text,
	content			text,
	comment_count	bigint,
	like_count		bigint,
	creation_date	timestamptz,
	hidden			boolean,
	modification_date timestamptz,
	properties		jsonb
);
COMMENT ON TYPE blogstore.post_item IS
'A post with its author''s name and its exact counts. type is ''post''; id and post_id are the same. In short form, content is cut to the first blogstore.short_form_length characters, or, by blogstore.short_form_format, to those of the text in it. hidden: in no feed; modification_date: of the last edit, NULL if there was none; properties: an object of the site''s own.';

CREATE TYPE blogstore.comment_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	content			text,
	creation_date	timestamptz,
	parent_id		uuid,
	parent_deleted	boolean,
	hidden			boolean,
	modification_date timestamptz,
	properties		jsonb
);
COMMENT ON TYPE blogstore.comment_item IS
'A comment on a post with its author''s name. type is ''comment''. parent_id: the comment on the same post that it replies to, NULL if to none; parent_deleted: whether that is gone, which replies outlive, NULL without parent_id; hidden: not counted; modification_date: of the last edit, NULL if there was none; properties: an object of the site''s own.';

CREATE TYPE blogstore.like_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	creation_date	timestamptz
);
COMMENT ON TYPE blogstore.like_item IS
'A user''s like of a post; at most one per user and post. type is ''like''.';

/* ------------------------------------------------------------------------
 * Items as the article's JSON documents
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.user_document(item blogstore.user_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.user_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.user_document IS
'The user item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (blogstore.user_item AS jsonb) WITH FUNCTION blogstore.user_document(blogstore.user_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.user_item AS jsonb) IS
'The article''s document of a user item.';

CREATE FUNCTION blogstore.post_document(item blogstore.post_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.post_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.post_document IS
'The post item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (blogstore.post_item AS jsonb) WITH FUNCTION blogstore.post_document(blogstore.post_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.post_item AS jsonb) IS
'The article''s document of a post item.';

CREATE FUNCTION blogstore.comment_document(item blogstore.comment_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.comment_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.comment_document IS
'The comment item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (blogstore.comment_item AS jsonb) WITH FUNCTION blogstore.comment_document(blogstore.comment_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.comment_item AS jsonb) IS
'The article''s document of a comment item.';

CREATE FUNCTION blogstore.like_document(item blogstore.like_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.like_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.like_document IS
'The like item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (blogstore.like_item AS jsonb) WITH FUNCTION blogstore.like_document(blogstore.like_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.like_item AS jsonb) IS
'The article''s document of a like item.';

/* ------------------------------------------------------------------------
 * Ids
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.new_id()
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_new_id'
LANGUAGE C VOLATILE PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.new_id FROM PUBLIC;
COMMENT ON FUNCTION blogstore.new_id IS
'A new UUID of version 7 (RFC 9562): 48 bits of Unix time in milliseconds, 12 bits of its sub-millisecond part, 62 random bits. The default id of every item.';

CREATE FUNCTION blogstore.key_id(type text, key text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_key_id'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.key_id FROM PUBLIC;
COMMENT ON FUNCTION blogstore.key_id IS
'The id of the item that a site knows by a key of its own: always the same, on every server, in every version and encoding. import() uses it for keys that are no uuid.
type: user, post, comment or like; key: the site''s key, a number as it is written; case and spaces count.
Returns a uuid of version 8 (RFC 9562): the first 16 bytes of the SHA-256 of type, a byte 0 and key, in UTF-8, with the version in the upper half of byte 6 and the variant in the upper two bits of byte 8. NULL for a NULL.
Errors: 22021 a key that cannot be written in UTF-8; 22023 another type or an empty key; 54000 a key longer than 64 MB.';

/* ------------------------------------------------------------------------
 * Containers
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.create_containers(partitions integer DEFAULT 16, owner regrole DEFAULT NULL, distributed boolean DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_create_containers'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_containers FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_containers IS
'Create the containers users, posts and feed, and the bookkeeping tables beside them, in schema blogstore, or those of them that are missing.
partitions: hash partitions of users and of posts, or shards on a cluster, 1 to 1024; owner: the role that is to own them, NULL for the caller. What is attached to them runs with the owner''s rights, so it had better be no superuser. To give them to another role takes what ALTER TABLE ... OWNER TO takes. distributed: spread them over the cluster of the extension citus; NULL: where it is in the database and has nodes. That takes a superuser, on the coordinator; called again after citus_add_node() it makes what the new node needs.
Errors: 22004 no partitions; 22023 partitions out of range; 25006 read-only transaction; 42P07 nothing is missing, or a table of another role or shape has one of their names; 42501 no CREATE right on the schema, or not a member of owner, or no superuser on a cluster; 42704 no such role; 54000 64 other databases have containers; 55000 a cluster that is not ready, with what is missing. Where wal_level is too low for the views it works, and a warning says what to set.';

/* ------------------------------------------------------------------------
 * Commands
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.create_user(username text, user_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_create_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_user IS
'C1: create a user.
username: 1 to 64 characters, unique regardless of case, without control characters; blanks at its ends are not stored; user_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most, and 256 kB as text; NULL or {} for none.
Returns the user; a repetition with the same id, name and properties returns it unchanged.
Errors: 22004 no username; 22023 a bad username, date or properties; 23505 the name is taken, or the id has another name; 25006 read-only transaction; 40001 a user with this id was deleted or made anew since the transaction''s snapshot; 55000 no containers.';

CREATE FUNCTION blogstore.edit_user(user_id uuid, username text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_edit_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.edit_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.edit_user IS
'C1: rename a user, or change the user''s properties; NULL keeps what is there. A job of the worker relabels the items that carry the name.
user_id: the user; username: as in create_user; properties: an object in place of the one that is there, {} for none.
Returns the user as it is now.
Errors: 22004 no user_id, or neither username nor properties; 22023 a bad username or bad properties; 23503 no such user; 23505 the name is taken; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.delete_user(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_user IS
'Delete a user. From the commit on none of the user''s posts (with all comments and likes on them), comments and likes is served, counts are without them, and the username is free again; up to 200 items are deleted in this transaction, and a job of the worker purges the rest in batches.
Returns whether there was one.
Errors: 22004 no user_id; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.create_post(user_id uuid, title text, content text, post_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_create_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_post IS
'C2: create a post.
user_id: the author; title: 1 to 1,000 characters; content: may be empty; post_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most, and 256 kB as text; NULL or {} for none; hidden: true for a draft, which is in no feed and no list but its author''s with include_hidden, until publish_post().
Returns the post; a repetition with the same id, author, texts and properties, and with the same creation_date if one is given, returns it unchanged.
Errors: 22004 a NULL; 22023 an empty or too long title, bad date or bad properties; 23503 no such user; 23505 the id has another post; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';

CREATE FUNCTION blogstore.edit_post(post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_edit_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.edit_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.edit_post IS
'C2: change a post''s title, content or properties; NULL keeps what is there. Counts are not touched, and modification_date becomes now if anything changes.
title: 1 to 1,000 characters; content: may be empty; properties: an object in place of the one that is there, {} for none.
Returns the post as it is now.
Errors: 22004 no post_id; 22023 an empty or too long title or bad properties; 23503 no such post; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';

CREATE FUNCTION blogstore.hide_post(post_id uuid, hidden boolean DEFAULT true)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_hide_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.hide_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.hide_post IS
'Hide a post, or show it again at the date that it has. From the commit on a hidden post is in no feed and no list but its author''s with include_hidden, and takes no comments and likes; those that it has stay.
post_id: the post; hidden: false to show it.
Returns the post as it is now.
Errors: 22004 a NULL; 23503 no such post; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.publish_post(post_id uuid)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_publish_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.publish_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.publish_post IS
'Show a hidden post, dated now, so that it heads the feed. A post that is shown stays as it is.
Returns the post as it is now.
Errors: 22004 no post_id; 23503 no such post; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.delete_post(post_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_post IS
'Delete a post with its comments and likes.
Returns whether there was one.
Errors: 22004 no post_id; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.create_comment(post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_create_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_comment IS
'C3: comment on a post; its comment_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: the author; content: not empty; comment_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most, and 256 kB as text; NULL or {} for none; hidden: true to hold it for approval: it is in no list but with include_hidden, and not counted, until hide_comment(..., false); parent_id: the comment on the same post that it replies to, NULL for none.
Returns the comment; a repetition with the same id, author, content, properties and parent_id, and with the same creation_date if one is given, returns it unchanged, also if the parent is gone by then.
Errors: 22004 a NULL; 22023 an empty comment, bad date or bad properties, or it would reply to itself; 23503 no such user, post, or parent on the post; 23505 the id has another comment; 25006 read-only transaction; 40001 the parent was created since the transaction''s snapshot; 54000 a text longer than 64 MB; 55000 the post or the parent is hidden, or no containers.';

CREATE FUNCTION blogstore.edit_comment(post_id uuid, comment_id uuid, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_edit_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.edit_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.edit_comment IS
'Change a comment''s content or properties; NULL keeps what is there. modification_date becomes now if anything changes.
content: not empty; properties: an object in place of the one that is there, {} for none.
Returns the comment as it is now.
Errors: 22004 no post_id or comment_id, or neither content nor properties; 22023 an empty comment or bad properties; 23503 no such comment; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';

CREATE FUNCTION blogstore.hide_comment(post_id uuid, comment_id uuid, hidden boolean DEFAULT true)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_hide_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.hide_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.hide_comment IS
'Hide a comment, or show it again; its post''s comment_count falls or grows by one with it. A hidden comment is in no list but with include_hidden.
post_id: the post; comment_id: the comment; hidden: false to show it.
Returns the comment as it is now.
Errors: 22004 a NULL; 23503 no such comment; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.delete_comment(post_id uuid, comment_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_comment IS
'Delete a comment; the post''s comment_count falls by one in the same transaction.
Returns whether there was one.
Errors: 22004 a NULL; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION blogstore.create_like(post_id uuid, user_id uuid, creation_date timestamptz DEFAULT NULL)
RETURNS blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_create_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_like IS
'C4: like a post; its like_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: who likes it; creation_date: NULL for now.
Returns the like; a second like by the same user returns the first one unchanged.
Errors: 22004 a NULL; 22023 a bad date; 23503 no such user or post; 25006 read-only transaction; 55000 the post is hidden, or no containers.';

CREATE FUNCTION blogstore.delete_like(post_id uuid, user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_like IS
'Take a like back; the post''s like_count falls by one in the same transaction.
Returns whether there was one.
Errors: 22004 a NULL; 25006 read-only transaction; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Queries
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.get_user(user_id uuid)
RETURNS SETOF blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_user'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_user IS
'Q1: retrieve a user.
Returns the user, or no row.
Errors: 22004 a NULL; 55000 no containers.';

CREATE FUNCTION blogstore.get_user_by_name(username text)
RETURNS SETOF blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_user_by_name'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_user_by_name FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_user_by_name IS
'Q1: retrieve a user by name, regardless of case.
Returns the user, or no row.
Errors: 22004 a NULL; 54000 a text longer than 64 MB; 55000 no containers.';

CREATE FUNCTION blogstore.get_users(user_ids uuid[])
RETURNS SETOF blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_users'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_users FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_users IS
'Retrieve many users.
user_ids: of the users; of an array of several dimensions all elements, as unnest() gives them.
Returns the users in the order asked, a user as often as asked for; an unknown id and a NULL leave no row.
Errors: 22004 no array; 55000 no containers, or the partition of one of the ids is away.';

CREATE FUNCTION blogstore.get_post(post_id uuid)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_get_post'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_post IS
'Q2: retrieve a post. Its counts equal the comments and likes visible in the same snapshot.
Returns the post, or no row.
Errors: 22004 a NULL; 55000 no containers.';

CREATE FUNCTION blogstore.get_posts(post_ids uuid[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_get_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_posts IS
'Retrieve many posts in full, with exact counts, in one snapshot.
post_ids: of the posts; of an array of several dimensions all elements, as unnest() gives them.
Returns the posts in the order asked, a post as often as it is asked for; an unknown id and a NULL leave no row.
Errors: 22004 no array; 55000 no containers, or the partition of one of the ids is away.';

CREATE FUNCTION blogstore.get_like(post_id uuid, user_id uuid)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_get_like'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_like IS
'Has this user liked this post?
Returns the like, or no row.
Errors: 22004 a NULL; 55000 no containers.';

CREATE FUNCTION blogstore.get_likes(user_id uuid, post_ids uuid[])
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_get_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_likes IS
'Which of these posts has this user liked?
user_id: who may have liked them; post_ids: of the posts; of an array of several dimensions all elements, as unnest() gives them.
Returns the likes in the order in which their posts were asked for, a like as often as its post; a post that the user has not liked, an unknown id and a NULL leave no row.
Errors: 22004 a NULL user_id, or no array; 55000 no containers, or the partition of one of the posts is away.';

CREATE FUNCTION blogstore.list_user_posts(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_user_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_user_posts IS
'Q3: list a user''s posts in short form by (creation_date, id), newest or oldest first. Read from the view in users, or from posts where that is not ready.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden posts, too, for who may see them.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION blogstore.list_post_comments(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_post_comments'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_post_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_post_comments IS
'Q4: list a post''s comments by (creation_date, id), newest or oldest first.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden comments, too, for who may see them.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION blogstore.list_comment_replies(post_id uuid, parent_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_comment_replies'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_comment_replies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_comment_replies IS
'List the replies to a comment by (creation_date, id), newest or oldest first; those to replies are not among them.
post_id: the post; parent_id: the comment on it, which may be hidden or deleted since; page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden comments, too, for who may see them.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION blogstore.list_post_likes(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_list_post_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_post_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_post_likes IS
'Q5: list a post''s likes by (creation_date, id), newest or oldest first.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION blogstore.list_feed(page_size integer DEFAULT 100, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_list_feed'
LANGUAGE C STABLE PARALLEL SAFE ROWS 100;
REVOKE ALL ON FUNCTION blogstore.list_feed FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_feed IS
'Q6: list the posts of all users in short form by (creation_date, id), newest or oldest first. Newest first it is read from the view feed, past its end or where it is not ready from posts; oldest first from the feed if that holds all that follows before_date and before_id, else from posts.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows.
Errors: 22004 oldest_first is NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION blogstore.list_user_comments(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_comments'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_user_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_user_comments IS
'List a user''s comments on all posts, those on hidden posts too, by (creation_date, id), newest or oldest first.
user_id: the author; page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither. A before_date that was cut to milliseconds finds its place by before_id; if there is no such row any more, the page begins with the whole of that millisecond. oldest_first: true for the other order, which leads from the same place to newer rows; include_hidden: true for hidden comments, too, for who may see them. A page looks into every partition.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION blogstore.list_user_likes(user_id uuid, page_size integer DEFAULT 20, after_post_id uuid DEFAULT NULL, by_date boolean DEFAULT false, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_user_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_user_likes IS
'List a user''s likes of all posts, of hidden ones too: in the order of post_id; or by (creation_date, id), newest or oldest first, where the site has made the index that the manual names.
user_id: who likes; page_size: items a page, 1 or more, NULL for all; after_post_id: post_id of the last row of the page before. by_date: true for the order by date; then before_date, before_id: creation_date and id of the row behind which the page begins, in the page''s order, both or neither; oldest_first: true for the other order, which leads from the same place to newer rows. A page looks into every partition.
Errors: 22004 a NULL; 22023 page_size below 1, half a cursor, or one of the other order; 55000 no containers, or no index for likes by date.';

/* ------------------------------------------------------------------------
 * Operation
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.wait_for_views("timeout" interval DEFAULT '30 s')
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_wait_for_views'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.wait_for_views FROM PUBLIC;
COMMENT ON FUNCTION blogstore.wait_for_views IS
'Wait until the views show everything committed before the call, and the jobs that existed then are done (read your writes).
timeout: how long at most; zero or less looks once.
Returns true when they do, false on timeout.
Errors: 22004 no timeout; 25006 on a standby; 54000 64 other databases have containers; 55000 no containers, no worker can run here, or the worker is stopped.';

CREATE FUNCTION blogstore.rebuild_views()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_rebuild_views'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.rebuild_views FROM PUBLIC;
COMMENT ON FUNCTION blogstore.rebuild_views IS
'Have the worker build the views anew from the posts container, in chunks beside live traffic. Returns at once; blogstore.progress shows how far it is, wait_for_views() waits for it.
Errors: 25006 read-only transaction; 54000 64 other databases have containers; 55000 no containers, or no worker can run here.';

CREATE FUNCTION blogstore.verify(OUT container text, OUT problem text, OUT type text, OUT id uuid, OUT post_id uuid, OUT user_id uuid, OUT expected text, OUT actual text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_verify'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION blogstore.verify FROM PUBLIC;
COMMENT ON FUNCTION blogstore.verify IS
'Compare counts, usernames and views with what the containers imply, in one snapshot of the present; reads everything. Views are compared while they are served, on the primary, and not in a transaction that has written posts, comments or likes. What the worker has still to do is no discrepancy: verify() first waits for the worker, as wait_for_views() does but for five seconds at most, and shows of what is late then only what will not come by itself. It may take one to two times maintenance_work_mem, or a dozen times work_mem where that is more than an eighth of it.
Returns one row per discrepancy: the container (or usernames, jobs), the problem (orphan, comment_count, like_count, username, registry, missing copy, extra copy, stale copy; invalid: a value that must be there is NULL; search_path: a function that the owner has attached does not fix its search_path), the item and its keys, what it should be and what it is (of an invalid item the property, of an invalid copy what it shows; of a function the statement that fixes its search_path, and its name). While there are such functions, nothing else is compared. No row when all is well.
Errors: 55000 no containers, or a column is missing or has another type.';

CREATE FUNCTION blogstore.repair()
RETURNS bigint
AS 'MODULE_PATHNAME', 'blogstore_repair'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.repair FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair IS
'Mend what verify() finds, beside live traffic: each item is locked, computed anew and written. Deltas of counts are folded into the counters of their posts, which the worker does otherwise. A value that is NULL is written where it follows from others (counts, names, copies); where it does not, a warning names the item, and nothing else is mended before it is written. Where the names of two users are the same (a registry finding), a warning names both users, and neither is changed.
Returns how many discrepancies were mended.
Errors: 25001 not in READ COMMITTED; 25006 read-only transaction; 55000 no containers, or they are altered so that they cannot be served.';

CREATE FUNCTION blogstore.start_worker()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_start_worker'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.start_worker FROM PUBLIC;
COMMENT ON FUNCTION blogstore.start_worker IS
'Let this database''s worker run again after stop_worker(); it starts when the transaction commits. Waits for transactions that have called stop_worker() or start_worker() and not ended yet.
Errors: 25006 read-only transaction; 40001 stopped by a transaction that this one''s snapshot does not see; 54000 64 other databases have containers; 55000 no containers, or no worker can run here.';

CREATE FUNCTION blogstore.stop_worker(drop_slot boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_stop_worker'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.stop_worker FROM PUBLIC;
COMMENT ON FUNCTION blogstore.stop_worker IS
'Stop this database''s worker, and keep it stopped over restarts of the server until start_worker(). Returns when it has ended. Requests go on; Q3 and Q6 answer from the posts container.
drop_slot: also drop the replication slot. Without, the slot keeps all WAL from here on (a warning says how much it keeps already, stat_worker how much it has come to, and the server''s log when that exceeds max_wal_size); with, the views are built anew at the next start.
In a transaction, the worker ends at once, and stays so until that ends, whatever others do; rolled back, it starts again. Waits for transactions that have called stop_worker() or start_worker() and not ended yet. A transaction that has called it cannot be prepared (PREPARE TRANSACTION: 0A000).
Errors: 22004 NULL; 25001 not in READ COMMITTED; 25006 read-only transaction; 54000 64 other databases have containers; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Monitoring
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.get_worker_status(OUT state text, OUT pid integer, OUT slot text, OUT lag_bytes bigint, OUT lag_time interval, OUT batches bigint, OUT changes bigint, OUT started_at timestamptz, OUT last_error text, OUT last_error_at timestamptz, OUT hint text)
RETURNS record
AS 'MODULE_PATHNAME', 'blogstore_get_worker_status'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.get_worker_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_worker_status TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_worker_status IS
'What blogstore.stat_worker shows.';

CREATE VIEW blogstore.stat_worker AS
SELECT state, pid, slot, lag_bytes, lag_time, batches, changes, started_at, last_error, last_error_at, hint
FROM blogstore.get_worker_status();
GRANT SELECT ON blogstore.stat_worker TO pg_monitor;
COMMENT ON VIEW blogstore.stat_worker IS
'The worker of this database, always one row. state: running, catching up, starting, waiting to restart, stopped, no containers, blocked (the containers are altered so that they cannot be served), or disabled (last_error and hint say why: what to set, or that 64 other databases have containers); slot: its replication slot; lag_bytes: WAL not yet shown in the views; lag_time: how long the oldest of it has waited, or how long a worker has been stopped; batches, changes: applied since the worker started; last_error: what last ended or blocked a worker or failed a job, or how its slot was lost; hint: what to do, what a stopped worker''s slot keeps, and which open transaction a new slot waits for.';

CREATE FUNCTION blogstore.get_progress(OUT kind text, OUT user_id uuid, OUT phase text, OUT done bigint, OUT total bigint, OUT rows_per_second double precision, OUT started_at timestamptz, OUT estimated_end timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_progress'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION blogstore.get_progress FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_progress TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_progress IS
'What blogstore.progress shows.';

CREATE VIEW blogstore.progress AS
SELECT kind, user_id, phase, done, total, rows_per_second, started_at, estimated_end
FROM blogstore.get_progress();
GRANT SELECT ON blogstore.progress TO pg_monitor;
COMMENT ON VIEW blogstore.progress IS
'Jobs the worker has yet to finish, one row each. kind: rebuild, rename or deletion, and on a cluster arrival, of a shard that has come; user_id: whose (rename, deletion); phase: waiting, copies or feed of a rebuild, copies of an arrival, sweep, waiting, recheck or showing of the others, parked once it has failed, until it is tried again; done, total: items (total is an estimate, for a rebuild only); rows_per_second, estimated_end: at the rate so far.';

CREATE FUNCTION blogstore.get_request_stats(OUT request text, OUT function text, OUT calls bigint, OUT total_time double precision, OUT max_time double precision, OUT buffers_hit bigint, OUT buffers_read bigint, OUT wal_bytes bigint, OUT request_units double precision, OUT units_per_call double precision, OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_request_stats'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.get_request_stats FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_request_stats TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_request_stats IS
'What blogstore.stat_requests shows.';

CREATE VIEW blogstore.stat_requests AS
SELECT request, function, calls, total_time, max_time, buffers_hit, buffers_read, wal_bytes, request_units, units_per_call, stats_reset
FROM blogstore.get_request_stats();
GRANT SELECT ON blogstore.stat_requests TO pg_monitor;
COMMENT ON VIEW blogstore.stat_requests IS
'What the requests of this database have cost since stats_reset, one row each: calls that succeeded; total_time, max_time in milliseconds; pages found in and read into shared buffers; WAL written (without the commit''s); request_units: cost as one number, in which reading one item of 1 kB by its key is about 1: a quarter for each page looked at, five for each kB of WAL. request: the article''s name. Counted by each process where it runs, while blogstore.track_requests is on; since the server''s start at most.';

CREATE FUNCTION blogstore.reset_request_stats()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_reset_request_stats'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.reset_request_stats FROM PUBLIC;
COMMENT ON FUNCTION blogstore.reset_request_stats IS
'Have blogstore.stat_requests count anew for this database.';

/* ------------------------------------------------------------------------
 * In and out
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.import(users regclass DEFAULT NULL, posts regclass DEFAULT NULL, comments regclass DEFAULT NULL, likes regclass DEFAULT NULL, rejects regclass DEFAULT NULL, key_prefix text DEFAULT '', guest uuid DEFAULT NULL, changed text DEFAULT 'reject', extra text[] DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint, OUT updated bigint, OUT left_out text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import'
LANGUAGE C VOLATILE ROWS 4;
REVOKE ALL ON FUNCTION blogstore.import FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import IS
'Import a site''s tables or views, in one transaction beside live traffic. They are read with the caller''s rights.
users: user_id, username text, creation_date timestamptz; posts: post_id, user_id, title, content, creation_date; comments: comment_id, post_id, user_id, content, creation_date; likes: post_id, user_id, creation_date; each may be left out. They may have as well: users, posts and comments properties jsonb; posts and comments hidden boolean, modification_date timestamptz; comments parent_id; all reject_reason text, which if not NULL rejects the item. creation_date NULL: now. Ids are uuid, or keys of the site''s own: bigint, integer, smallint, numeric, text, varchar, char or citext. rejects: a table of the caller with the columns type text, reason text, item jsonb for what cannot be imported, as documents that import_documents() takes once they are mended; without it the import is all or nothing.
key_prefix: of a key the id is key_id(type, key_prefix || key); two sources whose keys are not the same need prefixes of their own. A text that is a uuid is rejected where there is no prefix: cast it to uuid, or pass one. guest: the user who becomes the author of posts and comments whose user_id is NULL, which are rejected otherwise. changed: reject, or update: an item that is there with the same id and author, but another username, title, content, parent_id, other properties, or hidden otherwise, becomes what the source says; another author or creation_date is rejected all the same, but of a hidden post that the source shows. extra: columns of users, posts and comments that become properties, those that are NULL left out; no other column is taken in.
Returns for each type of item how many were read, imported, present (there with the same values, so that an import can be repeated), rejected (values that no command takes, an unknown post or user, a user being deleted, a duplicate id, an id taken by other values, a username taken, a post liked already) and updated, and which columns of its table were left out (NULL: there was no table). Another row, type renamed, counts the users whose names could not be had and who are called otherwise, if there are any.
What is being done shows in pg_stat_activity; sorts and hash tables may take maintenance_work_mem each. The containers'' owner needs TEMPORARY on the database.
Errors: 22004 key_prefix or changed NULL, a NULL in extra; 22023 another value of changed, a name in extra that no property may have; 23503 no such guest; 23514 rejects, and no table for them; 25001 not in READ COMMITTED; 25006 read-only transaction; 40001 items were created, changed or deleted meanwhile: repeat it; 42501 no right on a table; 42703 a column is missing; 42804 a column of another type; 42809, 42P01 no table or view; 54000 a text longer than 64 MB, and no table for rejects; 55000 no containers, or a partition of them is away.';

CREATE FUNCTION blogstore.import_documents(documents regclass, rejects regclass DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import_documents'
LANGUAGE C VOLATILE ROWS 4;
REVOKE ALL ON FUNCTION blogstore.import_documents FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_documents IS
'Import JSON documents in the article''s shape, as the casts of items to jsonb and export_documents() give them, in any order. Keys that are not the article''s are properties of users, posts and comments, hidden, modificationDate and parentId are what import() takes by these names; ignored are names of authors, counts, parentDeleted, what is the article''s but not of this type of item (a comment''s title), and further keys of likes. A document that jsonb cannot hold, of a column of json or text, is rejected as any other: with U+FFFD for each escape of the character 0 and each half of a surrogate pair, or, if it is no JSON, as one string. Dates are texts as PostgreSQL reads them, but without words that stand for a moment: now, today, tomorrow, yesterday, epoch, allballs and infinity are no dates. A document that export_documents() has given comes out of it again as it went in, byte for byte as jsonb.
documents: a table or view with one column of type jsonb or json, or else with one of text or varchar; rejects: as in import(); documents that are no items are in it as they are.
Returns as import(), the row of type renamed included, with another row, type NULL, for documents of no known type if there are any.
Errors: 22004 no documents; else as import().';

CREATE FUNCTION blogstore.export_documents()
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'blogstore_export_documents'
LANGUAGE C STABLE ROWS 1000000;
REVOKE ALL ON FUNCTION blogstore.export_documents FROM PUBLIC;
COMMENT ON FUNCTION blogstore.export_documents IS
'All users, posts, comments and likes that are served, as the article''s JSON documents with the authors'' present names and exact counts, in one snapshot. All are read before the first is returned, and kept in a temporary file beyond work_mem.
Errors: 55000 no containers.';

/* ------------------------------------------------------------------------
 * Doors: which roles may call the requests, and wrappers of them
 *
 * These functions are written in SQL and PL/pgSQL, and not in C: they read the
 * catalogs and build statements, with the rights of their caller.
 *
 * The list in src/requests/request_list.h says which functions are requests. A new request is
 * added there.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.request_names()
RETURNS text[]
AS 'MODULE_PATHNAME', 'blogstore_request_names'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.request_names FROM PUBLIC;
COMMENT ON FUNCTION blogstore.request_names IS
'The names of the requests, which are those of their functions.';

CREATE FUNCTION blogstore.request_functions(OUT function regprocedure, OUT kind text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 50
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
AS $body$
SELECT p.oid::regprocedure, k.kind
FROM pg_extension AS e
JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
JOIN pg_proc AS p ON p.oid = d.objid
CROSS JOIN (SELECT blogstore.request_names() AS names) AS r
CROSS JOIN LATERAL (SELECT CASE
	WHEN p.proname::text = ANY (r.names) THEN CASE p.provolatile WHEN 'v' THEN 'command' ELSE 'query' END
	WHEN p.proname LIKE 'own\_%' AND substr(p.proname, 5) = ANY (r.names) THEN 'own'
	WHEN EXISTS (SELECT FROM pg_cast AS c WHERE c.castfunc = p.oid) THEN 'document'
	WHEN p.proname IN ('request_names', 'request_functions', 'api_functions', 'api_bypass', 'current_user_id') THEN 'tool'
	END AS kind) AS k
WHERE e.extname = 'blogstore' AND p.pronamespace = e.extnamespace AND k.kind IS NOT NULL
$body$;
REVOKE ALL ON FUNCTION blogstore.request_functions FROM PUBLIC;
COMMENT ON FUNCTION blogstore.request_functions IS
'The functions that grant_requests() grants. kind: command or query, which are the requests; own: a request for one author''s items alone, whose first argument that author is; document: what casts an item to jsonb; tool: what create_api() and its wrappers call.';

CREATE FUNCTION blogstore.grant_requests(role regrole)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
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
	IF has_schema_privilege('blogstore', 'USAGE WITH GRANT OPTION')
		OR NOT has_schema_privilege(role, 'blogstore', 'USAGE')
	THEN
		EXECUTE format('GRANT USAGE ON SCHEMA blogstore TO %I', grantee);
	END IF;
	EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I',
		(SELECT string_agg(f.function::text, ', ') FROM blogstore.request_functions() AS f), grantee);
	-- of what it must not grant the server only warns
	SELECT f.function INTO refused FROM blogstore.request_functions() AS f
	WHERE NOT has_function_privilege(role, f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('no right to grant EXECUTE on %s', refused),
			HINT = 'Call it as the owner of the extension.';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION blogstore.grant_requests FROM PUBLIC;
COMMENT ON FUNCTION blogstore.grant_requests IS
'Let a role call the requests: EXECUTE on them, on the casts of their results to jsonb, on the functions own_...() that do less, and on what create_api() and its wrappers call; USAGE on the schema. Nothing else: no operation, no import, no table.
role: whom. Call it again after an update of the extension, which may add requests.
Errors: 22004 NULL; 25006 read-only transaction; 42501 no right to grant them; 42704 no such role.';

CREATE FUNCTION blogstore.revoke_requests(role regrole)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
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
		(SELECT string_agg(f.function::text, ', ') FROM blogstore.request_functions() AS f), grantee);
	-- it may need the schema for functions that it was granted otherwise
	IF NOT EXISTS (SELECT FROM pg_proc AS p, aclexplode(p.proacl) AS a
			WHERE p.pronamespace = 'blogstore'::regnamespace AND a.grantee = role AND p.proowner <> role)
		AND has_schema_privilege('blogstore', 'USAGE WITH GRANT OPTION')
	THEN
		EXECUTE format('REVOKE USAGE ON SCHEMA blogstore FROM %I', grantee);
	END IF;
	SELECT f.function INTO kept FROM blogstore.request_functions() AS f
	WHERE has_function_privilege(role, f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE WARNING USING MESSAGE = format('role %I can still execute %s', grantee, kept),
			HINT = 'It is a superuser or the owner, or has the right from PUBLIC, from a role that it is a member of, or from whom somebody else has let grant it.';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION blogstore.revoke_requests FROM PUBLIC;
COMMENT ON FUNCTION blogstore.revoke_requests IS
'Take from a role what grant_requests() gives. USAGE on the schema stays if the role holds other functions in it. A warning tells if the role can execute requests all the same.
role: from whom.
Errors: 22004 NULL; 25006 read-only transaction; 2BP01 the role has granted them to others; 42501 no right to revoke them; 42704 no such role.';

CREATE FUNCTION blogstore.current_user_id(required boolean DEFAULT true)
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_current_user_id'
LANGUAGE C STABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.current_user_id FROM PUBLIC;
COMMENT ON FUNCTION blogstore.current_user_id IS
'The user in the setting blogstore.current_user_id, for whom wrappers act that create_api(..., as_caller => true) has made.
required: raise an error if there is none, else return NULL.
Errors: 22004 required is NULL; 42501 none, and one is required.';

CREATE FUNCTION blogstore.own_edit_post(author uuid, post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_own_edit_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_edit_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_edit_post IS
'C2: edit_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns the post as it is now.
Errors: those of edit_post(); 22004 no author; 42501 the post is another user''s, 23503 if it is hidden.';

CREATE FUNCTION blogstore.own_hide_post(author uuid, post_id uuid, hidden boolean DEFAULT true)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_own_hide_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_hide_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_hide_post IS
'hide_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns the post as it is now.
Errors: those of hide_post(); 22004 no author; 42501 the post is another user''s, 23503 if it is hidden.';

CREATE FUNCTION blogstore.own_publish_post(author uuid, post_id uuid)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_own_publish_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_publish_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_publish_post IS
'publish_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns the post as it is now.
Errors: those of publish_post(); 22004 no author; 42501 the post is another user''s, 23503 if it is hidden.';

CREATE FUNCTION blogstore.own_delete_post(author uuid, post_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_own_delete_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_delete_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_delete_post IS
'delete_post() of a post that is the author''s, which is looked at while the post is locked. For wrappers.
Returns whether there was one by the author.
Errors: those of delete_post(); 22004 no author.';

CREATE FUNCTION blogstore.own_create_comment(author uuid, post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_own_create_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_create_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_create_comment IS
'create_comment() of a comment that is the author''s, to whom others'' hidden posts and comments are unknown. For wrappers.
Returns the comment.
Errors: those of create_comment(); 22004 no author; 42501 the comment is to be another user''s, 23503 the post or the parent is another user''s and hidden.';

CREATE FUNCTION blogstore.own_edit_comment(author uuid, post_id uuid, comment_id uuid, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_own_edit_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_edit_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_edit_comment IS
'edit_comment() of a comment that is the author''s, which is looked at while the comment is locked. For wrappers.
Returns the comment as it is now.
Errors: those of edit_comment(); 22004 no author; 42501 the comment is another user''s, 23503 if it or its post is hidden.';

CREATE FUNCTION blogstore.own_delete_comment(author uuid, post_id uuid, comment_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_own_delete_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_delete_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_delete_comment IS
'delete_comment() of a comment that is the author''s, which is looked at while the comment is locked. For wrappers.
Returns whether there was one by the author.
Errors: those of delete_comment(); 22004 no author.';

CREATE FUNCTION blogstore.own_create_like(author uuid, post_id uuid, user_id uuid, creation_date timestamptz DEFAULT NULL)
RETURNS blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_own_create_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_create_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_create_like IS
'create_like() of a like that is the author''s, to whom others'' hidden posts are unknown. For wrappers.
Returns the like.
Errors: those of create_like(); 22004 no author; 42501 the like is to be another user''s, 23503 the post is another user''s and hidden.';

CREATE FUNCTION blogstore.api_functions(schema text, as_caller boolean DEFAULT false, OUT name text, OUT arguments text, OUT returns text, OUT options text, OUT body text, OUT comment text)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
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
			WHEN p.prorettype = 'blogstore.post_item'::regtype THEN 'post'
			WHEN p.prorettype IN ('blogstore.comment_item'::regtype, 'blogstore.like_item'::regtype) THEN 'child'
			ELSE '' END AS kept,
		'blogstore.' || quote_ident(coalesce(o.proname, p.proname)) AS callee
	FROM blogstore.request_functions() AS f
	JOIN pg_proc AS p ON p.oid = f.function
	LEFT JOIN (pg_proc AS o JOIN blogstore.request_functions() AS g ON g.function = o.oid AND g.kind = 'own')
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
			WHEN as_caller AND r.command AND r.proargnames[n] = 'user_id' THEN 'blogstore.current_user_id(true)'
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
				format('%s AND %s IS NOT DISTINCT FROM blogstore.current_user_id(false)', a.value, u.value)
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
	WHERE t.typnamespace = 'blogstore'::regnamespace AND t.typname LIKE '%\_item'
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
		concat_ws(', ', CASE WHEN r.own THEN format('blogstore.current_user_id(%s)', r.command::text) END, l.passed))
		|| CASE WHEN NOT as_caller OR r.own OR r.kept = '' THEN '' ELSE
			' WHERE ' || concat_ws(' AND ',
				-- a subquery, which the planner leaves where it is, so that the order stays
				CASE WHEN r.kept = 'child' THEN
					format('coalesce((SELECT p.hidden IS NOT TRUE OR p.user_id = blogstore.current_user_id(false) FROM blogstore.get_post(%s) AS p), false)',
						coalesce(l.post_id, 'r.post_id')) END,
				CASE WHEN r.prorettype <> 'blogstore.like_item'::regtype THEN
					'(r.hidden IS NOT TRUE OR r.user_id = blogstore.current_user_id(false))' END)
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
REVOKE ALL ON FUNCTION blogstore.api_functions FROM PUBLIC;
COMMENT ON FUNCTION blogstore.api_functions IS
'The functions that create_api() makes in a schema, one row each.
schema: its name; as_caller: as in create_api().';

-- What a role may do that as_caller is to keep from it; NULL: nothing. By which role
-- does not matter: it may become any that it is a member of.
CREATE FUNCTION blogstore.api_bypass(role regrole)
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
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
	SELECT 1, 'can create functions in schema blogstore' FROM reach AS r
	WHERE has_schema_privilege(r.oid, 'blogstore', 'CREATE')
	UNION ALL
	-- any of the extension's functions, but for those by which nobody reads or writes items
	SELECT 2, format('can execute %s', p.oid::regprocedure) FROM reach AS r, pg_extension AS e
	JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_proc AS p ON p.oid = d.objid
	WHERE e.extname = 'blogstore'
		AND p.proname NOT IN ('new_id', 'key_id', 'wait_for_views', 'get_worker_status', 'get_progress', 'get_request_stats', 'get_cluster_status')
		AND p.oid NOT IN (SELECT f.function FROM blogstore.request_functions() AS f WHERE f.kind IN ('document', 'tool'))
		AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
	UNION ALL
	SELECT 3, 'can set blogstore.current_user_id' FROM reach AS r
	WHERE has_parameter_privilege(r.oid, 'blogstore.current_user_id', 'SET, ALTER SYSTEM')
	UNION ALL
	SELECT 4, format('has rights on %s', c.oid::regclass) FROM reach AS r, pg_class AS c
	WHERE c.relnamespace = 'blogstore'::regnamespace AND c.relkind IN ('r', 'p')
		AND (has_table_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
			OR has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
) AS b (place, bypass)
ORDER BY b.place, b.bypass COLLATE "C" LIMIT 1
$body$;
REVOKE ALL ON FUNCTION blogstore.api_bypass FROM PUBLIC;
COMMENT ON FUNCTION blogstore.api_bypass IS
'By what a role gets past wrappers made with as_caller, itself or as a role that it is a member of, as the end of a sentence; NULL if it does not.
role: who is to have the wrappers alone. It may have new_id(), key_id(), wait_for_views(), the functions of the views that show the worker''s state and statistics, and what grant_requests() grants besides the requests; any other function of the extension is a way past.';

CREATE FUNCTION blogstore.create_api(schema text, role regrole, as_caller boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
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
	IF schema = '' OR octet_length(schema) > 63 OR schema IN ('blogstore', 'information_schema') OR schema LIKE 'pg\_%' THEN
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
		SELECT f.function::text INTO found_one FROM blogstore.request_functions() AS f
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
		SELECT f.function::text INTO found_one FROM blogstore.request_functions() AS f
		WHERE NOT has_function_privilege(f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('no right to execute %s, which the wrappers call', found_one),
				HINT = format('Have the owner of the extension call blogstore.grant_requests(%L).', quote_ident(current_user));
		END IF;
		found_one := blogstore.api_bypass(role);
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
		WHERE p.pronamespace = space AND p.proname IN (SELECT w.name FROM blogstore.api_functions(schema, as_caller) AS w)
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
		WHERE NOT EXISTS (SELECT FROM blogstore.api_functions(schema, as_caller) AS w
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
		WHERE t.typnamespace = 'blogstore'::regnamespace AND t.typname IN ('user_item', 'post_item', 'comment_item', 'like_item')
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

	FOR wanted IN SELECT w.* FROM blogstore.api_functions(schema, as_caller) AS w LOOP
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
REVOKE ALL ON FUNCTION blogstore.create_api FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_api IS
'Make wrappers of all requests for a role, in a schema of the caller''s: plain SQL functions, and views without rows for the types of their results, which are no members of the extension. Generators of GraphQL and REST APIs show them. Call it again after an update.
schema: made if it is missing; role: is granted the wrappers. It must be able to execute the requests (grant_requests()); as_caller: the wrappers are for a role that a browser speaks as, which must not: they are SECURITY DEFINER, commands act for the user in blogstore.current_user_id, and change what this user has written alone. They have no arguments user_id and creation_date.
Only what it has made itself is replaced or dropped; whoever held a wrapper goes on holding it, and, as_caller, a wrapper that was revoked from the role stays so while it holds others.
Errors: 2BP01 something depends on a wrapper that must be dropped; 22004 NULL; 22023 a schema that is PostgreSQL''s or blogstore''s; 25006 read-only transaction; 42501 the schema is another role''s, the caller lacks a right or, as_caller, is a superuser, or the role has too few rights, or, as_caller, others than the wrappers; 42704 no such role; 42710 something else has a wrapper''s name; 55000 the schema has wrappers of the other kind, or it is within an extension''s script.';

/* ------------------------------------------------------------------------
 * More than one machine
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.distribute_containers(partitions integer DEFAULT 32, keep boolean DEFAULT true)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_distribute_containers'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.distribute_containers FROM PUBLIC;
COMMENT ON FUNCTION blogstore.distribute_containers IS
'Spread the filled containers of this server over the cluster of the extension citus whose coordinator it is, in one transaction, beside readers and writers; these wait for the last step only.
partitions: shards, 1 to 1024; keep: the old tables stay, as users_one_machine, posts_one_machine and usernames_one_machine, instead of being dropped.
Errors: 0A000 something that is attached to the tables would be lost; 22004 no partitions; 22023 partitions out of range; 25001 not READ COMMITTED, or the transaction has written before; 25006 read-only transaction; 42501 no superuser; 42P07 a name that is needed is taken; 55000 no containers, they are spread already, or a cluster that is not ready, with what is missing; 55P03 other transactions, or renames and deletions of users, are in the way of the last step for ten minutes.';

CREATE FUNCTION blogstore.node_of(post_id uuid, OUT node_id integer, OUT host text, OUT port integer)
AS 'MODULE_PATHNAME', 'blogstore_node_of'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION blogstore.node_of FROM PUBLIC;
COMMENT ON FUNCTION blogstore.node_of IS
'The node of the cluster that has a post, with its comments and likes, or would have it: for clients that connect straight to it. A post moves when shards are rebalanced; requests work from every node all the same.
Errors: 22004 no post_id; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.get_cluster_status(what text, OUT node integer, OUT host text, OUT port integer, OUT node_error text, OUT status json)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_cluster_status'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.get_cluster_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_cluster_status TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_cluster_status IS
'What blogstore.cluster_stat_worker, cluster_progress and cluster_stat_requests show, as JSON. what: worker, progress or requests. One row for each node.
Errors: 22023 something else is asked for.';

CREATE VIEW blogstore.cluster_stat_worker AS
SELECT c.node, c.host, c.port, c.node_error, s.state, s.pid, s.slot, s.lag_bytes, s.lag_time, s.batches, s.changes, s.started_at, s.last_error, s.last_error_at, s.hint
FROM blogstore.get_cluster_status('worker') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(state text, pid integer, slot text, lag_bytes bigint, lag_time interval, batches bigint, changes bigint, started_at timestamptz, last_error text, last_error_at timestamptz, hint text) ON true;
GRANT SELECT ON blogstore.cluster_stat_worker TO pg_monitor;
COMMENT ON VIEW blogstore.cluster_stat_worker IS
'stat_worker of every node of the cluster, one row each. node, host, port: as node_of() has them, NULL on one machine; node_error: why a node tells nothing, whose other columns are NULL then.';

CREATE VIEW blogstore.cluster_progress AS
SELECT c.node, c.host, c.port, c.node_error, s.kind, s.user_id, s.phase, s.done, s.total, s.rows_per_second, s.started_at, s.estimated_end
FROM blogstore.get_cluster_status('progress') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(kind text, user_id uuid, phase text, done bigint, total bigint, rows_per_second double precision, started_at timestamptz, estimated_end timestamptz) ON true
WHERE s.kind IS NOT NULL OR c.node_error IS NOT NULL;
GRANT SELECT ON blogstore.cluster_progress TO pg_monitor;
COMMENT ON VIEW blogstore.cluster_progress IS
'progress of every node of the cluster: one row for each job that a node''s worker has yet to finish. node, host, port: as node_of() has them, NULL on one machine; node_error: why a node tells nothing, of which there is one row then.';

CREATE VIEW blogstore.cluster_stat_requests AS
SELECT c.node, c.host, c.port, c.node_error, s.request, s.function, s.calls, s.total_time, s.max_time, s.buffers_hit, s.buffers_read, s.wal_bytes, s.request_units, s.units_per_call, s.stats_reset
FROM blogstore.get_cluster_status('requests') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(request text, function text, calls bigint, total_time double precision, max_time double precision, buffers_hit bigint, buffers_read bigint, wal_bytes bigint, request_units double precision, units_per_call double precision, stats_reset timestamptz) ON true;
GRANT SELECT ON blogstore.cluster_stat_requests TO pg_monitor;
COMMENT ON VIEW blogstore.cluster_stat_requests IS
'stat_requests of every node of the cluster, one row for each node and request. node, host, port: as node_of() has them, NULL on one machine; node_error: why a node tells nothing, of which there is one row then. A request that one node has had another serve is counted on both.';

/* ------------------------------------------------------------------------
 * What nodes of a cluster call on each other
 *
 * As the owner of the containers, and for nothing else.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.create_node_tables(owner regrole)
RETURNS integer
AS 'MODULE_PATHNAME', 'blogstore_create_node_tables'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.create_node_tables FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_node_tables IS
'For create_containers(), which calls it on each node of a cluster: the tables that a node has for itself. Returns how many it has made.
Errors: 25006 read-only transaction; 42P07 another table has one of their names; 42501; 42704 no such role; 55000 this server is not a node that a coordinator has added to its cluster.';

CREATE FUNCTION blogstore.serve_post(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_post IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns posts, served where the key''s items lie.
Errors: those of the request; 42883 no such request; 55000 the containers are on one machine.';

CREATE FUNCTION blogstore.serve_comment(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_comment IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns comments, served where the key''s items lie.
Errors: those of the request; 42883 no such request; 55000 the containers are on one machine.';

CREATE FUNCTION blogstore.serve_like(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_like IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns likes, served where the key''s items lie.
Errors: those of the request; 42883 no such request; 55000 the containers are on one machine.';

CREATE FUNCTION blogstore.serve_flag(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF boolean
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_flag FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_flag IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns true or false, served where the key''s items lie.
Errors: those of the request; 42883 no such request; 55000 the containers are on one machine.';

CREATE FUNCTION blogstore.put_copies(copies blogstore.post_item[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_put_copies'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.put_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.put_copies IS
'For workers on the nodes of a cluster: makes the copies of posts at their authors'' home what is given; those without a title go. False: an author is at home elsewhere.
Errors: 22004 no id, author or date; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.touch_copies(copies blogstore.post_item[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_touch_copies'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.touch_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.touch_copies IS
'For workers on the nodes of a cluster: has the worker of the node that has the posts given refresh their copies, as after a change. False: another node has one of them.
Errors: 22004 no id, author or date; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.put_feed(rows blogstore.post_item[], ranges integer[])
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_put_feed'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.put_feed FROM PUBLIC;
COMMENT ON FUNCTION blogstore.put_feed IS
'For workers on the nodes of a cluster: makes rows of the feed what is given; those without a title go. Ranges are pairs of hashes of posts: what is in one and not given goes, too.
Errors: 22004 no id; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.tell_node(node_group integer, keeps integer, answers bigint, asks bigint)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_tell_node'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.tell_node FROM PUBLIC;
COMMENT ON FUNCTION blogstore.tell_node IS
'For workers on the nodes of a cluster: a node tells that it keeps what the views here have of its posts, for a feed of so many (0: it does not), and asks to be told.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.views_served()
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_views_served'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.views_served FROM PUBLIC;
COMMENT ON FUNCTION blogstore.views_served IS
'For verify() on a cluster: whether this node serves list_feed() and list_user_posts() from its views at present.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.views_look()
RETURNS bigint
AS 'MODULE_PATHNAME', 'blogstore_views_look'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.views_look FROM PUBLIC;
COMMENT ON FUNCTION blogstore.views_look IS
'For verify() on a cluster, on each node: up to which of its turns this node''s worker has applied all. NULL: it does not serve the views, or has copies to send to others.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.views_unsettled(applied bigint, post_ids uuid[])
RETURNS uuid[]
AS 'MODULE_PATHNAME', 'blogstore_views_unsettled'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.views_unsettled FROM PUBLIC;
COMMENT ON FUNCTION blogstore.views_unsettled IS
'For verify() on a cluster, on each node: those of the posts that its worker was told of after a turn, and an id of zeros if any post may have come into lists or gone from them. NULL: that is not known.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.begin_user_deletion(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_begin_user_deletion'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.begin_user_deletion FROM PUBLIC;
COMMENT ON FUNCTION blogstore.begin_user_deletion IS
'For nodes of a cluster: what delete_user() does on each of them, to the user''s items there.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.revive_user(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_revive_user'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.revive_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.revive_user IS
'For nodes of a cluster: what create_user() does on each of them about the items of one who has had the id and is being deleted.
Errors: 40001 that deletion is newer than the transaction''s snapshot; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_begin_part()
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_begin_part'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_begin_part FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_begin_part IS
'For import() on a cluster, on each node: locks the leaves of posts, so that renames and deletions of users wait.
Errors: 55000 no containers, or they are on one machine, or a leaf is not as it should be.';

CREATE FUNCTION blogstore.deleting_users()
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_deleting_users'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.deleting_users FROM PUBLIC;
COMMENT ON FUNCTION blogstore.deleting_users IS
'For import() and export_documents() on a cluster, on each node: the ids of users whose items there are being deleted, and nothing else of a like.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_posts(ids uuid[], whole boolean)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_import_posts'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_posts IS
'For import() on a cluster, on each node: those of the posts that are there, whole or without their texts.
Errors: 22023 not a list; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_comments(post_ids uuid[], ids uuid[])
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_import_children'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_comments IS
'For import() on a cluster, on each node: those of the comments that are there.
Errors: 22023 not two lists of one length; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_likes(post_ids uuid[], user_ids uuid[])
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_children'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_likes IS
'For import() on a cluster, on each node: those of the likes that are there.
Errors: 22023 not two lists of one length; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_keep_posts(ids uuid[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_keep_posts'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_keep_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_keep_posts IS
'For import() on a cluster, on each node: locks posts, so that nobody deletes them; false: one is gone.
Errors: 22023 not a list; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_count_posts(ids uuid[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_count_posts'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_count_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_count_posts IS
'For import() on a cluster, on each node: makes the counters of posts that were written.
Errors: 22023 not a list; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_same_names(ids uuid[], names text[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_same_names'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_same_names FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_same_names IS
'For import() on a cluster, on each node: whether users have these names there, too.
Errors: 22023 not two lists of one length; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_edit_posts(items blogstore.post_item[], now timestamptz)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_edit_items'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_edit_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_edit_posts IS
'For import() on a cluster, on each node: makes posts what is given, and returns the ids of those that were others.
Errors: 40001 one is gone; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.import_edit_comments(items blogstore.comment_item[], now timestamptz)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_edit_items'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_edit_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_edit_comments IS
'For import() on a cluster, on each node: makes comments what is given, and returns the ids of those that were others.
Errors: 40001 one is gone; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.repair_part(problems text[], types text[], expected text[], ids uuid[], post_ids uuid[], user_ids uuid[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_repair_part'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.repair_part FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair_part IS
'For repair() on a cluster, on each node: mends what was found of items there, and what lies there alone. Returns one post, whose comment_count is how many findings that were.
Errors: 22023 lists of different lengths; 55000 no containers, or they are on one machine.';

CREATE FUNCTION blogstore.repair_copies(post_ids uuid[], user_ids uuid[], dates timestamptz[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_repair_copies'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.repair_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair_copies IS
'For repair() on a cluster, on each node: what the copies of posts that are there should be; without a title, there should be none. No others refresh them before the transaction ends.
Errors: 22023 lists of different lengths; 55000 no containers, or they are on one machine.';
