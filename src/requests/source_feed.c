/*
 * source_feed.c
 *		A source that reads a page of the list of all posts from the feed.
 *
 * If the list begins with the newest post, a page that extends beyond the feed
 * continues in the posts container. If the list begins with the oldest post,
 * the feed has only the end of the list. The feed is then used only if it has
 * all posts from the page's first post to the newest post.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

typedef struct FeedRows
{
	ItemScan   *rows;
	bool		continues;		/* whether the page continues in the posts
								 * container after the feed's last row */
	Cursor		last;			/* date and id of the last row that was read;
								 * if none was read, the position after which
								 * the page begins */
} FeedRows;

static void
feed_rows_close(RequestScan *scan)
{
	FeedRows   *feed = scan->state;

	item_scan_end(feed->rows);
	pfree(feed);
}

/* Make the posts container the source of the rest of the page. */
static void
continue_in_posts(RequestScan *scan)
{
	FeedRows   *feed = scan->state;
	ListPage	rest = {.size = scan->left, .before = feed->last};

	feed_rows_close(scan);
	scan->source = NULL;
	query_posts(scan, NULL, &rest);
}

static bool
feed_rows_next(RequestScan *scan, BlogItem *item)
{
	FeedRows   *feed = scan->state;

	while (item_scan_next(feed->rows, item))
	{
		if (feed->continues)
		{
			feed->last.valid = true;
			feed->last.date = item_date(item);
			feed->last.id = *item_uuid(item, PROP_ID);
		}
		if (!deleted_has_author(scan->deleted, item))
			return true;
	}
	if (!feed->continues || feed_is_whole())
		return false;
	continue_in_posts(scan);
	return scan->source->next(scan, item);
}

static void
feed_rows_explain(const RequestScan *scan, SourceReads *reads)
{
	const FeedRows *feed = scan->state;

	reads->container = CONTAINER_FEED;
	reads->leaves = 1;
	item_scan_tables(feed->rows, &reads->leaf, &reads->index);
}

static const ItemSource feed_rows = {
	.next = feed_rows_next, .explain = feed_rows_explain, .close = feed_rows_close
};

static void
read_feed(RequestScan *scan, bool continues)
{
	FeedRows   *feed = palloc(sizeof(FeedRows));

	feed->continues = continues;
	feed->last = scan->page.before;
	feed->rows = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST, .path = PATH_DATE,
		.cursor = &scan->page.before, .backward = !scan->page.oldest_first,
		.rows = scan->page.size
	});
	scan->source = &feed_rows;
	scan->state = feed;
}

/*
 * Return whether the feed has all posts that are newer than "place". If
 * place->valid is false, return whether the feed has all posts.
 */
static bool
feed_holds_end(const Cursor *place)
{
	return feed_is_whole() || (place->valid && feed_reaches(place));
}

/*
 * Set the source of a query to a page of the list of all posts. The page is
 * read from the feed, from the posts container, or from both. Errors: those of
 * item_scan_begin() and post_list_begin().
 */
void
query_feed(RequestScan *scan)
{
	if (!scan->page.oldest_first)
		read_feed(scan, true);
	else if (feed_holds_end(&scan->page.before))
		read_feed(scan, false);
	else
	{
		scan->out_of_view = true;
		query_posts(scan, NULL, &scan->page);
	}
}

/*
 * Set the source of a query to a page of the feed. The page does not continue
 * in the posts container. Errors: those of item_scan_begin().
 */
void
query_feed_alone(RequestScan *scan)
{
	read_feed(scan, false);
}
