/*
 * leaf.c
 *		Where an item lies: from container, type and key to a leaf partition.
 *
 * Locking every leaf for one item is what makes a prepared SELECT on a
 * partitioned table slow. Here the key is hashed as the server would
 * (compute_partition_hash_value()) and only the one leaf is opened. What is
 * known of the containers is cached for the life of the process and thrown
 * away on relcache invalidation.
 *
 * Runs in any process that serves requests, and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/leaf.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* All that is known of one container; lives in its own memory context. */
typedef struct CachedContainer
{
	bool		valid;
	bool		loading;		/* being read, or that failed half-way */
	bool		stale;			/* invalidated while being read */
	MemoryContext context;
	Oid			root;
	Oid			owner;
	int			nparents;		/* the root and its partitioned children */
	Oid		   *parents;
	bool		hashed;			/* false: one partition, no key to hash */
	FmgrInfo	hash_proc;
	Oid			hash_collation;
	int			modulus;		/* the greatest of the partitions' moduli */
	int		   *partition_of;	/* by remainder; -1: none */
	int			npartitions;
	CachedLeaf *leaf[N_ITEM_TYPES]; /* each of npartitions */
} CachedContainer;

static CachedContainer cache[N_CONTAINERS];
static uint64 loads = 0;		/* see container_loads() */
static bool keep_layouts = false;

static const char *const container_name[N_CONTAINERS] = {
	"users", "posts", "feed"
};

/* Relcache invalidation: forget what was known of relid (0: everything). */
static void
leaf_invalidate(Datum arg, Oid relid)
{
	if (keep_layouts)
		return;
	for (int c = 0; c < N_CONTAINERS; c++)
	{
		CachedContainer *cc = &cache[c];

		bool		hit = !OidIsValid(relid);

		if (!cc->valid && !cc->loading)
			continue;
		for (int i = 0; i < cc->nparents; i++)
			hit |= cc->parents[i] == relid;
		if (hit)
		{
			cc->valid = false;
			cc->stale = true;
		}
		for (int t = 0; t < N_ITEM_TYPES; t++)
			for (int p = 0; p < cc->npartitions; p++)
				if (cc->leaf[t][p].relid == relid)
					cc->leaf[t][p].known = false;
	}
}

/* Register for invalidations; called once per process tree by _PG_init. */
void
leaf_init(void)
{
	CacheRegisterRelcacheCallback(leaf_invalidate, (Datum) 0);
}

static Oid
container_lookup(Container container)
{
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, true);

	if (!OidIsValid(nsp))
		return InvalidOid;
	return get_relname_relid(container_name[container], nsp);
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

		for (int t = 0; t < N_ITEM_TYPES; t++)
			if (strcmp(value, item_type_name(t)) == 0)
				cc->leaf[t][partition].relid = desc->oids[bound->indexes[i]];
	}
}

/*
 * The hash partitions of a container, each split by type. One lock at a time
 * is held here: some DDL takes children before their parent.
 */
static void
load_partitions(CachedContainer *cc, const Oid *children)
{
	for (int i = 0; i < cc->npartitions; i++)
	{
		Relation	child = try_table_open(children[i], AccessShareLock);

		if (child == NULL)
		{
			cc->stale = true;	/* dropped meanwhile: read the layout again */
			continue;
		}
		if (child->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		{
			cc->parents[cc->nparents++] = RelationGetRelid(child);
			load_types(cc, child, i);
		}
		else
		{
			/* one table for all types: paths are looked up in its indexes */
			for (int t = 0; t < N_ITEM_TYPES; t++)
				cc->leaf[t][i].relid = RelationGetRelid(child);
		}
		table_close(child, AccessShareLock);
	}
}

/* Read a container's layout from the catalogs; false if it is not there. */
static bool
container_load(Container container)
{
	CachedContainer *cc = &cache[container];
	Oid			root = container_lookup(container);
	Relation	rel;
	PartitionKey key;
	PartitionDesc desc;
	Oid		   *children = NULL;
	MemoryContext old;

	if (!OidIsValid(root))
		return false;
	rel = try_table_open(root, AccessShareLock);
	if (rel == NULL)
		return false;
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		table_close(rel, AccessShareLock);
		return false;
	}

	cc->loading = false;
	if (cc->context == NULL)
		cc->context = AllocSetContextCreate(TopMemoryContext,
											"blogstore container",
											ALLOCSET_SMALL_SIZES);
	MemoryContextReset(cc->context);
	old = MemoryContextSwitchTo(cc->context);

	key = RelationGetPartitionKey(rel);
	desc = RelationGetPartitionDesc(rel, true);
	cc->root = root;
	cc->owner = rel->rd_rel->relowner;
	cc->hashed = key->strategy == PARTITION_STRATEGY_HASH;
	cc->npartitions = 1;
	if (cc->hashed)
	{
		fmgr_info_copy(&cc->hash_proc, &key->partsupfunc[0], cc->context);
		cc->hash_collation = key->partcollation[0];
		cc->npartitions = desc->nparts;
		cc->modulus = desc->nparts > 0 ? desc->boundinfo->nindexes : 0;
		cc->partition_of = palloc(sizeof(int) * cc->modulus);
		for (int i = 0; i < cc->modulus; i++)
			cc->partition_of[i] = desc->boundinfo->indexes[i];
		children = palloc(sizeof(Oid) * desc->nparts);
		memcpy(children, desc->oids, sizeof(Oid) * desc->nparts);
	}
	cc->parents = palloc(sizeof(Oid) * (cc->npartitions + 1));
	cc->parents[0] = root;
	cc->nparents = 1;
	for (int t = 0; t < N_ITEM_TYPES; t++)
		cc->leaf[t] = palloc0(sizeof(CachedLeaf) * cc->npartitions);

	/* an invalidation that arrives from here on must not be lost */
	cc->stale = false;
	cc->loading = true;
	if (!cc->hashed)
		load_types(cc, rel, 0);
	table_close(rel, AccessShareLock);
	if (cc->hashed)
		load_partitions(cc, children);
	cc->loading = false;
	cc->valid = !cc->stale;
	loads++;

	MemoryContextSwitchTo(old);
	change_feed_hooks.containers_found();
	return true;
}

static CachedContainer *
container_find(Container container)
{
	CachedContainer *cc = &cache[container];

	/* two tries in a row may be undone by invalidations; many may not */
	for (int tries = 0; !cc->valid && tries < 100; tries++)
		if (!container_load(container))
			return NULL;
	return cc;
}

static CachedContainer *
container_get(Container container)
{
	CachedContainer *cc = container_find(container);

	if (cc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the blogstore containers have not been created"),
				 errhint("Call blogstore.create_containers() first.")));
	return cc;
}

/* How often a layout was read: grows after something about one has changed. */
uint64
container_loads(void)
{
	return loads;
}

/*
 * Between the two calls all caches are thrown away for a reason that does not
 * concern what is known here: none of it was read while decoding.
 */
void
container_keep_layouts(bool keep)
{
	keep_layouts = keep;
}

/* Have the containers been created in this database? */
bool
container_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (container_find(c) == NULL)
			return false;
	return true;
}

/* Raise 55000 unless the containers have been created. */
void
container_require(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		(void) container_get(c);
}

/* The role that owns the containers. */
Oid
container_owner(void)
{
	return container_get(CONTAINER_POSTS)->owner;
}

/* The root table of a container. */
Oid
container_relation(Container container)
{
	return container_get(container)->root;
}

/*
 * Lock a container's root table, weakly and to the end of the transaction,
 * before more than one of its leaves: DDL takes the root first too, so that
 * the two queue there instead of meeting in the leaves from both ends.
 */
void
container_lock(Container container, bool write)
{
	LockRelationOid(container_relation(container),
					write ? RowExclusiveLock : AccessShareLock);
}

/* How many partitions the container has by hash. */
int
container_partitions(Container container)
{
	return container_get(container)->npartitions;
}

/* The partition of a layout that holds a key; -1 if none does. */
static int
partition_in(CachedContainer *cc, const pg_uuid_t *key)
{
	Datum		value = UUIDPGetDatum(key);
	bool		isnull = false;
	uint64		hash;

	if (!cc->hashed)
		return 0;
	hash = compute_partition_hash_value(1, &cc->hash_proc,
										&cc->hash_collation, &value, &isnull);
	return cc->modulus > 0 ?
		cc->partition_of[hash % (uint64) cc->modulus] : -1;
}

/*
 * The partition that holds the logical partition of key (NULL: the only); -1
 * if none does, for it was detached. Numbers may change as partitions are
 * attached and detached.
 */
int
container_find_partition(Container container, const pg_uuid_t *key)
{
	return partition_in(container_get(container), key);
}

static COMPAT_NORETURN void
partition_missing(Container container)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("container \"%s\" has no partition for this key",
					container_name[container]),
			 errhint("Attach the missing partition.")));
}

/* The leaf of a partition for items of a type. */
Oid
item_leaf(Container container, ItemType type, int partition)
{
	return container_get(container)->leaf[type][partition].relid;
}

/* The leaf of the partition that holds a key; an error if there is none. */
Oid
item_leaf_of(Container container, ItemType type, const pg_uuid_t *key)
{
	int			partition = container_find_partition(container, key);

	if (partition < 0)
		partition_missing(container);
	return item_leaf(container, type, partition);
}

/*
 * About how many items of a type there are, by what the planner would think
 * (estimate_rel_size()): also of tables that were never analysed.
 */
int64
item_estimate(Container container, ItemType type)
{
	double		total = 0;

	for (int p = 0; p < container_partitions(container); p++)
	{
		Relation	rel = try_table_open(item_leaf(container, type, p),
										 AccessShareLock);
		BlockNumber pages;
		double		tuples;
		double		all_visible;

		if (rel == NULL)
			continue;
		estimate_rel_size(rel, NULL, &pages, &tuples, &all_visible);
		total += tuples;
		table_close(rel, AccessShareLock);
	}
	return (int64) total;
}

/*
 * Open the leaf of a container's partition that holds items of a type. The
 * partition is the one that holds key, or where there is none, the one with the
 * number.
 *
 * For the leaf, the lock on it is enough: dropping or detaching it locks it
 * too. The cache may have been out of date before the lock was had, so look again
 * until it holds still.
 */
void
leaf_open(OpenLeaf *open, Container container, ItemType type,
		  const pg_uuid_t *key, int partition, LOCKMODE lockmode)
{
	if (lockmode != AccessShareLock)
		container_lock(container, true);
	for (;;)
	{
		CachedContainer *cc = container_get(container);
		CachedLeaf *leaf;
		Relation	rel;

		if (key != NULL)
			partition = partition_in(cc, key);
		if (partition < 0)
			partition_missing(container);
		if (partition >= cc->npartitions)
			elog(ERROR, "container \"%s\" has no partition %d",
				 container_name[container], partition);
		leaf = &cc->leaf[type][partition];
		if (!OidIsValid(leaf->relid))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partition %d of container \"%s\" has no leaf for items of type \"%s\"",
							partition, container_name[container],
							item_type_name(type)),
					 errhint("Attach the missing partition.")));

		rel = try_table_open(leaf->relid, lockmode);
		if (rel == NULL)
		{
			cc->valid = false;
			CHECK_FOR_INTERRUPTS();
			continue;
		}
		if (rel->rd_rel->relkind != RELKIND_RELATION)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("partition \"%s\" is no table",
							RelationGetRelationName(rel)),
					 errhint("blogstore needs plain tables as partitions.")));
		if (cc->valid && !leaf->known)
			leaf_describe(leaf, rel, container, type);
		if (cc->valid && leaf->known)
		{
			open->rel = rel;
			open->lockmode = lockmode;
			memcpy(open->attno, leaf->attno, sizeof(open->attno));
			memcpy(open->index, leaf->index, sizeof(open->index));
			return;
		}
		table_close(rel, lockmode);
	}
}

/* Close a leaf; writers keep their lock to the end of the transaction. */
void
leaf_close(OpenLeaf *leaf, bool keep_lock)
{
	table_close(leaf->rel, keep_lock ? NoLock : leaf->lockmode);
}

/* Open the index that serves a path, or say that it is missing. */
Relation
leaf_open_index(const OpenLeaf *leaf, AccessPath path)
{
	if (!OidIsValid(leaf->index[path]))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an index of \"%s\" that blogstore reads by is missing",
						RelationGetRelationName(leaf->rel)),
				 errhint("Restore the index, as docs/ARCHITECTURE.md lists them.")));
	return index_open(leaf->index[path], leaf->lockmode);
}
