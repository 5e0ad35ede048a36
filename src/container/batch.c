/*
 * batch.c
 *		Inserting many items of one type, into whichever leaves.
 *
 * As COPY does (CopyMultiInsertInfoFlush()): rows are gathered by leaf, and
 * come onto a page, and into the WAL, by the pageful. A leaf with triggers gets
 * its rows one by one instead, and is closed before the next is written, since
 * such writers nest. So items are best put in the order of partitions.
 *
 * Runs in backends, in a transaction with an active snapshot.
 */
#include "postgres.h"

#include "compat.h"
#include "container/writer.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* What is gathered at most: items of a leaf, bytes of all. */
#define LEAF_ITEMS 200
#define BATCH_BYTES (1024 * 1024)

/* About what an item takes besides its text. */
#define ITEM_BYTES 128

typedef struct BatchLeaf
{
	ItemWriter *writer;			/* NULL: not open */
	TupleTableSlot *slot[LEAF_ITEMS];	/* NULL: not needed so far */
	int			n;				/* gathered */
} BatchLeaf;

struct ItemBatch
{
	MemoryContext context;		/* "blogstore item batch" */
	Container	container;
	ItemType	type;
	Property	key;			/* that partitions are made by */
	BatchLeaf  *with_triggers;	/* the one that is open, or NULL */
	Size		bytes;			/* gathered, about */
	int			nleaves;
	BatchLeaf  *leaf[FLEXIBLE_ARRAY_MEMBER];
};

/* Begin; RowExclusiveLock on leaves as they are written. */
ItemBatch *
item_batch_begin(Container container, ItemType type)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore item batch",
												  ALLOCSET_DEFAULT_SIZES);
	int			n = container_partitions(container);
	ItemBatch  *batch = MemoryContextAllocZero(context,
											   offsetof(ItemBatch, leaf) +
											   n * sizeof(BatchLeaf *));

	batch->context = context;
	batch->container = container;
	batch->type = type;
	batch->key = container == CONTAINER_USERS ? PROP_USER_ID : PROP_POST_ID;
	batch->nleaves = n;
	return batch;
}

/* Write what is gathered for a leaf. Errors: 23505. */
static void
leaf_flush(BatchLeaf *leaf)
{
	ItemWriter *writer = leaf->writer;
	MemoryContext old;

	if (leaf->n == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	table_multi_insert(writer->leaf.rel, leaf->slot, leaf->n,
					   GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < leaf->n; i++)
	{
		(void) compat_insert_index_tuples(writer->rri, leaf->slot[i],
										  writer->estate, NULL);
		ExecClearTuple(leaf->slot[i]);
	}
	leaf->n = 0;
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

static void
batch_flush(ItemBatch *batch)
{
	for (int p = 0; p < batch->nleaves; p++)
		if (batch->leaf[p] != NULL)
			leaf_flush(batch->leaf[p]);
	batch->bytes = 0;
}

static void
leaf_end(BatchLeaf *leaf)
{
	if (leaf == NULL || leaf->writer == NULL)
		return;
	leaf_flush(leaf);
	for (int i = 0; i < LEAF_ITEMS && leaf->slot[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(leaf->slot[i]);
	memset(leaf->slot, 0, sizeof(leaf->slot));
	item_writer_close(leaf->writer);
	leaf->writer = NULL;
}

/* The leaf of a partition, open. */
static BatchLeaf *
batch_leaf(ItemBatch *batch, int partition)
{
	MemoryContext old = MemoryContextSwitchTo(batch->context);
	BatchLeaf  *leaf;

	if (batch->leaf[partition] == NULL)
		batch->leaf[partition] = palloc0(sizeof(BatchLeaf));
	leaf = batch->leaf[partition];
	if (batch->with_triggers != NULL && batch->with_triggers != leaf)
	{
		leaf_end(batch->with_triggers);
		batch->with_triggers = NULL;
	}
	if (leaf->writer == NULL)
	{
		leaf->writer = item_writer_open_partition(batch->container,
												  batch->type, partition);
		if (leaf->writer->triggers)
			batch->with_triggers = leaf;
	}
	MemoryContextSwitchTo(old);
	return leaf;
}

/* Gather an item; about how many bytes it has. */
static Size
leaf_gather(BatchLeaf *leaf, const BlogItem *item)
{
	ItemWriter *writer = leaf->writer;
	TupleTableSlot **slot = &leaf->slot[leaf->n];
	MemoryContext old;
	Size		bytes = ITEM_BYTES;

	if (*slot == NULL)
		*slot = table_slot_create(writer->leaf.rel, NULL);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	writer_fill_defaults(writer, *slot);
	writer_fill(writer, *slot, item);
	writer_check(writer, *slot);
	ExecMaterializeSlot(*slot);
	leaf->n++;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
	for (Property p = PROP_TITLE; p <= PROP_CONTENT; p++)
		if (!item->isnull[p])
			bytes += VARSIZE_ANY(DatumGetPointer(item->value[p]));
	return bytes;
}

/*
 * Insert an item, now or later. Returns false if one of its unique keys is
 * taken, or raises 23505, also in later calls and at the end.
 */
bool
item_batch_insert(ItemBatch *batch, const BlogItem *item)
{
	int			partition = container_partition_of(batch->container,
												   item_uuid(item, batch->key));
	BatchLeaf  *leaf = batch_leaf(batch, partition);
	MemoryContext old;

	if (leaf->writer->triggers)
		return item_writer_insert(leaf->writer, item);
	old = MemoryContextSwitchTo(batch->context);
	batch->bytes += leaf_gather(leaf, item);
	MemoryContextSwitchTo(old);
	if (leaf->n == LEAF_ITEMS)
		leaf_flush(leaf);
	if (batch->bytes > BATCH_BYTES)
		batch_flush(batch);
	return true;
}

/* Insert what is left, and close all. */
void
item_batch_end(ItemBatch *batch)
{
	for (int p = 0; p < batch->nleaves; p++)
		leaf_end(batch->leaf[p]);
	MemoryContextDelete(batch->context);
}
