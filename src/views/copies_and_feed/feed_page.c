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
 * Return whether the feed holds all posts of the site that lists show. Reads
 * the row of view_state with the active snapshot. That row always agrees with
 * the feed, because one transaction writes both.
 */
bool
feed_is_whole(void)
{
	ViewState	state;

	view_state_read(&state);
	return state.feed_whole;
}

/*
 * Return whether the oldest row of the feed is as old as the post at "place",
 * or older. If so, the feed holds all posts that are newer than "place".
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
