/*
 * row_insert.c
 *		Inserting items, unless their keys are taken.
 *
 * A return value says that a key is taken, not an error, so that a command that is
 * repeated can answer with the item that is there. Items are inserted speculatively, as
 * by ON CONFLICT DO NOTHING (ExecInsert()).
 *
 * Runs in backends and in the worker, in a transaction with an active snapshot.
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

/* A scan for the item that has a key, which leaves no predicate lock. */
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

/* Is what a scan has found by a key still so, and nobody about to change it? */
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
 * Does the transaction's snapshot show an item with this one's key? A unique
 * index does not stop the key of an item that was deleted since, so that a
 * transaction that still sees it would see two. 40001 if it was. An item that
 * nobody is changing is not locked, which would be in the way of who deletes it.
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
 * Tell which indexes say that an item's key is taken (ExecInsert() calls them
 * arbiters): those that are unique in its columns, and those in more columns,
 * which can only meet a row that has the key, too. Any other unique index or
 * exclusion constraint is its owner's, and its conflicts are errors.
 *
 * Errors: 55000 if there is none in the key's columns.
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
				 errhint("Restore the primary key, which must not be DEFERRABLE.")));
}

/* Prepare the arbiters for being asked before anything is inserted. */
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
 * Is the key of a row to insert free? Waits for those who are about to take it.
 * A row that has more than the key in common with it, but not the key, as only a
 * row written past blogstore can, is left to be an error: *arbiters becomes the
 * indexes of the key alone.
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
 * Insert an item. Returns false, having written nothing, if its key is taken by
 * a committed row or by a transaction that then commits (this waits for it).
 * What a unique index or exclusion constraint of the owner's refuses is an error
 * (23505, 23P01).
 *
 * stands, where given, is asked when the item can be found by others but is not
 * confirmed yet: it must not wait, and false takes the item back.
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

/*
 * Insert an item. Returns false, having written nothing, if its key is taken.
 * Errors and waits: those of item_writer_insert_if().
 */
bool
item_writer_insert(ItemWriter *writer, const BlogItem *item)
{
	return item_writer_insert_if(writer, item, NULL, NULL);
}
