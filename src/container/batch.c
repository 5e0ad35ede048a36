/*
 * batch.c
 *		Inserting many items of one type, into whichever leaves.
 *
 * As COPY does (CopyMultiInsertInfoFlush()): rows are gathered, and come onto a
 * page, and into the WAL, by the pageful; where a leaf has triggers, one by one.
 * A leaf is closed before the next is written, so items should come in the order
 * of leaves. A key that is taken is an error, as with INSERT.
 *
 * Runs in backends, in a transaction with an active snapshot.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/writer.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/detoast.h"
#include "access/tableam.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* What is gathered at most: items, bytes. */
#define BATCH_ITEMS 500
#define BATCH_BYTES (256 * 1024)

/* About what an item takes besides its text. */
#define ITEM_BYTES 128

struct ItemBatch
{
	MemoryContext context;		/* "blogstore item batch" */
	Container	container;
	ItemType	type;
	ItemWriter *writer;			/* of the leaf that is written; NULL: none */
	TupleTableSlot *slot[BATCH_ITEMS];	/* NULL: not needed so far */
	int			n;				/* gathered */
	Size		bytes;			/* gathered, about */
};

/* Begin. RowExclusiveLock on leaves as they are written. */
ItemBatch *
item_batch_begin(Container container, ItemType type)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore item batch",
												  ALLOCSET_DEFAULT_SIZES);
	ItemBatch  *batch = MemoryContextAllocZero(context, sizeof(ItemBatch));

	batch->context = context;
	batch->container = container;
	batch->type = type;
	return batch;
}

/* Write what is gathered. Errors: 23505. */
static void
batch_flush(ItemBatch *batch)
{
	ItemWriter *writer = batch->writer;
	MemoryContext old;

	if (batch->n == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	table_multi_insert(writer->leaf.rel, batch->slot, batch->n,
					   GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < batch->n; i++)
	{
		(void) compat_insert_index_tuples(writer->rri, batch->slot[i],
										  writer->estate, NIL, NULL);
		ExecClearTuple(batch->slot[i]);
	}
	batch->n = 0;
	batch->bytes = 0;
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

/* Done with a leaf: its triggers fire. */
static void
batch_close(ItemBatch *batch)
{
	if (batch->writer == NULL)
		return;
	batch_flush(batch);
	for (int i = 0; i < BATCH_ITEMS && batch->slot[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(batch->slot[i]);
	memset(batch->slot, 0, sizeof(batch->slot));
	item_writer_close(batch->writer);
	batch->writer = NULL;
}

/* Gather an item. */
static void
batch_gather(ItemBatch *batch, const BlogItem *item)
{
	ItemWriter *writer = batch->writer;
	TupleTableSlot **slot = &batch->slot[batch->n];
	MemoryContext old;

	if (*slot == NULL)
		*slot = table_slot_create(writer->leaf.rel, NULL);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	writer_form(writer, *slot, item);
	ExecMaterializeSlot(*slot);
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
	batch->n++;
	batch->bytes += ITEM_BYTES;
	for (Property p = PROP_TITLE; p <= PROP_CONTENT; p++)
		if (!item->isnull[p])
			batch->bytes += toast_raw_datum_size(item->value[p]);
	if (batch->n == BATCH_ITEMS || batch->bytes > BATCH_BYTES)
		batch_flush(batch);
}

/* Insert an item with its triggers, as ExecInsert() does. */
static void
batch_insert_one(ItemWriter *writer, const BlogItem *item)
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
item_batch_insert(ItemBatch *batch, const BlogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(batch->context);
	const pg_uuid_t *key = item_uuid(item, container_key(batch->container));

	if (batch->writer == NULL ||
		RelationGetRelid(batch->writer->leaf.rel) !=
		leaf_of_key(batch->container, batch->type, key))
	{
		batch_close(batch);
		batch->writer = item_writer_open(batch->container, batch->type, key);
	}
	if (batch->writer->triggers)
		batch_insert_one(batch->writer, item);
	else
		batch_gather(batch, item);
	MemoryContextSwitchTo(old);
}

/* Insert what is left, and close the leaf. */
void
item_batch_end(ItemBatch *batch)
{
	batch_close(batch);
	MemoryContextDelete(batch->context);
}
