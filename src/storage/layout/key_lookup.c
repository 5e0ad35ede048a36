/*
 * key_lookup.c
 *		Finds the partition of a key's items, and thereby the leaf.
 *
 * layout_place() is the only function that does so. It hashes the key to find
 * the partition. The layout, which layout_get() reads from the catalogs and
 * caches, has the partition's leaves.
 *
 * The rest of this file saves a new session from reading the whole layout for
 * the one or two leaves of its first request. Reading the whole layout costs
 * about fifty buffers per partition. Hints in shared memory (shared_hints.c)
 * say which tables to look at. Each hint is checked against the table's
 * catalog rows (partition_check.c): the leaf must be the one for the type in
 * its partition, the partition must take the hash of the key and be attached
 * to the container's root, and all must have the owner of the root. Checked
 * tables are added to a sparse map, and invalidation removes them as usual. If
 * a hint is missing or wrong, the whole layout is read, which leaves new
 * hints.
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
 * Return the partition that takes a key, found by a hint; UNPROVEN if the hint
 * is missing or wrong.
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
	/* watch first, so that no invalidation is missed */
	layout_watch(cc, table, NO_PARTITION);
	if (!proof_of_partition(table, cc->root, cc->owner, hash,
							&modulus, &remainder) || !cc->valid)
		return UNPROVEN;
	return partitions_add(partitions, hash, table, modulus, remainder);
}

/*
 * Add a partition's leaf for a type to the sparse map. A hint says which table
 * the leaf is, and the catalogs must confirm it. Returns false if the hint is
 * missing or wrong, or if an invalidation arrives meanwhile.
 */
static bool
find_leaf(CachedContainer *cc, ItemType type, int partition)
{
	Oid			table = partitions_table(&cc->partitions, partition);
	Oid			relid = hint_find(HINT_LEAF, table, type);
	MemoryContext old;

	/* the leaf need not be watched: detaching it invalidates the partition */
	if (!OidIsValid(relid) ||
		!proof_of_leaf(relid, table, cc->owner, type) || !cc->valid)
		return false;
	old = MemoryContextSwitchTo(cc->context);
	partitions_leaf_place(&cc->partitions, type, partition)->relid = relid;
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Find the partition of a key's items with a sparse map, and add partition and
 * leaf to the map. Returns UNPROVEN if hints do not lead there.
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
 * Call find_place() as long as the layout is sparse. If an invalidation
 * arrives while a hint is checked, the layout is fetched again. Returns the
 * partition; UNPROVEN if hints do not lead there.
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
 * there is none. key NULL: return the partition of the given number. *cc
 * becomes the container's layout, which describes that partition and, if it
 * exists, its leaf for the type.
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
		 * a caller's number is one of the whole layout, except for the feed's
		 * only partition
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
