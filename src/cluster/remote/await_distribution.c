/*
 * await_distribution.c
 *		What a request checks first on a server that has Citus. No distribution
 *		of the containers may interfere, and the transaction's snapshot must
 *		not be too old.
 *
 * distribute_containers() (cluster/distribute/) replaces the tables of a
 * single server by those of a cluster while requests run. A request that has
 * begun with the old tables must not use the new ones. So while the containers
 * are not distributed, a request first locks the table of posts. The tables
 * then stay as they are until the transaction ends. Servers without Citus take
 * no such lock.
 *
 * A snapshot that was taken before the distribution does not see the rows of
 * the new tables. A snapshot that was taken before a shard was moved to this
 * node does not see the rows of that shard. So commands and queries take new
 * snapshots on a cluster. If the isolation level does not allow that, the
 * request fails with a serialization error.
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
 * Prevent the containers from being distributed until the transaction ends. If
 * a distribution is in progress, wait until it ends. Does nothing on a server
 * without Citus.
 *
 * write: whether the transaction will write items
 *
 * Locks: if the containers are not distributed, the table of posts, in
 * RowExclusiveLock mode if "write" is true, otherwise in AccessShareLock mode.
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

/*
 * Return whether a snapshot does not see the rows that a transaction has
 * written.
 *
 * writer: the full xid of that transaction; 0 if every snapshot sees its rows
 */
static bool
is_hidden_from(Snapshot snapshot, uint64 writer)
{
	TransactionId by = (TransactionId) writer;

	return writer != 0 && XidInMVCCSnapshot(by, snapshot) &&
		!TransactionIdIsCurrentTransactionId(by) &&
	/*
	 * Return false for a very old transaction, because every snapshot sees its
	 * rows. XidInMVCCSnapshot() may return true for it, because its 32-bit xid
	 * may be in use again.
	 */
		U64FromFullTransactionId(ReadNextFullTransactionId()) - writer < PG_INT32_MAX / 2;
}

/*
 * Return whether a query needs a new snapshot, because the active one does not
 * see the rows that a transaction has written.
 *
 * by: the full xid of that transaction, which has distributed the tables or
 *	moved a shard to this node
 * what: what that transaction has done, for the error message
 *
 * Errors: 40001 if the isolation level does not allow the new snapshot.
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
				 errhint("Retry the transaction.")));
	return true;
}

static bool
needs_snapshot_for(const Shard *shard)
{
	return OidIsValid(shard->table) &&
		needs_snapshot(shard->by, "a shard has come to this node");
}

/*
 * Give a query a new snapshot if its snapshot was taken before the containers
 * were distributed. Errors: 40001 if the isolation level allows no new
 * snapshot.
 */
void
remote_renew_snapshot(RequestScan *scan)
{
	if (needs_snapshot(container_shards(CONTAINER_POSTS)->by,
					   "the containers were spread over the cluster"))
		request_scan_renew_snapshot(scan);
}

/*
 * Give a query a new snapshot if its snapshot was taken before a shard was
 * moved to this node. The caller has locked the shard (container_hold()).
 * Errors: 40001 if the isolation level allows no new snapshot.
 */
void
remote_renew_snapshot_of(RequestScan *scan, const Shard *shard)
{
	if (needs_snapshot_for(shard))
		request_scan_renew_snapshot(scan);
}

/*
 * Throw an error if the transaction's snapshot is older than the move of a
 * shard to this node, and the isolation level does not allow a new snapshot.
 * The shard must be locked against being moved.
 *
 * shard: the shard to check; NULL for all shards on this node
 *
 * Errors: 40001.
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
