/*
 * copies_build.c
 *		Makes all copies equal to their posts, whatever the tables hold, one
 *		chunk (transaction) at a time.
 *
 * A chunk reads posts and copies side by side, in the order of the copies' key
 * and with one snapshot. If the views were up to date, nearly all copies agree
 * with their posts and are skipped. Missing copies are collected, and then
 * inserted in bulk, in key order for each leaf. A copy that differs
 * from its post, has no post, or is being changed by another transaction is
 * refreshed individually (copies.c).
 *
 * If a post changes after the snapshot was taken, the change feed reports the
 * post, and the worker then refreshes the copy of the post.
 *
 * Runs in the worker. The caller has called views_lock().
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"
#include "views/copies_and_feed/view_rows.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * Limits on the number of keys of a chunk: KEYS_PER_PARTITION for each
 * partition, because a chunk opens all partitions, but at most MAX_KEYS,
 * because the worker applies no other changes during a chunk.
 */
#define KEYS_PER_PARTITION 250
#define MAX_KEYS 10000

/*
 * Limit on the size of title and content of the missing copies in a chunk, in
 * bytes.
 */
#define MAX_TEXT (4 * 1024 * 1024)

typedef struct MissingCopy
{
	int			partition;
	int			place;			/* index of the missing copy in
								 * CopiesBuild.item */
} MissingCopy;

/* State of one chunk of copies_build(). */
typedef struct CopiesBuild
{
	MergedScan *posts;
	MergedScan *copies;
	ManyPosts  *many;
	MemoryContext gathered;		/* memory context of the items in "item" */
	BlogItem   *item;			/* the missing copies, in key order */
	MissingCopy *missing;		/* order in which the items of "item" are
								 * inserted */
	int			n_missing;
	Size		text;
	PostKey    *differing;		/* keys of copies to refresh individually */
	int			n_differing;
	PostKey    *alone;			/* keys of copies that have no post on this
								 * node */
	int			n_alone;
} CopiesBuild;

/*
 * Compare two items, each a post or a copy, by the key of copies: user_id,
 * creation_date, id.
 */
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

/*
 * Set *place to the place in key order just after an item, which is a post or
 * a copy.
 */
static void
place_of(ItemPlace *place, const BlogItem *item)
{
	place->valid = true;
	place->first = *item_uuid(item, PROP_USER_ID);
	place->date = item_date(item);
	place->last = *item_uuid(item, PROP_ID);
}

/*
 * Begin to read posts (CONTAINER_POSTS) or copies (CONTAINER_USERS) that come
 * after a place in the order of the copies' key.
 *
 * limit: how many items the caller will read at most.
 */
static MergedScan *
begin_list(Container container, const ItemPlace *place, int limit)
{
	bool		posts = container == CONTAINER_POSTS;

	/*
	 * With "identity", the scan raises no error for a copy that lacks values.
	 * look_at_post() then finds that the copy differs from its post.
	 */
	return merged_scan_begin(&(ItemQuery) {
		.container = container, .type = ITEM_POST,
		.path = posts ? PATH_USER : PATH_LIST, .after = place,
		.identity = !posts, .rows = limit
	}, copies_order);
}

static void
build_begin(CopiesBuild *build, const ItemPlace *place, int limit)
{
	memset(build, 0, sizeof(*build));
	build->many = many_posts_begin(GetActiveSnapshot());
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

/*
 * Note an item, a post or a copy, whose copy has to be refreshed individually.
 */
static void
add_differing(CopiesBuild *build, const BlogItem *item)
{
	key_of(&build->differing[build->n_differing++], item);
}

/* Add a post, which is in short form, to the missing copies. */
static void
add_missing(CopiesBuild *build, const BlogItem *post)
{
	int			partition = partition_of(CONTAINER_USERS, ITEM_POST,
										 item_uuid(post, PROP_USER_ID));
	MemoryContext old;

	if (partition == NO_PARTITION)
	{
		/*
		 * Leave the copy to the refresh. It does nothing if another node of a
		 * cluster has the copies of this user's posts, and raises an error if
		 * the partition is missing.
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
 * Compare a post with its copy. If the copy is missing (copy is NULL) or
 * differs, add it to the copies that the chunk will write.
 *
 * If id and post_id of the post differ, which only a write of the owner can
 * cause, the copy is refreshed individually.
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

/*
 * Compare the post and the copy at the next key, and move *place past that
 * key. Returns false if there is no next key. Adds the number of items read or
 * to be inserted to *done.
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
	if (order > 0)
		key_of(&build->alone[build->n_alone++], copy);

	/*
	 * Wait until no other transaction is changing the copy. If one was, the
	 * scan may have read an old version of the copy, so the copy is refreshed
	 * individually.
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

/* End the reading part of a chunk. The writing part is build_write(). */
static void
build_read(CopiesBuild *build)
{
	merged_scan_end(build->posts);
	merged_scan_end(build->copies);
	many_posts_end(build->many);
}

/*
 * Compare two missing copies for sorting: by partition, then by key. The field
 * "place" follows the order of keys.
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

/*
 * The writing part of a chunk: refresh copies, and insert the missing copies.
 *
 * differing: function that refreshes the copies that differ from their posts
 * alone: function that refreshes the copies that have no post on this node
 */
static void
build_write(CopiesBuild *build, RefreshCopies differing, RefreshCopies alone)
{
	qsort(build->missing, build->n_missing, sizeof(MissingCopy), compare_missing);
	if (build->n_differing > 0)
		differing(build->differing, build->n_differing);
	if (build->n_alone > 0)
		alone(build->alone, build->n_alone);
	write_missing(build);
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

/*
 * Do one chunk (see copies_build()). The caller chooses the functions that
 * refresh copies individually.
 *
 * differing: refreshes copies whose post is on this node
 * alone: refreshes copies that have no post on this node
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
	for (int i = 0; i < limit && build.text < MAX_TEXT && more; i++)
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
 * Do one chunk: make the copies from *place on equal to their posts, with the
 * active snapshot. Sets *place to where the next chunk begins, and returns
 * true if there is no next chunk. Adds the number of items that were read or
 * inserted to *done.
 */
bool
copies_build(ItemPlace *place, int64 *done)
{
	const ClusterCalls *cluster = cluster_calls();

	if (cluster != NULL)
		return cluster->build_copies(place, done);
	return copies_build_by(place, done, copies_refresh, copies_refresh);
}
