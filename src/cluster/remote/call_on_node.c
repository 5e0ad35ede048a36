/*
 * call_on_node.c
 *		Calling a function of blogstore on one node of a cluster, which the
 *		caller names rather than a key.
 *
 * A caller that holds the shards keeps them from leaving the node before the
 * transaction ends. If the node has no shard any more, the call returns
 * nothing.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "storage/blog_item.h"

#include "access/htup_details.h"

/*
 * Call a function on a node group. The rows are allocated in the current
 * memory context. There are none if the group has no shards.
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
 * Call a function on a node group. Returns the items that the function
 * returns.
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
 * Call a function on a node group. Returns the function's boolean result;
 * false if the group has no shards.
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
