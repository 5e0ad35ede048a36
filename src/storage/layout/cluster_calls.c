/*
 * cluster_calls.c
 *		Where the functions of a cluster are, if this database's containers are spread over
 *		one.
 *
 * The cluster sets cluster_library when the library is loaded. layout_cache.c sets and clears
 * the others, as the catalogs and invalidations tell.
 */
#include "postgres.h"

#include "storage/layout/cluster_calls.h"

const ClusterCalls *cluster_library = NULL;
const ClusterCalls *cluster_spread = NULL;
bool		cluster_known = false;
