/*
 * batch_delivery.c
 *		What a worker writes to the views on a cluster, in place of what one machine does.
 *
 * Each node's worker decodes the changes of the posts that lie on its node, and refreshes what all
 * nodes show of them. Users are in a table that each node has all of: each worker sees to the
 * items on its own node.
 *
 * Runs in the worker. The caller is in a transaction that holds the views' lock.
 */
#include "postgres.h"

#include "cluster/user_items/reference_users.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/copies_and_feed/view_rows.h"

#include "utils/snapmgr.h"

/* Refresh the copies of posts that are gone from this node, deleted or moved. */
static void
refresh_gone(const DirtySet *dirty)
{
	int			n;
	const PostKey *gone = dirty_gone(dirty, &n);

	if (dirty_any_gone(dirty))
		nodes_have_all_look();
	copies_pass_on(gone, n);
	/* else they are among the posts */
	if (dirty_anything(dirty))
		copies_deliver(gone, n);
}

/* Refresh what a dirty set names, and its posts. */
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
 * Do a chunk of a rebuild. The shards that are read stay on this node until it ends, since another
 * node decodes the changes of a shard that has left.
 */
bool
deliver_missing_copies(ItemPlace *place, int64 *done)
{
	bool		whole;

	shards_here_hold();
	/* one that was waited for may have come with what is younger than the snapshot */
	PushActiveSnapshot(GetTransactionSnapshot());
	whole = copies_build_by(place, done, copies_deliver, copies_look_elsewhere);
	PopActiveSnapshot();
	return whole;
}

/* Make the feed right, and have all nodes send each other theirs. */
void
deliver_feed(void)
{
	nodes_ask_on_commit(false);
	feed_deliver_all();
}
