/*
 * feed_delivery.c
 *		The feed on a cluster: each node sends the feed rows of its posts to
 *		all other nodes.
 *
 * The feed of every node has the newest posts of all nodes. Only the node that
 * has a post's shard writes and sends the post's feed row. It sends changes to
 * the other nodes in the transaction that changes its own feed. Until this
 * transaction ends, it keeps the shards locked. So the other nodes have
 * committed the changes before the shard can be moved.
 *
 * A node may not know which rows another node has. It then sends all feed rows
 * of its shards. The receiving node deletes the feed rows of these shards that
 * it has not received.
 *
 * Runs in the worker, and in a backend for repair(). The backend writes only
 * the feed of its own node, and lets the worker send the rows.
 */
#include "postgres.h"

#include "cluster/remote/remote.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/view_rows.h"

#include "lib/stringinfo.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * Lock all shards of posts on this node in share mode, until the transaction
 * ends, so that they are not moved.
 */
void
shards_here_hold(void)
{
	uint64		before;

	do
	{
		ShardMap	map = *container_shards(CONTAINER_POSTS);
		int		   *here = palloc(sizeof(int) * Max(map.n, 1));
		int			n = 0;

		before = layout_stamp();
		for (int i = 0; i < map.n; i++)
			if (OidIsValid(map.shard[i].table))
				here[n++] = i;
		/*
		 * The loop above collects the shards first. Taking a lock accepts
		 * invalidation messages, and these can free the array map.shard.
		 */
		for (int i = 0; i < n; i++)
			shard_hold(&map, here[i]);
		(void) container_shards(CONTAINER_POSTS);
	} while (layout_stamp() != before);
}

static bool
is_own(const pg_uuid_t *post_id)
{
	Shard		shard;

	return container_shard(CONTAINER_POSTS, post_id, &shard) &&
		OidIsValid(shard.table);
}

/*
 * oldest: a date; this node's posts with earlier dates do not belong in the
 *	feed
 * oldest_stamp: the value of nodes_stamp() when "oldest" was computed. If
 *	nodes_stamp() returns another value now, "oldest" is not valid.
 */
static TimestampTz oldest = DT_NOBEGIN;
static uint64 oldest_stamp = 0;

/*
 * Of the given keys, return those whose posts are on this node and may belong
 * in the feed.
 *
 * keys: the keys of *n posts
 * n: set to the number of returned keys
 */
static const PostKey *
concerning_feed(const PostKey *keys, int *n)
{
	PostKey    *own;
	int			n_own = 0;
	TimestampTz from = oldest_stamp == nodes_stamp() ? oldest : DT_NOBEGIN;

	own = palloc(sizeof(PostKey) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		if (keys[i].creation_date >= from && is_own(&keys[i].post_id))
			own[n_own++] = keys[i];
	*n = n_own;
	return own;
}

/*
 * Return whether shards may have been moved since the last call. If so, make
 * the worker send all feed rows again.
 */
static bool
shards_have_moved(void)
{
	static uint64 known = 0;
	bool		moved = known != layout_loads();

	if (moved)
		nodes_unsure();
	known = layout_loads();
	return moved;
}

/* the changes of the feed that one transaction makes */
typedef struct FeedNews
{
	const FeedList *wanted;
	const FeedRow *changed;
	int			n_changed;

	/* the keys of the changed posts */
	const PostKey *posts;

	int			n_posts;
} FeedNews;

/*
 * Return a row that makes put_feed() delete a post's row from the feed. The
 * returned row has no title.
 */
static Datum
gone_row(const pg_uuid_t *post_id, TupleDesc desc)
{
	BlogItem	item;

	for (Property p = 0; p < N_PROPERTIES; p++)
		item.isnull[p] = true;
	item_set(&item, PROP_POST_ID, UUIDPGetDatum(post_id));
	return remote_row_of_item(&item, ITEM_POST, desc);
}

static bool
is_wanted(const FeedList *wanted, const pg_uuid_t *post_id)
{
	for (int i = 0; i < wanted->n; i++)
		if (memcmp(item_uuid(wanted->rows[i], PROP_POST_ID), post_id, UUID_LEN) == 0)
			return true;
	return false;
}

static char *
call_sql(const Datum *row, int n, const char *ranges)
{
	return psprintf("SELECT " BLOGSTORE_SCHEMA ".put_feed(%s, '{%s}')",
					ship_literal(row, n), ranges);
}

/*
 * Return the SQL statement that sends the changes of the feed to another node;
 * NULL if there are no changes.
 *
 * If a changed post does not belong in the feed, the statement deletes the
 * post's feed row on the other node. That node may have the row even if this
 * node does not: the transaction that sent the row may have aborted on this
 * node.
 */
static char *
changes_sql(const FeedNews *news)
{
	const FeedList *wanted = news->wanted;
	TupleDesc	desc = ship_desc();
	Datum	   *row = palloc(sizeof(Datum) * (news->n_changed + news->n_posts + 1));
	int			n = 0;

	for (int i = 0; i < news->n_posts; i++)
		if (!is_wanted(wanted, &news->posts[i].post_id))
			row[n++] = gone_row(&news->posts[i].post_id, desc);
	for (int i = 0; i < news->n_changed; i++)
		row[n++] = news->changed[i].change == ROW_DELETE ?
			gone_row(item_uuid(news->changed[i].row, PROP_POST_ID), desc) :
			remote_row_of_item(news->changed[i].row, ITEM_POST, desc);
	return n == 0 ? NULL : call_sql(row, n, "");
}

/*
 * Return the SQL statement that sends to another node all feed rows of the
 * shards on this node.
 */
static char *
all_sql(const FeedNews *news)
{
	const ShardMap *map = container_shards(CONTAINER_POSTS);
	TupleDesc	desc = ship_desc();
	Datum	   *row = palloc(sizeof(Datum) * (news->wanted->n + 1));
	StringInfoData ranges;

	initStringInfo(&ranges);
	for (int i = 0; i < map->n; i++)
		if (OidIsValid(map->shard[i].table))
			appendStringInfo(&ranges, "%s%d,%d", ranges.len > 0 ? "," : "",
							 map->shard[i].first, map->shard[i].last);
	for (int i = 0; i < news->wanted->n; i++)
		row[i] = remote_row_of_item(news->wanted->rows[i], ITEM_POST, desc);
	return call_sql(row, news->wanted->n, ranges.data);
}

/*
 * Send the changes of the feed to all other nodes, before this node's feed is
 * changed. If the call fails on a node, that node gets all feed rows later. In
 * a backend, this function only asks the worker to send all feed rows.
 */
static void
feed_ship(const FeedNews *news)
{
	OtherNode  *others;
	char	   *changes;
	char	   *all = NULL;
	int			n;

	if (!nodes_in_worker())
	{
		nodes_unsure();
		return;
	}
	n = nodes_others(&others);
	changes = changes_sql(news);
	nodes_sending();
	oldest_stamp = nodes_stamp();
	oldest = news->wanted->whole || news->wanted->n == 0 ? DT_NOBEGIN :
		item_date(news->wanted->rows[news->wanted->n - 1]);
	for (int i = 0; i < n; i++)
	{
		OtherNode  *other = &others[i];

		if (other->has_feed && changes == NULL)
			continue;
		if (!other->has_feed && all == NULL && node_may_answer(other))
			all = all_sql(news);
		node_got_feed(other, node_may_answer(other) &&
					  node_send(other, other->has_feed ? changes : all));
	}
}

/*
 * Change the feed rows of this node's posts, here and on the other nodes.
 *
 * there: the present rows
 * wanted: what these rows should be
 * posts: the keys of the changed posts
 */
static void
write_differences(const FeedList *there, const FeedList *wanted,
				  const PostKey *posts, int n_posts)
{
	int			n;
	FeedRow    *row = feed_differences(there, wanted, &n);

	feed_ship(&(FeedNews) {wanted, row, n, posts, n_posts});
	feed_write(row, n, wanted->whole);
}

/*
 * Rewrite the feed rows of this node's posts. If another node may lack some of
 * these rows, send all of them to that node.
 */
void
feed_deliver_all(void)
{
	FeedList	there;
	FeedList	wanted;

	shards_here_hold();
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its posts.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	(void) shards_have_moved();
	feed_read(&there, is_own);
	feed_read_newest(&wanted);
	write_differences(&there, &wanted, NULL, 0);
	PopActiveSnapshot();
}

/*
 * Refresh the feed after n posts have changed. The feed rows of this node's
 * posts must have been correct before these changes. If they were not, call
 * feed_deliver_all() instead.
 */
void
feed_deliver(const PostKey *keys, int n)
{
	FeedList	there;
	FeedList	wanted;
	bool		moved;

	if (n == 0)
		return;
	shards_here_hold();
	moved = shards_have_moved();
	keys = concerning_feed(keys, &n);
	if (n == 0 && !moved)
		return;
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its posts.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	feed_read(&there, is_own);
	if (moved)
		feed_read_newest(&wanted);
	else
		feed_follow(&there, keys, n, &wanted);
	write_differences(&there, &wanted, keys, n);
	PopActiveSnapshot();
}
