/*
 * post_repair.c
 *		Correcting the counts of a post, for repair().
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
 * Return how many comments or likes on a post the active snapshot shows.
 * Hidden comments are not counted.
 */
static int64
count_children(ItemType type, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_LIST, .key = &key, .nkeys = 1, .identity = true,
		.shown = true, .rows = -1
	});

	while (item_scan_next(scan, &item))
		n++;
	item_scan_end(scan);
	return n;
}

/*
 * Return whether a post's counts add up to the actual numbers of comments and
 * likes.
 *
 * rest: the sum of the post's deltas without the counter.
 */
static bool
counts_right(const BlogItem *post, const BlogItem *counter, PostCounts rest,
			 PostCounts actual)
{
	const Property prop[] = {PROP_COMMENT_COUNT, PROP_LIKE_COUNT};
	const int64 beside[] = {rest.comments, rest.likes};
	const int64 wanted[] = {actual.comments, actual.likes};

	for (int i = 0; i < lengthof(prop); i++)
	{
		int64		sum = item_count(post, prop[i]);

		if (pg_add_s64_overflow(sum, item_count(counter, prop[i]), &sum) ||
			pg_add_s64_overflow(sum, beside[i], &sum) || sum != wanted[i])
			return false;
	}
	return true;
}

static PostCounts
count_deltas(const pg_uuid_t *post_id)
{
	BlogItem	sum;

	item_init(&sum, ITEM_POST);
	item_set(&sum, PROP_POST_ID, UUIDPGetDatum(post_id));
	item_set(&sum, PROP_COMMENT_COUNT, Int64GetDatum(0));
	item_set(&sum, PROP_LIKE_COUNT, Int64GetDatum(0));
	post_add_up(&sum, GetActiveSnapshot());
	return (PostCounts) {
		item_count(&sum, PROP_COMMENT_COUNT), item_count(&sum, PROP_LIKE_COUNT)
	};
}

/*
 * Set the amounts of a post's counter to "counts". If the post has no counter,
 * insert one. If another transaction is using the counter, insert a delta with
 * a new id instead. Waiting for the transaction could be a deadlock: the
 * caller has locked the post item, which the transaction may need.
 *
 * found: the result of lock_counter().
 * counts: what the other deltas lack to make the post's counts right. If the
 *		counter is in use, it is one of the other deltas.
 */
static void
repair_counter(ItemWriter *writer, BlogItem *counter, ItemResult found,
			   PostCounts counts)
{
	const pg_uuid_t *post_id = item_uuid(counter, PROP_POST_ID);

	if (found == ITEM_NOT_FOUND && !delta_counter_pending(post_id) &&
		delta_insert_counter(post_id, counts))
		return;
	if (found != ITEM_OK)
	{
		delta_insert(post_id, counts);
		return;
	}
	item_set(counter, PROP_COMMENT_COUNT, Int64GetDatum(counts.comments));
	item_set(counter, PROP_LIKE_COUNT, Int64GetDatum(counts.likes));
	item_writer_update(writer, counter);
}

/*
 * Lock the row of a post's counter without waiting, and read it into *counter.
 * Returns ITEM_LOCKED if another transaction is using the counter. Unless the
 * result is ITEM_OK, the amounts in *counter are zero.
 *
 * lock: the post lock, after post_try_lock_counter().
 */
static ItemResult
lock_counter(ItemWriter *writer, const PostLock *lock,
			 const pg_uuid_t *post_id, BlogItem *counter)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&counter_id)};

	counter_init(counter, post_id);
	if (!post_has_counter(lock))
		return ITEM_LOCKED;
	return item_writer_lock(writer, key, 2, LockTupleNoKeyExclusive,
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
count_post(const pg_uuid_t *post_id, const BlogItem *counter,
		   PostCounts *actual, PostCounts *rest)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	actual->comments = count_children(ITEM_COMMENT, post_id);
	actual->likes = count_children(ITEM_LIKE, post_id);
	*rest = count_deltas(post_id);
	rest->comments -= item_count(counter, PROP_COMMENT_COUNT);
	rest->likes -= item_count(counter, PROP_LIKE_COUNT);
	PopActiveSnapshot();
}

/*
 * Check the counts of a post, and correct wrong counts with repair_counter().
 * Returns whether the counts were wrong. If they were, the deltas alone now
 * add up to the right counts. The caller must then set the counts in the post
 * item to zero.
 *
 * The caller has locked the row of the post item.
 */
static bool
correct_beside_post(const BlogItem *post)
{
	const pg_uuid_t *post_id = item_uuid(post, PROP_POST_ID);
	PostLock	lock;
	ItemWriter *writer;
	BlogItem	counter;
	ItemResult	found;
	PostCounts	actual;
	PostCounts	rest;
	bool		wrong;

	post_lock_init(&lock, post_id);
	post_try_lock_counter(&lock);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	found = lock_counter(writer, &lock, post_id, &counter);
	count_post(post_id, &counter, &actual, &rest);
	wrong = !counts_right(post, &counter, rest, actual);
	if (wrong)
		repair_counter(writer, &counter, found, (PostCounts) {
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
	PostCounts	change = {
		-item_count(post, PROP_COMMENT_COUNT),
		-item_count(post, PROP_LIKE_COUNT)
	};

	if (change.comments != 0 || change.likes != 0)
		post_write_counts(writer, post, change);
}

/*
 * Correct the counts of a post, if they are wrong. Returns false if the post
 * does not exist. The transaction must be READ COMMITTED.
 *
 * Locks: row locks (FOR NO KEY UPDATE) on the post item and on its counter.
 * The function waits for the lock on the post item, but not for the lock on
 * the counter.
 */
bool
post_counter_repair(const pg_uuid_t *post_id)
{
	ItemWriter *writer;
	BlogItem	post;
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	found = post_lock_for_counts(writer, post_id, LockWaitBlock, &post) == ITEM_OK;
	if (found && correct_beside_post(&post))
		clear_post_counts(writer, &post);
	item_writer_close(writer);
	PopActiveSnapshot();
	return found;
}
