/*
 * layout_cache.c
 *		What tables the containers are made of: read from the catalogs, remembered
 *		for the life of the process, and forgotten on relcache invalidation.
 *
 * Runs in any process.
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

/* A table whose changes concern what is cached. */
typedef struct WatchedTable
{
	Oid			relid;
	int			partition;		/* of the leaf; NO_PARTITION: it is a parent */
} WatchedTable;

static CachedContainer cache[N_CONTAINERS];
static uint64 loads = 0;		/* see layout_loads() */
static uint64 changes = 0;		/* see layout_invalidations() */

/*
 * Relcache invalidation: forget what was known of relid (0: everything). One DDL
 * command may send a message for each leaf, so none may cost what all leaves do.
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

/* Register for invalidations; called once by _PG_init. */
void
layout_init(void)
{
	invalidation_listen(layout_invalidate);
}

/* Nothing is watched yet; in the container's own context. */
static void
watch_nothing(CachedContainer *cc)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(WatchedTable),
	.hcxt = cc->context};

	cc->watched = hash_create("blogstore watched tables", 64, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* What is about to be read of a table concerns a partition; NO_PARTITION: all. */
void
layout_watch(CachedContainer *cc, Oid relid, int partition)
{
	WatchedTable *table = hash_search(cc->watched, &relid, HASH_ENTER, NULL);

	table->partition = partition;
}

/* How many values does a partition of a table take? */
static int
count_values(const PartitionBoundInfo bound, int partition)
{
	int			n = 0;

	for (int i = 0; i < bound->ndatums; i++)
		n += bound->indexes[i] == partition;
	return n;
}

/* The leaf of rel (LIST by type) that takes each type. */
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

				leaf->relid = desc->oids[child];
				if (count_values(bound, child) > 1)
					leaf->misplaced = shape_mixed_problem(leaf->relid);
			}
	}
}

/* A partition cannot be used: none of its leaves can. */
static void
spoil_partition(CachedContainer *cc, int partition, Oid relid,
				LayoutProblem *problem)
{
	for (int t = 0; t < N_ITEM_TYPES; t++)
	{
		CachedLeaf *leaf = partitions_leaf(&cc->partitions, t, partition);

		leaf->relid = relid;
		leaf->misplaced = problem;
	}
}

/* Read how one of a container's partitions, which is a table, is split by type. */
static void
load_partition(CachedContainer *cc, int partition, Oid table)
{
	Relation	rel = try_table_open(table, AccessShareLock);
	LayoutProblem *problem;

	if (rel == NULL)
	{
		cc->stale = true;		/* dropped meanwhile: read the layout again */
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

/* On a cluster the users are in a table of their own, whose one partition each node has. */
static void
load_user_items(CachedContainer *cc)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, ITEM_USER, 0);
	Oid			table = table_lookup(USER_ITEMS_TABLE);
	SpreadTable spread;

	if (!OidIsValid(table))
		return;
	layout_watch(cc, table, NO_PARTITION);
	if (cluster_library->read_partitions(table, &spread) &&
		spread.everywhere && spread.n == 1)
		leaf->relid = spread.table[0];
}

/*
 * Read the layout of a container whose root is open, and of the right kind. One
 * lock at a time is held here: some DDL takes children before their parent.
 */
static void
load_layout(CachedContainer *cc, Container container, Relation root)
{
	Partitions *partitions = &cc->partitions;
	bool		without = !ActiveSnapshotSet();

	/* without one the server shows partitions that are being detached concurrently */
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

/* What is wrong with a container as a whole; NULL: nothing. */
LayoutProblem *
layout_root_problem(Container container, Oid root)
{
	LayoutProblem *problem = shape_table_problem(root, RELKIND_PARTITIONED_TABLE,
												 InvalidOid);

	return problem ? problem : partitions_problem(container, root);
}

/* What cluster_calls() returns, when the catalogs have to be read for it; NULL as long as there are no containers. */
const ClusterCalls *
cluster_look(void)
{
	CachedContainer *posts = layout_find(CONTAINER_POSTS, false);

	cluster_spread = posts != NULL && posts->problem == NULL &&
		posts->partitions.map != NULL ? cluster_library : NULL;
	cluster_known = posts != NULL && posts->valid;
	return cluster_spread;
}

/* Begin to fill in what is known of a container, in a context emptied for it. */
static void
load_begin(CachedContainer *cc, Oid root)
{
	/* nothing is known until all is, whatever error comes between */
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

	/* an invalidation that arrives from here on must not be lost */
	cc->stale = false;
	cc->loading = true;
}

/* The most partitions of which a session would keep a sparse map. */
#define MAX_SPARSE 65536

/* How many partitions is a container said to have? 0: there are no hints. */
static int
expected_modulus(Container container, Oid root)
{
	uint32		modulus = hint_find(HINT_MODULUS, root, 0);

	return modulus <= MAX_SPARSE ? (int) modulus : 0;
}

/*
 * Have the server forget the partitions of the tables that a container was read from. If an
 * invalidation arrives while RelationBuildPartitionDesc() reads them, the server rebuilds the
 * relcache entry first, and then stores the older partitions in it.
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
 * Fill in what is known of a container's root, which is locked until then, in the
 * container's context; and of its partitions all, or for the time being none.
 */
static void
load_root(CachedContainer *cc, Container container, Oid owner, bool whole)
{
	int			modulus = whole ? 0 : expected_modulus(container, cc->root);

	cc->owner = owner;
	cc->problem = layout_root_problem(container, cc->root);
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
 * Read a container's layout from the catalogs, by the whole or so far as it can be
 * without its partitions; false if it is not there. A table that is not what it should
 * be is a problem that is raised when it is needed (layout_get()), or its leaves
 * are (leaf_open()).
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
 * What is known of a container, fit to be used or not; NULL: it is not there.
 * whole: of all its partitions, and not of its root alone.
 */
CachedContainer *
layout_find(Container container, bool whole)
{
	CachedContainer *cc = &cache[container];

	Assert(IsTransactionState());
	/* two tries in a row may be undone by invalidations; many may not */
	for (int tries = 0; tries < 100; tries++)
	{
		if (cc->valid && !(whole && cc->partitions.sparse))
			break;
		if (!container_load(container, whole))
			return NULL;
	}
	return cc;
}

/* What is wrong if a container is not there: are the others? */
static LayoutProblem *
missing_problem(Container container)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (c != container && OidIsValid(container_table_lookup(c)))
			return shape_problem(psprintf("container \"%s\" is missing",
										  container_table(container)),
								 "Call blogstore.create_containers() to have it made again; the others stay as they are.");
	return shape_problem(pstrdup("the blogstore containers have not been created"),
						 "Call blogstore.create_containers() first.");
}

/*
 * What keeps a container from being used; NULL: nothing. *cc becomes what is known
 * of it, by the whole or of its root, or NULL.
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

/* Is a container known, and fit to be used? Nearly always, and asked often. */
static inline bool
is_fine(const CachedContainer *cc)
{
	const CachedContainer *posts = &cache[CONTAINER_POSTS];

	Assert(IsTransactionState());
	return cc->valid && cc->problem == NULL && posts->valid &&
		posts->owner == cc->owner;
}

/* What is known of a container, of all its partitions. Errors: 55000. */
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
 * What is known of a container's root, and of those partitions that were needed so
 * far, or all. Errors: 55000.
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

/* How often a layout was read: grows after something about one has changed. */
uint64
layout_loads(void)
{
	return loads;
}

/* How often anything about containers was invalidated. */
uint64
layout_invalidations(void)
{
	return changes;
}

/* The table that has a container's name, whatever it is. */
Oid
container_table_lookup(Container container)
{
	return table_lookup(container_table(container));
}
