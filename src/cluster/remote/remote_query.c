/*
 * remote_query.c
 *		Queries on a cluster: which are served here, and which by other nodes.
 *
 *		query						served by
 *		--------------------------	----------------------------------------------
 *		of a user, by id or name	this node: all nodes have all users
 *		of a post					the node that has the post
 *		a user's posts				the node that has the copies of them; where they are not
 *									to be relied on, all nodes
 *		the feed					this node, or all (view_pages.c)
 *		by ids of posts; a user's	all nodes; this one puts together what they
 *		comments, likes				return (gather_from_nodes.c)
 *
 * Who serves a part of another node's query serves it from what is here.
 *
 * Runs in backends, and in parallel workers, which can serve what is here alone.
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

/* Has a query what it asks for? One that has not is an error here. */
static bool
may_be_asked(const char *name, FunctionCallInfo fcinfo)
{
	int			ids = fcinfo->nargs - 1;

	if (strcmp(name, "get_posts") == 0)
		return !fcinfo->args[ids].isnull;
	if (strcmp(name, "get_likes") == 0)
		return !fcinfo->args[0].isnull && !fcinfo->args[ids].isnull;
	return !fcinfo->args[0].isnull;
}

/* Has a node said that its copies are not to be relied on? */
static bool
copies_are_refused(const RemoteRows *rows)
{
	bool		isnull = true;

	if (rows->n == 1 && rows->desc->natts > 1)
		(void) heap_getattr(rows->row[0], 2, rows->desc, &isnull);
	return !isnull;
}

/*
 * Begin a query of what is here. Other nodes may have deleted a user, and this one may not have
 * deleted the copies of the user's posts yet.
 */
static void
begin_here(RequestScan *scan, FunctionCallInfo fcinfo)
{
	BlogItem	user;

	scan->query->begin(scan, fcinfo);
	if (scan->source == NULL || !remote_reads_copies(scan->query->name) ||
		user_find_now(DatumGetUUIDP(fcinfo->args[0].value), &user))
		return;
	scan->source->close(scan);
	scan->source = NULL;
}

/*
 * Have a query by a key served by the node that has the key. Returns NULL if that node's copies
 * are not to be relied on. The items are in the current memory context. Errors: those of the
 * query.
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
		if (copies_are_refused(&items->rows))
			return NULL;
		remote_pause(&waited);
	}
	return items;
}

/*
 * Begin a query by a key, of a post or a user, on the node that has the key. The node is held
 * until the query is open. If copies are not to be relied on, all nodes are asked. Errors:
 * 40001, and those of the query.
 */
static void
begin_by_key(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const RequestQuery *query = scan->query;
	const pg_uuid_t *key = DatumGetUUIDP(fcinfo->args[0].value);
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
		here = !remote_reads_copies(query->name) ||
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
 * Begin a query, here or on the nodes that have what it asks for. Locks: those of the query; a
 * key's shard, until the query is open. Errors: 40001 if the transaction keeps a snapshot of
 * before the items came here; those of the query.
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
			 !may_be_asked(name, fcinfo))
		begin_here(scan, fcinfo);
	else if (remote_is_of_all_nodes(name))
		query_sent_items(scan, remote_gather(name, type, fcinfo));
	else
		begin_by_key(scan, fcinfo);
}
