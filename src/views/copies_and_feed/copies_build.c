/*
 * copies_build.c
 *		Rebuilds the copies of posts in the container users: makes every copy
 *		equal to its post. Also inserts the posts' topics that are missing in
 *		the container topics. Each transaction handles one chunk of keys.
 *
 * A chunk scans posts and copies with one snapshot, both in the order
 * (user_id, creation_date, id). Most copies equal their posts and are skipped.
 * Missing copies are collected and inserted in bulk, leaf by leaf. Other
 * copies are refreshed individually (copies.c): those that differ, that have
 * no post, or that another transaction is changing.
 *
 * If a post changes after the snapshot was taken, the change feed reports the
 * post, and the worker then refreshes the copy of the post.
 *
 * Runs in the worker. The caller has called views_lock().
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "model/topics/topics.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"
#include "views/copies_and_feed/view_rows.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * Largest number of keys in a chunk: KEYS_PER_PARTITION times the number of
 * partitions of posts, but at most MAX_KEYS. Reading this many keys takes much
 * longer than opening the partitions. MAX_KEYS is limited because the worker
 * applies no changes of posts during a chunk.
 */
#define KEYS_PER_PARTITION 250
#define MAX_KEYS 10000

/*
 * A chunk ends early when the titles and contents of its missing copies have
 * this many bytes.
 */
#define MAX_TEXT (4 * 1024 * 1024)

typedef struct MissingCopy
{
	int			partition;
	int			place;			/* index of the copy in CopiesBuild.item */
} MissingCopy;

typedef struct CopiesBuild
{
	MergedScan *posts;
	MergedScan *copies;
	ManyPosts  *many;
	TopicChanges *topics;		/* NULL if the container topics is not kept */
	MemoryContext gathered;		/* memory context of the items in "item" */
	BlogItem   *item;			/* the missing copies, in key order */
	MissingCopy *missing;		/* the partitions of the copies in "item";
								 * build_write() sorts this array */
	int			n_missing;
	Size		text;
	PostKey    *differing;		/* keys of copies to refresh individually */
	int			n_differing;
	PostKey    *alone;			/* keys of copies whose posts do not exist on
								 * this node */
	int			n_alone;
} CopiesBuild;

static int
copies_order(const BlogItem *a, const BlogItem *b)
{
	int			order = memcmp(item_uuid(a, PROP_USER_ID),
							   item_uuid(b, PROP_USER_ID), UUID_LEN);
	TimestampTz da = item_date(a);
	TimestampTz db = item_date(b);

	if (order != 0)
		return order;
	if (da != db)
		return da < db ? -1 : 1;
	return memcmp(item_uuid(a, PROP_ID), item_uuid(b, PROP_ID), UUID_LEN);
}

static void
key_of(PostKey *key, const BlogItem *item)
{
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(item, PROP_ID);
	key->user_id = *item_uuid(item, PROP_USER_ID);
	key->creation_date = item_date(item);
}

static void
place_of(ItemPlace *place, const BlogItem *item)
{
	place->valid = true;
	place->first = *item_uuid(item, PROP_USER_ID);
	place->date = item_date(item);
	place->last = *item_uuid(item, PROP_ID);
}

/*
 * Begin a scan of posts (CONTAINER_POSTS) or copies (CONTAINER_USERS) after
 * "place", in the order of copies_order().
 *
 * limit: the caller reads at most this many items
 */
static MergedScan *
begin_list(Container container, const ItemPlace *place, int limit)
{
	bool		posts = container == CONTAINER_POSTS;

	/*
	 * With "identity", a NULL raises an error only in a field that identifies
	 * the copy. A NULL in another required field makes the copy differ from
	 * its post, and so the copy is refreshed.
	 */
	return merged_scan_begin(&(ItemQuery) {
		.container = container, .type = ITEM_POST,
		.path = posts ? PATH_USER : PATH_LIST, .after = place,
		.identity = !posts, .rows = limit
	}, 1, copies_order);
}

static void
build_begin(CopiesBuild *build, const ItemPlace *place, int limit)
{
	memset(build, 0, sizeof(*build));
	build->many = many_posts_begin(GetActiveSnapshot());
	build->topics = topic_changes_begin();
	build->gathered = AllocSetContextCreate(CurrentMemoryContext,
											"blogstore missing copies",
											ALLOCSET_DEFAULT_SIZES);
	build->item = palloc(sizeof(BlogItem) * limit);
	build->missing = palloc(sizeof(MissingCopy) * limit);
	build->differing = palloc(sizeof(PostKey) * limit);
	build->alone = palloc(sizeof(PostKey) * limit);
	build->posts = begin_list(CONTAINER_POSTS, place, limit);
	build->copies = begin_list(CONTAINER_USERS, place, limit);
}

static void
add_differing(CopiesBuild *build, const BlogItem *item)
{
	key_of(&build->differing[build->n_differing++], item);
}

static void
add_missing(CopiesBuild *build, const BlogItem *post)
{
	int			partition = partition_of(CONTAINER_USERS, ITEM_POST,
										 item_uuid(post, PROP_USER_ID));
	MemoryContext old;

	if (partition == NO_PARTITION)
	{
		/*
		 * This node does not have the partition of the copy. On a cluster, an
		 * individual refresh sends the copy to the node that has the
		 * partition. If no node has the partition, that refresh raises an
		 * error.
		 */
		add_differing(build, post);
		return;
	}
	old = MemoryContextSwitchTo(build->gathered);
	item_copy(&build->item[build->n_missing], post);
	MemoryContextSwitchTo(old);
	build->missing[build->n_missing] = (MissingCopy) {
		.partition = partition, .place = build->n_missing
	};
	build->n_missing++;
	for (Property p = PROP_TITLE; p <= PROP_CONTENT; p++)
		build->text += toast_raw_datum_size(post->value[p]);
}

/*
 * Compare a post with its copy. A missing or different copy is noted for
 * build_write(). If id and post_id of the post differ, the owner has written
 * to the table directly. The copy is then refreshed individually.
 *
 * there: the post as stored, without its deltas and not in short form
 * copy: NULL if there is no copy
 */
static void
look_at_post(CopiesBuild *build, const BlogItem *there, const BlogItem *copy)
{
	BlogItem	post = *there;

	if (memcmp(item_uuid(&post, PROP_ID), item_uuid(&post, PROP_POST_ID),
			   UUID_LEN) != 0)
	{
		add_differing(build, &post);
		return;
	}
	many_posts_add_up(build->many, &post);
	item_shorten(&post);
	if (copy == NULL)
		add_missing(build, &post);
	else if (!copy_current(copy, &post))
		add_differing(build, copy);
}

/* The post's topics must be in topics, even if the post's copy is right. */
static void
add_topics(CopiesBuild *build, const BlogItem *post)
{
	if (build->topics != NULL)
		topic_changes_post(build->topics, post);
}

/*
 * Compare the post and the copy with the next key, and move *place past this
 * key. Returns false if no key is left. If the key has a post, adds 2 items to
 * *done: the post and its copy. If the key has only a copy, adds 1.
 */
static bool
look_at_next(CopiesBuild *build, ItemPlace *place, int64 *done)
{
	const BlogItem *post = merged_scan_item(build->posts);
	const BlogItem *copy = merged_scan_item(build->copies);
	int			order = post == NULL ? 1 : copy == NULL ? -1 :
		copies_order(post, copy);

	if (post == NULL && copy == NULL)
		return false;
	place_of(place, order <= 0 ? post : copy);
	*done += order <= 0 ? 2 : 1;
	if (order <= 0)
	{
		add_topics(build, post);
		copies_queue_scheduled(post);
	}
	if (order > 0)
		key_of(&build->alone[build->n_alone++], copy);

	/*
	 * If another transaction is changing the copy, wait for the end of that
	 * transaction. The scan may have read the old version of the copy, so
	 * refresh the copy individually.
	 */
	else if (order == 0 && item_scan_await_free(merged_scan_source(build->copies)))
		add_differing(build, copy);
	else
		look_at_post(build, post, order == 0 ? copy : NULL);
	if (order <= 0)
		merged_scan_next(build->posts);
	if (order >= 0)
		merged_scan_next(build->copies);
	return true;
}

static void
build_read(CopiesBuild *build)
{
	merged_scan_end(build->posts);
	merged_scan_end(build->copies);
	many_posts_end(build->many);
}

/*
 * Order missing copies by partition, and in a partition by key.
 * CopiesBuild.item is in key order, so "place", an index in this array, is
 * compared instead of the key.
 */
static int
compare_missing(const void *a, const void *b)
{
	const MissingCopy *wa = a;
	const MissingCopy *wb = b;

	if (wa->partition != wb->partition)
		return wa->partition < wb->partition ? -1 : 1;
	return wa->place < wb->place ? -1 : wa->place > wb->place;
}

static void
write_missing(CopiesBuild *build)
{
	BulkInsert *bulk = bulk_insert_begin(CONTAINER_USERS, ITEM_POST);

	for (int i = 0; i < build->n_missing; i++)
		bulk_insert_item(bulk, &build->item[build->missing[i].place]);
	bulk_insert_end(bulk);
}

static void
build_write(CopiesBuild *build, RefreshCopies differing, RefreshCopies alone)
{
	qsort(build->missing, build->n_missing, sizeof(MissingCopy), compare_missing);
	if (build->n_differing > 0)
		differing(build->differing, build->n_differing);
	if (build->n_alone > 0)
		alone(build->alone, build->n_alone);
	write_missing(build);
	if (build->topics != NULL)
		topic_changes_end(build->topics);
}

static void
build_end(CopiesBuild *build)
{
	pfree(build->item);
	pfree(build->missing);
	pfree(build->differing);
	pfree(build->alone);
	MemoryContextDelete(build->gathered);
}

/* Return whether the chunk should end before it has handled all its keys. */
static bool
build_full(const CopiesBuild *build)
{
	return build->text >= MAX_TEXT ||
		(build->topics != NULL && topic_changes_full(build->topics));
}

/*
 * Do the work of copies_build(), but call two functions of the caller to
 * refresh wrong copies.
 *
 * differing: refreshes copies that differ from their posts
 * alone: refreshes copies without a post on this node
 */
bool
copies_build_by(ItemPlace *place, int64 *done, RefreshCopies differing,
				RefreshCopies alone)
{
	MemoryContext per_key = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore copy",
												  ALLOCSET_DEFAULT_SIZES);
	int			partitions = partition_count(CONTAINER_POSTS, ITEM_POST);
	int			limit = Min(Max(partitions, 1) * KEYS_PER_PARTITION, MAX_KEYS);
	CopiesBuild build;
	bool		more = true;

	build_begin(&build, place, limit);
	for (int i = 0; i < limit && !build_full(&build) && more; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(per_key);

		more = look_at_next(&build, place, done);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_key);
	}
	build_read(&build);
	MemoryContextDelete(per_key);
	build_write(&build, differing, alone);
	build_end(&build);
	return !more;
}

/*
 * Make the copies of one chunk equal to their posts, with the active snapshot.
 * The chunk begins after *place. Sets *place to the end of the chunk, and
 * returns true if no keys are left. Adds the number of items read or inserted
 * to *done.
 */
bool
copies_build(ItemPlace *place, int64 *done)
{
	const ClusterCalls *cluster = cluster_calls();

	if (cluster != NULL)
		return cluster->build_copies(place, done);
	return copies_build_by(place, done, copies_refresh, copies_refresh);
}
