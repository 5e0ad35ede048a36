/*
 * cached.h
 *		What is known of the containers' tables, for the files of layout/ alone.
 *
 * Files, lowest first; a file calls only those before it:
 *
 *		item.c			items in memory, names of properties and containers
 *		table.c			from a table to what it holds
 *		shape.c			is a table what blogstore has made it?
 *		path.c			where a leaf has its columns and indexes
 *		partitions.c	which partitions a container has, and which holds a key
 *		left_out.c		what cannot be read: an error, or left out
 *		layout.c		reads all this from the catalogs, and remembers it
 *		containers.c	what containers and partitions there are
 *		leaf.c			from container, type and key to an open leaf
 *		mended.c		has what was left out been mended?
 */
#ifndef BLOGSTORE_CACHED_H
#define BLOGSTORE_CACHED_H

#include "compat.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"

#include "fmgr.h"
#include "utils/hsearch.h"

/* What is known of a leaf. */
typedef struct CachedLeaf
{
	Oid			relid;			/* InvalidOid: there is none */
	LayoutProblem *misplaced;	/* what is wrong with its place; NULL: nothing */
	uint32		changes;		/* invalidations so far */
	bool		known;			/* is all that follows filled in? */
	LayoutProblem *problem;		/* what is wrong with itself; NULL: nothing */
	AttrNumber	attno[N_PROPERTIES];
	Oid			index[N_PATHS];
	bool		attached;		/* do types or indexes run the owner's code? */
} CachedLeaf;

/*
 * Which partitions a container has, and their leaves: the map from a key to a leaf.
 * The functions of partitions.c alone, and partitions_leaf(), look inside.
 */
typedef struct Partitions
{
	int			n;				/* their numbers are 0 to n - 1 */
	bool		whole;			/* is there one for each key? */
	bool		hashed;			/* false: there is one, and no key */
	FmgrInfo	hash_proc;
	Oid			hash_collation;
	int			modulus;		/* the greatest of the partitions' moduli */
	int		   *of_remainder;	/* which has a remainder; NO_PARTITION: none */
	Oid		   *table;			/* by number, each to be split by type */
	CachedLeaf *leaf[N_ITEM_TYPES]; /* by number */
} Partitions;

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
	Partitions	partitions;
} CachedContainer;

/* shape.c */
extern LayoutProblem *shape_table_problem(Oid relid, char kind, Oid owner);
extern LayoutProblem *shape_key_problem(Oid relid, char strategy,
										Property column);
extern LayoutProblem *shape_mixed_problem(Oid relid);
extern LayoutProblem *shape_problem(char *message, const char *hint);
extern LayoutProblem *shape_missing_problem(char *message);
extern LayoutProblem *shape_columns(CachedLeaf *leaf, Relation rel,
									Container container, ItemType type);
extern LayoutProblem *shape_root_columns(Relation root, Container container);

/* path.c */
extern void leaf_describe(CachedLeaf *leaf, Relation rel, Oid owner,
						  Container container, ItemType type);

/* partitions.c */
extern LayoutProblem *partitions_problem(Container container, Oid root);
extern void partitions_load(Partitions *partitions, Container container,
							Relation root);
extern bool partitions_whole(const Partitions *partitions);
extern int	partitions_count(const Partitions *partitions);
extern int	partitions_of_key(Partitions *partitions, const pg_uuid_t *key);
extern int	partitions_from(const Partitions *partitions, int number);
extern Oid	partitions_table(const Partitions *partitions, int number);
extern int64 partitions_number(const Oid *root, int nroots);

/* left_out.c */

/* A leaf, or a container, that could not be used. */
typedef struct LeftOut
{
	Container	container;
	int			partition;		/* NO_PARTITION: it is the container */
	ItemType	type;
	AccessPath	path;			/* whose index is missing; N_PATHS: any other fault */
} LeftOut;

extern bool container_leave_out(Container container,
								const LayoutProblem *problem);
extern bool left_out_forget_if(bool (*test) (const LeftOut *one, void *arg),
							   void *arg);

/* layout.c */
extern CachedContainer *layout_get(Container container);
extern CachedContainer *layout_find(Container container);
extern LayoutProblem *layout_problem(Container container, CachedContainer **cc);
extern LayoutProblem *layout_root_problem(Container container, Oid root);
extern void layout_watch(CachedContainer *cc, Oid relid, int partition);

/* leaf.c */
extern CachedLeaf *leaf_find(CachedContainer *cc, Container container,
							 ItemType type, int partition,
							 LayoutProblem **problem);
extern bool leaf_learn(CachedContainer *cc, Relation rel, Container container,
					   ItemType type, int partition);

/*
 * The leaf of a partition for items of a type; NULL: there is no such partition.
 * Numbers of partitions with gaps would be looked up here. Requests come by here
 * for each item that they read, so it is no call.
 */
static inline CachedLeaf *
partitions_leaf(const Partitions *partitions, ItemType type, int number)
{
	return number >= 0 && number < partitions->n ?
		&partitions->leaf[type][number] : NULL;
}

#endif							/* BLOGSTORE_CACHED_H */
