/*
 * leaf.c
 *		Where an item lies: from container, type and key to an open leaf.
 *
 * Locking every leaf for one item is what makes a prepared SELECT on a
 * partitioned table slow. Here the partition is found from the key as the server
 * would find it (partitions.c), and only the one leaf is opened.
 *
 * Runs in any process that serves requests, and in the worker.
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

/* A leaf of a container; NULL, and the problem, if it cannot be used. */
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

/* The table of a partition's leaf, by what is known of the container; InvalidOid: there is none. */
static Oid
known_leaf(CachedContainer *cc, ItemType type, int partition)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	return leaf != NULL ? leaf->relid : InvalidOid;
}

/* The same, by all that there is to know. */
Oid
partition_leaf(Container container, ItemType type, int partition)
{
	return known_leaf(layout_get(container), type, partition);
}

/*
 * The partition that holds a key's items of a type, found out by reading no more of
 * the layout than that takes; NO_PARTITION: there is none. Numbers are the same for
 * all types, and hold as long as layout_stamp() stays.
 */
int
partition_of_items(Container container, ItemType type, const pg_uuid_t *key)
{
	CachedContainer *cc;

	return layout_place(&cc, container, type, key, NO_PARTITION);
}

/* Is there a partition that holds a key? On a cluster it may be on another node. */
bool
partition_exists_for(Container container, ItemType type, const pg_uuid_t *key)
{
	return partition_of_items(container, type, key) != NO_PARTITION;
}

/* Who holds a lock to write to a partition's leaf: virtual transactions, up to an invalid one. */
VirtualTransactionId *
partition_writers(Container container, ItemType type, int partition)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId,
						 partition_leaf(container, type, partition));
	return GetLockConflicts(&tag, ShareLock, NULL);
}

/* The table of the leaf that holds a key; an error if there is none. */
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

/* As partition_from(), whether or not a partition is missing. */
static int
next_partition(Container container, ItemType type, int number)
{
	return partitions_from(&layout_get(container)->partitions, type, number);
}

/*
 * About how many items of a type there are, by what the planner would think
 * (estimate_rel_size()): also of tables that were never analysed.
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
 * Find out what there is to know of a leaf that is open and locked, and of its
 * indexes which serves a path (N_PATHS: all that there is to know of them); false if
 * it was invalidated meanwhile.
 */
bool
leaf_learn(CachedContainer *cc, Relation rel, Container container,
		   ItemType type, int partition, AccessPath path)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	if (cc->valid && !leaf->known)
	{
		MemoryContext old = MemoryContextSwitchTo(cc->context);

		/* before the look, whose error or invalidation must not be lost */
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
 * Open a table, and lock it; NULL: it is no more. As try_table_open(), but for a look
 * in the catalogs first, which is not needed: a session that remembers a table
 * learns with the lock that it was dropped.
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

/* A function that is attached to an open table does not fix its search_path; NULL: all do. */
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

/* What keeps rows from being written to an open table to which code is attached; NULL: nothing. */
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

/* The same for a leaf, remembered as long as it holds. */
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
 * A statement is about to read a table, or to write to it. Planning alone evaluates
 * immutable functions in constraints and indexes. Errors: 55000 if code is attached to the
 * table that cannot be run. Locks: AccessShareLock or RowExclusiveLock on the table, to the end
 * of the transaction.
 */
void
table_require_served(Oid relid, bool write)
{
	Relation	rel = table_open(relid, write ? RowExclusiveLock : AccessShareLock);
	LayoutProblem *problem = write ? attached_problem(rel) : unpinned_problem(rel);

	/* a rule's functions are not searched, and only statements would run it */
	if (problem == NULL && write && rel->rd_rules != NULL)
		problem = shape_problem(psprintf("\"%s\" has a rule",
										 RelationGetRelationName(rel)),
								"Drop it, and use a trigger in its place.");
	if (problem != NULL)
		layout_problem_raise(problem);
	table_close(rel, NoLock);
}

/* The same for a container, which the statement names by its root, and all its leaves. */
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
 * The functions attached to a container's tables on this server that do not fix their
 * search_path. Locks: AccessShareLock, to the end of the transaction.
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
 * What is wrong with a leaf that is open and known; NULL: nothing. to_write: do rows have to
 * be written to it? In the current memory context, or the cache's.
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
 * Open the leaf of a container's partition that holds items of a type. Errors: 55000 if there is
 * none, or it is not what it should be.
 *
 * For the leaf, the lock on it is enough: dropping or detaching it locks it too. The cache may
 * have been out of date before the lock was had, so look again until it holds still.
 */
void
leaf_open(OpenLeaf *open, const LeafWanted *wanted, LOCKMODE lockmode)
{
	Container	container = wanted->container;
	ItemType	type = wanted->type;
	int			partition = wanted->partition;
	LayoutProblem *problem = NULL;
	bool		held = false;

	if (lockmode != AccessShareLock)
		container_lock(container, true);
	while (problem == NULL)
	{
		CachedContainer *cc;
		CachedLeaf *leaf;
		Relation	rel;

		partition = layout_place(&cc, container, type, wanted->key, partition);
		if (lockmode != AccessShareLock && !held &&
			partitions_hold(&cc->partitions, partition))
		{
			held = true;
			continue;			/* ask again where it is */
		}
		leaf = leaf_find(cc, container, type, partition, &problem);
		CHECK_FOR_INTERRUPTS();
		if (leaf == NULL)
			break;
		rel = open_leaf_table(leaf->relid, lockmode);
		/* a function may have been altered in a transaction that this one has not met */
		if (rel != NULL && lockmode != AccessShareLock && leaf->attached)
			AcceptInvalidationMessages();
		if (rel == NULL)
			cc->valid = false;
		else if (!leaf_learn(cc, rel, container, type, partition,
							 wanted->path))
			table_close(rel, lockmode);
		else if ((problem = leaf_problem(leaf, rel, container,
										 lockmode != AccessShareLock)) != NULL)
			table_close(rel, lockmode);
		else if (lockmode != AccessShareLock &&
				 (problem = leaf_attached_problem(leaf, rel)) != NULL)
			table_close(rel, lockmode);
		else
		{
			open->rel = rel;
			open->lockmode = lockmode;
			memcpy(open->attno, leaf->attno, sizeof(open->attno));
			memcpy(open->index, leaf->index, sizeof(open->index));
			open->attached = leaf->attached;
			return;
		}
	}
	layout_problem_raise(problem);
}

/* Has a partition's leaf the index that serves a path? Errors: those of leaf_open(). */
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

/* Close a leaf; writers keep their lock to the end of the transaction. */
void
leaf_close(OpenLeaf *leaf, bool keep_lock)
{
	table_close(leaf->rel, keep_lock ? NoLock : leaf->lockmode);
}

/* Return the statement that makes the index which a path of a leaf needs. */
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

/* The index of a leaf that a path needs is missing. */
LayoutProblem *
leaf_index_problem(Relation rel, Container container, ItemType type,
				   AccessPath path)
{
	return shape_problem(psprintf("an index of \"%s\" that blogstore reads by is missing",
								  RelationGetRelationName(rel)),
						 psprintf("Make it: %s.",
								  index_statement(rel, container, type, path)));
}

/* Open the index that serves a path. Errors: 55000 if it is missing. */
Relation
leaf_open_index(const OpenLeaf *leaf, Container container, ItemType type,
				AccessPath path)
{
	if (!OidIsValid(leaf->index[path]))
		layout_problem_raise(leaf_index_problem(leaf->rel, container, type, path));
	return index_open(leaf->index[path], leaf->lockmode);
}
