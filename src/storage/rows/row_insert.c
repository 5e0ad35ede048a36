/*
 * row_insert.c
 *		Inserts an item, unless an item with the same key exists.
 *
 * If the key exists, no error is raised. So a command that is repeated can
 * return the existing item. Items are inserted speculatively, as ExecInsert()
 * does for ON CONFLICT DO NOTHING.
 *
 * Runs in backends and in the worker, in a transaction with an active
 * snapshot.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/row_writer.h"
#include "storage/rows/rows.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static ItemScan *
key_scan(ItemWriter *writer, const Datum *key, int n, Snapshot snapshot)
{
	ItemQuery	query = {
		.container = writer->container,.type = writer->type,.path = PATH_KEY,
		.key = key,.nkeys = n,.identity = true,.no_predicate_locks = true,
		.snapshot = snapshot
	};

	return leaf_scan_begin(&writer->leaf, &query);
}

/*
 * Return whether the scan "found" is at the newest version of an item, and no
 * running transaction has inserted, updated or deleted the item.
 */
static bool
found_is_settled(ItemWriter *writer, ItemScan *found, const Datum *key, int n)
{
	SnapshotData dirty;
	BlogItem	there;
	ItemScan   *scan;
	bool		settled;

	InitDirtySnapshot(dirty);
	scan = key_scan(writer, key, n, &dirty);
	settled = item_scan_next(scan, &there) &&
		!TransactionIdIsValid(dirty.xmin) &&
		!TransactionIdIsValid(dirty.xmax) &&
		ItemPointerEquals(&item_scan_slot(scan)->tts_tid,
						  &item_scan_slot(found)->tts_tid);
	item_scan_end(scan);
	return settled;
}

/*
 * Return whether an item with the key of a new item exists in the
 * transaction's snapshot. Called under REPEATABLE READ and SERIALIZABLE.
 *
 * Raises an error (40001) if the existing item was deleted after the snapshot
 * was taken. Without the error, unique indexes would accept the new item, and
 * the transaction would see two items with one key.
 *
 * Locks the existing item only if another transaction is changing it. A lock
 * in other cases would needlessly block transactions that delete the item.
 */
static bool
key_in_snapshot(ItemWriter *writer, const BlogItem *item)
{
	Datum		key[MAX_PATH_COLUMNS];
	BlogItem	there;
	ItemScan   *scan;
	bool		found;
	int			n = leaf_path_key(writer->container, writer->type, PATH_KEY,
								  item, key);

	if (n == 0)
		return false;
	scan = key_scan(writer, key, n, GetActiveSnapshot());
	found = item_scan_next(scan, &there) &&
		(found_is_settled(writer, scan, key, n) ||
		 item_writer_lock_found(writer, scan, LockTupleKeyShare,
								LockWaitBlock, &there) == ITEM_OK);
	item_scan_end(scan);
	return found;
}

/*
 * Find the unique indexes that tell whether an item's key exists already
 * (ExecInsert() calls them arbiters). These are the indexes that have all
 * columns of the key, and perhaps others. The list key_arbiters gets only
 * those without other columns. In an index on posts, "id" counts as "post_id",
 * because blogstore writes the same value to both columns.
 *
 * A conflict in any other unique index or exclusion constraint is an error.
 * Only the owner can have created such an index or constraint. Errors: 55000
 * if key_arbiters is empty.
 */
static void
find_arbiters(ItemWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	ResultRelInfo *rri = writer->rri;

	writer_open_indexes(writer);
	for (int i = 0; i < rri->ri_NumIndices; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];
		IndexInfo  *info = rri->ri_IndexRelationInfo[i];
		KeyCover	cover;

		if (!info->ii_Unique || !info->ii_ReadyForInserts ||
			!index->rd_index->indimmediate || info->ii_Expressions != NIL ||
			info->ii_Predicate != NIL)
			continue;
		cover = leaf_key_cover(&writer->leaf, writer->container, writer->type,
							   index);
		if (cover == KEY_COVERED)
			writer->key_arbiters = lappend_oid(writer->key_arbiters,
											   RelationGetRelid(index));
		if (cover != KEY_NOT_COVERED)
			writer->arbiters = lappend_oid(writer->arbiters,
										   RelationGetRelid(index));
	}
	MemoryContextSwitchTo(old);
	if (writer->key_arbiters == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" has no unique index on its items' key",
						RelationGetRelationName(writer->leaf.rel)),
				 errhint("Restore the primary key, which must not be DEFERRABLE."),
				 err_table_fields(writer->leaf.rel, NULL, RULE_UNALTERED)));
}

static void
prepare_arbiters(ItemWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	ResultRelInfo *rri = writer->rri;

	for (int i = 0; i < rri->ri_NumIndices; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];
		IndexInfo  *info = rri->ri_IndexRelationInfo[i];

		if (info->ii_UniqueOps == NULL &&
			list_member_oid(writer->arbiters, RelationGetRelid(index)))
			BuildSpeculativeIndexInfo(index, info);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Return whether no row has the key of the new row in "slot". Waits for
 * transactions that are inserting or deleting a row with this key.
 *
 * arbiters: the unique indexes to search. Some have other columns beside the
 *     key, for example an index of the owner on (id, type) of posts. Another
 *     program may have written a post with the new row's id, but another
 *     post_id, which is the key. If only such an index has an equal row,
 *     *arbiters is set to writer->key_arbiters. The insertion then raises a
 *     unique violation.
 */
static bool
key_is_free(ItemWriter *writer, TupleTableSlot *slot, List **arbiters)
{
	if (compat_check_index_constraints(writer->rri, slot, writer->estate,
									   *arbiters))
		return true;
	if (*arbiters == writer->key_arbiters)
		return false;
	*arbiters = writer->key_arbiters;
	return compat_check_index_constraints(writer->rri, slot, writer->estate,
										  *arbiters);
}

/*
 * Insert an item. Returns false, and writes nothing, if the item's key exists
 * already. Waits for transactions that are inserting or deleting an item with
 * this key.
 *
 * stands: NULL, or a function that is called after the insertion, when other
 *     transactions can find the new item. If it returns false, the insertion
 *     is undone, and the result is false. The function must not wait for what
 *     another transaction does with items. It may open tables, and so wait for
 *     DDL.
 *
 * Errors: 40001 if an item with this key was deleted after the transaction's
 * snapshot was taken; 23505 and 23P01 if a unique index or exclusion
 * constraint of the owner rejects the row; and those of other constraints and
 * triggers.
 */
bool
item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
					  bool (*stands) (void *arg), void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	Relation	rel = writer->leaf.rel;
	TupleTableSlot *slot = writer->fresh;
	List	   *recheck = NIL;
	List	   *arbiters;
	bool		inserted = false;
	bool		refused = false;

	if (IsolationUsesXactSnapshot() && key_in_snapshot(writer, item))
	{
		MemoryContextSwitchTo(old);
		return false;
	}
	if (writer->key_arbiters == NIL)
		find_arbiters(writer);
	prepare_arbiters(writer);
	arbiters = writer->arbiters;
	writer_form(writer, slot, item);
	writer_open_indexes_for(writer, slot);
	while (!inserted && !refused && key_is_free(writer, slot, &arbiters))
	{
		TransactionId xid = GetCurrentTransactionId();
		bool		conflict = false;
		uint32		token = SpeculativeInsertionLockAcquire(xid);

		table_tuple_insert_speculative(rel, slot, GetCurrentCommandId(true),
									   0, NULL, token);
		recheck = compat_insert_index_tuples(writer->rri, slot, writer->estate,
											 arbiters, &conflict);
		refused = !conflict && stands != NULL && !stands(arg);
		inserted = !conflict && !refused;
		table_tuple_complete_speculative(rel, slot, token, inserted);
		SpeculativeInsertionLockRelease(xid);
		CHECK_FOR_INTERRUPTS();
	}

	if (inserted)
	{
		if (writer->triggers)
			ExecARInsertTriggers(writer->estate, writer->rri, slot, recheck,
								 NULL);
		writer->wrote = true;
	}
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
	return inserted;
}

bool
item_writer_insert(ItemWriter *writer, const BlogItem *item)
{
	return item_writer_insert_if(writer, item, NULL, NULL);
}
