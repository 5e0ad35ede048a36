/*
 * held_shards.c
 *		The shards of a container: finding the shard of a key, and holding
 *		it.
 *
 * To hold a shard means to take, in share mode, the lock that Citus takes to
 * move or split it. storage/layout/ reads a container's shards with
 * shards_read() and caches them as the container's partitions. A shard and its
 * partition have the same number.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "storage/layout/layout.h"

#include "access/xact.h"
#include "utils/inval.h"

StaticAssertDecl(NO_SHARD == NO_PARTITION, "numbers of shards are those of partitions");

/* ------------------------------------------------------------------------
 * Members of ClusterCalls
 * ------------------------------------------------------------------------ */

/*
 * Read the shards of a table into *spread, in the current memory context.
 * Returns false if the table is not distributed.
 */
bool
shards_read(Oid table, SpreadTable *spread)
{
	ShardMap   *map = palloc0(sizeof(ShardMap));

	if (!shard_map_read(map, table))
		return false;
	spread->everywhere = map->everywhere;
	spread->n = map->n;
	spread->table = palloc0(sizeof(Oid) * Max(map->n, 1));
	for (int i = 0; i < map->n; i++)
		spread->table[i] = map->shard[i].table;
	spread->map = map;
	return true;
}

/* Return the number of the shard that takes a key, or NO_SHARD. */
int
shards_of_key(const void *map, const pg_uuid_t *key)
{
	return shard_of_key(map, key);
}

/*
 * True while this process serves a part of a request that began on another
 * node.
 *
 * The node where a request begins holds the shards that the request uses, as
 * Citus does for a statement. A move of a shard locks the shard on all nodes.
 * It may already have locked it on this node while it waits for the node where
 * the request began. If this process waited for the shard, it would deadlock
 * with the move. So it does not lock shards.
 */
static bool held_by_caller = false;

/*
 * Set whether this process serves another node's request, which holds the
 * shards. Returns the previous value, which the caller restores afterwards.
 */
bool
container_held_by_caller(bool held)
{
	bool		before = held_by_caller;

	held_by_caller = held;
	return before;
}

/*
 * Return whether this process serves another node's request, which holds the
 * shards.
 */
bool
container_is_held_by_caller(void)
{
	return held_by_caller;
}

/*
 * Hold a shard before a write to it, and prepare Citus for a local write
 * (cluster_writes_here()). Does nothing if this process serves another node's
 * request. While it waits for the lock, the shard may be moved, so the caller
 * must look up its place again. Errors: 55000. Locks: the shard in share mode,
 * until the transaction ends.
 */
void
shards_hold(const void *map, int number)
{
	const ShardMap *shards = map;

	if (held_by_caller)
		return;
	if (number >= 0 && number < shards->n)
		shard_hold(shards, number);
	cluster_writes_here();
}

/*
 * If the shard of "users" with the copies of a user's posts is on this node,
 * lock it, so that it stays on this node until the transaction ends. Returns
 * whether the shard is on this node.
 */
bool
shards_hold_copies(const pg_uuid_t *user_id)
{
	return container_hold_here(CONTAINER_USERS, user_id);
}

/* ------------------------------------------------------------------------
 * Functions for other files of the cluster
 * ------------------------------------------------------------------------ */

/*
 * Throw an error unless the containers are distributed over a cluster. caller
 * is the function that users call, for the hint. Errors: 55000.
 */
void
container_require_cluster(const char *caller)
{
	if (cluster_calls() == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the containers are not spread over a cluster"),
				 errhint("%s calls this function on the nodes of a cluster.", caller),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
}

/*
 * Return whether a container is distributed. Errors: 55000 if it does not
 * exist.
 */
bool
container_is_spread(Container container)
{
	return container_map(container) != NULL;
}

/*
 * Return the shards of a container on all nodes. If the container is not
 * distributed, the result is an empty map. It is valid until the next
 * invalidation.
 */
const ShardMap *
container_shards(Container container)
{
	static const ShardMap none = {0};
	const ShardMap *map = container_map(container);

	return map != NULL ? map : &none;
}

/* Set *shard to the shard that takes a key. Returns false if there is none. */
bool
container_shard(Container container, const pg_uuid_t *key, Shard *shard)
{
	const ShardMap *map = container_shards(container);
	int			number = shard_of_key(map, key);

	if (number == NO_SHARD)
		return false;
	*shard = map->shard[number];
	return true;
}

/*
 * Lock the shard that takes a key against being moved or split, and set *shard
 * to what the catalogs say of it once the lock is held. Errors: 55000 if there
 * is no such shard. Locks: the shard in share mode, until the transaction ends
 * or container_let_go().
 */
void
container_hold(Container container, const pg_uuid_t *key, Shard *shard)
{
	for (;;)
	{
		ShardMap	map = *container_shards(container);
		int			number = shard_of_key(&map, key);

		if (number == NO_SHARD)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("container \"%s\" has no shard for this key",
							container_table(container)),
					 errhint("The view citus_shards shows which shards exist."),
					 err_fields(NULL, NULL, RULE_CLUSTER)));
		shard_hold(&map, number);
		if (container_shard(container, key, shard) &&
			shard_of_key(container_shards(container), key) == number)
			return;
		shard_let_go(&map, number); /* the shard was split while this waited */
	}
}

/* Release a held shard to which the transaction has not written. */
void
container_let_go(Container container, const Shard *shard)
{
	shard_let_go(container_shards(container), shard->number);
}

/*
 * Hold the shard that takes a key, if that shard is on this node. Returns
 * whether it is there. If this process serves another node's request, that
 * node holds the shard, and this function does not lock it.
 */
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
 * Return whether the shard that takes a key is on this node. Another node
 * holds the shard and has called this one. If this node seems not to have the
 * shard, wait for the lock of a move: the move may have committed on the
 * calling node, but not on this one yet.
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

/*
 * Lock all shards of a container against being moved or split. Returns their
 * number.
 */
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
		/* A shard was split or moved during the wait. */
		container_let_go_all(container, map.n);
	}
}

/* Release the locks of the first n shards of a container. */
void
container_let_go_all(Container container, int n)
{
	for (int i = 0; i < n; i++)
		shard_let_go(container_shards(container), i);
}

/*
 * In a transaction block, make the next statements use only one connection to
 * each node. Later statements of the block must use the same connections. The
 * caller restores the setting.
 */
void
cluster_one_connection(void)
{
	if (IsTransactionBlock())
		setting_change("citus.max_adaptive_executor_pool_size", "1");
}
