/*
 * blogstore--1.0.sql
 *		The SQL objects of the extension: item types, requests, operation and
 *		monitoring.
 *
 * The script does not create the containers. blogstore.create_containers()
 * creates them as ordinary tables of its caller, and DROP EXTENSION leaves
 * them.
 *
 * The script is read with the settings of the session. So that it does not
 * depend on standard_conforming_strings, no string outside of a function body
 * has a backslash. So that it does not depend on quote_all_identifiers, the
 * schema is named, not substituted.
 *
 * Each object is followed by its privileges and its comment. Roles get access
 * by EXECUTE on functions, so every function is revoked from PUBLIC.
 */
\echo Use "CREATE EXTENSION blogstore" to load this file. \quit

-- The owner of the schema can drop it with everything in it, and can add
-- functions to it. So the schema must belong to a superuser or to the role
-- that creates the extension.
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

-- An update of the files does not change the library that a running server has
-- loaded. An older library does not have the functions of this script.
DO $body$
BEGIN
	CREATE FUNCTION blogstore.library_version()
	RETURNS text
	AS 'MODULE_PATHNAME', 'blogstore_library_version'
	LANGUAGE C STABLE PARALLEL SAFE;
	IF blogstore.library_version() NOT LIKE '1.0.%' THEN
		RAISE undefined_function;
	END IF;
EXCEPTION WHEN undefined_function THEN
	RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'the server has loaded another version of the library blogstore',
		DETAIL = 'This version of the extension needs version 1.0 of the library.', HINT = 'Restart the server first.';
END
$body$;
REVOKE ALL ON FUNCTION blogstore.library_version FROM PUBLIC;
COMMENT ON FUNCTION blogstore.library_version IS
'Return the version of the library that the server has loaded.';

-- USAGE lets a role name the functions. To call one, it needs EXECUTE.
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
'A user.';

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
	properties		jsonb,
	publish_date	timestamptz
);
COMMENT ON TYPE blogstore.post_item IS
'A post with its author''s name and its exact counts.';

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
	properties		jsonb,
	like_count		bigint,
	reply_count		bigint
);
COMMENT ON TYPE blogstore.comment_item IS
'A comment on a post with its author''s name and its exact counts.';

CREATE TYPE blogstore.like_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	creation_date	timestamptz,
	comment_id		uuid
);
COMMENT ON TYPE blogstore.like_item IS
'A user''s like of a post or comment.';

CREATE TYPE blogstore.follow_item AS (
	id					uuid,
	type				text,
	user_id				uuid,
	user_username		text,
	followed_id			uuid,
	followed_username	text,
	creation_date		timestamptz
);
COMMENT ON TYPE blogstore.follow_item IS
'A user who follows another user.';

CREATE TYPE blogstore.topic_item AS (
	topic			text,
	post_count		bigint
);
COMMENT ON TYPE blogstore.topic_item IS
'A topic with the number of its posts.';

/* ------------------------------------------------------------------------
 * Items as the article's JSON documents
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.user_document(item blogstore.user_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.user_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.user_document IS
'Return a user as the article''s JSON document.';

CREATE CAST (blogstore.user_item AS jsonb) WITH FUNCTION blogstore.user_document(blogstore.user_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.user_item AS jsonb) IS
'Cast a user to the article''s JSON document.';

CREATE FUNCTION blogstore.post_document(item blogstore.post_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.post_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.post_document IS
'Return a post as the article''s JSON document.';

CREATE CAST (blogstore.post_item AS jsonb) WITH FUNCTION blogstore.post_document(blogstore.post_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.post_item AS jsonb) IS
'Cast a post to the article''s JSON document.';

CREATE FUNCTION blogstore.comment_document(item blogstore.comment_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.comment_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.comment_document IS
'Return a comment as the article''s JSON document.';

CREATE CAST (blogstore.comment_item AS jsonb) WITH FUNCTION blogstore.comment_document(blogstore.comment_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.comment_item AS jsonb) IS
'Cast a comment to the article''s JSON document.';

CREATE FUNCTION blogstore.like_document(item blogstore.like_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.like_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.like_document IS
'Return a like as the article''s JSON document.';

CREATE CAST (blogstore.like_item AS jsonb) WITH FUNCTION blogstore.like_document(blogstore.like_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.like_item AS jsonb) IS
'Cast a like to the article''s JSON document.';

CREATE FUNCTION blogstore.follow_document(item blogstore.follow_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.follow_document FROM PUBLIC;
COMMENT ON FUNCTION blogstore.follow_document IS
'Return a follow as a JSON document.';

CREATE CAST (blogstore.follow_item AS jsonb) WITH FUNCTION blogstore.follow_document(blogstore.follow_item) AS ASSIGNMENT;
COMMENT ON CAST (blogstore.follow_item AS jsonb) IS
'Cast a follow to a JSON document.';

/* ------------------------------------------------------------------------
 * Ids
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.new_id()
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_new_id'
LANGUAGE C VOLATILE PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.new_id FROM PUBLIC;
COMMENT ON FUNCTION blogstore.new_id IS
'Make a new id: a UUID of version 7.';

CREATE FUNCTION blogstore.key_id(type text, key text)
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_key_id'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.key_id FROM PUBLIC;
COMMENT ON FUNCTION blogstore.key_id IS
'Derive the id of an item from the site''s own key.';

/* ------------------------------------------------------------------------
 * Containers
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.create_containers(partitions integer DEFAULT 16, owner regrole DEFAULT NULL, distributed boolean DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_make_containers'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_containers FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_containers IS
'Create the containers and bookkeeping tables that are missing.';

/* ------------------------------------------------------------------------
 * Commands
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.create_user(username text, user_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_request_create_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_user IS
'Create a user (C1).';

CREATE FUNCTION blogstore.edit_user(user_id uuid, username text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_request_edit_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.edit_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.edit_user IS
'Rename a user, or change the user''s properties (C1).';

CREATE FUNCTION blogstore.delete_user(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_delete_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_user IS
'Delete a user with all posts, comments and likes of the user.';

CREATE FUNCTION blogstore.create_post(user_id uuid, title text, content text, post_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, publish_date timestamptz DEFAULT NULL)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_create_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_post IS
'Create a post, a draft or a scheduled post (C2).';

CREATE FUNCTION blogstore.edit_post(post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_edit_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.edit_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.edit_post IS
'Change a post''s title, content or properties (C2).';

CREATE FUNCTION blogstore.hide_post(post_id uuid, hidden boolean DEFAULT true)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_hide_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.hide_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.hide_post IS
'Hide a post, or show it again.';

CREATE FUNCTION blogstore.publish_post(post_id uuid)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_publish_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.publish_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.publish_post IS
'Show a hidden post, dated now.';

CREATE FUNCTION blogstore.schedule_post(post_id uuid, publish_date timestamptz)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_schedule_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.schedule_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.schedule_post IS
'Hide a post until a date; NULL cancels the date.';

CREATE FUNCTION blogstore.delete_post(post_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_delete_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_post IS
'Delete a post with its comments and likes.';

CREATE FUNCTION blogstore.create_comment(post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_create_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_comment IS
'Comment on a post, or reply to a comment (C3).';

CREATE FUNCTION blogstore.edit_comment(post_id uuid, comment_id uuid, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_edit_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.edit_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.edit_comment IS
'Change a comment''s content or properties.';

CREATE FUNCTION blogstore.hide_comment(post_id uuid, comment_id uuid, hidden boolean DEFAULT true)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_hide_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.hide_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.hide_comment IS
'Hide a comment, or show it again.';

CREATE FUNCTION blogstore.delete_comment(post_id uuid, comment_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_delete_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_comment IS
'Delete a comment.';

CREATE FUNCTION blogstore.create_like(post_id uuid, user_id uuid, creation_date timestamptz DEFAULT NULL, comment_id uuid DEFAULT NULL)
RETURNS blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_create_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.create_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_like IS
'Like a post or a comment (C4).';

CREATE FUNCTION blogstore.delete_like(post_id uuid, user_id uuid, comment_id uuid DEFAULT NULL)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_delete_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.delete_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.delete_like IS
'Take back a like.';

CREATE FUNCTION blogstore.follow_user(user_id uuid, followed_id uuid, creation_date timestamptz DEFAULT NULL)
RETURNS blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_request_follow_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.follow_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.follow_user IS
'Follow a user.';

CREATE FUNCTION blogstore.unfollow_user(user_id uuid, followed_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_unfollow_user'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.unfollow_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.unfollow_user IS
'Follow a user no longer.';

/* ------------------------------------------------------------------------
 * Queries
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.get_user(user_id uuid)
RETURNS SETOF blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_user'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_user IS
'Retrieve a user (Q1).';

CREATE FUNCTION blogstore.get_user_by_name(username text)
RETURNS SETOF blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_user_by_name'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_user_by_name FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_user_by_name IS
'Retrieve a user by name (Q1).';

CREATE FUNCTION blogstore.get_users(user_ids uuid[])
RETURNS SETOF blogstore.user_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_users'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_users FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_users IS
'Retrieve many users.';

CREATE FUNCTION blogstore.get_post(post_id uuid)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_post'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_post IS
'Retrieve a post with its exact counts (Q2).';

CREATE FUNCTION blogstore.get_posts(post_ids uuid[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_posts IS
'Retrieve many posts with their exact counts.';

CREATE FUNCTION blogstore.get_comment(post_id uuid, comment_id uuid)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_comment'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_comment IS
'Retrieve a comment with its exact counts.';

CREATE FUNCTION blogstore.get_like(post_id uuid, user_id uuid, comment_id uuid DEFAULT NULL)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_like'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
REVOKE ALL ON FUNCTION blogstore.get_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_like IS
'Retrieve a user''s like of a post or comment.';

CREATE FUNCTION blogstore.get_likes(user_id uuid, post_ids uuid[])
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_likes IS
'Retrieve a user''s likes of many posts.';

CREATE FUNCTION blogstore.get_comment_likes(user_id uuid, post_id uuid)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_comment_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_comment_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_comment_likes IS
'Retrieve a user''s likes of the comments on a post.';

CREATE FUNCTION blogstore.list_user_posts(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_user_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_user_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_user_posts IS
'List a user''s posts in short form (Q3).';

CREATE FUNCTION blogstore.list_post_comments(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false, top_level boolean DEFAULT false)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_post_comments'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_post_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_post_comments IS
'List a post''s comments (Q4).';

CREATE FUNCTION blogstore.list_comment_replies(post_id uuid, parent_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_comment_replies'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_comment_replies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_comment_replies IS
'List the replies to a comment.';

CREATE FUNCTION blogstore.list_post_likes(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_post_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_post_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_post_likes IS
'List a post''s likes (Q5).';

CREATE FUNCTION blogstore.list_comment_likes(post_id uuid, comment_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_comment_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_comment_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_comment_likes IS
'List a comment''s likes.';

CREATE FUNCTION blogstore.list_feed(page_size integer DEFAULT 100, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_feed'
LANGUAGE C STABLE PARALLEL SAFE ROWS 100;
REVOKE ALL ON FUNCTION blogstore.list_feed FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_feed IS
'List the posts of all users in short form (Q6).';

CREATE FUNCTION blogstore.list_home_feed(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_home_feed'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_home_feed FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_home_feed IS
'List the posts of all whom a user follows in short form.';

CREATE FUNCTION blogstore.list_topic_posts(topic text, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_topic_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_topic_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_topic_posts IS
'List the posts of a topic in short form.';

CREATE FUNCTION blogstore.list_topics(prefix text DEFAULT '', page_size integer DEFAULT 100, after_topic text DEFAULT NULL)
RETURNS SETOF blogstore.topic_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_topics'
LANGUAGE C STABLE PARALLEL SAFE ROWS 100;
REVOKE ALL ON FUNCTION blogstore.list_topics FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_topics IS
'List topics, and how many posts each has.';

CREATE FUNCTION blogstore.get_follows(user_id uuid, followed_ids uuid[])
RETURNS SETOF blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_request_get_follows'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.get_follows FROM PUBLIC;
COMMENT ON FUNCTION blogstore.get_follows IS
'Retrieve a user''s follows of many users.';

CREATE FUNCTION blogstore.list_following(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_following'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_following FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_following IS
'List the users whom a user follows.';

CREATE FUNCTION blogstore.list_followers(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false)
RETURNS SETOF blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_followers'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_followers FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_followers IS
'List the users who follow a user.';

CREATE FUNCTION blogstore.list_user_comments(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, include_hidden boolean DEFAULT false)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_user_comments'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_user_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_user_comments IS
'List a user''s comments on all posts.';

CREATE FUNCTION blogstore.list_user_likes(user_id uuid, page_size integer DEFAULT 20, after_post_id uuid DEFAULT NULL, by_date boolean DEFAULT false, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL, oldest_first boolean DEFAULT false, after_comment_id uuid DEFAULT NULL)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_list_user_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
REVOKE ALL ON FUNCTION blogstore.list_user_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_user_likes IS
'List a user''s likes of posts and comments.';

/* ------------------------------------------------------------------------
 * Operation
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.wait_for_views("timeout" interval DEFAULT '30 s')
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_wait_for_views'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.wait_for_views FROM PUBLIC;
COMMENT ON FUNCTION blogstore.wait_for_views IS
'Wait until the views show what was committed before the call.';

CREATE FUNCTION blogstore.wait_for_posts("timeout" interval DEFAULT '5 s')
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_wait_for_posts'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.wait_for_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.wait_for_posts IS
'Wait until lists of posts show what was committed before the call.';

CREATE FUNCTION blogstore.rebuild_views()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_rebuild_views'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.rebuild_views FROM PUBLIC;
COMMENT ON FUNCTION blogstore.rebuild_views IS
'Have the worker rebuild the views.';

CREATE FUNCTION blogstore.verify(OUT container text, OUT problem text, OUT type text, OUT id uuid, OUT post_id uuid, OUT user_id uuid, OUT expected text, OUT actual text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_verify'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION blogstore.verify FROM PUBLIC;
COMMENT ON FUNCTION blogstore.verify IS
'List discrepancies in counts, usernames and views.';

CREATE FUNCTION blogstore.repair()
RETURNS bigint
AS 'MODULE_PATHNAME', 'blogstore_repair'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.repair FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair IS
'Repair the discrepancies that verify() lists.';

CREATE FUNCTION blogstore.start_worker()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_start_worker'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.start_worker FROM PUBLIC;
COMMENT ON FUNCTION blogstore.start_worker IS
'Let this database''s worker run again after stop_worker().';

CREATE FUNCTION blogstore.stop_worker(drop_slot boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_stop_worker'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.stop_worker FROM PUBLIC;
COMMENT ON FUNCTION blogstore.stop_worker IS
'Stop this database''s worker until start_worker().';

CREATE FUNCTION blogstore.drop_slots()
RETURNS SETOF name
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
	slot	record;
BEGIN
	IF pg_is_in_recovery() THEN
		RAISE EXCEPTION USING ERRCODE = '25006', MESSAGE = 'cannot execute drop_slots() during recovery',
			HINT = 'Call it on the primary.';
	END IF;
	FOR slot IN SELECT slot_name, database FROM pg_replication_slots WHERE plugin = 'blogstore' ORDER BY slot_name LOOP
		BEGIN
			PERFORM pg_drop_replication_slot(slot.slot_name);
			RETURN NEXT slot.slot_name;
		EXCEPTION
			WHEN object_in_use THEN
				RAISE WARNING USING MESSAGE = format('replication slot "%s" was not dropped, because a process uses it', slot.slot_name),
					HINT = format('Call blogstore.stop_worker(drop_slot => true) in database "%s".', slot.database);
			WHEN undefined_object THEN
				NULL;	-- another session has dropped it
		END;
	END LOOP;
END
$body$;
REVOKE ALL ON FUNCTION blogstore.drop_slots FROM PUBLIC;
COMMENT ON FUNCTION blogstore.drop_slots IS
'Drop all unused slots of blogstore on this server.';

/* ------------------------------------------------------------------------
 * Monitoring
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.get_worker_status(OUT state text, OUT pid integer, OUT slot text, OUT lag_bytes bigint, OUT lag_time interval, OUT applied_lsn pg_lsn, OUT retained_bytes bigint, OUT wal_status text, OUT safe_wal_size bigint, OUT batches bigint, OUT changes bigint, OUT rebuilds bigint, OUT last_rebuild_reason text, OUT last_rebuild_at timestamptz, OUT started_at timestamptz, OUT last_error text, OUT last_error_at timestamptz, OUT hint text)
RETURNS record
AS 'MODULE_PATHNAME', 'blogstore_worker_status'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.get_worker_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_worker_status TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_worker_status IS
'Return the row of stat_worker.';

CREATE VIEW blogstore.stat_worker AS
SELECT state, pid, slot, lag_bytes, lag_time, applied_lsn, retained_bytes, wal_status, safe_wal_size, batches, changes, rebuilds, last_rebuild_reason, last_rebuild_at, started_at, last_error, last_error_at, hint
FROM blogstore.get_worker_status();
GRANT SELECT ON blogstore.stat_worker TO pg_monitor;
COMMENT ON VIEW blogstore.stat_worker IS
'State of this database''s worker.';

CREATE FUNCTION blogstore.get_workers_status(OUT database name, OUT state text, OUT pid integer, OUT slot text, OUT lag_bytes bigint, OUT lag_time interval, OUT applied_lsn pg_lsn, OUT retained_bytes bigint, OUT wal_status text, OUT safe_wal_size bigint, OUT batches bigint, OUT changes bigint, OUT rebuilds bigint, OUT last_rebuild_reason text, OUT last_rebuild_at timestamptz, OUT started_at timestamptz, OUT last_error text, OUT last_error_at timestamptz, OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_workers_status'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.get_workers_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_workers_status TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_workers_status IS
'Return the rows of stat_workers.';

CREATE VIEW blogstore.stat_workers AS
SELECT database, state, pid, slot, lag_bytes, lag_time, applied_lsn, retained_bytes, wal_status, safe_wal_size, batches, changes, rebuilds, last_rebuild_reason, last_rebuild_at, started_at, last_error, last_error_at, hint
FROM blogstore.get_workers_status();
GRANT SELECT ON blogstore.stat_workers TO pg_monitor;
COMMENT ON VIEW blogstore.stat_workers IS
'State of the workers of all databases of this server.';

CREATE FUNCTION blogstore.get_progress(OUT kind text, OUT user_id uuid, OUT phase text, OUT done bigint, OUT total bigint, OUT rows_per_second double precision, OUT started_at timestamptz, OUT estimated_end timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_progress'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION blogstore.get_progress FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_progress TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_progress IS
'Return the rows of progress.';

CREATE VIEW blogstore.progress AS
SELECT kind, user_id, phase, done, total, rows_per_second, started_at, estimated_end
FROM blogstore.get_progress();
GRANT SELECT ON blogstore.progress TO pg_monitor;
COMMENT ON VIEW blogstore.progress IS
'Jobs that the worker has yet to finish.';

CREATE FUNCTION blogstore.get_request_stats(OUT request text, OUT function text, OUT calls bigint, OUT rows bigint, OUT caller_errors bigint, OUT server_errors bigint, OUT total_time double precision, OUT p50_time double precision, OUT p95_time double precision, OUT p99_time double precision, OUT max_time double precision, OUT buffers_hit bigint, OUT buffers_read bigint, OUT wal_bytes bigint, OUT request_units double precision, OUT units_per_call double precision, OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_read_request_stats'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.get_request_stats FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_request_stats TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_request_stats IS
'Return the rows of stat_requests.';

CREATE VIEW blogstore.stat_requests AS
SELECT request, function, calls, rows, caller_errors, server_errors, total_time, p50_time, p95_time, p99_time, max_time, buffers_hit, buffers_read, wal_bytes, request_units, units_per_call, stats_reset
FROM blogstore.get_request_stats();
GRANT SELECT ON blogstore.stat_requests TO pg_monitor;
COMMENT ON VIEW blogstore.stat_requests IS
'What each request has cost since the last reset.';

CREATE FUNCTION blogstore.reset_request_stats(function text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_reset_stats'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.reset_request_stats FROM PUBLIC;
COMMENT ON FUNCTION blogstore.reset_request_stats IS
'Reset stat_requests, for one request or all.';

/* ------------------------------------------------------------------------
 * Import and export
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.import(users regclass DEFAULT NULL, posts regclass DEFAULT NULL, comments regclass DEFAULT NULL, likes regclass DEFAULT NULL, rejects regclass DEFAULT NULL, key_prefix text DEFAULT '', guest uuid DEFAULT NULL, changed text DEFAULT 'reject', extra text[] DEFAULT NULL, follows regclass DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint, OUT updated bigint, OUT left_out text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import_items'
LANGUAGE C VOLATILE ROWS 4;
REVOKE ALL ON FUNCTION blogstore.import FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import IS
'Import items from a site''s tables or views.';

CREATE FUNCTION blogstore.import_documents(documents regclass, rejects regclass DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import_documents'
LANGUAGE C VOLATILE ROWS 4;
REVOKE ALL ON FUNCTION blogstore.import_documents FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_documents IS
'Import items from JSON documents.';

CREATE FUNCTION blogstore.export_documents()
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'blogstore_export_documents'
LANGUAGE C STABLE ROWS 1000000;
REVOKE ALL ON FUNCTION blogstore.export_documents FROM PUBLIC;
COMMENT ON FUNCTION blogstore.export_documents IS
'Return all items as the article''s JSON documents.';

/* ------------------------------------------------------------------------
 * Access: which roles may call the requests, and wrappers of the requests
 *
 * These functions are written in SQL and PL/pgSQL, and not in C, because they
 * read the catalogs and build statements, with the rights of their caller.
 *
 * src/requests/request_list.h lists all requests.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.request_names()
RETURNS text[]
AS 'MODULE_PATHNAME', 'blogstore_request_names'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.request_names FROM PUBLIC;
COMMENT ON FUNCTION blogstore.request_names IS
'Return the names of the requests.';

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
	WHEN p.proname = 'wait_for_posts' THEN 'wait'
	WHEN EXISTS (SELECT FROM pg_cast AS c WHERE c.castfunc = p.oid) THEN 'document'
	WHEN p.proname IN ('request_names', 'request_functions', 'api_functions', 'api_bypass', 'current_user_id') THEN 'tool'
	END AS kind) AS k
WHERE e.extname = 'blogstore' AND p.pronamespace = e.extnamespace AND k.kind IS NOT NULL
$body$;
REVOKE ALL ON FUNCTION blogstore.request_functions FROM PUBLIC;
COMMENT ON FUNCTION blogstore.request_functions IS
'List the functions that grant_requests() grants.';

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
		RAISE EXCEPTION USING ERRCODE = '22004', MESSAGE = 'role must not be null', HINT = 'Pass a value for role.',
			SCHEMA = 'blogstore', COLUMN = 'role', CONSTRAINT = 'not_null';
	END IF;
	SELECT r.rolname INTO grantee FROM pg_roles AS r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('role with OID %s does not exist', role::oid),
			HINT = 'Pass the name of a role.', SCHEMA = 'blogstore', COLUMN = 'role';
	END IF;
	-- A caller who cannot grant USAGE need not do so if the role has it from
	-- PUBLIC.
	IF has_schema_privilege('blogstore', 'USAGE WITH GRANT OPTION')
		OR NOT has_schema_privilege(role, 'blogstore', 'USAGE')
	THEN
		EXECUTE format('GRANT USAGE ON SCHEMA blogstore TO %I', grantee);
	END IF;
	EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I',
		(SELECT string_agg(f.function::text, ', ') FROM blogstore.request_functions() AS f), grantee);
	-- If the caller has no right to grant, GRANT only raises a warning.
	SELECT f.function INTO refused FROM blogstore.request_functions() AS f
	WHERE NOT has_function_privilege(role, f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('no right to grant EXECUTE on %s', refused),
			HINT = 'Call it as the owner of the extension.', SCHEMA = 'blogstore';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION blogstore.grant_requests FROM PUBLIC;
COMMENT ON FUNCTION blogstore.grant_requests IS
'Let a role call the requests.';

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
		RAISE EXCEPTION USING ERRCODE = '22004', MESSAGE = 'role must not be null', HINT = 'Pass a value for role.',
			SCHEMA = 'blogstore', COLUMN = 'role', CONSTRAINT = 'not_null';
	END IF;
	SELECT r.rolname INTO grantee FROM pg_roles AS r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('role with OID %s does not exist', role::oid),
			HINT = 'Pass the name of a role.', SCHEMA = 'blogstore', COLUMN = 'role';
	END IF;
	EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I',
		(SELECT string_agg(f.function::text, ', ') FROM blogstore.request_functions() AS f), grantee);
	-- Keep USAGE if the role may execute other functions in the schema.
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
			HINT = 'It is a superuser or the owner of the functions, or has the right from PUBLIC, from another role, or from another grantor.';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION blogstore.revoke_requests FROM PUBLIC;
COMMENT ON FUNCTION blogstore.revoke_requests IS
'Take from a role what grant_requests() gave it.';

CREATE FUNCTION blogstore.current_user_id(required boolean DEFAULT true)
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_current_user_id'
LANGUAGE C STABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION blogstore.current_user_id FROM PUBLIC;
COMMENT ON FUNCTION blogstore.current_user_id IS
'Return the user in the setting blogstore.current_user_id.';

CREATE FUNCTION blogstore.own_edit_post(author uuid, post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_edit_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_edit_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_edit_post IS
'For wrappers: edit_post() of the author''s own post.';

CREATE FUNCTION blogstore.own_hide_post(author uuid, post_id uuid, hidden boolean DEFAULT true)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_hide_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_hide_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_hide_post IS
'For wrappers: hide_post() of the author''s own post.';

CREATE FUNCTION blogstore.own_publish_post(author uuid, post_id uuid)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_publish_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_publish_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_publish_post IS
'For wrappers: publish_post() of the author''s own post.';

CREATE FUNCTION blogstore.own_schedule_post(author uuid, post_id uuid, publish_date timestamptz)
RETURNS blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_schedule_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_schedule_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_schedule_post IS
'For wrappers: schedule_post() of the author''s own post.';

CREATE FUNCTION blogstore.own_delete_post(author uuid, post_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_own_delete_post'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_delete_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_delete_post IS
'For wrappers: delete_post() of the author''s own post.';

CREATE FUNCTION blogstore.own_create_comment(author uuid, post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL, properties jsonb DEFAULT NULL, hidden boolean DEFAULT false, parent_id uuid DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_create_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_create_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_create_comment IS
'For wrappers: create_comment() by the author.';

CREATE FUNCTION blogstore.own_edit_comment(author uuid, post_id uuid, comment_id uuid, content text DEFAULT NULL, properties jsonb DEFAULT NULL)
RETURNS blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_edit_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_edit_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_edit_comment IS
'For wrappers: edit_comment() of the author''s own comment.';

CREATE FUNCTION blogstore.own_delete_comment(author uuid, post_id uuid, comment_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_request_own_delete_comment'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_delete_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_delete_comment IS
'For wrappers: delete_comment() of the author''s own comment.';

CREATE FUNCTION blogstore.own_create_like(author uuid, post_id uuid, user_id uuid, creation_date timestamptz DEFAULT NULL, comment_id uuid DEFAULT NULL)
RETURNS blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_request_own_create_like'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.own_create_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.own_create_like IS
'For wrappers: create_like() by the author.';

CREATE FUNCTION blogstore.api_functions(schema text, as_caller boolean DEFAULT false, OUT name text, OUT request text, OUT arguments text, OUT returns text, OUT options text, OUT body text, OUT comment text)
RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET quote_all_identifiers = off
SET transform_null_equals = off
AS $body$
WITH
-- Requests, each with the function that its wrapper calls. With as_caller this
-- is the function own_...(), if there is one. Its first argument is the
-- current user: for a command the author whose items may be changed, for a
-- query the user who reads, or null. With as_caller, a command that has
-- neither an argument user_id nor such a function has no wrapper.
--
-- With as_caller, the wrapper of a query shows a hidden post, its comments and
-- likes, and a hidden comment and its likes, to their author only. If the
-- query has no function own_...(), the wrapper itself filters the rows.
request AS (
	SELECT p.*, f.kind = 'command' AS command, o.oid IS NOT NULL AS own,
		-- The rows that a wrapper may have to filter: posts, or items on
		-- posts.
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
	WHERE f.kind IN ('command', 'query', 'wait') AND p.proargmodes IS NULL
		AND NOT (as_caller AND f.kind = 'command' AND o.oid IS NULL AND NOT 'user_id' = ANY (p.proargnames))
),
-- The relations of an item to other items: the request that returns these, and
-- the arguments of the request that are properties of the item. An argument
-- that is null here is the current user, whom only wrappers as_caller know. A
-- relation whose request has no wrapper is left out.
relation (type, relation, request, bound) AS (VALUES
	('user_item', 'posts', 'list_user_posts', '{"user_id": "user_id"}'::jsonb),
	('user_item', 'comments', 'list_user_comments', '{"user_id": "user_id"}'),
	('user_item', 'likes', 'list_user_likes', '{"user_id": "user_id"}'),
	('user_item', 'following', 'list_following', '{"user_id": "user_id"}'),
	('user_item', 'followers', 'list_followers', '{"user_id": "user_id"}'),
	('post_item', 'author', 'get_user', '{"user_id": "user_id"}'),
	('post_item', 'comments', 'list_post_comments', '{"post_id": "post_id"}'),
	('post_item', 'likes', 'list_post_likes', '{"post_id": "post_id"}'),
	('post_item', 'my_like', 'get_like', '{"post_id": "post_id", "user_id": null}'),
	('comment_item', 'author', 'get_user', '{"user_id": "user_id"}'),
	('comment_item', 'post', 'get_post', '{"post_id": "post_id"}'),
	('comment_item', 'replies', 'list_comment_replies', '{"post_id": "post_id", "parent_id": "id"}'),
	('comment_item', 'likes', 'list_comment_likes', '{"post_id": "post_id", "comment_id": "id"}'),
	('comment_item', 'my_like', 'get_like', '{"post_id": "post_id", "comment_id": "id", "user_id": null}'),
	('like_item', 'author', 'get_user', '{"user_id": "user_id"}'),
	('like_item', 'post', 'get_post', '{"post_id": "post_id"}'),
	('like_item', 'comment', 'get_comment', '{"post_id": "post_id", "comment_id": "comment_id"}'),
	('topic_item', 'posts', 'list_topic_posts', '{"topic": "topic"}'),
	('follow_item', 'follower', 'get_user', '{"user_id": "user_id"}'),
	('follow_item', 'followed', 'get_user', '{"user_id": "followed_id"}')
),
wrapper AS (
	SELECT r.proname::text AS name, r.oid AS request, NULL::text AS item, '{}'::jsonb AS bound, r.proretset AS set, NULL::text AS field
	FROM request AS r
	UNION ALL
	-- A request that returns one row at most gets a second wrapper, which
	-- GraphQL shows as one object.
	SELECT 'one_' || substr(r.proname, 5), r.oid, NULL, '{}', false, substr(r.proname, 5)
	FROM request AS r WHERE r.proretset AND r.prorows = 1 AND r.proname LIKE 'get\_%'
	UNION ALL
	SELECT v.type || '_' || v.relation, r.oid, v.type, v.bound, r.proretset AND r.prorows > 1, NULL
	FROM relation AS v JOIN request AS r ON r.proname = v.request
	WHERE as_caller OR NOT v.bound @> '{"user_id": null}'
),
-- The arguments of a wrapper's request. An argument that is "given" is not an
-- argument of the wrapper. It is a property of the item, or, with as_caller,
-- the current user, or null for creation_date, which means the current time. A
-- publish_date of create_post() would let a caller choose another date, so it
-- is null; own_schedule_post() itself dates a post now if the date has passed.
argument AS (
	SELECT w.name, n, quote_ident(r.proargnames[n]) || ' ' || format_type(r.proargtypes[n - 1], NULL) AS declared,
		pg_get_function_arg_default(r.oid, n) AS default,
		CASE WHEN w.bound ? r.proargnames[n] THEN coalesce('($1).' || quote_ident(w.bound ->> r.proargnames[n]), 'blogstore.current_user_id(false)')
			WHEN as_caller AND r.command AND r.proargnames[n] = 'user_id' THEN 'blogstore.current_user_id(true)'
			WHEN as_caller AND r.command AND r.proargnames[n] = 'creation_date' THEN 'NULL::timestamptz'
			WHEN as_caller AND r.proname = 'create_post' AND r.proargnames[n] = 'publish_date' THEN 'NULL::timestamptz'
		END AS given, w.item IS NOT NULL AS related, r.proargnames[n] AS argument, r.own, r.kept
	FROM wrapper AS w JOIN request AS r ON r.oid = w.request
	CROSS JOIN LATERAL generate_series(1, r.pronargs) AS n
),
numbered AS (
	SELECT a.*, coalesce(a.given, '$' || (a.related::int + count(*) FILTER (WHERE a.given IS NULL)
		OVER (PARTITION BY a.name ORDER BY a.n))) AS value
	FROM argument AS a
),
-- With as_caller, for a query without a function own_...(): the query returns
-- hidden posts only if they are the current user's. Where comments or likes
-- are filtered, the query gets no page_size, and the wrapper has a LIMIT
-- instead, so that pages are full.
adapted AS (
	SELECT a.*, u.value AS user_id, p.value AS post_id, c.value AS comment_id, s.value AS page_size,
		CASE WHEN NOT as_caller OR a.own OR a.kept = '' THEN a.value
			WHEN a.argument = 'include_hidden' AND a.kept = 'post' THEN
				format('%s AND %s IS NOT DISTINCT FROM blogstore.current_user_id(false)', a.value, u.value)
			WHEN a.argument = 'page_size' AND a.kept = 'child' THEN format('CASE WHEN %1$s < 1 THEN %1$s END', a.value)
			ELSE a.value END AS passed
	FROM numbered AS a
	LEFT JOIN numbered AS u ON u.name = a.name AND u.argument = 'user_id'
	LEFT JOIN numbered AS p ON p.name = a.name AND p.argument = 'post_id'
	LEFT JOIN numbered AS c ON c.name = a.name AND c.argument = 'comment_id'
	LEFT JOIN numbered AS s ON s.name = a.name AND s.argument = 'page_size'
),
listed AS (
	SELECT a.name, min(a.post_id) AS post_id, min(a.comment_id) AS comment_id, min(a.page_size) AS page_size, string_agg(a.declared || coalesce(' DEFAULT ' || a.default, ''), ', ' ORDER BY a.n)
			FILTER (WHERE a.given IS NULL) AS declared,
		string_agg(a.passed, ', ' ORDER BY a.n) AS passed,
		-- Whether the wrapper filters the rows.
		as_caller AND NOT bool_or(a.own) AND min(a.kept) <> '' AS filtered
	FROM adapted AS a GROUP BY a.name
),
item AS (
	SELECT t.oid, t.typname, string_agg('r.' || quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
	FROM pg_type AS t JOIN pg_attribute AS a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE t.typnamespace = 'blogstore'::regnamespace AND t.typname LIKE '%\_item'
	GROUP BY t.oid, t.typname
)
SELECT w.name, r.proname::text,
	concat_ws(', ', CASE WHEN w.item IS NOT NULL THEN 'item ' || quote_ident(schema) || '.' || w.item END, l.declared),
	CASE WHEN w.set THEN 'SETOF ' ELSE '' END
		|| coalesce(quote_ident(schema) || '.' || i.typname, format_type(r.prorettype, NULL)),
	concat_ws(' ', CASE r.provolatile WHEN 'v' THEN 'VOLATILE' ELSE 'STABLE' END,
		CASE r.proparallel WHEN 's' THEN 'PARALLEL SAFE' END,
		CASE WHEN w.set THEN 'ROWS ' || r.prorows END,
		CASE WHEN as_caller THEN 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp' END),
	-- The columns are named, so that a wrapper still works after an update of
	-- the extension has added columns to an item.
	format('SELECT %s FROM %s(%s) AS r', coalesce(i.columns, 'r'), r.callee,
		concat_ws(', ', CASE WHEN r.own THEN format('blogstore.current_user_id(%s)', r.command::text) END, l.passed))
		|| coalesce(' WHERE ' || nullif(concat_ws(' AND ',
			-- The request is not called with an argument that is null.
			CASE WHEN w.bound @> '{"user_id": null}' THEN 'blogstore.current_user_id(false) IS NOT NULL' END,
			CASE WHEN w.item = 'like_item' AND w.bound ? 'comment_id' THEN '($1).comment_id IS NOT NULL' END,
			-- A subquery in WHERE is not turned into a join, which could
			-- change the order.
			CASE WHEN l.filtered AND r.kept = 'child' THEN
				format('coalesce((SELECT p.hidden IS NOT TRUE OR p.user_id = blogstore.current_user_id(false) FROM blogstore.get_post(%s) AS p), false)',
					coalesce(l.post_id, 'r.post_id')) END,
			CASE WHEN l.filtered IS NOT TRUE THEN NULL
				WHEN r.prorettype <> 'blogstore.like_item'::regtype THEN
					'(r.hidden IS NOT TRUE OR r.user_id = blogstore.current_user_id(false))'
				ELSE format('(%2$s IS NULL OR coalesce((SELECT c.hidden IS NOT TRUE OR c.user_id = blogstore.current_user_id(false) FROM blogstore.get_comment(%1$s, %2$s) AS c), false))',
					coalesce(l.post_id, 'r.post_id'), coalesce(l.comment_id, 'r.comment_id')) END), ''), '')
		|| CASE WHEN l.filtered AND r.kept = 'child' AND l.page_size IS NOT NULL THEN
			format(' LIMIT CASE WHEN %1$s >= 1 THEN %1$s END', l.page_size) ELSE '' END,
	concat_ws(E'\n', '@name ' || w.field,
		CASE WHEN w.field IS NOT NULL THEN format('What %s() retrieves, as one object; NULL if there is none.', r.proname)
			WHEN w.item IS NULL THEN obj_description(r.oid, 'pg_proc')
			WHEN w.set THEN format('What %s() lists for this item.', r.proname)
			ELSE format('What %s() retrieves for this item.', r.proname) END,
		CASE WHEN w.set AND l.page_size IS NOT NULL THEN
			'In GraphQL, which leaves out NULL, page_size 2147483647 returns all rows.' END,
		CASE WHEN as_caller AND r.command THEN
			'Acts for the signed-in user, on that user''s own items (42501 if nobody is signed in).' END)
FROM wrapper AS w JOIN request AS r ON r.oid = w.request
LEFT JOIN listed AS l ON l.name = w.name
LEFT JOIN item AS i ON i.oid = r.prorettype
$body$;
REVOKE ALL ON FUNCTION blogstore.api_functions FROM PUBLIC;
COMMENT ON FUNCTION blogstore.api_functions IS
'List the functions that create_api() makes.';

-- Returns a right of a role that would let it bypass wrappers made with
-- as_caller, or null. Rights of roles that it is a member of count as well,
-- because it can use SET ROLE.
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
	-- a role that can create functions there can replace what wrappers call
	SELECT 1, 'can create functions in schema blogstore' FROM reach AS r
	WHERE has_schema_privilege(r.oid, 'blogstore', 'CREATE')
	UNION ALL
	-- all functions of the extension, except those that do not read or write
	-- items
	SELECT 2, format('can execute %s', p.oid::regprocedure) FROM reach AS r, pg_extension AS e
	JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_proc AS p ON p.oid = d.objid
	WHERE e.extname = 'blogstore'
		AND p.proname NOT IN ('library_version', 'new_id', 'key_id', 'wait_for_views', 'get_worker_status', 'get_workers_status', 'get_progress', 'get_request_stats', 'get_cluster_status')
		AND p.oid NOT IN (SELECT f.function FROM blogstore.request_functions() AS f WHERE f.kind IN ('wait', 'document', 'tool'))
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
'Return by which right a role can bypass wrappers as_caller.';

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
	model	text;
	wanted	record;
	grant_of record;
BEGIN
	-- Check the arguments.

	IF schema IS NULL OR role IS NULL OR as_caller IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = '22004', MESSAGE = format('%s must not be null',
				CASE WHEN schema IS NULL THEN 'schema' WHEN role IS NULL THEN 'role' ELSE 'as_caller' END),
			HINT = 'Pass a value for each argument.', SCHEMA = 'blogstore', CONSTRAINT = 'not_null',
			COLUMN = CASE WHEN schema IS NULL THEN 'schema' WHEN role IS NULL THEN 'role' ELSE 'as_caller' END;
	END IF;
	IF schema = '' OR octet_length(schema) > 63 OR schema IN ('blogstore', 'information_schema') OR schema LIKE 'pg\_%' THEN
		RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('schema %I cannot have wrappers', schema),
			HINT = 'Name a schema of your own, or one that does not exist.',
			SCHEMA = 'blogstore', COLUMN = 'schema', CONSTRAINT = 'range';
	END IF;
	SELECT r.rolname INTO grantee FROM pg_roles AS r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = format('role with OID %s does not exist', role::oid),
			HINT = 'Pass the name of a role.', SCHEMA = 'blogstore', COLUMN = 'role';
	END IF;

	-- Check the rights of the role, and with as_caller those of the caller.

	IF NOT as_caller THEN
		SELECT f.function::text INTO found_one FROM blogstore.request_functions() AS f
		WHERE f.kind IN ('command', 'query', 'wait') AND NOT has_function_privilege(role, f.function, 'EXECUTE')
		ORDER BY f.function::text COLLATE "C" LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('role %I cannot execute %s', grantee, found_one),
				HINT = format('Call blogstore.grant_requests(%L) first, or make wrappers with as_caller => true for a role of browser clients.', quote_ident(grantee)), SCHEMA = 'blogstore';
		END IF;
	ELSE
		IF (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = caller) THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'a superuser cannot own wrappers that act for their callers',
				DETAIL = 'The wrappers run with the rights of their owner.',
				HINT = 'SET ROLE to an ordinary role that has the requests (grant_requests()) and EXECUTE on create_api().', SCHEMA = 'blogstore';
		END IF;
		SELECT f.function::text INTO found_one FROM blogstore.request_functions() AS f
		WHERE NOT has_function_privilege(f.function, 'EXECUTE') ORDER BY f.function::text COLLATE "C" LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('no right to execute %s, which the wrappers call', found_one),
				HINT = format('Have the owner of the extension call blogstore.grant_requests(%L).', quote_ident(current_user)), SCHEMA = 'blogstore';
		END IF;
		found_one := blogstore.api_bypass(role);
		IF found_one IS NOT NULL THEN
			RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('role %I %s', grantee, found_one),
				DETAIL = 'It has the right itself, from PUBLIC, or by a role that it is a member of.',
				HINT = 'Wrappers with as_caller are for a role that has no other way to the items. Revoke the right, or name another role.', SCHEMA = 'blogstore';
		END IF;
	END IF;

	-- Check the schema. It must be the caller's, and must not contain objects
	-- with the names of wrappers that were not made by this function.

	SELECT n.oid, n.nspowner INTO space, owner FROM pg_namespace AS n WHERE n.nspname = schema;
	IF NOT FOUND THEN
		EXECUTE format('CREATE SCHEMA %I', schema);
		SELECT n.oid, n.nspowner INTO space, owner FROM pg_namespace AS n WHERE n.nspname = schema;
	END IF;
	IF owner <> caller THEN
		RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('schema %I belongs to role %I', schema, pg_get_userbyid(owner)),
			HINT = 'SET ROLE to its owner, or name another schema.', SCHEMA = 'blogstore';
	END IF;
	SELECT d.description INTO found_one FROM (
		SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0) FROM pg_proc AS p
		WHERE p.pronamespace = space AND p.proname IN (SELECT w.name FROM blogstore.api_functions(schema, as_caller) AS w)
			AND NOT (p.proowner = caller AND coalesce(obj_description(p.oid, 'pg_proc'), '') LIKE '%' || mark)
		UNION ALL
		SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) FROM pg_class AS c
		WHERE c.relnamespace = space AND c.relname IN ('user_item', 'post_item', 'comment_item', 'like_item', 'follow_item', 'topic_item')
			AND NOT (c.relowner = caller AND c.relkind = 'v' AND coalesce(obj_description(c.oid, 'pg_class'), '') LIKE '%' || mark)
		UNION ALL
		SELECT pg_describe_object('pg_type'::regclass, t.oid, 0) FROM pg_type AS t
		WHERE t.typnamespace = space AND t.typname IN ('user_item', 'post_item', 'comment_item', 'like_item', 'follow_item', 'topic_item') AND t.typrelid = 0
	) AS d (description) ORDER BY d.description COLLATE "C" LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('%s was not made by create_api()', found_one),
			HINT = 'Drop or rename it, or name another schema.', SCHEMA = 'blogstore';
	END IF;
	SELECT array_agg(p.oid::regprocedure) INTO made FROM pg_proc AS p
	WHERE p.pronamespace = space AND p.proowner = caller AND obj_description(p.oid, 'pg_proc') LIKE '%' || mark;
	IF EXISTS (SELECT FROM pg_proc AS p WHERE p.oid = ANY (made) AND p.prosecdef <> as_caller) THEN
		RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format('schema %I has wrappers made with as_caller => %s', schema, (NOT as_caller)::text),
			HINT = 'Pass the same as_caller, name another schema, or drop this one first.', SCHEMA = 'blogstore';
	END IF;

	-- Drop wrappers whose arguments or result have changed. The roles that
	-- hold one are noted, and are granted the new one of the same name.

	kept := coalesce((SELECT jsonb_agg(jsonb_build_object('name', p.proname, 'grantee', a.grantee, 'grantable', a.is_grantable))
		FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
		WHERE p.oid = ANY (made) AND a.grantee <> caller), '[]');
	there := coalesce((SELECT array_agg(p.proname::text) FROM pg_proc AS p WHERE p.oid = ANY (made)), '{}');
	-- Wrappers that were revoked from the role are not granted to it again,
	-- for example publish_post() on a site that moderates posts.
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

	-- Create views without rows, as row types of items. Hasura accepts
	-- functions that return rows of a table or view. PostGraphile and
	-- PostgREST find the relations of an item by functions that take its type
	-- and are in the schema of the type.

	FOR wanted IN SELECT t.typname, obj_description(t.oid, 'pg_type') AS comment,
			string_agg(format('NULL::%s AS %I', format_type(a.atttypid, a.atttypmod), a.attname), ', ' ORDER BY a.attnum) AS columns
		FROM pg_type AS t JOIN pg_attribute AS a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE t.typnamespace = 'blogstore'::regnamespace AND t.typname IN ('user_item', 'post_item', 'comment_item', 'like_item', 'follow_item', 'topic_item')
		GROUP BY t.oid, t.typname
	LOOP
		EXECUTE format('CREATE OR REPLACE VIEW %I.%I AS SELECT %s WHERE false', schema, wanted.typname, wanted.columns);
		EXECUTE format('COMMENT ON VIEW %I.%I IS %L', schema, wanted.typname,
			concat_ws(E'\n', '@name ' || replace(wanted.typname, '_item', ''), '@omit all,many,create,update,delete,filter,order',
				'@behavior -query:resource:list -query:resource:connection -query:resource:single -resource:insert -resource:update -resource:delete',
				wanted.comment, mark));
		EXECUTE format('GRANT SELECT ON %I.%I TO %I', schema, wanted.typname, grantee);
	END LOOP;

	-- Create the wrappers.

	FOR wanted IN SELECT w.* FROM blogstore.api_functions(schema, as_caller) AS w LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE sql %s AS %L',
			schema, wanted.name, wanted.arguments, wanted.returns, wanted.options, wanted.body);
		EXECUTE format('COMMENT ON FUNCTION %I.%I IS %L', schema, wanted.name, concat_ws(E'\n', wanted.comment, mark));
		-- revoke what PUBLIC and default privileges have got
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
		-- A new wrapper is granted as the wrapper of its request, for example
		-- one_user() as get_user(). The wrappers of a new request are granted
		-- as get_post().
		model := CASE WHEN wanted.name = ANY (there) THEN wanted.name
			WHEN wanted.request = ANY (there) THEN wanted.request ELSE 'get_post' END;
		IF model <> ALL (taken) THEN
			EXECUTE format('GRANT EXECUTE ON FUNCTION %I.%I TO %I', schema, wanted.name, grantee);
		END IF;
		FOR grant_of IN SELECT r.rolname, k.grantable FROM jsonb_to_recordset(kept) AS k (name text, grantee oid, grantable boolean)
			LEFT JOIN pg_roles AS r ON r.oid = k.grantee
			WHERE k.name = model
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
			HINT = 'Call create_api() outside of extensions'' scripts, and take what is in the schema out of them with ALTER EXTENSION ... DROP.', SCHEMA = 'blogstore';
	END IF;
END
$body$;
REVOKE ALL ON FUNCTION blogstore.create_api FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_api IS
'Make wrappers of all requests in a schema, for a role.';

/* ------------------------------------------------------------------------
 * Clusters
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.distribute_containers(partitions integer DEFAULT 32, keep boolean DEFAULT true)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_distribute_containers'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.distribute_containers FROM PUBLIC;
COMMENT ON FUNCTION blogstore.distribute_containers IS
'Spread filled containers over a Citus cluster.';

CREATE FUNCTION blogstore.node_of(post_id uuid, OUT node_id integer, OUT host text, OUT port integer)
AS 'MODULE_PATHNAME', 'blogstore_node_of'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION blogstore.node_of FROM PUBLIC;
COMMENT ON FUNCTION blogstore.node_of IS
'Return the node of the cluster that stores a post.';

CREATE FUNCTION blogstore.get_cluster_status(what text, OUT node integer, OUT host text, OUT port integer, OUT node_error text, OUT status json)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_cluster_status'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.get_cluster_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION blogstore.get_cluster_status TO pg_monitor;
COMMENT ON FUNCTION blogstore.get_cluster_status IS
'Return the monitoring views of all nodes as JSON.';

CREATE VIEW blogstore.cluster_stat_worker AS
SELECT c.node, c.host, c.port, c.node_error, s.state, s.pid, s.slot, s.lag_bytes, s.lag_time, s.applied_lsn, s.retained_bytes, s.wal_status, s.safe_wal_size, s.batches, s.changes, s.rebuilds, s.last_rebuild_reason, s.last_rebuild_at, s.started_at, s.last_error, s.last_error_at, s.hint
FROM blogstore.get_cluster_status('worker') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(state text, pid integer, slot text, lag_bytes bigint, lag_time interval, applied_lsn pg_lsn, retained_bytes bigint, wal_status text, safe_wal_size bigint, batches bigint, changes bigint, rebuilds bigint, last_rebuild_reason text, last_rebuild_at timestamptz, started_at timestamptz, last_error text, last_error_at timestamptz, hint text) ON true;
GRANT SELECT ON blogstore.cluster_stat_worker TO pg_monitor;
COMMENT ON VIEW blogstore.cluster_stat_worker IS
'stat_worker of every node of the cluster.';

CREATE VIEW blogstore.cluster_progress AS
SELECT c.node, c.host, c.port, c.node_error, s.kind, s.user_id, s.phase, s.done, s.total, s.rows_per_second, s.started_at, s.estimated_end
FROM blogstore.get_cluster_status('progress') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(kind text, user_id uuid, phase text, done bigint, total bigint, rows_per_second double precision, started_at timestamptz, estimated_end timestamptz) ON true
WHERE s.kind IS NOT NULL OR c.node_error IS NOT NULL;
GRANT SELECT ON blogstore.cluster_progress TO pg_monitor;
COMMENT ON VIEW blogstore.cluster_progress IS
'progress of every node of the cluster.';

CREATE VIEW blogstore.cluster_stat_requests AS
SELECT c.node, c.host, c.port, c.node_error, s.request, s.function, s.calls, s.rows, s.caller_errors, s.server_errors, s.total_time, s.p50_time, s.p95_time, s.p99_time, s.max_time, s.buffers_hit, s.buffers_read, s.wal_bytes, s.request_units, s.units_per_call, s.stats_reset
FROM blogstore.get_cluster_status('requests') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(request text, function text, calls bigint, rows bigint, caller_errors bigint, server_errors bigint, total_time double precision, p50_time double precision, p95_time double precision, p99_time double precision, max_time double precision, buffers_hit bigint, buffers_read bigint, wal_bytes bigint, request_units double precision, units_per_call double precision, stats_reset timestamptz) ON true;
GRANT SELECT ON blogstore.cluster_stat_requests TO pg_monitor;
COMMENT ON VIEW blogstore.cluster_stat_requests IS
'stat_requests of every node of the cluster.';

/* ------------------------------------------------------------------------
 * Functions that the nodes of a cluster call on each other
 *
 * They are internal. The nodes call them as the owner of the containers.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION blogstore.create_node_tables(owner regrole)
RETURNS integer
AS 'MODULE_PATHNAME', 'blogstore_create_node_tables'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.create_node_tables FROM PUBLIC;
COMMENT ON FUNCTION blogstore.create_node_tables IS
'For nodes of a cluster: create the tables of one node.';

CREATE FUNCTION blogstore.serve_post(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_post FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_post IS
'For nodes of a cluster: serve a request that returns posts.';

CREATE FUNCTION blogstore.serve_comment(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_comment FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_comment IS
'For nodes of a cluster: serve a request that returns comments.';

CREATE FUNCTION blogstore.serve_like(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_like FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_like IS
'For nodes of a cluster: serve a request that returns likes.';

CREATE FUNCTION blogstore.serve_topic(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.topic_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_topic FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_topic IS
'For nodes of a cluster: serve a request that returns topics.';

CREATE FUNCTION blogstore.serve_follow(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_follow FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_follow IS
'For nodes of a cluster: serve a request that returns follows.';

CREATE FUNCTION blogstore.serve_flag(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0)
RETURNS SETOF boolean
AS 'MODULE_PATHNAME', 'blogstore_serve'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.serve_flag FROM PUBLIC;
COMMENT ON FUNCTION blogstore.serve_flag IS
'For nodes of a cluster: serve a request that returns a boolean.';

CREATE FUNCTION blogstore.list_followed(user_id uuid)
RETURNS SETOF blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_list_followed'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.list_followed FROM PUBLIC;
COMMENT ON FUNCTION blogstore.list_followed IS
'For nodes of a cluster: return the ids of whom a user follows.';

CREATE FUNCTION blogstore.home_feed_copies(user_ids uuid[], page_size integer, before_date timestamptz, before_id uuid, oldest_first boolean)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_home_feed_copies'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.home_feed_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.home_feed_copies IS
'For nodes of a cluster: return users'' posts from this node''s copies.';

CREATE FUNCTION blogstore.home_feed_posts(user_ids uuid[], page_size integer, before_date timestamptz, before_id uuid, oldest_first boolean)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_request_home_feed_posts'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.home_feed_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.home_feed_posts IS
'For nodes of a cluster: return users'' posts from this node''s posts.';

CREATE FUNCTION blogstore.put_copies(copies blogstore.post_item[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_put_copies'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.put_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.put_copies IS
'For nodes of a cluster: write copies of posts.';

CREATE FUNCTION blogstore.touch_copies(copies blogstore.post_item[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_touch_copies'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.touch_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.touch_copies IS
'For nodes of a cluster: have copies of posts refreshed.';

CREATE FUNCTION blogstore.put_feed(rows blogstore.post_item[], ranges integer[])
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_put_feed'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.put_feed FROM PUBLIC;
COMMENT ON FUNCTION blogstore.put_feed IS
'For nodes of a cluster: write rows of the feed.';

CREATE FUNCTION blogstore.tell_node(node_group integer, keeps integer, answers bigint, asks bigint)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_tell_node'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.tell_node FROM PUBLIC;
COMMENT ON FUNCTION blogstore.tell_node IS
'For nodes of a cluster: tell which views a node keeps.';

CREATE FUNCTION blogstore.views_served()
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_views_served'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.views_served FROM PUBLIC;
COMMENT ON FUNCTION blogstore.views_served IS
'For nodes of a cluster: return whether this node serves views.';

CREATE FUNCTION blogstore.views_look()
RETURNS bigint
AS 'MODULE_PATHNAME', 'blogstore_views_look'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.views_look FROM PUBLIC;
COMMENT ON FUNCTION blogstore.views_look IS
'For nodes of a cluster: return how far this node''s views are.';

CREATE FUNCTION blogstore.views_unsettled(applied bigint, post_ids uuid[])
RETURNS uuid[]
AS 'MODULE_PATHNAME', 'blogstore_views_unsettled'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.views_unsettled FROM PUBLIC;
COMMENT ON FUNCTION blogstore.views_unsettled IS
'For nodes of a cluster: return posts not yet in the views.';

CREATE FUNCTION blogstore.verify_node()
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_verify_node'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.verify_node FROM PUBLIC;
COMMENT ON FUNCTION blogstore.verify_node IS
'For nodes of a cluster: compare this node''s topics and queue with its posts.';

CREATE FUNCTION blogstore.begin_user_deletion(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_begin_user_deletion'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.begin_user_deletion FROM PUBLIC;
COMMENT ON FUNCTION blogstore.begin_user_deletion IS
'For nodes of a cluster: begin to delete a user''s items.';

CREATE FUNCTION blogstore.revive_user(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_revive_user'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.revive_user FROM PUBLIC;
COMMENT ON FUNCTION blogstore.revive_user IS
'For nodes of a cluster: free the id of a user being deleted.';

CREATE FUNCTION blogstore.import_begin_part()
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_begin_part'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_begin_part FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_begin_part IS
'For nodes of a cluster: lock the leaves that import() writes.';

CREATE FUNCTION blogstore.deleting_users()
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_deleting_users'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.deleting_users FROM PUBLIC;
COMMENT ON FUNCTION blogstore.deleting_users IS
'For nodes of a cluster: return users that are being deleted.';

CREATE FUNCTION blogstore.import_posts(ids uuid[], whole boolean)
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_import_posts'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_posts IS
'For nodes of a cluster: return posts that exist.';

CREATE FUNCTION blogstore.import_comments(post_ids uuid[], ids uuid[])
RETURNS SETOF blogstore.comment_item
AS 'MODULE_PATHNAME', 'blogstore_import_children'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_comments IS
'For nodes of a cluster: return comments that exist.';

CREATE FUNCTION blogstore.import_likes(post_ids uuid[], user_ids uuid[])
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_children'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_likes IS
'For nodes of a cluster: return likes that exist.';

CREATE FUNCTION blogstore.import_comment_likes(post_ids uuid[], comment_ids uuid[], user_ids uuid[])
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_children'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_comment_likes FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_comment_likes IS
'For nodes of a cluster: return likes of comments that exist.';

CREATE FUNCTION blogstore.import_keep_posts(ids uuid[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_keep_posts'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_keep_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_keep_posts IS
'For nodes of a cluster: lock posts against deletion.';

CREATE FUNCTION blogstore.import_lock_follows()
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_lock_follows'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_lock_follows FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_lock_follows IS
'For nodes of a cluster: keep others from adding follows.';

CREATE FUNCTION blogstore.import_count_follows(ids uuid[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_import_count_follows'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_count_follows FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_count_follows IS
'For nodes of a cluster: count users'' follows.';

CREATE FUNCTION blogstore.import_follows(user_ids uuid[], followed_ids uuid[])
RETURNS SETOF blogstore.follow_item
AS 'MODULE_PATHNAME', 'blogstore_import_follows'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_follows FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_follows IS
'For nodes of a cluster: return follows that exist.';

CREATE FUNCTION blogstore.import_count_posts(ids uuid[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_count_posts'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_count_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_count_posts IS
'For nodes of a cluster: create the counters of posts.';

CREATE FUNCTION blogstore.import_count_comments(post_ids uuid[], ids uuid[], replies bigint[], likes bigint[], made boolean[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_count_comments'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_count_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_count_comments IS
'For nodes of a cluster: count replies and likes on comments.';

CREATE FUNCTION blogstore.import_same_names(ids uuid[], names text[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_same_names'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_same_names FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_same_names IS
'For nodes of a cluster: return whether usernames are the same.';

CREATE FUNCTION blogstore.import_edit_posts(items blogstore.post_item[], now timestamptz)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_edit_items'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_edit_posts FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_edit_posts IS
'For nodes of a cluster: change posts.';

CREATE FUNCTION blogstore.import_edit_comments(items blogstore.comment_item[], now timestamptz)
RETURNS SETOF blogstore.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_edit_items'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.import_edit_comments FROM PUBLIC;
COMMENT ON FUNCTION blogstore.import_edit_comments IS
'For nodes of a cluster: change comments.';

CREATE FUNCTION blogstore.repair_part(problems text[], types text[], expected text[], ids uuid[], post_ids uuid[], user_ids uuid[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_repair_part'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.repair_part FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair_part IS
'For nodes of a cluster: repair items of this node.';

CREATE FUNCTION blogstore.repair_copies(post_ids uuid[], user_ids uuid[], dates timestamptz[])
RETURNS SETOF blogstore.post_item
AS 'MODULE_PATHNAME', 'blogstore_repair_copies'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION blogstore.repair_copies FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair_copies IS
'For nodes of a cluster: return what copies should be.';

CREATE FUNCTION blogstore.repair_topics()
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_repair_topics'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION blogstore.repair_topics FROM PUBLIC;
COMMENT ON FUNCTION blogstore.repair_topics IS
'For nodes of a cluster: repair this node''s topics.';
