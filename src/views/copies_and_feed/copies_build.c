/*
 * copies_build.c
 *		Rebuilds the copies of posts in the container users: makes every copy
 *		equal to its post. Each transaction handles one chunk of keys.
 *
 * A chunk reads posts and copies side by side, both in the order (user_id,
 * creation_date, id), and with one snapshot. A copy that equals its post is
 * skipped; usually nearly all are. Missing copies are collected, and then
 * inserted in bulk, in key order for each leaf. A copy that differs from its
 * post, has no post, or is being changed by another transaction is refreshed
 * individually (copies.c).
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
 * A chunk has at most KEYS_PER_PARTITION keys for each partition of posts. The
 * cost of opening all partitions is small compared to that of reading these
 * keys. In all, a chunk has at most MAX_KEYS keys, because the worker applies
 * no changes of posts during a chunk.
 */
#define KEYS_PER_PARTITION 250
#define MAX_KEYS 10000

/*
 * A chunk ends early when title and content of its missing copies have reached
 * this size, in bytes.
 */
#define MAX_TEXT (4 * 1024 * 1024)

typedef struct MissingCopy
{
	int			partition;
	int			place;			/* index of this copy in CopiesBuild.item */
} MissingCopy;

/* What one call of copies_build() has found. */
typedef struct CopiesBuild
{
	MergedScan *posts;
	MergedScan *copies;
	ManyPosts  *many;
	MemoryContext gathered;		/* memory context of the items in "item" */
	BlogItem   *item;			/* the missing copies, in key order */
	MissingCopy *missing;		/* one element for each copy in "item";
								 * build_write() sorts them by partition */
	int			n_missing;
	Size		text;
	PostKey    *differing;		/* keys of copies to refresh individually */
	int			n_differing;
	PostKey    *alone;			/* keys of copies without a post on this
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
 * Set *place to the position just after a post or copy, in the order (user_id,
 * creation_date, id).
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
 * Begin a scan of posts (CONTAINER_POSTS) or copies (CONTAINER_USERS), in the
 * order (user_id, creation_date, id), after "place".
 *
 * limit: the caller reads at most this many items.
 */
static MergedScan *
begin_list(Container container, const ItemPlace *place, int limit)
{
	bool		posts = container == CONTAINER_POSTS;

	/*
	 * With "identity", a NULL in a column such as "title" of a copy raises no
	 * error. look_at_post() then finds that the copy differs from its post.
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
 * Add the key of a post or copy to the list of copies that are refreshed
 * individually.
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
		 * Refresh the copy individually instead. On a cluster, this refresh
		 * sends the copy to the node that has the partition. If no node has
		 * the partition, the refresh raises an error.
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
 * Compare a post with its copy (NULL if there is none). If the copy is missing
 * or differs, add it to the copies that the chunk will write.
 *
 * In a post, id and post_id are equal, unless the owner has written to the
 * table directly. If id and post_id differ, the copy is refreshed
 * individually.
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
 * Compare the post and the copy that have the next key, and move *place past
 * that key. Returns false if there is no next key. If there is a post, adds 2
 * to *done, for the post and its copy. Otherwise adds 1, for the copy.
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
	 * If another transaction is changing the copy, wait until this transaction
	 * has ended. The scan may have read the old version of the copy, so the
	 * copy is refreshed individually.
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

/* End the scans of a chunk. build_write() then writes the copies. */
static void
build_read(CopiesBuild *build)
{
	merged_scan_end(build->posts);
	merged_scan_end(build->copies);
	many_posts_end(build->many);
}

/*
 * Compare two missing copies for sorting: by partition, then by key.
 * CopiesBuild.item is in key order, so "place" stands for the key.
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
 * Write what a chunk has found: refresh copies, and insert the missing ones.
 *
 * differing: function that refreshes the copies that differ from their posts
 * alone: function that refreshes the copies without a post on this node
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
 * Do the work of copies_build(), with the given functions for the copies that
 * are refreshed individually.
 *
 * differing: refreshes copies whose post is on this node
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
 * Make the copies of one chunk equal to their posts, with the active snapshot.
 * The chunk begins after *place, and *place is then set to its end. Returns
 * true if no keys are left. Adds the number of items that were read or
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
