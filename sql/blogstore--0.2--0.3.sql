/*
 * blogstore--0.2--0.3.sql
 *		What 0.3 changes of 0.2's SQL objects: more than one machine, by Citus.
 *
 * Nothing in here touches the containers. A function that is new here must be
 * taken from PUBLIC here too.
 */
\echo Use "ALTER EXTENSION blogstore UPDATE TO '0.3'" to load this file. \quit

-- nothing is found by name in a schema that others may write to
SET LOCAL search_path = pg_catalog, pg_temp;

/* ------------------------------------------------------------------------
 * Containers on a cluster
 * ------------------------------------------------------------------------ */

ALTER FUNCTION @extschema@.create_containers(integer, regrole) RENAME TO "create_containers (0.2)";

CREATE FUNCTION @extschema@.create_containers(partitions integer DEFAULT 16, owner regrole DEFAULT NULL, distributed boolean DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_create_containers_0_3'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_containers IS
'Create the containers users, posts and feed, and the bookkeeping tables beside them, in schema blogstore, or those of them that are missing.
partitions: hash partitions of users and of posts, or shards on a cluster, 1 to 1024; owner: the role that is to own them, NULL for the caller. What is attached to them runs with the owner''s rights, so it had better be no superuser. To give them to another role takes what ALTER TABLE ... OWNER TO takes. distributed: spread them over the cluster of the extension citus; NULL: where it is in the database and has nodes. That takes a superuser, on the coordinator; called again after citus_add_node() it makes what the new node needs.
Errors: 22004 no partitions; 22023 partitions out of range; 25006 read-only transaction; 42P07 nothing is missing, or a table of another role or shape has one of their names; 42501 no CREATE right on the schema, or not a member of owner, or no superuser on a cluster; 42704 no such role; 55000 a cluster that is not ready, with what is missing. On a server that is not prepared for the views it works and says what to set.';

CREATE FUNCTION @extschema@.take_rights(regprocedure, regprocedure) RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_take_rights_0_2'
LANGUAGE C VOLATILE STRICT;

DO $body$
DECLARE
	aside	CONSTANT regprocedure := '@extschema@."create_containers (0.2)"(integer, regrole)';
	anew	CONSTANT regprocedure := '@extschema@.create_containers(integer, regrole, boolean)';
BEGIN
	EXECUTE format('ALTER FUNCTION %s OWNER TO %s', anew, (SELECT proowner::regrole FROM pg_proc WHERE oid = aside));
	PERFORM @extschema@.take_rights(aside, anew);
	EXECUTE format('DROP FUNCTION %s', aside);
END
$body$;

DROP FUNCTION @extschema@.take_rights(regprocedure, regprocedure);

CREATE FUNCTION @extschema@.create_node_tables(owner regrole)
RETURNS integer
AS 'MODULE_PATHNAME', 'blogstore_create_node_tables'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.create_node_tables FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.create_node_tables IS
'For create_containers(), which calls it on each node of a cluster: the tables that a node has for itself. Returns how many it has made.
Errors: 25006 read-only transaction; 42P07 another table has one of their names; 42501; 42704 no such role.';

CREATE FUNCTION @extschema@.node_of(post_id uuid, OUT node_id integer, OUT host text, OUT port integer)
AS 'MODULE_PATHNAME', 'blogstore_node_of'
LANGUAGE C STABLE;
REVOKE ALL ON FUNCTION @extschema@.node_of FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.node_of IS
'The node of the cluster that has a post, with its comments and likes, or would have it: for clients that connect straight to it. A post moves when shards are rebalanced; requests work from every node all the same.
Errors: 22004 no post_id; 55000 no containers, or they are on one machine.';

/* ------------------------------------------------------------------------
 * Requests that another node has sent
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.serve_post(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0) RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_serve' LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.serve_post FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.serve_post IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns posts, served where the key''s items lie.
Errors: those of the request; 42883 no such request.';

CREATE FUNCTION @extschema@.serve_comment(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0) RETURNS SETOF @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_serve' LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.serve_comment FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.serve_comment IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns comments, served where the key''s items lie.
Errors: those of the request; 42883 no such request.';

CREATE FUNCTION @extschema@.serve_like(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0) RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_serve' LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.serve_like FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.serve_like IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns likes, served where the key''s items lie.
Errors: those of the request; 42883 no such request.';

CREATE FUNCTION @extschema@.serve_flag(key uuid, request text, arguments text[], part boolean DEFAULT false, shard bigint DEFAULT 0) RETURNS SETOF boolean
AS 'MODULE_PATHNAME', 'blogstore_serve' LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.serve_flag FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.serve_flag IS
'For nodes of a cluster, which call it as the owner of the containers: a request that returns true or false, served where the key''s items lie.
Errors: those of the request; 42883 no such request.';

CREATE FUNCTION @extschema@.put_copies(copies @extschema@.post_item[]) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_put_copies' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.put_copies FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.put_copies IS
'For workers on the nodes of a cluster: makes the copies of posts at their authors'' home what is given; those without a title go. False: an author is at home elsewhere.
Errors: 22004 no id, author or date; 55000 no containers, or they are on one machine.';

CREATE FUNCTION @extschema@.touch_copies(copies @extschema@.post_item[]) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_touch_copies' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.touch_copies FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.touch_copies IS
'For workers on the nodes of a cluster: has the worker of the node that has the posts given refresh their copies, as after a change. False: another node has one of them.
Errors: 22004 no id, author or date; 55000 no containers, or they are on one machine.';

CREATE FUNCTION @extschema@.put_feed(rows @extschema@.post_item[], ranges integer[]) RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_put_feed' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.put_feed FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.put_feed IS
'For workers on the nodes of a cluster: makes rows of the feed what is given; those without a title go. Ranges are pairs of hashes of posts: what is in one and not given goes, too.
Errors: 22004 no id; 55000 no containers, or they are on one machine.';

CREATE FUNCTION @extschema@.tell_node(node_group integer, keeps integer, answers bigint, asks bigint) RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_tell_node' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.tell_node FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.tell_node IS
'For workers on the nodes of a cluster: a node tells that it keeps what the views here have of its posts, for a feed of so many (0: it does not), and asks to be told.
Errors: 55000 no containers, or they are on one machine.';

CREATE FUNCTION @extschema@.views_served() RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_views_served' LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.views_served FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.views_served IS
'For verify() on a cluster: whether this node serves list_feed() and list_user_posts() from its views at present.
Errors: 55000 no containers.';

CREATE FUNCTION @extschema@.begin_user_deletion(user_id uuid) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_begin_user_deletion' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.begin_user_deletion FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.begin_user_deletion IS
'For nodes of a cluster: what delete_user() does on each of them, to the user''s items there.
Errors: 55000 no containers.';

CREATE FUNCTION @extschema@.revive_user(user_id uuid) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_revive_user' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.revive_user FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.revive_user IS
'For nodes of a cluster: what create_user() does on each of them about the items of one who has had the id and is being deleted.
Errors: 40001 that deletion is newer than the transaction''s snapshot; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Operation: what verify() may take
 * ------------------------------------------------------------------------ */

COMMENT ON FUNCTION @extschema@.verify IS
'Compare counts, usernames and views with what the containers imply, in one snapshot; reads everything. Views are compared while they are served: call wait_for_views() first, or what is on its way shows here. It may take one to two times maintenance_work_mem, or a dozen times work_mem where that is more than an eighth of it.
Returns one row per discrepancy: the container (or usernames, jobs), the problem (orphan, comment_count, like_count, username, registry, missing copy, extra copy, stale copy; invalid: a value that must be there is NULL), the item and its keys, what it should be and what it is (of an invalid item the property, of an invalid copy what it shows). No row when all is well.
Errors: 55000 no containers, or a column is missing or has another type.';

/* ------------------------------------------------------------------------
 * From one machine to a cluster
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.distribute_containers(partitions integer DEFAULT 32, keep boolean DEFAULT true)
RETURNS void
AS 'MODULE_PATHNAME', 'blogstore_distribute_containers'
LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.distribute_containers FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.distribute_containers IS
'Spread the filled containers of this server over the cluster of the extension citus whose coordinator it is, in one transaction, beside readers and writers; these wait for the last step only.
partitions: shards, 1 to 1024; keep: the old tables stay, as users_one_machine, posts_one_machine and usernames_one_machine, instead of being dropped.
Errors: 0A000 something that is attached to the tables would be lost; 22004 no partitions; 22023 partitions out of range; 25001 not READ COMMITTED, or the transaction has written before; 25006 read-only transaction; 42501 no superuser; 42P07 a name that is needed is taken; 55000 no containers, they are spread already, or a cluster that is not ready, with what is missing; 55P03 other transactions, or renames and deletions of users, are in the way of the last step for ten minutes.';

/* ------------------------------------------------------------------------
 * A node's part of import(), export_documents() and repair()
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.import_begin_part() RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_begin_part' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_begin_part FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_begin_part IS
'For import() on a cluster, on each node: locks the leaves of posts, so that renames and deletions of users wait.
Errors: 55000 no containers, or a leaf is not as it should be.';

CREATE FUNCTION @extschema@.deleting_users() RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_deleting_users' LANGUAGE C VOLATILE;
REVOKE ALL ON FUNCTION @extschema@.deleting_users FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.deleting_users IS
'For import() and export_documents() on a cluster, on each node: the ids of users whose items there are being deleted, and nothing else of a like.
Errors: 55000 no containers.';

CREATE FUNCTION @extschema@.import_posts(ids uuid[], whole boolean) RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_import_posts' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_posts FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_posts IS
'For import() on a cluster, on each node: those of the posts that are there, whole or without their texts.
Errors: 22023 not a list; 55000 no containers.';

CREATE FUNCTION @extschema@.import_comments(post_ids uuid[], ids uuid[]) RETURNS SETOF @extschema@.comment_item
AS 'MODULE_PATHNAME', 'blogstore_import_children' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_comments FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_comments IS
'For import() on a cluster, on each node: those of the comments that are there.
Errors: 22023 not two lists of one length; 55000 no containers.';

CREATE FUNCTION @extschema@.import_likes(post_ids uuid[], user_ids uuid[]) RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_children' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_likes FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_likes IS
'For import() on a cluster, on each node: those of the likes that are there.
Errors: 22023 not two lists of one length; 55000 no containers.';

CREATE FUNCTION @extschema@.import_keep_posts(ids uuid[]) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_keep_posts' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_keep_posts FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_keep_posts IS
'For import() on a cluster, on each node: locks posts, so that nobody deletes them; false: one is gone.
Errors: 22023 not a list; 55000 no containers.';

CREATE FUNCTION @extschema@.import_count_posts(ids uuid[]) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_count_posts' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_count_posts FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_count_posts IS
'For import() on a cluster, on each node: makes the counters of posts that were written.
Errors: 22023 not a list; 55000 no containers.';

CREATE FUNCTION @extschema@.import_same_names(ids uuid[], names text[]) RETURNS boolean
AS 'MODULE_PATHNAME', 'blogstore_import_same_names' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_same_names FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_same_names IS
'For import() on a cluster, on each node: whether users have these names there, too.
Errors: 22023 not two lists of one length; 55000 no containers.';

CREATE FUNCTION @extschema@.import_edit_posts(items @extschema@.post_item[], now timestamptz) RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_edit_items' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_edit_posts FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_edit_posts IS
'For import() on a cluster, on each node: makes posts what is given, and returns the ids of those that were others.
Errors: 40001 one is gone; 55000 no containers.';

CREATE FUNCTION @extschema@.import_edit_comments(items @extschema@.comment_item[], now timestamptz) RETURNS SETOF @extschema@.like_item
AS 'MODULE_PATHNAME', 'blogstore_import_edit_items' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.import_edit_comments FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.import_edit_comments IS
'For import() on a cluster, on each node: makes comments what is given, and returns the ids of those that were others.
Errors: 40001 one is gone; 55000 no containers.';

CREATE FUNCTION @extschema@.repair_part(problems text[], types text[], expected text[], ids uuid[], post_ids uuid[], user_ids uuid[]) RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_repair_part' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.repair_part FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.repair_part IS
'For repair() on a cluster, on each node: mends what was found of items there, and what lies there alone. Returns one post, whose comment_count is how many findings that were.
Errors: 22023 lists of different lengths; 55000 no containers.';

CREATE FUNCTION @extschema@.repair_copies(post_ids uuid[], user_ids uuid[], dates timestamptz[]) RETURNS SETOF @extschema@.post_item
AS 'MODULE_PATHNAME', 'blogstore_repair_copies' LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.repair_copies FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.repair_copies IS
'For repair() on a cluster, on each node: what the copies of posts that are there should be; without a title, there should be none. No others refresh them before the transaction ends.
Errors: 22023 lists of different lengths; 55000 no containers.';

/* ------------------------------------------------------------------------
 * Monitoring a cluster
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.get_cluster_status(what text, OUT node integer, OUT host text, OUT port integer, OUT node_error text, OUT status json)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'blogstore_get_cluster_status'
LANGUAGE C VOLATILE STRICT;
REVOKE ALL ON FUNCTION @extschema@.get_cluster_status FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.get_cluster_status IS
'What blogstore.cluster_stat_worker, cluster_progress and cluster_stat_requests show, as JSON. what: worker, progress or requests. One row for each node.
Errors: 22023 something else is asked for.';

CREATE VIEW @extschema@.cluster_stat_worker AS
SELECT c.node, c.host, c.port, c.node_error, s.state, s.pid, s.slot, s.lag_bytes, s.lag_time, s.batches, s.changes, s.started_at, s.last_error, s.last_error_at, s.hint
FROM @extschema@.get_cluster_status('worker') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(state text, pid integer, slot text, lag_bytes bigint, lag_time interval, batches bigint, changes bigint, started_at timestamptz, last_error text, last_error_at timestamptz, hint text) ON true;
COMMENT ON VIEW @extschema@.cluster_stat_worker IS
'stat_worker of every node of the cluster, one row each. node, host, port: as node_of() has them, NULL on one machine; node_error: why a node tells nothing, whose other columns are NULL then.';

CREATE VIEW @extschema@.cluster_progress AS
SELECT c.node, c.host, c.port, c.node_error, s.kind, s.user_id, s.phase, s.done, s.total, s.rows_per_second, s.started_at, s.estimated_end
FROM @extschema@.get_cluster_status('progress') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(kind text, user_id uuid, phase text, done bigint, total bigint, rows_per_second double precision, started_at timestamptz, estimated_end timestamptz) ON true
WHERE s.kind IS NOT NULL OR c.node_error IS NOT NULL;
COMMENT ON VIEW @extschema@.cluster_progress IS
'progress of every node of the cluster: one row for each job that a node''s worker has yet to finish. node, host, port: as node_of() has them, NULL on one machine; node_error: why a node tells nothing, of which there is one row then.';

CREATE VIEW @extschema@.cluster_stat_requests AS
SELECT c.node, c.host, c.port, c.node_error, s.request, s.function, s.calls, s.total_time, s.max_time, s.buffers_hit, s.buffers_read, s.wal_bytes, s.request_units, s.units_per_call, s.stats_reset
FROM @extschema@.get_cluster_status('requests') AS c
LEFT JOIN LATERAL json_to_recordset(c.status) AS s(request text, function text, calls bigint, total_time double precision, max_time double precision, buffers_hit bigint, buffers_read bigint, wal_bytes bigint, request_units double precision, units_per_call double precision, stats_reset timestamptz) ON true;
COMMENT ON VIEW @extschema@.cluster_stat_requests IS
'stat_requests of every node of the cluster, one row for each node and request. node, host, port: as node_of() has them, NULL on one machine; node_error: why a node tells nothing, of which there is one row then. A request that one node has had another serve is counted on both.';

GRANT EXECUTE ON FUNCTION @extschema@.get_cluster_status TO pg_monitor;
GRANT SELECT ON @extschema@.cluster_stat_worker, @extschema@.cluster_progress, @extschema@.cluster_stat_requests TO pg_monitor;

/* ------------------------------------------------------------------------
 * What comments did not say, or not rightly
 * ------------------------------------------------------------------------ */

COMMENT ON FUNCTION @extschema@.create_post IS
'C2: create a post.
user_id: the author; title: not empty; content: may be empty; post_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most; NULL or {} for none; hidden: true for a draft, which is in no feed and no list but its author''s with include_hidden, until publish_post().
Returns the post; a repetition with the same id, author, texts and properties, and with the same creation_date if one is given, returns it unchanged.
Errors: 22004 a NULL; 22023 an empty title, bad date or bad properties; 23503 no such user; 23505 the id has another post; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.create_comment IS
'C3: comment on a post; its comment_count grows by one in the same transaction, without waiting for others.
post_id: the post; user_id: the author; content: not empty; comment_id: the caller''s id, or NULL for a new one; creation_date: NULL for now; properties: an object of the site''s own keys, none of them the article''s, 64 kB at most; NULL or {} for none; hidden: true to hold it for approval: it is in no list but with include_hidden, and not counted, until hide_comment(..., false); parent_id: the comment on the same post that it replies to, NULL for none.
Returns the comment; a repetition with the same id, author, content, properties and parent_id, and with the same creation_date if one is given, returns it unchanged, also if the parent is gone by then.
Errors: 22004 a NULL; 22023 an empty comment, bad date or bad properties, or it would reply to itself; 23503 no such user, post, or parent on the post; 23505 the id has another comment; 25006 read-only transaction; 40001 the parent was created since the transaction''s snapshot; 54000 a text longer than 64 MB; 55000 the post or the parent is hidden, no containers, or for parent_id they are of 0.1: upgrade_containers().';
COMMENT ON FUNCTION @extschema@.edit_post IS
'C2: change a post''s title, content or properties; NULL keeps what is there. Counts are not touched, and modification_date becomes now if anything changes.
title: not empty; content: may be empty; properties: an object in place of the one that is there, {} for none.
Returns the post as it is now.
Errors: 22004 no post_id; 22023 an empty title or bad properties; 23503 no such post; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.edit_comment IS
'Change a comment''s content or properties; NULL keeps what is there. modification_date becomes now if anything changes.
content: not empty; properties: an object in place of the one that is there, {} for none.
Returns the comment as it is now.
Errors: 22004 no post_id or comment_id, or neither content nor properties; 22023 an empty comment or bad properties; 23503 no such comment; 25006 read-only transaction; 54000 a text longer than 64 MB; 55000 no containers.';
COMMENT ON FUNCTION @extschema@.import_documents IS
'Import JSON documents in the article''s shape, as the casts of items to jsonb and export_documents() give them, in any order. Keys that are not the article''s are properties of users, posts and comments, hidden, modificationDate and parentId are what import() takes by these names; ignored are names of authors, counts, parentDeleted, what is the article''s but not of this type of item (a comment''s title), and further keys of likes. A document that export_documents() has given comes out of it again as it went in, byte for byte as jsonb.
documents: a table or view with one column of type jsonb; rejects: as in import(); documents that are no items are in it as they are.
Returns as import(), with another row, type NULL, for documents of no known type if there are any.
Errors: 22004 no documents; else as import().';
COMMENT ON FUNCTION @extschema@.stop_worker IS
'Stop this database''s worker, and keep it stopped over restarts of the server until start_worker(). Returns when it has ended. Requests go on; Q3 and Q6 answer from the posts container.
drop_slot: also drop the replication slot. Without, the slot keeps all WAL from here on (a warning says how much it keeps already, stat_worker how much it has come to, and the server''s log when that exceeds max_wal_size); with, the views are built anew at the next start.
In a transaction, the worker ends at once, and stays so until that ends, whatever others do; rolled back, it starts again. Waits for transactions that have called stop_worker() or start_worker() and not ended yet. A transaction that has called it cannot be prepared (PREPARE TRANSACTION: 0A000).
Errors: 22004 NULL; 25001 not in READ COMMITTED; 25006 read-only transaction; 54000 as many databases as there can be have workers; 55000 no containers.';
COMMENT ON VIEW @extschema@.progress IS
'Jobs the worker has yet to finish, one row each. kind: rebuild, rename or deletion, and on a cluster arrival, of a shard that has come; user_id: whose (rename, deletion); phase: waiting, copies or feed of a rebuild, copies of an arrival, sweep, waiting, recheck or showing of the others, parked where what it has to go through is detached; done, total: items (total is an estimate, for a rebuild only); rows_per_second, estimated_end: at the rate so far.';
