/*
 * many_posts.c
 *		Reading many posts and their counts by key, in any order.
 *
 * The reader keeps one scan of posts and one of deltas open for each
 * partition, and begins it again with the key of the next post. item_get() and
 * post_add_up() would open the leaf and its index for each post. At most
 * MAX_OPEN scans of each kind are open; if there are more partitions, some
 * share a slot and replace each other's scan.
 *
 * Runs in the worker, and in a backend for repair(). A reader must not be used
 * in a subtransaction of the transaction that it was begun in.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/memutils.h"

#define MAX_OPEN 128			/* scans of each kind; each holds a lock on a
								 * leaf and its index */

struct ManyPosts
{
	MemoryContext context;		/* where scans allocate, as btgettuple()
								 * does */
	Snapshot	snapshot;
	ItemScan   *posts[MAX_OPEN];	/* NULL: no scan is open in this slot */
	ItemScan   *deltas[MAX_OPEN];
};

/*
 * Begin to read posts as the snapshot shows them. The caller's transaction
 * must not be SERIALIZABLE. Returns a reader in the current memory context.
 */
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
 * Begin a scan of posts or deltas by a post's key. Returns NULL if the
 * partition lies on another node.
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
 * Read a post, with the counts of the post item alone. Returns false if the
 * snapshot does not show it, or it lies on another node. The values in *post
 * hold until the next call.
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

/* Add the counts of a post's deltas to the post. */
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

/* Close all scans, and free the reader. */
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
