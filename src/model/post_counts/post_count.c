/*
 * post_count.c
 *		The post lock, and counting a post's comments and likes in the
 *		transaction that writes them.
 *
 * A comment's replies and likes are counted on the comment in the same way.
 * For them, read "comment" for "post" below, and "reply or like" for "comment
 * or like". A comment has its own lock. A transaction that takes this lock and
 * the post lock waits for neither while it holds the other (count_locks.c).
 *
 * A "counting transaction" writes or deletes a comment or like, and changes
 * the post's counts for it. It never waits for another counting transaction.
 * It adds to one of these deltas of the post (count_delta.c):
 *
 *	-	The counter, without locking its row first.
 *	-	The stripe of its process, if another transaction is using the counter.
 *		No other process updates this stripe.
 *	-	A new delta, under REPEATABLE READ and SERIALIZABLE. Updating the
 *		counter would fail if the counter was changed after the snapshot.
 *
 * The counts in the post item itself change only when repair() corrects them.
 *
 * The worker folds the other deltas into the counter: it deletes them and adds
 * their amounts to the counter (views/worker/folding.c). Without a worker,
 * they stay: at most one stripe of each process on each post, and one delta of
 * each transaction under the higher isolation levels.
 *
 * Inserting a delta does not lock the post item, so it does not keep other
 * transactions from deleting the post. The post lock prevents a deletion. It
 * is a heavyweight lock named by the post's key (key_lock.c). The counting
 * transaction takes the post lock in share mode before other transactions can
 * find its comment or like. It releases the lock when they can find its delta,
 * or the new version of the counter. Meanwhile it waits for no lock, but AFTER
 * triggers that the owner has put on comments and likes may wait.
 *
 * The deleting transaction takes the post lock in exclusive mode
 * (post_deletion.c), waits for the transactions that have inserted deltas,
 * deletes the post item, and releases the post lock. Exclusive mode conflicts
 * with share mode, but not with itself: of several transactions that delete
 * the post, only one gets the row lock on the post item.
 *
 * The states of a CountLock. "None" means that "locked" is false:
 *
 *	locked, mode	safe  | meaning
 *	----------------------+------------------------------------------------
 *	none			no	  | other transactions can delete the post
 *	share mode		no	  | locked to count, but a deletion may be under
 *						  | way; check the post item first
 *	share mode		yes	  | locked to count, and the post item exists
 *	exclusive mode	yes	  | locked to delete; the post item's row is locked
 *						  | too
 *	none			yes	  | this transaction has written a delta or locked
 *						  | the post item; a deletion waits for its end
 *
 * The steps of a counting transaction. The second column says what a deleting
 * transaction does at this step. The third says what is left if the counting
 * transaction aborts:
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
 * The steps of a deleting transaction. The second column says what a counting
 * transaction does at this step. The third says what follows if the deleting
 * transaction aborts:
 *
 *	deleting transaction	| counting transaction		| after abort
 *	------------------------+---------------------------+----------------------
 *	holds no lock; waits up	| does not wait				| nothing is left
 *	to ten times for the	|							|
 *	transactions that have	|							|
 *	counted					|							|
 *	holds the post lock in	| continues if it finds		| the post lock is
 *	exclusive mode; after	| "safe" true; else undoes	| released; the
 *	ten waits without this	| its insert, waits for the	| counting transaction
 *	lock, waits while it	| post lock, and begins		| continues
 *	holds the lock			| again						|
 *	holds the post lock in	| as in the line above		| the post lock is
 *	exclusive mode; deletes	|							| released, the post
 *	the post item			|							| exists; the counting
 *							|							| transaction continues
 *	has deleted the post	| gets the post lock, sees	| the post exists; the
 *	item, and released the	| that the post is being	| counting transaction
 *	post lock				| deleted, undoes its		| continues
 *							| insert, waits for the		|
 *							| deleting transaction, and	|
 *							| begins again				|
 *
 * A transaction may count on a post several times. After the first time, it
 * has a delta on the post. A deleting transaction that holds the post lock
 * then waits for the counting transaction to end. If the counting transaction
 * waited for the post lock, this would be a deadlock. So it counts without the
 * post lock.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/*
 * Return the state of the newest version of the post item, without locking the
 * row. Sets lock->hidden to whether this version is hidden.
 */
static ItemLife
look_at_item(CountLock *lock)
{
	Datum		key[2];
	ItemQuery	item = counted_query(&lock->item, key);

	return item_look(&item, &lock->hidden);
}

/*
 * Return whether a deletion of the post has to wait for this transaction to
 * end. This is true if the transaction has written a delta of the post, or has
 * written or locked the post item.
 */
static bool
is_deletion_barred(const CountedItem *item)
{
	Datum		key[2];
	ItemQuery	deltas = all_deltas_query(item, key);
	ItemQuery	row = counted_query(item, key);

	return item_written_here(&deltas) || item_held_here(&row);
}

/*
 * Initialize a CountLock, without taking the lock. Errors: 55000 if the post's
 * partition has no usable leaf for deltas.
 */
void
post_lock_init(CountLock *lock, const CountedItem *item)
{
	lock->item = *item;
	lock->hidden = false;
	lock->locked = false;
	lock->mode = KEY_LOCK_SHARED;
	lock->safe = false;
	lock->aside = false;
	key_lock_init(&lock->key, CONTAINER_POSTS, ITEM_DELTA, &item->post_id,
				  &item->item_id);
}

/*
 * Lock the row of the post item FOR KEY SHARE. No other transaction can then
 * delete the post before this one ends, but others can update the item. Sets
 * lock->safe to whether the row was locked. The caller must not hold the post
 * lock.
 */
static ItemResult
bar_deletion(CountLock *lock, LockWaitPolicy wait)
{
	ItemResult	result = post_row_lock(&lock->item, LockTupleKeyShare, wait);

	lock->safe = result == ITEM_OK;
	return result;
}

/*
 * Take the post lock in share mode, without waiting. Returns false if another
 * transaction holds the post lock in exclusive mode.
 *
 * There are two share modes. KEY_LOCK_SHARED_FIRST allows changing the post's
 * counter, and only one process can hold it. It is not tried if another
 * process was using the counter lately (delta_striped()), or if the caller
 * does not change the post's counts (CountLock.aside).
 */
static bool
lock_key_shared(CountLock *lock)
{
	lock->mode = KEY_LOCK_SHARED_FIRST;
	if (!lock->aside && !delta_striped(&lock->item) &&
		key_lock(&lock->key, lock->mode, LockWaitSkip))
		return true;
	lock->mode = KEY_LOCK_SHARED;
	return key_lock(&lock->key, lock->mode, LockWaitSkip);
}

/*
 * Take the post lock in share mode without waiting. The post need not exist.
 * Returns false if a deleting transaction holds the post lock in exclusive
 * mode.
 *
 * After the result true, no other transaction can delete the post before
 * post_unlock(). After post_unlock(), a deleting transaction waits until this
 * transaction ends, because it finds the deltas of this transaction.
 *
 * If this transaction has written a delta of the post before, a deletion of
 * the post waits for this transaction anyway. Taking the lock is then not
 * necessary. The function sets lock->safe and returns true.
 */
bool
post_try_lock_shared(CountLock *lock)
{
	if (lock->locked || lock->safe)
		return true;
	lock->locked = lock_key_shared(lock);
	if (!lock->locked)
		lock->safe = is_deletion_barred(&lock->item);
	return lock->locked || lock->safe;
}

/*
 * Wait until no process holds the post lock in exclusive mode. The caller must
 * not hold the post lock.
 */
static void
post_await_unlock(const CountLock *lock)
{
	(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
	key_unlock(&lock->key, KEY_LOCK_SHARED);
}

/*
 * Return whether another transaction in progress has inserted, updated or
 * deleted the post item.
 */
bool
post_is_busy(const CountLock *lock)
{
	Datum		key[2];
	ItemQuery	row = counted_query(&lock->item, key);

	return item_written_elsewhere(&row);
}

/*
 * Wait until no process holds the post lock in exclusive mode. Then wait for a
 * transaction that is deleting or inserting the post item. Locks nothing. The
 * caller must not hold the post lock.
 *
 * If this transaction has already added to the counts, a deletion of the post
 * waits for it. To avoid a deadlock, the function then does not wait for the
 * post lock. It does wait for a transaction that has deleted the post by SQL.
 */
void
post_await(const CountLock *lock)
{
	Datum		key[2];
	ItemQuery	row = counted_query(&lock->item, key);

	if (lock->safe)
		return;
	if (!is_deletion_barred(&lock->item))
		post_await_unlock(lock);
	item_await_outcome(&row);
}

/*
 * Throw an error (40001) under REPEATABLE READ and SERIALIZABLE if the post
 * was deleted after the snapshot.
 */
void
post_check_deleted(const CountLock *lock)
{
	Datum		key[2];
	ItemQuery	row = counted_query(&lock->item, key);
	bool		hidden;

	if (IsolationUsesXactSnapshot() && post_shown_by(&lock->item, NULL) &&
		item_look(&row, &hidden) != ITEM_LIVE && !post_is_busy(lock))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent delete"),
				 errhint("Retry the transaction.")));
}

/*
 * Return whether the post exists. Waits for a transaction that is deleting the
 * post. Locks nothing. Called before a comment or like is inserted, while the
 * caller holds no lock that a deletion of the post needs.
 *
 * Under REPEATABLE READ and SERIALIZABLE, the snapshot must show the post,
 * too. Errors: 40001 under these levels if the post was deleted after the
 * snapshot.
 */
bool
post_find(CountLock *lock)
{
	ItemLife	life;

	if (IsolationUsesXactSnapshot() && !post_shown_by(&lock->item, NULL))
		return false;
	while ((life = look_at_item(lock)) != ITEM_LIVE)
	{
		CHECK_FOR_INTERRUPTS();
		if (life != ITEM_DELETING && !post_shown_by(&lock->item, NULL))
			return false;
		if (post_is_busy(lock))
			post_await(lock);
		else if (!post_shown_by(&lock->item, NULL))
			return false;
		else
			post_check_deleted(lock);
	}
	return true;
}

/*
 * Set lock->safe, and return its value: whether the post exists and no other
 * transaction can delete it. If this transaction holds the post lock, the
 * function looks for the post item.
 */
bool
post_make_safe(CountLock *lock)
{
	if (lock->locked && !lock->safe)
		lock->safe = look_at_item(lock) == ITEM_LIVE;
	return lock->safe;
}

/*
 * Take the post lock in share mode, if the post exists. With LockWaitBlock,
 * wait for transactions that hold the post lock in exclusive mode or are
 * deleting the post.
 *
 * If the function has waited for a deletion that aborts, it locks the row of
 * the post item FOR KEY SHARE instead. No other transaction can then delete
 * the post before this one ends.
 *
 * Returns ITEM_NOT_FOUND if the post does not exist. Returns ITEM_LOCKED if
 * the function would have to wait and "wait" is not LockWaitBlock. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if the post was deleted after
 * the snapshot.
 */
ItemResult
post_lock_shared(CountLock *lock, LockWaitPolicy wait)
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
	life = look_at_item(lock);
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
 * the post's counter. Leaves lock->locked false, without waiting, if another
 * process holds the lock in a conflicting mode. Does nothing if lock->locked
 * or lock->safe is true already.
 */
void
post_try_lock_counter(CountLock *lock)
{
	if (lock->locked || lock->safe)
		return;
	lock->mode = KEY_LOCK_SHARED_FIRST;
	lock->locked = key_lock(&lock->key, lock->mode, LockWaitSkip);
}

/*
 * Return whether this process may change the post's counter. The result is
 * true if this process holds the post lock in the mode KEY_LOCK_SHARED_FIRST
 * or in exclusive mode. In exclusive mode, the process also holds the row lock
 * on the post item. So only one process at a time may change the counter.
 */
bool
post_has_counter(const CountLock *lock)
{
	return lock->locked && lock->mode != KEY_LOCK_SHARED;
}

void
post_unlock(CountLock *lock)
{
	if (!lock->locked)
		return;
	key_unlock(&lock->key, lock->mode);
	lock->locked = false;
	lock->safe = false;
}

/*
 * Add counts to this process's stripe on the post. If the stripe cannot be
 * updated, insert a delta with a new id. Waits for no other transaction. The
 * caller has made sure that no other transaction can delete the post.
 */
static void
count_in_stripe(const CountedItem *item, ItemCounts counts)
{
	ItemResult	in_stripe = ITEM_LOCKED;

	/*
	 * Under the higher isolation levels, updating the stripe would fail if it
	 * was changed after the snapshot.
	 */
	if (!IsolationUsesXactSnapshot())
		in_stripe = delta_add(item, DELTA_STRIPE, counts);
	if (in_stripe == ITEM_NOT_FOUND)
		delta_insert_stripe(item, counts);
	else if (in_stripe != ITEM_OK)
		delta_insert(item, counts);
}

/*
 * Add counts to the post's counter, or to this process's stripe if the counter
 * cannot be changed now. The caller has made sure that no other transaction
 * can delete the post.
 */
static void
count_beside(const CountLock *lock, ItemCounts counts)
{
	if (!IsolationUsesXactSnapshot() && post_has_counter(lock) &&
		delta_add(&lock->item, DELTA_COUNTER, counts) == ITEM_OK)
		return;
	count_in_stripe(&lock->item, counts);
}

/*
 * Add to the counts of a post, for comments and likes that this transaction
 * writes or deletes. The caller has made lock->safe true.
 *
 * counts: the amounts to add, negative for deleted comments and likes
 *
 * Errors: 40001 under SERIALIZABLE if a concurrent transaction has read the
 * counts.
 */
void
post_count(const CountLock *lock, ItemCounts counts)
{
	Assert(lock->safe);
	count_beside(lock, counts);
}

/*
 * Add to the counts of a comment, if it exists. The caller holds the post lock
 * in exclusive mode, so no other transaction counts on the comment or deletes
 * it. The worker may be using the comment's counter, so the function adds to
 * this process's stripe.
 */
void
post_count_held(const CountedItem *comment, ItemCounts counts)
{
	CountLock	lock;

	post_lock_init(&lock, comment);
	if (look_at_item(&lock) == ITEM_LIVE)
		count_in_stripe(comment, counts);
}

/*
 * Keep other transactions from deleting the post before this transaction ends.
 * Waits for a transaction that is deleting the post. Returns whether the post
 * exists. The function writes a delta with amounts of zero.
 *
 * Called before this transaction locks comments or likes on the post. This
 * transaction may lock the post later. A deletion locks the post first, and
 * its comments and likes later. Without the delta, each transaction could wait
 * for the other.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the post was deleted
 * after the snapshot.
 */
bool
post_keep(const pg_uuid_t *post_id)
{
	const ItemCounts nothing = {0, 0};
	const CountedItem post = counted_post(post_id);
	CountLock	lock;

	post_lock_init(&lock, &post);
	if (post_lock_shared(&lock, LockWaitBlock) != ITEM_OK)
		return false;
	/*
	 * Use the stripe: if this transaction updated the counter, others could
	 * not update it before this one ends.
	 */
	count_in_stripe(&post, nothing);
	post_unlock(&lock);
	return true;
}
