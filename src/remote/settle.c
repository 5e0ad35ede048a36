/*
 * settle.c
 *		Before a request decides where it is served: are the containers being spread?
 *
 * distribute_containers() (spread/) puts the tables of a cluster in place of one machine's, beside
 * requests. One that has begun on the old tables must not come upon the new ones half-way: so on a
 * server that has Citus, whose containers are its own alone, the container's table is locked before the look, as who
 * writes does anyway. Then nobody changes it until the transaction ends; or the request
 * has waited for that, and sees what there is now. Others do nothing of this.
 *
 * The rows of the new tables are younger than a snapshot of before. A command takes new
 * snapshots all the time; a query gets one.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "items/item.h"
#include "layout/layout.h"
#include "remote/remote.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

int			remote_may_begin = -1;	/* -1: not known yet */

/* What remote_settle() does, unless it knows that there is no Citus. */
void
remote_settle_slowly(bool write)
{
	if (remote_may_begin < 0)
		remote_may_begin = GetConfigOption("citus.shard_count", true, false) != NULL;
	if (remote_may_begin && !layout_is_spread() && container_any_exists())
		container_lock(CONTAINER_POSTS, write && !RecoveryInProgress());
}

/*
 * The same for a query. If the containers were spread after its snapshot was taken, it gets another,
 * which is registered and active until remote_query_done(); NULL: it does with its own. Errors: 40001.
 */
Snapshot
remote_settle_query(void)
{
	Snapshot	snapshot;
	TransactionId by;

	remote_settle(false);
	if (!layout_is_spread())
		return NULL;
	by = container_shards(CONTAINER_POSTS)->by;
	if (!TransactionIdIsNormal(by) || !XidInMVCCSnapshot(by, GetActiveSnapshot()))
		return NULL;
	if (TransactionIdIsCurrentTransactionId(by))
		return NULL;
	if (IsolationUsesXactSnapshot() || IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the containers were spread over the cluster after the transaction's snapshot was taken"),
				 errhint("Run the transaction again.")));
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	PushActiveSnapshot(snapshot);
	return snapshot;
}

/* The query is over; its own snapshot, if it has got one, is active. */
void
remote_query_done(Snapshot *snapshot)
{
	if (*snapshot == NULL)
		return;
	PopActiveSnapshot();
	UnregisterSnapshot(*snapshot);
	*snapshot = NULL;
}
