/*
 * feed.c
 *		Q6 list the most recent posts of all users, in short form.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "members/members.h"
#include "requests/request.h"
#include "settings.h"
#include "state/state.h"

#include "utils/snapmgr.h"

REQUEST_FUNCTION(list_feed, REQUEST_LIST_FEED);

/* The part of a page that the capped view holds; moves the cursor on. */
static void
list_from_view(ResultSet *result, ListPage *page)
{
	BlogItem	item;
	Cursor		before = page->before;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST, .path = PATH_DATE,
		.before = &before, .backward = true
	});

	while (!page_full(result, page) && item_scan_next(scan, &item))
	{
		if (!deleted_has_author(result->deleted, &item))
			result_add(result, &item, 0);
		page->before.valid = true;
		page->before.date = item_date(&item);
		page->before.id = *item_uuid(&item, PROP_ID);
	}
	item_scan_end(scan);
}

/*
 * Q6: a page of the feed. The view holds the newest posts; a page that goes
 * past its end continues in the posts container.
 *
 * Errors: 22023, 55000.
 */
static Datum
list_feed(PG_FUNCTION_ARGS)
{
	ResultSet	result;
	ListPage	page;
	BlogItem	item;
	PostList   *list;

	get_page(fcinfo, 0, &page);
	container_require();
	result_begin(&result, fcinfo, ITEM_POST);
	page_find(&page, ITEM_POST, NULL);
	if (views_ready(GetActiveSnapshot()) && container_usable(CONTAINER_FEED))
		list_from_view(&result, &page);
	if (page_full(&result, &page))
		return (Datum) 0;

	list = post_list_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .path = PATH_DATE,
		.before = &page.before
	});
	while (!page_full(&result, &page) && post_list_next(list, &item))
		if (!deleted_has_author(result.deleted, &item))
			result_add(&result, &item, blogstore_short_form_length);
	post_list_end(list);
	return (Datum) 0;
}
