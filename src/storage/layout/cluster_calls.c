/*
 * cluster_calls.c
 *		Variables that say whether this database's containers are spread over
 *		a cluster, and which functions are called if so.
 *
 * cluster_calls.h says what each variable means. src/cluster/ sets
 * cluster_library and cluster_may_come when the server loads blogstore. If the
 * server cannot be part of a cluster, src/cluster/ clears cluster_may_come
 * later. layout_cache.c reads the catalogs, and sets cluster_spread and
 * cluster_known. A relcache invalidation that makes the cached layout invalid
 * also clears cluster_known.
 */
#include "postgres.h"

#include "storage/layout/cluster_calls.h"

const ClusterCalls *cluster_library = NULL;
const ClusterCalls *cluster_spread = NULL;
bool		cluster_known = false;
bool		cluster_may_come = false;
