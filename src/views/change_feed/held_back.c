/*
 * held_back.c
 *		Transactions that have been decoded but do not show to others yet.
 *
 * A commit record is flushed, and so may be decoded, before its transaction
 * leaves the list of running ones (RecordTransactionCommit() and
 * ProcArrayEndTransaction() in CommitTransaction()); with synchronous
 * replication long before. A snapshot taken in between would show the state
 * before, and nobody would look at the key again. So what such a transaction
 * makes dirty is held back until it has ended for everyone. Meanwhile the
 * views of all others go on, and the slot stays where a crash would have the
 * transaction decoded again.
 *
 * Whoever has seen such a transaction's end and then asks for the views
 * (wait_for_views()) is answered after a turn of the worker that began later,
 * and so found the transaction ended.
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
	XLogRecPtr	lsn;			/* before its commit record */
	DirtySet   *dirty;
} HeldTransaction;

struct HeldBack
{
	MemoryContext context;
	List	   *transactions;	/* of HeldTransaction, in WAL order of commit */
};

/* An empty set, its memory a child of parent. */
HeldBack *
held_back_create(MemoryContext parent)
{
	HeldBack   *held = MemoryContextAllocZero(parent, sizeof(HeldBack));

	held->context = AllocSetContextCreate(parent, "blogstore held back",
										  ALLOCSET_DEFAULT_SIZES);
	return held;
}

/* Hold a transaction: the set that takes what it makes dirty. */
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

/* Let go of those that have ended: what they made dirty goes into a set, and is told of again. */
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

/* The position before which no transaction is held; at most lsn. */
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

/* Is any transaction held? */
bool
held_back_any(const HeldBack *held)
{
	return held->transactions != NIL;
}
