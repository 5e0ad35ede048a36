/*
 * layout_cache.h
 *		The layout of the containers (layout.h) as a process caches it. For
 *		the files of storage/layout/ only.
 *
 * A file calls only functions of files that are listed before the file:
 *
 *		cluster_calls.c		the functions that src/cluster/ provides
 *		blog_item.c			items in memory; names of fields and containers
 *		table_identity.c	from a table to the items that it holds
 *		table_shape.c		whether a table is as blogstore made it
 *		access_paths.c		the column numbers and indexes of a leaf
 *		shared_hints.c		OIDs of partitions and leaves in shared memory
 *		partitions.c		the partitions of a container, and that of a key
 *		partition_check.c	checks an OID that was found in shared memory
 *		required_values.c	the fields of an item that must not be NULL
 *		layout_cache.c		reads the layout from the catalogs and caches it
 *		key_lookup.c		finds the partition and leaf of a key
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

typedef struct CachedLeaf
{
	Oid			relid;			/* InvalidOid if there is no such table */
	/*
	 * Why the leaf cannot be used; NULL if it can. The owner may have attached
	 * a leaf that takes items of two types, for example, or that belongs to
	 * another owner.
	 */
	LayoutProblem *misplaced;
	/* number of relcache invalidations of the leaf so far */
	uint32		changes;
	/*
	 * Whether the fields below were read from the catalogs after the last
	 * invalidation of the leaf. An element index[path] was read only if
	 * looked[path] is true.
	 */
	bool		known;
	/* why the leaf itself cannot be read or written; NULL if it can */
	LayoutProblem *problem;
	/*
	 * For a leaf of the views: why the worker cannot write to the leaf; NULL
	 * if it can. For example, the owner has added a constraint.
	 */
	LayoutProblem *unwritable;
	/*
	 * For a leaf of the views: an index of the owner's that could reject rows;
	 * InvalidOid if there is none.
	 */
	Oid			added_index;
	AttrNumber	attno[N_PROPERTIES];
	/*
	 * looked[path]: whether the index of the kind "path" was looked up.
	 * looked[N_PATHS]: whether all indexes of the leaf were looked up.
	 */
	bool		looked[N_PATHS + 1];
	Oid			index[N_PATHS];
	/* Whether writing to the leaf runs code that the owner has added. */
	bool		attached;
	/*
	 * The result of attached_stamp() when the attached code of the leaf last
	 * passed the check; 0 if it never has. The code need not be checked again
	 * as long as attached_stamp() returns this value.
	 */
	uint64		served;
} CachedLeaf;

/*
 * A cached hash of a key (a user id or post id). The hash determines the
 * partition of the key.
 */
typedef struct KeptHash
{
	bool		known;
	pg_uuid_t	key;
	uint64		hash;
} KeptHash;

#define KEPT_HASHES 64

/*
 * The partitions of a container, and their leaves. Only partitions.c and
 * partitions_leaf() access the fields of the struct.
 *
 * A layout is whole if all partitions were read from the catalogs. A sparse
 * layout has only the partitions that this process has used so far
 * (key_lookup.c). A partition has another number in a sparse layout than in
 * the whole layout.
 */
typedef struct Partitions
{
	bool		sparse;
	int			n;				/* partitions have the numbers 0 to n - 1 */
	/*
	 * Whether no partition is missing, so that every key has a partition. Not
	 * set in a sparse layout.
	 */
	bool		whole;
	/* whether the container is hash-partitioned; false for the feed */
	bool		hashed;
	bool		by_text;		/* whether keys are texts, as in topics, and
								 * not uuids */
	FmgrInfo	hash_proc;
	Oid			hash_collation;
	/*
	 * Cached hashes of keys. The last byte of a key determines the element
	 * that caches the key's hash.
	 */
	KeptHash	kept[KEPT_HASHES];
	int			modulus;
	/*
	 * of_remainder[hash % modulus] is the number of the partition that takes
	 * keys with this hash. NO_PARTITION if there is no such partition.
	 * UNPROVEN if that is not known, because the layout is sparse.
	 */
	int		   *of_remainder;
	/*
	 * On a cluster: SpreadTable.map, by which src/cluster/ finds the partition
	 * of a key. NULL on one machine.
	 */
	void	   *map;
	/*
	 * A bit mask of the item types (1 << ITEM_...) of which every node of a
	 * cluster has all items.
	 */
	uint32		everywhere;
	/*
	 * For each partition number: the partition's table, which is itself
	 * partitioned by item type. InvalidOid if the partition is on another node
	 * of a cluster.
	 */
	Oid		   *table;
	/*
	 * leaf[type][number] is the leaf of a type in a partition. leaf[type] is
	 * NULL if no leaf of this type is known.
	 */
	CachedLeaf *leaf[N_ITEM_TYPES];
} Partitions;

/*
 * Stands for the number of a partition that may exist, but is not in the
 * cached layout, which has only the partitions used so far.
 */
#define UNPROVEN (NO_PARTITION - 1)

/* The kinds of hints in shared memory (shared_hints.c). */
typedef enum HintKind
{
	/*
	 * The hint is the largest MODULUS among the bounds of a container's hash
	 * partitions.
	 */
	HINT_MODULUS,
	/*
	 * The hint is the OID of the hash partition that takes keys with a given
	 * remainder. HintKey.number is the remainder.
	 */
	HINT_PARTITION,
	/* The hint is the OID of a leaf. HintKey.number is the leaf's ItemType. */
	HINT_LEAF
} HintKind;

/*
 * The layout of one container as the process has cached it: the container's
 * tables, and what is wrong with them.
 */
typedef struct CachedContainer
{
	bool		valid;
	/*
	 * Whether the layout is being read; stays true if an error ends the
	 * reading. While this is true, an invalidation sets "stale".
	 */
	bool		loading;
	/* Whether an invalidation has arrived while the layout was being read. */
	bool		stale;
	/* why the container's table cannot be used; NULL if it can */
	LayoutProblem *problem;
	MemoryContext context;
	Oid			root;
	Oid			owner;
	/*
	 * The tables whose invalidation makes this layout, or one of its leaves,
	 * invalid (struct WatchedTable).
	 */
	HTAB	   *watched;
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
extern LayoutProblem *shape_view_problem(Relation rel, Container container,
										 ItemType type);
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
extern LayoutProblem *partitions_root_problem(Container container, Oid root);
extern void partitions_load(Partitions *partitions, Container container,
							Relation root);
extern bool partitions_whole(const Partitions *partitions);
extern LayoutProblem *partitions_gap_problem(const Partitions *partitions,
											 Container container);
extern int	partitions_count(const Partitions *partitions);
extern int	partitions_taking(Partitions *partitions, ItemType type,
							  const void *key);
extern int	partitions_of_key(Partitions *partitions, ItemType type,
							  const void *key);
extern bool partitions_hold(const Partitions *partitions, ItemType type,
							int number);
extern uint64 partitions_hash(Partitions *partitions, const void *key);
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
extern void layout_watch(CachedContainer *cc, Oid relid, int partition);

/* key_lookup.c */
extern int	layout_place(CachedContainer **cc, Container container,
						 ItemType type, const void *key, int partition);

/* leaf.c */
extern CachedLeaf *leaf_find(CachedContainer *cc, Container container,
							 ItemType type, int partition,
							 LayoutProblem **problem);
extern LayoutProblem *leaf_problem(const CachedLeaf *leaf, Relation rel,
								   Container container, bool to_write);
extern bool leaf_learn(CachedContainer *cc, Relation rel, Container container,
					   ItemType type, int partition, AccessPath path);

/*
 * Return what is cached about the leaf for the items of a type in partition
 * "number"; NULL if there is no such partition. Inline, because requests call
 * this for each item that they read.
 */
static inline CachedLeaf *
partitions_leaf(const Partitions *partitions, ItemType type, int number)
{
	return number >= 0 && number < partitions->n &&
		partitions->leaf[type] != NULL ?
		&partitions->leaf[type][number] : NULL;
}

#endif							/* BLOGSTORE_LAYOUT_CACHE_H */
