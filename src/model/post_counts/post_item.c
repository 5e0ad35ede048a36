/*
 * post_item.c
 *		Reading the counts of posts, and locking a post item, comment, like or
 *		delta by key.
 *
 * A post's counts are the amounts in the post item plus those in its deltas.
 * Both are read with the same snapshot.
 *
 * In a serializable transaction, an ordinary scan takes predicate locks on
 * index pages. An index page can hold deltas of many posts, so transactions on
 * different posts would conflict. The scans in this file instead take one
 * predicate lock, on the post's key (key_predicate_lock()). A reader of a
 * post's counts then conflicts only with writers of that post's deltas.
 *
 * Counts are read in any process. Rows are locked in backends and in the
 * worker.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/*
 * Return a query for the deltas of a post. The caller sets the key.
 *
 * In a SERIALIZABLE transaction the query finds all row versions
 * (SnapshotAny), because a scan with an MVCC snapshot would take predicate
 * locks. add_deltas() skips the versions that "snapshot" does not show. In the
 * versions that it skips, columns outside the key can be null.
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

static ItemCounts
add_deltas(ItemScan *scan, const CountedItem *item, Snapshot snapshot)
{
	ItemCounts	counts = {0, 0};
	bool		serializable = IsolationIsSerializable();
	BlogItem	delta;

	if (serializable)
		key_predicate_lock(scan, &item->post_id, &item->item_id, snapshot);
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

/*
 * Return the sum of an item's deltas, including the counter, as the snapshot
 * shows them. In a SERIALIZABLE transaction, take a predicate lock on the
 * item's key. Errors: 22004 if a delta has a null amount; 40001 under
 * SERIALIZABLE.
 *
 * scan: *scan is NULL before the first call; later calls restart the same
 *		scan. The caller ends the scan.
 */
ItemCounts
post_deltas(ItemScan **scan, const CountedItem *item, Snapshot snapshot)
{
	Datum		key[] = {
		UUIDPGetDatum(&item->post_id), UUIDPGetDatum(&item->item_id)
	};
	ItemQuery	query = deltas_query(snapshot);

	query.partition_key = &item->post_id;
	query.key = key;
	query.nkeys = lengthof(key);
	item_scan_look(scan, &query);
	return add_deltas(*scan, item, snapshot);
}

/*
 * Add the sum of a post's deltas to the counts in "post", which the caller has
 * read with the same snapshot. Errors are those of post_deltas().
 */
void
post_add_up(BlogItem *post, Snapshot snapshot)
{
	const CountedItem item = counted_post(item_uuid(post, PROP_POST_ID));
	ItemScan   *scan = NULL;
	ItemCounts	counts = post_deltas(&scan, &item, snapshot);

	item_scan_end(scan);
	item_add_counts(post, counts.comments, counts.likes);
}

static void
take_deltas(ManyItem *post, ItemScan *scan, void *arg)
{
	const CountedItem item = counted_post(&post->key);
	ItemCounts	counts = add_deltas(scan, &item, (Snapshot) arg);

	item_add_counts(&post->item, counts.comments, counts.likes);
}

/*
 * Add the sum of each post's deltas to the post's counts. The caller has read
 * the posts with the same snapshot. Errors are those of post_deltas().
 */
void
posts_add_up(ManyItems *posts, Snapshot snapshot)
{
	ItemQuery	query = deltas_query(snapshot);

	many_items_scan(posts, &query, 2, take_deltas, snapshot);
}

/*
 * Return whether the transaction's snapshot shows the post or comment, and
 * "author" has written it. If "author" is NULL, any user may have written it.
 * Takes no predicate lock.
 */
bool
post_shown_by(const CountedItem *item, const pg_uuid_t *author)
{
	Datum		key[2];
	ItemQuery	query = counted_query(item, key);
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
 * Lock the row of a post item, comment, like or delta until the end of the
 * transaction. The query contains the row's key. After locking the row, call
 * "act" with the item, unless "act" is NULL. In this item, only the fields
 * that identify it (item_identity()) are sure to be not null.
 *
 * Returns the result of "act", or ITEM_OK if "act" is NULL. Returns
 * ITEM_NOT_FOUND if no row has the key. Returns ITEM_LOCKED if "wait" is
 * LockWaitSkip and another transaction has locked the row.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the row was changed
 * after the snapshot.
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
 * Lock the row of a post or comment until the end of the transaction. Results
 * and errors are those of post_part_lock().
 */
ItemResult
post_row_lock(const CountedItem *item, LockTupleMode mode, LockWaitPolicy wait)
{
	Datum		key[2];
	ItemQuery	query = counted_query(item, key);

	return post_part_lock(&query, mode, wait, NULL, NULL);
}
