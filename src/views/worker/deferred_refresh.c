/*
 * deferred_refresh.c
 *		Changes that need not be applied at once, and when they are applied.
 *
 * Two kinds of changes are deferred. Writes of other sessions to the views are
 * corrected after a delay, or when a process waits for the views, so that a
 * bulk update by hand is not corrected row by row.
 *
 * Changed counts are deferred because otherwise each like would write a new
 * version of a copy. They are applied at once while only a few posts are
 * concerned, or when a process waits for the views. Otherwise they are applied
 * once per blogstore.count_refresh_interval. The slot is not confirmed past
 * deferred changes, so a new worker decodes them again after a crash.
 *
 * Dirty sets of struct Worker: "dirty" is applied in the current turn, "later"
 * has writes of other sessions to the views, "counts" has posts whose counts
 * have changed, and "taken" has those of a finished interval, which are moved
 * to "dirty" in parts.
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

/* Posts whose counts are refreshed in one turn, which takes some ms. */
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
 * Move changed counts from "dirty" to "counts". If they are due (all is true,
 * they are few, or the set is full) and "taken" is empty, swap the two sets.
 * Returns whether they were swapped.
 */
static bool
set_apart_counts(Worker *worker, bool all)
{
	DirtySet   *counts = worker->counts;
	long		posts;

	dirty_move_counted(worker->dirty, counts);
	posts = dirty_counted_posts(counts);
	if (dirty_any(worker->taken) || !dirty_any(counts) ||
		!(all || worker->counts_done + posts <= FEW_COUNTS || dirty_full(counts)))
		return false;
	worker->counts_done += posts;
	worker->counts = worker->taken;
	worker->taken = counts;
	return true;
}

/* Move "later" to "dirty" if its delay is over, it is full, or all is true. */
static void
take_later(Worker *worker, bool all)
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
 * Defer what is not urgent, and move what has become urgent to "dirty". Called
 * after the turn has decoded all changes before position. Counts are moved in
 * parts, one part per turn, so that a new post does not wait for thousands of
 * them.
 *
 * When all parts of "taken" are applied, everything decoded before the
 * position at which it was filled is applied, provided that nothing else was
 * deferred at that time. later_applied() returns that position.
 */
void
later_take(Worker *worker, XLogRecPtr position)
{
	bool		waited;
	bool		over;
	bool		apart;

	/* the worker first repeats the attempt that has failed */
	if (worker->kept)
		return;
	waited = dirty_waited(worker->dirty);
	over = !dirty_any(worker->taken) && interval_over(worker);
	apart = set_apart_counts(worker, waited || over);
	take_later(worker, waited || (over && apart));
	if (apart)
	{
		worker->taken_at = dirty_any(worker->later) ? InvalidXLogRecPtr :
			position;
		worker->taken_in = worker->turn_number;
	}
	/* processes that wait now get their answer when "taken" is applied */
	if (apart && worker->taken_at != InvalidXLogRecPtr)
		dirty_answered(worker->dirty);
	dirty_take_counted(worker->taken, worker->dirty, COUNTS_A_TURN);
}

/* Return whether "taken" still has counts to be applied in further turns. */
bool
later_taking(const Worker *worker)
{
	return dirty_any(worker->taken);
}

/* Return whether any change is deferred. */
static bool
later_any(const Worker *worker)
{
	return dirty_any(worker->later) || dirty_any(worker->counts) ||
		dirty_any(worker->taken);
}

/*
 * Called when the turn's changes are applied. Returns the position before
 * which all changes are applied, or invalid if no new one is known. position:
 * end of the decoded WAL. *turn: receives the turn that had decoded everything
 * before the returned position.
 *
 * If nothing is deferred, the result is position. If "taken" has just been
 * used up, it is the position at which "taken" was filled; that is returned
 * once.
 */
XLogRecPtr
later_applied(Worker *worker, XLogRecPtr position, uint64 *turn)
{
	*turn = worker->turn_number;
	if (later_any(worker))
	{
		position = later_taking(worker) ? InvalidXLogRecPtr : worker->taken_at;
		*turn = worker->taken_in;
	}
	else
		dirty_answered(worker->dirty);
	if (!later_taking(worker))
		worker->taken_at = InvalidXLogRecPtr;
	return position;
}

/* Return the number of ms until deferred changes may become due. */
long
later_due(const Worker *worker)
{
	long		due = LATER;

	if (dirty_any(worker->counts))
		due = Min(due, Max(interval_left(worker), 1));
	return due;
}
