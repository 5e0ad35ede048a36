/*
 * deferred_refresh.c
 *		What is not urgent, and when it is.
 *
 * What others did to the views is put right when somebody waits for the views, or
 * after a while: a change of many rows by hand is not chased row by row.
 *
 * Counts alone are refreshed in the views so often that each like would cost a
 * row of its own there. So they are refreshed at once while few posts are concerned
 * and for whoever waits for the views, and once an interval while there are many
 * (blogstore.count_refresh_interval). The slot stays where it is meanwhile: a worker
 * that comes after a crash decodes them again. While it waits, the worker has
 * neither a transaction nor a snapshot.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "views/worker/worker_parts.h"

#include "utils/timestamp.h"

/* How long to leave what others did to the views, in ms. */
#define LATER 1000

/* Counts of so many posts in an interval are refreshed at once. */
#define FEW_COUNTS 10

/* Posts whose counts are refreshed in a turn: a few milliseconds' work. */
#define COUNTS_A_TURN 200

/* How long before the present interval of counts ends, in ms. */
static long
interval_left(const Worker *worker)
{
	TimestampTz end =
	TimestampTzPlusMilliseconds(worker->counts_since,
								blogstore_count_refresh_interval);

	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
}

/* Is an interval of counts over? Then the next one begins. */
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
 * Put counts off. When their time has come, if all are to be taken, or they are few,
 * they are set apart from those that come from now on; returns whether they were.
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

/* Take what others did to the views, if it is urgent, or everything is. */
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
 * Take what is, or has become, urgent into the set that is applied. position: up to
 * where all has been decoded. Counts come in parts, a part a turn, so that a new post
 * does not wait for thousands of them.
 *
 * The slot moves on when nothing is put off, or when all counts are refreshed that were
 * set apart, up to where they were: nothing else was put off then, for with the counts of
 * an interval all is taken.
 */
void
later_take(Worker *worker, XLogRecPtr position)
{
	bool		waited;
	bool		over;
	bool		apart;

	/* what has been taken must not be put off again */
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
	/* who waits now, waits for no more than this */
	if (apart && worker->taken_at != InvalidXLogRecPtr)
		dirty_answered(worker->dirty);
	dirty_take_counted(worker->taken, worker->dirty, COUNTS_A_TURN);
}

/* Are counts being refreshed part by part? */
bool
later_taking(const Worker *worker)
{
	return dirty_any(worker->taken);
}

/* Is anything put off? */
static bool
later_any(const Worker *worker)
{
	return dirty_any(worker->later) || dirty_any(worker->counts) ||
		dirty_any(worker->taken);
}

/*
 * What had been taken is applied. Up to where is all applied then? Up to the position to
 * which all was decoded, if nothing is put off; or to where the counts were set apart of
 * which nothing is left, which is told once; invalid: it cannot be said. *turn is the turn
 * in which that was decoded.
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

/* After how many milliseconds will something that was put off be urgent? */
long
later_due(const Worker *worker)
{
	long		due = LATER;

	if (dirty_any(worker->counts))
		due = Min(due, Max(interval_left(worker), 1));
	return due;
}
