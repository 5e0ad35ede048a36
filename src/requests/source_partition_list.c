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
#include "storage/rows/merged_scan.h"
#include "storage/rows/rows.h"

typedef struct PartitionList
{
	SourceKey	key;
	Container	container;
	ItemScan   *items;			/* NULL if two indexes are merged */
	MergedScan *merged;
	bool		started;		/* whether an item of "merged" was read */
} PartitionList;

/* Read the next item of two merged indexes. Returns false at the end. */
static bool
next_of_both(PartitionList *list, BlogItem *item)
{
	if (list->started && merged_scan_item(list->merged) != NULL)
		merged_scan_next(list->merged);
	list->started = true;
	if (merged_scan_item(list->merged) == NULL)
		return false;
	*item = *merged_scan_item(list->merged);
	return true;
}

static bool
partition_list_next(RequestScan *scan, BlogItem *item)
{
	PartitionList *list = scan->state;

	do
	{
		if (list->items != NULL ? !item_scan_next(list->items, item) :
			!next_of_both(list, item))
			return false;
	} while (deleted_has_author(scan->deleted, item));
	query_complete(scan, item);
	return true;
}

static void
partition_list_explain(const RequestScan *scan, SourceReads *reads)
{
	const PartitionList *list = scan->state;

	reads->container = list->container;
	reads->leaves = 1;
	item_scan_tables(list->items != NULL ? list->items :
					 merged_scan_first(list->merged), &reads->leaf, &reads->index);
}

static void
partition_list_close(RequestScan *scan)
{
	PartitionList *list = scan->state;

	if (list->items != NULL)
		item_scan_end(list->items);
	else
		merged_scan_end(list->merged);
	pfree(list);
}

static const ItemSource partition_list = {
	.next = partition_list_next, .explain = partition_list_explain,
	.close = partition_list_close
};

static PartitionList *
make_list(RequestScan *scan, Container container, const pg_uuid_t *const *key,
		  int n)
{
	PartitionList *list = palloc0(sizeof(PartitionList));

	source_key_keep(&list->key, key, n);
	list->container = container;
	scan->source = &partition_list;
	scan->state = list;
	return list;
}

static ItemQuery
page_query(const RequestScan *scan, const PartitionList *list, AccessPath path)
{
	return (ItemQuery) {
		.container = list->container, .type = scan->query->type,
		.partition_key = &list->key.id[0], .path = path,
		.key = list->key.value, .nkeys = list->key.n,
		.cursor = &scan->page.before, .backward = !scan->page.oldest_first,
		.shown = !scan->include_hidden, .rows = scan->page.size
	};
}

/*
 * Set the source of a query to a page of a list that is in one partition.
 * Errors: those of item_scan_begin().
 *
 * path: the index to read, as an AccessPath
 * key, n: values of the first columns of the index; key[0] is also the
 *     partition key
 */
void
query_list(RequestScan *scan, Container container, AccessPath path,
		   const pg_uuid_t *const *key, int n)
{
	PartitionList *list = make_list(scan, container, key, n);
	const ItemQuery query = page_query(scan, list, path);

	list->items = item_scan_begin(&query);
}

/*
 * Make a query read a page of a list as query_list() does. The items of the
 * list are in two indexes, "path" and "other".
 */
static void
query_list_both(RequestScan *scan, Container container, AccessPath path,
				AccessPath other, const pg_uuid_t *const *key, int n)
{
	PartitionList *list = make_list(scan, container, key, n);
	const ItemQuery query[] = {
		page_query(scan, list, path), page_query(scan, list, other)
	};

	list->merged = merged_scan_of_queries(query, lengthof(query),
										  query[0].backward ?
										  merged_newest_first :
										  merged_oldest_first);
}

/*
 * Begin the query list_post_comments() or list_post_likes(). Errors: 22004,
 * 22023, 55000.
 */
void
query_on_post(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	bool		replies = scan->query->type == ITEM_COMMENT;

	get_page(fcinfo, 1, &scan->page);
	if (scan->query->type == ITEM_COMMENT)
	{
		scan->include_hidden = get_flag(fcinfo, 5, "include_hidden");
		replies = !get_flag(fcinfo, 6, "top_level");
	}
	query_ready(scan);
	if (deleted_has_author_of_post(scan->deleted, post_id))
		return;
	page_find(&scan->page, scan->query->type, post_id, NULL);
	if (replies)
		query_list_both(scan, CONTAINER_POSTS, PATH_LIST, PATH_REPLY_LIST,
						&post_id, 1);
	else
		query_list(scan, CONTAINER_POSTS, PATH_LIST, &post_id, 1);
}
