/*
 * bulk_insert.c
 *		Inserting many items of one type, into whichever leaves.
 *
 * Rows are gathered, and come onto a page, and into the WAL, by the pageful, in the
 * manner of COPY (CopyMultiInsertInfoFlush()); where a leaf has triggers, one by one.
 * Entries of a leaf's indexes are sorted, and follow when it is done (index_entries.c).
 * A leaf is closed before the next is written, so items should come in the order
 * of leaves. A key that is taken is an error, as with INSERT.
 *
 * Runs in backends and in the worker, in a transaction with an active snapshot.
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

/* What is gathered at most: items, bytes. */
#define BULK_ITEMS 500
#define BULK_BYTES (256 * 1024)

/* About what an item takes besides its text. */
#define ITEM_BYTES 128

struct BulkInsert
{
	MemoryContext context;		/* "blogstore bulk insert" */
	Container	container;
	ItemType	type;
	ItemWriter *writer;			/* of the leaf that is written; NULL: none */
	IndexEntries *entries;		/* of its indexes; NULL: inserted with the rows */
	TupleDesc	desc;			/* of the slots; NULL: there are none */
	TupleTableSlot *slot[BULK_ITEMS];	/* NULL: not needed so far */
	int			n;				/* gathered */
	Size		bytes;			/* gathered, about */
};

/*
 * Begin to insert items of a type. Each leaf is locked (RowExclusiveLock) when its
 * first item comes.
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

/* Write what is gathered. Errors: 23505. */
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

/* Done with a leaf: its triggers fire. */
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
 * A slot to gather an item in. All of them share a descriptor of their own: one
 * that is counted would be looked for among all that count on it (ResourceOwner).
 */
static TupleTableSlot *
bulk_make_slot(BulkInsert *bulk)
{
	Relation	rel = bulk->writer->leaf.rel;

	if (bulk->desc == NULL)
		bulk->desc = CreateTupleDescCopy(RelationGetDescr(rel));
	return MakeSingleTupleTableSlot(bulk->desc, table_slot_callbacks(rel));
}

/* Gather an item. */
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

/* Insert one item, and have its triggers fire (ExecInsert()). */
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
 * Insert an item, now or later. Errors, also of earlier items: 23505, and what
 * triggers and constraints raise.
 */
void
bulk_insert_item(BulkInsert *bulk, const BlogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(bulk->context);
	const pg_uuid_t *key = item_uuid(item, container_key(bulk->container));

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

/* Insert what is left, and close the leaf. */
void
bulk_insert_end(BulkInsert *bulk)
{
	bulk_close(bulk);
	MemoryContextDelete(bulk->context);
}
