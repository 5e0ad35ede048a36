/*
 * rest.c
 *		Rests of the worker, in which commits of a busy site gather.
 *
 * A turn has a price of its own: the worker is woken, starts transactions, looks
 * about and commits. On a site with few commits each is worth a turn, and the views
 * show it at once. Where commits come so fast that others follow anyway, the worker
 * rests after a turn for blogstore.view_refresh_delay, and takes what has gathered
 * in the next. Commits need not wake it then, which costs them a system call; whoever
 * waits for the views does (worker_wake_for()).
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "settings.h"
#include "worker/internal.h"

#include "miscadmin.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* A site is busy from so many commits a second. */
#define BUSY_COMMITS 200

/* They are counted over so long at least, in ms. */
#define COUNTED_OVER 100

/* Was the site busy when its commits were last counted, just now or a moment ago? */
static bool
site_busy(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64		commits = pg_atomic_read_u64(&worker->entry->commits);
	long		ms = TimestampDifferenceMilliseconds(worker->counted_at, now);

	if (ms >= COUNTED_OVER)
	{
		worker->busy = commits - worker->counted >=
			(uint64) ms * BUSY_COMMITS / 1000;
		worker->counted = commits;
		worker->counted_at = now;
	}
	return worker->busy;
}

/*
 * After a turn that began with WAL flushed up to a position: rest, if the site is
 * busy, for at most so many milliseconds. Returns false if it is not.
 */
bool
worker_rest(Worker *worker, XLogRecPtr flushed, long nap)
{
	WorkerEntry *entry = worker->entry;

	if (worker->views < VIEWS_KEPT || blogstore_view_refresh_delay == 0 ||
		!site_busy(worker))
		return false;

	/* what has set the latch so far is a commit, or is found by what follows */
	pg_atomic_exchange_u32(&entry->resting, 1);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (pg_atomic_read_u64(&entry->mark_lsn) <= flushed)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 Min(nap, blogstore_view_refresh_delay),
						 PG_WAIT_EXTENSION);
	pg_atomic_exchange_u32(&entry->resting, 0);
	return true;
}
