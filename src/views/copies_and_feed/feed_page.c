/*
 * feed_page.c
 *		Answers how far back the feed reaches. The feed holds only the newest
 *		posts, so a query that reads only the feed first asks these functions
 *		whether all posts that it may return are in the feed.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

/*
 * Return whether the feed holds all posts that lists show, so that the site
 * has no older ones. Reads view_state with the active snapshot. This row is
 * always written in the same transaction as the feed.
 */
bool
feed_is_whole(void)
{
	ViewState	state;

	view_state_read(&state);
	return state.feed_whole;
}

/*
 * Return whether the oldest row of the feed is at or behind "place" in the
 * list of posts, newest first. If so, the feed holds all posts that are newer
 * than the place.
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
