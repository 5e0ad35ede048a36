/*
 * containers.c
 *		Answers which containers exist, who owns them, and which partitions
 *		they have, from the cached layout.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "access/table.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

/*
 * Return whether the containers of users and of posts exist. This also reads
 * the layout of the feed, which may be missing, so that layout_stamp() covers
 * its partitions.
 */
bool
container_exists(void)
{
	(void) layout_find(CONTAINER_FEED, true);
	return layout_find(CONTAINER_POSTS, true) != NULL &&
		layout_find(CONTAINER_USERS, true) != NULL;
}

/* Return whether any of the containers exists. */
bool
container_any_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (OidIsValid(container_table_lookup(c)))
			return true;
	return false;
}

/* Return whether a container exists and its root table can be used. */
bool
container_usable(Container container)
{
	CachedContainer *cc;

	return layout_problem(container, false, &cc) == NULL;
}

/*
 * Check that the containers of users and of posts exist. Problems with their
 * leaves, or with the feed, are raised when those are needed. Errors: 55000.
 */
void
container_require(void)
{
	(void) layout_root(CONTAINER_POSTS);
	(void) layout_root(CONTAINER_USERS);
}

/* Return the role that owns the containers. Errors: 55000. */
Oid
container_owner(void)
{
	return layout_root(CONTAINER_POSTS)->owner;
}

/* Return the table by which statements name a container. Errors: 55000. */
Oid
container_table_oid(Container container)
{
	return layout_root(container)->root;
}

/* Return the reason why a table cannot be a container's root; NULL: it can. */
const char *
container_table_problem(Container container, Oid relid)
{
	LayoutProblem *problem = layout_root_problem(container, relid);

	return problem ? problem->message : NULL;
}

/*
 * Lock a container's table to the end of the transaction: RowExclusiveLock to
 * write, AccessShareLock to read. Called before more than one leaf is locked.
 * DDL on partitions locks this table first, so both sides queue there instead
 * of deadlocking on the leaves. Errors: 55000.
 */
void
container_lock(Container container, bool write)
{
	for (;;)
	{
		Oid			root = container_table_oid(container);

		LockRelationOid(root, write ? RowExclusiveLock : AccessShareLock);
		if (root == container_table_oid(container))
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Lock the tables of all containers (container_lock()), before a transaction
 * writes to more than one of them.
 */
void
container_lock_all(bool write)
{
	container_lock(CONTAINER_USERS, write);
	container_lock(CONTAINER_POSTS, write);
	container_lock(CONTAINER_FEED, write);
}

/*
 * Check that a container has all columns that statements name. The caller has
 * locked the container. Errors: 55000.
 */
void
container_require_columns(Container container)
{
	Relation	root = table_open(container_table_oid(container), NoLock);
	LayoutProblem *problem = shape_root_columns(root, container);

	table_close(root, NoLock);
	if (problem != NULL)
		layout_problem_raise(problem);
}

/* ------------------------------------------------------------------------
 * Partitions
 *
 * Callers pass the type of item that they mean. On one machine, items of all
 * types are in the same partitions. On a cluster, users are on every node,
 * while the copies of a user's posts are on one node.
 * ------------------------------------------------------------------------ */

/*
 * Return the partition that holds a key's items of a type; NO_PARTITION if it
 * is missing or on another node. Errors: 55000.
 */
int
partition_of(Container container, ItemType type, const pg_uuid_t *key)
{
	return partitions_of_key(&layout_get(container)->partitions, type, key);
}

/*
 * Return the first partition whose number is at least number; NO_PARTITION if
 * there is none. Numbers may change when partitions are attached or detached.
 * Errors: 55000 if a partition is missing, because it might hold what the
 * caller looks for.
 */
int
partition_from(Container container, ItemType type, int number)
{
	const Partitions *partitions = &layout_get(container)->partitions;

	if (!partitions_whole(partitions))
		layout_problem_raise(partitions_gap_problem(partitions, container));
	return partitions_from(partitions, type, number);
}

/*
 * Return the first partition for items of a type; NO_PARTITION if there is
 * none. Errors: those of partition_from().
 */
int
partition_first(Container container, ItemType type)
{
	return partition_from(container, type, 0);
}

/*
 * Return the next partition; NO_PARTITION if there is none. Errors: those of
 * partition_from().
 */
int
partition_after(Container container, ItemType type, int partition)
{
	return partition_from(container, type, partition + 1);
}

/*
 * Return the partition that takes a key's items of a type, on this node or on
 * another; NO_PARTITION if there is none. Errors: 55000.
 */
int
partition_taking(Container container, ItemType type, const pg_uuid_t *key)
{
	return partitions_taking(&layout_get(container)->partitions, type, key);
}

/*
 * Return the table of a partition; InvalidOid if it is on another node. If a
 * partition leaves a node of a cluster and returns, it is another table.
 * Errors: 55000.
 */
Oid
partition_table(Container container, int partition)
{
	return partitions_table(&layout_get(container)->partitions, partition);
}

/*
 * Return the partition that has this table; NO_PARTITION if there is none any
 * more. Errors: 55000.
 */
int
partition_with_table(Container container, Oid table)
{
	const Partitions *partitions = &layout_get(container)->partitions;
	int			p = partitions_next_table(partitions, 0);

	while (p != NO_PARTITION && partitions_table(partitions, p) != table)
		p = partitions_next_table(partitions, p + 1);
	return p;
}

/* Return the number of partitions, for sizing arrays. Errors: 55000. */
int
partition_count(Container container, ItemType type)
{
	return partitions_count(&layout_get(container)->partitions);
}

/*
 * Return a hash of the containers' partition trees, which changes when a
 * partition is attached, detached or dropped. Read with the active snapshot.
 */
int64
container_layout(void)
{
	Oid			root[N_CONTAINERS];

	for (int c = 0; c < N_CONTAINERS; c++)
		root[c] = container_table_lookup(c);
	return partitions_number(root, N_CONTAINERS);
}

/*
 * Return the cluster's map of a container's partitions (SpreadTable.map); NULL
 * on one machine. Errors: 55000.
 */
const void *
container_map(Container container)
{
	return layout_get(container)->partitions.map;
}
