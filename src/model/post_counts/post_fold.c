/*
 * post_fold.c
 *		Folding a post's deltas into its counter, and making the counter.
 *
 * Folding deletes all deltas of a post except the counter, and adds their
 * amounts to the counter, in one transaction (count_delta.c). While another
 * transaction is using the counter, the other deltas stay, or are merged into
 * one.
 *
 * A post that the owner has inserted with SQL has no counter, and a comment
 * has none before its first reply or like. The first transaction that folds
 * the deltas makes the counter, unless another transaction is making it
 * already.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/* The counter to which the amounts of the other deltas are added. */
typedef struct FoldTarget
{
	ItemWriter *writer;
	BlogItem	item;
	bool		counter;
} FoldTarget;

/*
 * Lock the row of a post's counter, if the post has one. The caller has
 * checked post_has_counter(). Returns ITEM_LOCKED if another transaction in
 * progress has changed or made the counter.
 */
static ItemResult
fold_lock(FoldTarget *target, const CountedItem *item)
{
	Datum		key[DELTA_KEYS];
	ItemResult	result;

	delta_key(item, &counter_id, key);
	target->writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA,
									  &item->post_id);
	result = item_writer_lock(target->writer, key, DELTA_KEYS,
							  LockTupleNoKeyExclusive, LockWaitSkip,
							  &target->item);
	target->counter = result != ITEM_NOT_FOUND;
	if (target->counter)
		return result;
	return delta_counter_pending(item) ? ITEM_LOCKED : ITEM_OK;
}

/*
 * Add the sum of the deleted deltas to the counter, or make a counter with
 * this sum.
 */
static void
fold_write(FoldTarget *target, const CountedItem *item, ItemCounts counts)
{
	if (!target->counter)
	{
		if (!delta_insert_counter(item, counts))
			delta_insert(item, counts);
		return;
	}
	item_add_counts(&target->item, counts.comments, counts.likes);
	item_writer_update(target->writer, &target->item);
}

/*
 * Fold deltas of a post. The caller holds the post lock. Called under READ
 * COMMITTED only. The arguments are those of post_fold(), but the number of
 * deleted deltas is added to *taken. Returns ITEM_LOCKED if this process may
 * not change the counter, or another transaction is using it.
 */
static ItemResult
fold_locked(const CountLock *lock, int64 limit, bool merge, int64 *taken,
			bool *left)
{
	const CountedItem *item = &lock->item;
	ItemCounts	counts = {0, 0};
	FoldTarget	target = {.writer = NULL};
	ItemResult	result = ITEM_LOCKED;
	int64		n = 0;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (post_has_counter(lock))
		result = fold_lock(&target, item);
	if (result == ITEM_OK || (result == ITEM_LOCKED && merge))
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		n = delta_take(item, limit, &counts, left);
		if (n > 0 && result == ITEM_OK)
			fold_write(&target, item, counts);
		else if (n > 0)
			delta_insert(item, counts);
		PopActiveSnapshot();
	}
	*taken += n;
	if (target.writer != NULL)
		item_writer_close(target.writer);
	PopActiveSnapshot();
	return result;
}

/*
 * Fold deltas of a post or comment into its counter. Waits for no lock. Called
 * under READ COMMITTED only.
 *
 * limit: the largest number of deltas to fold
 * merge: what to do if another transaction is using the counter: true to
 *	replace the deltas by one delta, false to leave them
 * taken: set to the number of deleted deltas
 * left: set to whether deltas other than the counter still exist afterwards
 *
 * Returns ITEM_LOCKED if another transaction is using the counter, or holds
 * one of the locks in exclusive mode. Returns ITEM_NOT_FOUND if the post or
 * comment does not exist. Locks: the lock of the item, and that of its post,
 * in share mode, until the function returns; the counter's row, FOR NO KEY
 * UPDATE.
 */
ItemResult
post_fold(const CountedItem *item, int64 limit, bool merge, int64 *taken,
		  bool *left)
{
	const CountedItem post = counted_post(&item->post_id);
	CountLock	post_lock;
	CountLock	lock;
	ItemResult	result = ITEM_OK;

	*taken = 0;
	*left = false;
	/*
	 * Lock the post, too: its deletion deletes comments without their locks.
	 */
	post_lock_init(&post_lock, &post);
	post_lock.aside = true;
	if (counted_type(item) == ITEM_COMMENT)
		result = post_lock_shared(&post_lock, LockWaitSkip);
	post_lock_init(&lock, item);
	if (result == ITEM_OK)
	{
		post_try_lock_counter(&lock);
		result = post_lock_shared(&lock, LockWaitSkip);
	}
	if (result == ITEM_OK && delta_any(item))
		result = fold_locked(&lock, limit, merge, taken, left);
	post_unlock(&lock);
	post_unlock(&post_lock);
	return result;
}

/*
 * Delete the deltas that an earlier post with the same id, and comments on it,
 * have left. Called by a transaction that has just inserted a post with that
 * id.
 */
void
post_counter_clear(const pg_uuid_t *post_id)
{
	const CountedItem post = counted_post(post_id);

	deltas_delete(&post);
}

/*
 * Make the counter of a post that this transaction has just inserted. Deletes
 * deltas that an earlier post with the same id has left.
 */
void
post_counter_make(const pg_uuid_t *post_id)
{
	const CountedItem post = counted_post(post_id);
	const ItemCounts nothing = {0, 0};

	if (delta_insert_counter(&post, nothing))
		return;
	post_counter_clear(post_id);
	(void) delta_insert_counter(&post, nothing);
}
