/*
 * leaf.c
 *		Opens the leaf for an item, given the container, the item's type and
 *		the item's key.
 *
 * A prepared SELECT on a partitioned table is slow, because the SELECT locks
 * every partition. The functions here hash the key to find the partition, and
 * lock only one leaf.
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
 * Return the cache entry of the leaf that has the items of a type in a
 * partition. If the leaf is missing or cannot be used, returns NULL and sets
 * *problem to the reason.
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

static Oid
known_leaf(CachedContainer *cc, ItemType type, int partition)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	return leaf != NULL ? leaf->relid : InvalidOid;
}

/*
 * Return the leaf for the items of a type in a partition; InvalidOid if there
 * is none. Errors: 55000 if the container cannot be used.
 */
Oid
partition_leaf(Container container, ItemType type, int partition)
{
	return known_leaf(layout_get(container), type, partition);
}

/*
 * Return the number of the partition that holds the items of a type with a
 * given key; NO_PARTITION if there is none. The number is valid as long as
 * layout_stamp() does not change. Errors: 55000.
 */
int
partition_of_items(Container container, ItemType type, const void *key)
{
	CachedContainer *cc;

	return layout_place(&cc, container, type, key, NO_PARTITION);
}

/*
 * Return whether this server has a partition for the items of a type with a
 * given key. Errors: 55000.
 */
bool
partition_exists_for(Container container, ItemType type, const void *key)
{
	return partition_of_items(container, type, key) != NO_PARTITION;
}

/*
 * Return the virtual ids of the other transactions that may be writing items
 * of a type in a partition. These transactions have a lock on the leaf that
 * conflicts with ShareLock. An invalid id ends the array.
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
 * Return the leaf for the items of a type with a given key. Errors: 55000 if
 * there is none.
 */
Oid
leaf_of_key(Container container, ItemType type, const void *key)
{
	CachedContainer *cc;
	LayoutProblem *problem = NULL;
	int			partition = layout_place(&cc, container, type, key, NO_PARTITION);
	CachedLeaf *leaf = leaf_find(cc, container, type, partition, &problem);

	if (leaf == NULL)
		layout_problem_raise(problem);
	return leaf->relid;
}

/*
 * Starting at partition number "number", return the number of the first
 * partition with items of the type. Returns NO_PARTITION if there is none.
 * Raises no error if a partition is missing.
 */
static int
next_partition(Container container, ItemType type, int number)
{
	return partitions_from(&layout_get(container)->partitions, type, number);
}

/*
 * Return an estimate of the number of a container's items of a type. Uses the
 * planner's function estimate_rel_size(), so that no ANALYZE is needed. Locks
 * one leaf after another in AccessShareLock mode. Errors: 55000.
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
 * Fill in the cache entry (CachedLeaf) of a leaf that the caller has locked
 * and opened. Returns false, and leaves the entry unfilled, if this process
 * receives an invalidation of the leaf meanwhile.
 *
 * rel: the open leaf
 * path: the kind of index to look up; N_PATHS for all indexes
 */
bool
leaf_learn(CachedContainer *cc, Relation rel, Container container,
		   ItemType type, int partition, AccessPath path)
{
	CachedLeaf *leaf = partitions_leaf(&cc->partitions, type, partition);

	Assert(leaf != NULL);
	if (cc->valid && !leaf->known)
	{
		MemoryContext old = MemoryContextSwitchTo(cc->context);

		/*
		 * Watch for invalidations of the leaf before its catalog rows are
		 * read. Otherwise an invalidation could be missed.
		 */
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
 * Lock and open a leaf whose OID is cached; return NULL if the leaf was
 * dropped. When the process gets the lock, it also receives the invalidation
 * that a DROP TABLE has sent. So the relcache entry shows whether the leaf
 * still exists. This is usually cheaper than try_table_open(), which searches
 * pg_class.
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
 * Return a LayoutProblem if a function that the owner has attached to an open
 * table lacks the safe SET search_path clause that it needs; else NULL.
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
 * Return why attached code of the owner makes it unsafe to write to an open
 * table; NULL if it is safe.
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
 * Return why attached code of the owner makes it unsafe to write to a leaf;
 * NULL if it is safe. A NULL is cached until attached_stamp() shows that code
 * may have changed.
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
 * Raise an error (55000) if an SQL statement on a table could run unsafe code
 * that the owner has attached. For example, a trigger function may lack a SET
 * search_path clause. If "write" is true, a rule on the table is an error,
 * too.
 *
 * Called before a SELECT, too, because the planner evaluates immutable
 * functions in constraints and indexes.
 *
 * Locks the table until the transaction ends: in RowExclusiveLock mode if
 * "write" is true, else in AccessShareLock mode.
 */
void
table_require_served(Oid relid, bool write)
{
	Relation	rel = table_open(relid, write ? RowExclusiveLock : AccessShareLock);
	LayoutProblem *problem = write ? attached_problem(rel) : unpinned_problem(rel);

	/*
	 * Rules are refused, because attached_unpinned() does not check the
	 * functions that a rule calls. Also, blogstore writes rows without SQL,
	 * and a rule would not run then.
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
 * Raise an error (55000) if an SQL statement on a container could run unsafe
 * attached code. Checks the root table and all leaves by
 * table_require_served(). Called before an SQL statement that names the root
 * table.
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
 * Return the functions in a container's attached code that need a safe SET
 * search_path clause, but lack it. Looks only at the tables on this server.
 * Locks: AccessShareLock on each table, to the end of the transaction.
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
 * Return why an open leaf cannot be used; NULL if the leaf can be used. The
 * caller has filled in the leaf's cache entry (leaf_learn()). The result is in
 * the cache or in the current memory context.
 *
 * to_write: whether the caller will write to the leaf
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
 * Lock and open a leaf that is in the cached layout. Returns false if the leaf
 * cannot be used, and sets *problem to the reason. Also returns false if the
 * cache was out of date. *problem then stays NULL, and the caller looks up the
 * leaf again.
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
	 * ALTER FUNCTION takes no lock on the leaf. So this process may not have
	 * received the invalidation of an altered attached function when it locked
	 * the leaf. Receive it now.
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
 * Lock and open the leaf that "wanted" describes. Errors: 55000 if the leaf is
 * missing or cannot be used. Locks: "lockmode" on the leaf; to write, also
 * RowExclusiveLock on the container's root table.
 *
 * To read, a lock on the leaf alone is enough, because dropping or detaching a
 * partition locks its leaves, too. The layout can change while the function
 * waits for the lock. If so, the function looks up and locks the leaf again.
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
		if (to_write && !held && partitions_hold(&cc->partitions, wanted->type, partition))
		{
			/*
			 * Look up the partition again. It may have moved to another node
			 * before the call of partitions_hold().
			 */
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
 * Return whether the leaf for the items of a type in a partition has an index
 * of the kind "path". Errors: those of leaf_open().
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
 * Close a leaf.
 *
 * keep_lock: keep the lock on the leaf until the transaction ends. Must be
 *     true if the transaction has written to the leaf.
 */
void
leaf_close(OpenLeaf *leaf, bool keep_lock)
{
	table_close(leaf->rel, keep_lock ? NoLock : leaf->lockmode);
}

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
					leaf_path_rows(type, path) == INDEXED_ALL ? "" :
					leaf_path_rows(type, path) == INDEXED_REPLIES ?
					" WHERE parent_id IS NOT NULL" : " WHERE parent_id IS NULL");
}

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
 * Open the index of the kind "path" of an open leaf, and lock the index in the
 * lock mode of the leaf. Errors: 55000 if there is no such index.
 */
Relation
leaf_open_index(const OpenLeaf *leaf, Container container, ItemType type,
				AccessPath path)
{
	if (!OidIsValid(leaf->index[path]))
		layout_problem_raise(leaf_index_problem(leaf->rel, container, type, path));
	return index_open(leaf->index[path], leaf->lockmode);
}
