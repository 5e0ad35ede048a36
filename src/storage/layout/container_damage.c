/*
 * container_damage.c
 *		Finds out whether all tables of the containers can be used.
 *
 * A problem with a table is recorded when the table is looked at
 * (layout_cache.c, leaf.c), and each request that needs the table raises it.
 * The worker maintains the views of all items and needs every table. It
 * therefore checks all of them whenever one may have changed. It reads only
 * catalogs, and only those of tables that have changed since.
 *
 * Runs in the worker, and in backends for repair().
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "access/table.h"
#include "storage/lmgr.h"

#define BIT(type) (UINT32_C(1) << (type))

/* The item types that each partition of a container has. */
static const uint32 types[N_CONTAINERS] = {
	[CONTAINER_USERS] = BIT(ITEM_USER) | BIT(ITEM_POST),
	[CONTAINER_POSTS] = BIT(ITEM_POST) | BIT(ITEM_COMMENT) | BIT(ITEM_LIKE) |
	BIT(ITEM_DELTA),
	[CONTAINER_FEED] = BIT(ITEM_POST)
};

/*
 * Raise what is wrong with an open leaf. It must be writable, and every path
 * must have an index.
 */
static void
check_open_leaf(const CachedLeaf *leaf, Relation rel, Container container,
				ItemType type)
{
	LayoutProblem *problem = leaf_problem(leaf, rel, container, true);
	AccessPath	missing;

	if (problem != NULL)
		layout_problem_raise(problem);
	missing = leaf_path_missing(leaf, container, type);
	if (missing != N_PATHS)
		layout_problem_raise(leaf_index_problem(rel, container, type, missing));
}

/*
 * Raise what is wrong with a partition's leaf. Returns false if the leaf could
 * not be checked, because its lock was not available or it has just changed.
 */
static bool
check_leaf(CachedContainer *cc, Container container, ItemType type,
		   int partition)
{
	LayoutProblem *problem = NULL;
	CachedLeaf *leaf = leaf_find(cc, container, type, partition, &problem);
	Relation	rel;
	bool		known;

	if (leaf == NULL)
		layout_problem_raise(problem);
	if (leaf->known && leaf->looked[N_PATHS] && leaf->problem == NULL &&
		leaf->unwritable == NULL && !OidIsValid(leaf->added_index) &&
		leaf_path_missing(leaf, container, type) == N_PATHS)
		return true;
	if (!ConditionalLockRelationOid(leaf->relid, AccessShareLock))
		return false;
	rel = try_table_open(leaf->relid, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(leaf->relid, AccessShareLock);
		return false;
	}
	known = leaf_learn(cc, rel, container, type, partition, N_PATHS);
	if (known)
		check_open_leaf(leaf, rel, container, type);
	table_close(rel, AccessShareLock);
	return known;
}

/*
 * Call visit for each leaf of a container, as long as the layout stays valid.
 * Returns whether all calls returned true. Errors: 55000 if a partition is
 * missing.
 */
static bool
visit_leaves(CachedContainer *cc, Container container,
			 bool (*visit) (CachedContainer *cc, Container container,
							ItemType type, int partition))
{
	bool		all = true;

	if (!partitions_whole(&cc->partitions))
		layout_problem_raise(partitions_gap_problem(&cc->partitions, container));
	for (ItemType type = 0; type < N_ITEM_TYPES; type++)
		for (int p = partitions_from(&cc->partitions, type, 0);
			 (types[container] & BIT(type)) && p != NO_PARTITION && cc->valid;
			 p = partitions_from(&cc->partitions, type, p + 1))
			all &= visit(cc, container, type, p);
	return all;
}

/*
 * Lock a partition's leaf for a type of items. Errors: 55000 if there is none.
 */
static bool
lock_leaf(CachedContainer *cc, Container container, ItemType type, int partition)
{
	LayoutProblem *problem = NULL;
	CachedLeaf *leaf = leaf_find(cc, container, type, partition, &problem);

	if (leaf == NULL)
		layout_problem_raise(problem);
	LockRelationOid(leaf->relid, AccessShareLock);
	return true;
}

/*
 * Lock all leaves of a container in AccessShareLock mode, to the end of the
 * transaction. Called before a statement that reads the whole container. If a
 * leaf were missing, or were detached meanwhile, the statement would treat its
 * items as deleted. Errors: 55000 if a partition or a leaf is missing.
 */
void
container_require_whole(Container container)
{
	CachedContainer *cc;

	/* the layout may have changed while a lock was waited for */
	do
	{
		cc = layout_get(container);
		(void) visit_leaves(cc, container, lock_leaf);
	} while (!cc->valid);
}

/*
 * Raise what is wrong with a container. Returns false if not all leaves could
 * be checked.
 */
static bool
check_container(Container container)
{
	CachedContainer *cc = layout_get(container);

	return visit_leaves(cc, container, check_leaf) && cc->valid;
}

/*
 * Raise what keeps an item from being served, if anything does. Returns false
 * if not all leaves could be checked, because a lock was not available or the
 * layout has changed. The caller must then call again. Waits for locks on
 * roots, but not on leaves.
 *
 * Errors: 55000.
 */
bool
containers_check(void)
{
	bool		all = true;

	for (Container container = 0; container < N_CONTAINERS; container++)
		all &= check_container(container);
	return all;
}
