/*
 * held_back.c
 *		Transactions that have been decoded but are not visible yet.
 *
 * A backend flushes its commit record before it removes its transaction from
 * the running ones (RecordTransactionCommit() and ProcArrayEndTransaction() in
 * CommitTransaction()). With synchronous replication, the gap may be long. The
 * worker may decode the commit in between. But a snapshot taken then does not
 * see the transaction, and a refresh would write the old state. So the keys of
 * such a transaction are held back until it has ended. Meanwhile other changes
 * are applied. The slot is not confirmed past the transaction, so it would be
 * decoded again after a crash.
 *
 * If a process has seen such a transaction end and then calls
 * wait_for_views(), the turn that answers it began later and found the
 * transaction ended.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "nodes/pg_list.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

typedef struct HeldTransaction
{
	TransactionId xid;
	XLogRecPtr	lsn;			/* start of the commit record or earlier */
	DirtySet   *dirty;
} HeldTransaction;

struct HeldBack
{
	MemoryContext context;
	List	   *transactions;	/* HeldTransactions, in order of commit */
};

/* Create an empty list, with its memory in a child of parent. */
HeldBack *
held_back_create(MemoryContext parent)
{
	HeldBack   *held = MemoryContextAllocZero(parent, sizeof(HeldBack));

	held->context = AllocSetContextCreate(parent, "blogstore held back",
										  ALLOCSET_DEFAULT_SIZES);
	return held;
}

/*
 * Hold back a transaction. lsn: a position at or before its commit record.
 * Returns the set to which its changes are to be added.
 */
DirtySet *
held_back_add(HeldBack *held, TransactionId xid, XLogRecPtr lsn)
{
	MemoryContext old = MemoryContextSwitchTo(held->context);
	HeldTransaction *t = palloc(sizeof(HeldTransaction));

	t->xid = xid;
	t->lsn = lsn;
	t->dirty = dirty_create(held->context);
	held->transactions = lappend(held->transactions, t);
	MemoryContextSwitchTo(old);
	return t->dirty;
}

/*
 * Release transactions that have ended: move their keys to dirty and report
 * them to told_posts.c again, in the current turn.
 */
void
held_back_release(HeldBack *held, DirtySet *dirty, ToldPosts *told)
{
	ListCell   *lc;

	foreach(lc, held->transactions)
	{
		HeldTransaction *t = lfirst(lc);

		if (TransactionIdIsInProgress(t->xid))
			continue;
		dirty_tell(t->dirty, told);
		dirty_merge(dirty, t->dirty);
		dirty_destroy(t->dirty);
		pfree(t);
		held->transactions = foreach_delete_current(held->transactions, lc);
	}
}

/*
 * Return the position up to which no transaction is held back, at most lsn.
 * The slot must not be confirmed past it.
 */
XLogRecPtr
held_back_limit(const HeldBack *held, XLogRecPtr lsn)
{
	ListCell   *lc;

	foreach(lc, held->transactions)
	{
		const HeldTransaction *t = lfirst(lc);

		lsn = Min(lsn, t->lsn);
	}
	return lsn;
}

/* Return whether any transaction is held back. */
bool
held_back_any(const HeldBack *held)
{
	return held->transactions != NIL;
}
