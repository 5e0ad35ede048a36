/*
 * key_lookup.c
 *		Where the items of a key are: the partition, and with it the leaf.
 *
 * layout_place() is the one function that finds the place of a key. The partition follows from
 * the hash of the key, and the layout, which layout_get() reads from the catalogs and keeps, tells
 * the partition's leaves.
 *
 * All else in this file saves a new session from reading the whole layout, which costs some fifty
 * buffers a partition, for the leaf or two that its first request needs. Hints in shared memory
 * (shared_hints.c) say which tables to look at. Each hint is proven by what the catalogs say
 * of the table (partition_check.c): the leaf is the one for the type in a partition that takes
 * the hash of the key and is attached to the container's root, and all belong to the owner of
 * the root. What is proven is added to a sparse layout, and forgotten as if it had been read
 * with the rest. If a hint is missing or wrong, the whole layout is read, which leaves new
 * hints.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "utils/memutils.h"

/* ------------------------------------------------------------------------
 * By hints
 * ------------------------------------------------------------------------ */

/* The partition that takes a key, by a hint; UNPROVEN if the hint is missing or wrong. */
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
	/* before the look, or a change that comes meanwhile would be lost */
	layout_watch(cc, table, NO_PARTITION);
	if (!proof_of_partition(table, cc->root, cc->owner, hash,
							&modulus, &remainder) || !cc->valid)
		return UNPROVEN;
	return partitions_add(partitions, hash, table, modulus, remainder);
}

/* Find a partition's leaf by a hint; false if the hint is missing or wrong. */
static bool
find_leaf(CachedContainer *cc, ItemType type, int partition)
{
	Oid			table = partitions_table(&cc->partitions, partition);
	Oid			relid = hint_find(HINT_LEAF, table, type);
	MemoryContext old;

	/* the partition is watched, and who detaches a leaf changes it */
	if (!OidIsValid(relid) ||
		!proof_of_leaf(relid, table, cc->owner, type) || !cc->valid)
		return false;
	old = MemoryContextSwitchTo(cc->context);
	partitions_leaf_place(&cc->partitions, type, partition)->relid = relid;
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Find the place of a type's items by a sparse map, to which it is added; UNPROVEN if that
 * cannot be.
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
 * The same for a container whose layout is sparse, as long as it is: an invalidation while the
 * hint is proven has the container looked up again.
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
 * By the whole layout
 * ------------------------------------------------------------------------ */

/*
 * The partition that has a key's items of a type, or where there is no key, the one with a
 * number; NO_PARTITION: there is none. *cc becomes what is known of the container, which tells
 * of that partition, and of the leaf there if it has one.
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
		/* numbers are those of the whole layout, but for the feed's only one */
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
