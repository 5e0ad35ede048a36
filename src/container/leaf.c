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
#include "container/bookkeeping.h"
#include "container/leaf.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
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
	LayoutProblem *problem;		/* of the container as a whole; NULL: none */
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
	bool		whole;			/* has each remainder a partition? */
	int			npartitions;
	CachedLeaf *leaf[N_ITEM_TYPES]; /* each of npartitions */
} CachedContainer;

static CachedContainer cache[N_CONTAINERS];
static uint64 loads = 0;		/* see container_loads() */
static uint64 changes = 0;		/* see container_changes() */
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
	bookkeeping_invalidate(relid);
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
			changes++;
		}
		for (int t = 0; t < N_ITEM_TYPES; t++)
			for (int p = 0; p < cc->npartitions; p++)
				if (cc->leaf[t][p].relid == relid)
				{
					cc->leaf[t][p].known = false;
					cc->leaf[t][p].changes++;
					changes++;
				}
	}
}

/* Register for invalidations; called once per process tree by _PG_init. */
void
leaf_init(void)
{
	CacheRegisterRelcacheCallback(leaf_invalidate, (Datum) 0);
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
				CachedLeaf *leaf = &cc->leaf[t][partition];

				leaf->relid = desc->oids[child];
				if (count_values(bound, child) > 1)
					leaf->misplaced = shape_mixed_problem(leaf->relid);
			}
	}
}

/* A hash partition cannot be used: none of its leaves can. */
static void
spoil_partition(CachedContainer *cc, int partition, Oid relid,
				LayoutProblem *problem)
{
	for (int t = 0; t < N_ITEM_TYPES; t++)
	{
		cc->leaf[t][partition].relid = relid;
		cc->leaf[t][partition].misplaced = problem;
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
		LayoutProblem *problem;

		if (child == NULL)
		{
			cc->stale = true;	/* dropped meanwhile: read the layout again */
			continue;
		}
		problem = shape_table_problem(children[i], RELKIND_PARTITIONED_TABLE,
									  cc->owner);
		if (problem == NULL)
			problem = shape_key_problem(children[i], PROP_TYPE);
		cc->parents[cc->nparents++] = children[i];
		if (problem == NULL)
			load_types(cc, child, i);
		else
			spoil_partition(cc, i, children[i], problem);
		table_close(child, AccessShareLock);
	}
}

/* The property whose hash a container is split by; PROP_TYPE: none. */
static Property
container_key(Container container)
{
	return container == CONTAINER_USERS ? PROP_USER_ID :
		container == CONTAINER_POSTS ? PROP_POST_ID : PROP_TYPE;
}

/* The root's partitions by hash; returns a copy of their OIDs. */
static Oid *
load_hash(CachedContainer *cc, Relation rel)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	Oid		   *children = palloc(sizeof(Oid) * (desc->nparts + 1));

	fmgr_info_copy(&cc->hash_proc, &key->partsupfunc[0], cc->context);
	cc->hash_collation = key->partcollation[0];
	cc->npartitions = desc->nparts;
	cc->modulus = desc->nparts > 0 ? desc->boundinfo->nindexes : 0;
	cc->partition_of = palloc(sizeof(int) * (cc->modulus + 1));
	cc->whole = cc->modulus > 0;
	for (int i = 0; i < cc->modulus; i++)
	{
		cc->partition_of[i] = desc->boundinfo->indexes[i];
		cc->whole &= cc->partition_of[i] >= 0;
	}
	for (int i = 0; i < desc->nparts; i++)
		children[i] = desc->oids[i];
	return children;
}

/* Read the layout of a container whose root is open, and of the right kind. */
static void
load_layout(CachedContainer *cc, Container container, Relation rel)
{
	Oid		   *children = NULL;

	cc->hashed = container_key(container) != PROP_TYPE;
	cc->npartitions = 1;
	cc->whole = true;
	if (cc->hashed)
		children = load_hash(cc, rel);
	cc->parents = palloc(sizeof(Oid) * (cc->npartitions + 1));
	cc->parents[0] = cc->root;
	cc->nparents = 1;
	for (int t = 0; t < N_ITEM_TYPES; t++)
		cc->leaf[t] = palloc0(sizeof(CachedLeaf) * Max(cc->npartitions, 1));

	/* an invalidation that arrives from here on must not be lost */
	cc->stale = false;
	cc->loading = true;
	if (!cc->hashed)
		load_types(cc, rel, 0);
	table_close(rel, AccessShareLock);
	if (cc->hashed)
		load_partitions(cc, children);
}

/* What is wrong with a container as a whole; NULL: nothing. */
static LayoutProblem *
root_problem(Container container, Oid root)
{
	LayoutProblem *problem = shape_table_problem(root, RELKIND_PARTITIONED_TABLE,
												 InvalidOid);

	return problem ? problem :
		shape_key_problem(root, container_key(container));
}

/* Begin to fill in what is known of a container, in a context emptied for it. */
static void
load_begin(CachedContainer *cc, Oid root)
{
	/* nothing is known until all is, whatever error comes between */
	cc->valid = false;
	cc->loading = false;
	cc->nparents = 0;
	cc->npartitions = 0;
	cc->problem = NULL;
	if (cc->context == NULL)
		cc->context = AllocSetContextCreate(TopMemoryContext,
											"blogstore container",
											ALLOCSET_SMALL_SIZES);
	MemoryContextReset(cc->context);
	cc->root = root;
}

/*
 * Read a container's layout from the catalogs; false if it is not there. A
 * table that is not what it should be is a problem that is raised when it is
 * needed (container_get()), or its leaves are (leaf_open()).
 */
static bool
container_load(Container container)
{
	CachedContainer *cc = &cache[container];
	Oid			root = container_lookup(container);
	Relation	rel;
	MemoryContext old;

	if (!OidIsValid(root))
		return false;
	rel = try_relation_open(root, AccessShareLock);
	if (rel == NULL)
		return false;

	load_begin(cc, root);
	old = MemoryContextSwitchTo(cc->context);
	cc->owner = rel->rd_rel->relowner;
	cc->problem = root_problem(container, root);
	if (cc->problem == NULL)
		load_layout(cc, container, rel);
	else
	{
		cc->parents = palloc(sizeof(Oid));
		cc->parents[0] = root;
		cc->nparents = 1;
		cc->stale = false;
		cc->loading = true;
		relation_close(rel, AccessShareLock);
	}
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

/* Raise 55000: a container is not there. */
static COMPAT_NORETURN void
container_missing(Container container)
{
	bool		others = false;

	for (int c = 0; c < N_CONTAINERS; c++)
		others |= c != container && OidIsValid(container_lookup(c));
	if (others)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("container \"%s\" is missing",
						container_name[container]),
				 errhint("Call blogstore.create_containers() to have it made again; the others stay as they are.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the blogstore containers have not been created"),
			 errhint("Call blogstore.create_containers() first.")));
}

static CachedContainer *
container_get(Container container)
{
	CachedContainer *cc = container_find(container);

	if (cc == NULL)
		container_missing(container);
	if (cc->problem != NULL)
		layout_problem_raise(cc->problem);
	return cc;
}

/* How often a layout was read: grows after something about one has changed. */
uint64
container_loads(void)
{
	return loads;
}

/* How often anything about containers was invalidated. */
uint64
container_changes(void)
{
	return changes;
}

/* Has a container a partition for each key? One may have been detached. */
bool
container_whole(Container container)
{
	return container_get(container)->whole;
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

/* Have the containers been created in this database, all of them? */
bool
container_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (container_find(c) == NULL)
			return false;
	return true;
}

/* Has any of them? */
bool
container_any_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (OidIsValid(container_lookup(c)))
			return true;
	return false;
}

/*
 * Raise 55000 unless the containers have been created, and belong to one role.
 * What else is wrong with one is the error of who needs it.
 */
void
container_require(void)
{
	CachedContainer *posts = container_get(CONTAINER_POSTS);

	for (int c = 0; c < N_CONTAINERS; c++)
		if (container_get(c)->owner != posts->owner)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("containers \"%s\" and \"%s\" belong to different roles",
							container_name[CONTAINER_POSTS], container_name[c]),
					 errhint("Give all tables of the containers to one role with ALTER TABLE ... OWNER TO.")));
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
 * the two queue there instead of meeting in the leaves from both ends. It is the
 * container's root then and stays so.
 */
void
container_lock(Container container, bool write)
{
	for (;;)
	{
		Oid			root = container_relation(container);

		LockRelationOid(root, write ? RowExclusiveLock : AccessShareLock);
		if (root == container_relation(container))
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Lock all of them, before a statement that names them, and be sure of them. */
void
container_lock_all(bool write)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		container_lock(c, write);
	container_require();
}

/* What keeps a table from being a container's root; NULL: nothing. */
const char *
container_root_problem(Container container, Oid root)
{
	LayoutProblem *problem = root_problem(container, root);

	return problem ? problem->message : NULL;
}

/* The name of a container's table. */
const char *
container_table(Container container)
{
	return container_name[container];
}

/* The table that has a container's name, whatever it is. */
Oid
container_lookup(Container container)
{
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, true);

	return OidIsValid(nsp) ?
		get_relname_relid(container_name[container], nsp) : InvalidOid;
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

/* A leaf of a layout; NULL, and the problem, if it cannot be used. */
static CachedLeaf *
leaf_in(CachedContainer *cc, Container container, ItemType type,
		int partition, LayoutProblem **problem)
{
	CachedLeaf *leaf = NULL;

	if (partition < 0)
		*problem = shape_missing_problem(psprintf("container \"%s\" has no partition for this key",
												  container_name[container]));
	else if (partition >= cc->npartitions)
		elog(ERROR, "container \"%s\" has no partition %d",
			 container_name[container], partition);
	else
	{
		leaf = &cc->leaf[type][partition];
		*problem = leaf->misplaced;
		if (!OidIsValid(leaf->relid))
			*problem = shape_missing_problem(psprintf("partition %d of container \"%s\" has no leaf for items of type \"%s\"",
													  partition,
													  container_name[container],
													  item_type_name(type)));
	}
	return *problem == NULL ? leaf : NULL;
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
	CachedContainer *cc = container_get(container);
	LayoutProblem *problem = NULL;
	CachedLeaf *leaf = leaf_in(cc, container, type, partition_in(cc, key),
							   &problem);

	if (leaf == NULL)
		layout_problem_raise(problem);
	return leaf->relid;
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
 * Find out what there is to know of a leaf that is open and locked; false if it
 * was invalidated meanwhile.
 */
static bool
leaf_learn(CachedContainer *cc, CachedLeaf *leaf, Relation rel,
		   Container container, ItemType type)
{
	if (cc->valid && !leaf->known)
	{
		MemoryContext old = MemoryContextSwitchTo(cc->context);

		leaf_describe(leaf, rel, cc->owner, container, type);
		MemoryContextSwitchTo(old);
	}
	return cc->valid && leaf->known;
}

/*
 * Open the leaf of a container's partition that holds items of a type. The
 * partition is the one that holds key, or where there is none, the one with the
 * number. To read, false is returned if the leaf is not what it should be and
 * this process leaves such ones out (item_leave_out()); else that is an error.
 *
 * For the leaf, the lock on it is enough: dropping or detaching it locks it
 * too. The cache may have been out of date before the lock was had, so look again
 * until it holds still.
 */
bool
leaf_open(OpenLeaf *open, Container container, ItemType type,
		  const pg_uuid_t *key, int partition, LOCKMODE lockmode)
{
	LayoutProblem *problem = NULL;

	if (lockmode != AccessShareLock)
		container_lock(container, true);
	while (problem == NULL)
	{
		CachedContainer *cc = container_get(container);
		CachedLeaf *leaf = leaf_in(cc, container, type,
								   key ? partition_in(cc, key) : partition,
								   &problem);
		Relation	rel;

		CHECK_FOR_INTERRUPTS();
		if (leaf == NULL)
			break;
		rel = try_table_open(leaf->relid, lockmode);
		if (rel == NULL)
			cc->valid = false;
		else if (!leaf_learn(cc, leaf, rel, container, type))
			table_close(rel, lockmode);
		else if (leaf->problem != NULL)
		{
			problem = leaf->problem;
			table_close(rel, lockmode);
		}
		else
		{
			open->rel = rel;
			open->lockmode = lockmode;
			open->unchecked = leaf->unchecked;
			memcpy(open->attno, leaf->attno, sizeof(open->attno));
			memcpy(open->index, leaf->index, sizeof(open->index));
			return true;
		}
	}
	if (lockmode != AccessShareLock)
		layout_problem_raise(problem);
	layout_problem_leave_out(problem);
	return false;
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
