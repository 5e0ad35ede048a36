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

/* A table whose partitions are spread over the nodes of a cluster. */
typedef struct SpreadTable
{
	bool		everywhere;		/* each node has all of it, in one partition */
	int			n;				/* partitions, here and on other nodes */
	Oid		   *table;			/* by number; InvalidOid: it is on another node */
	void	   *map;			/* the cluster's own: which keys each takes, and where it is */
} SpreadTable;

typedef struct ClusterCalls
{
	/* containers and partitions */

	/*
	 * Read which partitions a table has, in the current memory context; false: it is not spread.
	 * Called through cluster_library. On one machine the catalogs of the server tell.
	 */
	bool		(*read_partitions) (Oid table, SpreadTable *spread);

	/*
	 * Return whether a table has the name of a partition of another table. Called through
	 * cluster_library, also while changes of the past are decoded, so it looks at the names
	 * alone. One machine goes by pg_inherits.
	 */
	bool		(*names_partition_of) (const char *name, const char *table);

	/*
	 * Return the number of the partition that takes a key, on whichever node it is;
	 * NO_PARTITION: there is none. One machine finds it by its own hash of the key.
	 */
	int			(*partition_of_key) (const void *map, const pg_uuid_t *key);

	/*
	 * Keep a partition on this node until the transaction ends, before it is written to. The
	 * caller has to ask again which partition takes its key. On one machine a partition stays
	 * where it is.
	 */
	void		(*hold_partition) (const void *map, int partition);

	/*
	 * Return whether the copies of a user's posts are on this node, and keep them there until
	 * the transaction ends. On one machine they are.
	 */
	bool		(*hold_copies) (const pg_uuid_t *user_id);

	/*
	 * Change settings for a statement that reads whole containers, before it is planned. The
	 * caller restores them. One machine needs no other settings than storage/bookkeeping/
	 * makes.
	 */
	void		(*change_settings) (void);

	/* user items */

	/* requests */

	/* views and the worker */

	/* operations */

	/* import and export */
} ClusterCalls;

/* cluster_calls.c */
extern const ClusterCalls *cluster_library; /* set at load; also where there is no cluster */
extern const ClusterCalls *cluster_spread;	/* what cluster_calls() returned last */
extern bool cluster_known;		/* is that how it is in the catalogs? */

/* layout_cache.c */
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
