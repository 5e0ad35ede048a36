/*
 * worker_nodes.c
 *		The work of a worker for the other nodes of a cluster. The worker sends
 *		reports, and missing copies and feed rows, to the other nodes. Readers
 *		may use the views of this node only while all other nodes report that
 *		they have sent everything.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "cluster/remote/remote.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/layout/layout.h"
#include "views/worker/worker_parts.h"

#include "utils/timestamp.h"

/* The longest time between two reports to the other nodes, in ms. */
#define SEE_TO_NODES 1000

static void
send_feed(void *arg)
{
	feed_deliver_all();
}

static void
send_copies(void *arg)
{
	copies_send_unsent(arg);
}

/*
 * Send the other nodes all missing feed rows, and some of the missing copies.
 * Returns true if copies may still be missing.
 */
static bool
send_what_lacks(void)
{
	OwnerScope	scope;
	bool		feed;
	OtherNode  *lacking;

	apply_begin(&scope, APPLY_STATE);
	feed = nodes_look();
	apply_end(&scope);
	if (feed)
		(void) apply_run(APPLY_VIEWS, send_feed, NULL, NULL);
	lacking = nodes_lacking();
	return lacking != NULL &&
		apply_run(APPLY_VIEWS, send_copies, lacking, NULL) == APPLY_DONE;
}

/*
 * told_at: the time of this worker's last report to the other nodes; 0 to send
 *	the next report at once
 * told_kept: the argument "kept" of the last call of tell()
 */
static TimestampTz told_at = 0;
static bool told_kept = false;

/*
 * Send a report to the other nodes.
 *
 * kept: whether the views on this node have all changes of this node's posts
 */
static void
tell(bool kept)
{
	OwnerScope	scope;

	told_at = GetCurrentTimestamp();
	told_kept = kept;
	apply_begin(&scope, APPLY_STATE);
	nodes_tell(kept);
	apply_end(&scope);
}

/*
 * Do the work for the other nodes in one iteration of the worker's main loop.
 * Send feed rows, copies and a report in three cases:
 *
 *	-	nodes_have_asked() returns true,
 *	-	this node's views have become complete or incomplete since the last
 *		report, or
 *	-	the last report is older than SEE_TO_NODES ms.
 *
 * If all other nodes have reported that they have sent everything, let readers
 * use this node's views. Otherwise stop readers from using them. Returns true
 * if more has to be sent. The worker then begins the next iteration at once.
 */
bool
nodes_turn(Worker *worker)
{
	bool		kept = worker->views >= VIEWS_KEPT && !worker->other_size;
	bool		more = false;

	arrivals_note(worker->position.layout);
	if (nodes_have_asked() || kept != told_kept ||
		clock_passed(told_at, GetCurrentTimestamp(), SEE_TO_NODES))
	{
		more = send_what_lacks();
		tell(kept);
		if (more)
			told_at = 0;
	}
	if (worker->views < VIEWS_KEPT)
		return more;
	if (kept && nodes_confirm())
		worker_serve_views(worker);
	else if (worker->views == VIEWS_SERVED)
		worker_await_others(worker);
	return more;
}

/*
 * Queue jobs that check the authors' names in all items on this node. Called
 * when the worker may have missed renames and deletions of users.
 *
 * first: whether the worker's replication slot had never existed. If so, queue
 *	one job, which corrects the usernames in all items. Otherwise queue a job
 *	of kind ARRIVAL for each shard, as if the shard had just been moved to this
 *	node.
 */
static void
look_at_all_names(bool first)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	if (first)
		jobs_request_renames(NULL, 0, true);
	else
		arrivals_queue_all();
	apply_end(&scope);
}

/*
 * Make all nodes delete copies of posts that no longer exist. rebuild_views()
 * does this on each node (copies_look_elsewhere()). Called when the worker may
 * have missed deletions of posts. Errors: 08006 if a node cannot be reached.
 */
static void
have_all_look(void)
{
	LOCAL_FCINFO(call, 1);
	OwnerScope	scope;
	bool		all;

	InitFunctionCallInfoData(*call, NULL, 0, InvalidOid, NULL, NULL);
	apply_begin(&scope, APPLY_STATE);
	remote_call_all("rebuild_views", NULL, call, false, &all);
	apply_end(&scope);
}

/*
 * Repair the views after the worker has missed changes, because the worker's
 * replication slot was lost or had never existed.
 *
 * first: true if the slot had never existed
 */
void
nodes_changes_lost(bool first)
{
	look_at_all_names(first);
	if (!first)
		have_all_look();
}

/*
 * Return whether this node was added to the cluster, and Citus has not yet
 * copied the reference table "user_items" to it.
 */
static bool
users_are_to_come(void)
{
	Oid			table = table_lookup(USER_ITEMS_TABLE);
	ShardMap	map;

	return OidIsValid(table) && shard_map_read(&map, table) && map.everywhere &&
		map.n == 1 && map.shard[0].group != cluster_local_group();
}

/*
 * Return false if this node was added to the cluster and does not have the
 * user items yet. Errors: 55000 if the table "unsent" is damaged.
 */
bool
nodes_check_tables(void)
{
	(void) bookkeeping_check(BOOK_UNSENT);
	return OidIsValid(partition_leaf(CONTAINER_USERS, ITEM_USER,
									 partition_first(CONTAINER_USERS, ITEM_USER))) ||
		!users_are_to_come();
}
