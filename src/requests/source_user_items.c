/*
 * source_user_items.c
 *		A source that reads a page of a user's comments, likes or followers
 *		from all partitions of a container.
 *
 * Each comment or like is in the partition of its post, and a follow in that
 * of the user who follows. So the source reads all partitions, and merges the
 * results. Each partition is read by an index that begins with the user's id.
 * Likes of posts and likes of comments are in leaves
 * of their own, which are merged, too. They are in the order of post_id and
 * comment_id, because their primary keys have these columns. If the owner has
 * added indexes on creation_date, likes can also be in the order of
 * creation_date.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"
#include "storage/rows/rows.h"

typedef struct UserItems
{
	SourceKey	key;

	/*
	 * For likes in the order of post_id: the positions after which the page
	 * begins, in the likes of posts and in those of comments.
	 */
	ItemPlace	after_like;
	ItemPlace	after_comment_like;
	MergedScan *items;
	bool		started;		/* whether user_items_next() was called
								 * before */
} UserItems;

static bool
user_items_next(RequestScan *scan, BlogItem *item)
{
	UserItems  *list = scan->state;
	const BlogItem *present;

	do
	{
		if (list->started && merged_scan_item(list->items) != NULL)
			merged_scan_next(list->items);
		list->started = true;
		present = merged_scan_item(list->items);
		if (present == NULL)
			return false;
		*item = *present;
	} while (!query_shows(scan, item));
	query_complete(scan, item);
	return true;
}

static Container
container_of(const RequestScan *scan)
{
	return scan->query->type == ITEM_FOLLOW ? CONTAINER_USERS : CONTAINER_POSTS;
}

static void
user_items_explain(const RequestScan *scan, SourceReads *reads)
{
	reads->all_partitions = true;
	reads->container = container_of(scan);
}

static void
user_items_close(RequestScan *scan)
{
	UserItems  *list = scan->state;

	merged_scan_end(list->items);
	pfree(list);
}

static const ItemSource user_items = {
	.next = user_items_next, .explain = user_items_explain,
	.close = user_items_close
};

static UserItems *
make_list(const pg_uuid_t *user_id)
{
	UserItems  *list = palloc0(sizeof(UserItems));

	source_key_keep(&list->key, &user_id, 1);
	return list;
}

/*
 * Return a query for a user's comments, likes or followers in one partition.
 *
 * path: the index to read, as an AccessPath. Its columns are the user's id and
 *     those of the list's order.
 */
static ItemQuery
items_of_user(const RequestScan *scan, const UserItems *list, AccessPath path)
{
	return (ItemQuery) {
		.container = container_of(scan), .type = scan->query->type, .path = path,
		.key = list->key.value, .nkeys = list->key.n,
		.backward = true, .shown = !scan->include_hidden,
		.rows = scan->page.size
	};
}

/*
 * Begin to merge the items that match "query". For likes, also merge the likes
 * of comments.
 *
 * after: if not NULL, the likes of comments begin after this place
 */
static MergedScan *
merge(const ItemQuery *query, const ItemPlace *after, ItemOrder order)
{
	ItemQuery	both[] = {*query, *query};

	both[1].type = ITEM_COMMENT_LIKE;
	both[1].after = after;
	return merged_scan_begin(both, query->type == ITEM_LIKE ? 2 : 1, order);
}

static void
begin_list(RequestScan *scan, UserItems *list, const ItemQuery *query,
		   ItemOrder order)
{
	list->items = merge(query, &list->after_comment_like, order);
	scan->source = &user_items;
	scan->state = list;
}

/*
 * Search one millisecond of a user's comments, likes or followers for the item
 * with the id page->before.id. Sets *date to the item's creation date. Returns
 * false if there is no such item. The search is needed because the client may
 * have cut the microseconds off page->before.date.
 *
 * end: the end of the millisecond
 */
static bool
find_in_millisecond(const ListPage *page, ItemQuery query, const Cursor *end,
					TimestampTz *date)
{
	MergedScan *items;
	const BlogItem *item;
	bool		found = false;

	query.cursor = end;
	query.shown = false;
	query.rows = 0;
	items = merge(&query, NULL, merged_newest_first);
	while (!found && (item = merged_scan_item(items)) != NULL &&
		   item_date(item) >= page->before.date)
	{
		found = memcmp(item_uuid(item, PROP_ID), &page->before.id, UUID_LEN) == 0;
		*date = item_date(item);
		merged_scan_next(items);
	}
	merged_scan_end(items);
	return found;
}

/*
 * Set the source of a query to a page of a user's comments, likes or
 * followers, in the order of creation_date.
 *
 * path: an index on the user's id and creation_date, as an AccessPath
 *
 * Locks: AccessShareLock on the root table of the container, until the end of
 * the transaction. Errors: those of merged_scan_begin().
 */
void
query_user_items_by_date(RequestScan *scan, const pg_uuid_t *user_id,
						 AccessPath path)
{
	UserItems  *list = make_list(user_id);
	ItemQuery	query = items_of_user(scan, list, path);
	Cursor		end;

	container_lock(container_of(scan), false);
	if (page_may_be_cut(&scan->page, &end))
	{
		TimestampTz date = 0;
		bool		found = !request_is_part &&
			find_in_millisecond(&scan->page, query, &end, &date);

		page_begin(&scan->page, &end, found, date);
	}
	query.cursor = &scan->page.before;
	query.backward = !scan->page.oldest_first;
	begin_list(scan, list, &query, query.backward ? merged_newest_first :
			   merged_oldest_first);
}

/* Compare two likes by (post_id, comment_id NULLS FIRST). */
static int
by_post(const BlogItem *a, const BlogItem *b)
{
	int			order = memcmp(item_uuid(a, PROP_POST_ID),
							   item_uuid(b, PROP_POST_ID), UUID_LEN);

	if (order != 0)
		return order;
	if (a->isnull[PROP_COMMENT_ID] || b->isnull[PROP_COMMENT_ID])
		return (int) b->isnull[PROP_COMMENT_ID] -
			(int) a->isnull[PROP_COMMENT_ID];
	return memcmp(item_uuid(a, PROP_COMMENT_ID), item_uuid(b, PROP_COMMENT_ID),
				  UUID_LEN);
}

/*
 * Set *place to the place before a user's likes of comments on a post. This is
 * the last possible place on the post with the next lower id.
 */
static void
place_before_post(ItemPlace *place, const pg_uuid_t *user_id,
				  const pg_uuid_t *post_id)
{
	int			i = UUID_LEN;

	memset(place, 0, sizeof(*place));
	place->first = *user_id;
	place->middle = *post_id;
	memset(&place->last, 0xff, UUID_LEN);
	do
		place->middle.data[--i]--;
	while (i > 0 && post_id->data[i] == 0);
	/* invalid for the nil id: no place is before the lowest id */
	place->valid = i > 0 || post_id->data[0] != 0;
}

/*
 * Set the source of a query to a page of a user's likes, in the order of
 * post_id and comment_id. A like of a post comes before those of its comments.
 *
 * post_id, comment_id: the page begins after the user's like of this comment
 *     on this post, or of this post if comment_id is NULL; post_id is NULL:
 *     the page begins with the user's first like
 *
 * Locks and errors: those of query_user_items_by_date().
 */
void
query_user_likes_by_post(RequestScan *scan, const pg_uuid_t *user_id,
						 const pg_uuid_t *post_id, const pg_uuid_t *comment_id)
{
	UserItems  *list = make_list(user_id);
	ItemQuery	query = items_of_user(scan, list, PATH_KEY);

	container_lock(CONTAINER_POSTS, false);
	if (post_id != NULL)
	{
		list->after_like = (ItemPlace) {
			.valid = true, .first = *user_id, .last = *post_id
		};
		if (comment_id == NULL)
			place_before_post(&list->after_comment_like, user_id, post_id);
		else
			list->after_comment_like = (ItemPlace) {
				.valid = true, .first = *user_id, .middle = *post_id,
				.last = *comment_id
			};
	}
	query.after = &list->after_like;
	query.backward = false;
	begin_list(scan, list, &query, by_post);
}
