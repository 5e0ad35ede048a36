/*
 * key_lookup.c
 *		Finds the partition that holds the items with a given key, and thereby
 *		the leaf for the items of one type.
 *
 * layout_place() hashes the key to find the partition. The layout, which
 * layout_get() reads from the catalogs and caches, has the partition's leaves.
 *
 * Reading the whole layout costs about fifty buffers per partition. The rest
 * of this file spares a new session that cost if the session needs only one or
 * two leaves. Hints in shared memory (shared_hints.c) say which tables are
 * probably the partition and the leaf. The process checks these tables against
 * their catalog rows (partition_check.c): the leaf must be the one for the
 * item type in its partition, the partition must take the key's hash and be
 * attached to the container's root, and all three must have the same owner.
 * Tables that pass the check are added to a sparse layout, one in which
 * partitions may be missing. A relcache invalidation makes a sparse layout
 * invalid as it does a whole one. If a hint is missing or wrong, the process
 * reads the whole layout, and leaves new hints.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "utils/memutils.h"

/* ------------------------------------------------------------------------
 * With hints
 * ------------------------------------------------------------------------ */

/*
 * Add the partition that takes a key to a sparse layout (one that has only the
 * partitions used so far). Takes the partition's table from a hint in shared
 * memory, and checks it against the catalogs. Returns the partition's number
 * in the layout; UNPROVEN if the hint is missing or wrong.
 */
static int
find_partition(CachedContainer *cc, const pg_uuid_t *key)
{
	Partitions *partitions = &cc->partitions;
	uint64		hash = partitions_hash(partitions, key);
	Oid			table = partitions_hint(partitions, cc->root, hash);
	int			modulus;
	int			remainder;

	if (!OidIsValid(table))
		return UNPROVEN;
	/*
	 * layout_watch() comes before the reading of the table's catalog rows, so
	 * that no invalidation of the table is missed.
	 */
	layout_watch(cc, table, NO_PARTITION);
	if (!proof_of_partition(table, cc->root, cc->owner, hash,
							&modulus, &remainder) || !cc->valid)
		return UNPROVEN;
	return partitions_add(partitions, hash, table, modulus, remainder);
}

/*
 * Add the leaf for the items of a type in a partition to a sparse layout (one
 * that has only the leaves used so far). Takes the leaf from a hint in shared
 * memory, and checks it against the catalogs. Returns false if the hint is
 * missing or wrong, or if an invalidation arrives meanwhile.
 */
static bool
find_leaf(CachedContainer *cc, ItemType type, int partition)
{
	Oid			table = partitions_table(&cc->partitions, partition);
	Oid			relid = hint_find(HINT_LEAF, table, type);
	MemoryContext old;

	/*
	 * No layout_watch() for the leaf: detaching the leaf also invalidates the
	 * partition, for which layout_watch() was called.
	 */
	if (!OidIsValid(relid) ||
		!proof_of_leaf(relid, table, cc->owner, type) || !cc->valid)
		return false;
	old = MemoryContextSwitchTo(cc->context);
	partitions_leaf_place(&cc->partitions, type, partition)->relid = relid;
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Return the number of the partition that holds the items of a type with a
 * given key, in a sparse layout (one that has only the partitions used so
 * far). Adds the partition and its leaf to the layout if necessary. Returns
 * UNPROVEN if the hints for them are missing or wrong.
 */
static int
find_place(CachedContainer *cc, ItemType type, const pg_uuid_t *key)
{
	int			partition = partitions_of_key(&cc->partitions, type, key);
	const CachedLeaf *leaf;

	if (partition == UNPROVEN)
		partition = find_partition(cc, key);
	if (partition == UNPROVEN)
		return UNPROVEN;
	leaf = partitions_leaf(&cc->partitions, type, partition);
	if ((leaf == NULL || !OidIsValid(leaf->relid)) &&
		!find_leaf(cc, type, partition))
		return UNPROVEN;
	return partition;
}

/*
 * Return the number of the partition that holds the items of a type with a
 * given key, by find_place(), if the container's layout is sparse (has only
 * the partitions used so far). If the layout becomes invalid meanwhile, sets
 * *cc to the new layout and tries again. Returns UNPROVEN if the layout is
 * whole, or the hints do not lead to the partition.
 */
static int
place_by_hints(CachedContainer **cc, Container container, ItemType type,
			   const pg_uuid_t *key)
{
	for (int tries = 0; (*cc)->partitions.sparse && tries < 10; tries++)
	{
		int			found = find_place(*cc, type, key);

		if (found != UNPROVEN || (*cc)->valid)
			return found;
		*cc = layout_root(container);
	}
	return UNPROVEN;
}

/* ------------------------------------------------------------------------
 * With the whole layout
 * ------------------------------------------------------------------------ */

/*
 * Return the number of the partition that holds the items of a type with a
 * given key; NO_PARTITION if there is none. Also sets *cc to the container's
 * layout, to which the number belongs. The layout has the partition's leaf for
 * the type, if the leaf exists. Errors: 55000.
 *
 * key: the key. NULL: the caller knows the partition's number
 * partition: that number, which is returned; used only if key is NULL
 */
int
layout_place(CachedContainer **cc, Container container, ItemType type,
			 const pg_uuid_t *key, int partition)
{
	*cc = layout_root(container);
	if ((*cc)->partitions.sparse)
	{
		/*
		 * A caller has a partition's number from a whole layout. The
		 * partitions of a sparse layout have other numbers, so a partition is
		 * not found there by its number. The feed is an exception: its single
		 * partition has the same number in both layouts.
		 */
		bool		findable = key != NULL || container_key(container) == PROP_TYPE;
		int			found = findable ?
			place_by_hints(cc, container, type, key) : UNPROVEN;

		if (found != UNPROVEN)
			return found;
		*cc = layout_get(container);
	}
	return key != NULL ? partitions_of_key(&(*cc)->partitions, type, key) :
		partition;
}
