/*
 * merged_scan.c
 *		Reading items of one type of all partitions, as one list in order.
 *
 * Each partition's items are read by an index that has the order, and the first of
 * their first items is always the next: to begin costs a look into each partition,
 * and an item a few comparisons.
 *
 * Runs in any process; reads need an active transaction and a snapshot.
 */
#include "postgres.h"

#include "storage/rows/merged_scan.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "executor/instrument.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/memutils.h"

struct MergedScan
{
	MemoryContext context;		/* where scans allocate (btgettuple() does) */
	ItemOrder	order;
	int			n;				/* of the partitions that are open */
	ItemScan  **scan;			/* of each */
	BlogItem   *item;			/* the present item of each */
	binaryheap *heap;			/* of indexes of these */
};

/* Two orders that partitions have an index for. */
int
merged_newest_first(const BlogItem *a, const BlogItem *b)
{
	TimestampTz da = item_date(a);
	TimestampTz db = item_date(b);

	if (da != db)
		return da > db ? -1 : 1;
	return memcmp(item_uuid(b, PROP_ID), item_uuid(a, PROP_ID), UUID_LEN);
}

int
merged_oldest_first(const BlogItem *a, const BlogItem *b)
{
	return merged_newest_first(b, a);
}

/* The heap's first is what comes first. */
static int
compare_inputs(Datum a, Datum b, void *arg)
{
	const MergedScan *merged = arg;

	return merged->order(&merged->item[DatumGetInt32(b)],
						 &merged->item[DatumGetInt32(a)]);
}

/*
 * Open each partition; false if partitions came or went meanwhile, by which their
 * numbers change.
 */
static bool
open_inputs(MergedScan *merged, const ItemQuery *query)
{
	ItemQuery	each = *query;
	int			n = partition_count(query->container, query->type);
	uint64		loads = layout_loads();

	merged->n = 0;
	merged->scan = palloc(sizeof(ItemScan *) * Max(n, 1));
	merged->item = palloc(sizeof(BlogItem) * Max(n, 1));
	each.parts = n;
	for (each.partition = partition_first(query->container, query->type);
		 each.partition != NO_PARTITION;
		 each.partition = partition_after(query->container, query->type,
										  each.partition))
	{
		if (layout_loads() != loads)
			return false;
		merged->scan[merged->n++] = item_scan_begin(&each);
	}
	return layout_loads() == loads;
}

static void
close_inputs(MergedScan *merged)
{
	for (int i = 0; i < merged->n; i++)
		item_scan_end(merged->scan[i]);
	pfree(merged->scan);
	pfree(merged->item);
}

/*
 * Ask for the pages of the first items of some partitions, from one on. Returns the end
 * of these partitions.
 */
static int
ask_for_first(MergedScan *merged, int from)
{
	int			to = Min(merged->n,
						 from + Max(item_scan_ask_limit(merged->scan[from]), 1));

	/* to ask for one alone gains nothing */
	for (int i = from; to - from > 1 && i < to; i++)
		item_scan_ask(merged->scan[i]);
	return to;
}

/*
 * Read the first item of each partition. Once a page had to be read for one, those of
 * the next ones are asked for together.
 */
static void
read_first_items(MergedScan *merged)
{
	int64		reads = pgBufferUsage.shared_blks_read;
	int			asked = 0;

	for (int i = 0; i < merged->n; i++)
	{
		if (reads != pgBufferUsage.shared_blks_read && i >= asked)
			asked = ask_for_first(merged, i);
		if (item_scan_next(merged->scan[i], &merged->item[i]))
			binaryheap_add_unordered(merged->heap, Int32GetDatum(i));
	}
	binaryheap_build(merged->heap);
}

/*
 * Begin to read what a query asks for of each partition. Partitions are held still
 * by the caller's lock on the container, but for DETACH PARTITION ... CONCURRENTLY.
 */
MergedScan *
merged_scan_begin(const ItemQuery *query, ItemOrder order)
{
	MergedScan *merged = palloc0(sizeof(MergedScan));

	merged->context = CurrentMemoryContext;
	merged->order = order;
	while (!open_inputs(merged, query))
	{
		close_inputs(merged);
		CHECK_FOR_INTERRUPTS();
	}
	merged->heap = binaryheap_allocate(Max(merged->n, 1), compare_inputs,
									   merged);
	read_first_items(merged);
	return merged;
}

/* Which partition the present item is of. */
static int
present(const MergedScan *merged)
{
	return DatumGetInt32(binaryheap_first(merged->heap));
}

/* The present item, at first the first one. NULL: past the end. */
const BlogItem *
merged_scan_item(const MergedScan *merged)
{
	return binaryheap_empty(merged->heap) ? NULL : &merged->item[present(merged)];
}

/* The scan that has found the present item. */
ItemScan *
merged_scan_source(const MergedScan *merged)
{
	return merged->scan[present(merged)];
}

/* Go on from the present item, which there is, to the next. */
void
merged_scan_next(MergedScan *merged)
{
	int			i = present(merged);
	MemoryContext old = MemoryContextSwitchTo(merged->context);

	if (item_scan_next(merged->scan[i], &merged->item[i]))
		binaryheap_replace_first(merged->heap, binaryheap_first(merged->heap));
	else
		(void) binaryheap_remove_first(merged->heap);
	MemoryContextSwitchTo(old);
}

/* End, wherever it has come to. */
void
merged_scan_end(MergedScan *merged)
{
	close_inputs(merged);
	binaryheap_free(merged->heap);
	pfree(merged);
}
