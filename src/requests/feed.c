/*
 * feed.c
 *		The query list_feed() (Q6), which lists the posts of all users, the
 *		newest first, in short form (model/short_form/short_form.h).
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
 * Begin the query list_feed(). A page that extends beyond the oldest post of
 * the feed continues in the posts container. With oldest_first, a page that
 * begins with posts older than those in the feed is read from the posts
 * container only.
 *
 * A node of a cluster can run this query for another node (request_is_part).
 * The query then returns only posts that this node stores.
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
	page_find(&scan->page, ITEM_POST, NULL, NULL);
	if (ready)
		query_feed(scan);
	else
		query_posts(scan, NULL, &scan->page);
}
