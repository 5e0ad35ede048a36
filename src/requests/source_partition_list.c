/*
 * source_partition_list.c
 *		A source that reads a page of a list whose items are all in one
 *		partition: the copies of a user's posts, the comments or likes on a
 *		post, or the replies to a comment.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

typedef struct PartitionList
{
	SourceKey	key;
	Container	container;
	ItemScan   *items;
} PartitionList;

static bool
partition_list_next(RequestScan *scan, BlogItem *item)
{
	PartitionList *list = scan->state;

	do
	{
		if (!item_scan_next(list->items, item))
			return false;
	} while (deleted_has_author(scan->deleted, item));
	if (query_wants_parent_deleted(scan))
		query_set_parent_deleted(scan, item);
	return true;
}

static void
partition_list_explain(const RequestScan *scan, SourceReads *reads)
{
	const PartitionList *list = scan->state;

	reads->container = list->container;
	reads->leaves = 1;
	item_scan_tables(list->items, &reads->leaf, &reads->index);
}

static void
partition_list_close(RequestScan *scan)
{
	PartitionList *list = scan->state;

	item_scan_end(list->items);
	pfree(list);
}

static const ItemSource partition_list = {
	.next = partition_list_next, .explain = partition_list_explain,
	.close = partition_list_close
};

/*
 * Set the source of a query to a page of a list that is in one partition.
 * Errors: those of item_scan_begin().
 *
 * path: stands for an index
 * key, n: values of the first columns of the index; key[0] is also the
 *     partition key
 */
void
query_list(RequestScan *scan, Container container, AccessPath path,
		   const pg_uuid_t *const *key, int n)
{
	PartitionList *list = palloc(sizeof(PartitionList));

	source_key_keep(&list->key, key, n);
	list->container = container;
	list->items = item_scan_begin(&(ItemQuery) {
		.container = container, .type = scan->query->type,
		.partition_key = &list->key.id[0], .path = path,
		.key = list->key.value, .nkeys = n, .cursor = &scan->page.before,
		.backward = !scan->page.oldest_first, .shown = !scan->include_hidden,
		.rows = scan->page.size
	});
	scan->source = &partition_list;
	scan->state = list;
}

/*
 * Begin the query list_post_comments() or list_post_likes(). Errors: 22004,
 * 22023, 55000.
 */
void
query_on_post(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");

	get_page(fcinfo, 1, &scan->page);
	if (scan->query->type == ITEM_COMMENT)
		scan->include_hidden = get_flag(fcinfo, 5, "include_hidden");
	query_ready(scan);
	if (deleted_has_author_of_post(scan->deleted, post_id))
		return;
	page_find(&scan->page, scan->query->type, post_id);
	query_list(scan, CONTAINER_POSTS, PATH_LIST, &post_id, 1);
}
