/*
 * blogstore--0.1--0.2.sql
 *		What 0.2 changes of 0.1's SQL objects. CREATE EXTENSION runs 0.1 first, so
 *		that a new installation and an updated one are the same.
 *
 * Nothing in here touches the containers. A function that is made here must be
 * taken from PUBLIC here too: 0.1 does that once, for its own.
 */
\echo Use "ALTER EXTENSION blogstore UPDATE TO '0.2'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Containers: whose they are
 * ------------------------------------------------------------------------ */

-- An argument cannot be added to a function: it is made anew, and whoever had
-- EXECUTE on it has it again.
DO $body$
DECLARE
	grantees	pg_catalog.regrole[];
	grantee		pg_catalog.regrole;
BEGIN
	SELECT pg_catalog.array_agg(a.grantee::pg_catalog.regrole) INTO grantees
	FROM pg_catalog.pg_proc AS p, pg_catalog.aclexplode(p.proacl) AS a
	WHERE p.oid = '@extschema@.create_containers(integer)'::pg_catalog.regprocedure
		AND a.privilege_type = 'EXECUTE' AND a.grantee <> 0 AND a.grantee <> p.proowner;

	DROP FUNCTION @extschema@.create_containers(integer);
	CREATE FUNCTION @extschema@.create_containers(partitions integer DEFAULT 16, owner regrole DEFAULT NULL)
	RETURNS void
	AS 'MODULE_PATHNAME', 'blogstore_create_containers'
	LANGUAGE C VOLATILE;
	REVOKE ALL ON FUNCTION @extschema@.create_containers FROM PUBLIC;

	FOREACH grantee IN ARRAY coalesce(grantees, '{}') LOOP
		EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION @extschema@.create_containers TO %s', grantee);
	END LOOP;
END
$body$;
COMMENT ON FUNCTION @extschema@.create_containers IS
'Create the containers users, posts and feed, and the bookkeeping tables beside them, in schema blogstore, or those of them that are missing.
partitions: hash partitions of users and of posts, 1 to 1024; owner: the role that is to own them, NULL for the caller. What is attached to them runs with the owner''s rights, so it had better be no superuser. To give them to another role takes what ALTER TABLE ... OWNER TO takes.
Errors: 22004 no partitions; 22023 partitions out of range; 42P07 nothing is missing, or a table of another role or shape has one of their names; 42501 no CREATE right on the schema, or not a member of owner; 42704 no such role. On a server that is not prepared for the views it works and says what to set.';

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
