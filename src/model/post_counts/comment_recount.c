/*
 * comment_recount.c
 *		The counts of a new comment whose id an earlier comment had.
 *
 * Replies stay when the comment to which they reply is deleted. A client may
 * then make a comment with the id of the deleted one. Its counts have to
 * include these replies from the start. If the owner has deleted the earlier
 * comment with SQL, it may also have left likes and deltas, which are deleted.
 *
 * While there is no comment with this id, transactions that write, hide, show
 * or delete such a reply count it nowhere. They hold the comment's lock
 * (post_count.c) in share mode from their look at the comment until they have
 * written the reply. The transaction that makes the comment takes this lock in
 * exclusive mode for a moment, once the comment can be found. Then it waits
 * for transactions that have written a reply. All later ones find the comment,
 * and wait until the transaction that makes it ends. So the replies that it
 * counts do not change before that.
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
 * Return whether the active snapshot shows an item that the query finds. Takes
 * no predicate locks.
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
 * Wait for transactions that have written a reply to the comment without
 * counting it. See the head of this file.
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
 * Return the number of shown replies to the comment. Under REPEATABLE READ and
 * SERIALIZABLE, raise 40001 if the transaction's snapshot shows another
 * number.
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
 * Count the replies to a comment that this transaction has inserted, and
 * delete the likes and deltas that an earlier comment with the same id has
 * left. Errors: 40001 under REPEATABLE READ and SERIALIZABLE if replies were
 * written after the snapshot. Waits for transactions that have written,
 * hidden, shown or deleted a reply. Locks: the comment's lock, in exclusive
 * mode for a moment, then in share mode.
 */
void
comment_count_anew(const CountedItem *comment)
{
	Datum		key[2];
	bool		counted;
	int64		n = 0;
	CountLock	lock;

	await_uncounted(comment);
	PushActiveSnapshot(GetLatestSnapshot());
	counted = shows_any(delta_query(comment, key));
	PopActiveSnapshot();
	/*
	 * A comment with likes has deltas. Only if the owner has deleted these by
	 * SQL, likes stay here without a count, which verify() reports.
	 */
	if (counted)
		children_delete(comment);
	n = replies_now(comment);
	if (n == 0)
		return;
	post_lock_init(&lock, comment);
	if (post_lock_shared(&lock, LockWaitBlock) == ITEM_OK)
		post_count(&lock, child_counts(ITEM_COMMENT, n));
	post_unlock(&lock);
}
