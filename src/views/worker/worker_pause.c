/*
 * worker_pause.c
 *		Pauses of the worker on a busy site.
 *
 * Each turn has a fixed cost: the worker is woken, starts transactions, checks
 * its tables and commits. With few commits, a turn for each is affordable and
 * the views show it at once. With many commits per second, the worker rests
 * after a turn for blogstore.view_refresh_delay, and the next turn applies all
 * that was committed meanwhile. Commits do not wake a resting worker, which
 * saves them a system call each. A process that waits for the worker does wake
 * it (worker_wake_at_once()). A rest is never longer than the nap that the
 * worker would have taken otherwise.
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

/* Commits per second from which on a site counts as busy. */
#define BUSY_COMMITS 200

/* Shortest interval over which commits are counted, in microseconds. */
#define COUNTED_OVER (100 * INT64CONST(1000))

/*
 * Return whether the site is busy, by a measurement at most COUNTED_OVER old.
 */
static bool
site_busy(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		passed = now - worker->counted_at;
	uint64		commits;

	/* a negative interval means that the clock was set back */
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
 * Sleep for at most ms milliseconds. Commits do not end the sleep, but a
 * process that waits for the worker does. Returns whether the latch was set.
 */
static bool
worker_sleep(Worker *worker, long ms)
{
	WorkerEntry *entry = worker->entry;
	bool		woken = true;

	/* reset the latch first, then look at what else may have set it */
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
 * Sleep for at most ms milliseconds in a worker that does no turns, because it
 * waits for tables or for damage to be mended. Clears the urgent flag and
 * rereads the configuration as a turn would, because both would keep
 * worker_sleep() from sleeping.
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
 * If the site is busy and the views are kept, rest for at most nap ms and
 * return true. Otherwise return false without sleeping.
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
