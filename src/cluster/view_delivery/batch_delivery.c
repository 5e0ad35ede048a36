/*
 * batch_delivery.c
 *		Refreshing the views on a cluster.
 *
 * The worker of each node decodes the changes of the posts on its node. It
 * refreshes the copies and the feed rows of these posts on all nodes. If a
 * user was renamed or deleted, each worker renames or deletes the user's
 * posts, comments and likes on its own node.
 *
 * Runs in the worker, in a transaction that has taken the views' lock
 * (views_lock()).
 */
#include "postgres.h"

#include "cluster/user_items/reference_users.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/copies_and_feed/view_rows.h"

#include "utils/snapmgr.h"

/*
 * Refresh the copies of posts that were deleted, or were moved to another node
 * with their shard.
 */
static void
refresh_gone(const DirtySet *dirty)
{
	int			n;
	const PostKey *gone = dirty_gone(dirty, &n);

	if (dirty_any_gone(dirty))
		nodes_have_all_look();
	copies_pass_on(gone, n);
	/*
	 * Usually the caller refreshes the copies of these posts, because its list
	 * of changed posts contains them. If dirty_anything() is true, that list
	 * is incomplete.
	 */
	if (dirty_anything(dirty))
		copies_deliver(gone, n);
}

/*
 * Refresh the topics of n posts. Each node has the topics of its own posts.
 * The caller has called copies_deliver(), which holds the posts' shards.
 */
static void
topics_deliver(const PostKey *keys, int n, List **topics)
{
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its posts.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	view_topics_refresh(keys, n, topics);
	PopActiveSnapshot();
}

/*
 * Refresh the views for the changes in a dirty set.
 *
 * posts: the keys of the n changed posts in the dirty set
 * topics: the list to which the topics that gain or lose posts are added; or
 *	NULL
 */
void
deliver_batch(const DirtySet *dirty, const PostKey *posts, int n,
			  List **topics)
{
	pg_uuid_t  *users;
	int			n_users;
	int			n_written;
	PostKey    *written = dirty_posts(dirty, &n_written);

	refresh_gone(dirty);
	copies_deliver(posts, n);
	topics_deliver(written, n_written, topics);
	if (dirty_feed_view(dirty))
	{
		nodes_ask_on_commit(true);
		feed_deliver_all();
	}
	else
		feed_deliver(posts, n);
	users = dirty_users(dirty, &n_users);
	reference_users_follow(users, n_users);
	jobs_request_renames(NULL, 0, dirty_all_users(dirty));
}

/*
 * Rebuild the next chunk of the copies. Returns true after the last chunk.
 *
 * place: where the chunk begins; set to where the next chunk begins
 * done: the number of posts and copies in the chunk is added to *done
 *
 * Locks: all shards of posts on this node in share mode, so that none is
 * moved. If a shard were moved, its new node would refresh the copies of the
 * shard's posts. This node could then overwrite these copies with older ones.
 */
bool
deliver_missing_copies(ItemPlace *place, int64 *done)
{
	bool		whole;

	shards_here_hold();
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its rows.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	whole = copies_build_by(place, done, copies_deliver, copies_look_elsewhere);
	PopActiveSnapshot();
	return whole;
}

/*
 * Rewrite the feed rows of this node's posts on all nodes. After the commit,
 * ask every other node to send the feed rows of its posts again.
 */
void
deliver_feed(void)
{
	nodes_ask_on_commit(false);
	feed_deliver_all();
}
