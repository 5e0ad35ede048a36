/*
 * deferred_refresh.c
 *		Defers changes that the worker need not apply to the views at once, and
 *		decides when it applies them.
 *
 * Two kinds of changes are deferred. One kind is writes of other sessions to
 * the views. The worker corrects such a write after a delay, or when a process
 * waits for the views. So a bulk update by hand is not corrected row by row.
 *
 * The other kind is changed counts. Without a delay, each like would write a
 * new version of a copy. The counts of a few posts are applied without a
 * delay. The counts of other posts are applied once in each
 * blogstore.count_refresh_interval, or when a process waits for the views.
 *
 * The slot is not confirmed past deferred changes. So after a crash a new
 * worker decodes these changes again.
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
 * In each blogstore.count_refresh_interval, the worker applies the changed
 * counts of this many posts without a delay. Counts of other posts wait for
 * the end of the interval.
 */
#define FEW_COUNTS 10

/*
 * Number of posts whose changed counts are applied in one round of the
 * worker's main loop. Applying them takes some ms.
 */
#define COUNTS_A_TURN 200

static long
interval_left(const Worker *worker)
{
	TimestampTz end =
	TimestampTzPlusMilliseconds(worker->counts_since,
								blogstore_count_refresh_interval);

	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
}

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
 * Move the changed counts from worker->dirty to worker->counts. If
 * worker->counts is then due and worker->due_counts is empty, exchange these
 * two sets, and return true.
 *
 * worker->counts is due if "all" is true, or if the set is full. It is also
 * due if, with its posts, at most FEW_COUNTS posts have become due in the
 * current interval.
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
 * Move the writes of other sessions to the views from worker->later to
 * worker->dirty. Does this when their delay is over, when worker->later is
 * full, or when "all" is true.
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
 * Called when worker->due_counts has been filled with changed counts. The next
 * rounds of the main loop apply these counts in parts.
 *
 * After the last part, the views show all changes before "position", which is
 * stored in worker->due_lsn. This is not so if writes of other sessions to the
 * views are still deferred. In this case, InvalidXLogRecPtr is stored.
 *
 * position: the end of the decoded WAL
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
 * Called when a round of the main loop has decoded WAL. Takes the changed
 * counts out of worker->dirty, because they can wait. Adds deferred changes to
 * worker->dirty if they are due.
 *
 * position: the end of the decoded WAL
 *
 * Each round adds the changed counts of at most COUNTS_A_TURN posts. So a new
 * post does not wait until the counts of thousands of posts are applied.
 */
void
deferred_move_due(Worker *worker, XLogRecPtr position)
{
	bool		waited;
	bool		over;
	bool		filled;

	/* First apply the changes that the last round could not apply. */
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

bool
deferred_parts_left(const Worker *worker)
{
	return dirty_any(worker->due_counts);
}

static bool
any_deferred(const Worker *worker)
{
	return dirty_any(worker->later) || dirty_any(worker->counts) ||
		dirty_any(worker->due_counts);
}

/*
 * Called when the changes in worker->dirty have been applied. Returns the WAL
 * position before which all changes are applied, deferred ones included.
 * Returns InvalidXLogRecPtr if this position has not changed since the last
 * call.
 *
 * position: the end of the decoded WAL
 * *turn: receives the number of the round in which decoding reached the
 * returned position
 */
XLogRecPtr
deferred_applied_to(Worker *worker, XLogRecPtr position, uint64 *turn)
{
	if (!any_deferred(worker))
	{
		*turn = worker->turn_number;
		worker->due_lsn = InvalidXLogRecPtr;
		dirty_answered(worker->dirty);
		return position;
	}
	*turn = worker->due_turn;
	if (deferred_parts_left(worker))
		return InvalidXLogRecPtr;

	/*
	 * The changed counts that were due are applied. Return the position that
	 * note_due() has stored, but only once.
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
