/*
 * leaf.c
 *		Opens the leaf of an item, given the container, the type and the key.
 *
 * A prepared SELECT on a partitioned table is slow because it locks every
 * leaf. Here the partition is computed from the key in the same way as the
 * server does (partitions.c), and only one leaf is locked.
 *
 * Runs in backends, parallel workers and the blogstore worker.
 */
#include "postgres.h"

#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * Return a partition's leaf for items of a type. If it cannot be used, return
 * NULL and set *problem.
 */
CachedLeaf *
leaf_find(CachedContainer *cc, Container container, ItemType type,
		  int partition, LayoutProblem **problem)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	if (leaf == NULL)
		*problem = shape_missing_problem(psprintf("container \"%s\" has no partition for this key",
												  container_table(container)));
	else if (!OidIsValid(leaf->relid))
		*problem = shape_missing_problem(psprintf("partition %d of container \"%s\" has no leaf for items of type \"%s\"",
												  partition,
												  container_table(container),
												  item_type_name(type)));
	else
		*problem = leaf->misplaced;
	return *problem == NULL ? leaf : NULL;
}

/*
 * Return the table of a partition's leaf according to a cached layout, which
 * may be sparse; InvalidOid if there is none.
 */
static Oid
known_leaf(CachedContainer *cc, ItemType type, int partition)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	return leaf != NULL ? leaf->relid : InvalidOid;
}

/*
 * Return the table of a partition's leaf; InvalidOid if there is none. Errors:
 * 55000 if the container cannot be used.
 */
Oid
partition_leaf(Container container, ItemType type, int partition)
{
	return known_leaf(layout_get(container), type, partition);
}

/*
 * Return the partition that holds a key's items of a type; NO_PARTITION if
 * there is none. Reads only as much of the layout as is needed. The number is
 * the same for all types, and valid as long as layout_stamp() does not change.
 * Errors: 55000.
 */
int
partition_of_items(Container container, ItemType type, const pg_uuid_t *key)
{
	CachedContainer *cc;

	return layout_place(&cc, container, type, key, NO_PARTITION);
}

/*
 * Return whether a key's items of a type have a partition on this server.
 * Errors: 55000.
 */
bool
partition_exists_for(Container container, ItemType type, const pg_uuid_t *key)
{
	return partition_of_items(container, type, key) != NO_PARTITION;
}

/*
 * Return the virtual transactions that hold a lock to write to a partition's
 * leaf, terminated by an invalid one.
 */
VirtualTransactionId *
partition_writers(Container container, ItemType type, int partition)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId,
						 partition_leaf(container, type, partition));
	return GetLockConflicts(&tag, ShareLock, NULL);
}

/*
 * Return the table of the leaf that holds a key. Errors: 55000 if there is
 * none.
 */
Oid
leaf_of_key(Container container, ItemType type, const pg_uuid_t *key)
{
	CachedContainer *cc;
	LayoutProblem *problem = NULL;
	int			partition = layout_place(&cc, container, type, key, NO_PARTITION);
	CachedLeaf *leaf = leaf_find(cc, container, type, partition, &problem);

	if (leaf == NULL)
		layout_problem_raise(problem);
	return leaf->relid;
}

/* Like partition_from(), but without an error if a partition is missing. */
static int
next_partition(Container container, ItemType type, int number)
{
	return partitions_from(&layout_get(container)->partitions, type, number);
}

/*
 * Return an estimate of the number of items of a type, as the planner would
 * make it (estimate_rel_size()), which works without ANALYZE. Locks each leaf
 * in AccessShareLock mode for a moment. Errors: 55000.
 */
int64
item_estimate(Container container, ItemType type)
{
	double		total = 0;

	for (int p = next_partition(container, type, 0); p != NO_PARTITION;
		 p = next_partition(container, type, p + 1))
	{
		Oid			leaf = partition_leaf(container, type, p);
		Relation	rel = OidIsValid(leaf) ?
			try_table_open(leaf, AccessShareLock) : NULL;
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
 * Fill in the cached state of an open and locked leaf, including the index for
 * a path (N_PATHS: all indexes). Returns false if it was invalidated
 * meanwhile.
 */
bool
leaf_learn(CachedContainer *cc, Relation rel, Container container,
		   ItemType type, int partition, AccessPath path)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	if (cc->valid && !leaf->known)
	{
		MemoryContext old = MemoryContextSwitchTo(cc->context);

		/* watch first, so that an invalidation is not missed */
		layout_watch(cc, leaf->relid, partition);
		leaf_describe(leaf, rel, cc->owner, container, type);
		MemoryContextSwitchTo(old);
	}
	if (cc->valid && leaf->known && leaf->problem == NULL && !leaf->looked[path])
		leaf_look_for(leaf, rel, container, type, path);
	return cc->valid && leaf->known &&
		(leaf->problem != NULL || leaf->looked[path]);
}

/*
 * Open and lock a table; returns NULL if it was dropped. Like try_table_open()
 * without its catalog lookup: acquiring the lock processes the invalidation
 * messages by which a session learns that a cached table was dropped.
 */
static Relation
open_leaf_table(Oid relid, LOCKMODE lockmode)
{
	Relation	rel;

	LockRelationOid(relid, lockmode);
	rel = RelationIdGetRelation(relid);
	if (rel == NULL || rel->rd_rel->relkind != RELKIND_RELATION ||
		RelationUsesLocalBuffers(rel))
	{
		if (rel != NULL)
			RelationClose(rel);
		rel = try_table_open(relid, NoLock);
		if (rel == NULL)
			UnlockRelationOid(relid, lockmode);
		return rel;
	}
	pgstat_init_relation(rel);
	return rel;
}

/*
 * Return the problem that a function attached to an open table does not fix
 * its search_path; NULL if there is no such function.
 */
static LayoutProblem *
unpinned_problem(Relation rel)
{
	List	   *unpinned = attached_unpinned(rel);

	if (unpinned == NIL)
		return NULL;
	return shape_problem(psprintf("function %s, which is attached to \"%s\", does not fix its search_path",
								  function_name(linitial_oid(unpinned)),
								  RelationGetRelationName(rel)),
						 psprintf("Run %s; name the schemas that it needs before pg_temp. blogstore.verify() lists all such functions.",
								  function_pin_statement(linitial_oid(unpinned))));
}

/*
 * Return the problem why attached code prevents writes to an open table; NULL
 * if it does not.
 */
static LayoutProblem *
attached_problem(Relation rel)
{
	char	   *deferrable = attached_deferrable(rel);

	if (deferrable != NULL)
		return shape_problem(psprintf("\"%s\" has a deferrable trigger or constraint, \"%s\"",
									  RelationGetRelationName(rel), deferrable),
							 "Make it NOT DEFERRABLE: it would run at the end of the transaction, as the caller.");
	return unpinned_problem(rel);
}

/*
 * Call attached_problem() for a leaf, and cache a negative result until
 * attached code may have changed.
 */
static LayoutProblem *
leaf_attached_problem(CachedLeaf *leaf, Relation rel)
{
	uint64		stamp = attached_stamp();
	LayoutProblem *problem;

	if (!leaf->attached || leaf->served == stamp)
		return NULL;
	problem = attached_problem(rel);
	if (problem == NULL && leaf->known)
		leaf->served = stamp;
	return problem;
}

/*
 * Check that a statement may read a table, or write to it. A statement that
 * only reads matters too, because planning evaluates immutable functions in
 * constraints and indexes. Errors: 55000 if attached code must not run, or the
 * table to be written has a rule. Locks: AccessShareLock or RowExclusiveLock
 * on the table, to the end of the transaction.
 */
void
table_require_served(Oid relid, bool write)
{
	Relation	rel = table_open(relid, write ? RowExclusiveLock : AccessShareLock);
	LayoutProblem *problem = write ? attached_problem(rel) : unpinned_problem(rel);

	/*
	 * rules are not allowed: their functions are not checked, and only
	 * statements would run them
	 */
	if (problem == NULL && write && rel->rd_rules != NULL)
		problem = shape_problem(psprintf("\"%s\" has a rule",
										 RelationGetRelationName(rel)),
								"Drop it, and use a trigger in its place.");
	if (problem != NULL)
		layout_problem_raise(problem);
	table_close(rel, NoLock);
}

/*
 * Call table_require_served() for a container's root, by which statements name
 * it, and for all its leaves.
 */
void
container_require_served(Container container, bool write)
{
	table_require_served(container_table_oid(container), write);
	for (ItemType type = 0; type < N_ITEM_TYPES; type++)
		for (int p = partition_first(container, type); p != NO_PARTITION;
			 p = partition_after(container, type, p))
			if (OidIsValid(partition_leaf(container, type, p)))
				table_require_served(partition_leaf(container, type, p), write);
}

/*
 * Return the functions that are attached to a container's tables on this
 * server and do not fix their search_path. Locks: AccessShareLock on the root,
 * to the end of the transaction; on each leaf for a moment.
 */
List *
container_unpinned(Container container)
{
	Relation	rel = table_open(container_table_oid(container), AccessShareLock);
	List	   *unpinned = attached_unpinned(rel);

	table_close(rel, NoLock);
	for (ItemType type = 0; type < N_ITEM_TYPES; type++)
		for (int p = next_partition(container, type, 0); p != NO_PARTITION;
			 p = next_partition(container, type, p + 1))
		{
			Oid			leaf = partition_leaf(container, type, p);

			rel = OidIsValid(leaf) ? try_table_open(leaf, AccessShareLock) : NULL;
			if (rel == NULL)
				continue;
			unpinned = list_concat_unique_oid(unpinned, attached_unpinned(rel));
			table_close(rel, NoLock);
		}
	return unpinned;
}

/*
 * Return what is wrong with an open leaf whose cached state is complete; NULL:
 * nothing. to_write: also return what prevents writes. The result is in the
 * cache or in the current memory context.
 */
LayoutProblem *
leaf_problem(const CachedLeaf *leaf, Relation rel, Container container,
			 bool to_write)
{
	if (leaf->problem != NULL || !to_write)
		return leaf->problem;
	if (leaf->unwritable == NULL && OidIsValid(leaf->added_index))
		return shape_addition_problem(rel, container,
									  psprintf("an index, \"%s\"",
											   get_rel_name(leaf->added_index)));
	return leaf->unwritable;
}

/*
 * Lock and open a leaf that the cache has found in a partition, and check that
 * it can be used. Returns whether the leaf is open. If not, *problem says why
 * it cannot be used. *problem stays NULL if the cache was out of date; the
 * caller then looks the leaf up again.
 */
static bool
leaf_try_open(OpenLeaf *open, CachedContainer *cc, CachedLeaf *leaf,
			  const LeafWanted *wanted, int partition, LOCKMODE lockmode,
			  LayoutProblem **problem)
{
	bool		to_write = lockmode != AccessShareLock;
	Relation	rel = open_leaf_table(leaf->relid, lockmode);

	if (rel == NULL)
	{
		cc->valid = false;
		return false;
	}

	/*
	 * Altering an attached function does not lock the leaf, so taking the lock
	 * has not made this session learn of it.
	 */
	if (to_write && leaf->attached)
		AcceptInvalidationMessages();
	if (!leaf_learn(cc, rel, wanted->container, wanted->type, partition,
					wanted->path))
	{
		table_close(rel, lockmode);
		return false;
	}
	*problem = leaf_problem(leaf, rel, wanted->container, to_write);
	if (*problem == NULL && to_write)
		*problem = leaf_attached_problem(leaf, rel);
	if (*problem != NULL)
	{
		table_close(rel, lockmode);
		return false;
	}
	open->rel = rel;
	open->lockmode = lockmode;
	memcpy(open->attno, leaf->attno, sizeof(open->attno));
	memcpy(open->index, leaf->index, sizeof(open->index));
	open->attached = leaf->attached;
	return true;
}

/*
 * Open the leaf that is described by wanted. Errors: 55000 if there is none or
 * it cannot be used. Locks: lockmode on the leaf; to write, also
 * RowExclusiveLock on the container's root.
 *
 * A lock on the leaf is enough, because dropping or detaching a partition
 * locks its leaves, too. The cache may have been out of date before the lock
 * was acquired. So the leaf is looked up again until what the cache says of it
 * is valid under the lock.
 */
void
leaf_open(OpenLeaf *open, const LeafWanted *wanted, LOCKMODE lockmode)
{
	bool		to_write = lockmode != AccessShareLock;
	int			partition = wanted->partition;
	LayoutProblem *problem = NULL;
	bool		held = false;

	if (to_write)
		container_lock(wanted->container, true);
	while (problem == NULL)
	{
		CachedContainer *cc;
		CachedLeaf *leaf;

		partition = layout_place(&cc, wanted->container, wanted->type,
								 wanted->key, partition);
		if (to_write && !held && partitions_hold(&cc->partitions, partition))
		{
			/* The partition may have moved until it was held. */
			held = true;
			continue;
		}
		leaf = leaf_find(cc, wanted->container, wanted->type, partition,
						 &problem);
		CHECK_FOR_INTERRUPTS();
		if (leaf != NULL &&
			leaf_try_open(open, cc, leaf, wanted, partition, lockmode, &problem))
			return;
	}
	layout_problem_raise(problem);
}

/*
 * Return whether a partition's leaf has the index that serves a path. Errors:
 * those of leaf_open().
 */
bool
partition_has_path(Container container, ItemType type, int partition,
				   AccessPath path)
{
	OpenLeaf	leaf;
	bool		has;

	leaf_open(&leaf, &(LeafWanted) {
		.container = container, .type = type, .partition = partition,
		.path = path
	}, AccessShareLock);
	has = OidIsValid(leaf.index[path]);
	leaf_close(&leaf, false);
	return has;
}

/*
 * Close a leaf. keep_lock: keep the lock to the end of the transaction, as
 * writers do.
 */
void
leaf_close(OpenLeaf *leaf, bool keep_lock)
{
	table_close(leaf->rel, keep_lock ? NoLock : leaf->lockmode);
}

/* Return the statement that creates the index for a path of a leaf. */
static char *
index_statement(Relation rel, Container container, ItemType type,
				AccessPath path)
{
	const Property *column;
	int			n = leaf_path_columns(container, type, path, &column);
	const char *name =
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
								   RelationGetRelationName(rel));
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < n; i++)
		appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "",
						 property_column(column[i]));
	if (path == leaf_identity_path(container, type))
		return psprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", name, columns.data);
	return psprintf("CREATE INDEX ON %s (%s)%s", name, columns.data,
					path == PATH_REPLIES ? " WHERE parent_id IS NOT NULL" : "");
}

/* Return the problem that a leaf lacks the index for a path. */
LayoutProblem *
leaf_index_problem(Relation rel, Container container, ItemType type,
				   AccessPath path)
{
	return shape_problem(psprintf("\"%s\" lacks an index that blogstore needs",
								  RelationGetRelationName(rel)),
						 psprintf("Create it: %s.",
								  index_statement(rel, container, type, path)));
}

/*
 * Open the index that serves a path, with the lock mode of the leaf. Errors:
 * 55000 if it is missing.
 */
Relation
leaf_open_index(const OpenLeaf *leaf, Container container, ItemType type,
				AccessPath path)
{
	if (!OidIsValid(leaf->index[path]))
		layout_problem_raise(leaf_index_problem(leaf->rel, container, type, path));
	return index_open(leaf->index[path], leaf->lockmode);
}
