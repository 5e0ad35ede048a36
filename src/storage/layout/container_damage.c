/*
 * container_damage.c
 *		Finds out whether all tables of the containers can be used.
 *
 * Another file that looks at a table records what is wrong with it
 * (layout_cache.c, leaf.c), and a request that needs this table raises the
 * problem as an error. The worker needs every table, because it maintains the
 * views of all items. So it calls containers_check() whenever a table may have
 * changed. This reads only catalogs, and only those of tables that have
 * changed.
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

/* The item types for which each partition of a container must have a table. */
static const uint32 types[N_CONTAINERS] = {
	[CONTAINER_USERS] = BIT(ITEM_USER) | BIT(ITEM_POST),
	[CONTAINER_POSTS] = BIT(ITEM_POST) | BIT(ITEM_COMMENT) | BIT(ITEM_LIKE) |
	BIT(ITEM_DELTA),
	[CONTAINER_FEED] = BIT(ITEM_POST)
};

/*
 * Raise what is wrong with an open leaf, the table for the items of one type
 * in one partition. The worker must be able to write to it, and each access
 * path must have an index.
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
 * Raise what is wrong with the table for a partition's items of a type.
 * Returns false if the table could not be checked, because its lock was not
 * available or it has just changed.
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
 * Call a function for each leaf table of a container, and stop if an
 * invalidation makes the layout invalid. Returns true if all calls returned
 * true. Errors: 55000 if a partition is missing; those of the function.
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
 * Lock the table for a partition's items of a type. Called by visit_leaves().
 * Errors: 55000 if the table is missing.
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
 * Lock all tables of a container's partitions in AccessShareLock mode, until
 * the transaction ends. Called before an SQL statement reads the whole
 * container: if a table were missing, or were detached meanwhile, the
 * statement would treat its items as deleted. Errors: 55000 if one is missing.
 */
void
container_require_whole(Container container)
{
	CachedContainer *cc;

	/*
	 * repeat if the layout has changed while the transaction waited for a lock
	 */
	do
	{
		cc = layout_get(container);
		(void) visit_leaves(cc, container, lock_leaf);
	} while (!cc->valid);
}

/*
 * Raise what is wrong with a container or its tables. Returns false if some of
 * them could not be checked.
 */
static bool
check_container(Container container)
{
	CachedContainer *cc = layout_get(container);

	return visit_leaves(cc, container, check_leaf) && cc->valid;
}

/*
 * Raise what is wrong with any table of the containers. Returns false if some
 * tables could not be checked, because a lock was not available or the layout
 * has changed. The caller must then call again. Waits for locks on the
 * containers' roots, but not for locks on their partitions.
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
