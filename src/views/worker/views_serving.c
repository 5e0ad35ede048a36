/*
 * views_serving.c
 *		When the views are fit to be served: complete, up to date, and still wanted.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* How often to look at the state that others may have changed. */
#define CHECK_STATE 900

/*
 * Are the extension and its containers (still) there? A template must stay free
 * of sessions, to be copied.
 */
bool
worker_needed(void)
{
	MemoryContext context = CurrentMemoryContext;
	bool		needed;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	needed = OidIsValid(get_extension_oid("blogstore", true)) &&
		container_any_exists() && !database_is_template(MyDatabaseId);
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return needed;
}

/* What is written down about the views. */
void
worker_read_state(ViewState *state)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	view_state_read(state);
	apply_end(&scope);
}

/*
 * The server's settings do not let WAL be decoded: write down, for standbys, that the views
 * are not to be used.
 */
void
worker_abandon_views(void)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	views_abandon();
	apply_end(&scope);
	apply_flush();
}

/* Write down of which size the feed is; 0: that is not known. */
static void
write_feed_size(int size)
{
	ViewState	state;
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	view_state_read(&state);
	state.feed_size = size;
	view_state_write(&state);
	apply_end(&scope);
}

/*
 * Make the views fit settings that have changed since they were built. Of another size the
 * feed is in a turn (worker_fit_feed()); until it is, a crash finds that it may be of any.
 */
void
worker_follow_settings(Worker *worker)
{
	ViewState	state;

	worker_read_state(&state);
	if (state.short_form_length != blogstore_short_form_length ||
		state.short_form != short_form_stamp())
	{
		worker_invalidate_views(worker);
		ereport(LOG,
				(errmsg("blogstore worker found another short form set and builds the views")));
	}
	else if (state.feed_size != blogstore_feed_size)
	{
		if (state.feed_size != 0)
			write_feed_size(0);
		worker->other_size = true;
	}
}

/*
 * Make the feed of the size that is set. Returns false if another session holds rows of the feed.
 */
bool
worker_fit_feed(Worker *worker)
{
	if (!batch_make_feed())
		return false;
	write_feed_size(blogstore_feed_size);
	worker->other_size = false;
	return true;
}

/*
 * Is all applied that was committed before the start, or before the end of a rebuild? All of
 * it is decoded when a turn comes to the end of WAL that was flushed up to there, which may be in the
 * middle of a record. What is put off then is to be taken as for somebody who waits.
 *
 * The views are served after a turn that has read the WAL to its end. So they
 * show all posts that were committed before that turn began.
 * wait_for_posts() relies on this.
 */
static bool
all_applied(Worker *worker, XLogRecPtr flushed, XLogRecPtr position)
{
	if (worker->serve_at == InvalidXLogRecPtr)
	{
		if (flushed < worker->serve_from || !decoder_at_end(worker->decoder))
			return false;
		worker->serve_at = position;
		if (worker->applied_to < position)
			dirty_await(worker->dirty);
	}
	return worker->applied_to >= worker->serve_at &&
		decoder_at_end(worker->decoder);
}

/*
 * The views are fit to be served once they are complete: no rebuild is under way,
 * and what was committed before it ended (or before this start) is in. The turn has
 * decoded up to a position, and of the WAL all that was flushed when it began.
 */
void
worker_try_keep(Worker *worker, XLogRecPtr flushed, XLogRecPtr position)
{
	OwnerScope	scope;
	ViewState	state;
	bool		pending;

	if (worker->views == VIEWS_REBUILDING)
	{
		apply_begin(&scope, APPLY_STATE);
		pending = jobs_rebuild_pending();
		if (pending)
			worker->jobs = true;
		apply_end(&scope);
		if (pending)
			return;
		worker_views_rebuilt(worker);
	}
	if (!all_applied(worker, flushed, position) || worker->other_size)
		return;

	apply_begin(&scope, APPLY_STATE);
	view_state_read(&state);
	if (state.enabled && !state.ready && state.short_form_length > 0)
	{
		state.ready = true;
		view_state_write(&state);
	}
	apply_end(&scope);
	if (!state.enabled)
		worker_leave(worker, WORKER_STOPPED);
	if (state.ready)
		worker_keep_views(worker);
	else
		worker_invalidate_views(worker);
}

/*
 * Now and then: is the worker still needed, may it run, and are the views
 * that it serves, or makes, still those that are written down? Containers may have been
 * dropped and made again, and the row been deleted.
 */
void
worker_check_state(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	ViewState	state;

	if (!clock_passed(worker->checked_at, now, CHECK_STATE))
		return;
	worker->checked_at = now;
	if (!worker_needed())
		worker_retire(worker);
	worker_read_state(&state);
	if (!state.enabled)
		worker_leave(worker, WORKER_STOPPED);
	if (state.short_form_length == 0 ||
		(worker->views >= VIEWS_KEPT && !state.ready))
		worker_invalidate_views(worker);
	worker_serve_all(worker);
}
