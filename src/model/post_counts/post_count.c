/*
 * post_count.c
 *		The post lock, and counting a post's comments and likes in the
 *		transaction that writes them.
 *
 * No transaction waits in order to count. A delta is a row beside the post
 * item that holds amounts to add to the post's counts (count_delta.c). Each
 * post has one delta that all processes update, its counter. The counting
 * transaction updates the counter in place, without locking it first, unless
 * another transaction is using the counter. In that case it updates the
 * stripe of its process, which is a delta that no other process updates.
 * Under REPEATABLE READ and SERIALIZABLE an update of the counter would fail
 * if the counter had changed since the snapshot, so those transactions insert
 * a new delta instead. The counts in the post item itself change only when
 * they are repaired.
 *
 * The worker folds the other deltas into the counter: it deletes them and adds
 * their amounts to it (views/worker/folding.c). Without a worker, each process
 * that counts under READ COMMITTED leaves at most one stripe on a post, and
 * each transaction that counts under a higher isolation level leaves one
 * delta.
 *
 * A delta is a row of its own, so inserting one does not lock the post item
 * against deletion. The post lock closes that gap. It is a heavyweight lock
 * named by the post's key (key_lock.c). The counting transaction takes the
 * lock in share mode before other transactions can find the comment or like,
 * and releases it when they can find the delta, or the new version of the
 * counter. It waits for no lock meanwhile, but the AFTER triggers that the
 * tables' owner has put on comments and likes run in that time. The deleting
 * transaction takes the lock in exclusive mode (post_deletion.c), waits for
 * the transactions that have inserted deltas, deletes the post item, and
 * releases the lock. Several transactions can hold the lock in exclusive mode.
 * The row lock on the post item excludes all but one of them.
 *
 * What a transaction holds of a post, as its PostLock says:
 *
 *	locked, mode	safe  | meaning
 *	----------------------+------------------------------------------------
 *	no				no	  | nothing; other transactions can delete the post
 *	share mode		no	  | locked to count; a deletion that began earlier
 *						  | may be under way, so look at the post before use
 *	share mode		yes	  | locked to count, and seen to exist since then
 *	exclusive mode	yes	  | locked to delete; the post item is locked too
 *	no				yes	  | this transaction has written a delta or locked
 *						  | the post item; a deletion waits for its end
 *
 * What the counting transaction holds at each step, what a deleting
 * transaction does then, and what is left if the counting transaction aborts:
 *
 *	holds					| deleting transaction		| after abort
 *	------------------------+---------------------------+----------------------
 *	nothing; finds the post	| does not wait				| nothing
 *	and inserts the comment	|							|
 *	or like					|							|
 *	lock, share mode; the	| waits for the lock, which	| nothing
 *	comment or like can be	| is held for a moment		|
 *	found					|							|
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
 *	lock, exclusive mode;	| continues if the post is	| the lock is released;
 *	waits for transactions	| safe for it; else it		| the counting
 *	that have counted, if	| removes the comment or	| transaction continues
 *	ten times were in vain	| like, waits for the lock,	|
 *							| and begins again			|
 *	lock, exclusive mode;	| the same					| lock and deletion are
 *	deletes the post item	|							| undone; the counting
 *							|							| transaction continues
 *	the deleted post item	| gets the lock, sees that	| the post exists; the
 *							| the post is being			| counting transaction
 *							| deleted, unlocks it, and	| continues
 *							| waits for the deleting	|
 *							| transaction's end			|
 *
 * A counting transaction to which the last line of the first table applies
 * does not wait for the lock. The deleting transaction that holds the lock
 * waits for the counting transaction to end, so a wait for the lock would be a
 * deadlock.
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
 * Return the state of the post item's newest version, without locking it. Sets
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
 * Return whether a deletion of the post has to wait for the end of this
 * transaction. It has to if this transaction has written one of the post's
 * deltas, or has written or locked the post item.
 */
static bool
is_deletion_barred(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);
	ItemQuery	post = post_query(&key);

	return item_written_here(&deltas) || item_held_here(&post);
}

/*
 * Initialize the lock of a post, without taking it. Errors: 55000 if the
 * partition has no usable leaf for deltas.
 */
void
post_lock_init(PostLock *lock, const pg_uuid_t *post_id)
{
	lock->post_id = *post_id;
	lock->hidden = false;
	lock->locked = false;
	lock->mode = KEY_LOCK_SHARED;
	lock->safe = false;
	key_lock_init(&lock->key, CONTAINER_POSTS, ITEM_DELTA, post_id);
}

/*
 * Prevent deletions of a post until the end of this transaction, by locking
 * the post item FOR KEY SHARE. That conflicts with its deletion only. The
 * caller does not hold the post lock. Sets lock->safe.
 */
static ItemResult
bar_deletion(PostLock *lock, LockWaitPolicy wait)
{
	ItemResult	result = post_row_lock(&lock->post_id, LockTupleKeyShare, wait);

	lock->safe = result == ITEM_OK;
	return result;
}

/*
 * Wait for a concurrent deletion of the post to commit or abort. The caller
 * must not hold the post lock. Returns whether the post still exists; no other
 * transaction can then delete it before the end of this one. Errors: 40001
 * under REPEATABLE READ and SERIALIZABLE if the post was deleted after the
 * snapshot.
 */
static bool
await_deletion(PostLock *lock)
{
	return bar_deletion(lock, LockWaitBlock) == ITEM_OK;
}

/*
 * Return whether the post exists. Called before a comment or like is inserted,
 * while the caller holds no lock that a deletion of the post could need. Takes
 * no post lock. If a transaction is deleting the post, the function waits for
 * it to end. It waits for no other transaction.
 *
 * Under REPEATABLE READ and SERIALIZABLE, the post does not exist unless the
 * snapshot shows it. Errors: 40001 under these levels if the post was deleted
 * after the snapshot.
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
 * Take the post lock in share mode, without waiting. Returns false if another
 * transaction holds it in exclusive mode.
 *
 * The mode KEY_LOCK_SHARED_FIRST, which allows changing the counter, is tried
 * first. It is not tried if this process has recently found the counter in
 * use.
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
 * Lock the post in share mode without waiting, whether it exists or not. Until
 * post_unlock() no other transaction can delete the post. A later deletion
 * finds the deltas that were written meanwhile.
 *
 * Returns false if another transaction has locked the post in exclusive mode,
 * in order to delete it. If that deletion has to wait for this transaction to
 * end, the function returns true without the lock, and sets lock->safe.
 */
bool
post_try_lock_shared(PostLock *lock)
{
	if (lock->locked || lock->safe)
		return true;
	lock->locked = lock_key_shared(lock);
	if (!lock->locked)
		lock->safe = is_deletion_barred(&lock->post_id);
	return lock->locked || lock->safe;
}

/*
 * Wait until no other process holds the post lock in exclusive mode. The
 * caller does not hold it.
 */
void
post_await_unlock(const PostLock *lock)
{
	(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
	key_unlock(&lock->key, KEY_LOCK_SHARED);
}

/*
 * Return whether the post exists and no other transaction can delete it. If
 * the post is locked but not known to exist, look at it first.
 */
static bool
make_safe(PostLock *lock)
{
	if (lock->locked && !lock->safe)
		lock->safe = look_at_post(lock) == ITEM_LIVE;
	return lock->safe;
}

/*
 * Lock a post in share mode, if it exists. With LockWaitBlock, the function
 * waits for transactions that have the post locked in exclusive mode or are
 * deleting it. If the deletion that it waits for aborts, the post stays
 * unlocked, but no other transaction can delete it before the end of this one.
 *
 * Returns ITEM_NOT_FOUND if the post does not exist. Returns ITEM_LOCKED if
 * wait is not LockWaitBlock and another transaction has the post locked in
 * exclusive mode or is deleting it. Errors: 40001 under REPEATABLE READ and
 * SERIALIZABLE if the post was deleted after the snapshot.
 */
ItemResult
post_lock_shared(PostLock *lock, LockWaitPolicy wait)
{
	ItemLife	life;

	if (!post_try_lock_shared(lock))
	{
		if (wait != LockWaitBlock)
			return ITEM_LOCKED;
		lock->mode = KEY_LOCK_SHARED;
		lock->locked = key_lock(&lock->key, lock->mode, LockWaitBlock);
	}
	if (lock->safe)
		return ITEM_OK;
	life = look_at_post(lock);
	lock->safe = life == ITEM_LIVE;
	if (lock->safe)
		return ITEM_OK;
	post_unlock(lock);
	if (life == ITEM_DELETING && wait != LockWaitBlock)
		return ITEM_LOCKED;
	return bar_deletion(lock, wait);
}

/*
 * Lock a post in the share mode that allows changing its counter. If another
 * transaction holds a conflicting lock, the post stays unlocked. Does nothing
 * if the post is locked already.
 */
void
post_try_lock_counter(PostLock *lock)
{
	if (lock->locked || lock->safe)
		return;
	lock->mode = KEY_LOCK_SHARED_FIRST;
	lock->locked = key_lock(&lock->key, lock->mode, LockWaitSkip);
}

/*
 * Return whether the caller may change the post's counter. Only one process at
 * a time may: the process that holds the lock as KEY_LOCK_SHARED_FIRST, or the
 * process that holds it in exclusive mode and has the post item locked.
 */
bool
post_has_counter(const PostLock *lock)
{
	return lock->locked && lock->mode != KEY_LOCK_SHARED;
}

/* Release the post lock before the transaction ends, if it is held. */
void
post_unlock(PostLock *lock)
{
	if (!lock->locked)
		return;
	key_unlock(&lock->key, lock->mode);
	lock->locked = false;
	lock->safe = false;
}

/* ------------------------------------------------------------------------
 * The count
 * ------------------------------------------------------------------------ */

/*
 * Add counts to the stripe of this process, which is the delta that no other
 * process updates. If the stripe cannot be updated, insert a new delta. The
 * caller has made sure that no other transaction can delete the post. Waits
 * for no other transaction.
 */
static void
count_in_stripe(const pg_uuid_t *post_id, PostCounts counts)
{
	ItemResult	in_stripe = ITEM_LOCKED;

	/*
	 * Under these isolation levels, updating a stripe that was changed after
	 * the snapshot would fail.
	 */
	if (!IsolationUsesXactSnapshot())
		in_stripe = delta_add(post_id, DELTA_STRIPE, counts);
	if (in_stripe == ITEM_NOT_FOUND)
		delta_insert_stripe(post_id, counts);
	else if (in_stripe != ITEM_OK)
		delta_insert(post_id, counts);
}

/*
 * Add counts to the counter, or to the stripe if another transaction is using
 * the counter. The caller has made sure that no other transaction can delete
 * the post.
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
 * Add the comments and likes that this transaction writes or deletes to the
 * counts of a post. The caller has locked the post, or made sure otherwise
 * that no other transaction can delete it.
 *
 * Returns POST_COUNTED, or POST_UNSURE if another transaction may be deleting
 * the post. The caller then unlocks the post and calls
 * post_count_after_deletion(). Errors: 40001 under SERIALIZABLE if a
 * concurrent transaction has read the counts.
 */
PostCountResult
post_count(PostLock *lock, PostCounts counts)
{
	if (!make_safe(lock))
		return POST_UNSURE;
	count_beside(lock, counts);
	return POST_COUNTED;
}

/*
 * Wait for a transaction that is deleting the post. If the post then still
 * exists, add to its counts. The caller must not hold the post lock. Returns
 * POST_COUNTED or POST_GONE. Errors: 40001 under REPEATABLE READ and
 * SERIALIZABLE if the post was deleted after the snapshot.
 */
PostCountResult
post_count_after_deletion(PostLock *lock, PostCounts counts)
{
	return await_deletion(lock) ? post_count(lock, counts) : POST_GONE;
}

/*
 * Make deletions of the post wait for the end of this transaction, by writing
 * a delta of zero. Waits for a transaction that is deleting the post.
 *
 * The caller then locks children of the post, and may need the post
 * afterwards. A deletion needs those children, so without the delta each
 * transaction could wait for the other.
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
	 * Do not write the delta of zero to the counter. This transaction would
	 * keep other transactions from changing the counter until it ends.
	 */
	count_in_stripe(post_id, nothing);
	post_unlock(&lock);
	return true;
}
