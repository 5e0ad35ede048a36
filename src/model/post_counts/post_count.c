/*
 * post_count.c
 *		The post lock, and counting a post's comments and likes in the
 *		transaction that writes them.
 *
 * No transaction waits in order to count. Each post has a counter, a narrow
 * row beside the post item (count_delta.c). The counting transaction updates
 * the counter in place, without locking it first, unless another transaction
 * is using the counter. In that case it adds to a stripe, which is a delta
 * that belongs to this process. Under REPEATABLE READ and SERIALIZABLE an
 * update of the counter would fail if the counter had changed since the
 * snapshot, so those transactions insert a new delta instead. The counts in
 * the post item itself change only when they are repaired.
 *
 * The worker folds stripes and other deltas into the counter
 * (views/worker/folding.c). Without a worker their number grows: under READ
 * COMMITTED to one stripe for each process that has used the post, otherwise
 * to one delta for each transaction that has counted.
 *
 * A delta is a row of its own, so inserting one does not lock the post item
 * against deletion. The post lock closes that gap. It is a heavyweight lock
 * named by the post's key (key_lock.c). The counting transaction holds it in
 * share mode from before the child is visible to others until its delta, or
 * the new version of the counter, can be found by others. It waits for no lock
 * meanwhile, but the AFTER triggers that the tables' owner has put on the
 * child run in that time. The deleting transaction holds it in exclusive mode
 * (post_deletion.c): it waits for the transactions that have inserted deltas,
 * deletes the post item, and unlocks the post. Several transactions can hold
 * the lock in exclusive mode. The row lock on the post item keeps those apart.
 *
 * The states of a post in this transaction (PostHold):
 *
 *	POST_NOT_HELD		| not locked; post_find() may have seen it
 *	POST_SHARED			| locked to count; a deletion that began earlier may be
 *						| under way, so the post has to be looked at
 *	POST_SHARED_SURE	| locked to count, and seen since; it cannot go
 *	POST_EXCLUSIVE		| locked to delete, and the post item is locked
 *	POST_OF_TRANSACTION	| not locked, but this transaction has written a delta
 *						| or locked the post item; a deletion waits for its end
 *
 * What the counting transaction holds at each step, what a deleting
 * transaction does then, and what is left if the counting transaction aborts:
 *
 *	holds					| deleting transaction		| after abort
 *	------------------------+---------------------------+----------------------
 *	nothing; finds the post	| does not wait				| nothing
 *	and inserts the child	|							|
 *	lock, share mode; the	| waits for the lock, which	| nothing
 *	child can be found		| is held for a moment		|
 *	lock, share mode; a		| waits for the lock, which	| nothing
 *	delta or the counter is	| is held for a moment		|
 *	being written			|							|
 *	the delta, or the new	| finds the row, and waits	| nothing
 *	version of the counter	| for the transaction's end	|
 *
 * What the deleting transaction holds at each step, what a counting
 * transaction does then, and what happens if the deleting transaction aborts:
 *
 *	holds					| counting transaction		| after abort
 *	------------------------+---------------------------+----------------------
 *	nothing; waits for the	| does not wait				| nothing is left
 *	transactions that have	|							|
 *	counted, up to ten		|							|
 *	times					|							|
 *	lock, exclusive mode;	| continues if it holds the	| the lock is released;
 *	waits for transactions	| post as its own; else it	| the counting
 *	that have counted, if	| takes the child back and	| transaction continues
 *	that was in vain		| waits for the lock		|
 *	lock, exclusive mode;	| the same					| lock and deletion are
 *	deletes the post item	|							| undone; the counting
 *							|							| transaction continues
 *	the deleted post item	| gets the lock, sees that	| the post exists; the
 *							| the post is being			| counting transaction
 *							| deleted, unlocks it, and	| continues
 *							| waits for the deleting	|
 *							| transaction's end			|
 *
 * A counting transaction in state POST_OF_TRANSACTION does not wait for the
 * lock. The deleting transaction that holds the lock waits for that
 * transaction's end, and the counting transaction may need the post again
 * before it ends. This way neither waits for the other.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/* ------------------------------------------------------------------------
 * Finding the post
 * ------------------------------------------------------------------------ */

/*
 * Look at the newest version of the post item, without a lock. Sets
 * lock->hidden.
 */
static ItemLife
look_at_post(PostLock *lock)
{
	Datum		key = UUIDPGetDatum(&lock->post_id);
	ItemQuery	post = post_query(&key);

	return item_look(&post, &lock->hidden);
}

/*
 * Return whether this transaction has written one of the post's deltas, or has
 * written or locked the post item.
 */
static bool
is_of_transaction(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);
	ItemQuery	post = post_query(&key);

	return item_written_here(&deltas) || item_held_here(&post);
}

/*
 * Set up the lock of a post. Nothing is locked yet. Errors: 55000 if the
 * partition has no usable leaf for deltas.
 */
void
post_lock_init(PostLock *lock, const pg_uuid_t *post_id)
{
	lock->post_id = *post_id;
	lock->hidden = false;
	lock->mode = KEY_LOCK_SHARED;
	lock->hold = POST_NOT_HELD;
	key_lock_init(&lock->key, CONTAINER_POSTS, ITEM_DELTA, post_id);
}

/*
 * Make a post that is not locked this transaction's own (POST_OF_TRANSACTION):
 * lock the post item FOR KEY SHARE, which conflicts with its deletion only.
 */
static ItemResult
make_of_transaction(PostLock *lock, LockWaitPolicy wait)
{
	ItemResult	result = post_row_lock(&lock->post_id, LockTupleKeyShare, wait);

	if (result == ITEM_OK)
		lock->hold = POST_OF_TRANSACTION;
	return result;
}

/*
 * Wait for a concurrent deletion of the post to commit or abort. The caller
 * must not hold the post lock. Returns whether the post exists; this
 * transaction then holds it as POST_OF_TRANSACTION. Errors: 40001 under
 * REPEATABLE READ and SERIALIZABLE if the post was deleted after the snapshot.
 */
static bool
await_deletion(PostLock *lock)
{
	return make_of_transaction(lock, LockWaitBlock) == ITEM_OK;
}

/*
 * Return whether the post exists. Called before a comment or like is inserted,
 * while the caller holds nothing that a deletion of the post could need. Takes
 * no post lock. Waits for a transaction that is deleting the post, and for no
 * other.
 *
 * Under REPEATABLE READ and SERIALIZABLE a post that the snapshot does not
 * show does not exist. Errors: 40001 there if the post was deleted after the
 * snapshot.
 */
bool
post_find(PostLock *lock)
{
	if (IsolationUsesXactSnapshot() && !post_shown_by(&lock->post_id, NULL))
		return false;
	if (look_at_post(lock) == ITEM_LIVE)
		return true;
	if (!await_deletion(lock))
		return false;
	(void) look_at_post(lock);
	return true;
}

/* ------------------------------------------------------------------------
 * The post lock in share mode
 * ------------------------------------------------------------------------ */

/*
 * Lock the post's key in share mode, without waiting. Tries first for the mode
 * that allows changing the counter (KEY_LOCK_SHARED_FIRST), unless this
 * process has recently found the counter in use. Returns false if another
 * transaction holds the exclusive lock.
 */
static bool
lock_key_shared(PostLock *lock)
{
	lock->mode = KEY_LOCK_SHARED_FIRST;
	if (!delta_striped(&lock->post_id) &&
		key_lock(&lock->key, lock->mode, LockWaitSkip))
		return true;
	lock->mode = KEY_LOCK_SHARED;
	return key_lock(&lock->key, lock->mode, LockWaitSkip);
}

/*
 * Lock the post in share mode without waiting, whether it exists or not.
 * Returns false if another transaction has it locked in exclusive mode and
 * this transaction does not hold it as its own.
 *
 * No other transaction deletes the post before post_unlock(). A later deletion
 * finds the deltas that were written under the lock.
 */
bool
post_try_lock_shared(PostLock *lock)
{
	if (lock->hold != POST_NOT_HELD)
		return true;
	if (lock_key_shared(lock))
		lock->hold = POST_SHARED;
	else if (is_of_transaction(&lock->post_id))
		lock->hold = POST_OF_TRANSACTION;
	return lock->hold != POST_NOT_HELD;
}

/* Wait until no other process holds the post lock in exclusive mode. */
void
post_await_unlock(const PostLock *lock)
{
	(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
	key_unlock(&lock->key, KEY_LOCK_SHARED);
}

/*
 * Return whether the post exists and cannot be deleted by others. Looks at the
 * post only in state POST_SHARED.
 */
static bool
is_sure(PostLock *lock)
{
	if (lock->hold == POST_SHARED && look_at_post(lock) == ITEM_LIVE)
		lock->hold = POST_SHARED_SURE;
	return lock->hold >= POST_SHARED_SURE;
}

/*
 * Lock a post in share mode, if it exists. With LockWaitBlock, waits for other
 * transactions that have it locked in exclusive mode or are deleting it. If
 * the deletion that it waits for aborts, the post is held as
 * POST_OF_TRANSACTION.
 *
 * Returns ITEM_NOT_FOUND if the post does not exist, and ITEM_LOCKED if wait
 * is not LockWaitBlock and another transaction has it locked or is deleting
 * it. Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the post was
 * deleted after the snapshot.
 */
ItemResult
post_lock_shared(PostLock *lock, LockWaitPolicy wait)
{
	bool		locked = post_try_lock_shared(lock);
	ItemLife	life;

	if (!locked && wait != LockWaitBlock)
		return ITEM_LOCKED;
	if (!locked)
	{
		lock->mode = KEY_LOCK_SHARED;
		(void) key_lock(&lock->key, lock->mode, LockWaitBlock);
		lock->hold = POST_SHARED;
	}
	if (lock->hold >= POST_SHARED_SURE)
		return ITEM_OK;
	life = look_at_post(lock);
	if (life == ITEM_LIVE)
	{
		if (lock->hold == POST_SHARED)
			lock->hold = POST_SHARED_SURE;
		return ITEM_OK;
	}
	post_unlock(lock);
	if (life == ITEM_DELETING && wait != LockWaitBlock)
		return ITEM_LOCKED;
	return make_of_transaction(lock, wait);
}

/*
 * Lock a post in the share mode that allows changing its counter, if that
 * needs no waiting; otherwise leave it unlocked. Does nothing if the post is
 * held already.
 */
void
post_try_lock_counter(PostLock *lock)
{
	if (lock->hold != POST_NOT_HELD)
		return;
	lock->mode = KEY_LOCK_SHARED_FIRST;
	if (key_lock(&lock->key, lock->mode, LockWaitSkip))
		lock->hold = POST_SHARED;
}

/*
 * Return whether the caller may change the post's counter. Only one process at
 * a time may: the one that holds the lock as KEY_LOCK_SHARED_FIRST, or the one
 * that holds it in exclusive mode with the post item locked.
 */
bool
post_has_counter(const PostLock *lock)
{
	if (lock->hold == POST_EXCLUSIVE)
		return true;
	return lock->mode == KEY_LOCK_SHARED_FIRST &&
		(lock->hold == POST_SHARED || lock->hold == POST_SHARED_SURE);
}

/*
 * Release the post lock, if it is held, in either mode, before the transaction
 * ends. The state POST_OF_TRANSACTION stays.
 */
void
post_unlock(PostLock *lock)
{
	switch (lock->hold)
	{
		case POST_SHARED:
		case POST_SHARED_SURE:
		case POST_EXCLUSIVE:
			key_unlock(&lock->key, lock->mode);
			lock->hold = POST_NOT_HELD;
			break;
		case POST_NOT_HELD:
		case POST_OF_TRANSACTION:
			break;
	}
}

/* ------------------------------------------------------------------------
 * The count
 * ------------------------------------------------------------------------ */

/*
 * Count in the stripe of this process. If that is impossible, insert a new
 * delta. The caller holds the post. Waits for no other transaction.
 */
static void
count_in_stripe(const pg_uuid_t *post_id, PostCounts counts)
{
	ItemResult	in_stripe = ITEM_LOCKED;

	/*
	 * under these levels an update fails on a version that the snapshot does
	 * not show
	 */
	if (!IsolationUsesXactSnapshot())
		in_stripe = delta_add(post_id, DELTA_STRIPE, counts);
	if (in_stripe == ITEM_NOT_FOUND)
		delta_insert_stripe(post_id, counts);
	else if (in_stripe != ITEM_OK)
		delta_insert(post_id, counts);
}

/*
 * Count in the counter if that needs no waiting, else in a stripe. The caller
 * holds the post.
 */
static void
count_beside(const PostLock *lock, PostCounts counts)
{
	if (!IsolationUsesXactSnapshot() && post_has_counter(lock) &&
		delta_add(&lock->post_id, DELTA_COUNTER, counts) == ITEM_OK)
		return;
	count_in_stripe(&lock->post_id, counts);
}

/*
 * Add comments and likes that this transaction writes or deletes to the counts
 * of a post. The caller holds the post in any state but POST_NOT_HELD.
 *
 * Returns POST_COUNTED, or POST_UNSURE if another transaction may be deleting
 * the post, which happens only in state POST_SHARED. The caller then unlocks
 * the post and calls post_count_after_deletion(). Errors: 40001 under
 * SERIALIZABLE if a concurrent transaction has read the counts.
 */
PostCountResult
post_count(PostLock *lock, PostCounts counts)
{
	if (!is_sure(lock))
		return POST_UNSURE;
	count_beside(lock, counts);
	return POST_COUNTED;
}

/*
 * Count on a post that another transaction may be deleting: wait for that
 * transaction, and count if the post still exists. The caller must not hold
 * the post lock. Returns POST_COUNTED or POST_GONE. Errors: 40001 under
 * REPEATABLE READ and SERIALIZABLE if the post was deleted after the snapshot.
 */
PostCountResult
post_count_after_deletion(PostLock *lock, PostCounts counts)
{
	return await_deletion(lock) ? post_count(lock, counts) : POST_GONE;
}

/*
 * Have deletions of the post wait for the end of this transaction, as if it
 * had counted on the post. Called before children of the post are locked: a
 * deletion needs those children, and the caller may need the post again. Waits
 * for a transaction that is deleting the post.
 *
 * Returns whether the post exists. Errors: 40001 under REPEATABLE READ and
 * SERIALIZABLE if the post was deleted after the snapshot.
 */
bool
post_keep(const pg_uuid_t *post_id)
{
	const PostCounts nothing = {0, 0};
	PostLock	lock;

	post_lock_init(&lock, post_id);
	if (post_lock_shared(&lock, LockWaitBlock) != ITEM_OK)
		return false;
	/*
	 * not in the counter: this transaction would keep it from others until it
	 * ends
	 */
	count_in_stripe(post_id, nothing);
	post_unlock(&lock);
	return true;
}
