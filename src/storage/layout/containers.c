/*
 * containers.c
 *		Tells which of the containers' tables exist, who owns them, and which
 *		partitions they have. Uses the layout that the process has cached
 *		(layout_cache.c).
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
 * Return whether the tables users and posts exist. Also reads the layouts of
 * the tables feed and topics. From then on, layout_stamp() also changes when
 * one of their leaves is attached or detached.
 */
bool
container_exists(void)
{
	(void) layout_find(CONTAINER_FEED, true);
	(void) layout_find(CONTAINER_TOPICS, true);
	return layout_find(CONTAINER_POSTS, true) != NULL &&
		layout_find(CONTAINER_USERS, true) != NULL;
}

bool
container_any_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (OidIsValid(container_table_lookup(c)))
			return true;
	return false;
}

bool
container_usable(Container container)
{
	CachedContainer *cc;

	return layout_problem(container, false, &cc) == NULL;
}

/*
 * Raise an error (55000) if the table users or posts is missing or cannot be
 * used. Does not check the tables feed and topics, nor any partition.
 */
void
container_require(void)
{
	(void) layout_root(CONTAINER_POSTS);
	(void) layout_root(CONTAINER_USERS);
}

/*
 * Return the role that owns blogstore's tables. Errors: 55000 if the table
 * posts is missing or cannot be used.
 */
Oid
container_owner(void)
{
	return layout_root(CONTAINER_POSTS)->owner;
}

/*
 * Return the root table of a container, for example blogstore.posts. Errors:
 * 55000 if it is missing or cannot be used.
 */
Oid
container_table_oid(Container container)
{
	return layout_root(container)->root;
}

/*
 * Return a message that says why a table cannot be the root table of a
 * container; NULL if it can.
 */
const char *
container_table_problem(Container container, Oid relid)
{
	LayoutProblem *problem = partitions_root_problem(container, relid);

	return problem ? problem->message : NULL;
}

/*
 * Lock the root table of a container until the transaction ends: in
 * RowExclusiveLock mode to write, in AccessShareLock mode to read. A
 * transaction calls this before it locks more than one partition. DDL on a
 * partition also locks the root table first, so the transaction and the DDL
 * cannot deadlock. Errors: 55000.
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
 * Lock the root tables of all containers, in a fixed order, until the
 * transaction ends. Called by transactions that write to several containers.
 * Lock modes and errors: those of container_lock().
 */
void
container_lock_all(bool write)
{
	container_lock(CONTAINER_USERS, write);
	container_lock(CONTAINER_POSTS, write);
	container_lock(CONTAINER_FEED, write);
	container_lock(CONTAINER_TOPICS, write);
}

/*
 * Check that the root table of a container has all columns that blogstore's
 * own SQL statements name. The caller has locked the root table. Errors:
 * 55000.
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
 * The functions below have an argument "type". On one machine, a user and the
 * copies of the user's posts are in the same partition. But on a cluster,
 * every node has all users, and only one node has the copies.
 * ------------------------------------------------------------------------ */

/*
 * Return the number of the partition that holds the items of a type with a
 * given key. Returns NO_PARTITION if there is no such partition, or the
 * partition is on another node of a cluster. Errors: 55000.
 */
int
partition_of(Container container, ItemType type, const void *key)
{
	return partitions_of_key(&layout_get(container)->partitions, type, key);
}

/*
 * Return the number of the first partition that has items of a type, from
 * "number" on; NO_PARTITION if there is none. The numbers may change when
 * partitions are attached or detached. Errors: 55000 if any partition is
 * missing, because the caller would miss its items.
 */
int
partition_from(Container container, ItemType type, int number)
{
	const Partitions *partitions = &layout_get(container)->partitions;

	if (!partitions_whole(partitions))
		layout_problem_raise(partitions_gap_problem(partitions, container));
	return partitions_from(partitions, type, number);
}

int
partition_first(Container container, ItemType type)
{
	return partition_from(container, type, 0);
}

int
partition_after(Container container, ItemType type, int partition)
{
	return partition_from(container, type, partition + 1);
}

/*
 * Return the number of the partition that takes the items of a key;
 * NO_PARTITION if there is none. The partition may be on another node of a
 * cluster. Errors: 55000.
 */
int
partition_taking(Container container, ItemType type, const void *key)
{
	return partitions_taking(&layout_get(container)->partitions, type, key);
}

/*
 * Return the table of a partition; InvalidOid if the partition is on another
 * node of a cluster. If a partition moves to another node and back, the
 * partition gets a new table. Errors: 55000.
 */
Oid
partition_table(Container container, int partition)
{
	return partitions_table(&layout_get(container)->partitions, partition);
}

/*
 * Return the number of the partition whose table is "table"; NO_PARTITION if
 * there is none in this container. Errors: 55000.
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

/*
 * Return a number that is higher than all partition numbers on this server.
 * Errors: 55000.
 */
int
partition_count(Container container, ItemType type)
{
	return partitions_count(&layout_get(container)->partitions);
}

/*
 * Return a hash of the partitions that the containers have. The result changes
 * when a partition is attached, detached or dropped. Reads the catalogs with
 * the active snapshot.
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
 * Return SpreadTable.map of a container, by which src/cluster/ finds the
 * partition of a key; NULL on one machine. Errors: 55000.
 */
const void *
container_map(Container container)
{
	return layout_get(container)->partitions.map;
}
