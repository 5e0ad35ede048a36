/*
 * home_feed_pages.c
 *		Home feeds on a cluster: the posts of all users whom a user follows.
 *
 * The follows of a user are on one node, and so are the copies of a user's
 * posts. The calling node asks the user's node whom the user follows
 * (list_followed()). Then it asks each node that has copies of these users'
 * posts for the first of them (home_feed_copies()), and merges what the nodes
 * return. While the copies of one of these nodes are not ready, it asks all
 * nodes for the first of these users' posts instead (home_feed_posts()).
 *
 * The calling node reads a page of at most PAGE_SIZE posts at a time, which
 * takes one call for each node. The next page begins after the last post of
 * the page before. Memory is bounded by the pages of all nodes and by the ids
 * of the followed users. But if many posts have the same date, nodes return
 * them from the first one on for each page.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/preload.h"
#include "cluster/remote/remote_call.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/uuid.h"

#define PAGE_SIZE 256			/* the most posts that are read together */

/* How many arguments home_feed_copies() and home_feed_posts() have. */
#define N_PART_ARGS 5

NODE_FUNCTION(list_followed, "list_home_feed()");
QUERY_FUNCTION(home_feed_copies, REQUEST_LIST_HOME_FEED, ITEM_POST,
			   .containers = "users");
QUERY_FUNCTION(home_feed_posts, REQUEST_LIST_HOME_FEED, ITEM_POST,
			   .containers = "posts");

typedef struct HomePages
{
	ArrayType  *users;			/* the ids of the followed users */
	MemoryContext context;		/* has the present page */
	RemoteItems *page;			/* NULL before the first page */
	bool		ended;			/* whether no post is left after this page */
	Cursor		read;			/* the last post that was read, or the position
								 * after which the list begins */
	Cursor		last;			/* the last post that was returned; not valid
								 * before the first */
} HomePages;

/*
 * Return the ids of the users whom a user follows, in the current memory
 * context. Errors: 40001; those of a node that cannot be reached. Locks: the
 * user's shard in share mode, until the function returns.
 */
static ArrayType *
ask_followed(const pg_uuid_t *user_id)
{
	Oid			type = UUIDOID;
	NullableDatum args[] = {{UUIDPGetDatum(user_id), false}};
	RemoteCall	call = {
		.serve = remote_serve_function(ITEM_FOLLOW), .name = "list_followed",
		.key = *user_id, .nargs = 1, .types = &type, .args = args,
		.reads = true
	};
	RemoteItems items = {.type = ITEM_FOLLOW};
	BlogItem	follow;
	Datum	   *ids;
	Shard		shard;
	long		waited = 0;
	int			n = 0;

	container_hold(CONTAINER_POSTS, user_id, &shard);
	while (!remote_ask_once(&call, &items.rows))
		remote_pause(&waited);
	container_let_go(CONTAINER_POSTS, &shard);
	ids = palloc(sizeof(Datum) * Max(items.rows.n, 1));
	while (remote_items_next(&items, &follow))
		ids[n++] = follow.value[PROP_ID];
	return construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR);
}

/*
 * Read the next page of posts. Returns false if there are no more posts.
 */
static bool
read_page(RequestScan *scan)
{
	LOCAL_FCINFO(call, N_PART_ARGS);
	HomePages  *pages = scan->state;
	int			size = scan->left < 0 ? PAGE_SIZE : Min(scan->left, PAGE_SIZE);
	MemoryContext old;

	if (pages->ended)
		return false;
	MemoryContextReset(pages->context);
	old = MemoryContextSwitchTo(pages->context);
	InitFunctionCallInfoData(*call, NULL, N_PART_ARGS, InvalidOid, NULL, NULL);
	memset(call->args, 0, sizeof(NullableDatum) * N_PART_ARGS);
	call->args[0].value = PointerGetDatum(pages->users);
	call->args[1].value = Int32GetDatum(size);
	call->args[2].value = TimestampTzGetDatum(pages->read.date);
	call->args[3].value = UUIDPGetDatum(&pages->read.id);
	call->args[2].isnull = call->args[3].isnull = !pages->read.valid;
	call->args[4].value = BoolGetDatum(scan->page.oldest_first);
	pages->page = remote_gather("home_feed_copies", ITEM_POST, call);
	if (pages->page == NULL)
		pages->page = remote_gather("home_feed_posts", ITEM_POST, call);
	MemoryContextSwitchTo(old);
	pages->ended = pages->page->rows.n < size;
	return pages->page->rows.n > 0;
}

static int
compare_places(const Cursor *a, const Cursor *b)
{
	if (a->date != b->date)
		return a->date < b->date ? -1 : 1;
	return memcmp(&a->id, &b->id, UUID_LEN);
}

/*
 * Note a post as the last that was read. Returns whether to return it, because
 * it comes after all posts that were returned.
 *
 * If the date of the last post has no microseconds, and that post is gone when
 * the next page is read, this page begins with the whole millisecond
 * (gather_from_nodes.c). So it can have posts that were returned before.
 */
static bool
take_post(const RequestScan *scan, HomePages *pages, const BlogItem *post)
{
	int			order;

	pages->read.valid = true;
	pages->read.date = item_date(post);
	pages->read.id = *item_uuid(post, PROP_ID);
	order = compare_places(&pages->read, &pages->last);
	if (pages->last.valid && (scan->page.oldest_first ? order <= 0 : order >= 0))
		return false;
	pages->last = pages->read;
	return true;
}

static bool
home_pages_next(RequestScan *scan, BlogItem *item)
{
	HomePages  *pages = scan->state;

	do
	{
		while (pages->page != NULL && remote_items_next(pages->page, item))
			if (take_post(scan, pages, item))
				return true;
	} while (read_page(scan));
	return false;
}

static void
home_pages_close(RequestScan *scan)
{
	HomePages  *pages = scan->state;

	MemoryContextDelete(pages->context);
	pfree(pages->users);
	pfree(pages);
}

static const ItemSource home_pages = {
	.next = home_pages_next, .close = home_pages_close
};

/*
 * Begin list_home_feed() on the node on which the client has called it.
 * Errors: those of the query.
 */
void
remote_begin_home_feed(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	HomePages  *pages;

	get_page(fcinfo, 1, &scan->page);
	query_ready(scan);
	pages = palloc0(sizeof(HomePages));
	pages->users = ask_followed(user_id);
	pages->read = scan->page.before;
	pages->context = AllocSetContextCreate(CurrentMemoryContext,
										   "blogstore page of a home feed",
										   ALLOCSET_DEFAULT_SIZES);
	scan->source = &home_pages;
	scan->state = pages;
}

/*
 * Return whether a query returns this node's part of a home feed. Nodes of a
 * cluster call such queries on each other.
 */
bool
remote_is_home_part(const RequestQuery *query)
{
	return query == &query_home_feed_copies || query == &query_home_feed_posts;
}

/*
 * Return those of the users in an array who are not being deleted on this
 * node. The result is an array of *n ids.
 */
static pg_uuid_t *
shown_users(const RequestScan *scan, ArrayType *array, int *n)
{
	Datum	   *value;
	bool	   *isnull;
	int			all;
	pg_uuid_t  *ids;

	deconstruct_array(array, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR, &value,
					  &isnull, &all);
	ids = palloc(sizeof(pg_uuid_t) * Max(all, 1));
	*n = 0;
	for (int i = 0; i < all; i++)
		if (!isnull[i] && !deleted_has(scan->deleted, DatumGetUUIDP(value[i])))
			ids[(*n)++] = *DatumGetUUIDP(value[i]);
	return ids;
}

/*
 * Begin the query home_feed_copies() or home_feed_posts(). Errors: 22004,
 * 22023, 55000.
 */
static void
begin_part(RequestScan *scan, FunctionCallInfo fcinfo, bool copies)
{
	ArrayType  *array;
	pg_uuid_t  *ids;
	int			n;

	container_require_cluster("list_home_feed()");
	array = need_uuids(fcinfo, 0, "user_ids");
	get_page(fcinfo, 1, &scan->page);
	query_ready(scan);
	ids = shown_users(scan, array, &n);
	page_find(&scan->page, ITEM_POST, NULL, NULL);
	query_home_feed(scan, ids, n, copies);
	pfree(ids);
	pfree(array);
}

/*
 * Begin the query home_feed_copies(), which returns users' posts from the
 * copies on this node. Errors: those of begin_part().
 */
static void
home_feed_copies(RequestScan *scan, FunctionCallInfo fcinfo)
{
	begin_part(scan, fcinfo, true);
}

/*
 * Begin the query home_feed_posts(), which returns those of users' posts that
 * this node has, in short form. Errors: those of begin_part().
 */
static void
home_feed_posts(RequestScan *scan, FunctionCallInfo fcinfo)
{
	begin_part(scan, fcinfo, false);
}

/*
 * blogstore.list_followed(user_id): return the ids of the users whom a user
 * follows, except users who are being deleted. The user's follows are on this
 * node. In the result rows all columns but the first are NULL. Errors: 55000.
 */
static Datum
list_followed(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	const pg_uuid_t *user_id = PG_GETARG_UUID_P(0);
	const DeletedUsers *deleted = deleted_users(GetActiveSnapshot());
	Datum		value[N_PROPERTIES] = {0};
	bool		isnull[N_PROPERTIES];
	pg_uuid_t  *ids;
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	memset(isnull, true, sizeof(isnull));
	isnull[0] = false;
	ids = deleted_has(deleted, user_id) ? NULL :
		followed_users(deleted, user_id, &n);
	for (int i = 0; i < n; i++)
	{
		value[0] = UUIDPGetDatum(&ids[i]);
		tuplestore_putvalues(out->setResult, out->setDesc, value, isnull);
	}
	return (Datum) 0;
}
