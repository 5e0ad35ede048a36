/*
 * await_distribution.c
 *		Before a request decides where to run: waiting for a distribution of
 *		the containers, and checking that the transaction's snapshot is not
 *		too old.
 *
 * distribute_containers() (cluster/distribute/) replaces the tables of a
 * single server by those of a cluster while requests run. A request that has
 * begun with the old tables must not meet the new ones. So if this server has
 * Citus and its containers are not distributed, a request first locks the
 * table of posts, as writers do anyway. Then the tables stay as they are until
 * the transaction ends. Servers without Citus take no such lock.
 *
 * Rows of the new tables are newer than a snapshot taken before the
 * distribution. The same is true of the rows of a shard that was moved to this
 * node. Commands take new snapshots anyway, and a query is given a new one. If
 * the isolation level does not allow that, the request fails with a
 * serialization error.
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
 * Keep the containers from being distributed until the transaction ends, or
 * wait for a distribution in progress. write: the transaction will write
 * items. A server without Citus does this only once per process. Locks: the
 * table of posts, on a server with Citus whose containers are not distributed.
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
 * Return whether a snapshot does not see the transaction that wrote a catalog
 * row. writer: full xid; 0 if every snapshot sees it.
 */
static bool
is_hidden_from(Snapshot snapshot, uint64 writer)
{
	TransactionId by = (TransactionId) writer;

	return writer != 0 && XidInMVCCSnapshot(by, snapshot) &&
		!TransactionIdIsCurrentTransactionId(by) &&
	/* an older xid may have been reused */
		U64FromFullTransactionId(ReadNextFullTransactionId()) - writer < PG_INT32_MAX / 2;
}

/*
 * Return whether the active snapshot does not see the transaction "by", which
 * distributed the tables or moved a shard. Errors: 40001 if the transaction
 * cannot take a new snapshot. what: beginning of the error message.
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
 * Give a query a new snapshot if the containers were distributed after its own
 * was taken. Errors: 40001 if the isolation level does not allow that.
 */
void
remote_renew_snapshot(RequestScan *scan)
{
	if (needs_snapshot(container_shards(CONTAINER_POSTS)->by,
					   "the containers were spread over the cluster"))
		request_scan_renew_snapshot(scan);
}

/*
 * Give a query a new snapshot if a shard was moved to this node after the
 * query's own was taken. The caller holds the shard. Errors: 40001 if the
 * isolation level does not allow that.
 */
void
remote_renew_snapshot_of(RequestScan *scan, const Shard *shard)
{
	if (needs_snapshot_for(shard))
		request_scan_renew_snapshot(scan);
}

/*
 * Throw an error if a shard on this node (NULL: any of them) arrived after a
 * snapshot that the transaction must keep. The caller holds the shards.
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
