/*
 * post_deletion.c
 *		Deleting a post with its comments and likes, deleting a comment's likes
 *		and deltas, and taking the lock of a post or comment in exclusive mode.
 *
 * The head of post_count.c lists the steps of a deletion. When the post item
 * is deleted, no comment or like can be written on the post any more, and a
 * new snapshot shows all that exist.
 *
 * The deletion of a user first finds the user's posts, and then deletes them
 * one by one with the functions of this file. Meanwhile, another transaction
 * may replace a post by one with the same id and another author. So the
 * functions delete a post only if the locked row has the given author.
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
 * How many times lock_exclusive() waits for other transactions without holding
 * the post lock. After that, it waits with the post lock, so that no more
 * transactions can add to the post's counts.
 */
#define TRIES_TO_LOCK 10

/*
 * Wait until the other transactions that have inserted deltas of the post have
 * ended. Returns false if there were none.
 */
static bool
await_counting(const CountedItem *item)
{
	Datum		key[2];
	ItemQuery	deltas = all_deltas_query(item, key);

	return item_await_inserters(&deltas);
}

static bool
is_counted_on(const CountedItem *item)
{
	Datum		key[2];
	ItemQuery	deltas = all_deltas_query(item, key);

	return item_inserted_elsewhere(&deltas);
}

/*
 * Wait for all other transactions that have added to the post's counts to end.
 * The caller holds the post lock in exclusive mode or has deleted the post
 * item. So there will be no more such transactions.
 */
static void
await_nobody_counting(const CountedItem *item)
{
	do
		CHECK_FOR_INTERRUPTS();
	while (await_counting(item));
}

/*
 * Take the lock of a post or comment in exclusive mode, if no other
 * transaction in progress has added to the counts. Returns false, with nothing
 * locked, if one has. Also returns false if another process holds the lock and
 * key_wait forbids to wait.
 *
 * count_wait: whether to wait, with the lock, until all other transactions
 *		that have added to the counts have ended
 */
bool
post_hold_exclusive(CountLock *lock, LockWaitPolicy key_wait,
					LockWaitPolicy count_wait)
{
	Assert(!lock->locked && !lock->safe);
	lock->mode = KEY_LOCK_EXCLUSIVE;
	lock->locked = key_lock(&lock->key, lock->mode, key_wait);
	if (!lock->locked)
		return false;
	if (count_wait == LockWaitBlock)
		await_nobody_counting(&lock->item);
	if (is_counted_on(&lock->item))
		post_unlock(lock);
	return lock->locked;
}

/*
 * Wait, without holding the lock, for the transactions that have added to the
 * counts, and for those that hold the lock in share mode.
 */
void
post_await_counting(const CountLock *lock)
{
	(void) await_counting(&lock->item);
	(void) key_lock(&lock->key, KEY_LOCK_EXCLUSIVE, LockWaitBlock);
	key_unlock(&lock->key, KEY_LOCK_EXCLUSIVE);
}

/*
 * Take the post lock in exclusive mode, and lock the row of the post item.
 *
 * mode: the mode of the row lock
 * key_wait: whether to wait for transactions that hold the post lock in share
 *	mode
 * item_wait: whether to wait for transactions that have added to the post's
 *	counts, or have locked the row
 *
 * If key_wait or item_wait forbids a necessary wait, returns ITEM_LOCKED with
 * nothing locked. Returns ITEM_NOT_FOUND if the post does not exist.
 */
static ItemResult
lock_exclusive_once(CountLock *lock, LockTupleMode mode,
					LockWaitPolicy key_wait, LockWaitPolicy item_wait)
{
	ItemResult	result;

	if (!post_hold_exclusive(lock, key_wait, item_wait))
		return ITEM_LOCKED;
	result = post_row_lock(&lock->item, mode, item_wait);
	lock->safe = result == ITEM_OK;
	if (!lock->safe)
		post_unlock(lock);
	return result;
}

/*
 * Wait for the transactions that have inserted deltas of the post, or have
 * locked the row of the post item. Without the post lock, other transactions
 * can add to the counts meanwhile.
 */
static void
await_quiet(const CountedItem *item)
{
	Datum		key[2];
	ItemQuery	row = counted_query(item, key);

	(void) await_counting(item);
	item_await_free(&row);
}

/*
 * Take the post lock in exclusive mode, and lock the row of the post item.
 * With LockWaitBlock, wait for all transactions that have added to the post's
 * counts. The first TRIES_TO_LOCK times, the function waits without the post
 * lock, so that other transactions can still add to the counts.
 *
 * mode: the mode of the row lock
 *
 * Returns ITEM_NOT_FOUND if the post does not exist. Returns ITEM_LOCKED if
 * the function would have to wait and "wait" is not LockWaitBlock.
 */
static ItemResult
lock_exclusive(CountLock *lock, LockTupleMode mode, LockWaitPolicy wait)
{
	ItemResult	result = ITEM_LOCKED;

	if (wait != LockWaitBlock)
		return lock_exclusive_once(lock, mode, wait, wait);
	for (int i = 0; i < TRIES_TO_LOCK && result == ITEM_LOCKED; i++)
	{
		CHECK_FOR_INTERRUPTS();
		await_quiet(&lock->item);
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
 * Lock a post as lock_exclusive() does. Returns ITEM_NOT_FOUND, without the
 * post lock, if another user than "author" has written the post. NULL stands
 * for any author.
 */
static ItemResult
lock_exclusive_if_by(CountLock *lock, const pg_uuid_t *author,
					 LockTupleMode mode, LockWaitPolicy wait)
{
	ItemResult	result = lock_exclusive(lock, mode, wait);

	/*
	 * While the post lock is held, another author's post cannot replace the
	 * post. So this check is still valid when the post is deleted.
	 */
	if (result != ITEM_OK || author == NULL ||
		post_shown_by(&lock->item, author))
		return result;
	post_unlock(lock);
	return ITEM_NOT_FOUND;
}

/*
 * Return a snapshot that shows all comments and likes on the post. Under
 * REPEATABLE READ and SERIALIZABLE, the transaction's own snapshot may not
 * show all of them.
 */
static Snapshot
present_snapshot(void)
{
	return IsolationUsesXactSnapshot() ? GetLatestSnapshot() :
		GetTransactionSnapshot();
}

/*
 * Throw an error (40001) under REPEATABLE READ and SERIALIZABLE, unless the
 * transaction's own snapshot shows the item that the scan has found.
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
 * Delete the items that the query finds: comments, likes or deltas of a post.
 * Returns the number of deleted items.
 *
 * limit: the largest number of items to delete; 0: all
 * busy: set to true if an item was left, because another transaction has
 *	locked its row
 * deleted_one: called for each deleted item, with arg; may be NULL
 */
static int64
delete_found(ItemQuery query, LockWaitPolicy wait, int64 limit, bool *busy,
			 void (*deleted_one) (const BlogItem *item, void *arg), void *arg)
{
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	item;
	int64		deleted = 0;

	PushActiveSnapshot(present_snapshot());
	writer = item_writer_open(CONTAINER_POSTS, query.type, query.partition_key);
	item_writer_identity(writer);
	query.rows = limit == 0 ? -1 : limit;
	scan = item_scan_begin(&query);
	while ((limit == 0 || deleted < limit) && item_scan_next(scan, &item))
	{
		ItemResult	result;

		if (query.type != ITEM_DELTA)
			check_shown(scan);
		result = item_writer_lock_found(writer, scan, LockTupleExclusive, wait,
										&item);
		if (result == ITEM_OK)
		{
			item_writer_delete(writer);
			deleted++;
			if (deleted_one != NULL)
				deleted_one(&item, arg);
		}
		*busy |= result == ITEM_LOCKED;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
	return deleted;
}

/*
 * The types of items that are deleted with a post, and with a comment, in the
 * order of their deletion. The likes of a comment are deleted before the
 * comment.
 */
static const ItemType on_post[] = {
	ITEM_COMMENT_LIKE, ITEM_COMMENT, ITEM_LIKE
};
static const ItemType on_comment[] = {ITEM_COMMENT_LIKE};

static const ItemType *
types_on(const CountedItem *item, int *n)
{
	if (counted_type(item) == ITEM_POST)
	{
		*n = lengthof(on_post);
		return on_post;
	}
	*n = lengthof(on_comment);
	return on_comment;
}

/*
 * Return a query that finds the items of a type that are deleted with a post
 * or comment.
 *
 * key: room for two values, which the query points to
 */
static ItemQuery
children_query(ItemType type, const CountedItem *item, Datum *key)
{
	ItemQuery	query = counted_query(item, key);

	query.type = type;
	query.path = is_like(type) ? PATH_LIST : PATH_KEY;
	return query;
}

/*
 * Delete all deltas of an item and, if it is a post, all deltas of the
 * comments on it. No other transaction can write further ones, because the
 * caller has deleted the item.
 */
void
deltas_delete(const CountedItem *item)
{
	Datum		key[2];
	bool		busy = false;

	(void) delete_found(all_deltas_query(item, key), LockWaitBlock, 0, &busy,
						NULL, NULL);
}

/*
 * Delete the deltas of a comment, for repair(), if the comment does not exist.
 * Returns whether it deleted any.
 *
 * Locks: the comment's lock in share mode, until the deltas are deleted. A
 * transaction that inserts a comment with this id meanwhile waits for the lock
 * before it counts on the comment (comment_recount.c).
 */
bool
lost_deltas_delete(const CountedItem *comment)
{
	Datum		key[2];
	ItemQuery	row = counted_query(comment, key);
	ItemQuery	deltas = delta_query(comment, key);
	CountLock	lock;
	BlogItem	item;
	bool		lost;

	post_lock_init(&lock, comment);
	(void) key_lock(&lock.key, KEY_LOCK_SHARED, LockWaitBlock);
	PushActiveSnapshot(GetTransactionSnapshot());
	lost = !item_get(&row, &item) && !item_written_elsewhere(&row) &&
		item_get(&deltas, &item);
	PopActiveSnapshot();
	if (lost)
		deltas_delete(comment);
	key_unlock(&lock.key, KEY_LOCK_SHARED);
	return lost;
}

/* What a step of a deletion has to subtract from counts. */
typedef struct Deleted
{
	ItemType	type;			/* the type of the deleted items */
	const CountedItem *from;	/* the post or comment that is being deleted */
	ItemCounts	counts;			/* what deleted items had added to the counts
								 * of "from" */
	CountedItem other;			/* the other comment on which the last deleted
								 * item counted */
	ItemCounts	other_counts;	/* what deleted items had added to the counts
								 * of "other" */
} Deleted;

/*
 * Subtract from the counts of the comment deleted->other. The caller holds the
 * post lock in exclusive mode, so no other transaction adds to the counts of
 * comments on the post.
 */
static void
subtract_from_other(Deleted *deleted)
{
	ItemCounts	less = {0, 0};

	if (no_counts(deleted->other_counts))
		return;
	add_counts(&less, deleted->other_counts, -1);
	post_count_held(&deleted->other, less);
	deleted->other_counts = (ItemCounts) {0, 0};
}

/*
 * Called for each comment or like that a step of a deletion has deleted: note
 * what to subtract from counts, and delete the deltas of a comment. Likes of
 * comments are deleted in the order of the comments, so the likes of a comment
 * are subtracted from its counts all at once.
 */
static void
child_deleted(const BlogItem *child, void *arg)
{
	Deleted    *deleted = arg;
	CountedOn	on;

	counted_on(&on, deleted->type, child);
	for (int i = 0; i < on.n && !item_hidden(child); i++)
	{
		if (memcmp(&on.item[i], deleted->from, sizeof(CountedItem)) == 0)
		{
			add_counts(&deleted->counts, on.counts[i], 1);
			continue;
		}
		if (no_counts(on.counts[i]))
			continue;
		if (memcmp(&on.item[i], &deleted->other, sizeof(CountedItem)) != 0)
			subtract_from_other(deleted);
		deleted->other = on.item[i];
		add_counts(&deleted->other_counts, on.counts[i], 1);
	}
	if (deleted->type == ITEM_COMMENT)
	{
		const CountedItem comment =
			counted_comment(item_uuid(child, PROP_POST_ID),
							item_uuid(child, PROP_ID));

		deltas_delete(&comment);
	}
}

static ItemResult
delete_locked_post(ItemWriter *writer, const BlogItem *post, void *arg)
{
	item_writer_delete(writer);
	return ITEM_OK;
}

/*
 * Delete the post item. The caller holds the post lock in exclusive mode.
 * Returns ITEM_LOCKED if "wait" is LockWaitSkip and another transaction has
 * locked the row, even FOR KEY SHARE.
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
 * Delete all comments, likes and deltas of a post, or all likes and deltas of
 * a comment. The caller has deleted the post or comment, and released its
 * lock.
 */
void
children_delete(const CountedItem *item)
{
	Datum		key[2];
	bool		busy = false;
	int			n;
	const ItemType *type = types_on(item, &n);

	/*
	 * A safeguard. No transaction should be left to wait for, because the lock
	 * was held until the item was deleted.
	 */
	await_nobody_counting(item);
	for (int i = 0; i < n; i++)
		(void) delete_found(children_query(type[i], item, key), LockWaitBlock,
							0, &busy, NULL, NULL);
	deltas_delete(item);
}

/*
 * Delete a post with its comments and likes. Returns DELETE_NOT_FOUND if there
 * is no such post.
 *
 * author: delete the post only if this user has written it; NULL: any user
 * wait: whether to wait for transactions that hold the post lock, have locked
 *	the row of the post item, or have added to the post's counts. The function
 *	always waits for transactions that have locked a comment or like.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the post, a comment
 * or a like was changed after the snapshot. Locks: the post lock, in exclusive
 * mode, until the post item is deleted; the rows of the post item, the
 * comments and the likes, FOR UPDATE.
 */
DeleteResult
post_delete(const pg_uuid_t *post_id, const pg_uuid_t *author,
			LockWaitPolicy wait)
{
	const CountedItem post = counted_post(post_id);
	CountLock	lock;
	ItemResult	result;

	post_lock_init(&lock, &post);
	result = lock_exclusive_if_by(&lock, author, LockTupleExclusive, wait);
	if (result == ITEM_OK)
		result = delete_post_item(post_id, wait);
	post_unlock(&lock);
	if (result == ITEM_OK)
		children_delete(&post);
	return delete_result(result);
}

/*
 * Delete some comments and likes on a post, or some likes of a comment, and
 * subtract them from the counts of the items on which they count. The caller
 * holds the lock of the post or comment in exclusive mode, and has locked its
 * row. Returns the number of deleted items.
 *
 * wait, limit, busy: as in delete_found()
 *
 * A comment is deleted only when all its likes have been deleted.
 */
int64
children_delete_some(CountLock *lock, LockWaitPolicy wait, int64 limit,
					 bool *busy)
{
	Deleted		deleted = {.from = &lock->item};
	ItemCounts	less = {0, 0};
	Datum		key[2];
	int64		n = 0;
	int			types;
	const ItemType *type = types_on(&lock->item, &types);

	for (int i = 0; i < types && !*busy && (limit == 0 || n < limit); i++)
	{
		deleted.type = type[i];
		n += delete_found(children_query(type[i], &lock->item, key), wait,
						  limit == 0 ? 0 : limit - n, busy, child_deleted,
						  &deleted);
		subtract_from_other(&deleted);
	}
	add_counts(&less, deleted.counts, -1);
	if (!no_counts(less))
		post_count(lock, less);
	return n;
}

/*
 * Do one step of deleting a post. A step deletes some of the comments and
 * likes, and subtracts them from the post's counts. The last step deletes the
 * post.
 *
 * author: delete the post only if this user has written it; NULL: any user
 * wait: whether to wait for locks, as in post_delete()
 * limit: how many comments and likes a step deletes; 0: all
 * children: the number of deleted comments and likes is added to this
 *
 * Returns DELETE_DONE if the post was deleted, DELETE_MORE if the limit was
 * reached, and DELETE_NOT_FOUND if there is no such post. Returns
 * DELETE_LOCKED if an item was left, because another transaction has locked
 * it. Errors and locks are those of post_delete(). But all steps except the
 * last lock the post item's row FOR NO KEY UPDATE only.
 */
DeleteResult
post_delete_in_steps(const pg_uuid_t *post_id, const pg_uuid_t *author,
					 LockWaitPolicy wait, int64 limit, int64 *children)
{
	const CountedItem post = counted_post(post_id);
	CountLock	lock;
	DeleteResult result;
	int64		deleted;
	bool		busy = false;

	post_lock_init(&lock, &post);
	result = delete_result(lock_exclusive_if_by(&lock, author,
												LockTupleNoKeyExclusive, wait));
	if (result != DELETE_DONE)
		return result;
	deleted = children_delete_some(&lock, wait, limit, &busy);
	*children += deleted;
	if (limit != 0 && deleted >= limit)
		result = DELETE_MORE;
	else if (busy)
		result = DELETE_LOCKED;
	else
		result = delete_result(delete_post_item(post_id, wait));
	post_unlock(&lock);
	if (result == DELETE_DONE)
		children_delete(&post);
	return result;
}
