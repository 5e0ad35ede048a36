/*
 * copies_build.c
 *		Making all copies agree with their posts, one chunk at a time, whatever
 *		the tables hold.
 *
 * A chunk reads posts and copies side by side, in the order of the copies' key
 * and with one snapshot. Copies that agree with their posts are skipped; if
 * the views were up to date, these are nearly all. Missing copies are
 * collected and then inserted a page at a time, in key order per leaf. A copy
 * that differs, has no post, or is being changed is refreshed by itself
 * (copies.c).
 *
 * If a post changes after the snapshot was taken, the change feed reports the
 * post, and its copy is refreshed then.
 *
 * Runs in the worker. The caller holds the views' lock.
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
 * Limit on the number of keys of a chunk. It grows with the number of
 * partitions, because a chunk opens all of them. It is bounded because the
 * worker applies no changes during a chunk.
 */
#define KEYS_PER_PARTITION 250
#define MAX_KEYS 10000

/* Limit on the text of the missing copies that a chunk collects, in bytes. */
#define MAX_TEXT (4 * 1024 * 1024)

/* A missing copy, which is to be inserted. */
typedef struct MissingCopy
{
	int			partition;		/* number of its partition in the container
								 * users */
	int			place;			/* index of the copy in CopiesBuild.item */
} MissingCopy;

/* State of one chunk. */
typedef struct CopiesBuild
{
	MergedScan *posts;
	MergedScan *copies;
	ManyPosts  *many;
	MemoryContext gathered;		/* memory context of the values of missing
								 * copies */
	BlogItem   *item;			/* missing copies, in key order */
	MissingCopy *missing;		/* the missing copies, in the order in which
								 * they are inserted */
	int			n_missing;
	Size		text;			/* bytes of text in the missing copies */
	PostKey    *differing;		/* keys of copies that differ from their posts,
								 * or may */
	int			n_differing;
	PostKey    *alone;			/* keys of copies that have no post on this
								 * server */
	int			n_alone;
} CopiesBuild;

/* Compare two posts or copies by the key of copies, for sorting. */
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

/* Set *key to the key of a copy, or to the key of a post's copy. */
static void
key_of(PostKey *key, const BlogItem *item)
{
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(item, PROP_ID);
	key->user_id = *item_uuid(item, PROP_USER_ID);
	key->creation_date = item_date(item);
}

/* Set *place to the place just behind a post or copy, in key order. */
static void
place_of(ItemPlace *place, const BlogItem *item)
{
	place->valid = true;
	place->first = *item_uuid(item, PROP_USER_ID);
	place->date = item_date(item);
	place->last = *item_uuid(item, PROP_ID);
}

/*
 * Begin to read all posts, or all copies, behind a place in key order. limit:
 * the number of items that will be read.
 */
static MergedScan *
begin_list(Container container, const ItemPlace *place, int limit)
{
	bool		posts = container == CONTAINER_POSTS;

	/*
	 * identity: do not raise an error for a copy that lacks values.
	 * look_at_post() finds that it differs from its post.
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

/* Note the key of a copy that differs from its post, or may differ. */
static void
add_differing(CopiesBuild *build, const BlogItem *item)
{
	key_of(&build->differing[build->n_differing++], item);
}

/* Note a post, in short form, that has no copy. */
static void
add_missing(CopiesBuild *build, const BlogItem *post)
{
	int			partition = partition_of(CONTAINER_USERS, ITEM_POST,
										 item_uuid(post, PROP_USER_ID));
	MemoryContext old;

	if (partition == NO_PARTITION)
	{
		/*
		 * On a cluster, another node may have the copies of this user.
		 * Otherwise the partition is missing, which the refresh reports.
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
 * Compare a post with its copy, NULL if it has none, and note the copy if it
 * is missing or differs. A post with different values in id and post_id is not
 * compared, but its copy is refreshed by itself; only the owner can have
 * written such a post.
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
 * Compare the post and the copy at the next key, and move *place behind that
 * key. Returns false if there is none. Adds to *done the number of items that
 * were read or have to be inserted.
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
	 * Wait until no other transaction is changing the copy. If one has changed
	 * it, the copy that was read is not the current one, so refresh it.
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

/* End the scans of a chunk. What it has found is written afterwards. */
static void
build_read(CopiesBuild *build)
{
	merged_scan_end(build->posts);
	merged_scan_end(build->copies);
	many_posts_end(build->many);
}

/* Compare two missing copies for sorting: by partition, then by key. */
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
 * Write what the chunk has found. differing: function that refreshes copies
 * that differ. alone: function that refreshes copies without a post on this
 * server.
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
 * Do a chunk, as described at copies_build(). differing: function that
 * refreshes copies of posts on this server. alone: function that refreshes
 * copies without a post on this server.
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
 * Do a chunk: make copies agree with their posts from *place on, with the
 * active snapshot, and move *place to where the next chunk begins. Returns
 * true if that was the last chunk. Adds to *done the number of posts and
 * copies that were read or inserted.
 */
bool
copies_build(ItemPlace *place, int64 *done)
{
	const ClusterCalls *cluster = cluster_calls();

	if (cluster != NULL)
		return cluster->build_copies(place, done);
	return copies_build_by(place, done, copies_refresh, copies_refresh);
}
