/*
 * feed.c
 *		Q6 list the posts of all users, the most recent first, in short form.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "members/members.h"
#include "requests/request.h"
#include "state/state.h"

#include "utils/snapmgr.h"

QUERY_FUNCTION(list_feed, REQUEST_LIST_FEED, ITEM_POST);
QUERY_FUNCTION_0_2(list_feed, REQUEST_LIST_FEED, ITEM_POST);

/*
 * Q6: a page of the feed. The view holds the newest posts; a page that goes
 * past its end continues in the posts container, and one that goes towards the
 * newest is read there if it begins past that end.
 *
 * Errors: 22004, 22023, 55000.
 */
static void
list_feed(RequestScan *scan, FunctionCallInfo fcinfo)
{
	get_page(fcinfo, 0, &scan->page);
	query_ready(scan);
	page_find(&scan->page, ITEM_POST, NULL);
	if (views_ready(GetActiveSnapshot()) && container_usable(CONTAINER_FEED))
		query_feed(scan);
	else
		query_posts(scan, NULL);
}
