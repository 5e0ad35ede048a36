/*
 * source_topic_posts.c
 *		A source that reads a page of the posts of a topic, in short form.
 *
 * The container topics has the ids of the posts, in the order of the list. The
 * posts are read by their ids, as many at a time as the page still needs.
 * Those that were hidden or deleted since the worker wrote their ids are left
 * out. The leaf of topics is closed before the posts are read, so that the
 * query holds no lock on it while it waits for a lock on a leaf of posts.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define READ_TOGETHER 256		/* the most posts that are read together */

typedef struct TopicPosts
{
	Datum		topic;
	Cursor		last;			/* the last row of topics that was read */
	bool		ended;			/* whether no row is left */
	Oid			leaf;			/* the table of topics that was read */
	Oid			index;
	MemoryContext context;
	ManyItems  *read;			/* the posts that were read last */
	TimestampTz date[READ_TOGETHER];	/* their dates in topics */
	int			nread;			/* for how many ids */
	int			given;			/* how many of them topic_posts_next() has
								 * handled */
	int			leaves;
} TopicPosts;

/*
 * Return whether a post has moved to another node of the cluster. The topics
 * of that node have the post, too. Those of this node have it until the worker
 * deletes the row.
 */
static bool
is_elsewhere(const pg_uuid_t *post_id)
{
	return cluster_calls() != NULL &&
		partition_of(CONTAINER_POSTS, ITEM_POST, post_id) == NO_PARTITION;
}

/*
 * Copy the next ids of the topic to id[], as many as the page needs. Returns
 * their number.
 */
static int
take_ids(RequestScan *scan, pg_uuid_t *id)
{
	TopicPosts *posts = scan->state;
	int			wanted = scan->left < 0 ? READ_TOGETHER :
		Min(scan->left, READ_TOGETHER);
	ItemScan   *rows = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC_POST,
		.partition_key = DatumGetPointer(posts->topic), .path = PATH_LIST,
		.key = &posts->topic, .nkeys = 1, .cursor = &posts->last,
		.backward = !scan->page.oldest_first, .rows = wanted
	});
	BlogItem	row;
	int			n = 0;

	item_scan_tables(rows, &posts->leaf, &posts->index);
	while (n < wanted && !(posts->ended = !item_scan_next(rows, &row)))
	{
		posts->last.valid = true;
		posts->last.date = item_date(&row);
		posts->last.id = *item_uuid(&row, PROP_ID);
		if (deleted_has_author(scan->deleted, &row) || is_elsewhere(&posts->last.id))
			continue;
		posts->date[n] = posts->last.date;
		id[n++] = posts->last.id;
	}
	item_scan_end(rows);
	return n;
}

/* Read the next posts of the topic. Returns false if there are no more. */
static bool
read_next(RequestScan *scan)
{
	TopicPosts *posts = scan->state;
	pg_uuid_t	id[READ_TOGETHER];
	MemoryContext old;

	posts->given = 0;
	posts->nread = posts->ended ? 0 : take_ids(scan, id);
	if (posts->nread == 0)
		return false;

	MemoryContextReset(posts->context);
	old = MemoryContextSwitchTo(posts->context);
	posts->read = many_items_read(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .path = PATH_KEY
	}, id, posts->nread);
	posts->leaves += posts->read->leaves;
	if (query_wants_counts(scan))
		posts_add_up(posts->read, GetActiveSnapshot());
	MemoryContextSwitchTo(old);
	return true;
}

static bool
topic_posts_next(RequestScan *scan, BlogItem *item)
{
	TopicPosts *posts = scan->state;
	MemoryContext old;

	do
	{
		while (posts->given < posts->nread)
		{
			int			i = posts->given++;
			ManyItem   *read = &posts->read->item[posts->read->asked[i]];

			/* A post with another date was created anew with this id. */
			if (!read->found || item_hidden(&read->item) ||
				item_date(&read->item) != posts->date[i])
				continue;
			*item = read->item;
			old = MemoryContextSwitchTo(scan->row_context);
			if (query_shows(scan, item))
			{
				item_shorten(item);
				MemoryContextSwitchTo(old);
				return true;
			}
			MemoryContextSwitchTo(old);
		}
	} while (read_next(scan));
	return false;
}

static void
topic_posts_explain(const RequestScan *scan, SourceReads *reads)
{
	const TopicPosts *posts = scan->state;

	reads->container = CONTAINER_TOPICS;
	reads->leaves = posts->leaves + 1;
	reads->leaf = posts->leaf;
	reads->index = posts->index;
}

static void
topic_posts_close(RequestScan *scan)
{
	TopicPosts *posts = scan->state;

	MemoryContextDelete(posts->context);
	pfree(posts);
}

static const ItemSource topic_posts = {
	.next = topic_posts_next, .explain = topic_posts_explain,
	.close = topic_posts_close
};

/* Set the source of a query to a page of the posts of a topic. */
void
query_topic_posts(RequestScan *scan, Datum topic)
{
	TopicPosts *posts = palloc0(sizeof(TopicPosts));

	posts->topic = topic;
	posts->context = AllocSetContextCreate(CurrentMemoryContext,
										   "blogstore posts of a topic",
										   ALLOCSET_DEFAULT_SIZES);
	posts->last = scan->page.before;
	scan->source = &topic_posts;
	scan->state = posts;
}
