/*
 * feed_page.c
 *		Which posts the feed holds.
 *
 * The feed holds only the newest posts. Before a query relies on the feed
 * alone, it asks here whether the feed has all posts, or all that are newer
 * than a place in the list.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

/*
 * Return whether the feed holds all posts that lists show, so that there are
 * no older ones. Reads, with the active snapshot, a flag that is always
 * written in the same transaction as the feed.
 */
bool
feed_is_whole(void)
{
	ViewState	state;

	view_state_read(&state);
	return state.feed_whole;
}

/*
 * Return whether the feed reaches back to a place in the list of posts. If so,
 * it holds all posts that are newer than the place.
 */
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
