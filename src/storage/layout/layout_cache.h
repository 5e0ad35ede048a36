/*
 * layout_cache.h
 *		What is known of the containers' tables, for the files of storage/layout/ alone.
 *
 * Files, lowest first; a file calls only those before it:
 *
 *		cluster_calls.c		the functions of a cluster
 *		blog_item.c			items in memory, names of properties and containers
 *		table_identity.c	from a table to what it holds
 *		table_shape.c		is a table what blogstore has made it?
 *		access_paths.c		where a leaf has its columns and indexes
 *		shared_hints.c		what is said of partitions and leaves in shared memory
 *		partitions.c		which partitions a container has, and which holds a key
 *		partition_check.c	is a table the partition or leaf that it is said to be?
 *		required_values.c	which values an item must have
 *		layout_cache.c		reads all this from the catalogs, and remembers it
 *		key_lookup.c		reads no more of it than one leaf needs
 *		containers.c		what containers and partitions there are
 *		leaf.c				from container, type and key to an open leaf
 *		container_damage.c	is there a table that cannot be used?
 */
#ifndef BLOGSTORE_LAYOUT_CACHE_H
#define BLOGSTORE_LAYOUT_CACHE_H

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/leaf.h"

#include "fmgr.h"
#include "utils/hsearch.h"

/* What is known of a leaf. */
typedef struct CachedLeaf
{
	Oid			relid;			/* InvalidOid: there is none */
	LayoutProblem *misplaced;	/* what is wrong with its place; NULL: nothing */
	uint32		changes;		/* invalidations so far */
	bool		known;			/* is all that follows filled in, but for indexes? */
	LayoutProblem *problem;		/* what is wrong with itself; NULL: nothing */
	LayoutProblem *unwritable;	/* of a view: what keeps rows from being written */
	Oid			added_index;	/* of a view: an index of the owner's; as far as
								 * indexes were looked for */
	AttrNumber	attno[N_PROPERTIES];
	bool		looked[N_PATHS + 1];	/* for indexes of a path; the last: of all */
	Oid			index[N_PATHS];
	bool		attached;		/* is code of the owner's attached? As far as
								 * indexes were looked for */
	uint64		served;			/* attached_stamp() when attached code was last found
								 * to be such as can be run; 0: not known */
} CachedLeaf;

/* The hash of a key. */
typedef struct KeptHash
{
	bool		known;
	pg_uuid_t	key;
	uint64		hash;
} KeptHash;

#define KEPT_HASHES 64

/*
 * Which partitions a container has, and their leaves: the map from a key to a leaf.
 * The functions of partitions.c alone, and partitions_leaf(), look inside.
 *
 * Read by the whole, it tells of all partitions and leaves. Of one that is sparse
 * only those are filled in that hints have led to (key_lookup.c), so what is not there
 * says nothing; its numbers are others than when it has been read by the whole.
 */
typedef struct Partitions
{
	bool		sparse;
	int			n;				/* their numbers are 0 to n - 1 */
	bool		whole;			/* is there one for each key? */
	bool		hashed;			/* false: there is one, and no key */
	FmgrInfo	hash_proc;
	Oid			hash_collation;
	KeptHash	kept[KEPT_HASHES];	/* of keys of late, by their last byte */
	int			modulus;		/* the greatest of the partitions' moduli */
	int		   *of_remainder;	/* which has a remainder; NO_PARTITION: none;
								 * UNPROVEN: not known */
	void	   *map;			/* the cluster's (SpreadTable); NULL: on one machine */
	uint32		everywhere;		/* types of items that each node has all, as bits */
	Oid		   *table;			/* by number, each to be split by type; InvalidOid: it is
								 * not on this node */
	CachedLeaf *leaf[N_ITEM_TYPES]; /* by number; NULL: none is known */
} Partitions;

/* A partition that nothing is known of, in a sparse map. */
#define UNPROVEN (NO_PARTITION - 1)

/* What a hint is of. */
typedef enum HintKind
{
	HINT_MODULUS,				/* of a root: the greatest of its partitions */
	HINT_PARTITION,				/* of a root: what holds keys of a remainder */
	HINT_LEAF					/* of a partition: what holds items of a type */
} HintKind;

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
 * The leaf of a partition for items of a type; NULL: there is no such partition.
 * Numbers of partitions with gaps would be looked up here. Requests come by here
 * for each item that they read, so it is no call.
 */
static inline CachedLeaf *
partitions_leaf(const Partitions *partitions, ItemType type, int number)
{
	return number >= 0 && number < partitions->n &&
		partitions->leaf[type] != NULL ?
		&partitions->leaf[type][number] : NULL;
}

#endif							/* BLOGSTORE_LAYOUT_CACHE_H */
