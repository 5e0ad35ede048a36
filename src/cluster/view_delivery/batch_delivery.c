/*
 * batch_delivery.c
 *		Refreshing the views on a cluster, in place of the functions for a
 *		single server.
 *
 * The views are the copies of posts in "users", and the feed. The dirty set
 * holds the keys of what has changed. Each node's worker decodes the changes
 * of the posts on its node, and refreshes what all nodes show of these posts.
 * Every node has all users, and its worker updates the items on its own node
 * when a user changes.
 *
 * Runs in the worker. The caller is in a transaction that holds the views'
 * lock.
 */
#include "postgres.h"

#include "cluster/user_items/reference_users.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/copies_and_feed/view_rows.h"

#include "utils/snapmgr.h"

/*
 * Make the nodes that have the copies of some posts look at these posts again:
 * posts that were deleted, or whose shard was moved to another node.
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
	 * Normally the list of changed posts has these posts, too. If too many
	 * have changed (dirty_anything()), there is no such list.
	 */
	if (dirty_anything(dirty))
		copies_deliver(gone, n);
}

/*
 * Refresh all that a dirty set, the keys of what has changed, says. posts[]
 * has the keys of the n posts in it.
 */
void
deliver_batch(const DirtySet *dirty, const PostKey *posts, int n)
{
	pg_uuid_t  *users;
	int			n_users;

	refresh_gone(dirty);
	copies_deliver(posts, n);
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
 * Rebuild the next part of the copies. Returns whether it was the last one.
 * The shards on this node are held, because after a move another node would
 * decode their changes.
 */
bool
deliver_missing_copies(ItemPlace *place, int64 *done)
{
	bool		whole;

	shards_here_hold();
	/*
	 * A new snapshot is needed, because shards may have arrived during the
	 * wait.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	whole = copies_build_by(place, done, copies_deliver, copies_look_elsewhere);
	PopActiveSnapshot();
	return whole;
}

/*
 * Rewrite the feed rows of this node's posts, and make each node send the feed
 * rows of its own posts to all other nodes again.
 */
void
deliver_feed(void)
{
	nodes_ask_on_commit(false);
	feed_deliver_all();
}
