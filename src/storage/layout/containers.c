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
#include "utils/inval.h"
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

/* On a cluster: the shard that a partition is, another table whenever it has come here; else InvalidOid. */
Oid
partition_shard(Container container, int partition)
{
	return partitions_shard(&layout_get(container)->partitions, partition);
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

/* Are a container's items spread over the nodes of a cluster? */
bool
container_is_spread(Container container)
{
	return layout_root(container)->partitions.sharded;
}

/* Errors: 55000 unless the containers are spread over a cluster, whose nodes a call is for. */
void
container_require_cluster(const char *caller)
{
	if (!layout_is_spread())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the containers are not spread over a cluster"),
				 errhint("%s is what calls this function, on the nodes of one.", caller)));
}

/*
 * The shard of a container that is spread over a cluster which takes a key, and where
 * it lies; false: there is none.
 */
bool
container_shard(Container container, const pg_uuid_t *key, Shard *shard)
{
	const ShardMap *map = &layout_get(container)->partitions.shards;
	int			number = shard_of_key(map, key);

	if (number == NO_SHARD)
		return false;
	*shard = map->shard[number];
	return true;
}

/* The shards of a container that is spread over a cluster, here and elsewhere. */
const ShardMap *
container_shards(Container container)
{
	return &layout_get(container)->partitions.shards;
}

/*
 * On a cluster who begins a request holds the shards that it is about, on the node where it begins,
 * as who writes through Citus does; whoever moves one needs it on all nodes. What another node serves
 * for the request is held by that, and is not waited for again there: who moves it may have it there
 * already, and wait for the one who began.
 */
static bool held_by_caller = false;

/* From here on, or no more, another node's request is served. Returns what was before. */
bool
container_held_by_caller(bool held)
{
	bool		before = held_by_caller;

	held_by_caller = held;
	return before;
}

/* Is another node's request served, whose items are here, and held by that node? */
bool
container_is_held_by_caller(void)
{
	return held_by_caller;
}

/* Before a partition is written to: keep it where it is, unless whoever has asked does. */
void
partition_hold(const Partitions *partitions, int number)
{
	if (held_by_caller)
		return;
	partitions_hold(partitions, number);
	cluster_writes_here();
}

/* Hold a shard that takes a key, until the transaction ends or it is let go; where is it? */
void
container_hold(Container container, const pg_uuid_t *key, Shard *shard)
{
	for (;;)
	{
		ShardMap	map = layout_get(container)->partitions.shards;
		int			number = shard_of_key(&map, key);

		if (number == NO_SHARD)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("container \"%s\" has no shard for this key",
							container_table(container)),
					 errhint("See citus_shards.")));
		shard_hold(&map, number);
		if (container_shard(container, key, shard) &&
			shard_of_key(container_shards(container), key) == number)
			return;
		shard_let_go(&map, number); /* it was split */
	}
}

/* Let go a shard that was held, and not written to. */
void
container_let_go(Container container, const Shard *shard)
{
	shard_let_go(container_shards(container), shard->number);
}

/* Hold the shard of a key if it lies here; false: it does not. */
bool
container_hold_here(Container container, const pg_uuid_t *key)
{
	Shard		shard;

	if (!held_by_caller)
		container_hold(container, key, &shard);
	else if (!container_shard(container, key, &shard))
		return false;
	if (OidIsValid(shard.table))
		return true;
	if (!held_by_caller)
		container_let_go(container, &shard);
	return false;
}

/*
 * Does the shard of a key, which another node holds, lie here? If not, it may have been moved here by
 * a transaction that is committed on that node already, and on this one not: that is waited
 * for.
 */
bool
container_is_here(Container container, const pg_uuid_t *key)
{
	Shard		shard;

	AcceptInvalidationMessages();
	if (container_shard(container, key, &shard) && OidIsValid(shard.table))
		return true;
	container_hold(container, key, &shard);
	container_let_go(container, &shard);
	return OidIsValid(shard.table);
}

/* Hold all shards; returns how many these are. */
int
container_hold_all(Container container)
{
	for (;;)
	{
		ShardMap	map = *container_shards(container);
		int64		number = shards_number(&map, ALL_GROUPS);

		for (int i = 0; i < map.n; i++)
			shard_hold(&map, i);
		if (shards_number(container_shards(container), ALL_GROUPS) == number)
			return map.n;
		container_let_go_all(container, map.n); /* one was split */
	}
}

/* Let go all that were held, so many. */
void
container_let_go_all(Container container, int n)
{
	for (int i = 0; i < n; i++)
		shard_let_go(container_shards(container), i);
}
