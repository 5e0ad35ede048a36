/*
 * post_count.c
 *		A post counts its comments and likes in the transaction that writes them,
 *		and is not deleted meanwhile: the lock of who counts, and the count.
 *
 * Nobody waits in order to count. Each post has a counter beside it (count_delta.c), a
 * narrow row: it is added to in place, without a lock, if nobody else has it. If
 * somebody has, a stripe of this process is written beside it. A transaction that
 * has a snapshot of its own would have to fail if the counter was changed since: it
 * leaves a delta. The counts in the post item itself change when they are repaired.
 *
 * The worker folds stripes and other deltas into the counter (views/worker/folding.c). While
 * there is none they add up: in READ COMMITTED to one stripe for each process that has
 * come to a post, else to one delta for each transaction that has counted.
 *
 * While a delta is written, no lock of the post item keeps the post from being
 * deleted. So whoever deletes a post has to know of all deltas that are being
 * written. That is what a post's lock is for. Who counts holds it shared for a
 * moment: from the child's arrival on, until a version of a delta, be it the counter,
 * can be found by others. It waits for nothing meanwhile; but the owner's AFTER triggers
 * on the child run before the count. Who deletes holds it
 * exclusively (post_deletion.c), waits for the transactions that have inserted
 * deltas, deletes the post item, and unlocks the post. The lock is one that the
 * post's key names (key_lock.c). Several can hold it exclusively; the lock of the
 * post item keeps those apart.
 *
 * How a post is held (PostHold), from one state to the next:
 *
 *	POST_NOT_HELD		| not at all: post_find() says that it was there
 *	POST_SHARED			| locked by who counts; a deletion that was before may be
 *						| under way, so it is looked at before a delta is inserted
 *	POST_SHARED_SURE	| locked by who counts, and seen since: it stays
 *	POST_EXCLUSIVE		| locked by who deletes, and its item is locked
 *	POST_OF_TRANSACTION	| not locked, but this transaction has counted on it, or
 *						| has its item locked: who deletes waits for its end
 *
 * What the one who counts holds, step by step, and what then comes of the other:
 *
 *	holds					| who deletes				| at abort
 *	------------------------+---------------------------+-----------------------
 *	nothing: looks for the	| finds nobody				| nothing is left
 *	post, writes the child	|							|
 *	the lock, shared; the	| waits a moment for the	| lock and child are
 *	child can be found		| lock						| gone
 *	the lock, shared; a		| waits a moment for the	| lock, child and count
 *	delta or the counter is	| lock						| are gone
 *	being written			|							|
 *	the delta, or the new	| finds it, and waits for	| child and count are
 *	counter					| the transaction's end		| gone
 *
 * What the one who deletes holds, step by step:
 *
 *	holds					| who counts				| at abort
 *	------------------------+---------------------------+-----------------------
 *	nothing: waits for who	| finds nobody				| nothing is left
 *	has counted, ten times	|							|
 *	at most					|							|
 *	the lock, exclusively:	| goes on, if the post is	| the lock is gone, and
 *	waits for who has		| the transaction's; else	| who waits counts
 *	counted, if that was	| takes the child back, and |
 *	in vain					| waits for the lock		|
 *	the lock, exclusively;	| goes on, if the post is	| lock and deletion are
 *	the post item is being	| the transaction's; else	| gone, and who waits
 *	deleted					| takes the child back, and | counts
 *							| waits for the lock		|
 *	the post item, which is	| has the lock, finds that	| the post is there, and
 *	deleted					| the post is being			| who waits counts
 *							| deleted, unlocks it, and	|
 *							| waits for the end			|
 *
 * Who counts passes the lock if the post is its transaction's: who holds it
 * exclusively waits for that transaction, which may need the post again before.
 * So neither waits for the other.
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
 * Is there such a post?
 * ------------------------------------------------------------------------ */

/* Look at a post as it is at this moment, without a lock. */
static ItemLife
look_at_post(PostLock *lock)
{
	Datum		key = UUIDPGetDatum(&lock->post_id);
	ItemQuery	post = post_query(&key);

	return item_look(&post, &lock->hidden);
}

/* Has this transaction counted on a post, or locked or written its item? */
static bool
is_of_transaction(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);
	ItemQuery	post = post_query(&key);

	return item_written_here(&deltas) || item_held_here(&post);
}

/* A lock on a post, which is not held so far. Errors: 55000 if deltas have no leaf. */
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
 * Make a post, which is not locked, this transaction's: lock its item in the mode
 * that conflicts with its deletion alone.
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
 * Somebody may be deleting a post, which is not locked here: wait for the outcome.
 * Returns whether it is there then; it is this transaction's in that case. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if it was deleted since.
 */
static bool
await_deletion(PostLock *lock)
{
	return make_of_transaction(lock, LockWaitBlock) == ITEM_OK;
}

/*
 * Is there such a post? Asked by who is about to write a child, and has nothing in
 * hand that others may need; the post is not locked. Waits for whoever is
 * deleting it, and for nobody else.
 *
 * Under REPEATABLE READ and SERIALIZABLE there is none that the snapshot does not
 * show, and it is an error (40001) if it was deleted since.
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
 * The lock of who counts
 * ------------------------------------------------------------------------ */

/*
 * Lock a post's key shared without waiting, as the one who may change the counter if
 * nobody else is, and this process has not had to keep away from that lately.
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
 * Lock a post shared, if nobody has it exclusively, or waits for this transaction
 * then; whether the post is there is not asked. Nobody deletes it before
 * post_unlock(), and after that whoever does finds the deltas that were written.
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

/* Wait until nobody has a post locked exclusively that this process has not. */
void
post_await_unlock(const PostLock *lock)
{
	(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
	key_unlock(&lock->key, KEY_LOCK_SHARED);
}

/*
 * Is the post that is locked shared there? Then it stays, and is not looked at
 * again.
 */
static bool
is_sure(PostLock *lock)
{
	if (lock->hold == POST_SHARED && look_at_post(lock) == ITEM_LIVE)
		lock->hold = POST_SHARED_SURE;
	return lock->hold >= POST_SHARED_SURE;
}

/*
 * Lock a post shared that is there. ITEM_NOT_FOUND: there is none; ITEM_LOCKED:
 * somebody has it exclusively, or is deleting it. With LockWaitBlock wait for
 * them; a post whose deletion was waited for is not locked, but this transaction's.
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
 * Lock a post shared as the one process that may change its counter. The post stays unlocked
 * if that takes waiting; it must not be locked before.
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
 * May who has a post locked change its counter? One at a time may: the one who has
 * it shared first, or who has it exclusively with its item.
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
 * Unlock a post, if it is locked, shared or exclusively; the end of the transaction
 * would unlock it otherwise. What is the transaction's stays so.
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
 * Have a post that stays count in this process's stripe, or where that cannot be, in a new
 * delta. It waits for nobody.
 */
static void
count_in_stripe(const pg_uuid_t *post_id, PostCounts counts)
{
	ItemResult	in_stripe = ITEM_LOCKED;

	/* a version that the snapshot does not show cannot be added to */
	if (!IsolationUsesXactSnapshot())
		in_stripe = delta_add(post_id, DELTA_STRIPE, counts);
	if (in_stripe == ITEM_NOT_FOUND)
		delta_insert_stripe(post_id, counts);
	else if (in_stripe != ITEM_OK)
		delta_insert(post_id, counts);
}

/*
 * Have a post that stays count, waiting for nobody: in its counter, or beside it.
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
 * Have a post, which is locked, count comments and likes that this transaction
 * writes or deletes. PostCountResult tells what came of it. POST_UNSURE does not
 * come of a post that is sure; of any other it asks for unlocking the post, and then
 * for post_count_after_deletion().
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
 * Have a post, which is not locked, and which somebody may be deleting, count:
 * wait for the outcome, and if it is there then, it stays while it counts.
 */
PostCountResult
post_count_after_deletion(PostLock *lock, PostCounts counts)
{
	return await_deletion(lock) ? post_count(lock, counts) : POST_GONE;
}

/*
 * Have whoever deletes a post wait for the end of this transaction, before
 * the post is marked, as if it had counted: it is about to lock what hangs on the
 * post, and may need the post then. Waits for who is deleting it; false if there is
 * no such post (any more).
 */
bool
post_keep(const pg_uuid_t *post_id)
{
	const PostCounts nothing = {0, 0};
	PostLock	lock;

	post_lock_init(&lock, post_id);
	if (post_lock_shared(&lock, LockWaitBlock) != ITEM_OK)
		return false;
	/* not in the counter, which the transaction would keep from others */
	count_in_stripe(post_id, nothing);
	post_unlock(&lock);
	return true;
}
