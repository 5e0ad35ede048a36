/*
 * cached.h
 *		What is known of a container, for layout.c and leaf.c alone.
 */
#ifndef BLOGSTORE_CACHED_H
#define BLOGSTORE_CACHED_H

#include "layout/item.h"
#include "layout/leaf.h"

#include "fmgr.h"
#include "utils/hsearch.h"

/* All that is known of one container; lives in its own memory context. */
typedef struct CachedContainer
{
	bool		valid;
	bool		loading;		/* being read, or that failed half-way */
	bool		stale;			/* invalidated while being read */
	LayoutProblem *problem;		/* of the container as a whole; NULL: none */
	MemoryContext context;
	Oid			root;
	Oid			owner;
	HTAB	   *watched;		/* of WatchedTable: what this was read from */
	bool		hashed;			/* false: one partition, no key to hash */
	FmgrInfo	hash_proc;
	Oid			hash_collation;
	int			modulus;		/* the greatest of the partitions' moduli */
	int		   *partition_of;	/* by remainder; -1: none */
	bool		whole;			/* has each remainder a partition? */
	int			npartitions;
	CachedLeaf *leaf[N_ITEM_TYPES]; /* each of npartitions */
} CachedContainer;

extern CachedContainer *layout_get(Container container);
extern int	layout_partition(CachedContainer *cc, const pg_uuid_t *key);
extern void layout_watch(CachedContainer *cc, Oid relid, int partition);

#endif							/* BLOGSTORE_CACHED_H */
