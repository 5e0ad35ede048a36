/*
 * held_back.c
 *		Holds back the changes of transactions whose commit the worker has
 *		decoded but which other processes do not see yet.
 *
 * A backend flushes its commit record before it removes its transaction from
 * the list of running transactions (see CommitTransaction()). With synchronous
 * replication, the removal may be much later than the flush. If the worker
 * decodes the commit before the removal, the worker's snapshot does not see
 * the transaction. A refresh of a copy would then write the old state of the
 * post.
 *
 * So the worker holds back the keys of such a transaction until the
 * transaction is removed from the list, and applies other changes meanwhile.
 * The slot is not confirmed past the transaction. After a crash, the next
 * worker decodes the transaction again.
 *
 * A process may see such a transaction end, and then call wait_for_views(),
 * which writes a logical message. The round of the worker's main loop that
 * decodes this message also releases the changes of the transaction. So the
 * wait does not end before the views show these changes.
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
	XLogRecPtr	lsn;			/* a WAL position at or before the
								 * transaction's commit record */
	DirtySet   *dirty;
} HeldTransaction;

struct HeldBack
{
	MemoryContext context;
	List	   *transactions;	/* the held-back transactions
								 * (HeldTransaction), in the order of their
								 * commits */
};

HeldBack *
held_back_create(MemoryContext parent)
{
	HeldBack   *held = MemoryContextAllocZero(parent, sizeof(HeldBack));

	held->context = AllocSetContextCreate(parent, "blogstore held back",
										  ALLOCSET_DEFAULT_SIZES);
	return held;
}

/*
 * Hold back the changes of a transaction that other processes do not see yet.
 * Returns the dirty set to which the caller adds these changes.
 *
 * lsn: a WAL position at or before the commit record of the transaction
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
 * Release the transactions that have ended: move their keys to the set
 * "dirty". Record in "told" that their posts have changed in the current round
 * of the worker's main loop.
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
 * Return the position up to which the slot may be confirmed: lsn, or an
 * earlier position if a transaction that commits before lsn is held back.
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
