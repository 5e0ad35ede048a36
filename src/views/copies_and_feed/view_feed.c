/*
 * view_feed.c
 *		The container feed: the newest posts of all users, in short form.
 *
 * A refresh compares the rows that the feed has ("there") with the rows that
 * it should have ("wanted"), and writes the differences. If posts were only
 * created or edited, the wanted rows are computed from the feed and these
 * posts. If a post was deleted, hidden or given another date, another post may
 * have to move into the feed. The wanted rows are then read from the container
 * posts.
 *
 * On a cluster, the feed of each node has the posts of all nodes. The worker
 * of a node computes the rows of its own node's posts. cluster/ sends these
 * rows to all nodes.
 *
 * Runs in the worker, and in a backend for repair(). The caller has called
 * views_lock().
 */
#include "postgres.h"

#include "base/settings.h"
#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/view_rows.h"

#include "utils/snapmgr.h"

/* Compare two rows of the feed by (creation_date, id), newest first. */
static int
compare_place(const BlogItem *a, const BlogItem *b)
{
	TimestampTz da = item_date(a);
	TimestampTz db = item_date(b);

	if (da != db)
		return da > db ? -1 : 1;
	return -memcmp(item_uuid(a, PROP_ID), item_uuid(b, PROP_ID), UUID_LEN);
}

static int
compare_rows(const void *a, const void *b)
{
	return compare_place(*(const BlogItem *const *) a,
						 *(const BlogItem *const *) b);
}

static void
list_begin(FeedList *list, int room)
{
	list->rows = palloc(sizeof(BlogItem *) * room);
	list->n = 0;
	list->room = room;
	list->whole = false;
}

static void
list_add(FeedList *list, const BlogItem *row)
{
	BlogItem   *copy = palloc(sizeof(BlogItem));

	if (list->n == list->room)
	{
		list->room *= 2;
		list->rows = repalloc(list->rows, sizeof(BlogItem *) * list->room);
	}
	item_copy(copy, row);
	list->rows[list->n++] = copy;
}

/*
 * Read rows of the feed, newest first, into *there.
 *
 * mine: function that returns whether to read the row of a post; NULL to read
 *     all rows
 */
void
feed_read(FeedList *there, bool (*mine) (const pg_uuid_t *post_id))
{
	ViewState	state;
	BlogItem	item;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_DATE,
		.backward = true, .identity = true
	});

	list_begin(there, blogstore_feed_size + 16);
	while (item_scan_next(scan, &item))
		if (mine == NULL || mine(item_uuid(&item, PROP_POST_ID)))
			list_add(there, &item);
	item_scan_end(scan);
	view_state_read(&state);
	there->whole = state.feed_whole;
}

/*
 * Set *wanted to the rows that the feed should have, read from the container
 * posts. On a cluster, only the posts of this node are read.
 */
void
feed_read_newest(FeedList *wanted)
{
	BlogItem	item;
	PostList   *list = post_list_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .path = PATH_DATE,
		.backward = true, .shown = true
	});

	list_begin(wanted, blogstore_feed_size);
	while (wanted->n < blogstore_feed_size && post_list_next(list, &item))
	{
		item_shorten(&item);
		list_add(wanted, &item);
	}
	wanted->whole = wanted->n < blogstore_feed_size;
	post_list_end(list);
}

/*
 * Return whether a row of the feed has the same contents as its post. The
 * caller has put "post" in short form (item_shorten()).
 */
bool
feed_row_current(const BlogItem *row, const BlogItem *post)
{
	for (Property p = PROP_ID; p < N_PROPERTIES; p++)
		if (p != PROP_USERNAME && !item_same(row, post, p))
			return false;
	return true;
}

static bool
lock_row(ItemWriter *writer, const BlogItem *row)
{
	Datum		key = row->value[PROP_POST_ID];
	BlogItem	locked;

	return item_writer_lock(writer, &key, 1, LockTupleExclusive, LockWaitBlock,
							&locked) == ITEM_OK;
}

static void
change_row(ItemWriter *writer, const FeedRow *row)
{
	if (row->change == ROW_INSERT)
		(void) item_writer_insert(writer, row->row);
	else if (lock_row(writer, row->row))
	{
		if (row->change == ROW_DELETE)
			item_writer_delete(writer);
		else
			item_writer_update(writer, row->row);
	}
}

/*
 * Return an array of *n changes that turn the rows "there" of the feed into
 * the rows "wanted". Deletions come first: if the date of a post has changed,
 * its old and its new row have the same primary key.
 */
FeedRow *
feed_differences(const FeedList *there, const FeedList *wanted, int *n)
{
	FeedRow    *row = palloc(sizeof(FeedRow) * (there->n + wanted->n + 1));
	const BlogItem **old = there->rows;
	const BlogItem **new = wanted->rows;

	*n = 0;
	for (int i = 0, j = 0; i < there->n; i++)
	{
		while (j < wanted->n && compare_place(new[j], old[i]) < 0)
			j++;
		if (j >= wanted->n || compare_place(new[j], old[i]) != 0)
			row[(*n)++] = (FeedRow) {ROW_DELETE, old[i]};
	}
	for (int i = 0, j = 0; j < wanted->n; j++)
	{
		while (i < there->n && compare_place(old[i], new[j]) < 0)
			i++;
		if (i >= there->n || compare_place(old[i], new[j]) != 0)
			row[(*n)++] = (FeedRow) {ROW_INSERT, new[j]};
		else if (new[j] != old[i] && !feed_row_current(old[i], new[j]))
			row[(*n)++] = (FeedRow) {ROW_UPDATE, new[j]};
	}
	return row;
}

/*
 * Write n changes to the feed. Locks: RowExclusiveLock on the leaf; row locks
 * (FOR UPDATE) on the rows that are updated or deleted.
 *
 * whole: whether the feed then has all posts that are not hidden; stored in
 * the table view_state
 */
void
feed_write(const FeedRow *row, int n, bool whole)
{
	ItemWriter *writer = item_writer_open_partition(CONTAINER_FEED, ITEM_POST,
													FEED_PARTITION);

	for (int i = 0; i < n; i++)
		change_row(writer, &row[i]);
	item_writer_close(writer);
	view_state_write_whole(whole);
}

bool
feed_has_author(const pg_uuid_t *user_id)
{
	BlogItem	item;
	bool		has = false;
	ItemScan   *scan;

	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_DATE
	});
	while (!has && item_scan_next(scan, &item))
		has = item_is_by(&item, user_id);
	item_scan_end(scan);
	return has;
}

static int
find_row(const FeedList *list, const pg_uuid_t *post_id)
{
	for (int i = 0; i < list->n; i++)
		if (memcmp(item_uuid(list->rows[i], PROP_POST_ID), post_id,
				   UUID_LEN) == 0)
			return i;
	return -1;
}

/*
 * Put the current state of a post into "wanted", the rows that the feed should
 * have: in place of the post's old row, or at the end.
 *
 * Returns false if the post has a row in the feed, but was deleted, hidden or
 * given another date. Another post may then have to move into the feed, so the
 * caller reads the container posts.
 */
static bool
take_post(FeedList *wanted, ManyPosts *many, const PostKey *key)
{
	BlogItem	post;
	bool		there = many_posts_find(many, &key->post_id, &post) &&
		item_date(&post) == key->creation_date && !item_hidden(&post);
	int			row = find_row(wanted, &key->post_id);

	if (!there)
		return row < 0;
	many_posts_add_up(many, &post);
	item_shorten(&post);
	list_add(wanted, &post);
	if (row < 0)
		return true;
	wanted->n--;
	if (compare_place(wanted->rows[row], wanted->rows[wanted->n]) != 0)
		return false;
	wanted->rows[row] = wanted->rows[wanted->n];
	return true;
}

/*
 * Compute the rows that the feed should have ("wanted") from the rows that it
 * has ("there") and n changed posts. Returns false if the caller has to read
 * the container posts: take_post() has failed, or too many posts have changed.
 */
static bool
take_posts(const FeedList *there, const PostKey *keys, int n, FeedList *wanted)
{
	ManyPosts  *many = many_posts_begin(GetActiveSnapshot());
	TimestampTz oldest = there->whole ? DT_NOBEGIN :
		item_date(there->rows[there->n - 1]);
	int			taken = 0;
	bool		known = true;

	list_begin(wanted, there->n * 2 + 1);
	memcpy(wanted->rows, there->rows, sizeof(BlogItem *) * there->n);
	wanted->n = there->n;
	for (int i = 0; i < n && known; i++)
		if (keys[i].creation_date >= oldest)
			known = taken++ < blogstore_feed_size && take_post(wanted, many, &keys[i]);
	many_posts_end(many);
	qsort(wanted->rows, wanted->n, sizeof(BlogItem *), compare_rows);
	wanted->whole = there->whole && wanted->n < blogstore_feed_size;
	wanted->n = Min(wanted->n, blogstore_feed_size);
	return known;
}

/*
 * Set *wanted to the rows that the feed should have after n posts have
 * changed.
 *
 * there: the rows of the feed, up to date before these changes
 */
void
feed_follow(const FeedList *there, const PostKey *keys, int n, FeedList *wanted)
{
	if ((there->n != blogstore_feed_size && !there->whole) ||
		!take_posts(there, keys, n, wanted))
		feed_read_newest(wanted);
}

/*
 * Return true if n changed posts do not concern the feed: the feed is full,
 * and these posts are older than all of its rows.
 */
static bool
feed_untouched(const PostKey *keys, int n)
{
	BlogItem	oldest;
	BlogItem	other;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_DATE,
		.identity = true
	});
	bool		untouched = item_scan_next(scan, &oldest);
	int64		rows = 1;

	for (int i = 0; i < n && untouched; i++)
		untouched = keys[i].creation_date < item_date(&oldest);
	while (untouched && item_scan_next(scan, &other))
		rows++;
	item_scan_end(scan);
	return untouched && rows == blogstore_feed_size;
}

static void
write_differences(const FeedList *there, const FeedList *wanted)
{
	int			n;
	FeedRow    *row = feed_differences(there, wanted, &n);

	feed_write(row, n, wanted->whole);
}

/*
 * Make the feed agree with the container posts, whatever rows the feed has
 * now. Posts are read with the active snapshot. On a cluster, also send the
 * rows of this node's posts to the other nodes again.
 */
void
feed_make(void)
{
	const ClusterCalls *cluster = cluster_calls();
	FeedList	there;
	FeedList	wanted;

	if (cluster != NULL)
	{
		cluster->make_feed();
		return;
	}
	feed_read(&there, NULL);
	feed_read_newest(&wanted);
	write_differences(&there, &wanted);
}

/*
 * Refresh the feed after n posts have changed, with the active snapshot. The
 * feed was up to date before these changes. Not called on a cluster, where
 * ClusterCalls.refresh_batch refreshes the feed.
 */
void
feed_refresh(const PostKey *keys, int n)
{
	FeedList	there;
	FeedList	wanted;

	if (n == 0 || feed_untouched(keys, n))
		return;
	feed_read(&there, NULL);
	feed_follow(&there, keys, n, &wanted);
	write_differences(&there, &wanted);
}
