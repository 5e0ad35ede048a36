/*
 * call_on_node.c
 *		Calls of blogstore's own functions on one node, whatever key is concerned.
 *
 * Who holds the shards finds some on the node to the end of the transaction. One whose last shard has gone
 * returns nothing.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "storage/blog_item.h"

#include "access/htup_details.h"

/* Have the node of a group serve a call; rows are in the current memory context. */
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

/* What a function returns on a node that returns items of a type. */
RemoteItems *
remote_group_items(int group, ItemType type, const GroupCall *call)
{
	RemoteItems *items = palloc0(sizeof(RemoteItems));

	items->type = type;
	ask_group(group, remote_serve_function(type), call, &items->rows);
	return items;
}

/* What a function says on a node that returns a flag. */
bool
remote_group_flag(int group, const GroupCall *call)
{
	RemoteRows	rows;
	bool		isnull;

	ask_group(group, "serve_flag", call, &rows);
	return rows.n == 1 &&
		DatumGetBool(heap_getattr(rows.row[0], 1, rows.desc, &isnull));
}
