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
 * Begin list_feed(). The feed contains the newest posts. A page that extends
 * beyond its oldest post continues in the posts container. If the list is
 * oldest first and the page begins with posts older than those in the feed,
 * the whole page is read from the posts container. A node that returns its
 * part of the list for another node reads only its own posts.
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
