/*
 * post_count.c
 *		A post counts its comments and likes in the transaction that writes them.
 *
 * Nobody waits in order to count. If the post is free, and the transaction is
 * about to end, its counts are added to in place: no indexed column changes,
 * and a page without room for another version is left alone, so the update is
 * HOT. Otherwise a delta is written beside it (delta.c), as it is by a process
 * that has one there already, which is not folded yet. A transaction that has a
 * snapshot of its own would have to fail if the post was changed since, and one
 * in a transaction block could keep the post for minutes: both leave deltas.
 *
 * Deltas are folded by the worker (worker/fold.c) and by whoever edits the post;
 * where no worker keeps the views, also by whoever counts in place, in
 * transaction blocks too (post_merge.c).
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "counts/internal.h"
#include "hooks.h"
#include "layout/item.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/* How many deltas a count in place folds in passing. */
#define FOLD_IN_PASSING 100

/* Does a worker fold what is left? */
static bool
worker_folds(void)
{
	return change_feed_hooks.views_served();
}

/* Lock a post item against other writers; *post points into the writer. */
ItemResult
post_item_lock(ItemWriter *writer, const pg_uuid_t *post_id,
			   LockWaitPolicy wait, BlogItem *post)
{
	Datum		key = UUIDPGetDatum(post_id);

	return item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive, wait,
							post);
}

/* Write a post item that is locked, with these added to its counts. */
void
post_item_write(ItemWriter *writer, BlogItem *post, PostCounts add)
{
	item_add_counts(post, add.comments, add.likes);
	item_writer_update(writer, post);
}

/*
 * Add to the counts of a post item, if it is free; folds: a worker folds what
 * is left.
 */
static ItemResult
count_in_place(const pg_uuid_t *post_id, PostCounts counts,
			   LockWaitPolicy wait, bool folds)
{
	bool		left = false;
	ItemWriter *writer;
	BlogItem	post;
	ItemResult	result;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	if (folds && wait != LockWaitBlock)
		item_writer_need_room(writer);
	result = post_item_lock(writer, post_id, wait, &post);
	if (result == ITEM_OK)
	{
		if (!folds && !IsolationUsesXactSnapshot())
			(void) delta_take_now(post_id, FOLD_IN_PASSING, &counts, &left);
		post_item_write(writer, &post, counts);
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

/*
 * Add to this process's stripe of a post that is locked. ITEM_NOT_FOUND: it has
 * none; ITEM_LOCKED: it is being folded, or a transaction with a snapshot of its
 * own may not see it, or the post may be gone: a stripe of an earlier
 * transaction keeps nobody from deleting that.
 */
static ItemResult
count_in_stripe(PostLock *lock, PostCounts counts)
{
	DeltaStripe stripe;
	bool		stays;
	ItemResult	result = ITEM_NOT_FOUND;

	if (IsolationUsesXactSnapshot())
		return ITEM_LOCKED;
	delta_stripe_begin(&stripe, &lock->post_id);
	if (stripe.found)
	{
		/* who deletes the post waits for who has written its deltas */
		stays = stripe.mine;
		if (!stays)
			stays = post_is_sure(lock);
		result = stays ? delta_stripe_add(&stripe, counts) : ITEM_LOCKED;
	}
	delta_stripe_end(&stripe);
	return result;
}

/* Count by a new delta on a post that is sure to stay. */
static void
count_in_delta(PostLock *lock, PostCounts counts, bool has_stripe)
{
	if (has_stripe)
		delta_insert(&lock->post_id, counts);
	else
		delta_insert_stripe(&lock->post_id, counts);
}

/*
 * Have a post, which is locked, count comments and likes that this transaction
 * writes or deletes. Else nothing is written: ITEM_NOT_FOUND, there is no such
 * post (any more); ITEM_LOCKED, somebody may be deleting it, which does not come of
 * a post that is sure: to be called again after unlocking the post, as
 * post_count_after_deletion().
 */
ItemResult
post_count(PostLock *lock, PostCounts counts)
{
	const pg_uuid_t *post_id = &lock->post_id;
	bool		folds = worker_folds();
	ItemResult	stripe = ITEM_NOT_FOUND;
	ItemResult	in_place = ITEM_LOCKED;

	if (!delta_possible(post_id))
		return count_in_place(post_id, counts, LockWaitBlock, folds);
	/* who has a stripe has met others here: leave the post to them */
	if (folds)
		stripe = count_in_stripe(lock, counts);
	if (stripe == ITEM_OK)
		return ITEM_OK;
	if (!IsolationUsesXactSnapshot() && (!IsTransactionBlock() || !folds))
		in_place = count_in_place(post_id, counts, LockWaitSkip, folds);
	if (in_place != ITEM_LOCKED)
		return in_place;
	if (!folds)
		stripe = count_in_stripe(lock, counts);
	if (stripe == ITEM_OK)
		return ITEM_OK;
	if (!post_is_sure(lock))
		return ITEM_LOCKED;
	count_in_delta(lock, counts, stripe != ITEM_NOT_FOUND);
	return ITEM_OK;
}

/*
 * Have a post, which is not locked, and which somebody may be deleting, count:
 * wait for the outcome, and if it is there then, it stays while it counts. Else
 * ITEM_NOT_FOUND.
 */
ItemResult
post_count_after_deletion(PostLock *lock, PostCounts counts)
{
	ItemResult	result = post_await_deletion(lock);

	return result == ITEM_OK ? post_count(lock, counts) : result;
}

/*
 * Have whoever deletes a post wait for the end of this transaction, before
 * the post is marked, as if it had counted: it is about to lock what hangs on the
 * post, and may need the post then. Waits for who is deleting it; ITEM_NOT_FOUND if
 * there is no such post (any more).
 */
ItemResult
post_keep(const pg_uuid_t *post_id)
{
	const PostCounts nothing = {0, 0};
	PostLock	lock;
	ItemResult	result;
	ItemResult	stripe;

	if (!delta_possible(post_id))
		return ITEM_OK;
	post_lock_init(&lock, post_id);
	result = post_lock_shared(&lock, LockWaitBlock);
	if (result != ITEM_OK)
		return result;
	stripe = count_in_stripe(&lock, nothing);
	if (stripe != ITEM_OK)
		count_in_delta(&lock, nothing, stripe != ITEM_NOT_FOUND);
	post_unlock(&lock);
	return ITEM_OK;
}
