/*
 * post_deletion.c
 *		Deleting a post with its comments and likes, and the post lock in
 *		exclusive mode.
 *
 * A transaction that writes a comment or like holds the post lock in share
 * mode until it has counted the comment or like in one of the post's deltas
 * (count_delta.c). The deleting transaction locks the post in exclusive mode,
 * waits for the transactions that have inserted deltas, and deletes the post
 * item. No other transaction can write a comment or like on the post
 * afterwards, and a new snapshot shows all that exist. The head of
 * post_count.c tells what each side holds at each step.
 *
 * A caller that deletes all posts of a user finds a post and its author first,
 * and calls this file then. Until the post is locked, another transaction may
 * delete it, and give its id to a post of another user. The caller therefore
 * passes the author, who is compared again once the post is locked.
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
 * How often lock_exclusive() waits while the post is unlocked. After that it
 * waits with the post locked.
 */
#define TRIES_TO_LOCK 10

/* ------------------------------------------------------------------------
 * The post lock in exclusive mode
 * ------------------------------------------------------------------------ */

/*
 * Wait for the other transactions that have inserted deltas of the post to
 * end. Returns false if there are none.
 */
static bool
await_counting(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);

	return item_await_inserters(&deltas);
}

/*
 * Return whether another transaction, which has not ended, has inserted a
 * delta of the post.
 */
static bool
is_counted_on(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	deltas = delta_query(&key);

	return item_inserted_elsewhere(&deltas);
}

/*
 * Wait until all other transactions that have added to the post's counts have
 * ended. The caller has locked the post in exclusive mode, or has deleted the
 * post item, so no further transaction can add to them.
 */
static void
await_nobody_counting(const PostLock *lock)
{
	do
		CHECK_FOR_INTERRUPTS();
	while (await_counting(&lock->post_id));
}

/*
 * Try once to lock a post in exclusive mode, and its post item in the given
 * mode.
 *
 * key_wait tells whether to wait for transactions that hold the post lock in
 * share mode. item_wait tells whether to wait for transactions that have added
 * to the post's counts or have its item locked. Returns ITEM_LOCKED, with
 * nothing locked, if such a transaction exists and the policy is not to wait
 * for it. Returns ITEM_NOT_FOUND if the post does not exist.
 */
static ItemResult
lock_exclusive_once(PostLock *lock, LockTupleMode mode,
					LockWaitPolicy key_wait, LockWaitPolicy item_wait)
{
	ItemResult	result = ITEM_LOCKED;

	Assert(!lock->locked && !lock->safe);
	lock->mode = KEY_LOCK_EXCLUSIVE;
	lock->locked = key_lock(&lock->key, lock->mode, key_wait);
	if (!lock->locked)
		return ITEM_LOCKED;
	if (item_wait == LockWaitBlock)
		await_nobody_counting(lock);
	if (!is_counted_on(&lock->post_id))
		result = post_row_lock(&lock->post_id, mode, item_wait);
	lock->safe = result == ITEM_OK;
	if (!lock->safe)
		post_unlock(lock);
	return result;
}

/*
 * Wait for transactions that have inserted deltas of the post or have its item
 * locked. The caller has not locked the post, so these and other transactions
 * can continue to add to its counts.
 */
static void
await_quiet(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	post = post_query(&key);

	(void) await_counting(post_id);
	item_await_free(&post);
}

/*
 * Lock a post in exclusive mode and its item in the given mode, once no other
 * transaction has added to its counts without having ended. With
 * LockWaitBlock, the function waits with the post unlocked at first, so that
 * other transactions can add to the counts meanwhile. After TRIES_TO_LOCK
 * attempts it waits with the post locked.
 *
 * Returns ITEM_NOT_FOUND if the post does not exist. Returns ITEM_LOCKED if
 * wait is not LockWaitBlock and another transaction has added to the counts or
 * has the post locked.
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
 * Lock a post as lock_exclusive() does, if the post is by the author (NULL:
 * any). If it is by another author, the function returns ITEM_NOT_FOUND and
 * leaves the post unlocked.
 */
static ItemResult
lock_exclusive_if_by(PostLock *lock, const pg_uuid_t *author, LockTupleMode mode,
					 LockWaitPolicy wait)
{
	ItemResult	result = lock_exclusive(lock, mode, wait);

	/*
	 * The post is locked, so it cannot be replaced by another author's post
	 * between this check and the deletion.
	 */
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
 * Return a snapshot that shows all comments and likes on the post. Under
 * REPEATABLE READ and SERIALIZABLE, the transaction's own snapshot may miss
 * some that were written later, and these must be deleted too.
 */
static Snapshot
present_snapshot(void)
{
	return IsolationUsesXactSnapshot() ? GetLatestSnapshot() :
		GetTransactionSnapshot();
}

/*
 * Under REPEATABLE READ and SERIALIZABLE, check that the transaction's own
 * snapshot shows the item that the scan has found. Errors: 40001 if not.
 */
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
 * Delete the comments, likes or deltas of a post, at most limit of them (0:
 * all). Returns how many were deleted. Sets *busy if an item was left because
 * another transaction has it locked.
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

/* PostPartAct callback: delete the locked post item. */
static ItemResult
delete_locked_post(ItemWriter *writer, const BlogItem *post, void *arg)
{
	item_writer_delete(writer);
	return ITEM_OK;
}

/*
 * Delete the row of a post. The caller holds the heavyweight lock on the
 * post's key in exclusive mode. Returns ITEM_LOCKED if wait is LockWaitSkip
 * and another transaction has a row lock on the row, be it only FOR KEY SHARE.
 */
static ItemResult
delete_post_item(const pg_uuid_t *post_id, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	post = post_query(&key);

	return post_part_lock(&post, LockTupleExclusive, wait, delete_locked_post,
						  NULL);
}

/*
 * Delete all comments, likes and deltas of a post whose item this transaction
 * has deleted. The caller has unlocked the post.
 */
static void
delete_all_children(const PostLock *lock)
{
	const pg_uuid_t *post_id = &lock->post_id;
	bool		busy = false;

	/*
	 * The post was locked until its item was deleted, so no other transaction
	 * can have added to its counts since. Wait nevertheless, for safety.
	 */
	await_nobody_counting(lock);
	(void) delete_children(ITEM_COMMENT, post_id, LockWaitBlock, 0, &busy);
	(void) delete_children(ITEM_LIKE, post_id, LockWaitBlock, 0, &busy);
	(void) delete_children(ITEM_DELTA, post_id, LockWaitBlock, 0, &busy);
}

/*
 * Delete a post with its comments and likes, if it is by the author (NULL:
 * any). wait tells whether to wait for transactions that have the post locked
 * or have added to its counts. For transactions that have a comment or like on
 * it locked, the function always waits.
 *
 * Returns DELETE_NOT_FOUND if there is no such post by the author. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if the post, a comment or a
 * like was changed after the snapshot. Locks: the post, in exclusive mode,
 * until its item is deleted; the item, the comments and the likes, FOR UPDATE.
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
 * Delete at most limit (0: all) of the comments and likes on a post, and
 * subtract them from the post's counts. The caller has locked the post in
 * exclusive mode. Returns how many were deleted. Sets *busy if a comment or
 * like was left because another transaction has it locked.
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
 * Do one step of deleting a post, if it is by the author (NULL: any). A step
 * deletes at most limit comments and likes (0: all), and subtracts them from
 * the post's counts. The step that finds no more of them deletes the post.
 * Adds the number of deleted comments and likes to *children.
 *
 * Returns DELETE_DONE if the post was deleted, and DELETE_MORE if the limit
 * was reached. Returns DELETE_LOCKED if something was left because another
 * transaction has it locked, and DELETE_NOT_FOUND if there is no such post by
 * the author. Errors and locks: as post_delete(), but the post item is locked
 * FOR NO KEY UPDATE until it is deleted.
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
