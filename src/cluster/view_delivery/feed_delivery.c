/*
 * feed_delivery.c
 *		The feed on a cluster: from the node that has the posts to every node's own feed.
 *
 * Each node's feed has the newest posts of each node. Whoever has a post's shard sends what has
 * changed of them, in the transaction that writes it at home, with the shards held: what
 * was sent is committed at the others before a shard can be elsewhere, and so each row has
 * one node at a time that writes it. Where it is not sure what another node has,
 * it sends all that there should be of its shards, and what else of these is there goes.
 *
 * Runs in the worker, and in a backend for repair(), which leaves sending to the worker.
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

/* Keep the shards that are here where they are until this transaction ends. */
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
		/* which takes in invalidations: what the map points to may be gone then */
		for (int i = 0; i < n; i++)
			shard_hold(&map, here[i]);
		(void) container_shards(CONTAINER_POSTS);
	} while (layout_stamp() != before);
}

/* Is a post this node's? */
static bool
is_own(const pg_uuid_t *post_id)
{
	Shard		shard;

	return container_shard(CONTAINER_POSTS, post_id, &shard) &&
		OidIsValid(shard.table);
}

/* No post of this node's that is older is in the feed, or would be; as long as all is sure. */
static TimestampTz oldest = DT_NOBEGIN;
static uint64 oldest_stamp = 0;

/* Those of some posts that are this node's, and may be in the feed or come in. */
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

/* May other shards be here than when this was asked last? */
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

/* What a batch makes of the feed. */
typedef struct FeedNews
{
	const FeedList *wanted;
	const FeedRow *changed;
	int			n_changed;
	const PostKey *posts;		/* that the batch is about */
	int			n_posts;
} FeedNews;

/* The name of a post whose row is to go. */
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
 * What has changed; NULL: nothing. A post that this is about and that has no row is told of, too:
 * what was sent before may not have been committed here.
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

/* All that there should be of the shards that are here. */
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
 * Send what is about to be written here to all other nodes, to each in one call. One that does not
 * take it gets all later.
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

		if (other->in_sync && changes == NULL)
			continue;
		if (!other->in_sync && all == NULL && node_may_answer(other))
			all = all_sql(news);
		node_got_feed(other, node_may_answer(other) &&
					  node_send(other, other->in_sync ? changes : all));
	}
}

/*
 * Write the differences between what is there and what should be, which posts were the occasion
 * of, here and at the other nodes.
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

/* Make the feed right as far as this node's posts go, whatever is in it. */
void
feed_deliver_all(void)
{
	FeedList	there;
	FeedList	wanted;

	shards_here_hold();
	/* one that was waited for may have come with what is younger than the snapshot */
	PushActiveSnapshot(GetTransactionSnapshot());
	(void) shards_have_moved();
	feed_read(&there, is_own);
	feed_read_newest(&wanted);
	write_differences(&there, &wanted, NULL, 0);
	PopActiveSnapshot();
}

/* Refresh the feed, which was right before as far as this node's posts go, after these changed. */
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
	/* a shard that was waited for may have come with what is younger than the snapshot */
	PushActiveSnapshot(GetTransactionSnapshot());
	feed_read(&there, is_own);
	if (moved)
		feed_read_newest(&wanted);
	else
		feed_follow(&there, keys, n, &wanted);
	write_differences(&there, &wanted, keys, n);
	PopActiveSnapshot();
}
