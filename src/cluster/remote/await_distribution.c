/*
 * await_distribution.c
 *		Before a request decides where it is served: are the containers being spread?
 *
 * distribute_containers() (cluster/distribute/) puts the tables of a cluster in place of one
 * machine's, beside requests. One that has begun on the old tables must not come upon the new ones
 * half-way: so on a server that has Citus, whose containers are its own alone, the container's table is locked
 * before the look, as who writes does anyway. Then nobody changes it until the
 * transaction ends; or the request has waited for that, and sees what there is now.
 * Others do nothing of this.
 *
 * The rows of the new tables are younger than a snapshot of before; so are those of a shard that has
 * come to this node since. A command takes new snapshots all the time; a query gets one. Where the
 * transaction keeps its own, it has to be run again.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

/*
 * The containers stay on one machine, or spread, until the transaction ends. A server that has not
 * loaded Citus calls this once in each process. Locks: see above.
 */
void
remote_settle(bool write)
{
	static bool has_citus = false;

	if (!has_citus)
		has_citus = GetConfigOption("citus.shard_count", true, false) != NULL;
	cluster_may_come = has_citus;
	if (has_citus && cluster_calls() == NULL && container_any_exists())
		container_lock(CONTAINER_POSTS, write && !RecoveryInProgress());
}

/* Does a snapshot not show what a transaction has written, by its full id (0: anybody's does)? */
static bool
is_hidden_from(Snapshot snapshot, uint64 writer)
{
	TransactionId by = (TransactionId) writer;

	return writer != 0 && XidInMVCCSnapshot(by, snapshot) &&
		!TransactionIdIsCurrentTransactionId(by) &&
	/* it has been kept in mind for so long that the id may be another's */
		U64FromFullTransactionId(ReadNextFullTransactionId()) - writer < PG_INT32_MAX / 2;
}

/*
 * Is what a transaction has brought here younger than the active snapshot? Errors: 40001 if the
 * transaction keeps that; what: what has happened.
 */
static bool
needs_snapshot(uint64 by, const char *what)
{
	if (!is_hidden_from(GetActiveSnapshot(), by))
		return false;
	if (IsolationUsesXactSnapshot() || IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("%s after the transaction's snapshot was taken", what),
				 errhint("Run the transaction again.")));
	return true;
}

static bool
needs_snapshot_for(const Shard *shard)
{
	return OidIsValid(shard->table) &&
		needs_snapshot(shard->by, "a shard has come to this node");
}

/*
 * Give a query another snapshot if the containers were spread after its own was taken. Errors:
 * 40001 if the transaction keeps its snapshot.
 */
void
remote_renew_snapshot(RequestScan *scan)
{
	if (needs_snapshot(container_shards(CONTAINER_POSTS)->by,
					   "the containers were spread over the cluster"))
		request_scan_renew_snapshot(scan);
}

/* The same for a query of what lies in a shard, which is held. */
void
remote_renew_snapshot_of(RequestScan *scan, const Shard *shard)
{
	if (needs_snapshot_for(shard))
		request_scan_renew_snapshot(scan);
}

/*
 * Errors: 40001 if one of the shards that are here (NULL: all of them) came after a snapshot that the
 * transaction keeps. They are held.
 */
void
remote_require_snapshot(const Shard *shard)
{
	const ShardMap *map;

	if (!IsolationUsesXactSnapshot())
		return;
	if (shard != NULL)
	{
		(void) needs_snapshot_for(shard);
		return;
	}
	map = container_shards(CONTAINER_POSTS);
	for (int i = 0; i < map->n; i++)
		(void) needs_snapshot_for(&map->shard[i]);
}
