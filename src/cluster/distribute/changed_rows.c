/*
 * changed_rows.c
 *		Finding the rows of a leaf that have changed between two snapshots.
 *
 * The leaf is scanned with SnapshotAny, which returns all row versions. A row
 * version that only the older snapshot sees is "gone". A row version that only
 * the newer snapshot sees has "come". An update makes one row version "gone"
 * and another one "come". While the older snapshot is registered, VACUUM
 * removes no row version that this snapshot sees. So other transactions need
 * not record what they change.
 *
 * Runs in a backend.
 */
#include "postgres.h"

#include "base/compat.h"
#include "cluster/distribute/distribute.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "storage/layout/layout.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"

/*
 * Set *gone to whether only the older snapshot ("before") sees the row version
 * in the slot. Set *come to whether only the newer snapshot ("now") sees the
 * row version.
 */
static void
look_at_version(Relation rel, TupleTableSlot *slot, Snapshot before, Snapshot now,
				bool *gone, bool *come)
{
	HeapTupleHeader header = ExecFetchSlotHeapTuple(slot, false, NULL)->t_data;
	bool		is_new = !HeapTupleHeaderXminFrozen(header) &&
		XidInMVCCSnapshot(HeapTupleHeaderGetRawXmin(header), before);

	*gone = *come = false;
	if (is_new)
		*come = table_tuple_satisfies_snapshot(rel, slot, now);
	else if (!(header->t_infomask & HEAP_XMAX_INVALID) &&
			 !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask))
		*gone = table_tuple_satisfies_snapshot(rel, slot, before) &&
			!table_tuple_satisfies_snapshot(rel, slot, now);
}

/*
 * Return an empty ChangedKeys for rows of a leaf, in the current memory
 * context.
 */
ChangedKeys *
changed_keys_make(const SpreadSource *source)
{
	ChangedKeys *keys = palloc0(sizeof(ChangedKeys));

	keys->context = CurrentMemoryContext;
	keys->source = source;
	keys->room = 64;
	for (int i = 0; i < source->nkeys; i++)
		keys->key[i] = palloc(sizeof(Datum) * keys->room);
	return keys;
}

/*
 * Append to "keys" the key of the row in the slot.
 *
 * column: for each column of the key, its attribute number in the leaf
 */
static void
add_key(ChangedKeys *keys, TupleTableSlot *slot, const AttrNumber *column)
{
	MemoryContext old = MemoryContextSwitchTo(keys->context);
	const SpreadSource *source = keys->source;

	if (keys->n == keys->room)
	{
		keys->room *= 2;
		for (int i = 0; i < source->nkeys; i++)
			keys->key[i] = repalloc_huge(keys->key[i],
										 sizeof(Datum) * keys->room);
	}
	for (int i = 0; i < source->nkeys; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, column[i], &isnull);

		if (isnull)
			elog(ERROR, "column \"%s\" of \"%s\" is null", source->key[i],
				 get_rel_name(source->leaf));
		keys->key[i][keys->n] = source->key_type == UUIDOID ?
			datumCopy(value, false, UUID_LEN) :
			PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	}
	keys->n++;
	MemoryContextSwitchTo(old);
}

/*
 * Find the rows of a leaf that have changed between two snapshots.
 *
 * before: the older snapshot. It has been registered since it was taken, so
 *	VACUUM has removed no row version that it sees.
 * now: the newer snapshot, registered
 * gone: receives the keys of row versions that only the older snapshot sees
 * come: receives the keys of row versions that only the newer snapshot sees
 *
 * The key of an updated row is appended to both lists.
 */
void
changes_find(const SpreadSource *source, Snapshot before, Snapshot now,
			 ChangedKeys *gone, ChangedKeys *come)
{
	Relation	rel = table_open(source->leaf, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = compat_table_beginscan(rel, SnapshotAny);
	AttrNumber	column[lengthof(source->key)] = {InvalidAttrNumber};

	for (int i = 0; i < source->nkeys; i++)
		column[i] = shape_column(rel, source->key[i]);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		is_gone;
		bool		has_come;

		CHECK_FOR_INTERRUPTS();
		look_at_version(rel, slot, before, now, &is_gone, &has_come);
		if (is_gone)
			add_key(gone, slot, column);
		if (has_come)
			add_key(come, slot, column);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, NoLock);
}
