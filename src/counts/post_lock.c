/*
 * post_lock.c
 *		Who counts on a post, and who deletes it.
 *
 * Nobody waits in order to count: if the post item is not free, a delta is
 * inserted beside it, and no lock of the post item keeps the post from being
 * deleted then. So whoever deletes a post has to know of all deltas that are being
 * written. That is what a post's lock is for. Who counts holds it shared for a
 * moment, with nothing to wait for: from the child's arrival on, until the post
 * item is written or a delta can be found by others. Who deletes holds it exclusively,
 * waits for the transactions that have inserted deltas, deletes the post item, and
 * unlocks the post. The lock is one that the post's key names (key_lock.c). Several
 * can hold it exclusively; the lock of the post item keeps those apart.
 *
 * How a post is held:
 *
 *	POST_NOT_HELD		| not at all: post_find() says that it was there
 *	POST_SHARED			| locked by who counts; a deletion that was before may be
 *						| under way, so it is looked at before a delta is inserted
 *	POST_SHARED_SURE	| locked by who counts, and seen since: it stays
 *	POST_EXCLUSIVE		| locked by who deletes, and its item is locked
 *	POST_OF_TRANSACTION	| not locked, but this transaction has counted on it, or
 *						| has its item locked: who deletes waits for its end
 *	POST_WITHOUT_LOCK	| there is no place for deltas: who counts waits for the
 *						| lock of the post item, and so does who deletes
 *
 * What the one who counts holds, step by step, and what then comes of the other:
 *
 *	holds					| who deletes				| at abort
 *	------------------------+---------------------------+-----------------------
 *	nothing: looks for the	| finds nobody				| nothing is left
 *	post, writes the child	|							|
 *	the lock, shared; the	| waits a moment for the	| lock and child are
 *	child can be found		| lock						| gone
 *	the lock, shared; the	| waits a moment for the	| lock, child and count
 *	delta, or the post item	| lock						| are gone
 *	is being written		|							|
 *	the delta, or the lock	| finds it, and waits for	| child and count are
 *	of the post item		| the transaction's end		| gone
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
 *	the lock, exclusively;	| does what is said above	| lock and deletion are
 *	the post item is being	|							| gone, and who waits
 *	deleted					|							| counts
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
	if (look_at_post(&lock->post_id) == ITEM_LIVE)
		return true;
	return post_await_deletion(lock) == ITEM_OK;
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

/*
 * Lock a post shared that is there. ITEM_NOT_FOUND: there is none; ITEM_LOCKED:
 * somebody has it exclusively, or is deleting it. With LockWaitBlock wait for
 * them. It is not locked then, but it may be this transaction's.
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
		(void) key_lock(&lock->key, KEY_LOCK_SHARED, LockWaitBlock);
		lock->hold = POST_SHARED;
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
	bool		counting;

	do
	{
		CHECK_FOR_INTERRUPTS();
		counting = delta_possible(&lock->post_id) &&
			await_counting(&lock->post_id);
	} while (counting);
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
