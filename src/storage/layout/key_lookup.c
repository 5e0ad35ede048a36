/*
 * key_lookup.c
 *		Where the items of a key lie, found out by reading as little of the layout as
 *		that takes.
 *
 * A session that serves one request needs a leaf or two. Reading the whole layout
 * for them costs some fifty buffers a partition. So it goes by hints (shared_hints.c),
 * each of which is proven by what the catalogs say of the table itself
 * (partition_check.c): the leaf is the one for the type in a partition that takes the
 * hash of the key and is attached to the container's root, and all belong to the owner of
 * the root. What is proven is remembered and forgotten as if it had been read with the
 * rest. A hint that is missing, or a lie, has the whole layout read, which leaves new
 * hints.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "utils/memutils.h"

/* The partition that holds a key, by a hint; UNPROVEN if that proves to be none. */
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

/* Find a partition's leaf by a hint; false if that proves to be none. */
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
 * The partition that a key's items of a type lie in, or where there is no key, the
 * one with a number; NO_PARTITION: there is none. *cc becomes what is known of the
 * container, which tells of that partition, and of the leaf there if it has one.
 *
 * Errors: 55000.
 */
int
layout_place(CachedContainer **cc, Container container, ItemType type,
			 const pg_uuid_t *key, int partition)
{
	*cc = layout_root(container);
	for (int tries = 0; (*cc)->partitions.sparse && tries < 10; tries++)
	{
		int			found = UNPROVEN;

		/* numbers are those of the whole, but for the feed's only one */
		if (key != NULL || container_key(container) == PROP_TYPE)
			found = find_place(*cc, type, key);
		if (found != UNPROVEN)
			return found;
		if ((*cc)->valid)
			break;
		*cc = layout_root(container);	/* it has changed meanwhile */
	}
	if ((*cc)->partitions.sparse)
		*cc = layout_get(container);
	return key != NULL ? partitions_of_key(&(*cc)->partitions, type, key) :
		partition;
}
