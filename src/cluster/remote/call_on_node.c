/*
 * call_on_node.c
 *		Calling a function of blogstore on a given node of a cluster.
 *		(remote_request.c calls functions on the node that has the shard of a
 *		given key.)
 *
 * Citus routes calls by shard (gather_from_nodes.c), so a node that has no
 * shard is not called. A caller that must reach a node locks the node's shards
 * first, so that they are not moved to another node.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "storage/blog_item.h"

#include "access/htup_details.h"

/*
 * Call a function on the node whose groupid (in pg_dist_node) is "group". The
 * result rows are allocated in the current memory context. If the node has no
 * shards, there are no result rows.
 *
 * serve: the SQL function that runs the call on the other node, such as
 *	serve_post()
 */
static void
ask_group(int group, const char *serve, const GroupCall *call, RemoteRows *rows)
{
	RemoteCall	remote = {
		.serve = serve, .name = call->name, .part = true,
		.nargs = call->nargs, .types = call->types, .args = call->args
	};

	if (!remote_ask_group(group, &remote, rows))
		memset(rows, 0, sizeof(*rows));
}

/*
 * Call a function on a node. Returns the items that the function returns,
 * which are of the given type.
 *
 * group: the node's groupid in pg_dist_node
 */
RemoteItems *
remote_group_items(int group, ItemType type, const GroupCall *call)
{
	RemoteItems *items = palloc0(sizeof(RemoteItems));

	items->type = type;
	ask_group(group, remote_serve_function(type), call, &items->rows);
	return items;
}

/*
 * Call a function on a node. Returns the function's boolean result; false if
 * the node has no shards.
 *
 * group: the node's groupid in pg_dist_node
 */
bool
remote_group_flag(int group, const GroupCall *call)
{
	RemoteRows	rows;
	bool		isnull;

	ask_group(group, "serve_flag", call, &rows);
	return rows.n == 1 &&
		DatumGetBool(heap_getattr(rows.row[0], 1, rows.desc, &isnull));
}
