/*
 * views_phase.c
 *		The phases of the views, as the worker knows them, and the exit of the
 *		worker.
 *
 * Only this file sets Worker.views, with one function per transition. Each
 * function also sets what other processes see: WorkerEntry.state, which is
 * described in views/launcher/worker_state.c, and WorkerEntry.served.
 *
 *		function				from			to				others see
 *		-----------------------	--------------	--------------	--------------
 *		worker_begin_views		UNKNOWN			CATCHING_UP		CATCHING_UP
 *			(views incomplete)	UNKNOWN			REBUILDING		CATCHING_UP
 *		worker_invalidate_views	all but UNKNOWN	REBUILDING		CATCHING_UP
 *		worker_views_rebuilt	REBUILDING		CATCHING_UP		CATCHING_UP
 *		worker_keep_views		CATCHING_UP		KEPT			CATCHING_UP
 *		worker_serve_views		KEPT			SERVED			RUNNING
 *		worker_await_others		SERVED			KEPT			CATCHING_UP
 *		worker_block			any				drops its slot	BLOCKED
 *			(damage repaired)	any				exits			WANTED
 *		worker_leave			any				exits			STOPPED or
 *																NOT_NEEDED
 *		worker_retire			any				drops its slot	NOT_NEEDED
 *												and exits
 *		an error				any				exits, and is	WANTED
 *												restarted later
 *
 * A reader uses the views only if its snapshot sees two things: a row of
 * view_state that says that the views are complete; and the transaction whose
 * xid is in WorkerEntry.served, which means that a worker keeps the views up
 * to date.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "views/worker/worker_parts.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/procarray.h"

/*
 * Set the first phase after VIEWS_UNKNOWN. The caller has checked that the
 * worker is needed and enabled.
 *
 * complete: view_state says that the views are complete, so that they only
 * have to catch up. Otherwise they have to be rebuilt.
 */
void
worker_begin_views(Worker *worker, bool complete)
{
	Assert(worker->views == VIEWS_UNKNOWN);
	worker_entry_catching_up(worker->entry);
	worker->views = complete ? VIEWS_CATCHING_UP : VIEWS_REBUILDING;
	if (complete)
		jobs_views_complete();
	else
		worker->rebuild_began = clock_elapsed();
	worker->jobs = true;
}

/*
 * Mark the views as incomplete and queue a rebuild, in one transaction.
 * Readers stop using the views when this transaction commits. Called outside
 * of a transaction.
 *
 * reason: why, as a sentence for the log and stat_worker. The string must live
 * as long as the worker.
 */
void
worker_invalidate_views(Worker *worker, const char *reason)
{
	OwnerScope	scope;
	ViewState	state;

	Assert(worker->views != VIEWS_UNKNOWN);
	/* If the transaction fails, the next round tries again. */
	worker->must_invalidate = reason;
	apply_begin(&scope, APPLY_STATE);
	view_state_read(&state);
	state.ready = false;
	state.feed_size = blogstore_feed_size;
	state.short_form_length = blogstore_short_form_length;
	state.short_form = short_form_stamp();
	view_state_write(&state);
	jobs_request_rebuild();
	apply_end(&scope);

	pg_atomic_write_u32(&worker->entry->served, InvalidTransactionId);
	worker->views = VIEWS_REBUILDING;
	worker->other_size = false;
	worker->jobs = true;
	worker->must_invalidate = NULL;
	worker_entry_catching_up(worker->entry);
	if (worker->rebuild_began == 0)
		worker->rebuild_began = clock_elapsed();
	rebuild_begins(reason);
}

/*
 * Set VIEWS_CATCHING_UP, because the rebuild is done. Readers may use the
 * views when all WAL that is flushed by now has been applied.
 */
void
worker_views_rebuilt(Worker *worker)
{
	Assert(worker->views == VIEWS_REBUILDING);
	worker->views = VIEWS_CATCHING_UP;
	worker->serve_from = GetFlushRecPtr(NULL);
	worker->serve_at = InvalidXLogRecPtr;
}

void
worker_keep_views(Worker *worker)
{
	Assert(worker->views == VIEWS_CATCHING_UP);
	worker->views = VIEWS_KEPT;
}

/*
 * Change the phase from VIEWS_SERVED back to VIEWS_KEPT, on a cluster. From
 * now on readers do not use the views, because recent changes to posts of
 * other nodes may be missing.
 */
void
worker_await_others(Worker *worker)
{
	Assert(worker->views == VIEWS_SERVED);
	pg_atomic_write_u32(&worker->entry->served, InvalidTransactionId);
	worker->views = VIEWS_KEPT;
	worker_entry_catching_up(worker->entry);
}

/*
 * Let readers use the views if their snapshot sees the transaction that this
 * function commits. The snapshot of a running statement does not see it. So
 * the statement does not switch from the posts to the views.
 *
 * The xid is published before the commit. So every process whose snapshot sees
 * the transaction also finds the xid.
 */
static void
serve_from_now(Worker *worker)
{
	MemoryContext context = CurrentMemoryContext;

	StartTransactionCommand();
	pg_atomic_write_u32(&worker->entry->served, GetTopTransactionId());
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
}

/*
 * Set VIEWS_SERVED: the views are complete and up to date. Readers with
 * snapshots taken from now on use them. Called outside of a transaction.
 */
void
worker_serve_views(Worker *worker)
{
	Assert(worker->views >= VIEWS_KEPT);
	if (worker->views == VIEWS_SERVED &&
		TransactionIdIsValid(pg_atomic_read_u32(&worker->entry->served)))
		return;
	serve_from_now(worker);
	if (worker->views != VIEWS_SERVED)
		worker_entry_running(worker->entry);
	worker->views = VIEWS_SERVED;
	ConditionVariableBroadcast(&worker->entry->progress);
	hint_send_all();
	if (worker->rebuild_began != 0)
		rebuild_ends(worker->rebuild_began);
	worker->rebuild_began = 0;
}

/*
 * Called from time to time while readers use the views. When every snapshot
 * sees the transaction in WorkerEntry.served, replaces this xid by
 * FrozenTransactionId. After a wraparound, the xid would seem to be in the
 * future.
 */
void
worker_serve_all(Worker *worker)
{
	TransactionId since = pg_atomic_read_u32(&worker->entry->served);

	if (TransactionIdIsNormal(since) &&
		TransactionIdPrecedes(since, GetOldestNonRemovableTransactionId(NULL)))
		pg_atomic_write_u32(&worker->entry->served, FrozenTransactionId);
}

/*
 * Set the state of the worker's entry, and exit without an error. Does not
 * return.
 *
 * reason: WORKER_STOPPED or WORKER_NOT_NEEDED
 */
void
worker_leave(Worker *worker, WorkerState reason)
{
	worker_entry_leave(worker->entry, reason);
	proc_exit(0);
}

/*
 * Exit because the database needs no worker. Drops the slot, so that it does
 * not retain WAL. Does not return.
 */
void
worker_retire(Worker *worker)
{
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	slot_drop(worker->slot_name);
	worker_leave(worker, WORKER_NOT_NEEDED);
}
