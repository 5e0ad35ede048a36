/*
 * hide_from_views.c
 *		Removing a post from the views in the transaction that hides it.
 *
 * The worker updates the views only after the commit, but a hidden post must
 * not be shown from the commit on. So the transaction that hides it updates
 * the views itself. When a post is shown again, the worker updates the views.
 *
 * Runs in backends, as the containers' owner. The views' lock keeps the
 * worker, which may have read the post before it was hidden, from writing the
 * views until this transaction ends.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "utils/snapmgr.h"

/*
 * Mark the copy of a post as hidden. The copy stays, because queries with
 * include_hidden list it.
 */
static void
hide_copy(const BlogItem *post)
{
	const pg_uuid_t *user_id = item_uuid(post, PROP_USER_ID);
	Datum		place[] = {
		post->value[PROP_USER_ID], post->value[PROP_CREATION_DATE],
		post->value[PROP_POST_ID]
	};
	ItemWriter *writer;
	BlogItem	copy;

	writer = item_writer_open(CONTAINER_USERS, ITEM_POST, user_id);
	if (item_writer_lock(writer, place, 3, LockTupleNoKeyExclusive,
						 LockWaitBlock, &copy) == ITEM_OK)
	{
		item_set(&copy, PROP_HIDDEN, BoolGetDatum(true));
		item_writer_update(writer, &copy);
	}
	item_writer_close(writer);
}

static void
delete_from_feed(const BlogItem *post)
{
	ItemWriter *writer;
	BlogItem	row;

	writer = item_writer_open_partition(CONTAINER_FEED, ITEM_POST,
										FEED_PARTITION);
	if (item_writer_lock(writer, &post->value[PROP_POST_ID], 1,
						 LockTupleExclusive, LockWaitBlock, &row) == ITEM_OK)
		item_writer_delete(writer);
	item_writer_close(writer);
}

/*
 * Remove a post from the views, in the transaction that hides it. The caller
 * has locked the post's row. Even under REPEATABLE READ and SERIALIZABLE the
 * current rows of the views are changed, which the transaction's snapshot may
 * not show. Locks: the views' lock, the copy, and the row of the feed; waits
 * for all three.
 */
void
views_hide(const BlogItem *post)
{
	const ClusterCalls *cluster;
	bool		here;

	views_lock();
	cluster = cluster_calls();
	/* another node's worker updates a copy on that node */
	here = cluster == NULL || cluster->hold_copies(item_uuid(post, PROP_USER_ID));
	/* the snapshot must be newer than the wait for the lock */
	PushActiveSnapshot(GetLatestSnapshot());
	if (here)
		hide_copy(post);
	/* on a cluster, the workers update the feeds of all nodes */
	if (cluster == NULL)
		delete_from_feed(post);
	PopActiveSnapshot();
}
