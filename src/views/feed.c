/*
 * feed.c
 *		The view feed: the newest posts of all users in short form.
 *
 * What it should hold is read from the posts container (a list over its
 * partitions), what it holds is compared, and only differences are written:
 * trimming after an insert and refilling after a deletion come out of that in
 * the same transaction. The feed is small, so this costs less than it looks.
 *
 * Runs in the worker, and in a backend for repair(); the caller holds the
 * views' lock.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "settings.h"
#include "views/internal.h"

#include "utils/snapmgr.h"

/* Newest first, as (creation_date, id); negative: a stands before b. */
static int
compare_place(const BlogItem *a, const BlogItem *b)
{
	TimestampTz da = item_date(a);
	TimestampTz db = item_date(b);

	if (da != db)
		return da > db ? -1 : 1;
	return -memcmp(item_uuid(a, PROP_ID), item_uuid(b, PROP_ID), UUID_LEN);
}

/* The feed's rows, newest first. */
static BlogItem *
read_feed(int *n)
{
	int			room = blogstore_feed_size + 16;
	BlogItem   *rows = palloc(sizeof(BlogItem) * room);
	BlogItem	item;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_FEED, .type = ITEM_POST,
		.partition = FEED_PARTITION, .path = PATH_DATE,
		.backward = true, .identity = true
	});

	*n = 0;
	while (item_scan_next(scan, &item))
	{
		if (*n == room)
		{
			room *= 2;
			rows = repalloc(rows, sizeof(BlogItem) * room);
		}
		item_copy(&rows[(*n)++], &item);
	}
	item_scan_end(scan);
	return rows;
}

/* What the feed should hold, newest first. */
static BlogItem *
read_newest(int *n)
{
	BlogItem   *rows = palloc(sizeof(BlogItem) * blogstore_feed_size);
	BlogItem	item;
	PostList   *list = post_list_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .path = PATH_DATE
	});

	*n = 0;
	while (*n < blogstore_feed_size && post_list_next(list, &item))
	{
		item_shorten(&item, blogstore_short_form_length);
		item_copy(&rows[(*n)++], &item);
	}
	post_list_end(list);
	return rows;
}

static bool
row_current(const BlogItem *row, const BlogItem *post)
{
	for (Property p = PROP_ID; p < N_PROPERTIES; p++)
		if (p != PROP_USERNAME && !item_same(row, post, p))
			return false;
	return true;
}

/* Lock a row of the feed. */
static bool
lock_row(ItemWriter *writer, const BlogItem *row)
{
	Datum		key = row->value[PROP_POST_ID];
	BlogItem	locked;

	return item_writer_lock(writer, &key, 1, LockTupleExclusive, LockWaitBlock,
							&locked) == ITEM_OK;
}

typedef enum RowChange
{
	ROW_DELETE,
	ROW_INSERT,
	ROW_UPDATE
} RowChange;

/* A row of the feed that is not what it should be. */
typedef struct FeedRow
{
	RowChange	change;
	const BlogItem *row;		/* as it is, or is to be */
} FeedRow;

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

/* Change a row with a writer of its own. */
static void
change_alone(void *arg)
{
	ItemWriter *writer = item_writer_open_partition(CONTAINER_FEED, ITEM_POST,
													FEED_PARTITION);

	change_row(writer, arg);
	item_writer_close(writer);
}

/* Change a row; writer: NULL for each by itself, those that fail left out. */
static void
change_feed_row(ItemWriter *writer, RowChange change, const BlogItem *item)
{
	FeedRow		row = {change, item};

	if (writer != NULL)
		change_row(writer, &row);
	else if (!careful_do(change_alone, &row))
		careful_remember_feed();
}

/*
 * Write the differences between what is there and what should be. Rows that
 * go are deleted first: a post that moved has the same key in both.
 */
static void
write_differences(const BlogItem *there, int n, const BlogItem *wanted, int m)
{
	ItemWriter *writer = careful_now() ? NULL :
		item_writer_open_partition(CONTAINER_FEED, ITEM_POST, FEED_PARTITION);

	for (int i = 0, j = 0; i < n; i++)
	{
		while (j < m && compare_place(&wanted[j], &there[i]) < 0)
			j++;
		if (j >= m || compare_place(&wanted[j], &there[i]) != 0)
			change_feed_row(writer, ROW_DELETE, &there[i]);
	}
	for (int i = 0, j = 0; j < m; j++)
	{
		while (i < n && compare_place(&there[i], &wanted[j]) < 0)
			i++;
		if (i >= n || compare_place(&there[i], &wanted[j]) != 0)
			change_feed_row(writer, ROW_INSERT, &wanted[j]);
		else if (!row_current(&there[i], &wanted[j]))
			change_feed_row(writer, ROW_UPDATE, &wanted[j]);
	}
	if (writer != NULL)
		item_writer_close(writer);
}

/* Make the feed right, whatever is in it. */
void
feed_rebuild(void)
{
	int			n;
	int			m;
	BlogItem   *there;
	BlogItem   *wanted;

	if (!container_usable(CONTAINER_FEED))
		return;
	there = read_feed(&n);
	wanted = read_newest(&m);
	write_differences(there, n, wanted, m);
}

/* Can the feed be right without a look at it after these posts changed? */
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

/* Refresh the feed after these posts changed. */
void
feed_refresh(const PostKey *keys, int n)
{
	if (n > 0 && container_usable(CONTAINER_FEED) && !feed_untouched(keys, n))
		feed_rebuild();
}
