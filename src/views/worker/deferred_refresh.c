/*
 * deferred_refresh.c
 *		Changes that the worker does not apply to the views at once, and when
 *		it applies them.
 *
 * Two kinds of changes are deferred. If another session writes to a view (the
 * copies of posts in users, or the feed), the worker corrects that after a
 * delay, or when a process waits for the views. So a bulk update by hand is
 * not corrected row by row.
 *
 * Changed counts are deferred because otherwise each like would write a new
 * version of a copy. They are applied at once while they concern only a few
 * posts, or when a process waits for the views. Otherwise they are applied
 * once per blogstore.count_refresh_interval. The slot is not confirmed past
 * deferred changes, so after a crash a new worker decodes them again.
 *
 * Changes wait in these dirty sets (sets of keys, dirty_set.c) of struct
 * Worker:
 *
 *		dirty			applied in the current turn
 *		later			writes of other sessions to the views
 *		counts			changed counts of the current interval
 *		due_counts		changed counts that are due; each turn moves a part of
 *						them to dirty
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "views/worker/worker_parts.h"

#include "utils/timestamp.h"

/* Delay before writes of other sessions to the views are corrected, in ms. */
#define LATER 1000

/* Counts of up to this many posts per interval are refreshed at once. */
#define FEW_COUNTS 10

/*
 * Number of posts whose changed counts are refreshed in one turn, which takes
 * some ms.
 */
#define COUNTS_A_TURN 200

/* Return how many ms of the current count interval are left. */
static long
interval_left(const Worker *worker)
{
	TimestampTz end =
	TimestampTzPlusMilliseconds(worker->counts_since,
								blogstore_count_refresh_interval);

	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
}

/* If the count interval is over, begin the next one and return true. */
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
 * Move the changed counts that this turn has decoded from the set "dirty" to
 * "counts". The contents of "counts" are due if all is true, they concern few
 * posts, or the set is full. If they are due and "due_counts" is empty,
 * exchange these two sets. Returns whether they were exchanged.
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
 * Move the writes of other sessions from the set "later" to "dirty", if their
 * delay is over, the set is full, or all is true.
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
 * Called when due_counts has been filled. Remembers up to where all changes
 * are applied once the last part of due_counts is: everything that is decoded
 * by now, unless writes of other sessions are still deferred. Processes that
 * wait for the views now are answered at that time.
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
 * Called after a turn has decoded all changes before position. Takes the
 * changes that are not urgent out of dirty, and moves deferred changes that
 * are due into it. Changed counts are moved in parts, one part per turn, so
 * that a new post does not wait until the counts of thousands of posts are
 * applied.
 */
void
deferred_move_due(Worker *worker, XLogRecPtr position)
{
	bool		waited;
	bool		over;
	bool		filled;

	/* dirty still has the changes of an attempt that has failed */
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

/* Return whether due_counts has more parts, for further turns. */
bool
deferred_parts_left(const Worker *worker)
{
	return dirty_any(worker->due_counts);
}

/* Return whether the worker has decoded any changes but not applied them. */
static bool
any_deferred(const Worker *worker)
{
	return dirty_any(worker->later) || dirty_any(worker->counts) ||
		dirty_any(worker->due_counts);
}

/*
 * Called after the worker has applied the changes in worker->dirty. Returns
 * the WAL position before which all changes, the deferred ones among them, are
 * applied; invalid if that has not changed since the last call. position: the
 * end of the decoded WAL. *turn: receives the number of the turn, perhaps an
 * earlier one, that had decoded WAL up to the returned position.
 */
XLogRecPtr
deferred_applied_to(Worker *worker, XLogRecPtr position, uint64 *turn)
{
	if (!any_deferred(worker))
	{
		/* everything that was decoded is applied */
		*turn = worker->turn_number;
		worker->due_lsn = InvalidXLogRecPtr;
		dirty_answered(worker->dirty);
		return position;
	}
	*turn = worker->due_turn;
	if (deferred_parts_left(worker))
		return InvalidXLogRecPtr;

	/* the last part of due_counts is applied: return its position once */
	position = worker->due_lsn;
	worker->due_lsn = InvalidXLogRecPtr;
	return position;
}

/* Return the number of ms until deferred changes may become due. */
long
deferred_next(const Worker *worker)
{
	long		due = LATER;

	if (dirty_any(worker->counts))
		due = Min(due, Max(interval_left(worker), 1));
	return due;
}
