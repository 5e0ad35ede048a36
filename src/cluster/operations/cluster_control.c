/*
 * cluster_control.c
 *		wait_for_views(), wait_for_posts() and rebuild_views() on a cluster:
 *		calling the function on every node.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "cluster/operations/operations.h"
#include "cluster/remote/remote.h"
#include "requests/requests.h"

/*
 * Call a function of blogstore on all nodes that have shards, one node after
 * another.
 *
 * all: set to whether the function has returned true on every node;
 *	meaningless if the function returns nothing
 *
 * Returns false, without calling any node, if this process is itself serving
 * such a call of another node (request_is_part). The caller must then do only
 * the work of this node. Errors: those of the called function; 08006 if a node
 * does not answer.
 */
bool
cluster_call_nodes(const char *name, const Oid *types, FunctionCallInfo fcinfo,
				   bool *all)
{
	if (request_is_part)
		return false;
	remote_call_all(name, types, fcinfo, false, all);
	return true;
}
