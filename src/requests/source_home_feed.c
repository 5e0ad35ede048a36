/*
 * source_home_feed.c
 *		A source that reads a page of the posts of all users whom a user
 *		follows, newest or oldest first, in short form.
 *
 * The posts of each followed user are read as list_user_posts() reads them:
 * from the copies in one partition of users if readers may use the views,
 * otherwise from all partitions of posts. So the source reads many short
 * lists, and returns the first posts of all of them.
 *
 * It reads a batch of at most BATCH_SIZE posts at a time. It reads one list
 * after another, and keeps the first posts that it has seen in a heap whose
 * root is the last of them. It stops reading a list at the first post that
 * comes after the root of a full heap. So a batch costs one index descent for
 * each list, and few rows more than it returns. The next batch begins after
 * the last post of the batch before. Memory is bounded by the size of a batch
 * and by MAX_FOLLOWED ids. No table is open between two calls.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"
#include "storage/rows/rows.h"

#include "lib/binaryheap.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define BATCH_SIZE 256			/* the most posts that are read together */

/* A followed user, with the partition that has the copies of her posts. */
typedef struct FollowedUser
{
	int			partition;
	pg_uuid_t	id;
} FollowedUser;

typedef struct HomeFeed
{
	bool		copies;			/* whether to read the copies of posts */
	ItemOrder	order;
	FollowedUser *user;
	int			nusers;
	Cursor		last;			/* the last post that was returned, or the
								 * position after which the page begins */
	MemoryContext context;		/* has the posts of a batch */
	int			size;			/* how many posts the batch may have */
	int			nposts;
	BlogItem	post[BATCH_SIZE];
	binaryheap *heap;			/* numbers of posts; the root is the last */
	int			sorted[BATCH_SIZE]; /* numbers of posts in the order of the
									 * list */
	int			given;			/* how many posts of the batch were returned */
	bool		ended;			/* whether no post is left after this batch */
	int			leaves;			/* number of leaves that were read */
	Oid			leaf;			/* the leaf and index that were read last */
	Oid			index;
} HomeFeed;

/* Compare two posts, for the heap, whose root is the last post of the list. */
static int
compare_posts(Datum a, Datum b, void *arg)
{
	const HomeFeed *home = arg;

	return home->order(&home->post[DatumGetInt32(a)],
					   &home->post[DatumGetInt32(b)]);
}

static int
root(const HomeFeed *home)
{
	return DatumGetInt32(binaryheap_first(home->heap));
}

/*
 * Copy a post into the batch. If the copy has a value that is stored out of
 * line, keep the lock on the leaf until the transaction ends, as
 * many_items_read() does.
 */
static void
keep_post(HomeFeed *home, ItemScan *posts, BlogItem *kept, const BlogItem *post)
{
	MemoryContext old = MemoryContextSwitchTo(home->context);

	item_copy(kept, post);
	MemoryContextSwitchTo(old);
	if (item_has_external(post))
	{
		Oid			leaf;
		Oid			index;

		item_scan_tables(posts, &leaf, &index);
		LockRelationOid(leaf, AccessShareLock);
	}
}

/*
 * Take into the batch those posts of a list that belong to the first posts of
 * all lists that were read so far.
 */
static void
take_posts(HomeFeed *home, ItemScan *posts)
{
	BlogItem	post;

	while (item_scan_next(posts, &post))
	{
		int			i = home->nposts;

		if (i < home->size)
		{
			keep_post(home, posts, &home->post[i], &post);
			binaryheap_add(home->heap, Int32GetDatum(i));
			home->nposts++;
			continue;
		}
		i = root(home);
		if (home->order(&post, &home->post[i]) > 0)
			break;
		item_free(&home->post[i]);
		keep_post(home, posts, &home->post[i], &post);
		binaryheap_replace_first(home->heap, Int32GetDatum(i));
	}
}

/* Close the scan of a leaf, and note the leaf for EXPLAIN. */
static void
end_leaf(HomeFeed *home, ItemScan *posts)
{
	if (posts == NULL)
		return;
	item_scan_tables(posts, &home->leaf, &home->index);
	item_scan_end(posts);
	home->leaves++;
}

/* Read the copies of the posts of all followed users. */
static void
read_copies(HomeFeed *home, ItemQuery query)
{
	ItemScan   *posts = NULL;

	query.container = CONTAINER_USERS;
	query.path = PATH_LIST;
	for (int i = 0; i < home->nusers; i++)
	{
		Datum		key = UUIDPGetDatum(&home->user[i].id);

		query.partition_key = &home->user[i].id;
		query.key = &key;
		if (i > 0 && home->user[i].partition != home->user[i - 1].partition)
		{
			end_leaf(home, posts);
			posts = NULL;
		}
		item_scan_look(&posts, &query);
		take_posts(home, posts);
	}
	end_leaf(home, posts);
}

/* Read the posts of all followed users in one partition of posts. */
static void
read_partition(HomeFeed *home, ItemQuery query)
{
	ItemScan   *posts = NULL;

	for (int i = 0; i < home->nusers; i++)
	{
		Datum		key = UUIDPGetDatum(&home->user[i].id);

		query.key = &key;
		if (posts == NULL)
			posts = item_scan_begin(&query);
		else
			item_scan_again(posts, &key, 1);
		take_posts(home, posts);
	}
	end_leaf(home, posts);
}

static void
empty_batch(HomeFeed *home)
{
	MemoryContextReset(home->context);
	binaryheap_reset(home->heap);
	home->nposts = home->given = home->leaves = 0;
}

/*
 * Read the posts of all followed users in all partitions of posts. Begin again
 * if the layout was read again meanwhile, because the partitions may have
 * other numbers now. Locks: AccessShareLock on the root table of posts, until
 * the end of the transaction.
 */
static void
read_partitions(HomeFeed *home, ItemQuery query)
{
	uint64		loads;

	container_lock(CONTAINER_POSTS, false);
	query.container = CONTAINER_POSTS;
	query.path = PATH_USER;
	do
	{
		CHECK_FOR_INTERRUPTS();
		empty_batch(home);
		query.partition = partition_first(CONTAINER_POSTS, ITEM_POST);
		loads = layout_loads();
		while (query.partition != NO_PARTITION && layout_loads() == loads)
		{
			read_partition(home, query);
			query.partition = partition_after(CONTAINER_POSTS, ITEM_POST,
											  query.partition);
		}
	} while (layout_loads() != loads);
}

/* Read the next batch of posts. Returns false if there are no more posts. */
static bool
read_batch(RequestScan *scan)
{
	HomeFeed   *home = scan->state;
	const ItemQuery query = {
		.type = ITEM_POST, .nkeys = 1, .cursor = &home->last,
		.backward = !scan->page.oldest_first, .shown = true
	};

	if (home->ended)
		return false;
	home->size = scan->left < 0 ? BATCH_SIZE : Min(scan->left, BATCH_SIZE);
	empty_batch(home);
	if (home->copies)
		read_copies(home, query);
	else
		read_partitions(home, query);
	home->ended = home->nposts < home->size;
	for (int i = home->nposts - 1; i >= 0; i--)
		home->sorted[i] = DatumGetInt32(binaryheap_remove_first(home->heap));
	return home->nposts > 0;
}

/*
 * Complete a post that was read from the posts container: add up its counts,
 * and shorten it. Returns false if the query does not return it.
 */
static bool
complete_post(RequestScan *scan, BlogItem *post)
{
	MemoryContext old = MemoryContextSwitchTo(scan->row_context);
	bool		shown;

	if (query_wants_counts(scan))
		post_add_up(post, GetActiveSnapshot());
	shown = query_shows(scan, post);
	if (shown)
		item_shorten(post);
	MemoryContextSwitchTo(old);
	return shown;
}

static bool
home_feed_next(RequestScan *scan, BlogItem *item)
{
	HomeFeed   *home = scan->state;

	do
	{
		while (home->given < home->nposts)
		{
			*item = home->post[home->sorted[home->given++]];
			home->last.valid = true;
			home->last.date = item_date(item);
			home->last.id = *item_uuid(item, PROP_ID);
			if (home->copies || complete_post(scan, item))
				return true;
		}
	} while (read_batch(scan));
	return false;
}

static void
home_feed_explain(const RequestScan *scan, SourceReads *reads)
{
	const HomeFeed *home = scan->state;

	reads->all_partitions = !home->copies;
	reads->container = home->copies ? CONTAINER_USERS : CONTAINER_POSTS;
	reads->leaves = home->copies ? home->leaves : 0;
	reads->leaf = home->leaf;
	reads->index = home->index;
}

static void
home_feed_close(RequestScan *scan)
{
	HomeFeed   *home = scan->state;

	MemoryContextDelete(home->context);
	binaryheap_free(home->heap);
	pfree(home->user);
	pfree(home);
}

static const ItemSource home_feed = {
	.next = home_feed_next, .explain = home_feed_explain,
	.close = home_feed_close
};

static int
compare_users(const void *a, const void *b)
{
	const FollowedUser *ua = a;
	const FollowedUser *ub = b;

	if (ua->partition != ub->partition)
		return ua->partition < ub->partition ? -1 : 1;
	return memcmp(&ua->id, &ub->id, UUID_LEN);
}

/*
 * Return the ids of the users whom a user follows, except users who are being
 * deleted. Reads with the active snapshot. The result is an array of *n ids,
 * in the current memory context. Errors: 55000 if the leaf cannot be read.
 */
pg_uuid_t *
followed_users(const DeletedUsers *deleted, const pg_uuid_t *user_id, int *n)
{
	Datum		key = UUIDPGetDatum(user_id);
	ItemScan   *follows = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_FOLLOW,
		.partition_key = user_id, .path = PATH_KEY, .key = &key, .nkeys = 1
	});
	int			room = 64;
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * room);
	BlogItem	follow;

	*n = 0;
	while (item_scan_next(follows, &follow))
	{
		if (deleted_has_author(deleted, &follow))
			continue;
		if (*n == room)
		{
			room *= 2;
			ids = repalloc(ids, sizeof(pg_uuid_t) * room);
		}
		ids[(*n)++] = *item_uuid(&follow, PROP_FOLLOWED_ID);
	}
	item_scan_end(follows);
	return ids;
}

/*
 * Set home->user to the users with the given n ids. Sort them by partition, so
 * that each leaf of copies is opened once.
 */
static void
sort_users(HomeFeed *home, const pg_uuid_t *ids, int n)
{
	home->user = palloc(sizeof(FollowedUser) * Max(n, 1));
	home->nusers = n;
	for (int i = 0; i < n; i++)
	{
		home->user[i].id = ids[i];
		home->user[i].partition = home->copies ?
			partition_of_items(CONTAINER_USERS, ITEM_POST, &ids[i]) : 0;
	}
	qsort(home->user, n, sizeof(FollowedUser), compare_users);
}

/*
 * Set the source of a query to a page of the posts of users. Errors: 55000 if
 * a leaf cannot be read.
 *
 * ids, n: the ids of the users, none of whom is being deleted
 * copies: whether to read the copies of the posts in users
 */
void
query_home_feed(RequestScan *scan, const pg_uuid_t *ids, int n, bool copies)
{
	HomeFeed   *home = palloc0(sizeof(HomeFeed));

	home->copies = copies;
	home->order = scan->page.oldest_first ? merged_oldest_first :
		merged_newest_first;
	home->last = scan->page.before;
	sort_users(home, ids, n);
	home->context = AllocSetContextCreate(CurrentMemoryContext,
										  "blogstore home feed",
										  ALLOCSET_DEFAULT_SIZES);
	home->heap = binaryheap_allocate(BATCH_SIZE, compare_posts, home);
	scan->source = &home_feed;
	scan->state = home;
}
