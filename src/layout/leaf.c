/*
 * leaf.c
 *		Where an item lies: from container, type and key to a leaf partition.
 *
 * Locking every leaf for one item is what makes a prepared SELECT on a
 * partitioned table slow. Here the key is hashed as the server would
 * (layout.c) and only the one leaf is opened.
 *
 * Runs in any process that serves requests, and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "import/import.h"
#include "layout/cached.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"

#include "access/genam.h"
#include "access/table.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

/*
 * Raise 55000 unless the containers of users and of posts have been created. What
 * is wrong with a part of them, or with the feed, is the error of who needs it.
 */
void
container_require(void)
{
	(void) layout_get(CONTAINER_POSTS);
	(void) layout_get(CONTAINER_USERS);
}

/* The role that owns the containers. */
Oid
container_owner(void)
{
	return layout_get(CONTAINER_POSTS)->owner;
}

/* The root table of a container. */
Oid
container_relation(Container container)
{
	return layout_get(container)->root;
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

/* Raise 55000 unless statements can name a container's columns; it is locked. */
void
container_require_columns(Container container)
{
	Relation	root = table_open(container_relation(container), NoLock);
	LayoutProblem *problem = shape_root_columns(root, container);

	table_close(root, NoLock);
	if (problem != NULL)
		layout_problem_raise(problem);
}

/* Lock all of them, before more than one is written to. */
void
container_lock_all(bool write)
{
	container_lock(CONTAINER_USERS, write);
	container_lock(CONTAINER_POSTS, write);
	if (container_usable(CONTAINER_FEED))
		container_lock(CONTAINER_FEED, write);
}

/* How many partitions the container has by hash. */
int
container_partitions(Container container)
{
	return layout_get(container)->npartitions;
}

/*
 * The partition that holds the logical partition of key (NULL: the only); -1
 * if none does, for it was detached. Numbers may change as partitions are
 * attached and detached.
 */
int
container_find_partition(Container container, const pg_uuid_t *key)
{
	return layout_partition(layout_get(container), key);
}

/* Has any of the containers been created? */
bool
container_any_exists(void)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (OidIsValid(container_lookup(c)))
			return true;
	return false;
}

/* Has a container a partition for each key? One may have been detached. */
bool
container_whole(Container container)
{
	return layout_get(container)->whole;
}

/* Raise 55000 unless it has: nobody would come back to what is in the missing one. */
void
container_require_whole(Container container)
{
	if (!container_whole(container))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a partition of container \"%s\" is missing",
						container_table(container)),
				 errhint("Attach the missing partition, which may hold items of the user's.")));
}

/* A leaf of a layout; NULL, and the problem, if it cannot be used. */
static CachedLeaf *
leaf_in(CachedContainer *cc, Container container, ItemType type,
		int partition, LayoutProblem **problem)
{
	CachedLeaf *leaf = NULL;

	if (partition < 0 || partition >= cc->npartitions)
		*problem = shape_missing_problem(psprintf("container \"%s\" has no partition for this key",
												  container_table(container)));
	else
	{
		leaf = &cc->leaf[type][partition];
		*problem = leaf->misplaced;
		if (!OidIsValid(leaf->relid))
			*problem = shape_missing_problem(psprintf("partition %d of container \"%s\" has no leaf for items of type \"%s\"",
													  partition,
													  container_table(container),
													  item_type_name(type)));
	}
	return *problem == NULL ? leaf : NULL;
}

/* The leaf of a partition for items of a type. */
Oid
item_leaf(Container container, ItemType type, int partition)
{
	CachedContainer *cc = layout_get(container);

	return partition >= 0 && partition < cc->npartitions ?
		cc->leaf[type][partition].relid : InvalidOid;
}

/* The leaf of the partition that holds a key; an error if there is none. */
Oid
item_leaf_of(Container container, ItemType type, const pg_uuid_t *key)
{
	CachedContainer *cc = layout_get(container);
	LayoutProblem *problem = NULL;
	CachedLeaf *leaf = leaf_in(cc, container, type, layout_partition(cc, key),
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
leaf_learn(CachedContainer *cc, Relation rel, Container container,
		   ItemType type, int partition)
{
	CachedLeaf *leaf = &cc->leaf[type][partition];

	if (cc->valid && !leaf->known)
	{
		MemoryContext old = MemoryContextSwitchTo(cc->context);

		/* before the look, whose error or invalidation must not be lost */
		layout_watch(cc, leaf->relid, partition);
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
		CachedContainer *cc = layout_get(container);
		CachedLeaf *leaf;
		Relation	rel;

		if (key != NULL)
			partition = layout_partition(cc, key);
		leaf = leaf_in(cc, container, type, partition, &problem);
		CHECK_FOR_INTERRUPTS();
		if (leaf == NULL)
			break;
		rel = try_table_open(leaf->relid, lockmode);
		if (rel == NULL)
			cc->valid = false;
		else if (!leaf_learn(cc, rel, container, type, partition))
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
			memcpy(open->attno, leaf->attno, sizeof(open->attno));
			memcpy(open->index, leaf->index, sizeof(open->index));
			open->attached = leaf->attached;
			return true;
		}
	}
	if (lockmode != AccessShareLock)
		layout_problem_raise(problem);
	leaf_leave_out(container, type, partition, N_PATHS, problem);
	return false;
}

/*
 * Is a leaf what it should be, and has it a path's index (N_PATHS: of none)? Not
 * waiting for who has it locked, which sets *busy.
 */
bool
leaf_is_fine(Container container, ItemType type, int partition,
			 AccessPath path, bool *busy)
{
	CachedContainer *cc;
	LayoutProblem *problem = NULL;
	CachedLeaf *leaf;
	Relation	rel;
	bool		fine;

	if (!container_is_fine(container))
		return false;
	cc = layout_get(container);
	leaf = leaf_in(cc, container, type, partition, &problem);
	if (leaf == NULL)
		return false;
	if (!ConditionalLockRelationOid(leaf->relid, AccessShareLock))
	{
		*busy = true;
		return false;
	}
	rel = try_table_open(leaf->relid, NoLock);
	fine = rel != NULL && leaf_learn(cc, rel, container, type, partition);
	*busy |= !fine;
	fine = fine && leaf->problem == NULL &&
		(path == N_PATHS || OidIsValid(leaf->index[path]));
	if (rel != NULL)
		table_close(rel, AccessShareLock);
	return fine;
}

/* Close a leaf; writers keep their lock to the end of the transaction. */
void
leaf_close(OpenLeaf *leaf, bool keep_lock)
{
	table_close(leaf->rel, keep_lock ? NoLock : leaf->lockmode);
}

/* An index of a leaf is missing that a path needs. */
LayoutProblem *
leaf_index_problem(const OpenLeaf *leaf)
{
	return shape_problem(psprintf("an index of \"%s\" that blogstore reads by is missing",
								  RelationGetRelationName(leaf->rel)),
						 "Restore the index, as docs/ARCHITECTURE.md lists them.");
}

/* Open the index that serves a path, or say that it is missing. */
Relation
leaf_open_index(const OpenLeaf *leaf, AccessPath path)
{
	if (!OidIsValid(leaf->index[path]))
		layout_problem_raise(leaf_index_problem(leaf));
	return index_open(leaf->index[path], leaf->lockmode);
}
