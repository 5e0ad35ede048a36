/*
 * post_item.c
 *		A post with its counts, as a snapshot shows it; and the items of a post,
 *		locked by their keys.
 *
 * What a snapshot shows of a post's counts is the post item's own plus those of
 * its deltas, both by that snapshot.
 *
 * A serializable transaction that reads counts is in conflict with one that
 * writes a delta it does not see, and nobody else. The server's own predicate
 * locks are of pages here, in which many posts' deltas lie, so the scan leaves
 * none; a post's key has one instead (key_predicate_lock()).
 *
 * Reads in any process; locks in backends and in the worker.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/*
 * A query for a post's deltas, by its key. In a serializable transaction it finds all
 * versions, of which add_deltas() takes those that the snapshot shows: a scan by an MVCC
 * snapshot would leave predicate locks. What the snapshot does not show may lack values.
 */
static ItemQuery
deltas_query(Snapshot snapshot)
{
	bool		serializable = IsolationIsSerializable();

	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA, .path = PATH_KEY,
		.identity = serializable,
		.snapshot = serializable ? SnapshotAny : snapshot
	};
}

/* Add up what the deltas say that a scan finds by a post's key. */
static PostCounts
add_deltas(ItemScan *scan, const pg_uuid_t *post_id, Snapshot snapshot)
{
	PostCounts	counts = {0, 0};
	bool		serializable = IsolationIsSerializable();
	BlogItem	delta;

	if (serializable)
		key_predicate_lock(scan, post_id, snapshot);
	while (item_scan_next(scan, &delta))
	{
		if (serializable && !item_scan_shown(scan, snapshot))
		{
			if (!delta_is_empty(&delta))
				item_scan_unseen(scan, snapshot);
			continue;
		}
		if (serializable)
			item_scan_require(scan, &delta);
		counts.comments += item_count(&delta, PROP_COMMENT_COUNT);
		counts.likes += item_count(&delta, PROP_LIKE_COUNT);
	}
	return counts;
}

/* Add up what a post's deltas say, as a snapshot sees them. */
PostCounts
post_deltas(const pg_uuid_t *post_id, Snapshot snapshot)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	query = deltas_query(snapshot);
	PostCounts	counts;
	ItemScan   *scan;

	query.partition_key = post_id;
	query.key = &key;
	query.nkeys = 1;
	scan = item_scan_begin(&query);
	counts = add_deltas(scan, post_id, snapshot);
	item_scan_end(scan);
	return counts;
}

/* Add to a post's counts what its deltas say; both as one snapshot sees them. */
void
post_add_up(BlogItem *post, Snapshot snapshot)
{
	PostCounts	counts = post_deltas(item_uuid(post, PROP_POST_ID), snapshot);

	item_add_counts(post, counts.comments, counts.likes);
}

/* Add to the counts of one of many posts what its deltas say. */
static void
take_deltas(ManyItem *post, ItemScan *scan, void *arg)
{
	PostCounts	counts = add_deltas(scan, &post->key, (Snapshot) arg);

	item_add_counts(&post->item, counts.comments, counts.likes);
}

/* Add to the counts of posts that were read together what their deltas say. */
void
posts_add_up(ManyItems *posts, Snapshot snapshot)
{
	ItemQuery	query = deltas_query(snapshot);

	many_items_scan(posts, &query, take_deltas, snapshot);
}

/*
 * Does the transaction's own snapshot show a post, and is it by an author (NULL:
 * anybody)?
 */
bool
post_shown_by(const pg_uuid_t *post_id, const pg_uuid_t *author)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	query = post_query(&key);
	BlogItem	post;
	ItemScan   *scan;
	bool		shown;

	query.no_predicate_locks = true;
	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&query);
	shown = item_scan_next(scan, &post) && item_is_by(&post, author);
	item_scan_end(scan);
	PopActiveSnapshot();
	return shown;
}

/*
 * Lock the post item, comment, like or delta that a query finds by its key, to the
 * end of the transaction; nothing is asked of its values but those by which it is
 * found. act, where given, does something with it under the lock, and what it
 * returns is returned. Errors: 40001 under REPEATABLE READ and SERIALIZABLE if it was
 * changed since the snapshot.
 */
ItemResult
post_part_lock(const ItemQuery *query, LockTupleMode mode, LockWaitPolicy wait,
			   PostPartAct act, void *arg)
{
	ItemWriter *writer;
	BlogItem	item;
	ItemResult	result;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(query->container, query->type,
							  query->partition_key);
	item_writer_identity(writer);
	result = item_writer_lock(writer, query->key, query->nkeys, mode, wait,
							  &item);
	if (result == ITEM_OK && act != NULL)
		result = act(writer, &item, arg);
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

/*
 * Lock the row of a post item to the end of the transaction. Errors: 40001 under
 * REPEATABLE READ and SERIALIZABLE if it was changed since the snapshot.
 */
ItemResult
post_row_lock(const pg_uuid_t *post_id, LockTupleMode mode, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	post = post_query(&key);

	return post_part_lock(&post, mode, wait, NULL, NULL);
}
