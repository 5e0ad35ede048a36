/*
 * view_pages.c
 *		Pages of lists that are read from the views on a cluster: whether this
 *		node's feed has all rows of a page, and where a page of a user's posts
 *		begins.
 *
 * The feed of each node has at least the N newest posts of every node, where N
 * is the result of rows_that_count(). So the first N rows of a feed, from the
 * newest on, are the newest posts of the cluster. After these rows, posts may
 * be missing. A feed with fewer than N rows contains all posts of the cluster.
 *
 * A cursor is the date and id of the row after which a page begins.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/settings.h"
#include "cluster/remote/remote_call.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/launcher/launcher.h"

#include "access/xlog.h"
#include "utils/snapmgr.h"

/*
 * Return how many of the newest rows of this node's feed are known to be the
 * newest posts of the cluster. A standby uses the feed size in the table
 * view_state, because its own setting may differ from the primary's.
 */
static int64
rows_that_count(void)
{
	WorkerEntry *entry = my_worker_entry();
	int64		size = entry ? pg_atomic_read_u32(&entry->feed_size) : 0;

	if (RecoveryInProgress())
	{
		ViewState	state;

		view_state_read(&state);
		size = state.feed_size;
	}
	return Min(size, blogstore_feed_size);
}

/*
 * Return how many rows of this node's feed are newer than a cursor, but at
 * most "enough".
 *
 * place: the cursor. If place->valid is false, all rows of the feed count.
 * at_it: whether the cursor's row counts, too
 */
static int64
rows_before(const Cursor *place, bool at_it, int64 enough)
{
	BlogItem	row;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_DATE, .backward = true,
		.identity = true
	});

	while (n < enough && item_scan_next(scan, &row))
	{
		int			order = memcmp(item_uuid(&row, PROP_ID), &place->id, UUID_LEN);

		if (place->valid && item_date(&row) != place->date)
			order = item_date(&row) > place->date ? 1 : -1;
		if (place->valid && (order < 0 || (order == 0 && !at_it)))
			break;
		n++;
	}
	item_scan_end(scan);
	return n;
}

/*
 * Set a cursor's date to the exact date of the cursor's row, read from this
 * node's feed. The client may have rounded the cursor's date down to
 * milliseconds (requests/page_start.c). Returns false if the feed does not
 * have the row.
 */
static bool
find_place(Cursor *before)
{
	BlogItem	row;
	Datum		key = UUIDPGetDatum(&before->id);
	/* before->date + 1000 would overflow for infinite dates. */
	bool		found = before->valid && !TIMESTAMP_NOT_FINITE(before->date) && item_get(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_KEY, .key = &key, .nkeys = 1
	}, &row);

	if (!found || item_date(&row) < before->date || item_date(&row) >= before->date + 1000)
		return false;
	before->date = item_date(&row);
	return true;
}

/*
 * Return whether this node's feed has all rows of a page. A page->size of -1
 * means that the page extends to the end of the list.
 */
static bool
has_page(const ListPage *page)
{
	static const Cursor nowhere = {.valid = false};
	int64		rows = rows_that_count();

	/*
	 * The result of rows_that_count() may have grown since the active snapshot
	 * was taken. If this snapshot does not see the new rows of the feed,
	 * views_ready() returns false.
	 */
	pg_read_barrier();
	if (rows == 0 || !views_ready(GetActiveSnapshot()))
		return false;
	/*
	 * This test is for a page towards older rows, the next one for newer rows.
	 */
	if (!page->oldest_first && page->size >= 0 && page->size <= rows &&
		(!page->before.valid ||
		 rows_before(&page->before, true, rows) + page->size <= rows))
		return true;
	if (page->oldest_first && page->before.valid &&
		rows_before(&page->before, false, rows) < rows)
		return true;
	return rows_before(&nowhere, false, rows) < rows;
}

/*
 * Begin list_feed() on the node on which the client has called it. Read the
 * page from this node's feed if the feed has all rows of the page. Otherwise
 * read the page from all nodes. Errors: those of the query.
 */
void
remote_begin_feed(RequestScan *scan, FunctionCallInfo fcinfo)
{
	ListPage   *page = &scan->page;

	get_page(fcinfo, 0, page);
	query_ready(scan);
	if (views_ready(GetActiveSnapshot()) && container_usable(CONTAINER_FEED) &&
		(!page->before.valid || find_place(&page->before)) &&
		scan->deleted == NULL && has_page(page))
		query_feed_alone(scan);
	else
		query_sent_items(scan, remote_gather(scan->query->name, ITEM_POST, fcinfo));
}

/*
 * Find the post with a given id among the posts of a user. Only posts whose
 * date is at or after "from" and before "end" are found. Sets *date to the
 * post's date. Returns whether the post was found. Reads the copies of the
 * user's posts, because the posts themselves may be on other nodes.
 */
bool
remote_find_post_of_user(const pg_uuid_t *user_id, const pg_uuid_t *id,
						 TimestampTz from, const Cursor *end, TimestampTz *date)
{
	Datum		key = UUIDPGetDatum(user_id);
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_POST,
		.partition_key = user_id, .path = PATH_LIST, .key = &key, .nkeys = 1,
		.cursor = end, .backward = true
	});
	BlogItem	copy;
	bool		found = false;

	while (!found && item_scan_next(scan, &copy) && item_date(&copy) >= from)
	{
		found = memcmp(item_uuid(&copy, PROP_ID), id, UUID_LEN) == 0;
		*date = item_date(&copy);
	}
	item_scan_end(scan);
	return found;
}
