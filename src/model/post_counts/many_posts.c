/*
 * many_posts.c
 *		Reading many posts and their counts by key, in any order.
 *
 * A ManyPosts has a scan of posts and a scan of deltas for each partition. It
 * restarts a scan with the key of the next post, instead of opening the leaf
 * and its index for each post.
 *
 * At most MAX_OPEN scans of posts and MAX_OPEN scans of deltas are open. If
 * there are more partitions, opening a scan of one partition closes the scan
 * of another.
 *
 * Runs in the worker, and in a backend for repair(). A ManyPosts must be used
 * in the subtransaction in which it was begun.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/memutils.h"

#define MAX_OPEN 128			/* The largest number of open scans of posts,
								 * and of open scans of deltas. Each holds two
								 * locks, on a leaf and on an index. */

struct ManyPosts
{
	MemoryContext context;
	Snapshot	snapshot;
	ItemScan   *posts[MAX_OPEN];	/* by partition modulo MAX_OPEN; NULL: no
									 * scan is open */
	ItemScan   *deltas[MAX_OPEN];
};

/*
 * Prepare to read posts with a snapshot. The transaction must not be
 * SERIALIZABLE. The result is allocated in the current memory context.
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
 * Return a scan for a post, or for the deltas of a post. Opens the scan of the
 * post's partition, or restarts it if it is open. Returns NULL if the
 * partition is on another node of the cluster.
 */
static ItemScan *
scan_of(ManyPosts *many, ItemType type, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, type, post_id);
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(post_id)};
	ItemScan  **scan;

	if (partition == NO_PARTITION)
		return NULL;

	scan = type == ITEM_POST ? &many->posts[partition % MAX_OPEN] :
		&many->deltas[partition % MAX_OPEN];
	item_scan_look(scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = key, .nkeys = type == ITEM_POST ? 1 : 2,
		.snapshot = many->snapshot
	});
	return *scan;
}

/*
 * Read a post without its deltas; many_posts_add_up() adds them to the counts.
 * Returns false if the snapshot does not show the post, or the post is on
 * another node of the cluster. The values in *post are valid until the next
 * call.
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
