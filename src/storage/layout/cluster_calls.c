/*
 * cluster_calls.c
 *		Where the functions of a cluster are, if this database's containers are spread over
 *		one.
 *
 * The cluster sets cluster_library and cluster_may_come when the library is loaded, and clears
 * cluster_may_come where there can be no cluster. layout_cache.c sets and clears the others, as
 * the catalogs and invalidations tell.
 */
#include "postgres.h"

#include "storage/layout/cluster_calls.h"

const ClusterCalls *cluster_library = NULL;
const ClusterCalls *cluster_spread = NULL;
bool		cluster_known = false;
bool		cluster_may_come = false;
