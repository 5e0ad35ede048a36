/*
 * cluster.c
 *		The functions of src/cluster/ that the other areas call.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "cluster/cluster.h"
#include "storage/layout/cluster_calls.h"

static const ClusterCalls calls = {
	/* containers and partitions */

	/* user items */

	/* requests */

	/* views and the worker */

	/* operations */

	/* import and export */
	.unused = true
};

/* Let the other areas know these functions. Called once, when the library is loaded. */
void
cluster_init(void)
{
	cluster_library = &calls;
}
