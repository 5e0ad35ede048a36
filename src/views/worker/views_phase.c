/*
 * views_phase.c
 *		The phases of the views (the copies of posts in users, and the feed),
 *		as the worker knows them, and the exit of the worker.
 *
 * Only this file sets Worker.views, with one function per transition. Each
 * function also sets what other processes see: WorkerEntry.state, which is
 * described in views/launcher/worker_state.c, and WorkerEntry.served.
 *
 *		function				from			to				others see
 *		-----------------------	--------------	--------------	--------------
 *		worker_begin_views		UNKNOWN			CATCHING_UP		CATCHING_UP
 *								UNKNOWN, not	REBUILDING		CATCHING_UP
 *								complete
 *		worker_invalidate_views	all but UNKNOWN	REBUILDING		CATCHING_UP
 *		worker_views_rebuilt	REBUILDING		CATCHING_UP		CATCHING_UP
 *		worker_keep_views		CATCHING_UP		KEPT			CATCHING_UP
 *		worker_serve_views		KEPT			SERVED			RUNNING
 *		worker_await_others		SERVED			KEPT			CATCHING_UP
 *		worker_block			any				views not kept,	BLOCKED, then
 *												then exit		WANTED
 *		worker_leave			any				exit			STOPPED or
 *																NOT_NEEDED
 *		worker_retire			any				exit, no slot	NOT_NEEDED
 *		an error				any				exit			WANTED, after
 *																a pause
 *
 * A reader uses the views if two conditions hold. The row of view_state that
 * its snapshot sees says that they are complete. And its snapshot sees the
 * transaction in WorkerEntry.served, which says that a worker keeps them up to
 * date.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/settings.h"
#include "views/worker/worker_parts.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/procarray.h"

/*
 * Set the first phase after VIEWS_UNKNOWN. complete: view_state says that the
 * views are complete, so they only have to catch up; otherwise they have to be
 * rebuilt. The caller has checked that the worker is needed and enabled.
 */
void
worker_begin_views(Worker *worker, bool complete)
{
	Assert(worker->views == VIEWS_UNKNOWN);
	worker_entry_catching_up(worker->entry);
	worker->views = complete ? VIEWS_CATCHING_UP : VIEWS_REBUILDING;
	worker->jobs = true;
}

/*
 * Mark the views as incomplete and queue a rebuild, in one transaction. When
 * it commits, readers stop using the views. Called outside of a transaction.
 */
void
worker_invalidate_views(Worker *worker)
{
	OwnerScope	scope;
	ViewState	state;

	Assert(worker->views != VIEWS_UNKNOWN);
	/* if the transaction fails, the next turn repeats it */
	worker->must_invalidate = true;
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
	worker->must_invalidate = false;
	worker_entry_catching_up(worker->entry);
}

/*
 * Set VIEWS_CATCHING_UP, because the rebuild is done. The views are served
 * when all WAL that is flushed by now has been applied.
 */
void
worker_views_rebuilt(Worker *worker)
{
	Assert(worker->views == VIEWS_REBUILDING);
	worker->views = VIEWS_CATCHING_UP;
	worker->serve_from = GetFlushRecPtr(NULL);
	worker->serve_at = InvalidXLogRecPtr;
}

/*
 * Set VIEWS_KEPT: the views are complete and up to date for the posts of this
 * server.
 */
void
worker_keep_views(Worker *worker)
{
	Assert(worker->views == VIEWS_CATCHING_UP);
	worker->views = VIEWS_KEPT;
}

/*
 * Return from VIEWS_SERVED to VIEWS_KEPT, on a cluster. The views may lack
 * recent changes to posts of other nodes, so readers must not use them.
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
 * Let readers use the views if their snapshots see a transaction that this
 * function commits. A statement that has begun to read posts has an older
 * snapshot and does not switch to the views. The xid is published before the
 * commit, so a reader whose snapshot sees the transaction always finds the
 * xid.
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
 * Set VIEWS_SERVED: the views are complete and up to date. Readers use them
 * with snapshots taken from now on. Called outside of a transaction.
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
}

/*
 * Called from time to time while the views are served. Replaces the
 * transaction in WorkerEntry.served by FrozenTransactionId once every snapshot
 * sees it. Otherwise its xid would seem to be in the future after a
 * wraparound.
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
 * Set the state of the worker's entry to reason, and exit. With exit code 0
 * the postmaster forgets the worker, so only the launcher starts another. Does
 * not return.
 */
void
worker_leave(Worker *worker, WorkerState reason)
{
	worker_entry_leave(worker->entry, reason);
	proc_exit(0);
}

/*
 * Drop the slot, so that it does not retain WAL, and exit, because the
 * database no longer needs a worker. Does not return.
 */
void
worker_retire(Worker *worker)
{
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	slot_drop(worker->slot_name);
	worker_leave(worker, WORKER_NOT_NEEDED);
}
