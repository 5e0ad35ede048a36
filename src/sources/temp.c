/*
 * temp.c
 *		Bulk import: writing into its temporary tables, by the pageful.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "compat.h"
#include "sources/sources.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"

/* What is gathered at most before it is written. */
#define TEMP_ROWS 100
#define TEMP_BYTES (64 * 1024)

struct TempWriter
{
	MemoryContext context;		/* "blogstore temporary rows": what one flush
								 * needs */
	Relation	rel;
	CommandId	cid;
	BulkInsertState bulk;
	TupleTableSlot *slot[TEMP_ROWS];	/* NULL: not needed so far */
	int			n;
	Size		bytes;
};

/* Open a temporary table of an import. */
Relation
temp_table_open(const Import *import, const char *name)
{
	char	   *full = psprintf("%s%s", import->prefix, name);

	return table_openrv(makeRangeVar("pg_temp", full, -1), RowExclusiveLock);
}

/* Write a table that is open. */
TempWriter *
temp_writer_begin(Relation rel)
{
	TempWriter *writer = palloc0(sizeof(TempWriter));

	writer->context = AllocSetContextCreate(CurrentMemoryContext,
											"blogstore temporary rows",
											ALLOCSET_SMALL_SIZES);
	writer->rel = rel;
	writer->cid = GetCurrentCommandId(true);
	writer->bulk = GetBulkInsertState();
	return writer;
}

/* An empty slot, whose arrays are to be filled with the next row. */
TupleTableSlot *
temp_writer_slot(TempWriter *writer)
{
	TupleTableSlot **slot = &writer->slot[writer->n];

	if (*slot == NULL)
	{
		MemoryContext old =
			MemoryContextSwitchTo(GetMemoryChunkContext(writer));

		*slot = table_slot_create(writer->rel, NULL);
		MemoryContextSwitchTo(old);
	}
	return ExecClearTuple(*slot);
}

/* Write what is gathered. */
static void
temp_writer_flush(TempWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	if (writer->n > 0)
		table_multi_insert(writer->rel, writer->slot, writer->n, writer->cid,
						   TABLE_INSERT_SKIP_FSM, writer->bulk);
	for (int i = 0; i < writer->n; i++)
		ExecClearTuple(writer->slot[i]);
	writer->n = 0;
	writer->bytes = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->context);
}

/* The slot's arrays are filled: write the row, now or later. */
void
temp_writer_put(TempWriter *writer)
{
	TupleTableSlot *slot = writer->slot[writer->n];

	ExecStoreVirtualTuple(slot);
	ExecMaterializeSlot(slot);
	writer->bytes += ExecFetchSlotHeapTuple(slot, false, NULL)->t_len;
	if (++writer->n == TEMP_ROWS || writer->bytes > TEMP_BYTES)
		temp_writer_flush(writer);
}

/* Write a row of the table's shape. */
void
temp_writer_copy(TempWriter *writer, TupleTableSlot *row)
{
	TupleTableSlot *slot = temp_writer_slot(writer);
	int			natts = slot->tts_tupleDescriptor->natts;

	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	temp_writer_put(writer);
}

/* Write the rows that are left; statements from here on see them. */
void
temp_writer_end(TempWriter *writer)
{
	temp_writer_flush(writer);
	for (int i = 0; i < TEMP_ROWS && writer->slot[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(writer->slot[i]);
	FreeBulkInsertState(writer->bulk);
	MemoryContextDelete(writer->context);
	pfree(writer);
	CommandCounterIncrement();
}
