/*
 * comment_recount.c
 *		The counts of a new comment with the id of a deleted comment.
 *
 * Replies stay when the comment to which they reply is deleted. A client may
 * then create a comment with the id of the deleted one. The replies have to
 * count on the new comment from the start. If the owner has deleted the
 * earlier comment with SQL, its likes and deltas may also be left. This file
 * deletes them.
 *
 * While no comment has the id, a transaction that writes, hides, shows or
 * deletes such a reply cannot count it on the comment. It holds the comment's
 * lock (post_count.c) in share mode from its check for the comment until it
 * has written the reply. The transaction that creates the comment does this:
 *
 *	1. Insert the comment, which other transactions can then find.
 *	2. Take the comment's lock in exclusive mode, and release it at once.
 *	3. Wait for the transactions that have written such a reply.
 *	4. Count the replies.
 *
 * Transactions that take the comment's lock after step 2 find the comment, and
 * wait until the transaction that creates it ends. So the replies do not
 * change before that.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/*
 * Return whether a query finds an item with the active snapshot. Takes no
 * predicate locks.
 */
static bool
shows_any(ItemQuery query)
{
	BlogItem	item;
	ItemScan   *scan;
	bool		any;

	query.no_predicate_locks = true;
	scan = item_scan_begin(&query);
	any = item_scan_next(scan, &item);
	item_scan_end(scan);
	return any;
}

/*
 * Wait for transactions that have written a reply to the comment, but could
 * not count it, because the comment did not exist yet.
 */
static void
await_uncounted(const CountedItem *comment)
{
	Datum		key[2];
	ItemQuery	replies = replies_query(comment, key);
	CountLock	lock;

	post_lock_init(&lock, comment);
	(void) key_lock(&lock.key, KEY_LOCK_EXCLUSIVE, LockWaitBlock);
	key_unlock(&lock.key, KEY_LOCK_EXCLUSIVE);
	while (item_written_elsewhere(&replies))
	{
		CHECK_FOR_INTERRUPTS();
		item_await_free(&replies);
	}
}

/*
 * Return the number of replies to the comment that are not hidden. Under
 * REPEATABLE READ and SERIALIZABLE, raise 40001 if the transaction's snapshot
 * shows another number.
 */
static int64
replies_now(const CountedItem *comment)
{
	int64		n;

	PushActiveSnapshot(GetLatestSnapshot());
	n = count_replies(comment);
	PopActiveSnapshot();
	if (!IsolationUsesXactSnapshot())
		return n;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (count_replies(comment) != n)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent comment"),
				 errhint("Retry the transaction.")));
	PopActiveSnapshot();
	return n;
}

/*
 * Return whether the comment's partition has an index of likes by comment. The
 * owner may have dropped it for an import.
 */
static bool
has_like_index(const CountedItem *comment)
{
	return partition_has_path(CONTAINER_POSTS, ITEM_COMMENT_LIKE,
							  partition_of(CONTAINER_POSTS, ITEM_COMMENT_LIKE,
										   &comment->post_id), PATH_LIST);
}

/*
 * Called after this transaction has inserted a comment: count the replies to
 * the comment that exist already. Delete the likes and deltas that an earlier
 * comment with the same id has left. Waits for transactions that have written,
 * hidden, shown or deleted a reply.
 *
 * liked: true if this transaction will write likes of the comment. The
 *		function then deletes likes even if there are no deltas. If false, it
 *		does not look for likes without deltas, which exist only if the owner
 *		has deleted the deltas with SQL. They stay, uncounted, and verify()
 *		reports them.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if replies were written
 * after the snapshot. Locks: the comment's lock, in exclusive mode for a
 * moment, then in share mode.
 */
void
comment_count_anew(const CountedItem *comment, bool liked)
{
	Datum		key[2];
	bool		left;
	int64		n = 0;
	CountLock	lock;

	await_uncounted(comment);
	PushActiveSnapshot(GetLatestSnapshot());
	left = shows_any(delta_query(comment, key)) ||
		(liked && has_like_index(comment) &&
		 shows_any(likes_query(comment, key)));
	PopActiveSnapshot();
	if (left)
		children_delete(comment);
	n = replies_now(comment);
	if (n == 0)
		return;
	post_lock_init(&lock, comment);
	if (post_lock_shared(&lock, LockWaitBlock) == ITEM_OK)
		post_count(&lock, child_counts(ITEM_COMMENT, n));
	post_unlock(&lock);
}
