/*
 * views_serving.c
 *		Decides whether readers may use the views (the copies of posts in
 *		users, and the feed). They may if the views are complete, up to date,
 *		and built for the current settings, and the worker is not stopped.
 *
 * The worker calls these functions when it starts, when the configuration is
 * reloaded, and in each round of its main loop.
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

/*
 * Interval, in ms, at which worker_check_state() checks whether other sessions
 * have changed view_state or the containers.
 */
#define CHECK_STATE 900

#define STATE_ALTERED "The table view_state was altered or emptied, or the containers were created again."

/*
 * Return whether the database needs a worker: it has the extension and
 * containers, and is not a template. A template must not have a worker,
 * because a database with sessions cannot be copied. Called outside of a
 * transaction.
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

void
worker_read_state(ViewState *state)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	view_state_read(state);
	apply_end(&scope);
}

/*
 * Mark the views as not usable, because the server's settings do not allow
 * logical decoding. The commit is flushed, so that standbys stop using the
 * views, too.
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

/*
 * Store in view_state the number of rows for which the feed was built; 0 if it
 * is unknown.
 */
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
 * Compare the current settings with those for which the views were built. If
 * the short form of posts or the property that has their topics has changed,
 * rebuild the views. If blogstore.feed_size has changed, set feed_size in
 * view_state to 0. worker_fit_feed() will rewrite the feed and set the new
 * size. If the worker crashes before that, the next worker sees the 0 and
 * rewrites the feed.
 */
void
worker_follow_settings(Worker *worker)
{
	ViewState	state;

	worker_read_state(&state);
	if (state.short_form_length != blogstore_short_form_length ||
		state.short_form != short_form_stamp())
	{
		worker_invalidate_views(worker, "The settings of short forms or topics have changed.");
	}
	else if (state.feed_size != blogstore_feed_size)
	{
		if (state.feed_size != 0)
			write_feed_size(0);
		worker->other_size = true;
	}
}

/*
 * Rewrite the feed with blogstore.feed_size rows. Returns false if another
 * transaction has locked rows of the feed. The caller then tries again later.
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
 * Return whether the views show all changes before worker->serve_from, the end
 * of WAL when the worker started or a rebuild ended.
 *
 * serve_from may lie within a record, so the function does not compare
 * positions with it. It waits for a round of the main loop that decodes all
 * flushed WAL, at least up to serve_from. The end of the WAL decoded in this
 * round becomes worker->serve_at, and the changes deferred so far are applied
 * without delay. Then the function compares the applied position with
 * serve_at.
 *
 * Returns true only in a round that has read to the end of WAL. So when
 * readers begin to use the views, the views show all posts that were committed
 * before that round began. wait_for_posts() relies on this.
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
 * If the views are complete and up to date, mark them as ready and set
 * VIEWS_KEPT. Complete means that no rebuild is pending. Up to date means that
 * all_applied() returns true. Exits if stop_worker() was called. Called
 * outside of a transaction.
 *
 * flushed: end of flushed WAL when the current round of the main loop began
 * position: end of the decoded WAL
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
		worker_invalidate_views(worker, STATE_ALTERED);
}

/*
 * Every CHECK_STATE ms, check whether the worker is still needed and enabled,
 * and exit if it is not. Also check whether view_state was altered, and then
 * rebuild the views. The owner may have deleted the row, or created the
 * containers again. Called in each round of the main loop, outside of a
 * transaction.
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
		worker_invalidate_views(worker, STATE_ALTERED);
	worker_serve_all(worker);
}
