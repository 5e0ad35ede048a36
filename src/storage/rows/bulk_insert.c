/*
 * bulk_insert.c
 *		Inserts many items of one type into any number of partitions.
 *
 * table_multi_insert() inserts many rows together, as in COPY
 * (CopyMultiInsertInfoFlush()). So pages are filled and written to WAL as a
 * whole. Index entries are sorted, and inserted after all rows of a partition
 * (index_entries.c). If the items' table has triggers, rows are inserted one
 * at a time. If a key exists already, an error is raised, as for INSERT.
 *
 * Callers should pass the items partition by partition, because only one
 * partition is open at a time.
 *
 * Runs in backends and in the worker, in a transaction with an active
 * snapshot.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/row_writer.h"
#include "storage/rows/rows.h"

#include "access/detoast.h"
#include "access/tableam.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Collected rows are inserted when they reach this number or this size. */
#define BULK_ITEMS 500
#define BULK_BYTES (256 * 1024)

/* assumed size in bytes of an item, apart from its title and content */
#define ITEM_BYTES 128

struct BulkInsert
{
	/* contains this struct, and all that it points to */
	MemoryContext context;
	Container	container;
	ItemType	type;
	/*
	 * The writer of the current partition, which receives the items; NULL
	 * before the first item.
	 */
	ItemWriter *writer;
	/*
	 * The index entries of the rows in the current partition. Inserted after
	 * all rows of the partition. NULL if index entries are inserted together
	 * with their rows.
	 */
	IndexEntries *entries;
	TupleDesc	desc;
	TupleTableSlot *slot[BULK_ITEMS];	/* created when needed */
	int			n;				/* number of rows collected in "slot" */
	/* approximate size of the rows in "slot", in bytes */
	Size		bytes;
};

/*
 * Begin to insert items of a type. Later calls lock the table of each
 * partition that receives items, in RowExclusiveLock mode. These locks are
 * held until the transaction ends.
 */
BulkInsert *
bulk_insert_begin(Container container, ItemType type)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore bulk insert",
												  ALLOCSET_DEFAULT_SIZES);
	BulkInsert *bulk = MemoryContextAllocZero(context, sizeof(BulkInsert));

	bulk->context = context;
	bulk->container = container;
	bulk->type = type;
	return bulk;
}

static void
bulk_flush(BulkInsert *bulk)
{
	ItemWriter *writer = bulk->writer;
	MemoryContext old;

	if (bulk->n == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	table_multi_insert(writer->leaf.rel, bulk->slot, bulk->n,
					   GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < bulk->n; i++)
	{
		if (bulk->entries != NULL)
			index_entries_add(bulk->entries, bulk->slot[i]);
		else
			(void) compat_insert_index_tuples(writer->rri, bulk->slot[i],
											  writer->estate, NIL, NULL);
		ExecClearTuple(bulk->slot[i]);
	}
	bulk->n = 0;
	bulk->bytes = 0;
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

static void
bulk_close(BulkInsert *bulk)
{
	if (bulk->writer == NULL)
		return;
	bulk_flush(bulk);
	if (bulk->entries != NULL)
		index_entries_end(bulk->entries);
	bulk->entries = NULL;
	for (int i = 0; i < BULK_ITEMS && bulk->slot[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(bulk->slot[i]);
	memset(bulk->slot, 0, sizeof(bulk->slot));
	if (bulk->desc != NULL)
		FreeTupleDesc(bulk->desc);
	bulk->desc = NULL;
	item_writer_close(bulk->writer);
	bulk->writer = NULL;
}

/*
 * Create a slot for a collected row. All slots share one tuple descriptor that
 * is not reference-counted: a ResourceOwner with hundreds of references is
 * slow to search.
 */
static TupleTableSlot *
bulk_make_slot(BulkInsert *bulk)
{
	Relation	rel = bulk->writer->leaf.rel;

	if (bulk->desc == NULL)
		bulk->desc = CreateTupleDescCopy(RelationGetDescr(rel));
	return MakeSingleTupleTableSlot(bulk->desc, table_slot_callbacks(rel));
}

static void
bulk_gather(BulkInsert *bulk, const BlogItem *item)
{
	ItemWriter *writer = bulk->writer;
	TupleTableSlot **slot = &bulk->slot[bulk->n];
	MemoryContext old;

	if (*slot == NULL)
		*slot = bulk_make_slot(bulk);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	writer_form(writer, *slot, item);
	ExecMaterializeSlot(*slot);
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
	bulk->n++;
	bulk->bytes += ITEM_BYTES;
	for (Property p = PROP_TITLE; p <= PROP_CONTENT; p++)
		if (!item->isnull[p])
			bulk->bytes += toast_raw_datum_size(item->value[p]);
	if (bulk->n == BULK_ITEMS || bulk->bytes > BULK_BYTES)
		bulk_flush(bulk);
}

static void
insert_with_triggers(ItemWriter *writer, const BlogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	TupleTableSlot *slot = writer->fresh;
	List	   *recheck;

	writer_form(writer, slot, item);
	table_tuple_insert(writer->leaf.rel, slot, GetCurrentCommandId(true), 0,
					   NULL);
	recheck = compat_insert_index_tuples(writer->rri, slot, writer->estate,
										 NIL, NULL);
	ExecARInsertTriggers(writer->estate, writer->rri, slot, recheck, NULL);
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

/*
 * Insert an item now, or collect its row to insert it later. Errors: 23505,
 * and those of triggers and constraints. An error may concern an item of an
 * earlier call.
 */
void
bulk_insert_item(BulkInsert *bulk, const BlogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(bulk->context);
	const void *key = DatumGetPointer(item->value[container_key(bulk->container)]);

	if (bulk->writer == NULL || !item_writer_takes(bulk->writer, key))
	{
		bulk_close(bulk);
		bulk->writer = item_writer_open(bulk->container, bulk->type, key);
		writer_open_indexes_for(bulk->writer, NULL);
		if (!bulk->writer->triggers)
			bulk->entries = index_entries_begin(bulk->writer);
	}
	if (bulk->writer->triggers)
		insert_with_triggers(bulk->writer, item);
	else
		bulk_gather(bulk, item);
	MemoryContextSwitchTo(old);
}

/*
 * Insert the collected rows, and free "bulk". Errors: those of
 * bulk_insert_item().
 */
void
bulk_insert_end(BulkInsert *bulk)
{
	bulk_close(bulk);
	MemoryContextDelete(bulk->context);
}
