/*
 * cluster_calls.h
 *		What is done differently where the containers are spread over the nodes of a
 *		cluster.
 *
 * src/cluster/ is the topmost area: it calls all others, and they call it through this
 * struct alone. The comment at each function says what one machine does instead.
 */
#ifndef BLOGSTORE_CLUSTER_CALLS_H
#define BLOGSTORE_CLUSTER_CALLS_H

#include "storage/blog_item.h"

typedef struct ClusterCalls
{
	/* containers and partitions */

	/* user items */

	/* requests */

	/* views and the worker */

	/* operations */

	/* import and export */
	bool		unused;
} ClusterCalls;

/* layout_cache.c */
extern const ClusterCalls *cluster_library; /* set at load; also where there is no cluster */
extern const ClusterCalls *cluster_spread;	/* what cluster_calls() returned last */
extern bool cluster_known;		/* is that how it is in the catalogs? */
extern const ClusterCalls *cluster_look(void);

/*
 * The functions to call where this database's containers are spread over a cluster; NULL where
 * they are on this machine alone. May change when invalidation messages are processed: each
 * place that depends on it asks once.
 */
static inline const ClusterCalls *
cluster_calls(void)
{
	return cluster_known ? cluster_spread : cluster_look();
}

#endif							/* BLOGSTORE_CLUSTER_CALLS_H */
