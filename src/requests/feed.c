/*
 * feed.c
 *		Q6 list the posts of all users, the most recent first, in short form.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "cluster/remote/remote.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "utils/snapmgr.h"

QUERY_FUNCTION(list_feed, REQUEST_LIST_FEED, ITEM_POST,
			   .containers = "feed, posts", .view = true, .page_size_arg = 1);

/*
 * Q6: a page of the feed. The view holds the newest posts; a page that goes
 * past its end continues in the posts container, and one that goes towards the
 * newest is read there if it begins past that end. On a cluster this node's view has all
 * of it, or all nodes are asked.
 *
 * Errors: 22004, 22023, 55000.
 */
static void
list_feed(RequestScan *scan, FunctionCallInfo fcinfo)
{
	bool		asks = layout_is_spread() && !request_is_part;
	bool		ready;

	get_page(fcinfo, 0, &scan->page);
	query_ready(scan);
	ready = views_ready(GetActiveSnapshot()) && container_usable(CONTAINER_FEED);
	if (!asks)
		page_find(&scan->page, ITEM_POST, NULL);
	else if (scan->page.before.valid && !feed_find_place(&scan->page.before))
		ready = false;			/* where the page begins the nodes know */
	if (ready && (asks ? scan->deleted == NULL &&
				  feed_has_page(scan->page.size, &scan->page.before,
								scan->page.oldest_first) : !layout_is_spread()))
		query_feed(scan);
	else if (!asks)
		query_posts(scan, NULL);	/* of a node's part, its own posts */
	else
	{
		scan->remote = remote_gather(scan->query->name, ITEM_POST, fcinfo);
		scan->left = -1;
	}
}
