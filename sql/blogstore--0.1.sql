/*
 * blogstore--0.1.sql
 *		The SQL side of blogstore: item types, requests, operation, monitoring.
 *
 * The containers are not made here: blogstore.create_containers() makes them
 * as ordinary tables of its caller, so that they outlive the extension.
 */
\echo Use "CREATE EXTENSION blogstore" to load this file. \quit

-- EXECUTE on the functions is the door; USAGE only lets a role name them.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

/* ------------------------------------------------------------------------
 * Items: the article's properties in the article's order
 * ------------------------------------------------------------------------ */

CREATE TYPE @extschema@.user_item AS (
	id				uuid,
	type			text,
	user_id			uuid,
	username		text,
	creation_date	timestamptz
);
COMMENT ON TYPE @extschema@.user_item IS
'A user. type is ''user''; id and user_id are the same.';

CREATE TYPE @extschema@.post_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	title			text,
	content			text,
	comment_count	bigint,
	like_count		bigint,
	creation_date	timestamptz
);
COMMENT ON TYPE @extschema@.post_item IS
'A post with its author''s name and its exact counts. type is ''post''; id and post_id are the same. In short form, content is cut to the first blogstore.short_form_length characters.';

CREATE TYPE @extschema@.comment_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	content			text,
	creation_date	timestamptz
);
COMMENT ON TYPE @extschema@.comment_item IS
'A comment on a post with its author''s name. type is ''comment''.';

CREATE TYPE @extschema@.like_item AS (
	id				uuid,
	type			text,
	post_id			uuid,
	user_id			uuid,
	user_username	text,
	creation_date	timestamptz
);
COMMENT ON TYPE @extschema@.like_item IS
'A user''s like of a post; at most one per user and post. type is ''like''.';

/* ------------------------------------------------------------------------
 * Documents
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.user_document(item @extschema@.user_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.user_document IS
'The user item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (@extschema@.user_item AS jsonb) WITH FUNCTION @extschema@.user_document(@extschema@.user_item) AS ASSIGNMENT;
COMMENT ON CAST (@extschema@.user_item AS jsonb) IS
'The article''s document of a user item.';

CREATE FUNCTION @extschema@.post_document(item @extschema@.post_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.post_document IS
'The post item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (@extschema@.post_item AS jsonb) WITH FUNCTION @extschema@.post_document(@extschema@.post_item) AS ASSIGNMENT;
COMMENT ON CAST (@extschema@.post_item AS jsonb) IS
'The article''s document of a post item.';

CREATE FUNCTION @extschema@.comment_document(item @extschema@.comment_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.comment_document IS
'The comment item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (@extschema@.comment_item AS jsonb) WITH FUNCTION @extschema@.comment_document(@extschema@.comment_item) AS ASSIGNMENT;
COMMENT ON CAST (@extschema@.comment_item AS jsonb) IS
'The article''s document of a comment item.';

CREATE FUNCTION @extschema@.like_document(item @extschema@.like_item)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'blogstore_item_document'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.like_document IS
'The like item as the article''s JSON document: property names in camelCase, dates in ISO 8601 in the session''s time zone. Also reached by a cast to jsonb.';

CREATE CAST (@extschema@.like_item AS jsonb) WITH FUNCTION @extschema@.like_document(@extschema@.like_item) AS ASSIGNMENT;
COMMENT ON CAST (@extschema@.like_item AS jsonb) IS
'The article''s document of a like item.';

CREATE FUNCTION @extschema@.new_id()
RETURNS uuid
AS 'MODULE_PATHNAME', 'blogstore_new_id'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.new_id IS
'A new UUID of version 7 (RFC 9562): 48 bits of Unix time in milliseconds, 12 bits of its sub-millisecond part, 62 random bits. The default id of every item.';

/* ------------------------------------------------------------------------
 * Containers
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.create_containers(partitions integer DEFAULT 16)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_create_containers'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_containers IS
'Create the containers users, posts and feed, and the bookkeeping tables beside them, in schema blogstore, owned by the caller.
partitions: hash partitions of users and of posts, 1 to 1024.
Errors: 22023 partitions out of range; 42P07 the containers exist; 42501 no CREATE right on the schema. On a server that is not prepared for the views it works and says what to set.';

/* ------------------------------------------------------------------------
 * Commands
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.create_user(username text, user_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL)
RETURNS @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_create_user'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_user IS
'C1: create a user.
username: 1 to 64 characters, unique regardless of case, without leading or trailing space and control characters; user_id: the caller''s id, or NULL for a new one; creation_date: NULL for now.
Returns the user; a repetition with the same id and name returns it unchanged.
Errors: 22004 no username; 22023 a bad username or date; 23505 the name is taken, or the id has another name; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.edit_user(user_id uuid, username text)
RETURNS @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_edit_user'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.edit_user IS
'C1: rename a user. The items that carry the name are relabelled by a job of the worker, or at once where no worker can run.
user_id: the user; username: as in create_user.
Returns the user as it is now.
Errors: 22004 a NULL; 22023 a bad username; 23503 no such user; 23505 the name is taken; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.create_post(user_id uuid, title text, content text, post_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_create_post'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_post IS
'C2: create a post.
user_id: the author; title: not empty; content: may be empty; post_id: the caller''s id, or NULL for a new one; creation_date: NULL for now.
Returns the post; a repetition with the same id, author and texts returns it unchanged.
Errors: 22004 a NULL; 22023 an empty title or bad date; 23503 no such user; 23505 the id has another post; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.edit_post(post_id uuid, title text DEFAULT NULL, content text DEFAULT NULL)
RETURNS @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_edit_post'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.edit_post IS
'C2: change a post''s title, content or both; NULL keeps what is there. Counts are not touched.
Returns the post as it is now.
Errors: 22004 no post_id; 22023 an empty title; 23503 no such post; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.create_comment(post_id uuid, user_id uuid, content text, comment_id uuid DEFAULT NULL, creation_date timestamptz DEFAULT NULL)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_create_comment'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_comment IS
'C3: comment on a post; its comment_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: the author; content: not empty; comment_id: the caller''s id, or NULL for a new one; creation_date: NULL for now.
Returns the comment; a repetition with the same id, author and content returns it unchanged.
Errors: 22004 a NULL; 22023 an empty comment or bad date; 23503 no such user or post; 23505 the id has another comment; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.create_like(post_id uuid, user_id uuid, creation_date timestamptz DEFAULT NULL)
RETURNS @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_create_like'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_like IS
'C4: like a post; its like_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: who likes it; creation_date: NULL for now.
Returns the like; a second like by the same user returns the first one unchanged.
Errors: 22004 a NULL; 22023 a bad date; 23503 no such user or post; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.edit_comment(post_id uuid, comment_id uuid, content text)
RETURNS @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_edit_comment'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.edit_comment IS
'Change a comment''s content.
Returns the comment as it is now.
Errors: 22004 a NULL; 22023 an empty comment; 23503 no such comment; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.delete_like(post_id uuid, user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_like'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.delete_like IS
'Take a like back; the post''s like_count falls by one in the same transaction.
Returns whether there was one.
Errors: 22004 a NULL; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.delete_comment(post_id uuid, comment_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_comment'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.delete_comment IS
'Delete a comment; the post''s comment_count falls by one in the same transaction.
Returns whether there was one.
Errors: 22004 a NULL; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.delete_post(post_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_post'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.delete_post IS
'Delete a post with its comments and likes.
Returns whether there was one.
Errors: 22004 no post_id; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.delete_user(user_id uuid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_delete_user'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.delete_user IS
'Delete a user. From the commit on none of the user''s posts (with all comments and likes on them), comments and likes is served, counts are without them, and the username is free again; up to 200 items are deleted in this transaction, and a job of the worker purges the rest in batches (or all is done at once where no worker can run).
Returns whether there was one.
Errors: 22004 no user_id; 25006 read-only transaction; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Queries
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.get_user(user_id uuid)
RETURNS SETOF @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_user'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION @extschema@.get_user IS
'Q1: retrieve a user.
Returns the user, or no row.
Errors: 22004 a NULL; 55000 no containers.';

CREATE FUNCTION @extschema@.get_user_by_name(username text)
RETURNS SETOF @extschema@.user_item
AS 'MODULE_PATHNAME', 'blogstore_get_user_by_name'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION @extschema@.get_user_by_name IS
'Q1: retrieve a user by name, regardless of case.
Returns the user, or no row.
Errors: 22004 a NULL; 55000 no containers.';

CREATE FUNCTION @extschema@.get_post(post_id uuid)
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_get_post'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION @extschema@.get_post IS
'Q2: retrieve a post. Its counts equal the comments and likes visible in the same snapshot.
Returns the post, or no row.
Errors: 22004 a NULL; 55000 no containers.';

CREATE FUNCTION @extschema@.list_user_posts(user_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL)
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_list_user_posts'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.list_user_posts IS
'Q3: list a user''s posts in short form, newest first by (creation_date, id). Read from the view in users, or from posts where that is not ready.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the last row of the page before, both or neither.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.list_post_comments(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL)
RETURNS SETOF @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_list_post_comments'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.list_post_comments IS
'Q4: list a post''s comments, newest first by (creation_date, id).
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the last row of the page before, both or neither.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.list_post_likes(post_id uuid, page_size integer DEFAULT 20, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL)
RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_list_post_likes'
LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.list_post_likes IS
'Q5: list a post''s likes, newest first by (creation_date, id).
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the last row of the page before, both or neither.
Errors: 22004 a NULL; 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.list_feed(page_size integer DEFAULT 100, before_date timestamptz DEFAULT NULL, before_id uuid DEFAULT NULL)
RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_list_feed'
LANGUAGE C STABLE PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.list_feed IS
'Q6: list the most recent posts of all users in short form, newest first by (creation_date, id). Read from the view feed, past its end or where it is not ready from posts.
page_size: items a page, 1 or more, NULL for all; before_date, before_id: creation_date and id of the last row of the page before, both or neither.
Errors: 22023 page_size below 1 or half a cursor; 55000 no containers.';

CREATE FUNCTION @extschema@.get_like(post_id uuid, user_id uuid)
RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_get_like'
LANGUAGE C STABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION @extschema@.get_like IS
'Has this user liked this post?
Returns the like, or no row.
Errors: 22004 a NULL; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Operation
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.wait_for_views("timeout" interval DEFAULT '30 s')
RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_wait_for_views'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.wait_for_views IS
'Wait until the views show everything committed before the call, and the jobs that existed then are done (read your writes).
timeout: how long at most; zero or less looks once.
Returns true when they do, false on timeout.
Errors: 22004 no timeout; 25006 on a standby; 55000 no containers, no worker can run here, or the worker is stopped.';

CREATE FUNCTION @extschema@.rebuild_views()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_rebuild_views'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.rebuild_views IS
'Have the worker build the views anew from the posts container, in chunks beside live traffic. Returns at once; blogstore.progress shows how far it is, wait_for_views() waits for it.
Errors: 25006 read-only transaction; 55000 no containers, or no worker can run here.';

CREATE FUNCTION @extschema@.verify(OUT container text, OUT problem text, OUT type text, OUT id uuid, OUT post_id uuid, OUT user_id uuid, OUT expected text, OUT actual text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_verify'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.verify IS
'Compare counts, usernames and views with what the containers imply, in one snapshot; reads everything. Views are compared while they are served: call wait_for_views() first, or what is on its way shows here.
Returns one row per discrepancy: the container, the problem (orphan, comment_count, like_count, username, registry, missing copy, extra copy, stale copy), the item and its keys, what it should be and what it is. No row when all is well.
Errors: 55000 no containers.';

CREATE FUNCTION @extschema@.repair()
RETURNS bigint
AS 'MODULE_PATHNAME', 'blogstore_repair'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.repair IS
'Mend what verify() finds, beside live traffic: each item is locked, computed anew and written. Deltas of counts are folded into their posts, which the worker does otherwise.
Returns how many discrepancies were mended.
Errors: 25001 not in READ COMMITTED; 25006 read-only transaction; 55000 no containers.';

CREATE FUNCTION @extschema@.start_worker()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_start_worker'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.start_worker IS
'Let this database''s worker run again after stop_worker(); it starts when the transaction commits.
Errors: 25006 read-only transaction; 55000 no containers, or no worker can run here.';

CREATE FUNCTION @extschema@.stop_worker(drop_slot boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_stop_worker'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.stop_worker IS
'Stop this database''s worker, and keep it stopped over restarts of the server until start_worker(). Returns when it has ended. Requests go on; Q3 and Q6 answer from the posts container.
drop_slot: also drop the replication slot. Without, the slot keeps all WAL from here on (a warning says how much it keeps already, stat_worker how much it has come to, and the server''s log when that exceeds max_wal_size); with, the views are built anew at the next start.
Errors: 22004 NULL; 25001 not in READ COMMITTED; 25006 read-only transaction; 55000 no containers.';

/* ------------------------------------------------------------------------
 * In and out
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.import(users regclass DEFAULT NULL, posts regclass DEFAULT NULL, comments regclass DEFAULT NULL, likes regclass DEFAULT NULL, rejects regclass DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import'
LANGUAGE C VOLATILE ROWS 4;
COMMENT ON FUNCTION @extschema@.import IS
'Import a site''s tables or views, in one transaction beside live traffic. They are read with the caller''s rights; other columns are ignored.
users: user_id uuid, username text, creation_date timestamptz; posts: post_id, user_id, title, content, creation_date; comments: comment_id, post_id, user_id, content, creation_date; likes: post_id, user_id, creation_date; each may be left out. creation_date NULL: now. rejects: a table of the caller with the columns type text, reason text, item jsonb for what cannot be imported, as documents that import_documents() takes once they are mended; without it the import is all or nothing.
Returns for each type of item how many were read, imported, present (there with the same values, so that an import can be repeated) and rejected (values that no command takes, an unknown post or user, a user being deleted, a duplicate id, an id taken by other values, a username taken, a post liked already).
What is being done shows in pg_stat_activity; sorts and hash tables may take maintenance_work_mem each. The containers'' owner needs TEMPORARY on the database.
Errors: 23514 rejects, and no table for them; 25001 not in READ COMMITTED; 25006 read-only transaction; 40001 items were created or deleted meanwhile: repeat it; 42501 no right on a table; 42703 a column is missing; 42809, 42P01 no table or view; 55000 no containers.';

CREATE FUNCTION @extschema@.import_documents(documents regclass, rejects regclass DEFAULT NULL, OUT type text, OUT read bigint, OUT imported bigint, OUT present bigint, OUT rejected bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_import_documents'
LANGUAGE C VOLATILE ROWS 4;
COMMENT ON FUNCTION @extschema@.import_documents IS
'Import JSON documents in the article''s shape, as the casts of items to jsonb and export_documents() give them, in any order. Properties that items do not have, names of authors and counts are ignored.
documents: a table or view with one column of type jsonb; rejects: as in import(); documents that are no items are in it as they are.
Returns as import(), with another row, type NULL, for documents of no known type if there are any.
Errors: 22004 no documents; else as import().';

CREATE FUNCTION @extschema@.export_documents()
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'blogstore_export_documents'
LANGUAGE C STABLE ROWS 1000000;
COMMENT ON FUNCTION @extschema@.export_documents IS
'All users, posts, comments and likes that are served, as the article''s JSON documents with the authors'' present names and exact counts, in one snapshot. Called in the list of a SELECT it streams, in FROM it is stored first.
Errors: 55000 no containers.';

/* ------------------------------------------------------------------------
 * Monitoring
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.get_worker_status(OUT state text, OUT pid integer, OUT slot text, OUT lag_bytes bigint, OUT lag_time interval, OUT batches bigint, OUT changes bigint, OUT started_at timestamptz, OUT last_error text, OUT last_error_at timestamptz, OUT hint text)
RETURNS record
AS 'MODULE_PATHNAME', 'blogstore_get_worker_status'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.get_worker_status IS
'What blogstore.stat_worker shows.';

CREATE VIEW @extschema@.stat_worker AS
SELECT state, pid, slot, lag_bytes, lag_time, batches, changes, started_at, last_error, last_error_at, hint
FROM @extschema@.get_worker_status();
COMMENT ON VIEW @extschema@.stat_worker IS
'The worker of this database, always one row. state: running, catching up, starting, waiting to restart, stopped, no containers, or disabled (hint says what to set); slot: its replication slot; lag_bytes: WAL not yet shown in the views; lag_time: how long the oldest of it has waited, or how long a worker has been stopped; batches, changes: applied since the worker started; last_error: what last ended a worker or failed a job, or how its slot was lost; hint: what to do, and what a stopped worker''s slot keeps.';

CREATE FUNCTION @extschema@.get_progress(OUT kind text, OUT user_id uuid, OUT phase text, OUT done bigint, OUT total bigint, OUT rows_per_second double precision, OUT started_at timestamptz, OUT estimated_end timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_progress'
LANGUAGE C STABLE;
COMMENT ON FUNCTION @extschema@.get_progress IS
'What blogstore.progress shows.';

CREATE VIEW @extschema@.progress AS
SELECT kind, user_id, phase, done, total, rows_per_second, started_at, estimated_end
FROM @extschema@.get_progress();
COMMENT ON VIEW @extschema@.progress IS
'Jobs the worker has yet to finish, one row each. kind: rebuild, rename or deletion; user_id: whose (rename, deletion); phase: waiting, copies, leftovers or feed of a rebuild, sweep, waiting, recheck or showing of the others; done, total: items (total is an estimate, for a rebuild only); rows_per_second, estimated_end: at the rate so far.';

CREATE FUNCTION @extschema@.get_request_stats(OUT request text, OUT function text, OUT calls bigint, OUT total_time double precision, OUT max_time double precision, OUT buffers_hit bigint, OUT buffers_read bigint, OUT wal_bytes bigint, OUT request_units double precision, OUT units_per_call double precision, OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_request_stats'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.get_request_stats IS
'What blogstore.stat_requests shows.';

CREATE VIEW @extschema@.stat_requests AS
SELECT request, function, calls, total_time, max_time, buffers_hit, buffers_read, wal_bytes, request_units, units_per_call, stats_reset
FROM @extschema@.get_request_stats();
COMMENT ON VIEW @extschema@.stat_requests IS
'What the requests of this database have cost since stats_reset, one row each: calls that succeeded; total_time, max_time in milliseconds; pages found in and read into shared buffers; WAL written (without the commit''s); request_units: cost as one number, in which reading one item of 1 kB by its key is about 1: a quarter for each page looked at, five for each kB of WAL. request: the article''s name. Counted by each process where it runs, while blogstore.track_requests is on; since the server''s start at most. Where the library is not preloaded, of this session only.';

CREATE FUNCTION @extschema@.reset_request_stats()
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_reset_request_stats'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.reset_request_stats IS
'Have blogstore.stat_requests count anew for this database.';

/* ------------------------------------------------------------------------
 * Privileges: nobody but those granted EXECUTE
 * ------------------------------------------------------------------------ */

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @extschema@ FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.get_worker_status, @extschema@.get_progress, @extschema@.get_request_stats TO pg_monitor;
GRANT SELECT ON @extschema@.stat_worker, @extschema@.progress, @extschema@.stat_requests TO pg_monitor;
