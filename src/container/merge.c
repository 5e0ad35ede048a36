/*
 * merge.c
 *		Lists over all partitions of a container, by (creation_date, id), newest
 *		first.
 *
 * Each partition's list is read by its index, and the newest of their first
 * items is always the next: a page costs its length, and a look into each
 * partition. Runs in any process.
 */
#include "postgres.h"

#include "container/container.h"

#include "lib/binaryheap.h"

typedef struct MergeInput
{
	ItemScan   *scan;
	BlogItem	item;			/* the scan's present item */
} MergeInput;

struct ItemMerge
{
	int			n;
	MergeInput *input;
	binaryheap *heap;			/* of indexes into input */
	ItemType	type;
	Snapshot	snapshot;
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
 * Begin a list over all partitions: the items of a type with these leading
 * key values of the path, before a cursor.
 */
ItemMerge *
item_merge_begin(Container container, ItemType type, AccessPath path,
				 const Datum *key, int nkeys, const Cursor *before,
				 Snapshot snapshot)
{
	ItemMerge  *merge = palloc0(sizeof(ItemMerge));

	merge->type = type;
	merge->snapshot = snapshot;
	container_lock(container, false);
	merge->n = container_partitions(container);
	merge->input = palloc(sizeof(MergeInput) * merge->n);
	merge->heap = binaryheap_allocate(merge->n, merge_compare, merge->input);
	for (int i = 0; i < merge->n; i++)
	{
		MergeInput *in = &merge->input[i];

		in->scan = item_scan_begin_partition(container, type, i, path, key,
											 nkeys, before,
											 BackwardScanDirection, snapshot);
		if (item_scan_next(in->scan, &in->item))
			binaryheap_add_unordered(merge->heap, Int32GetDatum(i));
	}
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
	if (merge->type == ITEM_POST)
		delta_add_up(out, merge->snapshot);
	return true;
}

void
item_merge_end(ItemMerge *merge)
{
	for (int i = 0; i < merge->n; i++)
		item_scan_end(merge->input[i].scan);
	binaryheap_free(merge->heap);
	pfree(merge->input);
	pfree(merge);
}
