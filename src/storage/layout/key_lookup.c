/*
 * key_lookup.c
 *		Finds the partition that holds the items with a given key, and in the
 *		partition the leaf for the items of one type.
 *
 * layout_place() hashes the key to find the partition in the container's
 * layout. Reading the whole layout from the catalogs costs about fifty buffers
 * per partition. A session that needs only one or two leaves avoids this cost
 * by hints: OIDs of partitions and leaves that other backends have left in
 * shared memory (shared_hints.c).
 *
 * Hints can be wrong, so a backend checks the catalog rows of the partition
 * and of the leaf (partition_check.c). The leaf must be that of the item type
 * in the partition. The partition must take the key's hash, and be attached to
 * the container's table. The container's table, the partition and the leaf
 * must have one owner. If so, the partition and the leaf are added to a sparse
 * layout. Such a layout has only the partitions that this process has used so
 * far. If a hint is missing or wrong, the backend reads the whole layout, and
 * leaves new hints.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "utils/memutils.h"

/*
 * Add the partition that takes a key to the cached layout. This layout is
 * sparse: it has only the partitions used so far. The partition's OID is a
 * hint from shared memory, and is checked against the catalogs. Returns the
 * partition's number in the layout; UNPROVEN if the hint is missing or wrong.
 */
static int
find_partition(CachedContainer *cc, const void *key)
{
	Partitions *partitions = &cc->partitions;
	uint64		hash = partitions_hash(partitions, key);
	Oid			table = partitions_hint(partitions, cc->root, hash);
	int			modulus;
	int			remainder;

	if (!OidIsValid(table))
		return UNPROVEN;
	/*
	 * Watch the table before its catalog rows are read, so that no
	 * invalidation of the table is missed.
	 */
	layout_watch(cc, table, NO_PARTITION);
	if (!proof_of_partition(table, cc->root, cc->owner, hash,
							&modulus, &remainder) || !cc->valid)
		return UNPROVEN;
	return partitions_add(partitions, hash, table, modulus, remainder);
}

/*
 * Add the leaf for the items of a type in a partition to the cached layout.
 * This layout is sparse: it has only the tables used so far. The leaf's OID is
 * a hint from shared memory, and is checked against the catalogs. Returns
 * false if the hint is missing or wrong, or an invalidation has arrived.
 */
static bool
find_leaf(CachedContainer *cc, ItemType type, int partition)
{
	Oid			table = partitions_table(&cc->partitions, partition);
	Oid			relid = hint_find(HINT_LEAF, table, type);
	MemoryContext old;

	/*
	 * layout_watch() already watches the partition, which is also invalidated
	 * when the leaf is detached. So the leaf itself need not be watched.
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
 * given key. The layout is sparse: it has only the tables used so far. If the
 * layout lacks the partition or the leaf for the type, adds it by a hint from
 * shared memory. Returns UNPROVEN if a hint is missing or wrong.
 */
static int
find_place(CachedContainer *cc, ItemType type, const void *key)
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
 * given key, found by hints. Returns UNPROVEN if a hint is missing or wrong,
 * or if the layout is not sparse and so has all partitions already. If the
 * layout becomes invalid meanwhile, sets *cc to the new one and tries again.
 */
static int
place_by_hints(CachedContainer **cc, Container container, ItemType type,
			   const void *key)
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

/*
 * Return the number of the partition that holds the items of a type with a
 * given key; NO_PARTITION if there is none. Sets *cc to the cached layout in
 * which the partition has this number. The layout also has the leaf for the
 * type, if there is one. Errors: 55000.
 *
 * key: NULL if the caller passes the partition's number instead
 * partition: the partition's number if key is NULL; it is then returned
 */
int
layout_place(CachedContainer **cc, Container container, ItemType type,
			 const void *key, int partition)
{
	*cc = layout_root(container);
	if ((*cc)->partitions.sparse)
	{
		/*
		 * A sparse layout has only the partitions used so far, and numbers
		 * them in another way. If the caller passes a partition's number, it
		 * is a number of the whole layout, which must then be read. The feed's
		 * only partition has the same number in both layouts.
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
