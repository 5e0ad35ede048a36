/*
 * hide_from_views.c
 *		Taking a post out of the views in the transaction that hides it.
 *
 * The worker would do it a moment later, or not before it runs again; but a hidden post
 * must not be served from the commit on. A post that is shown again is left to the
 * worker.
 *
 * Runs in backends, as the containers' owner. Takes the views' lock: the worker, which
 * may have read the post before, writes no view until this transaction ends.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "utils/snapmgr.h"

/* Have the copy say that the post is hidden: who may see such posts lists it. */
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
 * A post, whose item is locked, becomes hidden. Under REPEATABLE READ and SERIALIZABLE, too,
 * what is in the views at this moment goes, though the transaction's snapshot may not show
 * it yet. Locks: the views; the copy, and the row of the feed.
 */
void
views_hide(const BlogItem *post)
{
	const ClusterCalls *cluster;
	bool		here;

	views_lock();
	cluster = cluster_calls();
	/* the worker sees to copies on another node */
	here = cluster == NULL || cluster->hold_copies(item_uuid(post, PROP_USER_ID));
	/* by now, since they may have been waited for */
	PushActiveSnapshot(GetLatestSnapshot());
	if (here)
		hide_copy(post);
	/* on a cluster the worker does, on all nodes, and puts in what comes after it */
	if (cluster == NULL)
		delete_from_feed(post);
	PopActiveSnapshot();
}
