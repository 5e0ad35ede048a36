/*
 * source_one_item.c
 *		A source that reads the one item with a given primary key, if the item
 *		exists.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

typedef struct OneItem
{
	SourceKey	key;
	Container	container;
	ItemScan   *items;
} OneItem;

/*
 * Read the item. If it is a post, and the caller needs its counts, add the
 * post's deltas to them. If it is a comment, also set the fields that the
 * tables do not store (query_complete()).
 */
static bool
one_item_next(RequestScan *scan, BlogItem *item)
{
	OneItem    *one = scan->state;

	if (!item_scan_next(one->items, item))
		return false;
	if (query_wants_counts(scan))
		post_add_up(item, GetActiveSnapshot());
	if (!query_shows(scan, item))
		return false;
	query_complete(scan, item);
	return true;
}

static void
one_item_explain(const RequestScan *scan, SourceReads *reads)
{
	const OneItem *one = scan->state;

	reads->container = one->container;
	reads->leaves = 1;
	item_scan_tables(one->items, &reads->leaf, &reads->index);
}

static void
one_item_close(RequestScan *scan)
{
	OneItem    *one = scan->state;

	item_scan_end(one->items);
	pfree(one);
}

static const ItemSource one_item = {
	.next = one_item_next, .explain = one_item_explain, .close = one_item_close
};

/*
 * Set the source of a query to the item with a given primary key. Errors:
 * those of item_scan_begin().
 *
 * type: the item's type. It may differ from the type of the query's result:
 *     get_like() returns likes, and also reads likes of comments.
 * key, n: values of the primary key columns
 */
void
query_one(RequestScan *scan, Container container, ItemType type,
		  const pg_uuid_t *partition_key, const pg_uuid_t *const *key, int n)
{
	OneItem    *one = palloc(sizeof(OneItem));

	source_key_keep(&one->key, key, n);
	one->container = container;
	one->items = item_scan_begin(&(ItemQuery) {
		.container = container, .type = type,
		.partition_key = partition_key, .path = PATH_KEY,
		.key = one->key.value, .nkeys = n
	});
	scan->page.size = 1;
	scan->source = &one_item;
	scan->state = one;
}
