/*
 * held_shards.c
 *		The shards of a container: finding the shard of a key, and holding it.
 *
 * To hold a shard is to lock it in share mode, against being moved or split.
 * Citus takes the same lock in exclusive mode to move or split the shard.
 * storage/layout/ reads a container's shards with shards_read(), and caches
 * them as the container's partitions. A shard has the same number as its
 * partition.
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

int
shards_of_key(const void *map, const pg_uuid_t *key)
{
	return shard_of_key(map, key);
}

/*
 * True while this process serves a part of a request that began on another
 * node. That node has locked all shards that the request uses. So this process
 * takes no locks on shards.
 *
 * A lock of this process could cause a deadlock with a move of the shard. A
 * move locks the shard on every node. Suppose that the move has got its lock
 * on this node, and waits for its lock on the other node. This process would
 * then wait for the move, the move for the other node, and the other node for
 * this process.
 */
static bool held_by_caller = false;

/*
 * Set held_by_caller. Returns the previous value, which the caller has to
 * restore when the request ends.
 */
bool
container_held_by_caller(bool held)
{
	bool		before = held_by_caller;

	held_by_caller = held;
	return before;
}

bool
container_is_held_by_caller(void)
{
	return held_by_caller;
}

/*
 * Prepare for a write to a shard: lock the shard against being moved or split,
 * and make Citus use two-phase commit (cluster_writes_here()). Does nothing
 * while this process serves a request of another node (held_by_caller).
 *
 * The shard may be moved to another node while this function waits for the
 * lock. So the caller must check afterwards whether the shard is still on this
 * node. Errors: 55000. Locks: the shard in share mode (shard_hold()), until
 * the transaction ends.
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
 * Return whether this node has the shard of "users" with the copies of a
 * user's posts. If so, lock that shard in share mode until the transaction
 * ends (container_hold_here()).
 */
bool
shards_hold_copies(const pg_uuid_t *user_id)
{
	return container_hold_here(CONTAINER_USERS, user_id);
}

/*
 * Throw an error unless the containers are distributed over a cluster.
 *
 * caller: the function that users call instead; named in the error's hint
 *
 * Errors: 55000.
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
 * Return the list of a container's shards on all nodes. The list is empty if
 * the container is not distributed. The list is valid until the next relcache
 * invalidation.
 */
const ShardMap *
container_shards(Container container)
{
	static const ShardMap none = {0};
	const ShardMap *map = container_map(container);

	return map != NULL ? map : &none;
}

/*
 * Set *shard to the shard to which a key belongs. Returns false if there is
 * none.
 */
bool
container_shard(Container container, const pg_uuid_t *key, Shard *shard)
{
	const ShardMap *map = container_shards(container);
	int			number = shard_of_key(map, key);

	if (number == NO_SHARD)
		return false;
	Assert(map->shard != NULL);
	*shard = map->shard[number];
	return true;
}

/*
 * Lock the shard to which a key belongs against being moved or split. Then set
 * *shard to what Citus's catalogs say about that shard. Errors: 55000 if there
 * is no such shard. Locks: the shard in share mode, until the transaction ends
 * or container_let_go() is called.
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
		shard_let_go(&map, number);
	}
}

/*
 * Release the lock that container_hold() has taken on a shard. The transaction
 * must not have written to the shard.
 */
void
container_let_go(Container container, const Shard *shard)
{
	shard_let_go(container_shards(container), shard->number);
}

/*
 * Return whether the shard to which a key belongs is on this node. If so, lock
 * the shard in share mode until the transaction ends. While this process
 * serves a request of another node (held_by_caller), this function takes no
 * lock.
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
 * Return whether the shard to which a key belongs is on this node. Called
 * while this process serves a request of another node, which has locked the
 * shard.
 *
 * A move of the shard to this node may be committed on the other node, and not
 * yet here. So if the shard seems to be elsewhere, this function waits until
 * the move has released its lock on the shard. Then the function looks again.
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
 * Lock all shards of a container against being moved or split, in share mode
 * until the transaction ends. Returns the number of shards.
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
		/*
		 * A shard was split while shard_hold() waited. Release all locks, and
		 * try again.
		 */
		container_let_go_all(container, map.n);
	}
}

void
container_let_go_all(Container container, int n)
{
	for (int i = 0; i < n; i++)
		shard_let_go(container_shards(container), i);
}

/*
 * In a transaction block, make Citus use only one connection to each node, so
 * that all following statements share the connection. The setting is undone
 * when the caller's GUC nest level ends.
 */
void
cluster_one_connection(void)
{
	if (IsTransactionBlock())
		setting_change("citus.max_adaptive_executor_pool_size", "1");
}
