/*
 * feed_page.c
 *		Decides whether a query can be answered from the feed, which holds only
 *		the newest posts.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

/*
 * Return whether the feed holds all posts of the site that are not hidden.
 * Reads the table view_state with the active snapshot. feed_write() writes the
 * feed and view_state in one transaction, so the two agree.
 */
bool
feed_is_whole(void)
{
	ViewState	state;

	view_state_read(&state);
	return state.feed_whole;
}

/*
 * Return whether the feed holds all posts that are newer than "place" (a
 * creation date and an id). This is the case if the oldest row of the feed is
 * not newer than "place".
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
