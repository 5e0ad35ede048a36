/*
 * layout_cache.h
 *		The cached layout of the containers, for the files of storage/layout/
 *		only.
 *
 * Files, lowest first. A file calls only files that are listed before it:
 *
 *		cluster_calls.c		the functions that src/cluster/ provides
 *		blog_item.c			items in memory; names of properties and containers
 *		table_identity.c	from a table to the items that it holds
 *		table_shape.c		whether a table is as blogstore made it
 *		access_paths.c		where a leaf has its columns and indexes
 *		shared_hints.c		hints in shared memory on where tables are
 *		partitions.c		the partitions of a container, and that of a key
 *		partition_check.c	whether a table is the partition that a hint names
 *		required_values.c	the values that an item must have
 *		layout_cache.c		reads all this from the catalogs and caches it
 *		key_lookup.c		reads only as much of it as one leaf needs
 *		containers.c		which containers and partitions exist
 *		leaf.c				from container, type and key to an open leaf
 *		container_damage.c	whether all tables can be used
 */
#ifndef BLOGSTORE_LAYOUT_CACHE_H
#define BLOGSTORE_LAYOUT_CACHE_H

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/leaf.h"

#include "fmgr.h"
#include "utils/hsearch.h"

/* The cached state of a leaf. */
typedef struct CachedLeaf
{
	Oid			relid;			/* InvalidOid if there is no leaf */
	LayoutProblem *misplaced;	/* what is wrong with its place in the tree;
								 * NULL: nothing */
	uint32		changes;		/* number of invalidations so far */
	bool		known;			/* true if the fields below are filled in;
								 * those about indexes are complete once
								 * looked[N_PATHS] is true */
	LayoutProblem *problem;		/* what is wrong with the leaf itself; NULL:
								 * nothing */
	LayoutProblem *unwritable;	/* of a view's leaf: why rows cannot be
								 * written; NULL: they can */
	Oid			added_index;	/* of a view's leaf: an index that the owner
								 * has added */
	AttrNumber	attno[N_PROPERTIES];
	bool		looked[N_PATHS + 1];	/* whether indexes for a path were
										 * looked up; the last: for all
										 * paths */
	Oid			index[N_PATHS];
	bool		attached;		/* true if the owner has attached code */
	uint64		served;			/* attached_stamp() when the attached code was
								 * last found fit to run; 0: never */
} CachedLeaf;

/* A cached hash of a key. */
typedef struct KeptHash
{
	bool		known;
	pg_uuid_t	key;
	uint64		hash;
} KeptHash;

#define KEPT_HASHES 64

/*
 * The partitions of a container and their leaves, which map a key to a leaf.
 * Only partitions.c and partitions_leaf() access the fields.
 *
 * A full map describes all partitions and leaves. A sparse map contains only
 * those that hints have led to (key_lookup.c), so a missing entry does not
 * mean that the partition does not exist. A partition's number in a sparse map
 * differs from its number in the full map.
 */
typedef struct Partitions
{
	bool		sparse;
	int			n;				/* partitions are numbered 0 to n - 1 */
	bool		whole;			/* true if every key has a partition */
	bool		hashed;			/* false: there is one partition, and no key */
	FmgrInfo	hash_proc;
	Oid			hash_collation;
	KeptHash	kept[KEPT_HASHES];	/* recent keys, indexed by their last
									 * byte */
	int			modulus;		/* the largest modulus of the partitions */
	int		   *of_remainder;	/* the partition of each remainder;
								 * NO_PARTITION: none; UNPROVEN: unknown */
	void	   *map;			/* SpreadTable.map of a cluster; NULL on one
								 * machine */
	uint32		everywhere;		/* bit mask of the types whose items every node
								 * has */
	Oid		   *table;			/* by number: the partition's table, which
								 * is split by type; InvalidOid: on another
								 * node */
	CachedLeaf *leaf[N_ITEM_TYPES]; /* by number; NULL: no leaf of the type is
									 * known */
} Partitions;

/* Marks a remainder whose partition a sparse map does not know. */
#define UNPROVEN (NO_PARTITION - 1)

/* The kinds of hints. */
typedef enum HintKind
{
	HINT_MODULUS,				/* of a root: the largest modulus of its
								 * partitions */
	HINT_PARTITION,				/* of a root: the partition that holds the keys
								 * whose hash has a given remainder */
	HINT_LEAF					/* of a partition: the leaf that holds items of
								 * a type */
} HintKind;

/* The cached layout of one container, in a memory context of its own. */
typedef struct CachedContainer
{
	bool		valid;
	bool		loading;		/* true while being read, and after a failed
								 * read */
	bool		stale;			/* invalidated while being read */
	LayoutProblem *problem;		/* what is wrong with the container as a whole;
								 * NULL: nothing */
	MemoryContext context;
	Oid			root;
	Oid			owner;
	HTAB	   *watched;		/* of WatchedTable: the tables that this was
								 * read from */
	Partitions	partitions;
} CachedContainer;

/* table_shape.c */
extern LayoutProblem *shape_table_problem(Oid relid, char kind, Oid owner);
extern LayoutProblem *shape_key_problem(Oid relid, char strategy,
										Property column);
extern bool shape_is_split_by_type(Oid relid);
extern Oid	shape_usual_opfamily(Oid type, bool hash);
extern LayoutProblem *shape_mixed_problem(Oid relid);
extern LayoutProblem *shape_problem(char *message, const char *hint);
extern LayoutProblem *shape_missing_problem(char *message);
extern LayoutProblem *shape_columns(CachedLeaf *leaf, Relation rel,
									Container container, ItemType type);
extern LayoutProblem *shape_root_columns(Relation root, Container container);
extern LayoutProblem *shape_view_problem(Relation rel, Container container);
extern LayoutProblem *shape_addition_problem(Relation rel, Container container,
											 const char *addition);

/* access_paths.c */
extern void leaf_describe(CachedLeaf *leaf, Relation rel, Oid owner,
						  Container container, ItemType type);
extern void leaf_look_for(CachedLeaf *leaf, Relation rel, Container container,
						  ItemType type, AccessPath path);

extern AccessPath leaf_path_missing(const CachedLeaf *leaf, Container container,
									ItemType type);

/* partitions.c */
extern LayoutProblem *partitions_problem(Container container, Oid root);
extern void partitions_load(Partitions *partitions, Container container,
							Relation root);
extern bool partitions_whole(const Partitions *partitions);
extern LayoutProblem *partitions_gap_problem(const Partitions *partitions,
											 Container container);
extern int	partitions_count(const Partitions *partitions);
extern int	partitions_taking(Partitions *partitions, ItemType type,
							  const pg_uuid_t *key);
extern int	partitions_of_key(Partitions *partitions, ItemType type,
							  const pg_uuid_t *key);
extern bool partitions_hold(const Partitions *partitions, int number);
extern uint64 partitions_hash(Partitions *partitions, const pg_uuid_t *key);
extern void partitions_expect(Partitions *partitions, Container container,
							  Oid root, int modulus);
extern int	partitions_add(Partitions *partitions, uint64 hash, Oid table,
						   int modulus, int remainder);
extern Oid	partitions_hint(const Partitions *partitions, Oid root, uint64 hash);
extern void partitions_leave_hints(const Partitions *partitions, Oid root);
extern CachedLeaf *partitions_leaf_place(Partitions *partitions, ItemType type,
										 int number);
extern int	partitions_from(const Partitions *partitions, ItemType type,
							int number);
extern int	partitions_next_table(const Partitions *partitions, int number);
extern Oid	partitions_table(const Partitions *partitions, int number);
extern int64 partitions_number(const Oid *root, int nroots);

/* shared_hints.c */
extern void hint_leave(HintKind kind, Oid parent, int number, uint32 value);
extern uint32 hint_find(HintKind kind, Oid parent, int number);

/* partition_check.c */
extern bool proof_of_partition(Oid table, Oid root, Oid owner, uint64 hash,
							   int *modulus, int *remainder);
extern bool proof_of_leaf(Oid table, Oid partition, Oid owner, ItemType type);

/* layout_cache.c */
extern CachedContainer *layout_get(Container container);
extern CachedContainer *layout_root(Container container);
extern CachedContainer *layout_find(Container container, bool whole);
extern LayoutProblem *layout_problem(Container container, bool whole,
									 CachedContainer **cc);
extern LayoutProblem *layout_root_problem(Container container, Oid root);
extern void layout_watch(CachedContainer *cc, Oid relid, int partition);

/* key_lookup.c */
extern int	layout_place(CachedContainer **cc, Container container,
						 ItemType type, const pg_uuid_t *key, int partition);

/* leaf.c */
extern CachedLeaf *leaf_find(CachedContainer *cc, Container container,
							 ItemType type, int partition,
							 LayoutProblem **problem);
extern LayoutProblem *leaf_problem(const CachedLeaf *leaf, Relation rel,
								   Container container, bool to_write);
extern bool leaf_learn(CachedContainer *cc, Relation rel, Container container,
					   ItemType type, int partition, AccessPath path);

/*
 * Return the cached leaf of a partition for items of a type; NULL if there is
 * no such partition. Inline, because requests call it for each item that they
 * read.
 */
static inline CachedLeaf *
partitions_leaf(const Partitions *partitions, ItemType type, int number)
{
	return number >= 0 && number < partitions->n &&
		partitions->leaf[type] != NULL ?
		&partitions->leaf[type][number] : NULL;
}

#endif							/* BLOGSTORE_LAYOUT_CACHE_H */
