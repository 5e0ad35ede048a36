/*
 * gate.c
 *		Who counts on a post, and who deletes it.
 *
 * A delta keeps its post from being deleted under it, in place of a lock on the
 * post, which would be in others' way. So whoever deletes a post has to know of
 * all deltas that are being written. Who writes one is in the post's gate while
 * looking at the post and inserting the delta, which can be found by others from
 * then on; for no longer, and waits for nothing there. Who deletes the post
 * shuts the gate, waits for the transactions that have written deltas, and
 * deletes the post item; whoever enters the gate later finds the post being
 * deleted, and waits for the outcome outside.
 *
 * A transaction that has counted on the post, or has it locked, passes a shut
 * gate: whoever has shut it waits for the end of that transaction, which may
 * need the post again before. So neither waits for the other.
 *
 * The gate is a heavyweight lock of a tuple that does not exist in the leaf of
 * deltas (pg_locks shows it so), in the modes of a table's writers, and of those
 * who want it not to be written to: many can be in it, several can have it shut.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/tuple.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/snapmgr.h"

/*
 * How often to look for a moment at which nobody is counting, before the gate
 * stays shut to wait for one.
 */
#define TRIES_TO_SHUT 10

/* ------------------------------------------------------------------------
 * Who is counting
 * ------------------------------------------------------------------------ */

/* A transaction that has counted by a delta, and has not ended. */
typedef struct Counting
{
	TransactionId xid;
	uint32		token;			/* of a delta that is not confirmed; 0: it is */
} Counting;

/* The transactions, others than this, that are counting on a post now. */
static List *
list_counting(const pg_uuid_t *post_id)
{
	List	   *all = NIL;
	TransactionId last = InvalidTransactionId;
	SnapshotData dirty;
	BlogItem	delta;
	ItemScan   *scan;

	InitDirtySnapshot(dirty);
	scan = delta_scan(post_id, &dirty, true);
	while (item_scan_next(scan, &delta))
	{
		Counting   *counting;

		if (!TransactionIdIsValid(dirty.xmin) ||
			(dirty.speculativeToken == 0 && dirty.xmin == last))
			continue;
		counting = palloc(sizeof(Counting));
		counting->xid = last = dirty.xmin;
		counting->token = dirty.speculativeToken;
		all = lappend(all, counting);
	}
	item_scan_end(scan);
	return all;
}

/* Wait for those who are counting on a post now; false if there are none. */
static bool
await_counting(const pg_uuid_t *post_id)
{
	List	   *all = list_counting(post_id);
	ListCell   *lc;

	foreach(lc, all)
	{
		Counting   *counting = lfirst(lc);

		if (counting->token != 0)
			SpeculativeInsertionWait(counting->xid, counting->token);
		else
			XactLockTableWait(counting->xid, NULL, NULL, XLTW_None);
	}
	return all != NIL;
}

/* Has this transaction counted on a post by a delta? */
static bool
have_counted(const pg_uuid_t *post_id)
{
	BlogItem	delta;
	ItemScan   *scan = delta_scan(post_id, SnapshotSelf, true);
	bool		have = false;

	while (!have && item_scan_next(scan, &delta))
		have = tuple_is_mine(item_scan_slot(scan));
	item_scan_end(scan);
	return have;
}

/* ------------------------------------------------------------------------
 * The gate
 * ------------------------------------------------------------------------ */

/* At a post's gate. A leaf without deltas has none: counts wait there. */
void
gate_init(PostGate *gate, const pg_uuid_t *post_id)
{
	gate->post_id = *post_id;
	gate->mode = NoLock;
	gate->sure = false;
	gate->passed = !delta_possible(post_id);
	if (!gate->passed)
		SET_LOCKTAG_TUPLE(gate->tag, MyDatabaseId,
						  leaf_of_key(CONTAINER_POSTS, ITEM_DELTA, post_id),
						  delta_page(post_id), FirstOffsetNumber);
}

static bool
gate_lock(PostGate *gate, LOCKMODE mode, LockWaitPolicy wait)
{
	Assert(gate->mode == NoLock);
	if (LockAcquire(&gate->tag, mode, false, wait != LockWaitBlock) ==
		LOCKACQUIRE_NOT_AVAIL)
		return false;
	gate->mode = mode;
	return true;
}

/*
 * Enter: nobody deletes the post before gate_leave(), and after it whoever does
 * finds the deltas that were written. ITEM_LOCKED: the gate is shut; with
 * LockWaitBlock wait until it is not.
 */
ItemResult
gate_enter(PostGate *gate, LockWaitPolicy wait)
{
	if (gate->passed || gate_lock(gate, RowExclusiveLock, LockWaitSkip))
		return ITEM_OK;
	gate->passed = have_counted(&gate->post_id) || post_is_held(&gate->post_id);
	if (gate->passed ||
		(wait == LockWaitBlock && gate_lock(gate, RowExclusiveLock, wait)))
		return ITEM_OK;
	return ITEM_LOCKED;
}

/* With the gate shut or the post item deleted, wait until nobody is counting. */
void
gate_settle(PostGate *gate)
{
	while (delta_possible(&gate->post_id) && await_counting(&gate->post_id))
		CHECK_FOR_INTERRUPTS();
}

/* Leave the gate, or open it. At the end of the transaction it is, anyway. */
void
gate_leave(PostGate *gate)
{
	if (gate->mode != NoLock)
		(void) LockRelease(&gate->tag, gate->mode, false);
	gate->mode = NoLock;
	gate->sure = false;
}

/*
 * Shut the gate and lock the post item, with nobody counting. ITEM_LOCKED:
 * somebody is, or has it locked; with LockWaitBlock wait for them, and first with
 * the gate open, so that nobody else waits, too. ITEM_NOT_FOUND: there is no post.
 */
ItemResult
gate_shut(PostGate *gate, LockTupleMode mode, LockWaitPolicy wait)
{
	const pg_uuid_t *post_id = &gate->post_id;
	int			tries = wait == LockWaitBlock ? TRIES_TO_SHUT : 0;
	ItemResult outcome;

	if (gate->passed)
		return post_hold(post_id, mode, wait);
	do
	{
		bool		patient = tries-- > 0;

		CHECK_FOR_INTERRUPTS();
		if (patient)
		{
			(void) await_counting(post_id);
			post_await_free(post_id);
		}
		if (!gate_lock(gate, ShareLock, wait))
			return ITEM_LOCKED;
		if (wait == LockWaitBlock && !patient)
			gate_settle(gate);
		outcome = list_counting(post_id) != NIL ? ITEM_LOCKED :
			post_hold(post_id, mode, patient ? LockWaitSkip : wait);
		if (outcome != ITEM_OK)
			gate_leave(gate);
	} while (outcome == ITEM_LOCKED && wait == LockWaitBlock);
	return outcome;
}

/*
 * Make sure, in the gate, that the post is there, which a count in place finds
 * out for itself. ITEM_NOT_FOUND: there is none (any more), and ITEM_LOCKED: somebody
 * is deleting it; the gate is left then. With LockWaitBlock wait for the outcome.
 */
ItemResult
gate_look(PostGate *gate, LockWaitPolicy wait)
{
	PostLife	life = gate->sure ? POST_THERE : post_look(&gate->post_id);
	ItemResult outcome;

	if (life == POST_THERE)
	{
		/* nobody deletes it while this is in the gate */
		gate->sure = gate->mode != NoLock;
		return ITEM_OK;
	}
	gate_leave(gate);
	if (life == POST_DELETING && wait != LockWaitBlock)
		return ITEM_LOCKED;
	outcome = post_hold(&gate->post_id, LockTupleKeyShare, wait);
	/* who deletes it waits for this transaction from here on */
	if (outcome == ITEM_OK)
		gate->passed = true;
	return outcome;
}

/* Enter, and make sure that the post is there: as the two say. */
ItemResult
gate_visit(PostGate *gate, LockWaitPolicy wait)
{
	ItemResult outcome = gate_enter(gate, wait);

	return outcome == ITEM_OK ? gate_look(gate, wait) : outcome;
}
