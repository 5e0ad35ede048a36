/*
 * cluster_calls.c
 *		Variables that say whether this database's containers are spread over
 *		a cluster, and which functions are called if so.
 *
 * src/cluster/ sets cluster_library and cluster_may_come when the library is
 * loaded. If the server cannot be part of a cluster, src/cluster/ clears
 * cluster_may_come later. layout_cache.c sets cluster_spread and cluster_known
 * from the catalogs. A relcache invalidation clears cluster_known.
 */
#include "postgres.h"

#include "storage/layout/cluster_calls.h"

const ClusterCalls *cluster_library = NULL;
const ClusterCalls *cluster_spread = NULL;
bool		cluster_known = false;
bool		cluster_may_come = false;
