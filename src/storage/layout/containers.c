/*
 * containers.c
 *		What containers there are, whose they are, and what partitions they have.
 *
 * All is asked of what layout_cache.c remembers. Runs in any process.
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
 * Have the containers been created in this database? The feed can be missing,
 * but is looked at, so that who counts loads learns of its partitions too.
 */
bool
container_exists(void)
{
	(void) layout_find(CONTAINER_FEED, true);
	return layout_find(CONTAINER_POSTS, true) != NULL &&
		layout_find(CONTAINER_USERS, true) != NULL;
}

/* Has any of the containers been created? */
bool
container_any_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (OidIsValid(container_table_lookup(c)))
			return true;
	return false;
}

/* Can a container be used? */
bool
container_usable(Container container)
{
	CachedContainer *cc;

	return layout_problem(container, false, &cc) == NULL;
}

/*
 * Raise 55000 unless the containers of users and of posts have been created. What
 * is wrong with a part of them, or with the feed, is the error of who needs it.
 */
void
container_require(void)
{
	(void) layout_root(CONTAINER_POSTS);
	(void) layout_root(CONTAINER_USERS);
}

/* The role that owns the containers. */
Oid
container_owner(void)
{
	return layout_root(CONTAINER_POSTS)->owner;
}

/* The table by which statements name a container. */
Oid
container_table_oid(Container container)
{
	return layout_root(container)->root;
}

/* What keeps a table from being a container's; NULL: nothing. */
const char *
container_table_problem(Container container, Oid relid)
{
	LayoutProblem *problem = layout_root_problem(container, relid);

	return problem ? problem->message : NULL;
}

/*
 * Lock a container's table, weakly and to the end of the transaction, before more
 * than one of its leaves: DDL takes that table first too, so that the two queue
 * there instead of meeting in the leaves from both ends. It is the container's
 * then and stays so.
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

/* Lock all containers, before more than one is written to. */
void
container_lock_all(bool write)
{
	container_lock(CONTAINER_USERS, write);
	container_lock(CONTAINER_POSTS, write);
	container_lock(CONTAINER_FEED, write);
}

/* Raise 55000 unless statements can name a container's columns; it is locked. */
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
 * Callers say which type of item they mean. On one machine the items of a container lie in
 * one tree of partitions, whatever their type; on a cluster users lie on every node, and
 * the copies of their posts on one each.
 * ------------------------------------------------------------------------ */

/* The partition that holds a key's items; NO_PARTITION: it is missing, or on another node. */
int
partition_of(Container container, ItemType type, const pg_uuid_t *key)
{
	return partitions_of_key(&layout_get(container)->partitions, type, key);
}

/*
 * The partition with the lowest number from a number on; NO_PARTITION: there is
 * none. Numbers may change as partitions are attached and detached. Errors: 55000 if a partition
 * is missing, which might hold what is looked for.
 */
int
partition_from(Container container, ItemType type, int number)
{
	const Partitions *partitions = &layout_get(container)->partitions;

	if (!partitions_whole(partitions))
		layout_problem_raise(partitions_gap_problem(partitions, container));
	return partitions_from(partitions, type, number);
}

/* The first partition that items of a type are in; NO_PARTITION: there is none. */
int
partition_first(Container container, ItemType type)
{
	return partition_from(container, type, 0);
}

/* The partition that follows a partition; NO_PARTITION: none does. */
int
partition_after(Container container, ItemType type, int partition)
{
	return partition_from(container, type, partition + 1);
}

/*
 * Return the partition that takes a key's items of a type, on this node or on another;
 * NO_PARTITION: none does.
 */
int
partition_taking(Container container, ItemType type, const pg_uuid_t *key)
{
	return partitions_taking(&layout_get(container)->partitions, type, key);
}

/*
 * The table of a partition; InvalidOid: it is not on this node. On a cluster a partition that
 * comes to this node again is another table.
 */
Oid
partition_table(Container container, int partition)
{
	return partitions_table(&layout_get(container)->partitions, partition);
}

/* The partition whose table this is; NO_PARTITION: none is, or not any more. */
int
partition_with_table(Container container, Oid table)
{
	const Partitions *partitions = &layout_get(container)->partitions;
	int			p = partitions_next_table(partitions, 0);

	while (p != NO_PARTITION && partitions_table(partitions, p) != table)
		p = partitions_next_table(partitions, p + 1);
	return p;
}

/* How many partitions there are, to size what holds something of each. */
int
partition_count(Container container, ItemType type)
{
	return partitions_count(&layout_get(container)->partitions);
}

/*
 * A number that changes when a partition is attached, detached or dropped; by the
 * active snapshot.
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
 * What the cluster has said of a container's partitions (SpreadTable.map); NULL: on one machine.
 * Errors: 55000 if there is no such container.
 */
const void *
container_map(Container container)
{
	return layout_get(container)->partitions.map;
}
