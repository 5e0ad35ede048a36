/*
 * feed.c
 *		List the posts of all users, the newest first, in short form (Q6).
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "utils/snapmgr.h"

QUERY_FUNCTION(list_feed, REQUEST_LIST_FEED, ITEM_POST,
			   .containers = "feed, posts", .view = true, .page_size_arg = 1);

/*
 * Q6: return a page of the feed. The view holds the newest posts. A page that
 * extends past the view's end continues in the posts container. If the page
 * runs towards newer posts and begins past that end, all of it is read from
 * the posts container. A request that returns one node's part of the list
 * reads the posts of that node.
 *
 * Errors: 22004, 22023, 55000.
 */
static void
list_feed(RequestScan *scan, FunctionCallInfo fcinfo)
{
	bool		ready;

	get_page(fcinfo, 0, &scan->page);
	query_ready(scan);
	ready = !request_is_part && views_ready(GetActiveSnapshot()) &&
		container_usable(CONTAINER_FEED);
	page_find(&scan->page, ITEM_POST, NULL);
	if (ready)
		query_feed(scan);
	else
		query_posts(scan, NULL, &scan->page);
}
