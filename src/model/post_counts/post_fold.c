/*
 * post_fold.c
 *		Deltas beside a post's counter come into it.
 *
 * Folding deletes deltas and writes what they say, in one transaction, so that
 * no snapshot sees a difference. While another transaction holds the post's
 * counter, its deltas are kept, or are merged into one.
 *
 * A post that its owner has inserted by SQL has no counter. The folding process makes
 * it, and waits for no other process that is making it.
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

/* What deltas are folded into. */
typedef struct FoldTarget
{
	ItemWriter *writer;			/* of the counter */
	BlogItem	item;
	bool		counter;		/* is it there? */
} FoldTarget;

/*
 * Lock a post's counter, if it has one. ITEM_LOCKED: another transaction
 * holds it, or is making it. No other process begins to while the caller may
 * change it.
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

/* Write what was folded. */
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
 * Fold deltas, at most limit of them, of a post that is locked: into its
 * counter if the lock allows to change that, or if that cannot be, and merge
 * says so, into one delta. ITEM_LOCKED: they were left or merged. Adds to
 * *taken how many went; *left becomes true if there are others. In READ
 * COMMITTED.
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
 * Fold a post's deltas, at most limit of them, into its counter. If another
 * transaction holds the counter and merge is true, they become one delta.
 * ITEM_LOCKED: they were left or merged; ITEM_NOT_FOUND: there is no such
 * post. taken: how many; left: whether there are others. In READ COMMITTED.
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
	/* what nobody has written needs no lock of the counter */
	if (result == ITEM_OK && delta_any(post_id))
		result = fold_locked(&lock, limit, merge, taken, left);
	post_unlock(&lock);
	return result;
}

/*
 * Delete the deltas and the counter that an older post has left behind of
 * whose id this transaction makes one.
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
 * Make the counter of a post that this transaction has just written. What an
 * older post of that id has left behind goes.
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
