/*
 * remote_query.c
 *		Queries on a cluster: which node runs a query.
 *
 *		query for					run by
 *		--------------------------	---------------------------------------
 *		a user, by id or name		this node, which has all users
 *		a post, its comments and	the node that has the post
 *		likes
 *		a user's posts				the node that has the copies; all nodes
 *									if the copies are not ready
 *		whom a user follows			the node that has the user's follows
 *		the feed					this node or all nodes (view_pages.c)
 *		a user's home feed			the node that has the user's follows, then
 *									those that have copies of the followed
 *									users' posts (home_feed_pages.c)
 *		get_posts(), get_likes();	all nodes; this node merges the results
 *		a user's comments, likes or	(gather_from_nodes.c)
 *		followers; topics and their
 *		posts
 *
 * A node that runs a part of another node's query reads only its own items.
 *
 * Runs in backends, and in parallel workers, which can read only this node's
 * items.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "model/user_changes/user_changes.h"
#include "requests/requests.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"

/*
 * Return whether other nodes may run a query. The result is false if an
 * argument that selects the node is NULL. This node then runs the query's
 * function, which raises the error.
 */
static bool
may_be_asked(const char *name, FunctionCallInfo fcinfo)
{
	int			ids = fcinfo->nargs - 1;

	if (strcmp(name, "get_posts") == 0)
		return !fcinfo->args[ids].isnull;
	if (strcmp(name, "get_likes") == 0)
		return !fcinfo->args[0].isnull && !fcinfo->args[ids].isnull;
	return !fcinfo->args[remote_key_argument(name)].isnull;
}

/*
 * Begin a query that reads only this node's items. If the query lists the
 * posts of a user who does not exist, make the query return nothing. After
 * delete_user() on another node, this node may still have copies of the user's
 * posts.
 */
static void
begin_here(RequestScan *scan, FunctionCallInfo fcinfo)
{
	BlogItem	user;

	scan->query->begin(scan, fcinfo);
	if (scan->source == NULL || !remote_reads_copies(scan->query->name, false) ||
		user_find_now(DatumGetUUIDP(fcinfo->args[0].value), &user))
		return;
	scan->source->close(scan);
	scan->source = NULL;
}

/*
 * Run a query on the node that has the shard of a key. Returns the items, in
 * the current memory context. Returns NULL if the query reads copies of posts,
 * and the copies on that node are not ready. Errors: those of the query.
 */
static RemoteItems *
ask_by_key(const RequestQuery *query, const pg_uuid_t *key,
		   FunctionCallInfo fcinfo)
{
	RemoteItems *items = palloc0(sizeof(RemoteItems));
	Oid			types[FUNC_MAX_ARGS];
	RemoteCall	call = {
		.serve = remote_serve_function(query->type), .name = query->name,
		.key = *key, .args = fcinfo->args, .types = types,
		.nargs = fcinfo->nargs, .reads = true
	};
	long		waited = 0;

	items->type = query->type;
	(void) remote_find_function(query->name, call.nargs, types);
	while (!remote_ask_once(&call, &items->rows))
	{
		if (remote_copies_are_refused(&items->rows))
			return NULL;
		remote_pause(&waited);
	}
	return items;
}

/*
 * Begin a query that has a key as an argument: the id of a post or user. The
 * node that has the key's shard runs the query. If the query reads copies of
 * posts, and the copies on that node are not ready, all nodes run the query.
 *
 * Errors: 40001, and those of the query. Locks: the key's shard in share mode,
 * until the function returns.
 */
static void
begin_by_key(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const RequestQuery *query = scan->query;
	int			arg = remote_key_argument(query->name);
	const pg_uuid_t *key = DatumGetUUIDP(fcinfo->args[arg].value);
	RemoteItems *items = NULL;
	Shard		shard;
	bool		here;

	container_hold(CONTAINER_POSTS, key, &shard);
	here = OidIsValid(shard.table);
	if (!here)
		items = ask_by_key(query, key, fcinfo);
	else
	{
		remote_renew_snapshot_of(scan, &shard);
		here = !remote_reads_copies(query->name, false) ||
			views_ready(GetActiveSnapshot());
		if (here)
			begin_here(scan, fcinfo);
	}
	container_let_go(CONTAINER_POSTS, &shard);
	if (here)
		return;
	if (items == NULL)
		items = remote_gather(query->name, query->type, fcinfo);
	query_sent_items(scan, items);
}

/*
 * Begin a query on this node, or on those nodes that have its items.
 *
 * Errors: those of the query; 40001 if items were moved to this node after the
 * transaction's snapshot was taken, and the isolation level does not allow a
 * new snapshot. Locks: those of the query; shards in share mode, until the
 * function returns.
 */
void
remote_begin_query(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const char *name = scan->query->name;
	ItemType	type = scan->query->type;
	bool		feed = strcmp(name, "list_feed") == 0;

	remote_renew_snapshot(scan);
	if (feed && !request_is_part)
		remote_begin_feed(scan, fcinfo);
	else if (feed || type == ITEM_USER || container_is_held_by_caller() ||
			 remote_is_home_part(scan->query) || !may_be_asked(name, fcinfo))
		begin_here(scan, fcinfo);
	else if (strcmp(name, "list_home_feed") == 0)
		remote_begin_home_feed(scan, fcinfo);
	else if (remote_is_of_all_nodes(name))
		query_sent_items(scan, remote_gather(name, type, fcinfo));
	else
		begin_by_key(scan, fcinfo);
}
