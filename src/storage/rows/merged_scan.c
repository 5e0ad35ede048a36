/*
 * merged_scan.c
 *		Reads the items that match one or more queries as one ordered list, for
 *		example the items of one type in all partitions.
 *
 * Each partition is scanned through an index that has the order of the list. A
 * binary heap orders the scans by their current items. The current item of the
 * first scan in the heap is the current item of the list. A merged scan costs
 * one index lookup for each partition, and then a few comparisons for each
 * item.
 *
 * Runs in any process, in a transaction with a snapshot.
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
	/* the memory context for the scans of the partitions */
	MemoryContext context;
	ItemOrder	order;
	int			n;				/* the number of scans, one per partition or
								 * query */
	ItemScan  **scan;
	BlogItem   *item;			/* the current item of each scan */
	binaryheap *heap;			/* scan numbers, ordered by the scans' current
								 * items */
};

/*
 * Compare two items by (creation_date, id), newest first. Returns a negative
 * number if "a" comes first.
 */
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

/*
 * Compare the current items of two scans, for the heap. The order is reversed
 * because binaryheap puts the largest element first.
 */
static int
compare_inputs(Datum a, Datum b, void *arg)
{
	const MergedScan *merged = arg;

	return merged->order(&merged->item[DatumGetInt32(b)],
						 &merged->item[DatumGetInt32(a)]);
}

static MergedScan *
merged_make(ItemOrder order)
{
	MergedScan *merged = palloc0(sizeof(MergedScan));

	merged->context = CurrentMemoryContext;
	merged->order = order;
	return merged;
}

static void
make_inputs(MergedScan *merged, int n)
{
	merged->n = 0;
	merged->scan = palloc(sizeof(ItemScan *) * Max(n, 1));
	merged->item = palloc(sizeof(BlogItem) * Max(n, 1));
}

/*
 * Begin a scan of each partition for one query. Returns false if the layout
 * was read again meanwhile, because the partitions may have other numbers now.
 *
 * parts: the number of scans for all queries, which are merged into one list
 * loads: the result of layout_loads() before the scans; it changes if the
 *     layout is read again
 */
static bool
open_partitions(MergedScan *merged, const ItemQuery *query, int parts,
				uint64 loads)
{
	ItemQuery	each = *query;

	each.parts = parts;
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

/*
 * Begin a scan of each partition for each of n queries. Returns false if the
 * layout was read again meanwhile, because the partitions may have other
 * numbers now. The caller must then begin again.
 */
static bool
open_inputs(MergedScan *merged, const ItemQuery *query, int n)
{
	int			parts = partition_count(query[0].container, query[0].type);
	uint64		loads = layout_loads();

	for (int i = 1; i < n; i++)
		parts += partition_count(query[i].container, query[i].type);
	make_inputs(merged, parts);
	for (int i = 0; i < n && layout_loads() == loads; i++)
		if (!open_partitions(merged, &query[i], parts, loads))
			return false;
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
 * Prefetch the heap page of the first item of each scan, from
 * merged->scan[from] on. Stops when as many pages are prefetched as are
 * allowed at a time. Returns the number of the scan to continue with.
 */
static int
ask_for_first(MergedScan *merged, int from)
{
	int			to = Min(merged->n,
						 from + Max(item_scan_ask_limit(merged->scan[from]), 1));

	/* prefetching a single page gains nothing */
	for (int i = from; to - from > 1 && i < to; i++)
		item_scan_ask(merged->scan[i]);
	return to;
}

/*
 * Read the first item of each scan. When a page has to be read into shared
 * buffers, prefetch the pages for the following scans.
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

/* Read the first items of all scans, and put the scans into the heap. */
static void
begin_list(MergedScan *merged)
{
	merged->heap = binaryheap_allocate(Max(merged->n, 1), compare_inputs,
									   merged);
	read_first_items(merged);
}

/*
 * Begin to read the items that match any of n queries, as one list in the
 * order "order". The index of each query must have this order. Errors: 55000.
 * Locks: AccessShareLock on the tables and indexes, to the end of the scan.
 */
MergedScan *
merged_scan_of_queries(const ItemQuery *query, int n, ItemOrder order)
{
	MergedScan *merged = merged_make(order);

	make_inputs(merged, n);
	while (merged->n < n)
	{
		ItemQuery	each = query[merged->n];

		each.parts = n;
		merged->scan[merged->n++] = item_scan_begin(&each);
	}
	begin_list(merged);
	return merged;
}

/*
 * Begin to read the items that match any of n queries in all partitions, as
 * one list in the order "order". The index of each query must have this order.
 * The caller must have locked the container's root table. Then no partition
 * can be added or removed, except by DETACH PARTITION ... CONCURRENTLY.
 * Errors: 55000. Locks: AccessShareLock on each partition's table and index,
 * to the end of the scan.
 */
MergedScan *
merged_scan_begin(const ItemQuery *query, int n, ItemOrder order)
{
	MergedScan *merged = merged_make(order);

	while (!open_inputs(merged, query, n))
	{
		close_inputs(merged);
		CHECK_FOR_INTERRUPTS();
	}
	begin_list(merged);
	return merged;
}

static int
present(const MergedScan *merged)
{
	return DatumGetInt32(binaryheap_first(merged->heap));
}

/*
 * Return the current item of the list. Valid until the next call of
 * merged_scan_next(). Before the first such call, returns the first item.
 * Returns NULL at the end of the list.
 */
const BlogItem *
merged_scan_item(const MergedScan *merged)
{
	return binaryheap_empty(merged->heap) ? NULL : &merged->item[present(merged)];
}

/* Return the first of the merged scans. */
ItemScan *
merged_scan_first(const MergedScan *merged)
{
	return merged->scan[0];
}

/* Return the scan that has the current item of the list. */
ItemScan *
merged_scan_source(const MergedScan *merged)
{
	return merged->scan[present(merged)];
}

/* Advance to the next item of the list. The list must not be at its end. */
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

void
merged_scan_end(MergedScan *merged)
{
	close_inputs(merged);
	binaryheap_free(merged->heap);
	pfree(merged);
}
