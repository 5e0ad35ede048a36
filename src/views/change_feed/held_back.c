/*
 * held_back.c
 *		Transactions whose commit the worker has decoded but which other
 *		processes do not see yet.
 *
 * A backend flushes its commit record before it removes its transaction from
 * the running ones (RecordTransactionCommit() and ProcArrayEndTransaction() in
 * CommitTransaction()). With synchronous replication, the time between may be
 * long. If the worker decodes the commit in that time, its snapshot does not
 * see the transaction, and a refresh of a copy would write the old state. So
 * the keys of such a transaction are held back until it has ended, while other
 * changes are applied. The slot is not confirmed past the transaction, so that
 * after a crash it is decoded again.
 *
 * A process that has seen such a transaction end may call wait_for_views().
 * The worker answers it in a turn that began later and so found the
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
	XLogRecPtr	lsn;			/* a WAL position at or before the commit
								 * record */
	DirtySet   *dirty;
} HeldTransaction;

struct HeldBack
{
	MemoryContext context;
	List	   *transactions;	/* list of HeldTransaction, in order of their
								 * commits */
};

/* Create an empty list. Its memory is allocated in children of parent. */
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
 * Returns the dirty set to which the caller adds the changes of the
 * transaction.
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
 * Release the transactions that have ended: move their keys to dirty, and
 * report their posts to told_posts.c as changed in the current turn.
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
 * Return the largest position, at most lsn, before which no transaction is
 * held back. The slot must not be confirmed past it.
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

bool
held_back_any(const HeldBack *held)
{
	return held->transactions != NIL;
}
