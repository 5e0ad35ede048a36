/*
 * citus.h
 *		Access to the catalogs, the locks and three C functions of Citus. The
 *		catalogs say how tables are distributed over the nodes of a cluster.
 *
 * The rows of a distributed table are in shards. A shard is a table on one
 * node. A shard has the rows whose key has a hash in the shard's range. A node
 * group is a primary node and its standbys. Each shard of a distributed table
 * is placed on one node group. A reference table has a single shard, which is
 * placed on every node. Distributed tables of the same colocation group have
 * shards with the same ranges on the same nodes.
 *
 * blogstore can be loaded without Citus. So blogstore looks up the C functions
 * of Citus at run time (cluster_writes_here(), cluster_send()). A ShardMap,
 * the list of a table's shards, stays valid until the table's next relcache
 * invalidation. Citus sends an invalidation whenever shards or their
 * placements may have changed.
 */
#ifndef BLOGSTORE_CITUS_H
#define BLOGSTORE_CITUS_H

#include "storage/blog_item.h"
#include "storage/layout/cluster_calls.h"

#include "utils/uuid.h"

typedef struct Shard
{
	int64		id;

	/*
	 * The shard has the rows whose key has a hash of at least "first" and at
	 * most "last".
	 */
	int32		first;

	int32		last;

	/*
	 * The node group on which the shard is placed; -1 if Citus's catalogs name
	 * none.
	 */
	int			group;

	/*
	 * The full xid of the transaction that placed the shard on its node group.
	 * A snapshot that does not see that transaction may lack rows of the
	 * shard. 0 if every snapshot sees that transaction.
	 */
	uint64		by;

	/* the index of this Shard in ShardMap.shard */
	int			number;

	/*
	 * The OID of the shard's table; InvalidOid if the shard is on another
	 * node.
	 */
	Oid			table;
} Shard;

typedef struct ShardMap
{
	bool		everywhere;		/* true for a reference table */
	int			colocation;

	/*
	 * The full xid of the transaction that distributed the table; 0 if every
	 * snapshot sees that transaction.
	 */
	uint64		by;

	int			n;
	Shard	   *shard;			/* the n shards, ordered by Shard.first */
} ShardMap;

#define NO_SHARD (-1)

typedef struct ClusterNode
{
	int			id;
	int			group;
	char	   *host;
	int			port;
} ClusterNode;

/* shards.c */
extern bool cluster_has_citus(void);
extern bool shard_map_read(ShardMap *map, Oid table);
#define ALL_GROUPS (-2)
extern int64 shards_number(const ShardMap *map, int group);
extern int	shard_of_key(const ShardMap *map, const pg_uuid_t *key);
extern bool shard_has_name_of(const char *name, const char *table);
extern void shard_hold(const ShardMap *map, int shard);
extern void shard_let_go(const ShardMap *map, int shard);
#define CITUS_PREPARE_FIRST "Use2PCForCoordinatedTransaction"

extern void *cluster_function(const char *name);
extern void cluster_writes_here(void);
extern int	cluster_local_group(void);
extern bool cluster_has_nodes(void);
extern bool cluster_node_of_group(int group, ClusterNode *node);
extern int	cluster_other_nodes(ClusterNode *nodes, int limit);

/* held_shards.c */
extern bool container_is_spread(Container container);
extern const ShardMap *container_shards(Container container);
extern bool container_shard(Container container, const pg_uuid_t *key,
							Shard *shard);
extern void container_hold(Container container, const pg_uuid_t *key,
						   Shard *shard);
extern void container_let_go(Container container, const Shard *shard);
extern bool container_hold_here(Container container, const pg_uuid_t *key);
extern bool container_is_here(Container container, const pg_uuid_t *key);
extern int	container_hold_all(Container container);
extern void container_let_go_all(Container container, int n);
extern bool container_held_by_caller(bool held);
extern bool container_is_held_by_caller(void);
extern void container_require_cluster(const char *caller);

/*
 * Define an SQL function that nodes of a cluster call on each other. The
 * function raises 55000 if the library is not preloaded, or if the containers
 * are not distributed over a cluster.
 *
 * name: the function's name
 * caller: the function that users call instead, for the error's hint
 */
#define NODE_FUNCTION(name, caller) \
	PG_FUNCTION_INFO_V1(blogstore_##name); \
	static Datum name(PG_FUNCTION_ARGS); \
	Datum \
	blogstore_##name(PG_FUNCTION_ARGS) \
	{ \
		need_preload(); \
		container_require_cluster(caller); \
		return name(fcinfo); \
	} \
	extern int	no_such_variable

extern void cluster_one_connection(void);

extern bool shards_read(Oid table, SpreadTable *spread);
extern int	shards_of_key(const void *map, const pg_uuid_t *key);
extern void shards_hold(const void *map, int number);
extern bool shards_hold_copies(const pg_uuid_t *user_id);

/* node_statement.c */
extern void cluster_require_functions(void);
extern bool cluster_send(const ClusterNode *node, const char *user, const char *sql);

#endif							/* BLOGSTORE_CITUS_H */
