/*
 * key_lookup.c
 *		Finds the partition that holds the items of a key, and thereby the
 *		table for those of one type, a leaf.
 *
 * layout_place() is the only function that does so. It hashes the key to find
 * the partition. The layout, which layout_get() reads from the catalogs and
 * caches, has the partition's leaves.
 *
 * The rest of this file saves a new session from reading the whole layout,
 * which costs about fifty buffers per partition, when its first request needs
 * one or two leaves. Hints in shared memory (shared_hints.c) say which tables
 * to look at. Each hint is checked against the table's catalog rows
 * (partition_check.c): the leaf must be the one for the type in its partition,
 * the partition must take the key's hash and be attached to the container's
 * root, and all must have the same owner. Checked tables are added to a sparse
 * map, a layout in which partitions may be missing. Invalidation removes them
 * as usual. If a hint is missing or wrong, the whole layout is read, which
 * leaves new hints.
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
 * Add the partition that takes a key to a sparse map. A hint in shared memory
 * says which table it is, and the catalogs must confirm this. Returns the
 * partition's number in the map; UNPROVEN if the hint is missing or wrong.
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
	/* watch the table first, so that no invalidation of it is missed */
	layout_watch(cc, table, NO_PARTITION);
	if (!proof_of_partition(table, cc->root, cc->owner, hash,
							&modulus, &remainder) || !cc->valid)
		return UNPROVEN;
	return partitions_add(partitions, hash, table, modulus, remainder);
}

/*
 * Add the table for a partition's items of a type to a sparse map. A hint in
 * shared memory says which table it is, and the catalogs must confirm this.
 * Returns false if the hint is missing or wrong, or if an invalidation arrives
 * meanwhile.
 */
static bool
find_leaf(CachedContainer *cc, ItemType type, int partition)
{
	Oid			table = partitions_table(&cc->partitions, partition);
	Oid			relid = hint_find(HINT_LEAF, table, type);
	MemoryContext old;

	/*
	 * The cache entry depends on the partition, and not on this leaf below it:
	 * detaching the leaf sends an invalidation for the partition, too.
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
 * Find the partition that holds a key's items of a type in a sparse map. Adds
 * the partition, and its table for the type, to the map if they are not there
 * yet. Returns UNPROVEN if there are no hints in shared memory for them.
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
 * Find the partition that holds a key's items of a type, as long as the
 * container's layout is a sparse map. If an invalidation arrives while a hint
 * is checked, gets the layout again. Returns UNPROVEN if the map and the hints
 * do not lead to the partition.
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
 * Return the partition that holds a key's items of a type; NO_PARTITION if
 * there is none. key NULL: return the partition with the given number. *cc
 * becomes the container's layout, which describes this partition and its table
 * for the type, if it exists.
 *
 * Errors: 55000.
 */
int
layout_place(CachedContainer **cc, Container container, ItemType type,
			 const pg_uuid_t *key, int partition)
{
	*cc = layout_root(container);
	if ((*cc)->partitions.sparse)
	{
		/*
		 * a caller's number is not one of a sparse map, except for the feed,
		 * which has one partition
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
