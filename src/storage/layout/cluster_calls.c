/*
 * cluster_calls.c
 *		Variables that say whether this database's containers are spread over
 *		a cluster, and which functions are called if so.
 *
 * src/cluster/ sets cluster_library and cluster_may_come when the library is
 * loaded. It clears cluster_may_come later if the server cannot be part of a
 * cluster. layout_cache.c sets cluster_spread and cluster_known from the
 * catalogs, and clears cluster_known on a relcache invalidation.
 */
#include "postgres.h"

#include "storage/layout/cluster_calls.h"

const ClusterCalls *cluster_library = NULL;
const ClusterCalls *cluster_spread = NULL;
bool		cluster_known = false;
bool		cluster_may_come = false;
