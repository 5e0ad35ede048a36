/*
 * post_repair.c
 *		Correcting the counts of a post or comment, for repair().
 *
 * A post's counts are the sum of the amounts in the post item, in its counter
 * and in its other deltas. repair() compares this sum with the numbers of
 * comments and likes that exist, and corrects the counter. Runs in backends.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "common/int.h"
#include "utils/snapmgr.h"

/*
 * Return the number of items that the query finds with the active snapshot.
 * Hidden comments are not counted.
 *
 * parent: count only the replies to this comment; NULL: all items
 */
static int64
count_shown(ItemQuery query, const CountedItem *parent)
{
	BlogItem	item;
	ItemScan   *scan;
	int64		n = 0;

	query.shown = true;
	query.rows = -1;
	query.no_predicate_locks = true;
	scan = item_scan_begin(&query);
	while (item_scan_next(scan, &item))
		n += parent == NULL || is_reply_to(&item, parent);
	item_scan_end(scan);
	return n;
}

/*
 * Return the number of replies to a comment that the active snapshot shows.
 * Hidden comments are not counted.
 */
int64
count_replies(const CountedItem *comment)
{
	Datum		key[2];

	return count_shown(replies_query(comment, key), comment);
}

/*
 * Count, with the active snapshot, the comments and likes on a post, or the
 * replies to a comment and its likes. Hidden comments are not counted.
 */
static ItemCounts
count_children(const CountedItem *item)
{
	Datum		key[2];
	ItemQuery	query = counted_query(item, key);
	ItemCounts	counts;

	query.type = ITEM_COMMENT;
	counts.comments = counted_type(item) == ITEM_COMMENT ?
		count_replies(item) : count_shown(query, NULL);
	counts.likes = count_shown(likes_query(item, key), NULL);
	return counts;
}

/*
 * Return whether the counts of an item add up to the actual numbers of
 * comments and likes.
 *
 * post: the item's row, which has no counts if the item is a comment.
 * rest: the sum of the item's deltas other than the counter.
 * actual: the numbers of comments and likes that exist.
 */
static bool
counts_right(const BlogItem *post, const BlogItem *counter, ItemCounts rest,
			 ItemCounts actual)
{
	const Property prop[] = {PROP_COMMENT_COUNT, PROP_LIKE_COUNT};
	const int64 beside[] = {rest.comments, rest.likes};
	const int64 wanted[] = {actual.comments, actual.likes};

	for (int i = 0; i < lengthof(prop); i++)
	{
		int64		sum = post->isnull[prop[i]] ? 0 : item_count(post, prop[i]);

		if (pg_add_s64_overflow(sum, item_count(counter, prop[i]), &sum) ||
			pg_add_s64_overflow(sum, beside[i], &sum) || sum != wanted[i])
			return false;
	}
	return true;
}

static ItemCounts
count_deltas(const CountedItem *item)
{
	ItemScan   *scan = NULL;
	ItemCounts	sum = post_deltas(&scan, item, GetActiveSnapshot());

	item_scan_end(scan);
	return sum;
}

/*
 * Set the amounts of a post's counter to "counts". If the post has no counter,
 * insert one. If another transaction is using the counter, insert a delta with
 * a new id instead. Waiting for the transaction could be a deadlock: the
 * caller has locked the post item, which the transaction may need.
 *
 * found: the result of lock_counter().
 * counts: the amounts that the sum of the other deltas lacks. If another
 *		transaction is using the counter, it is one of the other deltas.
 */
static void
repair_counter(ItemWriter *writer, const CountedItem *item, BlogItem *counter,
			   ItemResult found, ItemCounts counts)
{
	if (found == ITEM_NOT_FOUND && !delta_counter_pending(item) &&
		delta_insert_counter(item, counts))
		return;
	if (found != ITEM_OK)
	{
		delta_insert(item, counts);
		return;
	}
	item_set(counter, PROP_COMMENT_COUNT, Int64GetDatum(counts.comments));
	item_set(counter, PROP_LIKE_COUNT, Int64GetDatum(counts.likes));
	item_writer_update(writer, counter);
}

/*
 * Lock the row of a post's counter without waiting, and read it into *counter.
 * Returns ITEM_LOCKED if another transaction is using the counter. If the
 * result is not ITEM_OK, the amounts in *counter are zero.
 *
 * lock: the post lock, after post_try_lock_counter().
 */
static ItemResult
lock_counter(ItemWriter *writer, const CountLock *lock, BlogItem *counter)
{
	Datum		key[DELTA_KEYS];

	delta_key(&lock->item, &counter_id, key);
	counter_init(counter, &lock->item);
	if (!post_has_counter(lock))
		return ITEM_LOCKED;
	return item_writer_lock(writer, key, DELTA_KEYS, LockTupleNoKeyExclusive,
							LockWaitSkip, counter);
}

/*
 * Count the comments and likes on a post, and add up its deltas, with one
 * snapshot.
 *
 * counter: the counter, if the caller has locked its row; otherwise a counter
 *		with amounts of zero.
 * actual: receives the numbers of comments and likes.
 * rest: receives the sum of the deltas minus the amounts in "counter".
 *
 * The caller uses only the difference of "actual" and "rest". Transactions
 * that commit later do not change this difference. For each comment or like
 * that they write or delete, they change a delta by the same amount. They
 * never change a counter whose row the caller has locked.
 */
static void
count_post(const CountedItem *item, const BlogItem *counter,
		   ItemCounts *actual, ItemCounts *rest)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	*actual = count_children(item);
	*rest = count_deltas(item);
	rest->comments -= item_count(counter, PROP_COMMENT_COUNT);
	rest->likes -= item_count(counter, PROP_LIKE_COUNT);
	PopActiveSnapshot();
}

/*
 * Check the counts of an item, and correct wrong counts with repair_counter().
 * Returns whether the counts were wrong. If they were, the deltas alone now
 * add up to the right counts. The caller must then set the counts in a post
 * item to zero.
 *
 * The caller has locked the row of the post or comment.
 */
static bool
correct_beside_post(const CountedItem *item, const BlogItem *post)
{
	CountLock	lock;
	ItemWriter *writer;
	BlogItem	counter;
	ItemResult	found;
	ItemCounts	actual;
	ItemCounts	rest;
	bool		wrong;

	post_lock_init(&lock, item);
	post_try_lock_counter(&lock);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, &item->post_id);
	found = lock_counter(writer, &lock, &counter);
	count_post(item, &counter, &actual, &rest);
	wrong = !counts_right(post, &counter, rest, actual);
	if (wrong)
		repair_counter(writer, item, &counter, found, (ItemCounts) {
			actual.comments - rest.comments, actual.likes - rest.likes
		});
	item_writer_close(writer);
	PopActiveSnapshot();
	post_unlock(&lock);
	return wrong;
}

static void
clear_post_counts(ItemWriter *writer, BlogItem *post)
{
	ItemCounts	change = {
		-item_count(post, PROP_COMMENT_COUNT),
		-item_count(post, PROP_LIKE_COUNT)
	};

	if (change.comments != 0 || change.likes != 0)
		post_write_counts(writer, post, change);
}

/*
 * Correct the counts of a post or comment, if they are wrong. Returns false if
 * there is no such item. The transaction must be READ COMMITTED.
 *
 * Locks: row locks (FOR NO KEY UPDATE) on the item and on its counter. The
 * function waits for the lock on the item, but not for the lock on the
 * counter. For a comment, post_keep() first keeps other transactions from
 * deleting the post.
 */
bool
post_counter_repair(const CountedItem *item)
{
	ItemType	type = counted_type(item);
	ItemWriter *writer;
	BlogItem	post;
	bool		found;

	if (type == ITEM_COMMENT && !post_keep(&item->post_id))
		return false;
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, &item->post_id);
	found = post_lock_for_counts(writer, item, LockWaitBlock, &post) == ITEM_OK;
	if (found && correct_beside_post(item, &post) && type == ITEM_POST)
		clear_post_counts(writer, &post);
	item_writer_close(writer);
	PopActiveSnapshot();
	return found;
}
