/*
 * call_on_node.c
 *		Calling a function of blogstore on one node of a cluster,
 *		independently of a key.
 *
 * If the caller holds the shards, none of them leaves the node before the
 * transaction ends. If the node no longer has any shard, the call returns
 * nothing.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "storage/blog_item.h"

#include "access/htup_details.h"

/*
 * Run a call on a node group. Rows are allocated in the current memory
 * context; there are none if the node has no shards.
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
 * Call a function that returns items of a type on a node group, and return
 * these.
 */
RemoteItems *
remote_group_items(int group, ItemType type, const GroupCall *call)
{
	RemoteItems *items = palloc0(sizeof(RemoteItems));

	items->type = type;
	ask_group(group, remote_serve_function(type), call, &items->rows);
	return items;
}

/* Call a function that returns a boolean on a node group, and return that. */
bool
remote_group_flag(int group, const GroupCall *call)
{
	RemoteRows	rows;
	bool		isnull;

	ask_group(group, "serve_flag", call, &rows);
	return rows.n == 1 &&
		DatumGetBool(heap_getattr(rows.row[0], 1, rows.desc, &isnull));
}
