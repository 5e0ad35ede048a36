/*
 * citus.h
 *		Citus, as far as blogstore reads its catalogs: how a table is spread over the
 *		nodes of a cluster.
 *
 * A distributed table is a table without rows of its own on each node; its rows lie in shards, each
 * a table on one node that takes the keys of a range of hashes. A reference table has one
 * shard, and that lies on every node. Tables that are distributed by keys of the same type
 * and belong to one colocation have shards of the same ranges in the same places.
 *
 * No symbol of Citus is needed to load blogstore, and three where there is a cluster
 * (cluster_writes_here(), cluster_send()): catalogs and locks are all else that is used. Who reads keeps a
 * map as long as no invalidation of the table comes, which Citus sends whenever one of
 * its shards, or their places, may have changed.
 */
#ifndef BLOGSTORE_CITUS_H
#define BLOGSTORE_CITUS_H

#include "storage/blog_item.h"
#include "storage/layout/cluster_calls.h"

#include "utils/uuid.h"

/* A shard of a distributed table. */
typedef struct Shard
{
	int64		id;
	int32		first;			/* of the hashes that it takes */
	int32		last;
	int			group;			/* of the node where it lies; -1: nowhere */
	uint64		by;				/* who has said that it lies there: a full transaction id */
	int			number;			/* among those of its table, by their ranges */
	Oid			table;			/* InvalidOid: it is not on this node */
} Shard;

/* How a table is spread. */
typedef struct ShardMap
{
	bool		everywhere;		/* it is a reference table */
	int			colocation;
	uint64		by;				/* who has said so: a full transaction id; 0: long ago */
	int			n;
	Shard	   *shard;			/* by their ranges */
} ShardMap;

#define NO_SHARD (-1)

/* Where a node of the cluster is. */
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
/* What cluster_writes_here() calls. */
#define CITUS_PREPARE_FIRST "Use2PCForCoordinatedTransaction"

extern void *cluster_function(const char *name);
extern void cluster_writes_here(void);
extern int	cluster_local_group(void);
extern bool cluster_has_nodes(void);
extern bool cluster_node_of_group(int group, ClusterNode *node);
extern int	cluster_other_nodes(ClusterNode *nodes, int limit);

/* held_shards.c: the shards of a container that is spread over the nodes */
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
 * A function of SQL that nodes of a cluster call on each other, as SQL_FUNCTION() (base/preload.h):
 * it is refused where the containers are on one machine. caller: what calls it, for the hint.
 * Errors: 55000.
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

/* held_shards.c: what storage/layout/ calls */
extern bool shards_read(Oid table, SpreadTable *spread);
extern int	shards_of_key(const void *map, const pg_uuid_t *key);
extern void shards_hold(const void *map, int number);
extern bool shards_hold_copies(const pg_uuid_t *user_id);

/* node_statement.c */
extern void cluster_require_functions(void);
extern bool cluster_send(const ClusterNode *node, const char *user, const char *sql);

#endif							/* BLOGSTORE_CITUS_H */
