/*
 * page_start.c
 *		Finding where a page begins if its cursor may have lost its
 *		microseconds.
 *
 * A cursor is the creation_date and id of a row. A client whose dates have
 * milliseconds only (JavaScript's Date) passes a date with the rest cut off. A
 * comparison with that date would skip rows of the same millisecond that
 * follow the row.
 *
 * So if a cursor's date has no microseconds, it may have been cut off. The row
 * is then looked up by its id. If its date lies in that millisecond, the page
 * begins after the row, in either direction. If there is no such row any more,
 * the page begins with the whole millisecond: some rows may be returned twice,
 * but none is skipped. The nil id stands for no row but for the place before
 * all rows of the date.
 *
 * On a cluster, a node's part of a list begins with the whole millisecond. The
 * node that gathers the parts finds the row in them
 * (cluster/remote/gather_from_nodes.c).
 *
 * The lookup costs one index descent: posts, and comments on a post, have an
 * index by id. For likes, and for a user's comments, it reads the rows of that
 * millisecond.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

#define ONE_MS INT64CONST(1000)	/* in microseconds */

/*
 * Return whether a date may have been cut off to milliseconds. The remainder
 * is zero for a cut-off date before 2000 as well, because cutting off rounds
 * down.
 */
static bool
date_may_be_cut(TimestampTz date)
{
	return !TIMESTAMP_NOT_FINITE(date) && date % ONE_MS == 0;
}

/*
 * Look up the date of a post by its id. If user_id is not NULL, the post must
 * be this user's.
 */
static bool
find_post(const pg_uuid_t *user_id, const pg_uuid_t *id, TimestampTz *date)
{
	Datum		key = UUIDPGetDatum(id);
	ItemScan   *scan;
	BlogItem	post;
	bool		found;

	if (request_is_part || !partition_exists_for(CONTAINER_POSTS, ITEM_POST, id))
		return false;
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .partition_key = id,
		.path = PATH_KEY, .key = &key, .nkeys = 1
	});
	found = item_scan_next(scan, &post) && item_is_by(&post, user_id);
	if (found)
		*date = item_date(&post);
	item_scan_end(scan);
	return found;
}

/* Look up the date of a comment on a post by its id. */
static bool
find_comment(const pg_uuid_t *post_id, const pg_uuid_t *id, TimestampTz *date)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2
	});
	BlogItem	comment;
	bool		found = item_scan_next(scan, &comment);

	if (found)
		*date = item_date(&comment);
	item_scan_end(scan);
	return found;
}

/*
 * Look up the date of a like on a post by its id, among the likes in the
 * millisecond before end.
 */
static bool
find_like(const pg_uuid_t *post_id, const pg_uuid_t *id, const Cursor *end,
		  TimestampTz *date)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_LIKE,
		.partition_key = post_id, .path = PATH_LIST, .key = &key, .nkeys = 1,
		.cursor = end, .backward = true
	});
	BlogItem	like;
	bool		found = false;

	while (!found && item_scan_next(scan, &like) &&
		   item_date(&like) >= end->date - ONE_MS)
	{
		found = memcmp(item_uuid(&like, PROP_ID), id, UUID_LEN) == 0;
		*date = item_date(&like);
	}
	item_scan_end(scan);
	return found;
}

/*
 * Set the page's cursor so that the page contains all rows of its millisecond.
 */
static void
begin_with_millisecond(ListPage *page, const Cursor *end)
{
	if (!page->oldest_first)
	{
		page->before = *end;
		return;
	}
	/* the last place before all rows of that date */
	page->before.date--;
	memset(&page->before.id, 0xff, UUID_LEN);
}

/*
 * Return whether a page's cursor may have been cut off to milliseconds. If so,
 * *end becomes the end of the cursor's millisecond.
 */
bool
page_may_be_cut(const ListPage *page, Cursor *end)
{
	if (!page->before.valid || !date_may_be_cut(page->before.date))
		return false;
	memset(end, 0, sizeof(*end));
	end->valid = true;
	end->date = page->before.date + ONE_MS;
	return true;
}

/*
 * Set the page's cursor to the place at which the page begins. If the row was
 * found, date is the row's date.
 */
void
page_begin(ListPage *page, const Cursor *end, bool found, TimestampTz date)
{
	static const pg_uuid_t nil = {{0}};

	if (found && date >= page->before.date && date < end->date)
		page->before.date = date;
	else if (memcmp(&page->before.id, &nil, UUID_LEN) != 0)
		begin_with_millisecond(page, end);
}

/*
 * Look up where a page begins, with the active snapshot, and set its cursor.
 * type is the type of the list's items. of is the user whose posts the list
 * contains (NULL: all users), or the post whose comments or likes it contains.
 */
void
page_find(ListPage *page, ItemType type, const pg_uuid_t *of)
{
	Cursor	   *before = &page->before;
	Cursor		end;
	TimestampTz date = 0;
	bool		found;
	const ClusterCalls *cluster;

	if (!page_may_be_cut(page, &end))
		return;
	cluster = cluster_calls();
	if (type == ITEM_POST && of != NULL && cluster != NULL && !request_is_part)
		found = cluster->find_post_of_user(of, &before->id, before->date, &end, &date);
	else if (type == ITEM_POST)
		found = find_post(of, &before->id, &date);
	else if (type == ITEM_COMMENT)
		found = find_comment(of, &before->id, &date);
	else
		found = find_like(of, &before->id, &end, &date);
	page_begin(page, &end, found, date);
}
