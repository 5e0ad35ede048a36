/*
 * deferred_refresh.c
 *		Defers changes that the worker need not apply to the views at once, and
 *		decides when it applies them.
 *
 * Two kinds of changes are deferred. If another session writes to a view (the
 * copies of posts in users, or the feed), the worker corrects this write after
 * a delay, or when a process waits for the views. So a bulk update by hand is
 * not corrected row by row.
 *
 * Changed counts are deferred, because otherwise each like would write a new
 * version of a copy. They are applied at once while they concern only a few
 * posts, or when a process waits for the views. Otherwise they are applied
 * once in each blogstore.count_refresh_interval. The slot is not confirmed
 * past deferred changes, so that a new worker decodes them again after a
 * crash.
 *
 * Changes wait in these dirty sets (dirty_set.c) of struct Worker:
 *
 *		dirty			to be applied in this round of the main loop
 *		later			writes of other sessions to the views
 *		counts			changed counts of the current interval
 *		due_counts		changed counts to be applied; each round of the main
 *						loop moves a part of them to dirty
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "views/worker/worker_parts.h"

#include "utils/timestamp.h"

/*
 * Delay before the worker corrects writes of other sessions to the views, in
 * ms.
 */
#define LATER 1000

/*
 * In each interval, the changed counts of this many posts are applied at once.
 */
#define FEW_COUNTS 10

/*
 * Number of posts whose changed counts are applied in one round of the
 * worker's main loop, which takes some ms.
 */
#define COUNTS_A_TURN 200

/*
 * Return how many ms are left of the current blogstore.count_refresh_interval.
 */
static long
interval_left(const Worker *worker)
{
	TimestampTz end =
	TimestampTzPlusMilliseconds(worker->counts_since,
								blogstore_count_refresh_interval);

	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
}

/*
 * Return whether the current blogstore.count_refresh_interval is over. If so,
 * begin the next one.
 */
static bool
interval_over(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!clock_passed(worker->counts_since, now,
					  blogstore_count_refresh_interval))
		return false;
	worker->counts_since = now;
	worker->counts_done = 0;
	return true;
}

/*
 * Move the changed counts in the set "dirty" to the set "counts". Then make
 * the contents of "counts" due, if "all" is true, they concern few posts, or
 * the set is full. To do so, exchange "counts" with the set "due_counts",
 * which must be empty. Returns whether the sets were exchanged.
 */
static bool
make_counts_due(Worker *worker, bool all)
{
	DirtySet   *counts = worker->counts;
	long		posts;

	dirty_move_counted(worker->dirty, counts);
	posts = dirty_counted_posts(counts);
	if (dirty_any(worker->due_counts) || !dirty_any(counts) ||
		!(all || worker->counts_done + posts <= FEW_COUNTS || dirty_full(counts)))
		return false;
	worker->counts_done += posts;
	worker->counts = worker->due_counts;
	worker->due_counts = counts;
	return true;
}

/*
 * Move the writes of other sessions to the views from the set "later" to the
 * set "dirty", if their delay is over, "later" is full, or "all" is true.
 */
static void
move_later(Worker *worker, bool all)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!dirty_any(worker->later))
		return;
	if (worker->later_since == 0)
		worker->later_since = now;
	if (!all && !dirty_full(worker->later) &&
		!clock_passed(worker->later_since, now, LATER))
		return;
	dirty_merge(worker->dirty, worker->later);
	dirty_clear(worker->later);
	worker->later_since = 0;
}

/*
 * Called when counts were moved to the set "due_counts". Notes in due_lsn the
 * position before which all changes will be applied when that set is empty
 * again. This is the end of the decoded WAL, unless the set "later" has
 * changes; then no position is known. A process that waits for the views now
 * will be answered at that time.
 */
static void
note_due(Worker *worker, XLogRecPtr position)
{
	worker->due_turn = worker->turn_number;
	if (dirty_any(worker->later))
		worker->due_lsn = InvalidXLogRecPtr;
	else
	{
		worker->due_lsn = position;
		dirty_answered(worker->dirty);
	}
}

/*
 * Called when a round of the worker's main loop has decoded all changes before
 * a position. Moves the changes that are not urgent out of the set "dirty",
 * and the deferred changes that are due into it.
 *
 * Each round moves only a part of the changed counts, so that a new post does
 * not wait until the counts of thousands of posts are applied.
 */
void
deferred_move_due(Worker *worker, XLogRecPtr position)
{
	bool		waited;
	bool		over;
	bool		filled;

	/* The last attempt to apply the set has failed and is repeated first. */
	if (worker->must_retry)
		return;
	waited = dirty_waited(worker->dirty);
	over = !dirty_any(worker->due_counts) && interval_over(worker);
	filled = make_counts_due(worker, waited || over);
	move_later(worker, waited || (over && filled));
	if (filled)
		note_due(worker, position);
	dirty_take_counted(worker->due_counts, worker->dirty, COUNTS_A_TURN);
}

/*
 * Return whether changed counts are left in due_counts for later rounds of the
 * worker's main loop.
 */
bool
deferred_parts_left(const Worker *worker)
{
	return dirty_any(worker->due_counts);
}

/* Return whether any changes are deferred. */
static bool
any_deferred(const Worker *worker)
{
	return dirty_any(worker->later) || dirty_any(worker->counts) ||
		dirty_any(worker->due_counts);
}

/*
 * Called when the worker has applied the changes in worker->dirty. Returns the
 * WAL position before which all changes are applied, including the deferred
 * ones. Returns InvalidXLogRecPtr if this position has not changed since the
 * last call.
 *
 * position: the end of the decoded WAL
 * *turn: receives the number of the round of the worker's main loop that had
 * decoded WAL up to the returned position
 */
XLogRecPtr
deferred_applied_to(Worker *worker, XLogRecPtr position, uint64 *turn)
{
	if (!any_deferred(worker))
	{
		/*
		 * no changes are deferred, so everything that was decoded is applied
		 */
		*turn = worker->turn_number;
		worker->due_lsn = InvalidXLogRecPtr;
		dirty_answered(worker->dirty);
		return position;
	}
	*turn = worker->due_turn;
	if (deferred_parts_left(worker))
		return InvalidXLogRecPtr;

	/*
	 * The last part of due_counts is applied. Return its position only once.
	 */
	position = worker->due_lsn;
	worker->due_lsn = InvalidXLogRecPtr;
	return position;
}

/* Return the number of ms until deferred changes may have to be applied. */
long
deferred_next(const Worker *worker)
{
	long		due = LATER;

	if (dirty_any(worker->counts))
		due = Min(due, Max(interval_left(worker), 1));
	return due;
}
