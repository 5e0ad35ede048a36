/*
 * layout_cache.c
 *		Caches the layout of the containers: which tables they consist of.
 *
 * A process reads the layout of a container from the catalogs at first use,
 * and keeps it in memory. After a relcache invalidation of one of the
 * container's tables, the process reads the layout again. Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "base/worker_hooks.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

/*
 * A table that is watched for relcache invalidations. An invalidation makes
 * the cached layout invalid, or only one cached leaf.
 */
typedef struct WatchedTable
{
	Oid			relid;
	/*
	 * If the table is a leaf: the number of its partition. An invalidation
	 * makes only this leaf invalid. Else NO_PARTITION: an invalidation makes
	 * the whole layout invalid.
	 */
	int			partition;
} WatchedTable;

static CachedContainer cache[N_CONTAINERS];
static uint64 loads = 0;		/* how often all partitions of a container were
								 * read */
static uint64 changes = 0;		/* how often a layout or a leaf was made
								 * invalid */

/*
 * Relcache callback: mark what is cached about a table as invalid. Must be
 * cheap, because a DDL command may invalidate each of many leaves.
 *
 * relid: the table; InvalidOid for all tables
 */
static void
layout_invalidate(Oid relid)
{
	for (int c = 0; c < N_CONTAINERS; c++)
	{
		CachedContainer *cc = &cache[c];
		WatchedTable *table = NULL;

		if (!cc->valid && !cc->loading)
			continue;
		if (OidIsValid(relid))
		{
			table = hash_search(cc->watched, &relid, HASH_FIND, NULL);
			if (table == NULL)
				continue;
		}
		if (table == NULL || table->partition == NO_PARTITION)
		{
			cluster_known = false;
			cc->valid = false;
			cc->stale = true;
			changes++;
			continue;
		}
		for (int t = 0; t < N_ITEM_TYPES; t++)
		{
			CachedLeaf *leaf = partitions_leaf(&cc->partitions, t,
											   table->partition);

			if (leaf == NULL || leaf->relid != relid)
				continue;
			leaf->known = false;
			leaf->changes++;
			changes++;
		}
	}
}

void
layout_init(void)
{
	invalidation_listen(layout_invalidate);
}

static void
watch_nothing(CachedContainer *cc)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(WatchedTable),
	.hcxt = cc->context};

	cc->watched = hash_create("blogstore watched tables", 64, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * Watch a table: a later relcache invalidation of the table makes the cached
 * layout invalid. Called before the table's catalog rows are read, so that no
 * invalidation is missed.
 *
 * partition: for a leaf, the number of its partition; an invalidation then
 *     makes only the leaf invalid. For any other table, NO_PARTITION.
 */
void
layout_watch(CachedContainer *cc, Oid relid, int partition)
{
	WatchedTable *table = hash_search(cc->watched, &relid, HASH_ENTER, NULL);

	table->partition = partition;
}

/*
 * Return how many values of the column "type" a leaf takes.
 *
 * bound: the LIST bounds of all leaves of the partition
 * partition: the leaf's index in "bound"
 */
static int
count_values(const PartitionBoundInfo bound, int partition)
{
	int			n = 0;

	for (int i = 0; i < bound->ndatums; i++)
		n += bound->indexes[i] == partition;
	return n;
}

/*
 * Record the OIDs of the leaves of a partition in the cached layout. A leaf
 * that takes items of several types is recorded as unusable.
 *
 * rel: the partition's table, which is list-partitioned by the column "type"
 */
static void
load_types(CachedContainer *cc, Relation rel, int partition)
{
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	PartitionBoundInfo bound = desc->boundinfo;

	for (int i = 0; desc->nparts > 0 && i < bound->ndatums; i++)
	{
		char	   *value = TextDatumGetCString(bound->datums[i][0]);
		int			child = bound->indexes[i];

		for (int t = 0; t < N_ITEM_TYPES; t++)
			if (strcmp(value, item_type_name(t)) == 0)
			{
				CachedLeaf *leaf = partitions_leaf(&cc->partitions, t,
												   partition);

				Assert(leaf != NULL);
				leaf->relid = desc->oids[child];
				if (count_values(bound, child) > 1)
					leaf->misplaced = shape_mixed_problem(leaf->relid);
			}
	}
}

/*
 * Record that no leaf of a partition can be used, because of a problem with
 * the partition's own table.
 */
static void
spoil_partition(CachedContainer *cc, int partition, Oid relid,
				LayoutProblem *problem)
{
	for (int t = 0; t < N_ITEM_TYPES; t++)
	{
		CachedLeaf *leaf = partitions_leaf(&cc->partitions, t, partition);

		Assert(leaf != NULL);
		leaf->relid = relid;
		leaf->misplaced = problem;
	}
}

static void
load_partition(CachedContainer *cc, int partition, Oid table)
{
	Relation	rel = try_table_open(table, AccessShareLock);
	LayoutProblem *problem;

	if (rel == NULL)
	{
		/* The table was dropped. The next use reads the layout again. */
		cc->stale = true;
		return;
	}
	problem = shape_table_problem(table, RELKIND_PARTITIONED_TABLE, cc->owner);
	if (problem == NULL)
		problem = shape_key_problem(table, PARTITION_STRATEGY_LIST, PROP_TYPE);
	layout_watch(cc, table, NO_PARTITION);
	if (problem == NULL)
		load_types(cc, rel, partition);
	else
		spoil_partition(cc, partition, table, problem);
	table_close(rel, AccessShareLock);
}

/*
 * On a cluster, record the table user_items as the leaf for users. Every node
 * has the whole table, which is not a partition of the container users.
 */
static void
load_user_items(CachedContainer *cc)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, ITEM_USER, 0);
	Oid			table = table_lookup(USER_ITEMS_TABLE);
	SpreadTable spread;

	Assert(leaf != NULL);
	if (!OidIsValid(table))
		return;
	layout_watch(cc, table, NO_PARTITION);
	if (cluster_library->read_partitions(table, &spread) &&
		spread.everywhere && spread.n == 1)
		leaf->relid = spread.table[0];
}

/*
 * Read the layout of a container, with all partitions. Locks only one table at
 * a time, because some DDL commands lock a partition before the parent. Such a
 * command could deadlock with a process that locks both tables.
 *
 * root: the container's table, which the caller has opened and checked, and
 *     which this function closes
 */
static void
load_layout(CachedContainer *cc, Container container, Relation root)
{
	Partitions *partitions = &cc->partitions;
	bool		without = !ActiveSnapshotSet();

	/*
	 * Without an active snapshot, the server would also list partitions that
	 * are being detached concurrently.
	 */
	if (without)
		PushActiveSnapshot(GetCatalogSnapshot(InvalidOid));
	partitions_load(partitions, container, root);
	relation_close(root, AccessShareLock);
	for (int p = partitions_next_table(partitions, 0); p != NO_PARTITION;
		 p = partitions_next_table(partitions, p + 1))
		load_partition(cc, p, partitions_table(partitions, p));
	if (partitions->everywhere != 0)
		load_user_items(cc);
	if (without)
		PopActiveSnapshot();
}

/*
 * Look up whether the containers are spread over a cluster, for
 * cluster_calls(), which caches the result. Returns the functions of
 * src/cluster/; NULL if the containers are not spread, or do not exist.
 */
const ClusterCalls *
cluster_look(void)
{
	CachedContainer *posts = layout_find(CONTAINER_POSTS, false);

	cluster_spread = posts != NULL && posts->problem == NULL &&
		posts->partitions.map != NULL ? cluster_library : NULL;
	cluster_known = posts != NULL && posts->valid;
	return cluster_spread;
}

/*
 * Empty the cached layout of a container, before it is read again. If an error
 * ends the reading, the layout stays invalid.
 */
static void
load_begin(CachedContainer *cc, Oid root)
{
	cc->valid = false;
	cc->loading = false;
	memset(&cc->partitions, 0, sizeof(cc->partitions));
	cc->watched = NULL;
	cc->problem = NULL;
	if (cc->context == NULL)
		cc->context = AllocSetContextCreate(TopMemoryContext,
											"blogstore container",
											ALLOCSET_SMALL_SIZES);
	MemoryContextReset(cc->context);
	cc->root = root;
	watch_nothing(cc);
	layout_watch(cc, root, NO_PARTITION);

	/*
	 * From here on, layout_invalidate() sets cc->stale if an invalidation
	 * arrives.
	 */
	cc->stale = false;
	cc->loading = true;
}

/*
 * The largest modulus of hash partitions for which a sparse layout is used
 * (one that has only the partitions used so far). A sparse layout has an array
 * of as many elements as the modulus.
 */
#define MAX_SPARSE 65536

/*
 * Return the largest modulus of a container's hash partitions, as another
 * backend has left it in shared memory (shared_hints.c). Returns 0 if there is
 * no such hint, or the modulus is larger than MAX_SPARSE.
 */
static int
expected_modulus(Container container, Oid root)
{
	uint32		modulus = hint_find(HINT_MODULUS, root, 0);

	return modulus <= MAX_SPARSE ? (int) modulus : 0;
}

/*
 * Invalidate the relcache entries of a container's root table and partitions
 * in this process. The server then builds their partition descriptors anew.
 *
 * Without this call, a descriptor could stay out of date.
 * RelationBuildPartitionDesc() reads the list of partitions, and then stores
 * it in the relcache entry. If an invalidation arrives between the two steps,
 * the server rebuilds the entry first, and then stores the old list in it.
 */
static void
forget_partitions(CachedContainer *cc)
{
	HASH_SEQ_STATUS seq;
	WatchedTable *table;

	hash_seq_init(&seq, cc->watched);
	while ((table = hash_seq_search(&seq)) != NULL)
		if (table->partition == NO_PARTITION)
			RelationCacheInvalidateEntry(table->relid);
}

/*
 * Read the layout of a container into the cache, in the current memory
 * context. Releases the caller's AccessShareLock on the container's table.
 *
 * whole: read all partitions. If false, prepare an empty layout, to which
 *     partitions are added when they are used. But if shared memory has no
 *     hint about the modulus, read all partitions.
 */
static void
load_root(CachedContainer *cc, Container container, Oid owner, bool whole)
{
	int			modulus = whole ? 0 : expected_modulus(container, cc->root);

	cc->owner = owner;
	cc->problem = partitions_root_problem(container, cc->root);
	if (cc->problem == NULL && modulus == 0)
		load_layout(cc, container, relation_open(cc->root, NoLock));
	else
	{
		if (cc->problem == NULL)
			partitions_expect(&cc->partitions, container, cc->root, modulus);
		UnlockRelationOid(cc->root, AccessShareLock);
	}
	if (cc->stale)
		forget_partitions(cc);
	cc->loading = false;
	cc->valid = !cc->stale;
}

/*
 * Read the layout of a container from the catalogs into the cache. Returns
 * false if the container does not exist. If a table cannot be used, this
 * function only records the problem. layout_get() and leaf_open() raise the
 * error.
 *
 * whole: read all partitions. If false, the layout may be sparse: partitions
 *     are added when they are needed
 */
static bool
container_load(Container container, bool whole)
{
	CachedContainer *cc = &cache[container];
	Oid			root = container_table_lookup(container);
	MemoryContext old;
	Oid			owner;

	if (!OidIsValid(root))
		return false;
	LockRelationOid(root, AccessShareLock);
	owner = shape_table_owner(root);
	if (!OidIsValid(owner))
	{
		UnlockRelationOid(root, AccessShareLock);
		return false;
	}
	load_begin(cc, root);
	old = MemoryContextSwitchTo(cc->context);
	load_root(cc, container, owner, whole);
	MemoryContextSwitchTo(old);
	if (!cc->partitions.sparse)
		loads++;
	if (cc->valid && cc->problem == NULL && !cc->partitions.sparse)
		partitions_leave_hints(&cc->partitions, cc->root);
	worker_hooks.containers_found();
	return true;
}

/*
 * Return the layout of a container, even if the container cannot be used.
 * Returns NULL if the container does not exist.
 *
 * whole: the layout must have all partitions. If false, the layout may be
 *     sparse, with only the partitions used so far
 */
CachedContainer *
layout_find(Container container, bool whole)
{
	CachedContainer *cc = &cache[container];

	Assert(IsTransactionState());
	/*
	 * Read the layout again if an invalidation arrives while it is being read.
	 * A hundred invalidations in a row do not occur.
	 */
	for (int tries = 0; tries < 100; tries++)
	{
		if (cc->valid && !(whole && cc->partitions.sparse))
			break;
		if (!container_load(container, whole))
			return NULL;
	}
	return cc;
}

/*
 * Return a LayoutProblem for a container that does not exist. The HINT of the
 * error message depends on whether another container exists.
 */
static LayoutProblem *
missing_problem(Container container)
{
	LayoutProblem *problem;

	for (int c = 0; c < N_CONTAINERS; c++)
		if (c != container && OidIsValid(container_table_lookup(c)))
			return shape_problem(psprintf("container \"%s\" is missing",
										  container_table(container)),
								 "Call blogstore.create_containers() to create it again. The other containers stay unchanged. If a dump is being restored, wait until that is done.");
	problem = shape_problem(pstrdup("the blogstore containers have not been created"),
							"Call blogstore.create_containers() first.");
	problem->rule = RULE_CREATED;
	return problem;
}

/*
 * Return why a container cannot be used; NULL if it can. Sets *cc to the
 * container's layout, or to NULL if the container does not exist.
 *
 * whole: the layout must have all partitions
 */
LayoutProblem *
layout_problem(Container container, bool whole, CachedContainer **cc)
{
	*cc = layout_find(container, whole);
	if (*cc == NULL)
		return missing_problem(container);
	if ((*cc)->problem == NULL && container != CONTAINER_POSTS)
	{
		CachedContainer *posts = layout_find(CONTAINER_POSTS, false);

		if (posts != NULL && posts->owner != (*cc)->owner)
			return shape_problem(psprintf("containers \"%s\" and \"%s\" belong to different roles",
										  container_table(CONTAINER_POSTS),
										  container_table(container)),
								 "Give all tables of the containers to one role with ALTER TABLE ... OWNER TO.");
	}
	return (*cc)->problem;
}

/*
 * Return whether the cached layout of a container is valid, and the container
 * can be used. Inline, because every request calls this.
 */
static inline bool
is_fine(const CachedContainer *cc)
{
	const CachedContainer *posts = &cache[CONTAINER_POSTS];

	Assert(IsTransactionState());
	return cc->valid && cc->problem == NULL && posts->valid &&
		posts->owner == cc->owner;
}

/*
 * Return the layout of a container, with all its partitions. Errors: 55000 if
 * the container does not exist or cannot be used.
 */
CachedContainer *
layout_get(Container container)
{
	CachedContainer *cc = &cache[container];
	LayoutProblem *problem;

	if (is_fine(cc) && !cc->partitions.sparse)
		return cc;
	problem = layout_problem(container, true, &cc);
	if (problem != NULL)
		layout_problem_raise(problem);
	return cc;
}

/*
 * Return the layout of a container. The layout may be sparse: it has only the
 * partitions used so far. Errors: 55000 if the container does not exist or
 * cannot be used.
 */
CachedContainer *
layout_root(Container container)
{
	CachedContainer *cc = &cache[container];
	LayoutProblem *problem;

	if (is_fine(cc))
		return cc;
	problem = layout_problem(container, false, &cc);
	if (problem != NULL)
		layout_problem_raise(problem);
	return cc;
}

/*
 * Return how often this process has read all partitions of a container from
 * the catalogs. Only then can a partition get another number.
 */
uint64
layout_loads(void)
{
	return loads;
}

/*
 * Return how often a relcache invalidation has made a cached layout or a
 * cached leaf invalid.
 */
uint64
layout_invalidations(void)
{
	return changes;
}

/*
 * Return the OID of the relation in blogstore's schema that has the name of a
 * container, whatever its relkind; InvalidOid if there is none.
 */
Oid
container_table_lookup(Container container)
{
	return table_lookup(container_table(container));
}
