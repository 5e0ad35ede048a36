/*
 * post_fold.c
 *		Folding a post's deltas into its counter, and making the counter.
 *
 * Folding deletes deltas and adds their counts to the counter in one
 * transaction, so no snapshot sees a difference. While another transaction
 * holds the counter, the deltas stay, or are merged into one.
 *
 * A post that its owner has inserted with SQL has no counter. The folding
 * process then makes the counter, unless another process is making it, for
 * which it does not wait.
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

/* The counter that deltas are folded into. */
typedef struct FoldTarget
{
	ItemWriter *writer;			/* the writer that has it locked */
	BlogItem	item;
	bool		counter;		/* does the counter exist? */
} FoldTarget;

/*
 * Lock a post's counter, if it exists. The caller has the right to change the
 * counter (post_has_counter()), so no other process begins to change it
 * meanwhile. Returns ITEM_LOCKED if another transaction holds the counter or
 * is making it.
 */
static ItemResult
fold_lock(FoldTarget *target, const pg_uuid_t *post_id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&counter_id)};
	ItemResult	result;

	target->writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	result = item_writer_lock(target->writer, key, 2, LockTupleNoKeyExclusive,
							  LockWaitSkip, &target->item);
	target->counter = result != ITEM_NOT_FOUND;
	if (target->counter)
		return result;
	return delta_counter_pending(post_id) ? ITEM_LOCKED : ITEM_OK;
}

/* Add the folded counts to the counter, or make the counter. */
static void
fold_write(FoldTarget *target, const pg_uuid_t *post_id, PostCounts counts)
{
	if (!target->counter)
	{
		if (!delta_insert_counter(post_id, counts))
			delta_insert(post_id, counts);
		return;
	}
	item_add_counts(&target->item, counts.comments, counts.likes);
	item_writer_update(target->writer, &target->item);
}

/*
 * Fold at most limit deltas of a post that is locked in share mode. They go
 * into the counter if the lock allows changing it and no other transaction
 * holds it. Otherwise they are left, or, if merge is true, become one delta;
 * ITEM_LOCKED is returned then. Adds the number of deltas that were taken to
 * *taken, and sets *left if some are left. Called under READ COMMITTED only.
 */
static ItemResult
fold_locked(const PostLock *lock, int64 limit, bool merge, int64 *taken,
			bool *left)
{
	const pg_uuid_t *post_id = &lock->post_id;
	PostCounts	counts = {0, 0};
	FoldTarget	target = {.writer = NULL};
	ItemResult	result = ITEM_LOCKED;
	int64		n = 0;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (post_has_counter(lock))
		result = fold_lock(&target, post_id);
	if (result == ITEM_OK || (result == ITEM_LOCKED && merge))
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		n = delta_take(post_id, limit, &counts, left);
		if (n > 0 && result == ITEM_OK)
			fold_write(&target, post_id, counts);
		else if (n > 0)
			delta_insert(post_id, counts);
		PopActiveSnapshot();
	}
	*taken += n;
	if (target.writer != NULL)
		item_writer_close(target.writer);
	PopActiveSnapshot();
	return result;
}

/*
 * Fold at most limit of a post's deltas into its counter. If another
 * transaction holds the counter, leave the deltas, or, if merge is true,
 * replace them by one delta. Sets *taken to the number of deltas that were
 * taken, and *left if some are left. Called under READ COMMITTED only.
 *
 * Returns ITEM_LOCKED if the counter was not changed, and ITEM_NOT_FOUND if
 * the post does not exist. Locks: the post, in share mode, until the function
 * returns; the counter, FOR NO KEY UPDATE. Waits for no lock.
 */
ItemResult
post_fold(const pg_uuid_t *post_id, int64 limit, bool merge, int64 *taken,
		  bool *left)
{
	PostLock	lock;
	ItemResult	result;

	*taken = 0;
	*left = false;
	post_lock_init(&lock, post_id);
	post_try_lock_counter(&lock);
	result = post_lock_shared(&lock, LockWaitSkip);
	/* without deltas there is no need to lock the counter */
	if (result == ITEM_OK && delta_any(post_id))
		result = fold_locked(&lock, limit, merge, taken, left);
	post_unlock(&lock);
	return result;
}

/*
 * Delete the deltas and the counter of an earlier post that had the same id.
 * Called by a transaction that has just inserted a post with that id.
 */
void
post_counter_clear(const pg_uuid_t *post_id)
{
	PostCounts	counts = {0, 0};
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&counter_id)};
	bool		left = false;
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	counter;

	PushActiveSnapshot(GetTransactionSnapshot());
	(void) delta_take(post_id, PG_INT64_MAX, &counts, &left);
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = item_writer_scan(writer, key, 2);
	if (item_scan_next(scan, &counter))
		(void) item_writer_delete_found(writer, scan);
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
}

/*
 * Make the counter of a post that this transaction has just inserted. Deletes
 * what an earlier post of the same id has left behind.
 */
void
post_counter_make(const pg_uuid_t *post_id)
{
	const PostCounts nothing = {0, 0};

	if (delta_insert_counter(post_id, nothing))
		return;
	post_counter_clear(post_id);
	(void) delta_insert_counter(post_id, nothing);
}
