/*
 * post_deletion.c
 *		Deleting a post with its comments and likes, and the lock of who does.
 *
 * Who writes a comment or like has the post count it, in place or by a delta,
 * before unlocking the post. So once a post item is deleted with the post locked
 * exclusively, and those who have counted by deltas have ended, what a new
 * snapshot shows is all there will be. What each side holds, and what the other then
 * finds, is told at the head of post_count.c.
 *
 * Who deletes a post because of whose it is has read that before the post is locked.
 * Meanwhile it may have been deleted, and its id given to a post of another user's;
 * so the author is told, and looked at under the lock.
 *
 * Runs in backends and in the worker, as the containers' owner.
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
 * How often to look for a moment at which nobody is counting, before the lock
 * is kept to wait for one.
 */
#define TRIES_TO_LOCK 10

/* ------------------------------------------------------------------------
 * The lock of who deletes
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

/*
 * With the post locked exclusively, or its item deleted, wait until nobody is
 * counting on it.
 */
static void
await_nobody_counting(const PostLock *lock)
{
	do
		CHECK_FOR_INTERRUPTS();
	while (await_counting(&lock->post_id));
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
	lock->mode = KEY_LOCK_EXCLUSIVE;
	if (!key_lock(&lock->key, lock->mode, key_wait))
		return ITEM_LOCKED;
	lock->hold = POST_EXCLUSIVE;
	if (item_wait == LockWaitBlock)
		await_nobody_counting(lock);
	if (!is_counted_on(&lock->post_id))
		result = post_row_lock(&lock->post_id, mode, item_wait);
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
 * first with the post unlocked, so that nobody else waits meanwhile. ITEM_NOT_FOUND:
 * there is no post.
 */
static ItemResult
lock_exclusive(PostLock *lock, LockTupleMode mode, LockWaitPolicy wait)
{
	ItemResult	result = ITEM_LOCKED;

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
 * Lock a post exclusively, and its item in a mode, if it is by an author (NULL:
 * anybody). ITEM_NOT_FOUND: there is none, or it is another's, and not locked;
 * ITEM_LOCKED, which does not come of LockWaitBlock: somebody is counting on it, or
 * has it locked.
 */
static ItemResult
lock_exclusive_if_by(PostLock *lock, const pg_uuid_t *author, LockTupleMode mode,
					 LockWaitPolicy wait)
{
	ItemResult	result = lock_exclusive(lock, mode, wait);

	/* nobody else can have made the post anew since it was locked */
	if (result != ITEM_OK || author == NULL ||
		post_shown_by(&lock->post_id, author))
		return result;
	post_unlock(lock);
	return ITEM_NOT_FOUND;
}

/* ------------------------------------------------------------------------
 * The deletion
 * ------------------------------------------------------------------------ */

/*
 * A snapshot that shows all there is. A transaction that keeps its first one
 * does not see what has been added since, but must not leave it behind.
 */
static Snapshot
present_snapshot(void)
{
	return IsolationUsesXactSnapshot() ? GetLatestSnapshot() :
		GetTransactionSnapshot();
}

/* Errors: 40001 if the transaction deletes what it does not see. */
static void
check_shown(ItemScan *scan)
{
	if (IsolationUsesXactSnapshot() &&
		!item_scan_shown(scan, GetTransactionSnapshot()))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent insert"),
				 errhint("Retry the transaction.")));
}

/*
 * Delete a post's children of one type, at most limit of them (0: all). Returns
 * how many; *busy is set if others were left because somebody has them locked.
 */
static int64
delete_children(ItemType type, const pg_uuid_t *post_id, LockWaitPolicy wait,
				int64 limit, bool *busy)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	item;
	int64		deleted = 0;

	PushActiveSnapshot(present_snapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	item_writer_identity(writer);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = type == ITEM_DELTA ? PATH_KEY : PATH_LIST, .key = &key,
		.nkeys = 1, .identity = true, .rows = limit == 0 ? -1 : limit
	});
	while ((limit == 0 || deleted < limit) && item_scan_next(scan, &item))
	{
		ItemResult	result;

		if (type != ITEM_DELTA)
			check_shown(scan);
		result = item_writer_lock_found(writer, scan, LockTupleExclusive, wait,
										&item);
		if (result == ITEM_OK)
		{
			item_writer_delete(writer);
			deleted++;
		}
		*busy |= result == ITEM_LOCKED;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
	return deleted;
}

/* Delete a post item that is locked; a PostPartAct. */
static ItemResult
delete_locked_post(ItemWriter *writer, const BlogItem *post, void *arg)
{
	item_writer_delete(writer);
	return ITEM_OK;
}

/*
 * Delete the item of a post that is locked exclusively. ITEM_LOCKED: somebody
 * else has it locked, if only weakly.
 */
static ItemResult
delete_post_item(const pg_uuid_t *post_id, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	post = post_query(&key);

	return post_part_lock(&post, LockTupleExclusive, wait, delete_locked_post,
						  NULL);
}

/* Delete all that hangs on a post whose item is deleted, and that is unlocked. */
static void
delete_all_children(const PostLock *lock)
{
	const pg_uuid_t *post_id = &lock->post_id;
	bool		busy = false;

	/* nobody can have locked the post since, with its item locked; but be sure */
	await_nobody_counting(lock);
	(void) delete_children(ITEM_COMMENT, post_id, LockWaitBlock, 0, &busy);
	(void) delete_children(ITEM_LIKE, post_id, LockWaitBlock, 0, &busy);
	(void) delete_children(ITEM_DELTA, post_id, LockWaitBlock, 0, &busy);
}

/*
 * Delete a post with its comments and likes, if it is by an author (NULL: anybody).
 * Of what is locked, only the post itself is left alone if wait says so, and if
 * somebody is counting on it: who has it locked has the rest.
 */
DeleteResult
post_delete(const pg_uuid_t *post_id, const pg_uuid_t *author,
			LockWaitPolicy wait)
{
	PostLock	lock;
	ItemResult	result;

	post_lock_init(&lock, post_id);
	result = lock_exclusive_if_by(&lock, author, LockTupleExclusive, wait);
	if (result == ITEM_OK)
		result = delete_post_item(post_id, wait);
	post_unlock(&lock);
	if (result == ITEM_OK)
		delete_all_children(&lock);
	return delete_result(result);
}

/*
 * Delete a post's comments and likes, at most limit of them (0: all), and have it
 * no longer count them; it is locked exclusively. Returns how many; *busy is set if
 * others were left because somebody has them locked.
 */
static int64
delete_some_children(PostLock *lock, LockWaitPolicy wait, int64 limit,
					 bool *busy)
{
	const pg_uuid_t *post_id = &lock->post_id;
	int64		comments = delete_children(ITEM_COMMENT, post_id, wait, limit,
										   busy);
	int64		likes = 0;

	if (limit == 0 || comments < limit)
		likes = delete_children(ITEM_LIKE, post_id, wait,
								limit == 0 ? 0 : limit - comments, busy);
	if (comments + likes > 0)
		(void) post_count(lock, (PostCounts) {-comments, -likes});
	return comments + likes;
}

/*
 * Delete a post, if it is by an author (NULL: anybody), as far as limit items go
 * (0: all): first what hangs on it, then the post, which no longer counts what is
 * gone if it stays. Adds to *children how many comments and likes went.
 */
DeleteResult
post_delete_in_steps(const pg_uuid_t *post_id, const pg_uuid_t *author,
					 LockWaitPolicy wait, int64 limit, int64 *children)
{
	PostLock	lock;
	DeleteResult result;
	int64		deleted;
	bool		busy = false;

	post_lock_init(&lock, post_id);
	result = delete_result(lock_exclusive_if_by(&lock, author,
												LockTupleNoKeyExclusive, wait));
	if (result != DELETE_DONE)
		return result;
	deleted = delete_some_children(&lock, wait, limit, &busy);
	*children += deleted;
	if (limit != 0 && deleted >= limit)
		result = DELETE_MORE;
	else if (busy)
		result = DELETE_LOCKED;
	else
		result = delete_result(delete_post_item(post_id, wait));
	post_unlock(&lock);
	if (result == DELETE_DONE)
		delete_all_children(&lock);
	return result;
}
