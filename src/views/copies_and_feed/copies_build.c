/*
 * copies_build.c
 *		Making all copies right, one chunk at a time, whatever the leaves
 *		hold.
 *
 * A chunk reads posts and copies side by side, in the order of the copies' key
 * and with one snapshot. Copies that agree with their posts are skipped; if
 * the views were kept, these are nearly all. Missing copies are collected and
 * inserted by the page, in key order per leaf. A copy that differs, has no
 * post, or is being changed is refreshed on its own (copies.c).
 *
 * If a post changes after the snapshot, the change feed reports it and its
 * copy is refreshed then.
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
 * Limit on the keys of a chunk. It grows with the number of partitions,
 * because a chunk opens all of them. It is bounded because changes are not
 * applied during a chunk.
 */
#define KEYS_PER_PARTITION 250
#define MAX_KEYS 10000

/* Limit on the text collected in a chunk, in bytes. */
#define MAX_TEXT (4 * 1024 * 1024)

/* A copy to be inserted. */
typedef struct MissingCopy
{
	int			partition;		/* number of the partition of users */
	int			place;			/* index in CopiesBuild.item */
} MissingCopy;

/* State of a chunk. */
typedef struct CopiesBuild
{
	MergedScan *posts;
	MergedScan *copies;
	ManyPosts  *many;
	MemoryContext gathered;		/* holds the values of missing copies */
	BlogItem   *item;			/* missing copies, in key order */
	MissingCopy *missing;		/* the same, in the order of insertion */
	int			n_missing;
	Size		text;			/* bytes of text in them */
	PostKey    *differing;		/* keys of copies to be refreshed on their
								 * own */
	int			n_differing;
	PostKey    *alone;			/* keys of copies without a post on this
								 * server */
	int			n_alone;
} CopiesBuild;

/* Compare two items by the key of the copies. */
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

/* Set *key to the key of the copy that a post or copy stands for. */
static void
key_of(PostKey *key, const BlogItem *item)
{
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(item, PROP_ID);
	key->user_id = *item_uuid(item, PROP_USER_ID);
	key->creation_date = item_date(item);
}

/* Set *place to the place behind an item. */
static void
place_of(ItemPlace *place, const BlogItem *item)
{
	place->valid = true;
	place->first = *item_uuid(item, PROP_USER_ID);
	place->date = item_date(item);
	place->last = *item_uuid(item, PROP_ID);
}

/*
 * Begin a list of all posts, or of all copies, behind a place in key order.
 * limit: how many will be read.
 */
static MergedScan *
begin_list(Container container, const ItemPlace *place, int limit)
{
	bool		posts = container == CONTAINER_POSTS;

	/*
	 * identity: read copies that lack values, too, instead of raising an
	 * error; look_at_post() then finds that they differ from their posts
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

/* Note a copy that differs, or may differ. */
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
		 * copies of this user are not on this server, or the partition is
		 * missing; a refresh handles both
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
 * Compare a post with its copy (NULL: none), and note a copy that is missing
 * or differs. Only the owner can have written a post whose id is not equal to
 * its post_id. Such a post is not compared, but noted as differing, so that
 * its copy is refreshed on its own.
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
 * Look at the next key and move *place behind it. Returns false at the end.
 * *done grows by the number of items read or to be inserted.
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
	/* compare only after a concurrent change of the copy has ended */
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

/* End reading; the chunk's changes are written afterwards. */
static void
build_read(CopiesBuild *build)
{
	merged_scan_end(build->posts);
	merged_scan_end(build->copies);
	many_posts_end(build->many);
}

/* Order by partition, then by key. */
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

/* Write what the chunk has found. */
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
 * Do a chunk, as copies_build() does. differing: function that refreshes
 * copies of posts on this server. alone: function for copies without a post on
 * this server.
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
 * Make copies right from *place on, with the active snapshot, and move *place
 * to where the next chunk continues. Returns whether the end was reached.
 * *done grows by the number of posts and copies read or inserted.
 */
bool
copies_build(ItemPlace *place, int64 *done)
{
	const ClusterCalls *cluster = cluster_calls();

	if (cluster != NULL)
		return cluster->build_copies(place, done);
	return copies_build_by(place, done, copies_refresh, copies_refresh);
}
