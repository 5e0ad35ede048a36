/*
 * hide_from_views.c
 *		Removes a post from the views in the transaction that hides the post.
 *
 * A hidden post must not be shown after the commit of hide_post(). The worker
 * would update the views too late, so hide_post() updates them itself. When a
 * post is no longer hidden, the worker updates the views.
 *
 * The caller's transaction holds the views' lock (views_lock()) until it ends.
 * Without this lock, the worker could write an older state of the post to the
 * views.
 *
 * Runs in backends, as the containers' owner.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "utils/snapmgr.h"

/*
 * Set "hidden" and "publish_date" in the copy of a post. The copy is not
 * deleted, because lists with include_hidden show it.
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
		item_take(&copy, post, PROP_HIDDEN);
		item_take(&copy, post, PROP_PUBLISH_DATE);
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
 * Remove a post from the views. The caller has locked the post's row.
 *
 * Changes the latest versions of the rows, even if the snapshot of a
 * REPEATABLE READ or SERIALIZABLE transaction does not see them.
 *
 * Locks: views_lock(); row locks on the copy (FOR NO KEY UPDATE) and on the
 * row of the feed (FOR UPDATE). Waits for these locks.
 */
void
views_hide(const BlogItem *post)
{
	const ClusterCalls *cluster;
	bool		here;

	views_lock();
	cluster = cluster_calls();
	/* A copy on another node is updated by the worker of that node. */
	here = cluster == NULL || cluster->hold_copies(item_uuid(post, PROP_USER_ID));
	/*
	 * Take the snapshot after the wait in views_lock(). The snapshot then sees
	 * the rows that the previous holder of the lock has written.
	 */
	PushActiveSnapshot(GetLatestSnapshot());
	if (here)
		hide_copy(post);
	/* On a cluster, the workers update the feeds of all nodes. */
	if (cluster == NULL)
		delete_from_feed(post);
	PopActiveSnapshot();
}
