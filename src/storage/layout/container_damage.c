/*
 * container_damage.c
 *		Checks whether all tables of the containers can be used.
 *
 * A request checks only the tables that it needs (leaf.c). The worker
 * maintains the views of all items, so it needs every table. The worker calls
 * containers_check() whenever a table may have changed. The check reads only
 * the catalog rows of tables that have changed.
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

/*
 * For each container: the item types that have a leaf in each of its
 * partitions.
 */
static const uint32 types[N_CONTAINERS] = {
	[CONTAINER_USERS] = BIT(ITEM_USER) | BIT(ITEM_POST) | BIT(ITEM_FOLLOW),
	[CONTAINER_POSTS] = BIT(ITEM_POST) | BIT(ITEM_COMMENT) | BIT(ITEM_LIKE) |
	BIT(ITEM_COMMENT_LIKE) | BIT(ITEM_DELTA),
	[CONTAINER_FEED] = BIT(ITEM_POST),
	[CONTAINER_TOPICS] = BIT(ITEM_TOPIC) | BIT(ITEM_TOPIC_POST)
};

/*
 * Raise an error (55000) if the worker cannot write to an open leaf, or if the
 * leaf lacks an index.
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
 * Raise an error (55000) if a leaf cannot be used. Returns false if the leaf
 * could not be checked: the leaf's lock was not available, or the leaf has
 * just changed.
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
 * Call "visit" for each leaf of a container. Stops early if an invalidation
 * makes the cached layout invalid. Returns true if every call returned true.
 * Errors: 55000 if a partition is missing; those of "visit".
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
 * Lock all leaves of a container in AccessShareLock mode, until the
 * transaction ends. Errors: 55000 if a leaf or partition is missing.
 *
 * Called before an SQL statement that reads the whole container. Without this
 * call, the statement would silently skip a leaf that is missing or being
 * detached.
 */
void
container_require_whole(Container container)
{
	CachedContainer *cc;

	/*
	 * Lock all leaves again if the layout has changed while the transaction
	 * waited for a lock.
	 */
	do
	{
		cc = layout_get(container);
		(void) visit_leaves(cc, container, lock_leaf);
	} while (!cc->valid);
}

static bool
check_container(Container container)
{
	CachedContainer *cc = layout_get(container);

	return visit_leaves(cc, container, check_leaf) && cc->valid;
}

/*
 * Raise an error (55000) if any table of the containers cannot be used.
 * Returns false if a table could not be checked: the table's lock was not
 * available, or the layout has changed. The caller must then call this
 * function again. Waits for locks on the root tables of the containers, but
 * not for locks on their partitions.
 */
bool
containers_check(void)
{
	bool		all = true;

	for (Container container = 0; container < N_CONTAINERS; container++)
		all &= check_container(container);
	return all;
}
