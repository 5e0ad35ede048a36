/*
 * post_count.c
 *		The post lock, and counting a post's comments and likes in the
 *		transaction that writes them.
 *
 * Here a "counting transaction" is one that writes or deletes a comment or
 * like, and changes the post's counts for it. It never waits for another
 * counting transaction. A delta is a row beside the post item that holds
 * amounts to add to the post's counts (count_delta.c). Each post has one delta
 * that all processes update, its counter. The counting transaction updates the
 * counter in place, without locking it first, unless another transaction is
 * using the counter. In that case it updates the stripe of its process, which
 * is a delta that no other process updates. Under REPEATABLE READ and
 * SERIALIZABLE an update of the counter would fail if the counter had changed
 * since the snapshot, so those transactions insert a new delta instead. The
 * counts in the post item itself change only when repair() corrects them.
 *
 * The worker folds the other deltas into the counter: it deletes them and adds
 * their amounts to the counter (views/worker/folding.c). Without a worker,
 * each process that counts under READ COMMITTED leaves at most one stripe on a
 * post, and each transaction that counts under a higher isolation level leaves
 * one delta.
 *
 * A delta is a row of its own, so inserting one does not lock the post item
 * against deletion. The post lock prevents the deletion instead. It is a
 * heavyweight lock named by the post's key (key_lock.c). The counting
 * transaction takes the post lock in share mode before other transactions can
 * find its comment or like. It releases the post lock when other transactions
 * can find its delta, or the new version of the counter. It waits for no lock
 * in between. (AFTER triggers that the tables' owner has put on comments and
 * likes run in between, however.)
 *
 * The deleting transaction takes the post lock in exclusive mode
 * (post_deletion.c), waits for the transactions that have inserted deltas,
 * deletes the post item, and releases the post lock. Several transactions can
 * hold the post lock in exclusive mode. The row lock on the post item excludes
 * all but one of them.
 *
 * The fields "locked", "mode" and "safe" of a PostLock tell how far its
 * transaction has come:
 *
 *	locked, mode	safe  | meaning
 *	----------------------+------------------------------------------------
 *	no				no	  | no lock; other transactions can delete the post
 *	share mode		no	  | locked to count; a deletion that began earlier
 *						  | may be under way, so check the post item first
 *	share mode		yes	  | locked to count; after locking, the transaction
 *						  | has checked that the post item exists
 *	exclusive mode	yes	  | locked to delete; the post item's row is locked
 *						  | too
 *	no				yes	  | this transaction has written a delta or locked
 *						  | the post item; a deletion waits for its end
 *
 * The steps of a counting transaction: what the transaction has locked or
 * written so far, what a deleting transaction does meanwhile, and what is left
 * if the counting transaction aborts:
 *
 *	counting transaction	| deleting transaction		| after abort
 *	------------------------+---------------------------+----------------------
 *	has found the post and	| does not wait				| nothing is left
 *	inserted the comment or	|							|
 *	like; holds no post		|							|
 *	lock					|							|
 *	holds the post lock in	| waits for the post lock,	| nothing is left
 *	share mode; the comment	| which is held for a		|
 *	or like can be found	| moment					|
 *	holds the post lock in	| waits for the post lock,	| nothing is left
 *	share mode; is writing	| which is held for a		|
 *	a delta or the counter	| moment					|
 *	has written the delta	| finds the delta or the	| nothing is left
 *	or the counter, and		| counter, and waits for	|
 *	released the post lock	| the transaction's end		|
 *
 * The steps of a deleting transaction: what the transaction has locked or
 * written so far, what a counting transaction does meanwhile, and what follows
 * if the deleting transaction aborts:
 *
 *	deleting transaction	| counting transaction		| after abort
 *	------------------------+---------------------------+----------------------
 *	holds no lock; waits	| does not wait				| nothing is left
 *	for the transactions	|							|
 *	that have counted, up	|							|
 *	to ten times			|							|
 *	holds the post lock in	| continues if it finds		| the post lock is
 *	exclusive mode; after	| "safe" true; else undoes	| released; the
 *	ten waits, still waits	| its insert, waits for the	| counting transaction
 *	for transactions that	| post lock, and begins		| continues
 *	have counted			| again						|
 *	holds the post lock in	| as in the line above		| the post lock is
 *	exclusive mode; deletes	|							| released, the post
 *	the post item			|							| exists; the counting
 *							|							| transaction continues
 *	has deleted the post	| gets the post lock, sees	| the post exists; the
 *	item, and released the	| that the post is being	| counting transaction
 *	post lock				| deleted, releases the		| continues
 *							| lock, and waits for the	|
 *							| deleting transaction		|
 *
 * A transaction that has counted on a post before has a delta on it (the last
 * line in the table of counting transactions). If it counts on the post again
 * while a deleting transaction holds the post lock, it must not wait for that
 * lock. The deleting transaction waits for the counting transaction to end, so
 * this would be a deadlock. The counting transaction then counts without the
 * lock.
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
 * Return the state of the newest version of the post item, without locking it.
 * Sets lock->hidden to whether this version is hidden.
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
 * transaction. It has to if this transaction has written a delta of the post,
 * or has written or locked the post item.
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
 * Initialize a PostLock, without taking the post lock. Errors: 55000 if the
 * post's partition has no usable leaf for deltas.
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
 * Lock the row of the post item FOR KEY SHARE, so that no other transaction
 * can delete the post before this one ends. This mode does not conflict with
 * updates of the item. Sets lock->safe to whether the row was locked. The
 * caller does not hold the post lock.
 */
static ItemResult
bar_deletion(PostLock *lock, LockWaitPolicy wait)
{
	ItemResult	result = post_row_lock(&lock->post_id, LockTupleKeyShare, wait);

	lock->safe = result == ITEM_OK;
	return result;
}

/*
 * Wait for a concurrent deletion of the post to commit or abort. Returns
 * whether the post still exists. If so, no other transaction can delete it
 * before this transaction ends. The caller must not hold the post lock.
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the post was deleted
 * after the snapshot.
 */
static bool
await_deletion(PostLock *lock)
{
	return bar_deletion(lock, LockWaitBlock) == ITEM_OK;
}

/*
 * Return whether the post exists. If another transaction is deleting the post,
 * the function waits for that transaction to end. It does not take the post
 * lock. Called before a comment or like is inserted, while the caller holds no
 * lock that a deletion of the post could need.
 *
 * Under REPEATABLE READ and SERIALIZABLE, the result is also false if the
 * snapshot does not show the post. Errors: 40001 under these levels if the
 * post was deleted after the snapshot.
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
 * The function first tries the mode KEY_LOCK_SHARED_FIRST, which only one
 * process can hold, and which allows changing the post's counter. It skips
 * this attempt if another process was using the counter a moment ago
 * (delta_striped()).
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
 * Take the post lock in share mode without waiting. The post need not exist.
 * Returns false if a deleting transaction holds the post lock in exclusive
 * mode. If the result is true, no other transaction can delete the post before
 * post_unlock(). A transaction that deletes the post after that finds the
 * deltas of this transaction, and waits until this transaction ends.
 *
 * If this transaction has written a delta of the post before, a deleting
 * transaction that holds the post lock waits for this transaction to end. This
 * transaction then needs no lock: the function sets lock->safe and returns
 * true.
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
 * caller must not hold the post lock.
 */
void
post_await_unlock(const PostLock *lock)
{
	(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
	key_unlock(&lock->key, KEY_LOCK_SHARED);
}

/*
 * Return whether the post exists and no other transaction can delete it
 * (lock->safe). If this transaction holds the post lock and lock->safe is
 * false, check now whether the post item exists.
 */
static bool
make_safe(PostLock *lock)
{
	if (lock->locked && !lock->safe)
		lock->safe = look_at_post(lock) == ITEM_LIVE;
	return lock->safe;
}

/*
 * Take the post lock in share mode, if the post exists. With LockWaitBlock,
 * wait for transactions that hold the post lock in exclusive mode or are
 * deleting the post. After waiting for a deletion that has aborted, the
 * function locks the row of the post item instead of taking the post lock, and
 * returns ITEM_OK. No other transaction can then delete the post before this
 * one ends.
 *
 * Returns ITEM_NOT_FOUND if the post does not exist. Returns ITEM_LOCKED if
 * the function would have to wait and "wait" is not LockWaitBlock. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if the post was deleted after
 * the snapshot.
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
 * Take the post lock in the mode KEY_LOCK_SHARED_FIRST, which allows changing
 * the post's counter. If another process holds the lock in a conflicting mode,
 * the function does not wait, and leaves lock->locked false. It does nothing
 * if lock->locked or lock->safe is true already.
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
 * Return whether this process may change the post's counter. Only one process
 * at a time may change it: the process that holds the post lock in the mode
 * KEY_LOCK_SHARED_FIRST, or in exclusive mode together with the row lock on
 * the post item.
 */
bool
post_has_counter(const PostLock *lock)
{
	return lock->locked && lock->mode != KEY_LOCK_SHARED;
}

/*
 * Release the post lock, if this transaction holds it.
 */
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
 * Add counts to this process's stripe on the post. If the stripe cannot be
 * updated, insert a delta with a new id. Waits for no other transaction. The
 * caller has made sure that no other transaction can delete the post.
 */
static void
count_in_stripe(const pg_uuid_t *post_id, PostCounts counts)
{
	ItemResult	in_stripe = ITEM_LOCKED;

	/*
	 * Under REPEATABLE READ and SERIALIZABLE, updating a stripe that was
	 * changed after the snapshot would fail.
	 */
	if (!IsolationUsesXactSnapshot())
		in_stripe = delta_add(post_id, DELTA_STRIPE, counts);
	if (in_stripe == ITEM_NOT_FOUND)
		delta_insert_stripe(post_id, counts);
	else if (in_stripe != ITEM_OK)
		delta_insert(post_id, counts);
}

/*
 * Add counts to the post's counter, or to this process's stripe if the counter
 * cannot be changed now. The caller has made sure that no other transaction
 * can delete the post.
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
 * Add to the counts of a post, for comments and likes that this transaction
 * writes or deletes. The caller holds the post lock, or lock->safe is true, so
 * no other transaction can begin to delete the post.
 *
 * counts: the amounts to add, negative for deleted comments and likes.
 *
 * Returns POST_COUNTED if the amounts were added. Returns POST_UNSURE if
 * another transaction may be deleting the post. The caller must then call
 * post_unlock() and post_count_after_deletion(). Errors: 40001 under
 * SERIALIZABLE if a concurrent transaction has read the counts.
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
 * Wait for a transaction that is deleting the post. If the post still exists
 * afterwards, add to its counts. The caller must not hold the post lock.
 * Returns POST_COUNTED or POST_GONE. Errors: 40001 under REPEATABLE READ and
 * SERIALIZABLE if the post was deleted after the snapshot.
 */
PostCountResult
post_count_after_deletion(PostLock *lock, PostCounts counts)
{
	return await_deletion(lock) ? post_count(lock, counts) : POST_GONE;
}

/*
 * Keep other transactions from deleting the post before this transaction ends,
 * by writing a delta with amounts of zero. If a transaction is deleting the
 * post, wait for it first. Returns whether the post exists.
 *
 * The caller is about to lock comments or likes on the post, and may lock the
 * post afterwards. A deletion of the post locks in the opposite order. Without
 * the delta, this could be a deadlock.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the post was deleted
 * after the snapshot.
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
	 * Add the amounts of zero to the stripe, not to the counter. If this
	 * transaction updated the counter, no other transaction could update it
	 * before this one ends.
	 */
	count_in_stripe(post_id, nothing);
	post_unlock(&lock);
	return true;
}
