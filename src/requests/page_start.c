/*
 * page_start.c
 *		Finding where a page of a list begins, if the client has cut off the
 *		microseconds of a date.
 *
 * A client passes the creation_date and id of the last row of the page before.
 * Some clients cut dates to milliseconds (JavaScript's Date). A plain
 * comparison with the cut date would skip further rows of the same
 * millisecond.
 *
 * So if the date has no microseconds, the client's row is looked up by its id.
 * If the row has a date in this millisecond, the page begins after the row. If
 * the row does not exist any more, the page begins with all rows of the
 * millisecond. Some rows may then be returned twice, but none is skipped. The
 * nil id belongs to no row. It stands for the position before all rows with
 * the date.
 *
 * On a cluster, each node returns its part of the list from the beginning of
 * the millisecond on. The node that gathers the parts finds the client's row
 * in them (cluster/remote/gather_from_nodes.c).
 *
 * Posts, and comments on a post, have an index by id. For these the lookup
 * costs one index descent. For likes, follows and a user's comments, the
 * lookup reads the rows of the millisecond.
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

#define ONE_MS INT64CONST(1000)	/* one millisecond as a TimestampTz */

/*
 * Return whether the microseconds of a date are zero, so that a client may
 * have cut them off. To cut a date means to round down to a full millisecond,
 * also before the year 2000, when a TimestampTz is negative.
 */
static bool
date_may_be_cut(TimestampTz date)
{
	return !TIMESTAMP_NOT_FINITE(date) && date % ONE_MS == 0;
}

/*
 * Look up a post by its id, and set *date to its creation date. Returns false
 * if there is no such post.
 *
 * user_id: the user who must have written the post; NULL accepts any author
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
 * Look up a like or follow by its id, and set *date to its creation date.
 * These have no index by id, so search the items of one millisecond, which
 * ends at "end". Returns false if there is no such item.
 *
 * of: the post that is liked, or the user who follows
 * comment_id: the comment that is liked; NULL if the post is liked
 */
static bool
find_in_list(ItemType type, const pg_uuid_t *of, const pg_uuid_t *comment_id,
			 const pg_uuid_t *id, const Cursor *end, TimestampTz *date)
{
	Datum		key[] = {UUIDPGetDatum(of), UUIDPGetDatum(comment_id)};
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = type == ITEM_FOLLOW ? CONTAINER_USERS : CONTAINER_POSTS,
		.type = type, .partition_key = of, .path = PATH_LIST, .key = key,
		.nkeys = comment_id == NULL ? 1 : 2, .cursor = end, .backward = true
	});
	BlogItem	item;
	bool		found = false;

	while (!found && item_scan_next(scan, &item) &&
		   item_date(&item) >= end->date - ONE_MS)
	{
		found = memcmp(item_uuid(&item, PROP_ID), id, UUID_LEN) == 0;
		*date = item_date(&item);
	}
	item_scan_end(scan);
	return found;
}

/*
 * Set page->before so that the page begins with all rows of one millisecond.
 *
 * end: the end of this millisecond
 */
static void
begin_with_millisecond(ListPage *page, const Cursor *end)
{
	if (!page->oldest_first)
	{
		page->before = *end;
		return;
	}
	/*
	 * Set the position just before all rows with the client's date: one
	 * microsecond earlier, with the highest id.
	 */
	page->before.date--;
	memset(&page->before.id, 0xff, UUID_LEN);
}

/*
 * Return whether the client may have cut off the microseconds of page->before,
 * the position after which the page begins. If so, set *end to the end of the
 * millisecond.
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
 * The client has passed a row's date and id as before_date and before_id, and
 * may have cut off the date's microseconds. If the row exists, set the date in
 * page->before to the row's own date. If the row is gone, begin the page with
 * the newest row of this millisecond.
 *
 * end: the end of the millisecond, from page_may_be_cut()
 * found: whether the row exists
 * date: the row's creation date, if it exists
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
 * If the client may have cut off the microseconds of page->before, set
 * page->before to the exact position after which the page begins. Reads with
 * the active snapshot.
 *
 * type: type of the items in the list
 * of: if posts are listed, their author, or NULL for all authors; if comments
 *     or likes are listed, their post; if follows are listed, the user who
 *     follows
 * comment_id: if likes of a comment are listed, this comment; otherwise NULL
 */
void
page_find(ListPage *page, ItemType type, const pg_uuid_t *of,
		  const pg_uuid_t *comment_id)
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
		found = find_in_list(type, of, comment_id, &before->id, &end, &date);
	page_begin(page, &end, found, date);
}
