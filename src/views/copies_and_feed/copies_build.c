/*
 * copies_build.c
 *		Making all copies of posts right, a chunk at a time, whatever is there.
 *
 * Posts and copies are read side by side in the order of the copies' key, all by
 * one snapshot. Those that agree are passed by, and are most of them where the
 * views are kept. Missing copies are gathered, and inserted into their leaves in that
 * order, by the pageful. A copy that is stale, has no post, or is being changed is
 * refreshed by itself, as after a change (copies.c).
 *
 * A change of a post after the snapshot is decoded later, and refreshes its copy then.
 *
 * Runs in the worker; the caller holds the views' lock.
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
 * How many keys a chunk looks at: so many for each partition, since all of
 * them are opened for it, and no more than changes can wait for meanwhile.
 */
#define KEYS_PER_PARTITION 250
#define MAX_KEYS 10000

/* How much text a chunk gathers, in bytes. */
#define MAX_TEXT (4 * 1024 * 1024)

/* A copy to be inserted. */
typedef struct MissingCopy
{
	int			partition;		/* of users */
	int			place;			/* in the order of the copies' keys */
} MissingCopy;

/* A chunk. */
typedef struct CopiesBuild
{
	MergedScan *posts;
	MergedScan *copies;
	ManyPosts  *many;
	MemoryContext gathered;		/* where values of missing copies are */
	BlogItem   *item;			/* missing copies, in the order of their keys */
	MissingCopy *missing;		/* the same, in the order of writing */
	int			n_missing;
	Size		text;			/* in them */
	PostKey    *differing;		/* copies that are refreshed by themselves */
	int			n_differing;
	PostKey    *alone;			/* copies that have no post here */
	int			n_alone;
} CopiesBuild;

/* The order of the copies' key. */
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

/* The key by which an item, a post or a copy, names a copy. */
static void
key_of(PostKey *key, const BlogItem *item)
{
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(item, PROP_ID);
	key->user_id = *item_uuid(item, PROP_USER_ID);
	key->creation_date = item_date(item);
}

/* Behind an item. */
static void
place_of(ItemPlace *place, const BlogItem *item)
{
	place->valid = true;
	place->first = *item_uuid(item, PROP_USER_ID);
	place->date = item_date(item);
	place->last = *item_uuid(item, PROP_ID);
}

/*
 * All posts of a container, or all copies, behind a place in their order;
 * limit of them.
 */
static MergedScan *
begin_list(Container container, const ItemPlace *place, int limit)
{
	bool		posts = container == CONTAINER_POSTS;

	/* a copy that lacks values is one that differs */
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

/* A copy differs, or may. */
static void
add_differing(CopiesBuild *build, const BlogItem *item)
{
	key_of(&build->differing[build->n_differing++], item);
}

/* A post, in short form, has no copy. */
static void
add_missing(CopiesBuild *build, const BlogItem *post)
{
	int			partition = partition_of(CONTAINER_USERS, ITEM_POST,
										 item_uuid(post, PROP_USER_ID));
	MemoryContext old;

	if (partition == NO_PARTITION)
	{
		/* it is not to be written here, or that cannot be done: to refresh it tells which */
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
 * Look at a post and its copy (NULL: there is none). A post whose id is not
 * its key, which only the owner can have written, is for copies_refresh() to
 * judge.
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
 * Look at what has the next key; false: there is nothing left. Counts what it
 * has looked at, and the copy that it has written, if none was there.
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
	/* what others do to a copy comes before the comparison */
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

/* The chunk has been read. */
static void
build_read(CopiesBuild *build)
{
	merged_scan_end(build->posts);
	merged_scan_end(build->copies);
	many_posts_end(build->many);
}

/* By partition, and in each by the copies' key. */
static int
compare_missing(const void *a, const void *b)
{
	const MissingCopy *wa = a;
	const MissingCopy *wb = b;

	if (wa->partition != wb->partition)
		return wa->partition < wb->partition ? -1 : 1;
	return wa->place < wb->place ? -1 : wa->place > wb->place;
}

/* Insert missing copies. */
static void
write_missing(CopiesBuild *build)
{
	BulkInsert *bulk = bulk_insert_begin(CONTAINER_USERS, ITEM_POST);

	for (int i = 0; i < build->n_missing; i++)
		bulk_insert_item(bulk, &build->item[build->missing[i].place]);
	bulk_insert_end(bulk);
}

/* Write what the chunk has found to be written. */
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
 * Make copies right from a place on, as copies_build() does, by the active snapshot. differing,
 * alone: refresh copies of posts that are here, and copies that have no post here.
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
 * Make copies right from a place on, by which the next chunk goes on. Returns
 * whether the end is reached. done: grows by the posts and copies that were
 * looked at or written.
 */
bool
copies_build(ItemPlace *place, int64 *done)
{
	const ClusterCalls *cluster = cluster_calls();

	if (cluster != NULL)
		return cluster->build_copies(place, done);
	return copies_build_by(place, done, copies_refresh, copies_refresh);
}
