/*
 * page_start.c
 *		Where a page begins whose cursor may have lost its microseconds.
 *
 * The place of a row is its creation_date and id. A client whose dates have
 * milliseconds (JavaScript's Date) hands back the date of the row with the rest
 * cut off, and by the date alone all rows of that millisecond that come behind
 * it would be skipped. The id still says which row it was. So a date without
 * microseconds is taken for one that may have been cut: the row is looked up by
 * its id, and if its date lies in that millisecond, the page begins behind it, be
 * that with what is older or, oldest first, with what is newer. If there is no such
 * row (any more), the page begins with the whole of that millisecond: rows may come
 * twice then, but none is skipped. Only the nil id means no row, but the place before
 * all of a date: older rows lie on one side of it, all of that date on the other.
 *
 * A node's part of a list begins with the millisecond. The node that puts the parts together
 * finds the row in them (cluster/remote/gather_from_nodes.c).
 *
 * It costs one descent of an index more: posts, and comments on a post, have an index by
 * id. Of likes, and of a user's comments, the rows of the one millisecond are read.
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
 * May it have been cut to milliseconds? Dates count from the start of a second,
 * backward too, so that what was cut off is below the next one in any year.
 */
static bool
date_may_be_cut(TimestampTz date)
{
	return !TIMESTAMP_NOT_FINITE(date) && date % ONE_MS == 0;
}

/* The date of a post by its id (user_id not NULL: of this user's only). */
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

/* The date of a comment on a post by its id. */
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

/* The date of a like of a post by its id, in the millisecond before end. */
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

/* Make a cursor the place from which on a page holds the whole of its millisecond. */
static void
begin_with_millisecond(ListPage *page, const Cursor *end)
{
	if (!page->oldest_first)
	{
		page->before = *end;
		return;
	}
	/* behind the last place before the first of that date */
	page->before.date--;
	memset(&page->before.id, 0xff, UUID_LEN);
}

/*
 * May a page's cursor have lost its microseconds? *end: then, the end of its millisecond.
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

/* Make it the place at which the page begins; the date of its row, if it was found. */
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
 * Make a page's cursor the place at which the page begins, by the active
 * snapshot. type: what the list is of; of: whose posts (NULL: everybody's), or
 * the post whose comments or likes.
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
