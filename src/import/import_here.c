/*
 * import_here.c
 *		Bulk import: the ImportTarget (import.h) of a store that is not on a
 *		cluster.
 *
 * Statements read the containers themselves. New items are written to the
 * leaves by bulk inserts.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "import/import.h"
#include "model/post_counts/post_counts.h"
#include "model/user_follows.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

/*
 * The next three functions do nothing. Only on a cluster is there something to
 * prepare, to copy or to clean up.
 */
static void
begin_here(Import *import)
{
}

static void
learn_here(const Import *import, ImportLearn what)
{
}

static void
end_here(const Import *import)
{
}

/*
 * Throw an error if a container lacks a leaf for a type of item. Without the
 * leaf, the import would find no existing items, and would treat all rows as
 * new items. Errors: 55000. Locks: RowExclusiveLock on the leaves.
 */
static void
need_leaves(Container container, ItemType type)
{
	for (int p = partition_first(container, type); p != NO_PARTITION;
		 p = partition_after(container, type, p))
		item_writer_close(item_writer_open_partition(container, type, p));
}

static void
need_all_leaves(const Import *import)
{
	need_leaves(CONTAINER_USERS, ITEM_USER);
	if (import->tally[ITEM_FOLLOW].read > 0)
		need_leaves(CONTAINER_USERS, ITEM_FOLLOW);
	for (ItemType t = ITEM_POST; t <= ITEM_COMMENT_LIKE; t++)
		if (import->tally[t].read > 0)
		{
			need_leaves(CONTAINER_POSTS, ITEM_POST);
			need_leaves(CONTAINER_POSTS, t);
			need_leaves(CONTAINER_POSTS, ITEM_DELTA);
		}
	if (import->tally[ITEM_COMMENT_LIKE].read > 0)
		need_leaves(CONTAINER_POSTS, ITEM_COMMENT);
}

/*
 * Lock all leaves of posts (RowExclusiveLock), before the import reads users'
 * names. If a user is renamed meanwhile, the worker waits until the import
 * ends, and then corrects the names that the import has written. Errors: 55000
 * if a leaf is missing.
 */
static void
lock_here(Import *import)
{
	(void) import_run(import, import_lock_tables_sql);
	need_all_leaves(import);
	container_require_served(CONTAINER_USERS, true);
	container_require_served(CONTAINER_POSTS, true);
}

static void
keep_posts_here(const Import *import, int64 posts)
{
	if (import_run_number(import, import_lock_posts_sql) != posts)
		import_outdated(import, "a post was deleted");
}

static void
lock_follows_here(const Import *import)
{
	follows_lock();
}

static ItemLookup *
lookup_here(const Import *import, ItemType type, ItemType rows)
{
	return leaf_lookup_begin(type);
}

/*
 * The ids of the posts that the import has written. When all posts are
 * written, the import writes their counters.
 */
typedef struct PostCounters
{
	Tuplestorestate *posts;

	TupleTableSlot *post;
} PostCounters;

static void
note_post(PostCounters *counters, const BlogItem *post)
{
	TupleTableSlot *slot = counters->post;

	ExecClearTuple(slot);
	slot->tts_values[0] = post->value[PROP_POST_ID];
	slot->tts_isnull[0] = false;
	ExecStoreVirtualTuple(slot);
	tuplestore_puttupleslot(counters->posts, slot);
}

static void
counters_begin(PostCounters *counters)
{
	TupleDesc	desc = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(desc, 1, "post_id", UUIDOID, -1, 0);
	compat_tuple_desc_finalize(desc);
	counters->posts = tuplestore_begin_heap(false, false, work_mem);
	counters->post = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

static bool
next_counted(PostCounters *counters, pg_uuid_t *post_id)
{
	bool		isnull;

	if (!tuplestore_gettupleslot(counters->posts, true, false, counters->post))
		return false;
	*post_id = *DatumGetUUIDP(slot_getattr(counters->post, 1, &isnull));
	return true;
}

/*
 * Delete counters that already exist for the ids of new posts. If the owner
 * has deleted a post with SQL, the post's counter still exists. The ids are
 * sorted by leaf, so each leaf is opened once.
 */
static void
clear_counters(PostCounters *counters)
{
	ItemScan   *scan = NULL;
	pg_uuid_t	post_id;
	BlogItem	delta;

	while (next_counted(counters, &post_id))
	{
		Datum		key = UUIDPGetDatum(&post_id);

		item_scan_look(&scan, &(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_DELTA,
			.partition_key = &post_id, .path = PATH_KEY, .key = &key,
			.nkeys = 1, .identity = true
		});
		if (item_scan_next(scan, &delta))
			post_counter_clear(&post_id);
	}
	if (scan != NULL)
		item_scan_end(scan);
	tuplestore_rescan(counters->posts);
}

static void
write_counters(PostCounters *counters)
{
	BulkInsert *bulk;
	pg_uuid_t	post_id;
	BlogItem	counter;

	clear_counters(counters);
	bulk = bulk_insert_begin(CONTAINER_POSTS, ITEM_DELTA);
	while (next_counted(counters, &post_id))
	{
		const CountedItem post = counted_post(&post_id);

		counter_init(&counter, &post);
		bulk_insert_item(bulk, &counter);
	}
	bulk_insert_end(bulk);
	ExecDropSingleTupleTableSlot(counters->post);
	tuplestore_end(counters->posts);
}

/*
 * Write the counters of n new posts, whose ids are sorted by leaf. Errors:
 * those of bulk_insert_item().
 */
void
import_write_counters(const pg_uuid_t *post_id, int n)
{
	PostCounters counters;

	counters_begin(&counters);
	for (int i = 0; i < n; i++)
	{
		BlogItem	post;

		item_init(&post, ITEM_POST);
		item_set(&post, PROP_POST_ID, UUIDPGetDatum(&post_id[i]));
		note_post(&counters, &post);
	}
	write_counters(&counters);
}

typedef struct ItemsHere
{
	ItemType	type;
	BulkInsert *bulk;
	PostCounters counters;		/* used only if the items are posts */
} ItemsHere;

static void
write_item(void *arg, const BlogItem *item)
{
	ItemsHere  *items = arg;

	bulk_insert_item(items->bulk, item);
	if (items->type == ITEM_POST)
		note_post(&items->counters, item);
}

static int64
write_items(const Import *import, void *arg)
{
	ItemsHere  *items = arg;
	int64		n = import_new_items(import, items->type, write_item, items);

	bulk_insert_end(items->bulk);
	return n;
}

static void
write_here(const Import *import, ItemType type, int64 rows)
{
	ItemsHere	items = {.type = type};

	items.bulk = bulk_insert_begin(type == ITEM_USER || type == ITEM_FOLLOW ?
								   CONTAINER_USERS : CONTAINER_POSTS, type);
	if (type == ITEM_POST)
		counters_begin(&items.counters);
	import_write_rows(import, write_items, &items, rows);
	if (type == ITEM_POST)
		write_counters(&items.counters);
}

/*
 * Add new replies and likes to the counts of a comment, if it exists. The
 * import has written the replies, and will write the likes. Returns false if
 * there are new likes, but no comment.
 *
 * made: whether the import has written the comment, too. Then all replies to
 *	it are counted, not only new ones, and likes that a deleted comment with
 *	the same id has left are deleted.
 */
bool
import_count_on_comment(const CountedItem *comment, ItemCounts counts,
						bool made)
{
	if (made)
	{
		comment_count_anew(comment, counts.likes > 0);
		counts.comments = 0;
	}
	return no_counts(counts) || counts_add_written(comment, counts) ||
		counts.likes == 0;
}

/*
 * A DestReceiver for rows of import_comment_counts_sql. "comments" is a scan
 * that finds comments by their key. "bulk" inserts the counters of comments on
 * new posts.
 */
typedef struct CommentReceiver
{
	DestReceiver pub;
	MemoryContext context;
	const Import *import;
	MemoryContext row;			/* reset after each row */
	ItemScan   *comments;
	BulkInsert *bulk;
} CommentReceiver;

/* Insert the counter of a comment that this import has written. */
static void
insert_counter(CommentReceiver *receiver, const CountedItem *comment,
			   ItemCounts counts)
{
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	Datum		key[] = {
		UUIDPGetDatum(&comment->post_id), UUIDPGetDatum(&comment->item_id)
	};
	BlogItem	item;
	bool		found;

	item_scan_look(&receiver->comments, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = &comment->post_id, .path = PATH_KEY, .key = key,
		.nkeys = lengthof(key), .identity = true
	});
	found = item_scan_next(receiver->comments, &item);
	MemoryContextSwitchTo(old);
	if (!found)
		return;
	counter_init(&item, comment);
	item_add_counts(&item, counts.comments, counts.likes);
	bulk_insert_item(receiver->bulk, &item);
}

static bool
count_row(TupleTableSlot *slot, DestReceiver *self)
{
	CommentReceiver *receiver = (CommentReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row);
	CountedItem comment;
	ItemCounts	counts;

	slot_getallattrs(slot);
	comment = counted_comment(DatumGetUUIDP(slot->tts_values[1]),
							  DatumGetUUIDP(slot->tts_values[2]));
	counts.comments = DatumGetInt64(slot->tts_values[3]);
	counts.likes = DatumGetInt64(slot->tts_values[4]);
	if (DatumGetBool(slot->tts_values[6]))
		insert_counter(receiver, &comment, counts);
	else if (!import_count_on_comment(&comment, counts,
									  DatumGetBool(slot->tts_values[5])))
		import_outdated(receiver->import, "a comment was deleted");
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row);
	return true;
}

static void
count_end(DestReceiver *self)
{
}

static void
count_on_comments_here(const Import *import)
{
	CommentReceiver receiver = {
		.context = CurrentMemoryContext, .import = import
	};

	import_receiver_init(&receiver.pub, count_row, count_end);
	receiver.row = AllocSetContextCreate(CurrentMemoryContext,
										 "blogstore counted comments",
										 ALLOCSET_DEFAULT_SIZES);
	PushActiveSnapshot(GetTransactionSnapshot());
	receiver.bulk = bulk_insert_begin(CONTAINER_POSTS, ITEM_DELTA);
	(void) import_run_each(import, import_comment_counts_sql, &receiver.pub);
	bulk_insert_end(receiver.bulk);
	if (receiver.comments != NULL)
		item_scan_end(receiver.comments);
	PopActiveSnapshot();
	MemoryContextDelete(receiver.row);
}

/*
 * Return whether an error is the violation of a primary key. The names of all
 * primary keys in the containers end in _pkey.
 */
static bool
key_is_taken_here(const ErrorData *error)
{
	const char *name = error->constraint_name;
	const char *end = "_pkey";
	size_t		length = name ? strlen(name) : 0;

	return error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION && length >= strlen(end) &&
		strcmp(name + length - strlen(end), end) == 0;
}

const ImportTarget import_here = {
	.begin = begin_here,
	.lock = lock_here,
	.learn = learn_here,
	.lookup = lookup_here,
	.keep_posts = keep_posts_here,
	.lock_follows = lock_follows_here,
	.write = write_here,
	.count_on_comments = count_on_comments_here,
	.edit = import_edit_here,
	.key_is_taken = key_is_taken_here,
	.end = end_here
};
