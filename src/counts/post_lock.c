/*
 * post_lock.c
 *		Who counts on a post, and who deletes it.
 *
 * Nobody waits in order to count, so who counts does not lock the post item: a
 * delta is inserted beside it. Whoever deletes the post has to know of all deltas
 * that are being written. That is what a post's lock is for. It is held shared
 * while the post is looked at and a delta inserted, for no longer, and with
 * nothing to wait for; the delta can be found by others from then on. Who deletes
 * the post locks it exclusively, waits for the transactions that have inserted
 * deltas, deletes the post item, and unlocks the post.
 *
 * Here is what each of the two holds, step by step, and what the other finds then.
 *
 *	who counts, and holds		| who deletes finds		| at abort
 *	----------------------------+-----------------------+----------------------
 *	nothing: looks for the post	| nobody				| -
 *	a child that is not yet		| nobody				| the child is gone
 *	confirmed, or being waited	|						|
 *	for							|						|
 *	POST_SHARED, the child		| the lock: waits a		| lock and child are
 *								| moment				| gone
 *	POST_SHARED_SURE, a delta	| the lock: waits a		| lock, child and delta
 *	being inserted				| moment				| are gone
 *	nothing but the child and	| the delta, or the		| both are gone, and
 *	its delta, or the post		| item's lock: waits	| were counted by
 *	item's lock					| for the transaction	| nobody
 *
 *	who deletes, and holds		| who counts finds		| at abort
 *	----------------------------+-----------------------+----------------------
 *	nothing: waits for those	| nobody				| -
 *	who count, and for locks of	|						|
 *	the post item				|						|
 *	POST_EXCLUSIVE: waits for	| the lock: POST_OF_	| the lock is gone: who
 *	them, or finds none			| TRANSACTION passes;	| waited counts
 *								| others take the child	|
 *								| back, and wait		|
 *	POST_EXCLUSIVE, the post	| the lock, as above	| both locks are gone
 *	item locked					|						|
 *	the post item deleted		| the lock is free, and	| the post is there
 *								| the post is being		| again: who waited
 *								| deleted: unlocks it,	| counts
 *								| and waits for the end |
 *
 * POST_OF_TRANSACTION is a post on which this transaction has counted, or whose
 * item it has locked. Who has the lock exclusively waits for the end of that
 * transaction, which may need the post again before: so it does not wait for the
 * lock. POST_WITHOUT_LOCK is a post in a partition without a place for deltas:
 * counts are changed in the post item there, waiting for its lock, which keeps the
 * two apart.
 *
 * Several can hold the lock exclusively; the lock of the post item keeps those
 * apart. The lock is one that its leaf of deltas and its key name (key_lock.c).
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "counts/internal.h"
#include "layout/item.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/*
 * How often to look for a moment at which nobody is counting, before the lock
 * is kept to wait for one.
 */
#define TRIES_TO_LOCK 10

/* ------------------------------------------------------------------------
 * Who is counting?
 * ------------------------------------------------------------------------ */

/* Wait for the others who are counting on a post; false if there are none. */
static bool
await_counting(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);

	return item_await_inserters(&deltas);
}

/* Are others counting on a post? */
static bool
is_counted_on(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);

	return item_inserted_elsewhere(&deltas);
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

/* ------------------------------------------------------------------------
 * Is there such a post?
 * ------------------------------------------------------------------------ */

/* Look at a post as it is at this moment, without a lock. */
static ItemLife
look_at_post(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	post = post_query(&key);

	return item_look(&post);
}

/* Does the transaction's own snapshot show a post? */
static bool
is_shown(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	query = post_query(&key);
	BlogItem	post;
	ItemScan   *scan;
	bool		shown;

	query.no_predicate_locks = true;
	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&query);
	shown = item_scan_next(scan, &post);
	item_scan_end(scan);
	PopActiveSnapshot();
	return shown;
}

/*
 * Lock a post item to the end of the transaction. Errors: 40001 under REPEATABLE
 * READ and SERIALIZABLE if it was changed since the snapshot.
 */
static ItemResult
lock_item(const pg_uuid_t *post_id, LockTupleMode mode, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	BlogItem	post;
	ItemResult	result;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	item_writer_identity(writer);
	result = item_writer_lock(writer, &key, 1, mode, wait, &post);
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

/* A lock on a post, which is not held so far. */
void
post_lock_init(PostLock *lock, const pg_uuid_t *post_id)
{
	lock->post_id = *post_id;
	lock->hold = key_lock_init(&lock->key, CONTAINER_POSTS, ITEM_DELTA,
							   post_id) ? POST_NOT_HELD : POST_WITHOUT_LOCK;
}

/*
 * Make a post, which is not locked, this transaction's: lock its item in the mode
 * that conflicts with its deletion alone.
 */
static ItemResult
hold_item(PostLock *lock, LockWaitPolicy wait)
{
	ItemResult	result = lock_item(&lock->post_id, LockTupleKeyShare, wait);

	if (result == ITEM_OK)
		lock->hold = POST_OF_TRANSACTION;
	return result;
}

/*
 * Somebody may be deleting a post, which is not locked here: wait for the outcome.
 * If it is there then, it is this transaction's; else ITEM_NOT_FOUND. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if it was deleted since.
 */
ItemResult
post_await_deletion(PostLock *lock)
{
	return hold_item(lock, LockWaitBlock);
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
	if (IsolationUsesXactSnapshot() && !is_shown(&lock->post_id))
		return false;
	return look_at_post(&lock->post_id) == ITEM_LIVE ||
		post_await_deletion(lock) == ITEM_OK;
}

/* ------------------------------------------------------------------------
 * The lock
 * ------------------------------------------------------------------------ */

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
	if (key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitSkip))
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
 * again. What a row lock on the post item finds out is not asked here before.
 */
bool
post_is_sure(PostLock *lock)
{
	if (lock->hold == POST_SHARED && look_at_post(&lock->post_id) == ITEM_LIVE)
		lock->hold = POST_SHARED_SURE;
	return lock->hold >= POST_SHARED_SURE;
}

/* Lock a post shared, waiting for whoever has it exclusively. */
static void
wait_to_lock_shared(PostLock *lock)
{
	(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
	lock->hold = POST_SHARED;
}

/*
 * Lock a post shared that is there. ITEM_NOT_FOUND: there is none; ITEM_LOCKED:
 * somebody has it exclusively, or is deleting it. With LockWaitBlock wait for
 * them. It is not locked then, but it may be this transaction's.
 */
ItemResult
post_lock_shared(PostLock *lock, LockWaitPolicy wait)
{
	ItemLife	life;

	if (!post_try_lock_shared(lock))
	{
		if (wait != LockWaitBlock)
			return ITEM_LOCKED;
		wait_to_lock_shared(lock);
	}
	if (lock->hold >= POST_SHARED_SURE)
		return ITEM_OK;
	life = look_at_post(&lock->post_id);
	if (life == ITEM_LIVE)
	{
		if (lock->hold == POST_SHARED)
			lock->hold = POST_SHARED_SURE;
		return ITEM_OK;
	}
	post_unlock(lock);
	if (life == ITEM_DELETING && wait != LockWaitBlock)
		return ITEM_LOCKED;
	return hold_item(lock, wait);
}

/*
 * With the post locked exclusively, or its item deleted, wait until nobody is
 * counting on it.
 */
void
post_await_counting(const PostLock *lock)
{
	while (delta_possible(&lock->post_id) && await_counting(&lock->post_id))
		CHECK_FOR_INTERRUPTS();
}

/*
 * Lock a post exclusively, and its item. key_wait: wait for those who count at
 * this moment? item_wait: and for all who have counted, or have the item locked?
 * If not, ITEM_LOCKED.
 */
static ItemResult
lock_exclusive_once(PostLock *lock, LockTupleMode mode,
					LockWaitPolicy key_wait, LockWaitPolicy item_wait)
{
	ItemResult	result = ITEM_LOCKED;

	Assert(lock->hold == POST_NOT_HELD);
	if (!key_lock(&lock->key, KEY_LOCK_EXCLUSIVE, key_wait))
		return ITEM_LOCKED;
	lock->hold = POST_EXCLUSIVE;
	if (item_wait == LockWaitBlock)
		post_await_counting(lock);
	if (!is_counted_on(&lock->post_id))
		result = lock_item(&lock->post_id, mode, item_wait);
	if (result != ITEM_OK)
		post_unlock(lock);
	return result;
}

/* Wait, with the post unlocked, for who counts on it, or has its item locked. */
static void
await_quiet(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	post = post_query(&key);

	(void) await_counting(post_id);
	item_await_free(&post);
}

/*
 * Lock a post exclusively, and its item in a mode, with nobody counting.
 * ITEM_LOCKED: somebody is, or has it locked; with LockWaitBlock wait for them, and
 * first with the post unlocked, so that nobody else waits, too. ITEM_NOT_FOUND:
 * there is no post.
 */
ItemResult
post_lock_exclusive(PostLock *lock, LockTupleMode mode, LockWaitPolicy wait)
{
	ItemResult	result = ITEM_LOCKED;

	if (lock->hold == POST_WITHOUT_LOCK)
		return lock_item(&lock->post_id, mode, wait);
	if (wait != LockWaitBlock)
		return lock_exclusive_once(lock, mode, wait, wait);
	for (int i = 0; i < TRIES_TO_LOCK && result == ITEM_LOCKED; i++)
	{
		CHECK_FOR_INTERRUPTS();
		await_quiet(&lock->post_id);
		result = lock_exclusive_once(lock, mode, LockWaitBlock, LockWaitSkip);
	}
	while (result == ITEM_LOCKED)
	{
		CHECK_FOR_INTERRUPTS();
		result = lock_exclusive_once(lock, mode, LockWaitBlock, LockWaitBlock);
	}
	return result;
}

/*
 * Unlock a post, if it is locked; the end of the transaction would, too. What is
 * the transaction's stays so.
 */
void
post_unlock(PostLock *lock)
{
	switch (lock->hold)
	{
		case POST_SHARED:
		case POST_SHARED_SURE:
			key_unlock(&lock->key, KEY_LOCK_SHARED);
			lock->hold = POST_NOT_HELD;
			break;
		case POST_EXCLUSIVE:
			key_unlock(&lock->key, KEY_LOCK_EXCLUSIVE);
			lock->hold = POST_NOT_HELD;
			break;
		case POST_NOT_HELD:
		case POST_WITHOUT_LOCK:
		case POST_OF_TRANSACTION:
			break;
	}
}
