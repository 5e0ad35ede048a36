/*
 * user_list.c
 *		A user's comments or likes in all partitions, as one list.
 *
 * Comments and likes lie in the partitions of their posts, so a page looks into all of
 * them, by an index that begins with the user, and merges what is there. Likes have the order
 * of their posts' ids, which their key has; by date they take an index that the site adds.
 * The user's id is the query's key.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

typedef struct UserList
{
	MergedScan *items;
	bool		started;		/* has the present one been given? */
} UserList;

static int
by_post(const BlogItem *a, const BlogItem *b)
{
	return memcmp(item_uuid(a, PROP_POST_ID), item_uuid(b, PROP_POST_ID), UUID_LEN);
}

/* What to read of each partition: the user's items by a path that has the order. */
static ItemQuery
items_of_user(const RequestScan *scan, AccessPath path)
{
	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = scan->query->type, .path = path,
		.key = scan->key_value, .nkeys = scan->nkeys,
		.backward = true, .shown = !scan->include_hidden,
		.rows = scan->page.size
	};
}

static void
begin_list(RequestScan *scan, const ItemQuery *query, ItemOrder order)
{
	scan->of_user = palloc0(sizeof(UserList));
	scan->of_user->items = merged_scan_begin(query, order);
	scan->left = scan->page.size;
}

/*
 * The date of a user's item by its id, in the millisecond before end, which its place in
 * the list is looked for by.
 */
static bool
find_in_millisecond(const RequestScan *scan, AccessPath path, const Cursor *end,
					TimestampTz *date)
{
	ItemQuery	query = items_of_user(scan, path);
	const ListPage *page = &scan->page;
	MergedScan *items;
	const BlogItem *item;
	bool		found = false;

	query.cursor = end;
	query.shown = false;
	query.rows = 0;
	items = merged_scan_begin(&query, merged_newest_first);
	while (!found && (item = merged_scan_item(items)) != NULL &&
		   item_date(item) >= page->before.date)
	{
		found = memcmp(item_uuid(item, PROP_ID), &page->before.id, UUID_LEN) == 0;
		*date = item_date(item);
		merged_scan_next(items);
	}
	merged_scan_end(items);
	return found;
}

/* Begin a list by date, with the page that was asked for. */
void
user_list_by_date(RequestScan *scan, AccessPath path)
{
	ItemQuery	query = items_of_user(scan, path);
	Cursor		end;

	container_lock(CONTAINER_POSTS, false);
	if (page_may_be_cut(&scan->page, &end))
	{
		TimestampTz date = 0;
		bool		found = !request_is_part &&
			find_in_millisecond(scan, path, &end, &date);

		page_begin(&scan->page, &end, found, date);
	}
	query.cursor = &scan->page.before;
	query.backward = !scan->page.oldest_first;
	begin_list(scan, &query, query.backward ? merged_newest_first :
			   merged_oldest_first);
}

/* Begin a list of likes in the order of their posts' ids, behind one (NULL: with the first). */
void
user_list_by_post(RequestScan *scan, const pg_uuid_t *post_id)
{
	ItemQuery	query = items_of_user(scan, PATH_KEY);
	ItemPlace	after = {.valid = post_id != NULL, .first = scan->key[0]};

	container_lock(CONTAINER_POSTS, false);
	if (after.valid)
		after.last = *post_id;
	query.after = &after;
	query.backward = false;
	begin_list(scan, &query, by_post);
}

/* The next item that is to be shown; false: there are no more. */
bool
user_list_next(RequestScan *scan, BlogItem *item)
{
	UserList   *list = scan->of_user;
	const BlogItem *present;

	do
	{
		if (list->started && merged_scan_item(list->items) != NULL)
			merged_scan_next(list->items);
		list->started = true;
		present = merged_scan_item(list->items);
		if (present == NULL)
		{
			scan->left = 0;
			return false;
		}
		*item = *present;
	} while (!query_shows(scan, item));
	if (scan->left > 0)
		scan->left--;
	return true;
}

/* End it, wherever it has come to. */
void
user_list_end(RequestScan *scan)
{
	merged_scan_end(scan->of_user->items);
	pfree(scan->of_user);
	scan->of_user = NULL;
}
