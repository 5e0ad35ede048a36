/*
 * held_shards.c
 *		The shards of a container, as its partitions: which of them takes a key, and
 *		how it is kept where it is.
 *
 * storage/layout/ reads a container's shards by shards_read(), and remembers them. Numbers of
 * shards are those of the container's partitions.
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
 * What storage/layout/ calls
 * ------------------------------------------------------------------------ */

/* Read the shards of a table; false: it has none. In the current memory context. */
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

/* The number of the shard that takes a key; NO_SHARD: none does. */
int
shards_of_key(const void *map, const pg_uuid_t *key)
{
	return shard_of_key(map, key);
}

/*
 * The node where a request begins holds the shards that the request is about, as Citus does for
 * a statement; a move needs them on all nodes. A node that serves part of the request relies on
 * that, and does not wait for the shards again: the move may hold them there already, and wait
 * for the node where the request began.
 */
static bool held_by_caller = false;

/* Begin, or end, to serve another node's request. Returns what was before. */
bool
container_held_by_caller(bool held)
{
	bool		before = held_by_caller;

	held_by_caller = held;
	return before;
}

/* Return whether this serves another node's request, and that node holds the shards. */
bool
container_is_held_by_caller(void)
{
	return held_by_caller;
}

/*
 * Hold a shard before it is written to, unless the calling node holds it. The caller has to ask
 * again where the shard is. Errors: 55000. Locks: the shard, until the transaction ends.
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

/* Hold the shard with the copies of a user's posts if it is here; false: it is not. */
bool
shards_hold_copies(const pg_uuid_t *user_id)
{
	return container_hold_here(CONTAINER_USERS, user_id);
}

/* ------------------------------------------------------------------------
 * What the cluster asks of a container
 * ------------------------------------------------------------------------ */

/* Errors: 55000 unless the containers are spread over a cluster, whose nodes a call is for. */
void
container_require_cluster(const char *caller)
{
	if (cluster_calls() == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the containers are not spread over a cluster"),
				 errhint("%s is what calls this function, on the nodes of one.", caller),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
}

/* Return whether a container is spread over a cluster. Errors: 55000 if it is not there. */
bool
container_is_spread(Container container)
{
	return container_map(container) != NULL;
}

/* The shards of a container, here and on other nodes; none if it is not spread. */
const ShardMap *
container_shards(Container container)
{
	static const ShardMap none = {0};
	const ShardMap *map = container_map(container);

	return map != NULL ? map : &none;
}

/* The shard of a container that takes a key, and where it is; false: there is none. */
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
 * Hold the shard that takes a key, until the transaction ends or it is let go, and return where
 * it is. Errors: 55000 if there is none.
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
					 errhint("See citus_shards."),
					 err_fields(NULL, NULL, RULE_CLUSTER)));
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

/* Hold the shard of a key if it is here; false: it is not. */
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
 * Return whether the shard of a key, which another node holds, is here. A transaction that moves
 * it here may be committed on that node and not yet on this one: wait for its end.
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

/* Hold all shards of a container; returns their number. */
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

/* Let go the first n shards of a container, which were held. */
void
container_let_go_all(Container container, int n)
{
	for (int i = 0; i < n; i++)
		shard_let_go(container_shards(container), i);
}

/*
 * In a transaction block, have the statements that follow use one connection to each node: what
 * comes after them in the transaction has to use the same ones. The caller restores the setting.
 */
void
cluster_one_connection(void)
{
	if (IsTransactionBlock())
		setting_change("citus.max_adaptive_executor_pool_size", "1");
}
