/*
 * by_author.c
 *		All posts, or all copies of posts, in the order of the copies' key: by
 *		(user_id, creation_date, id), over all partitions.
 *
 * Each partition's items are read by the index that has this order, and the first
 * of their first items is always the next. Reading goes on from any place in the
 * order.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "views/internal.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/* A partition's items. */
typedef struct AuthorInput
{
	ItemScan   *scan;
	BlogItem	item;			/* the scan's present item */
} AuthorInput;

struct AuthorList
{
	int			n;				/* of the partitions that are open */
	AuthorInput *input;
	binaryheap *heap;			/* of indexes into input */
	MemoryContext context;		/* where scans allocate (btgettuple() does) */
};

/* Which item comes first? Negative: a. */
int
author_order(const BlogItem *a, const BlogItem *b)
{
	int			order = memcmp(item_uuid(a, PROP_USER_ID),
							   item_uuid(b, PROP_USER_ID), UUID_LEN);
	TimestampTz da = item_date(a);
	TimestampTz db = item_date(b);

	if (order != 0)
		return order;
	if (da != db)
		return da < db ? -1 : 1;
	return memcmp(item_uuid(a, PROP_ID), item_uuid(b, PROP_ID), UUID_LEN);
}

/* The heap's first is what comes first. */
static int
compare_inputs(Datum a, Datum b, void *arg)
{
	const AuthorInput *input = arg;

	return author_order(&input[DatumGetInt32(b)].item,
						&input[DatumGetInt32(a)].item);
}

/*
 * Open each partition; false if partitions came or went meanwhile, by which their
 * numbers change.
 */
static bool
open_inputs(AuthorList *list, ItemQuery *query)
{
	int			n = partition_count(query->container, query->type);
	uint64		loads = container_loads();

	list->n = 0;
	list->input = palloc(sizeof(AuthorInput) * Max(n, 1));
	for (query->partition = partition_first(query->container, query->type);
		 query->partition != NO_PARTITION;
		 query->partition = partition_after(query->container, query->type,
											query->partition))
	{
		if (container_loads() != loads)
			return false;
		list->input[list->n++].scan = item_scan_begin(query);
	}
	return container_loads() == loads;
}

static void
close_inputs(AuthorList *list)
{
	for (int i = 0; i < list->n; i++)
		item_scan_end(list->input[i].scan);
	pfree(list->input);
}

/*
 * Begin a list of what a query asks for, whose path is in this order, over all
 * partitions. The caller has the container locked, which holds partitions still
 * but for DETACH PARTITION ... CONCURRENTLY.
 */
AuthorList *
author_list_begin(const ItemQuery *query)
{
	AuthorList *list = palloc0(sizeof(AuthorList));
	ItemQuery	each = *query;

	list->context = CurrentMemoryContext;
	while (!open_inputs(list, &each))
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

/* Where the present item comes from. */
static AuthorInput *
present_input(const AuthorList *list)
{
	return &list->input[DatumGetInt32(binaryheap_first(list->heap))];
}

/* The present item; its values hold until the next one's. NULL: at the end. */
const BlogItem *
author_list_item(const AuthorList *list)
{
	return binaryheap_empty(list->heap) ? NULL : &present_input(list)->item;
}

/* The scan that has found the present item. */
ItemScan *
author_list_scan(const AuthorList *list)
{
	return present_input(list)->scan;
}

/* Go on to the next item. */
void
author_list_next(AuthorList *list)
{
	AuthorInput *input = present_input(list);
	MemoryContext old = MemoryContextSwitchTo(list->context);

	if (item_scan_next(input->scan, &input->item))
		binaryheap_replace_first(list->heap, binaryheap_first(list->heap));
	else
		(void) binaryheap_remove_first(list->heap);
	MemoryContextSwitchTo(old);
}

/* End a list, wherever it has come to. */
void
author_list_end(AuthorList *list)
{
	close_inputs(list);
	binaryheap_free(list->heap);
	pfree(list);
}
