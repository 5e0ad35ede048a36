/*
 * many_posts.c
 *		Reading many posts and their counts by key, in any order.
 *
 * The scans of a partition's posts, and of its deltas, are kept open and begun again for
 * each post, where item_get() and post_add_up() open leaf and index each time. Where
 * there are more partitions than scans may be open, two that share a place take turns.
 *
 * Runs in the worker, and in a backend for repair(). A reader must not be used in a
 * subtransaction of the one that it was begun in.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/memutils.h"

#define MAX_OPEN 128			/* scans: each has a leaf and an index locked */

struct ManyPosts
{
	MemoryContext context;		/* where scans allocate (btgettuple() does) */
	Snapshot	snapshot;
	ItemScan   *posts[MAX_OPEN];	/* NULL: none is open here */
	ItemScan   *deltas[MAX_OPEN];
};

/* Begin to read, as a snapshot sees posts. The transaction is READ COMMITTED. */
ManyPosts *
many_posts_begin(Snapshot snapshot)
{
	ManyPosts  *many = palloc0(sizeof(ManyPosts));

	Assert(!IsolationIsSerializable());
	many->context = CurrentMemoryContext;
	many->snapshot = snapshot;
	return many;
}

/*
 * A scan of the posts, or the deltas, that have a post's key; NULL: on a cluster, they are on another
 * node.
 */
static ItemScan *
scan_of(ManyPosts *many, ItemType type, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, type, post_id);
	Datum		key = UUIDPGetDatum(post_id);
	ItemScan  **scan;

	if (partition == NO_PARTITION)
		return NULL;

	scan = type == ITEM_POST ? &many->posts[partition % MAX_OPEN] :
		&many->deltas[partition % MAX_OPEN];
	item_scan_look(scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = &key, .nkeys = 1,
		.snapshot = many->snapshot
	});
	return *scan;
}

/*
 * Read a post, with the counts of its item alone; false if there is none here. Values hold
 * until the next one is read.
 */
bool
many_posts_find(ManyPosts *many, const pg_uuid_t *post_id, BlogItem *post)
{
	MemoryContext old = MemoryContextSwitchTo(many->context);
	ItemScan   *scan = scan_of(many, ITEM_POST, post_id);
	bool		found = scan != NULL && item_scan_next(scan, post);

	MemoryContextSwitchTo(old);
	return found;
}

/* Add to a post's counts what its deltas say. */
void
many_posts_add_up(ManyPosts *many, BlogItem *post)
{
	MemoryContext old = MemoryContextSwitchTo(many->context);
	ItemScan   *scan = scan_of(many, ITEM_DELTA, item_uuid(post, PROP_POST_ID));
	BlogItem	delta;

	while (scan != NULL && item_scan_next(scan, &delta))
		item_add_counts(post, item_count(&delta, PROP_COMMENT_COUNT),
						item_count(&delta, PROP_LIKE_COUNT));
	MemoryContextSwitchTo(old);
}

/* Close all scans, and forget the reader. */
void
many_posts_end(ManyPosts *many)
{
	for (int i = 0; i < MAX_OPEN; i++)
	{
		if (many->posts[i] != NULL)
			item_scan_end(many->posts[i]);
		if (many->deltas[i] != NULL)
			item_scan_end(many->deltas[i]);
	}
	pfree(many);
}
