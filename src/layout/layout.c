/*
 * layout.c
 *		What partitions the containers have: read from the catalogs, remembered
 *		for the life of the process, and forgotten on relcache invalidation.
 *
 * Nothing above this file and leaf.c knows that a container is split by the
 * hash of its key. Runs in any process.
 */
#include "postgres.h"

#include "compat.h"
#include "hooks.h"
#include "invalidate.h"
#include "layout/cached.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"
#include "state/bookkeeping.h"
#include "worker/worker.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"

/* A table whose changes concern what is cached. */
typedef struct WatchedTable
{
	Oid			relid;
	int			partition;		/* it is leaves of; -1: it is a parent of all */
} WatchedTable;

static CachedContainer cache[N_CONTAINERS];
static uint64 loads = 0;		/* see container_loads() */
static uint64 changes = 0;		/* see container_changes() */
static bool keep_layouts = false;

static const char *const container_name[N_CONTAINERS] = {
	"users", "posts", "feed"
};

/*
 * Relcache invalidation: forget what was known of relid (0: everything). One DDL
 * command may send a message for each leaf, so none may cost what all leaves do.
 */
static void
leaf_invalidate(Oid relid)
{
	if (keep_layouts)
		return;
	bookkeeping_invalidate(relid);
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
		if (table == NULL || table->partition < 0)
		{
			cc->valid = false;
			cc->stale = true;
			changes++;
			continue;
		}
		for (int t = 0; t < N_ITEM_TYPES; t++)
		{
			CachedLeaf *leaf = &cc->leaf[t][table->partition];

			if (leaf->relid != relid)
				continue;
			leaf->known = false;
			leaf->changes++;
			changes++;
		}
	}
}

/* Register for invalidations; called once per process tree by _PG_init. */
void
leaf_init(void)
{
	invalidation_listen(leaf_invalidate);
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

/* What is about to be read of a table concerns leaves; -1: all of them. */
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
		layout_watch(cc, children[i], -1);
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
	for (int t = 0; t < N_ITEM_TYPES; t++)
		cc->leaf[t] = palloc0(sizeof(CachedLeaf) * Max(cc->npartitions, 1));
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
	cc->npartitions = 0;
	cc->watched = NULL;
	cc->problem = NULL;
	if (cc->context == NULL)
		cc->context = AllocSetContextCreate(TopMemoryContext,
											"blogstore container",
											ALLOCSET_SMALL_SIZES);
	MemoryContextReset(cc->context);
	cc->root = root;
	watch_nothing(cc);
	layout_watch(cc, root, -1);

	/* an invalidation that arrives from here on must not be lost */
	cc->stale = false;
	cc->loading = true;
}

/*
 * Read a container's layout from the catalogs; false if it is not there. A
 * table that is not what it should be is a problem that is raised when it is
 * needed (layout_get()), or its leaves are (leaf_open()).
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
		relation_close(rel, AccessShareLock);
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

/* A container is not there: alone, or as all of them. */
static LayoutProblem *
missing_problem(Container container)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (c != container && OidIsValid(container_lookup(c)))
			return shape_problem(psprintf("container \"%s\" is missing",
										  container_name[container]),
								 "Call blogstore.create_containers() to have it made again; the others stay as they are.");
	return shape_problem(pstrdup("the blogstore containers have not been created"),
						 "Call blogstore.create_containers() first.");
}

/* What keeps a container from being used; NULL: nothing. */
static LayoutProblem *
find_problem(Container container, CachedContainer **cc)
{
	*cc = container_find(container);
	if (*cc == NULL)
		return missing_problem(container);
	if ((*cc)->problem == NULL && container != CONTAINER_POSTS)
	{
		CachedContainer *posts = container_find(CONTAINER_POSTS);

		if (posts != NULL && posts->owner != (*cc)->owner)
			return shape_problem(psprintf("containers \"%s\" and \"%s\" belong to different roles",
										  container_name[CONTAINER_POSTS],
										  container_name[container]),
								 "Give all tables of the containers to one role with ALTER TABLE ... OWNER TO.");
	}
	return (*cc)->problem;
}

/* Is a container known, and fit to be used? Nearly always, and asked often. */
static inline bool
is_fine(const CachedContainer *cc)
{
	const CachedContainer *posts = &cache[CONTAINER_POSTS];

	return cc->valid && cc->problem == NULL && posts->valid &&
		posts->owner == cc->owner;
}

/* What is known of a container. Errors: 42809, 55000. */
CachedContainer *
layout_get(Container container)
{
	CachedContainer *cc = &cache[container];
	LayoutProblem *problem;

	if (is_fine(cc))
		return cc;
	problem = find_problem(container, &cc);
	if (problem != NULL)
		layout_problem_raise(problem);
	return cc;
}

/* Can a container be used? If not, a process that leaves things out tells. */
bool
container_usable(Container container)
{
	CachedContainer *cc;
	LayoutProblem *problem = find_problem(container, &cc);

	if (problem != NULL)
		(void) container_leave_out(container, problem);
	return problem == NULL;
}

/* The same, and nobody is told. */
bool
container_is_fine(Container container)
{
	CachedContainer *cc;

	return find_problem(container, &cc) == NULL;
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

/*
 * Between the two calls all caches are thrown away for a reason that does not
 * concern what is known here: none of it was read while decoding.
 */
void
container_keep_layouts(bool keep)
{
	keep_layouts = keep;
}

/*
 * Have the containers been created in this database? The feed can be missing,
 * but is looked at, so that who counts loads learns of its partitions too.
 */
bool
container_exists(void)
{
	(void) container_find(CONTAINER_FEED);
	return container_find(CONTAINER_POSTS) != NULL &&
		container_find(CONTAINER_USERS) != NULL;
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

/* The partition of a layout that holds a key; -1 if none does. */
int
layout_partition(CachedContainer *cc, const pg_uuid_t *key)
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
