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
 *		the feed					this node, or all (requests/feed.c)
 *		by ids of posts; a user's	all nodes; this one puts together what they
 *		comments, likes				return (gather_from_nodes.c)
 *
 * Who serves a part of another node's query serves it from what is here.
 *
 * Runs in backends, and in parallel workers, which can serve what is here alone.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
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
 * Have a query by a key, of a post or a user, served where the items lie. False: that is here, and
 * held here, until who has begun to read lets it go. The items are in the current memory
 * context. Errors: 40001, and those of the query.
 */
static bool
ask_for_items(const char *name, ItemType type, FunctionCallInfo fcinfo,
			  RemoteItems **items, Shard *held, Snapshot *newer)
{
	const pg_uuid_t *key = DatumGetUUIDP(fcinfo->args[0].value);
	Oid			types[FUNC_MAX_ARGS];
	RemoteCall	call = {
		.serve = remote_serve_function(type), .name = name, .key = *key,
		.args = fcinfo->args, .types = types, .nargs = fcinfo->nargs,
		.reads = true
	};
	Shard		shard;
	bool		copies_refused = false;
	long		waited = 0;

	*items = palloc0(sizeof(RemoteItems));
	(*items)->type = type;
	container_hold(CONTAINER_POSTS, key, &shard);
	if (OidIsValid(shard.table))
	{
		remote_settle_shard(newer, &shard);
		if (!remote_reads_copies(name) || views_ready(GetActiveSnapshot()))
		{
			*held = shard;
			return false;
		}
		copies_refused = true;
	}
	else
		(void) remote_find_function(name, call.nargs, types);
	while (!copies_refused && !remote_ask_once(&call, &(*items)->rows))
	{
		copies_refused = copies_are_refused(&(*items)->rows);
		if (!copies_refused)
			remote_pause(&waited);
	}
	container_let_go(CONTAINER_POSTS, &shard);
	if (copies_refused)
		*items = remote_gather(name, type, fcinfo);
	return true;
}

/*
 * Have a query served by other nodes, if it is to be. False: it is to begin here; *held: the
 * shard that it reads, held here until it is open (container_let_go()), or NO_SHARD; *newer: another snapshot for it, or as it was
 * (remote_settle_query()). The items are in the current memory context. Errors: those of the
 * query.
 */
bool
remote_query(const char *name, ItemType type, FunctionCallInfo fcinfo,
			 RemoteItems **items, Shard *held, Snapshot *newer)
{
	held->number = NO_SHARD;
	*items = NULL;
	/* by whom a page of the feed is served is seen when its arguments are known */
	if (container_is_held_by_caller() || type == ITEM_USER ||
		strcmp(name, "list_feed") == 0 || !may_be_asked(name, fcinfo))
		return false;
	if (remote_is_of_all_nodes(name))
	{
		*items = remote_gather(name, type, fcinfo);
		return true;
	}
	if (ask_for_items(name, type, fcinfo, items, held, newer))
		return true;
	*items = NULL;
	return false;
}

/* The next item; false: there are no more. */
bool
remote_items_next(RemoteItems *items, BlogItem *item)
{
	if (items->next == items->rows.n)
		return false;
	remote_item_of_row(item, items->type, items->rows.desc,
					   items->rows.row[items->next++]);
	return true;
}
