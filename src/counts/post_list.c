/*
 * post_list.c
 *		Lists over all partitions of a container, by (creation_date, id), newest
 *		first.
 *
 * Each partition's list is read by its index, and the newest of their first
 * items is always the next: a page costs its length, and a look into each
 * partition. Runs in any process.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

typedef struct MergeInput
{
	ItemScan   *scan;
	BlogItem	item;			/* the scan's present item */
} MergeInput;

struct ItemMerge
{
	int			n;				/* of the partitions' lists that are open */
	MergeInput *input;
	binaryheap *heap;			/* of indexes into input */
	ItemQuery	query;			/* of one partition's list */
	bool		started;		/* is the top one already handed out? */
};

/* The heap's first is the newest. */
static int
merge_compare(Datum a, Datum b, void *arg)
{
	const MergeInput *input = arg;
	const BlogItem *ia = &input[DatumGetInt32(a)].item;
	const BlogItem *ib = &input[DatumGetInt32(b)].item;
	TimestampTz da = item_date(ia);
	TimestampTz db = item_date(ib);

	if (da != db)
		return da < db ? -1 : 1;
	return memcmp(item_uuid(ia, PROP_ID), item_uuid(ib, PROP_ID), UUID_LEN);
}

/*
 * Open the list of each partition; false if partitions came or went meanwhile, by
 * which their numbers change.
 */
static bool
open_inputs(ItemMerge *merge)
{
	ItemQuery  *query = &merge->query;
	int			n = partition_count(query->container, query->type);
	uint64		loads = container_loads();

	merge->n = 0;
	merge->input = palloc(sizeof(MergeInput) * Max(n, 1));
	for (query->partition = partition_first(query->container, query->type);
		 query->partition != NO_PARTITION;
		 query->partition = partition_after(query->container, query->type,
											query->partition))
	{
		if (container_loads() != loads)
			return false;
		merge->input[merge->n++].scan = item_scan_begin(query);
	}
	return container_loads() == loads;
}

static void
close_inputs(ItemMerge *merge)
{
	for (int i = 0; i < merge->n; i++)
		item_scan_end(merge->input[i].scan);
	pfree(merge->input);
}

/*
 * Begin a list over all partitions of what a query asks for, newest first.
 * Partitions are held still by the lock on the container, but for DETACH
 * PARTITION ... CONCURRENTLY.
 */
ItemMerge *
item_merge_begin(const ItemQuery *query)
{
	Container	container = query->container;
	ItemMerge  *merge = palloc0(sizeof(ItemMerge));

	merge->query = *query;
	merge->query.backward = true;
	merge->query.snapshot = query->snapshot ? query->snapshot :
		GetActiveSnapshot();
	container_lock(container, false);
	while (!open_inputs(merge))
	{
		close_inputs(merge);
		CHECK_FOR_INTERRUPTS();
	}
	merge->heap = binaryheap_allocate(Max(merge->n, 1), merge_compare,
									  merge->input);
	for (int i = 0; i < merge->n; i++)
		if (item_scan_next(merge->input[i].scan, &merge->input[i].item))
			binaryheap_add_unordered(merge->heap, Int32GetDatum(i));
	binaryheap_build(merge->heap);
	return merge;
}

/*
 * The next newest item, a post with its deltas added up; its values hold until
 * the next call.
 */
bool
item_merge_next(ItemMerge *merge, BlogItem *out)
{
	MergeInput *in;

	if (merge->started && !binaryheap_empty(merge->heap))
	{
		in = &merge->input[DatumGetInt32(binaryheap_first(merge->heap))];
		if (item_scan_next(in->scan, &in->item))
			binaryheap_replace_first(merge->heap,
									 binaryheap_first(merge->heap));
		else
			(void) binaryheap_remove_first(merge->heap);
	}
	merge->started = true;
	if (binaryheap_empty(merge->heap))
		return false;
	in = &merge->input[DatumGetInt32(binaryheap_first(merge->heap))];
	*out = in->item;
	if (merge->query.type == ITEM_POST)
		delta_add_up(out, merge->query.snapshot);
	return true;
}

void
item_merge_end(ItemMerge *merge)
{
	close_inputs(merge);
	binaryheap_free(merge->heap);
	pfree(merge);
}
