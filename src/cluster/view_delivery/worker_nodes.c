/*
 * worker_nodes.c
 *		On a cluster: seeing to it that other nodes have what is to be sent to them, and serving
 *		the views here while they have sent what is theirs.
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

/* How often to see to the other nodes, in ms, if none of them asks. */
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
 * Look which nodes lack something and send it, copies in parts; returns whether there is more
 * to be sent at once.
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

/* When the other nodes were last told how far the views are that this one keeps, and what. */
static TimestampTz told_at = 0;
static bool told_kept = false;

/* Tell the other nodes whether the views here are up to date, as far as this node's posts go, and ask them. */
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
 * Now and then, and when there is news: have the others what they are to have, and do they keep what
 * is here? Returns whether there is more to be sent at once.
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
 * Go through all items for their authors' names. It is the change feed that tells a node of renames
 * and deletions of users. What a slot that is lost would have told is gone: then all items are taken
 * to have come just now.
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
 * Nor have other nodes been told of all posts that were deleted here: have all look which of their copies
 * have a post (copies_look_elsewhere()). Errors: 08006 if a node cannot be reached.
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

/* See to what a slot that was lost would have told. first: there was none before. */
void
nodes_changes_lost(bool first)
{
	look_at_all_names(first);
	if (!first)
		have_all_look();
}

/* Is there a table of users of which this node has still to get its own copy? */
static bool
users_are_to_come(void)
{
	Oid			table = table_lookup(USER_ITEMS_TABLE);
	ShardMap	map;

	return OidIsValid(table) && shard_map_read(&map, table) && map.everywhere &&
		map.n == 1 && map.shard[0].group != cluster_local_group();
}

/*
 * Raise what is wrong with the table of copies that could not be sent, if something is. Returns whether
 * the users are here.
 */
bool
nodes_check_tables(void)
{
	(void) bookkeeping_check(BOOK_UNSENT);
	return OidIsValid(partition_leaf(CONTAINER_USERS, ITEM_USER,
									 partition_first(CONTAINER_USERS, ITEM_USER))) ||
		!users_are_to_come();
}
