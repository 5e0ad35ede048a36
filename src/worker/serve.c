/*
 * serve.c
 *		When the views may be served: complete, up to date, and still wanted.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "change_feed/change_feed.h"
#include "layout/layout.h"
#include "settings.h"
#include "state/state.h"
#include "worker/worker.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* How often to look at the state that others may have changed. */
#define CHECK_STATE 900

/* Tell others what the worker is about. */
void
worker_set_state(Worker *worker, WorkerState state)
{
	WorkerState before;

	LWLockAcquire(feed_shared->lock, LW_EXCLUSIVE);
	before = worker->entry->state;
	/* stop_worker() has the last word */
	if (before != WORKER_STOPPED)
		worker->entry->state = state;
	LWLockRelease(feed_shared->lock);
	if (before == WORKER_STARTING && state != WORKER_STARTING)
		launcher_wake();		/* the next one may start */
}

/* A template must stay free of sessions, to be copied. */
static bool
in_template(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID,
										ObjectIdGetDatum(MyDatabaseId));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_database) GETSTRUCT(tuple))->datistemplate;
		ReleaseSysCache(tuple);
	}
	return result;
}

/* Are the extension and its containers (still) there? */
bool
worker_needed(void)
{
	MemoryContext context = CurrentMemoryContext;
	bool		needed;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	needed = OidIsValid(get_extension_oid("blogstore", true)) &&
		container_any_exists() && !in_template();
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return needed;
}

void
worker_read_state(ViewState *state)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	view_state_read(state);
	apply_end(&scope);
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

	apply_begin(&scope, APPLY_STATE);
	view_state_read(&state);
	state.ready = false;
	state.feed_size = blogstore_feed_size;
	state.short_form_length = blogstore_short_form_length;
	view_state_write(&state);
	jobs_request_rebuild();
	apply_end(&scope);

	pg_atomic_write_u32(&worker->entry->served, 0);
	worker->serving = false;
	worker->rebuilding = true;
	worker->jobs = true;
	worker_set_state(worker, WORKER_CATCHING_UP);
}

/* Make the views fit settings that have changed since they were built. */
void
worker_follow_settings(Worker *worker)
{
	ViewState	state;
	OwnerScope	scope;

	worker_read_state(&state);
	if (state.short_form_length != blogstore_short_form_length)
		worker_invalidate_views(worker);
	else if (state.feed_size != blogstore_feed_size)
	{
		apply_feed();
		apply_begin(&scope, APPLY_STATE);
		view_state_read(&state);
		state.feed_size = blogstore_feed_size;
		view_state_write(&state);
		apply_end(&scope);
	}
}

/* Flush what this process has committed: it relies on it from here on. */
void
worker_flush_commits(void)
{
	if (XactLastCommitEnd != InvalidXLogRecPtr)
		XLogFlush(XactLastCommitEnd);
}

/*
 * Let readers have the views once they are complete: no rebuild is under way,
 * and what was committed before it ended (or before this start) is in. The turn
 * has applied what it could read of the WAL that was flushed when it began,
 * which may end in the middle of a record.
 */
void
worker_try_serve(Worker *worker, XLogRecPtr flushed)
{
	OwnerScope	scope;
	ViewState	state;
	bool		pending;

	if (worker->rebuilding)
	{
		apply_begin(&scope, APPLY_STATE);
		pending = jobs_rebuild_pending();
		if (pending)
			worker->jobs = true;
		apply_end(&scope);
		if (pending)
			return;
		worker->rebuilding = false;
		worker->serve_from = GetFlushRecPtr(NULL);
	}
	if (flushed < worker->serve_from || !decoder_at_end(worker->decoder))
		return;

	apply_begin(&scope, APPLY_STATE);
	view_state_read(&state);
	if (state.enabled && !state.ready)
	{
		state.ready = true;
		view_state_write(&state);
	}
	apply_end(&scope);
	if (!state.enabled)
		worker_leave(worker, WORKER_STOPPED);

	worker->serving = true;
	worker_set_state(worker, WORKER_RUNNING);
	pg_atomic_write_u32(&worker->entry->served, 1);
	ConditionVariableBroadcast(&worker->entry->progress);
}

/*
 * Now and then: is the worker still needed, may it run, and are the views
 * that it serves still the ones it has completed? Containers may have been
 * dropped and made again.
 */
void
worker_check_state(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	ViewState	state;

	if (!TimestampDifferenceExceeds(worker->checked_at, now, CHECK_STATE))
		return;
	worker->checked_at = now;
	if (!worker_needed())
		worker_retire(worker);
	worker_read_state(&state);
	if (!state.enabled)
		worker_leave(worker, WORKER_STOPPED);
	if (worker->serving && !state.ready)
		worker_invalidate_views(worker);
}
