/*
 * post_list.c
 *		Lists of posts over all partitions, by (creation_date, id), newest first.
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

typedef struct ListInput
{
	ItemScan   *scan;
	BlogItem	item;			/* the scan's present item */
} ListInput;

struct PostList
{
	int			n;				/* of the partitions' lists that are open */
	ListInput *input;
	binaryheap *heap;			/* of indexes into input */
	ItemQuery	query;			/* of one partition's list */
	bool		started;		/* is the top one already handed out? */
};

/* The heap's first is the newest. */
static int
compare_inputs(Datum a, Datum b, void *arg)
{
	const ListInput *input = arg;
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
open_inputs(PostList *list)
{
	ItemQuery  *query = &list->query;
	int			n = partition_count(query->container, query->type);
	uint64		loads = layout_loads();

	list->n = 0;
	list->input = palloc(sizeof(ListInput) * Max(n, 1));
	for (query->partition = partition_first(query->container, query->type);
		 query->partition != NO_PARTITION;
		 query->partition = partition_after(query->container, query->type,
											query->partition))
	{
		if (layout_loads() != loads)
			return false;
		list->input[list->n++].scan = item_scan_begin(query);
	}
	return layout_loads() == loads;
}

static void
close_inputs(PostList *list)
{
	for (int i = 0; i < list->n; i++)
		item_scan_end(list->input[i].scan);
	pfree(list->input);
}

/*
 * Begin a list over all partitions of the posts that a query asks for, newest first.
 * Partitions are held still by the lock on the container, but for DETACH
 * PARTITION ... CONCURRENTLY.
 */
PostList *
post_list_begin(const ItemQuery *query)
{
	Container	container = query->container;
	PostList   *list = palloc0(sizeof(PostList));

	Assert(query->type == ITEM_POST);
	list->query = *query;
	list->query.backward = true;
	list->query.snapshot = query->snapshot ? query->snapshot :
		GetActiveSnapshot();
	container_lock(container, false);
	while (!open_inputs(list))
	{
		close_inputs(list);
		CHECK_FOR_INTERRUPTS();
	}
	list->heap = binaryheap_allocate(Max(list->n, 1), compare_inputs,
									  list->input);
	for (int i = 0; i < list->n; i++)
		if (item_scan_next(list->input[i].scan, &list->input[i].item))
			binaryheap_add_unordered(list->heap, Int32GetDatum(i));
	binaryheap_build(list->heap);
	return list;
}

/*
 * The next newest post, with its counts; false at the end. Its values hold until
 * the next call.
 */
bool
post_list_next(PostList *list, BlogItem *out)
{
	ListInput *in;

	if (list->started && !binaryheap_empty(list->heap))
	{
		in = &list->input[DatumGetInt32(binaryheap_first(list->heap))];
		if (item_scan_next(in->scan, &in->item))
			binaryheap_replace_first(list->heap,
									 binaryheap_first(list->heap));
		else
			(void) binaryheap_remove_first(list->heap);
	}
	list->started = true;
	if (binaryheap_empty(list->heap))
		return false;
	in = &list->input[DatumGetInt32(binaryheap_first(list->heap))];
	*out = in->item;
	post_add_up(out, list->query.snapshot);
	return true;
}

/* End a list, wherever it has come to. */
void
post_list_end(PostList *list)
{
	close_inputs(list);
	binaryheap_free(list->heap);
	pfree(list);
}
