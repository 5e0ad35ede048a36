/*
 * write_found_row.c
 *		Updates or deletes a row version that a scan has found, without locking
 *		the row first.
 *
 * Taking a row lock writes a WAL record. The lock is needed only to wait for
 * other transactions, or to read the newest version of the row. The functions
 * here do neither. They change the version that the caller's scan has found.
 * table_tuple_update() and table_tuple_delete() make sure that no version is
 * changed twice. If the table has triggers, the row is locked nevertheless,
 * because triggers need the newest version.
 *
 * Runs in backends and in the worker, in a transaction with an active
 * snapshot.
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
 * Begin a scan of the writer's table with the active snapshot. The scan
 * returns the items that have the values "key" in the first nkeys columns of
 * their key. The fields that identify an item must not be NULL. Other required
 * fields may be NULL.
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
 * Return TM_Ok if the row version in a slot is the newest one, and no
 * transaction is changing or locking it. If the table access method is not
 * heap, this cannot be checked, and the result is TM_BeingModified.
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

/*
 * Update the row version in writer->found. The table must not have triggers.
 */
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
	result = compat_table_tuple_update(writer->leaf.rel,
									   &writer->found->tts_tid, slot, &failure,
									   &mode, &indexes);
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
 * Update a scan's current item, without a row lock. The scan must read the
 * writer's table. Columns that the owner has added keep their values. Writes
 * nothing in these cases:
 *
 *		ITEM_LOCKED		another transaction is changing or locking the item
 *		ITEM_NOT_FOUND	the item was changed or deleted after the scan had
 *						found it
 *
 * Usually does not wait. But if another transaction locks the row while this
 * function runs, the function waits for the end of that transaction. A caller
 * that may not wait must hold a lock that excludes other writers. Errors:
 * those of constraints and triggers.
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

/*
 * Delete a scan's current item, without a row lock. Does not wait. Results and
 * errors: those of item_writer_update_found().
 */
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
				   compat_table_tuple_delete(writer->leaf.rel,
											 &item_scan_slot(scan)->tts_tid,
											 &failure));
}
