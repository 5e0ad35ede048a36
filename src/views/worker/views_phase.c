/*
 * views_phase.c
 *		How far the views are, as the worker knows it, and the worker's end.
 *
 * Worker.views is set here alone, by one function for each change, which takes
 * along what others see of it: WorkerEntry.state, whose table and lock are in
 * views/launcher/worker_state.c, and .served.
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
 *		worker_block			any				none is kept,	BLOCKED, then
 *												then exit		WANTED
 *		worker_leave			any				exit			STOPPED or
 *																NOT_NEEDED
 *		worker_retire			any				exit, no slot	NOT_NEEDED
 *		an error				any				exit			WANTED, after
 *																a while
 *
 * Readers take the views if two things say so: a row, as of their snapshot, that
 * they are complete (view_state.c), and .served that a worker keeps them now.
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

/* The worker is needed and may run; are the views complete? */
void
worker_begin_views(Worker *worker, bool complete)
{
	Assert(worker->views == VIEWS_UNKNOWN);
	worker_entry_catching_up(worker->entry);
	worker->views = complete ? VIEWS_CATCHING_UP : VIEWS_REBUILDING;
	worker->jobs = true;
}

/*
 * The views cannot be trusted from here on: take readers off them and queue
 * a rebuild, in one transaction.
 */
void
worker_invalidate_views(Worker *worker)
{
	OwnerScope	scope;
	ViewState	state;

	Assert(worker->views != VIEWS_UNKNOWN);
	/* if it fails, the next turn does it */
	worker->invalid = true;
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
	worker->invalid = false;
	worker_entry_catching_up(worker->entry);
}

/* The rebuild is done; what was committed before it ended is to be applied. */
void
worker_views_rebuilt(Worker *worker)
{
	Assert(worker->views == VIEWS_REBUILDING);
	worker->views = VIEWS_CATCHING_UP;
	worker->serve_from = GetFlushRecPtr(NULL);
	worker->serve_at = InvalidXLogRecPtr;
}

/* What the views have of the posts that are here is complete and up to date. */
void
worker_keep_views(Worker *worker)
{
	Assert(worker->views == VIEWS_CATCHING_UP);
	worker->views = VIEWS_KEPT;
}

/* On a cluster: what the views here have of other nodes' posts may not be up to date. */
void
worker_await_others(Worker *worker)
{
	Assert(worker->views == VIEWS_SERVED);
	pg_atomic_write_u32(&worker->entry->served, InvalidTransactionId);
	worker->views = VIEWS_KEPT;
	worker_entry_catching_up(worker->entry);
}

/*
 * Serve the views to all whose snapshot sees a transaction that ends now. They are told
 * which it is before it ends: no snapshot that sees it is one that they still read posts by.
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

/* The views are complete and up to date, for snapshots from now on. */
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
 * Once no snapshot is left that was taken before the views were served, they are served to
 * all, so that the transaction they are served since is never so old that it would be taken
 * for one to come.
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
 * Exit for good. Exit code 0 takes a worker off the postmaster's list, which
 * is where the launcher wants it.
 */
void
worker_leave(Worker *worker, WorkerState reason)
{
	worker_entry_leave(worker->entry, reason);
	proc_exit(0);
}

/* No containers (any more): the slot must not keep WAL for nobody. */
void
worker_retire(Worker *worker)
{
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	slot_drop(worker->slot_name);
	worker_leave(worker, WORKER_NOT_NEEDED);
}
