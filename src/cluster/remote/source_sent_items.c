/*
 * source_sent_items.c
 *		A source of items for queries (ItemSource in requests/requests.h): the
 *		items that other nodes have sent.
 *
 * Runs in backends and the worker.
 */
#include "postgres.h"

#include "cluster/remote/remote_call.h"
#include "requests/requests.h"
#include "storage/blog_item.h"

/*
 * Set *item to the next item that other nodes have sent. Returns false after
 * the last item.
 */
bool
remote_items_next(RemoteItems *items, BlogItem *item)
{
	if (items->next == items->rows.n)
		return false;
	remote_item_of_row(item, items->type, items->rows.desc,
					   items->rows.row[items->next++]);
	return true;
}

static bool
sent_items_next(RequestScan *scan, BlogItem *item)
{
	return remote_items_next(scan->state, item);
}

static void
sent_items_close(RequestScan *scan)
{
	pfree(scan->state);
}

static const ItemSource sent_items = {
	.next = sent_items_next, .close = sent_items_close
};

/*
 * Make a query return items that other nodes have sent. All of them must
 * belong to the query's page.
 */
void
query_sent_items(RequestScan *scan, RemoteItems *items)
{
	scan->source = &sent_items;
	scan->state = items;
}
