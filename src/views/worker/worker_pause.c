/*
 * worker_pause.c
 *		Rests of the worker, in which commits of a busy site gather.
 *
 * A turn has a price of its own: the worker is woken, starts transactions, looks
 * about and commits. On a site with few commits each is worth a turn, and the views
 * show it at once. Where commits come so fast that others follow anyway, the worker
 * rests after a turn for blogstore.view_refresh_delay, and takes what has gathered
 * in the next. Commits do not wake it then, which saves them a system call each;
 * whoever waits for it does (worker_wake_at_once()). Whatever else is due in a
 * moment ends a rest, too.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/settings.h"
#include "views/worker/worker_parts.h"

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* A site is busy from so many commits a second. */
#define BUSY_COMMITS 200

/* They are counted over so long at least, in microseconds. */
#define COUNTED_OVER (100 * INT64CONST(1000))

/* Was the site busy when its commits were last counted, just now or a moment ago? */
static bool
site_busy(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		passed = now - worker->counted_at;
	uint64		commits;

	/* the clock may have been set back */
	if (passed < 0 || passed >= COUNTED_OVER)
	{
		commits = pg_atomic_read_u64(&worker->entry->commits);
		worker->busy = passed > 0 &&
			(int64) (commits - worker->counted) * USECS_PER_SEC >= passed * BUSY_COMMITS;
		worker->counted = commits;
		worker->counted_at = now;
	}
	return worker->busy;
}

/*
 * Sleep for so many milliseconds at most; commits do not end that, who waits for the worker
 * does. Returns whether somebody has.
 */
static bool
worker_sleep(Worker *worker, long ms)
{
	WorkerEntry *entry = worker->entry;
	bool		woken = true;

	/* the latch may have been set for a commit, or for what is asked of here */
	pg_atomic_exchange_u32(&entry->resting, 1);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (pg_atomic_read_u32(&entry->urgent) == 0 && !ConfigReloadPending)
		woken = WaitLatch(MyLatch,
						  WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						  ms, PG_WAIT_EXTENSION) & WL_LATCH_SET;
	pg_atomic_exchange_u32(&entry->resting, 0);
	return woken;
}

/*
 * Sleep for so many milliseconds at most in a worker that does no turns, but looks now and then whether it
 * can. What a turn would see to is seen to here, or would keep it from sleeping.
 */
void
worker_sleep_between_looks(Worker *worker, long ms)
{
	pg_atomic_exchange_u32(&worker->entry->urgent, 0);
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	(void) worker_sleep(worker, ms);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Rest, if the site is busy, for so many milliseconds at most. Returns false if it
 * is not.
 */
bool
worker_rest(Worker *worker, long nap)
{
	bool		woken;

	if (worker->views < VIEWS_KEPT || blogstore_view_refresh_delay == 0 ||
		!site_busy(worker))
		return false;

	woken = worker_sleep(worker, Min(nap, blogstore_view_refresh_delay));
	elog(DEBUG2, "blogstore worker %s",
		 woken ? "was woken from its rest" : "has rested");
	return true;
}
