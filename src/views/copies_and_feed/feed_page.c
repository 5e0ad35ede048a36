/*
 * feed_page.c
 *		Which pages of the list of all posts the feed has all of.
 *
 * On a cluster it holds the newest posts of each node, so many of each as the feed is to show. As many
 * of them as are the newest of all are in it, and behind these some may be missing. If it has
 * fewer rows than that, there are no more posts.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/settings.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/launcher/launcher.h"

#include "utils/snapmgr.h"

/*
 * How many rows from the top are sure to be the newest of all? On a standby, whose setting may be
 * another than its primary's, the size is what the snapshot sees written down.
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

/* How many rows stand before a place (not valid: all), or at it? It is enough to count so far. */
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
 * A page's cursor may have lost its microseconds (requests/page_start.c). If the row that it names
 * is in this node's feed, it gets them back; false: it is not.
 */
bool
feed_find_place(Cursor *before)
{
	BlogItem	row;
	Datum		key = UUIDPGetDatum(&before->id);
	/* the span of all dates is more than their type holds */
	bool		found = before->valid && !TIMESTAMP_NOT_FINITE(before->date) && item_get(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_KEY, .key = &key, .nkeys = 1
	}, &row);

	if (!found || item_date(&row) < before->date || item_date(&row) >= before->date + 1000)
		return false;
	before->date = item_date(&row);
	return true;
}

/* Has the feed of this node all of a page (size -1: to the end)? */
bool
feed_has_page(int64 size, const Cursor *before, bool oldest_first)
{
	static const Cursor nowhere = {.valid = false};
	int64		rows = rows_that_count();

	/* they may have become more since it was asked whether the view is served */
	pg_read_barrier();
	if (rows == 0 || !views_ready(GetActiveSnapshot()))
		return false;
	/* from the top, or towards it */
	if (!oldest_first && size >= 0 && size <= rows &&
		(!before->valid || rows_before(before, true, rows) + size <= rows))
		return true;
	if (oldest_first && before->valid && rows_before(before, false, rows) < rows)
		return true;
	return rows_before(&nowhere, false, rows) < rows;
}

/*
 * Does the capped view hold all posts? Read by the snapshot that reads the view, from the
 * row that is written with it.
 */
bool
feed_is_whole(void)
{
	ViewState	state;

	view_state_read(&state);
	return state.feed_whole;
}

/* Does the capped view reach back to a place? Then it holds all posts behind that. */
bool
feed_reaches(const Cursor *place)
{
	BlogItem	oldest;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST, .path = PATH_DATE,
		.identity = true
	});
	bool		reaches = item_scan_next(scan, &oldest) &&
		(item_date(&oldest) < place->date ||
		 (item_date(&oldest) == place->date &&
		  memcmp(item_uuid(&oldest, PROP_ID), &place->id, UUID_LEN) <= 0));

	item_scan_end(scan);
	return reaches;
}
