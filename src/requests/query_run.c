/*
 * query_run.c
 *		Queries: from what one asks for to its items, one after another.
 *
 * A query begins by checking its arguments, and says what it wants by one of
 * the functions query_one() to query_on_post(), or query_ids(). Whoever has begun it takes the
 * items: its function of SQL, which returns them as a set, or a scan that takes
 * no more of them than are wanted (requests/custom_scan/).
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "cluster/remote/remote.h"
#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "utils/snapmgr.h"

/* ------------------------------------------------------------------------
 * What a query asks for
 * ------------------------------------------------------------------------ */

/*
 * Its arguments are right. Errors: 55000 if there are no containers, or the row
 * type was altered.
 */
void
query_ready(RequestScan *scan)
{
	container_require();
	if (scan->desc != NULL)
		check_row_type(scan->desc, scan->query->type);
	else
		check_row_type_of(scan->row_type, scan->query->type);
	scan->deleted = deleted_users(GetActiveSnapshot());
}

/* Keep the first columns of an index by which items are found. */
void
query_keep_key(RequestScan *scan, const pg_uuid_t *const *key, int nkeys)
{
	for (int i = 0; i < nkeys; i++)
	{
		scan->key[i] = *key[i];
		scan->key_value[i] = UUIDPGetDatum(&scan->key[i]);
	}
	scan->nkeys = nkeys;
}

/* The one item, or none, that a key names. */
void
query_one(RequestScan *scan, Container container,
		  const pg_uuid_t *partition_key, const pg_uuid_t *const *key, int nkeys)
{
	query_keep_key(scan, key, nkeys);
	scan->container = container;
	scan->single = true;
	scan->left = 1;
	scan->items = item_scan_begin(&(ItemQuery) {
		.container = container, .type = scan->query->type,
		.partition_key = partition_key, .path = PATH_KEY,
		.key = scan->key_value, .nkeys = nkeys
	});
}

/* A page of a list whose key was kept, in the logical partition of its first column. */
static void
begin_page(RequestScan *scan, Container container, AccessPath path)
{
	scan->container = container;
	scan->left = scan->page.size;
	scan->begins = scan->page.before;
	scan->items = item_scan_begin(&(ItemQuery) {
		.container = container, .type = scan->query->type,
		.partition_key = &scan->key[0], .path = path,
		.key = scan->key_value, .nkeys = scan->nkeys, .cursor = &scan->begins,
		.backward = !scan->page.oldest_first, .shown = !scan->include_hidden,
		.rows = scan->page.size
	});
}

/* A page of a logical partition's list. */
void
query_list(RequestScan *scan, Container container,
		   const pg_uuid_t *partition_key)
{
	query_keep_key(scan, &partition_key, 1);
	begin_page(scan, container, PATH_LIST);
}

/*
 * A page of the posts of all partitions, in short form: a user's, or everybody's
 * (NULL).
 */
void
query_posts(RequestScan *scan, const pg_uuid_t *user_id)
{
	scan->path = PATH_DATE;
	if (user_id != NULL)
	{
		query_keep_key(scan, &user_id, 1);
		scan->path = PATH_USER;
	}
	scan->left = scan->page.size;
	scan->goes_on = true;
}

static void
close_leaf(RequestScan *scan)
{
	if (scan->items != NULL)
		item_scan_end(scan->items);
	scan->items = NULL;
}

/*
 * A page of the capped view. Newest first, what comes after the view follows; the other
 * way round the view is the list's end, and of use only if it reaches back to where
 * the page begins.
 */
void
query_feed(RequestScan *scan)
{
	bool		oldest_first = scan->page.oldest_first;
	bool		whole;

	query_posts(scan, NULL);
	whole = oldest_first && (layout_is_spread() || feed_is_whole());
	scan->out_of_view = oldest_first && !whole && !scan->page.before.valid;
	if (scan->out_of_view)
		return;
	scan->container = CONTAINER_FEED;
	scan->begins = scan->page.before;
	scan->items = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST, .path = PATH_DATE,
		.cursor = &scan->begins, .backward = !oldest_first,
		.rows = scan->page.size
	});
	scan->goes_on = !layout_is_spread();	/* there the view has the page */
	if (!oldest_first)
		return;
	scan->out_of_view = !whole && !feed_reaches(&scan->begins);
	if (scan->out_of_view)
		close_leaf(scan);
	else
		scan->goes_on = false;
}

/*
 * A page of the comments or likes on a post; arguments: the post, and the page.
 */
void
query_on_post(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");

	get_page(fcinfo, 1, &scan->page);
	if (scan->query->type == ITEM_COMMENT)
		scan->include_hidden = get_flag(fcinfo, 5, "include_hidden");
	query_ready(scan);
	if (deleted_has_author_of_post(scan->deleted, post_id))
		return;
	page_find(&scan->page, scan->query->type, post_id);
	query_list(scan, CONTAINER_POSTS, post_id);
}

/*
 * A page of what a user has written or liked, in all partitions: whose. False: there is
 * nothing that could be shown.
 */
bool
query_of_user(RequestScan *scan, const pg_uuid_t *user_id)
{
	query_ready(scan);
	query_keep_key(scan, &user_id, 1);
	return !deleted_has(scan->deleted, user_id);
}

/*
 * A page of the replies to a comment, which may be gone; arguments: the post, the comment,
 * and the page.
 */
void
query_replies(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *key[] = {
		need_uuid(fcinfo, 0, "post_id"), need_uuid(fcinfo, 1, "parent_id")
	};

	get_page(fcinfo, 2, &scan->page);
	scan->include_hidden = get_flag(fcinfo, 6, "include_hidden");
	query_ready(scan);
	if (deleted_has_author_of_post(scan->deleted, key[0]))
		return;
	page_find(&scan->page, ITEM_COMMENT, key[0]);
	query_keep_key(scan, key, 2);
	begin_page(scan, CONTAINER_POSTS, PATH_REPLIES);
}

/* ------------------------------------------------------------------------
 * Its items
 * ------------------------------------------------------------------------ */

/*
 * Begin a query whose arguments are in fcinfo. By the active snapshot, which
 * stays active or at least registered to the end. What the scan allocates is in
 * the current memory context, which has to be the same at each call.
 */
void
request_scan_begin(RequestScan *scan, const RequestQuery *query,
				   FunctionCallInfo fcinfo)
{
	Shard		held = {.number = NO_SHARD};

	scan->query = query;
	scan->deleted = NULL;
	scan->left = 0;
	scan->single = false;
	scan->container = CONTAINER_POSTS;
	scan->goes_on = false;
	scan->out_of_view = false;
	scan->nkeys = 0;
	scan->items = NULL;
	scan->list = NULL;
	scan->include_hidden = false;
	scan->ids = NULL;
	scan->of_user = NULL;
	scan->parents = NULL;
	scan->remote = NULL;
	remote_settle_query(&scan->newer);
	if (layout_is_spread() &&
		remote_query(query->name, query->type, fcinfo, &scan->remote, &held,
					 &scan->newer))
		scan->left = -1;
	else
		query->begin(scan, fcinfo);
	if (held.number != NO_SHARD)
		container_let_go(CONTAINER_POSTS, &held);
}

/* Return whether to show the item that a key has found. A post gets its counts. */
static bool
show_single(const RequestScan *scan, BlogItem *item)
{
	if (query_wants_counts(scan))
		post_add_up(item, GetActiveSnapshot());
	return query_shows(scan, item);
}

/* The next item of the leaf that is to be shown; false: there are no more. */
static bool
next_of_leaf(RequestScan *scan, BlogItem *item)
{
	while (item_scan_next(scan->items, item))
	{
		if (scan->goes_on)
		{
			scan->page.before.valid = true;
			scan->page.before.date = item_date(item);
			scan->page.before.id = *item_uuid(item, PROP_ID);
		}
		if (scan->single ? show_single(scan, item) :
			!deleted_has_author(scan->deleted, item))
			return true;
	}
	return false;
}

/* The next item of all partitions that is to be shown, in short form. */
static bool
next_of_all(RequestScan *scan, BlogItem *item)
{
	MemoryContext old;

	if (scan->list == NULL)
		scan->list = post_list_begin(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_POST,
			.path = scan->path, .key = scan->key_value, .nkeys = scan->nkeys,
			.cursor = &scan->page.before,
			.backward = !scan->page.oldest_first,
			.shown = !scan->include_hidden, .rows = scan->left
		});
	do
	{
		if (!post_list_next(scan->list, item))
			return false;
	} while (!query_shows(scan, item));
	old = MemoryContextSwitchTo(scan->row_context);
	item_shorten(item);
	MemoryContextSwitchTo(old);
	return true;
}

/* Has the capped view come to its end, and with it the list of all posts? */
static bool
at_end_of_feed(RequestScan *scan)
{
	if (scan->container == CONTAINER_FEED && scan->list == NULL && feed_is_whole())
		scan->goes_on = false;
	return !scan->goes_on;
}

static bool
next_item(RequestScan *scan, BlogItem *item)
{
	bool		found;

	if (scan->left == 0)
		return false;
	if (scan->ids != NULL)
		return id_list_next(scan, item);
	if (scan->of_user != NULL)
		return user_list_next(scan, item);
	found = scan->items != NULL && next_of_leaf(scan, item);
	if (!found)
		close_leaf(scan);
	if (!found && scan->goes_on && !at_end_of_feed(scan))
		found = next_of_all(scan, item);
	if (!found)
		scan->left = 0;
	else if (scan->left > 0)
		scan->left--;
	return found;
}

/* Read the next item; its values hold until the next call. False: there are no more. */
bool
request_scan_next(RequestScan *scan, BlogItem *item)
{
	if (scan->remote != NULL)
		return remote_items_next(scan->remote, item);
	if (!next_item(scan, item))
		return false;
	if (scan->query->type == ITEM_COMMENT &&
		query_wants(scan, PROP_PARENT_DELETED))
		query_say_gone(scan, item);
	return true;
}

/* Close what a query reads, wherever it has come to. */
void
request_scan_end(RequestScan *scan)
{
	close_leaf(scan);
	if (scan->list != NULL)
		post_list_end(scan->list);
	scan->list = NULL;
	if (scan->ids != NULL)
		id_list_end(scan);
	if (scan->of_user != NULL)
		user_list_end(scan);
	if (scan->parents != NULL)
		parents_end(scan->parents);
	scan->parents = NULL;
	remote_query_done(&scan->newer);
}
