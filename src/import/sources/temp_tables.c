/*
 * temp_tables.c
 *		Bulk import: writes rows to the temporary tables of an import.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "import/sources/sources.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "nodes/makefuncs.h"

struct TempWriter
{
	Relation	rel;
	CommandId	cid;
	BulkInsertState bulk;
	TupleTableSlot *slot;
};

/*
 * Open the temporary table whose name is import->prefix followed by "name".
 * Locks: RowExclusiveLock.
 */
Relation
temp_table_open(const Import *import, const char *name)
{
	char	   *full = psprintf("%s%s", import->prefix, name);

	return table_openrv(makeRangeVar("pg_temp", full, -1), RowExclusiveLock);
}

TempWriter *
temp_writer_begin(Relation rel)
{
	TempWriter *writer = palloc0(sizeof(TempWriter));

	writer->rel = rel;
	writer->cid = GetCurrentCommandId(true);
	writer->bulk = GetBulkInsertState();
	writer->slot = table_slot_create(rel, NULL);
	return writer;
}

/*
 * Return an empty slot for a new row. The caller must fill tts_values and
 * tts_isnull, and then call temp_writer_put().
 */
TupleTableSlot *
temp_writer_slot(TempWriter *writer)
{
	return ExecClearTuple(writer->slot);
}

void
temp_writer_put(TempWriter *writer)
{
	ExecStoreVirtualTuple(writer->slot);
	table_tuple_insert(writer->rel, writer->slot, writer->cid,
					   TABLE_INSERT_SKIP_FSM, writer->bulk);
}

/*
 * Insert a copy of the first columns of a row. These must be the columns of
 * the table.
 */
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

/* End writing. Later statements of this transaction see the rows. */
void
temp_writer_end(TempWriter *writer)
{
	ExecDropSingleTupleTableSlot(writer->slot);
	FreeBulkInsertState(writer->bulk);
	pfree(writer);
	CommandCounterIncrement();
}
