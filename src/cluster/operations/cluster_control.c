/*
 * cluster_control.c
 *		wait_for_views(), wait_for_posts() and rebuild_views() on a cluster: each node does
 *		its part.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "cluster/operations/operations.h"
#include "cluster/remote/remote.h"
#include "requests/requests.h"

/*
 * Have a function of blogstore's, which returns a flag or nothing, called on all nodes that have
 * shards, one after another. *all becomes whether each has said true. Returns false, having
 * called none, where this node is called so itself, and is to do its part. Errors: those of the
 * function; 08006 if a node does not answer.
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
