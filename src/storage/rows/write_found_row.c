/*
 * write_found_row.c
 *		Changing what a scan has found, if nobody else has it: without a lock.
 *
 * A row lock is a WAL record of its own, and needed only by who has to wait, or to
 * see the newest version. Who is content to learn that somebody else was there
 * first changes the version that a scan has found right away: the server itself
 * sees to it that no version is changed twice. Where triggers want to see the row,
 * it is locked as for any other change.
 *
 * Runs in backends and in the worker, in a transaction with an active snapshot.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/row_writer.h"
#include "storage/rows/rows.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Begin a scan, by the active snapshot, of the leaf that is written: items by the
 * first columns of what tells them apart. They may lack other values.
 */
ItemScan *
item_writer_scan(ItemWriter *writer, const Datum *key, int nkeys)
{
	ItemQuery	query = {
		.container = writer->container,.type = writer->type,
		.path = leaf_identity_path(writer->container, writer->type),
		.key = key,.nkeys = nkeys,.identity = true
	};

	return leaf_scan_begin(&writer->leaf, &query);
}

/*
 * Is a version that was found the newest, with nobody changing or locking
 * it? Of a table whose rows this cannot tell of, TM_BeingModified.
 */
static TM_Result
version_state(TupleTableSlot *slot)
{
	BufferHeapTupleTableSlot *heap = (BufferHeapTupleTableSlot *) slot;
	TM_Result	result;

	if (!TTS_IS_BUFFERTUPLE(slot))
		return TM_BeingModified;
	LockBuffer(heap->buffer, BUFFER_LOCK_SHARE);
	result = HeapTupleSatisfiesUpdate(heap->base.tuple,
									  GetCurrentCommandId(true), heap->buffer);
	LockBuffer(heap->buffer, BUFFER_LOCK_UNLOCK);
	return result;
}

/* What came of changing a version. */
static ItemResult
changed(ItemWriter *writer, TM_Result result)
{
	switch (result)
	{
		case TM_Ok:
			writer->wrote = true;
			return ITEM_OK;
		case TM_BeingModified:
			return ITEM_LOCKED;
		default:
			return ITEM_NOT_FOUND;
	}
}

/* Generated columns, constraints, and the partition bound, as writer_check() has. */
static void
check_update(ItemWriter *writer, TupleTableSlot *slot)
{
	TupleConstr *constr = writer->leaf.rel->rd_att->constr;

	if (constr != NULL && constr->has_generated_stored)
		ExecComputeStoredGenerated(writer->rri, writer->estate, slot,
								   CMD_UPDATE);
	if (constr != NULL)
		ExecConstraints(writer->rri, slot, writer->estate);
	if (!writer->by_key)
		ExecPartitionCheck(writer->rri, slot, writer->estate, true);
}

/* Write an item anew over the version in the writer's slot "found". The leaf has no triggers. */
static ItemResult
update_version(ItemWriter *writer, const BlogItem *item)
{
	TupleTableSlot *slot = writer->fresh;
	CompatIndexes indexes = 0;
	LockTupleMode mode;
	TM_FailureData failure;
	TM_Result	result;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));

	writer_form_update(writer, slot, item);
	check_update(writer, slot);
	result = table_tuple_update(writer->leaf.rel, &writer->found->tts_tid, slot,
								GetCurrentCommandId(true), GetActiveSnapshot(),
								InvalidSnapshot, true, &failure, &mode,
								&indexes);
	if (result == TM_Ok && indexes != 0)
	{
		writer_open_indexes_for(writer, slot);
		compat_update_index_tuples(writer->rri, writer->estate, slot, indexes);
	}
	compat_set_updated_columns(writer->estate, NULL);
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
	return changed(writer, result);
}

/*
 * Write an item anew as a scan of the same leaf has found it; columns that are not
 * properties stay. ITEM_LOCKED: somebody else has it locked, or is changing it;
 * ITEM_NOT_FOUND: it has changed since, or is gone. Nothing is written then.
 *
 * The server waits for who comes between the look and the change (heap_update() knows
 * no other way): the caller has a lock that keeps out all who do so but by hand, or
 * does not mind.
 */
ItemResult
item_writer_update_found(ItemWriter *writer, ItemScan *scan,
						 const BlogItem *item)
{
	TM_Result	result;

	if (writer->triggers)
	{
		BlogItem	locked;
		ItemResult	outcome = item_writer_lock_found(writer, scan,
													 LockTupleNoKeyExclusive,
													 LockWaitSkip, &locked);

		if (outcome == ITEM_OK &&
			!ItemPointerEquals(&writer->found->tts_tid,
							   &item_scan_slot(scan)->tts_tid))
			return ITEM_NOT_FOUND;
		if (outcome == ITEM_OK)
			item_writer_update(writer, item);
		return outcome;
	}
	result = version_state(item_scan_slot(scan));
	if (result != TM_Ok)
		return changed(writer, result);
	ExecCopySlot(writer->found, item_scan_slot(scan));
	return update_version(writer, item);
}

/* Delete what a scan of the same leaf has found, with the same results. */
ItemResult
item_writer_delete_found(ItemWriter *writer, ItemScan *scan)
{
	TM_FailureData failure;

	if (writer->triggers)
	{
		BlogItem	item;
		ItemResult	outcome = item_writer_lock_found(writer, scan,
													 LockTupleExclusive,
													 LockWaitSkip, &item);

		if (outcome == ITEM_OK)
			item_writer_delete(writer);
		return outcome;
	}
	return changed(writer,
				   table_tuple_delete(writer->leaf.rel,
									  &item_scan_slot(scan)->tts_tid,
									  GetCurrentCommandId(true),
									  GetActiveSnapshot(), InvalidSnapshot,
									  false, &failure, false));
}
