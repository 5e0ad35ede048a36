/*
 * feed_receipt.c
 *		The feed on a cluster: writing the feed rows that another node has sent
 *		(feed_delivery.c).
 *
 * The views' lock is not taken. Two processes never write the feed row of the
 * same post, because only the node that has the post sends it.
 *
 * Runs in backends to which workers of other nodes have connected.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "cluster/citus/citus.h"
#include "cluster/remote/remote.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/view_rows.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

NODE_FUNCTION(put_feed, "The worker of another node");

typedef struct SentFeed
{
	/*
	 * The rows that another node has sent. If a row has no title, the feed row
	 * of its post has to be deleted.
	 */
	BlogItem   *post;

	int			n;

	/*
	 * The ranges of hash values of the sender's shards: first and last value
	 * of one range, first and last value of the next one, and so on.
	 */
	Datum	   *range;

	int			n_range;
} SentFeed;

static bool
in_ranges(const pg_uuid_t *post_id, const Datum *range, int n)
{
	int32		hash = DatumGetInt32(DirectFunctionCall1(uuid_hash,
														 UUIDPGetDatum(post_id)));

	for (int i = 0; i + 1 < n; i += 2)
		if (hash >= DatumGetInt32(range[i]) && hash <= DatumGetInt32(range[i + 1]))
			return true;
	return false;
}

/*
 * Insert or update a feed row that another node has sent. If the sent row has
 * no title, delete the feed row.
 */
static void
take_row(ItemWriter *writer, const BlogItem *sent)
{
	Datum		key = sent->value[PROP_POST_ID];
	BlogItem	there;
	bool		found = item_writer_lock(writer, &key, 1, LockTupleExclusive,
										 LockWaitBlock, &there) == ITEM_OK;

	if (sent->isnull[PROP_TITLE])
	{
		if (found)
			item_writer_delete(writer);
	}
	else if (!found)
		(void) item_writer_insert(writer, sent);
	else if (!feed_row_current(&there, sent))
		item_writer_update(writer, sent);
}

/*
 * Delete the feed rows that belong to the sender's shards and are not among
 * the sent rows.
 */
static void
delete_others(ItemWriter *writer, const SentFeed *sent)
{
	FeedList	there;

	feed_read(&there, NULL);
	for (int i = 0; i < there.n; i++)
	{
		const pg_uuid_t *post_id = item_uuid(there.rows[i], PROP_POST_ID);
		bool		given = !in_ranges(post_id, sent->range, sent->n_range);
		BlogItem	gone;

		for (int j = 0; j < sent->n && !given; j++)
			given = memcmp(item_uuid(&sent->post[j], PROP_POST_ID), post_id, UUID_LEN) == 0;
		if (given)
			continue;
		gone = *there.rows[i];
		gone.isnull[PROP_TITLE] = true;
		take_row(writer, &gone);
	}
}

/*
 * Return the items in an array of rows that another node has sent. Errors:
 * 22004.
 */
static BlogItem *
posts_of(ArrayType *rows, int *n)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(ARR_ELEMTYPE(rows), -1);
	Datum	   *row;
	bool	   *isnull;
	BlogItem   *post;

	deconstruct_array(rows, ARR_ELEMTYPE(rows), -1, false, TYPALIGN_DOUBLE,
					  &row, &isnull, n);
	post = palloc(sizeof(BlogItem) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		HeapTupleData tuple = {0};

		if (!isnull[i])
		{
			tuple.t_data = DatumGetHeapTupleHeader(row[i]);
			tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
			remote_item_of_row(&post[i], ITEM_POST, desc, &tuple);
		}
		if (isnull[i] || post[i].isnull[PROP_POST_ID])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("a row of the feed must have a post_id"),
					 errhint("Only other nodes of the cluster call this function.")));
	}
	ReleaseTupleDesc(desc);
	return post;
}

static void
take_feed(void *arg)
{
	const SentFeed *sent = arg;
	ItemWriter *writer;

	container_lock(CONTAINER_FEED, true);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open_partition(CONTAINER_FEED, ITEM_POST, FEED_PARTITION);
	for (int i = 0; i < sent->n; i++)
		take_row(writer, &sent->post[i]);
	if (sent->n_range > 0)
		delete_others(writer, sent);
	item_writer_close(writer);
	PopActiveSnapshot();
}

/*
 * blogstore.put_feed(rows, ranges): insert or update the given rows in this
 * node's feed. If a given row has no title, delete the post's feed row. Called
 * by the workers of other nodes.
 *
 * ranges: ranges of hash values of post ids; may be empty. All other feed rows
 *	of posts in these ranges are deleted.
 *
 * Locks: RowExclusiveLock on the feed; row locks on the written rows. Errors:
 * 22004, 55000, 55P03.
 */
static Datum
put_feed(PG_FUNCTION_ARGS)
{
	SentFeed	sent;
	bool	   *isnull;

	/*
	 * If this node has no feed yet, ignore the rows. This node's worker will
	 * create the feed, and then ask the other nodes for all rows.
	 */
	if (!container_usable(CONTAINER_FEED))
		PG_RETURN_VOID();
	sent.post = posts_of(PG_GETARG_ARRAYTYPE_P(0), &sent.n);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT4OID, sizeof(int32), true,
					  TYPALIGN_INT, &sent.range, &isnull, &sent.n_range);
	nodes_take(take_feed, &sent);
	PG_RETURN_VOID();
}
