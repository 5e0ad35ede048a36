/*
 * worker_pause.c
 *		Pauses between the rounds of the worker's main loop on a busy site.
 *
 * Each round has a fixed cost: the worker is woken, starts transactions,
 * checks its tables and commits. With few commits, the worker can afford a
 * round for each, and the views show each commit at once. With many commits
 * per second, the worker pauses for blogstore.view_refresh_delay after each
 * round. The next round applies everything that was committed meanwhile.
 * Commits do not end a pause, which saves each commit a system call. A process
 * that waits for the worker ends the pause (worker_wake_at_once()).
 *
 * Identifiers call a pause a rest, and the sleep after a round a nap.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/settings.h"
#include "base/wait_events.h"
#include "views/worker/worker_parts.h"

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

/* A site is busy if it has at least this many commits per second. */
#define BUSY_COMMITS 200

/* Shortest interval over which commits are counted, in microseconds. */
#define COUNTED_OVER (100 * INT64CONST(1000))

static bool
site_busy(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		passed = now - worker->counted_at;
	uint64		commits;

	/* The interval is negative if the clock was set back. */
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
 * Sleep for at most "ms" milliseconds. Commits do not end the sleep, but a
 * process that waits for the worker does. Returns whether the latch was set.
 *
 * place: the wait event that pg_stat_activity shows meanwhile
 */
static bool
worker_sleep(Worker *worker, long ms, WaitPlace place)
{
	WorkerEntry *entry = worker->entry;
	bool		woken = true;

	/*
	 * Reset the latch before reading the flags "urgent" and
	 * ConfigReloadPending. If a flag is set later, the latch is set, too, and
	 * ends the sleep.
	 */
	pg_atomic_exchange_u32(&entry->resting, 1);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (pg_atomic_read_u32(&entry->urgent) == 0 && !ConfigReloadPending)
		woken = WaitLatch(MyLatch,
						  WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						  ms, wait_event(place)) & WL_LATCH_SET;
	pg_atomic_exchange_u32(&entry->resting, 0);
	return woken;
}

/*
 * Sleep for at most "ms" milliseconds between two checks for missing or
 * damaged tables. Does what the main loop does before a sleep: clears the flag
 * "urgent" and reads a changed configuration. Otherwise worker_sleep() would
 * return at once.
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
	(void) worker_sleep(worker, ms, WAIT_WORKER_TABLES);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * If the site is busy and the views are up to date, pause for at most "nap" ms
 * and return true. Commits do not end the pause. Otherwise return false
 * without sleeping.
 */
bool
worker_rest(Worker *worker, long nap)
{
	bool		woken;

	if (worker->views < VIEWS_KEPT || blogstore_view_refresh_delay == 0 ||
		!site_busy(worker))
		return false;

	woken = worker_sleep(worker, Min(nap, blogstore_view_refresh_delay),
						 WAIT_WORKER_PAUSE);
	elog(DEBUG2, "blogstore worker %s",
		 woken ? "was woken from its rest" : "has rested");
	return true;
}
