/*
 * later.c
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

#include "settings.h"
#include "worker/internal.h"

#include "utils/timestamp.h"

/* How long to leave what others did to the views, in ms. */
#define LATER 1000

/* Counts of so many posts in an interval are refreshed at once. */
#define FEW_COUNTS 10

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
	if (interval_left(worker) > 0)
		return false;
	worker->counts_since = GetCurrentTimestamp();
	worker->counts_done = 0;
	return true;
}

/* Put counts off, or take what was put off, if all is to be taken, or it is few. */
static void
take_counts(Worker *worker, bool all)
{
	long		posts;

	dirty_move_counted(worker->dirty, worker->counts);
	posts = dirty_counted_posts(worker->counts);
	if (!all && worker->counts_done + posts > FEW_COUNTS &&
		!dirty_full(worker->counts))
		return;
	if (!dirty_any(worker->counts))
		return;
	worker->counts_done += posts;
	dirty_merge(worker->dirty, worker->counts);
	dirty_clear(worker->counts);
}

/*
 * Take what is, or has become, urgent into the set that is applied. The slot moves on
 * when nothing is put off: at the end of an interval in which counts were, all is taken,
 * so that one of the two does not wait for a moment without the other.
 */
void
later_take(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		waited = dirty_waited(worker->dirty);
	bool		over = interval_over(worker);
	bool		all = waited || (over && dirty_any(worker->counts));

	take_counts(worker, waited || over);
	if (!dirty_any(worker->later))
		return;
	if (worker->later_since == 0)
		worker->later_since = now;
	if (!all && !dirty_full(worker->later) &&
		!TimestampDifferenceExceeds(worker->later_since, now, LATER))
		return;
	dirty_merge(worker->dirty, worker->later);
	dirty_clear(worker->later);
	worker->later_since = 0;
}

/* Is anything put off? */
bool
later_any(const Worker *worker)
{
	return dirty_any(worker->later) || dirty_any(worker->counts);
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
