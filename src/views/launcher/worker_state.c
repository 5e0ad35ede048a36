/*
 * worker_state.c
 *		The state of a database's worker, as all processes see it.
 *
 * Only this file sets WorkerEntry.state. It has one function for each kind of
 * transition. Each transition is made with launch_shared->lock held
 * exclusively. Functions marked * take this lock; the callers of the other
 * functions hold it. The table omits the prefix worker_entry_ of the
 * functions.
 *
 *		function		caller					from			to
 *		--------------	----------------------	--------------	--------------
 *		create			backend or launcher:	no entry		WANTED
 *						no worker yet
 *		starting		launcher				WANTED			STARTING
 *		not_started		launcher: no process,	STARTING		WANTED, later
 *						or it did not attach
 *		unattended		new launcher, after a	STARTING		WANTED
 *						crash: worker has not
 *						attached
 *		attach *		worker					STARTING		STARTING
 *		catching_up *	worker					STARTING		CATCHING_UP
 *												CATCHING_UP		CATCHING_UP
 *												RUNNING			CATCHING_UP
 *		running *		worker					CATCHING_UP		RUNNING
 *		blocked *		worker: tables are		STARTING		BLOCKED
 *						damaged					CATCHING_UP
 *												RUNNING
 *												BLOCKED
 *		leave *			worker, before exit		STARTING		STOPPED or
 *												CATCHING_UP		NOT_NEEDED
 *												RUNNING
 *												BLOCKED
 *		detach *		worker, at exit			STARTING		WANTED, later
 *												CATCHING_UP		after a failure
 *												RUNNING
 *												BLOCKED
 *												STOPPED			STOPPED (+)
 *												NOT_NEEDED		no entry (+)
 *		stop			stop_worker()			any				STOPPED
 *		stop_ended		commit after			STOPPED			STOPPED (+)
 *						stop_worker()
 *						rollback after			STOPPED			WANTED
 *						stop_worker()
 *		look			commit after which a	any, without	WANTED
 *						worker may be needed	process or open
 *												stop_worker()
 *												any other		unchanged; sets
 *																look_again
 *		dropped			DROP DATABASE			any, without	NOT_NEEDED
 *												a process
 *		free			launcher: no database	any, unused		no entry
 *
 * (+) If look has set look_again before, the new state is WANTED.
 *
 * After stop has set STOPPED, the functions catching_up, running, blocked and
 * leave do nothing. An entry also counts the running commands that need the
 * database without sessions (hold, release). While there are such commands,
 * the launcher does not start the worker.
 *
 * After a failure the launcher waits before it starts another worker ("later"
 * in the table). This pause doubles with each failure in a row (next_start()).
 * After a worker has reached RUNNING, the pauses begin with the shortest one.
 * The postmaster never restarts a worker.
 *
 * Runs in the launcher, the workers and backends.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/wait_events.h"
#include "views/launcher/worker_entries.h"

#include <signal.h>

#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

/*
 * Pause before the launcher restarts a worker after its first failure, in ms.
 * The pause doubles with each further failure in a row, up to LAST_BACKOFF.
 */
#define FIRST_BACKOFF 500

/*
 * Whether the exit of this worker is intended. The launcher then starts the
 * next worker without a pause.
 */
static bool leaving = false;

/* Set an entry's state. The caller holds launch_shared->lock exclusively. */
static void
set_state(WorkerEntry *entry, WorkerState state)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	Assert(OidIsValid(entry->dbid));
	entry->state = state;
}

/* ------------------------------------------------------------------------
 * Creating and freeing entries
 * ------------------------------------------------------------------------ */

/*
 * Return the entry of a database. If the database has none, create an entry in
 * state WANTED. Returns NULL if all entries are taken. The caller holds
 * launch_shared->lock exclusively.
 */
WorkerEntry *
worker_entry_create(Oid dbid)
{
	WorkerEntry *entry = worker_entry_find(dbid);

	if (entry != NULL)
		return entry;
	entry = worker_entry_find(InvalidOid);
	if (entry == NULL)
		return NULL;

	entry->look_again = false;
	entry->stopper = 0;
	entry->holds = 0;
	entry->pid = 0;
	entry->latch = NULL;
	entry->failures = 0;
	entry->next_start = 0;
	entry->started_at = 0;
	entry->no_room_at = 0;
	entry->caught_up = 0;
	entry->last_error[0] = '\0';
	entry->last_error_hint[0] = '\0';
	entry->last_error_at = 0;
	entry->rebuilds = 0;
	entry->last_rebuild_reason[0] = '\0';
	entry->last_rebuild_at = 0;
	pg_atomic_write_u32(&entry->served, InvalidTransactionId);
	pg_atomic_write_u32(&entry->unsent, 0);
	pg_atomic_write_u32(&entry->feed_size, 0);
	pg_atomic_write_u32(&entry->urgent, 0);
	pg_atomic_write_u64(&entry->wake_lsn, 0);
	pg_atomic_write_u64(&entry->shown_lsn, 0);
	pg_atomic_write_u64(&entry->posts_lsn, 0);
	pg_atomic_write_u64(&entry->jobs_lsn, 0);
	pg_atomic_write_u64(&entry->batches, 0);
	pg_atomic_write_u64(&entry->changes, 0);
	entry->dbid = dbid;
	set_state(entry, WORKER_WANTED);
	return entry;
}

/*
 * Return whether an entry must not be freed: a worker is attached to it, a
 * command has called worker_entry_hold(), or an open transaction has called
 * stop_worker().
 */
bool
worker_entry_in_use(const WorkerEntry *entry)
{
	return entry->pid != 0 || entry->holds != 0 || entry->stopper != 0;
}

/*
 * Free an entry whose database was dropped or has no containers. The entry is
 * not in use, and the caller holds launch_shared->lock exclusively.
 */
void
worker_entry_free(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	Assert(!worker_entry_in_use(entry));
	entry->dbid = InvalidOid;
}

static void
free_unneeded(WorkerEntry *entry)
{
	if (entry->state == WORKER_NOT_NEEDED && !worker_entry_in_use(entry))
		worker_entry_free(entry);
}

/* ------------------------------------------------------------------------
 * The end of a worker, or a failed start
 * ------------------------------------------------------------------------ */

/*
 * Return when the launcher may restart a worker after this many failures in a
 * row.
 */
static TimestampTz
next_start(int failures)
{
	int64		wait = FIRST_BACKOFF;

	for (int i = 1; i < failures && wait < LAST_BACKOFF; i++)
		wait *= 2;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   Min(wait, LAST_BACKOFF));
}

/*
 * Set the state to WANTED, so that the launcher starts another worker.
 *
 * failed: the last worker failed, so the launcher waits before it starts the
 * next one.
 */
static void
start_again(WorkerEntry *entry, bool failed)
{
	if (entry->state == WORKER_RUNNING || entry->state == WORKER_BLOCKED)

		/*
		 * The last worker has reached RUNNING or BLOCKED. So its failure
		 * counts as the first one in a row.
		 */
		entry->failures = 0;
	if (failed)
		entry->failures++;
	entry->next_start = failed ? next_start(entry->failures) : 0;
	set_state(entry, WORKER_WANTED);
}

/*
 * Clear the fields of an entry that belong to a worker process, after the
 * process has ended or could not be started. From now on, readers do not use
 * the views.
 */
static void
worker_gone(WorkerEntry *entry)
{
	pg_atomic_write_u32(&entry->served, InvalidTransactionId);
	told_end_turn(&entry->told);
	entry->pid = 0;
	entry->latch = NULL;
	ConditionVariableBroadcast(&entry->progress);
}

/*
 * Exit callback of a worker. The entry's state decides whether the launcher
 * starts another worker. Runs after the process has released its slot and left
 * the database.
 */
static void
worker_entry_detach(int code, Datum arg)
{
	WorkerEntry *entry = (WorkerEntry *) DatumGetPointer(arg);

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	Assert(entry->pid == MyProcPid);
	worker_gone(entry);
	switch (entry->state)
	{
		case WORKER_STARTING:
		case WORKER_CATCHING_UP:
		case WORKER_RUNNING:
		case WORKER_BLOCKED:
			start_again(entry, !leaving && entry->holds == 0);
			break;
		case WORKER_STOPPED:
		case WORKER_NOT_NEEDED:
			if (entry->look_again && entry->stopper == 0)
			{
				/*
				 * The reason for the exit may be gone, for example after
				 * start_worker(). The next worker checks this.
				 */
				entry->next_start = 0;
				set_state(entry, WORKER_WANTED);
			}
			else
				free_unneeded(entry);
			break;
		case WORKER_WANTED:
			Assert(false);
			break;
	}
	LWLockRelease(launch_shared->lock);
	launcher_wake();
}

/*
 * Terminate the worker of an entry, and wait until its process no longer
 * exists. The caller has made sure that the launcher does not start another.
 * Takes launch_shared->lock in share mode.
 */
void
worker_entry_end(WorkerEntry *entry)
{
	int			last = 0;

	ConditionVariablePrepareToSleep(&entry->progress);
	for (;;)
	{
		int			pid;

		/*
		 * A worker clears entry->pid at its exit, with the lock held
		 * exclusively. So while this function holds the lock, the pid belongs
		 * to the worker.
		 */
		LWLockAcquire(launch_shared->lock, LW_SHARED);
		pid = entry->pid;
		if (pid != 0)
			(void) kill(pid, SIGTERM);
		LWLockRelease(launch_shared->lock);
		if (pid == 0)
			break;
		last = pid;
		(void) ConditionVariableTimedSleep(&entry->progress, 100,
										   wait_event(WAIT_WORKER_END));
	}
	ConditionVariableCancelSleep();
	for (int i = 0; last != 0 && i < 1000 && kill(last, 0) == 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(5000L);
	}
}

/* ------------------------------------------------------------------------
 * Transitions made by the launcher
 * ------------------------------------------------------------------------ */

/*
 * From WANTED to STARTING: the launcher is about to start the worker. The
 * caller holds launch_shared->lock exclusively.
 */
void
worker_entry_starting(WorkerEntry *entry)
{
	Assert(entry->state == WORKER_WANTED);
	Assert(entry->pid == 0 && entry->holds == 0);
	entry->no_room_at = 0;
	set_state(entry, WORKER_STARTING);
}

/*
 * From STARTING to WANTED, with a pause before the next start: the worker
 * could not be started, or it ended before it attached to the entry. The
 * caller holds launch_shared->lock exclusively.
 */
void
worker_entry_not_started(WorkerEntry *entry)
{
	Assert(entry->state == WORKER_STARTING && entry->pid == 0);
	worker_gone(entry);
	start_again(entry, true);
}

/*
 * From STARTING to WANTED: the launcher that had started the worker crashed,
 * and no worker is attached to the entry. The caller holds launch_shared->lock
 * exclusively.
 */
void
worker_entry_unattended(WorkerEntry *entry)
{
	Assert(entry->state == WORKER_STARTING && entry->pid == 0);
	set_state(entry, WORKER_WANTED);
}

/* ------------------------------------------------------------------------
 * Transitions made by the worker
 * ------------------------------------------------------------------------ */

/*
 * Attach this worker process to an entry, and register the exit callback that
 * detaches it.
 *
 * number: index of the entry, which the launcher has passed to the process.
 *
 * Returns NULL if another process is attached to the entry, or the entry is
 * not in state STARTING any more. The caller then exits.
 */
WorkerEntry *
worker_entry_attach(int number)
{
	WorkerEntry *entry = &launch_shared->entry[number];
	bool		attached;

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	attached = OidIsValid(entry->dbid) && entry->pid == 0 &&
		entry->state == WORKER_STARTING && entry->holds == 0;
	if (attached)
	{
		entry->pid = MyProcPid;
		entry->look_again = false;
		entry->latch = MyLatch;
		entry->started_at = GetCurrentTimestamp();

		/*
		 * The previous worker may have left the flag "resting" set, or
		 * JOB_COMMITTING in jobs_lsn.
		 */
		pg_atomic_write_u32(&entry->resting, 0);
		/*
		 * On a cluster, the worker sets the flag "unsent" again before it lets
		 * readers use the views.
		 */
		pg_atomic_write_u32(&entry->unsent, 0);
		pg_atomic_write_u64(&entry->jobs_lsn, GetXLogInsertRecPtr());
		pg_atomic_write_u64(&entry->batches, 0);
		pg_atomic_write_u64(&entry->changes, 0);
	}
	LWLockRelease(launch_shared->lock);
	if (!attached)
		return NULL;
	on_shmem_exit(worker_entry_detach, PointerGetDatum(entry));
	return entry;
}

/*
 * Set the state of this worker's own entry. Does nothing if stop_worker() has
 * set STOPPED.
 */
static void
set_own_state(WorkerEntry *entry, WorkerState state)
{
	WorkerState before;

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	Assert(entry->pid == MyProcPid);
	before = entry->state;
	Assert(before == WORKER_STARTING || before == WORKER_CATCHING_UP ||
		   before == WORKER_RUNNING || before == WORKER_BLOCKED ||
		   before == WORKER_STOPPED);
	Assert(state != WORKER_RUNNING || before == WORKER_CATCHING_UP ||
		   before == WORKER_STOPPED);
	if (before != WORKER_STOPPED)
		set_state(entry, state);
	LWLockRelease(launch_shared->lock);
	if (before == WORKER_STARTING)

		/* The launcher can start the next worker. It starts one at a time. */
		launcher_wake();
}

/*
 * Set CATCHING_UP: readers must not use the views. The worker has just found
 * that its database needs it, or the views are no longer complete and up to
 * date. In a new entry, caught_up is set to the current time. stat_worker then
 * shows the lag of the views since this time.
 */
void
worker_entry_catching_up(WorkerEntry *entry)
{
	if (entry->caught_up == 0)
		entry->caught_up = clock_elapsed();
	set_own_state(entry, WORKER_CATCHING_UP);
}

void
worker_entry_running(WorkerEntry *entry)
{
	set_own_state(entry, WORKER_RUNNING);
	worker_entry_recovered(entry, ERROR_VIEWS);
}

/*
 * Set BLOCKED: a table is damaged, and the worker waits until the table is
 * repaired. The caller has passed a description of the damage and its hint to
 * worker_entry_error().
 */
void
worker_entry_blocked(WorkerEntry *entry)
{
	set_own_state(entry, WORKER_BLOCKED);
}

/*
 * Called by a blocked worker before it exits, because the tables were
 * repaired. The launcher starts the next worker without a pause.
 */
void
worker_entry_mended(void)
{
	leaving = true;
}

/*
 * Called by a worker before it exits without a failure: set its state.
 *
 * reason: WORKER_STOPPED or WORKER_NOT_NEEDED.
 */
void
worker_entry_leave(WorkerEntry *entry, WorkerState reason)
{
	Assert(reason == WORKER_STOPPED || reason == WORKER_NOT_NEEDED);
	set_own_state(entry, reason);
	leaving = true;
}

/* ------------------------------------------------------------------------
 * Transitions made by backends
 * ------------------------------------------------------------------------ */

/*
 * Have the launcher start a worker, which checks whether it is needed and
 * enabled. If a worker is running, the launcher waits for its end. If an open
 * transaction has called stop_worker(), the launcher waits for the end of that
 * transaction. The caller holds launch_shared->lock exclusively.
 */
void
worker_entry_look(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	if (entry->pid != 0 || entry->stopper != 0)
	{
		entry->look_again = true;
		return;
	}
	entry->look_again = false;
	entry->failures = 0;
	entry->next_start = 0;
	set_state(entry, WORKER_WANTED);
}

/*
 * Set STOPPED, for stop_worker(). The launcher starts no worker until
 * worker_entry_stop_ended(), at the end of the calling transaction. The caller
 * holds launch_shared->lock exclusively.
 */
void
worker_entry_stop(WorkerEntry *entry)
{
	entry->stopper = MyProcPid;
	entry->look_again = false;
	set_state(entry, WORKER_STOPPED);
}

/*
 * Called at the end of a transaction that has called stop_worker(). After a
 * rollback, the launcher starts the worker again. After a commit, the worker
 * stays stopped, unless another session has asked for it meanwhile
 * (worker_entry_look()). The caller holds launch_shared->lock exclusively.
 */
void
worker_entry_stop_ended(WorkerEntry *entry, bool rolled_back)
{
	if (entry->stopper != MyProcPid)
		return;
	entry->stopper = 0;
	if (rolled_back || entry->look_again)
		worker_entry_look(entry);
}

/*
 * Keep the launcher from starting the worker until worker_entry_release(). A
 * running command, such as DROP DATABASE, needs the database without sessions.
 * The caller holds launch_shared->lock exclusively.
 */
void
worker_entry_hold(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	entry->holds++;
}

/*
 * Undo worker_entry_hold(). The caller holds launch_shared->lock exclusively.
 */
void
worker_entry_release(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	Assert(entry->holds > 0);
	entry->holds--;
	free_unneeded(entry);
}

/*
 * Set NOT_NEEDED after DROP DATABASE. The caller has called
 * worker_entry_hold(), and holds launch_shared->lock exclusively.
 */
void
worker_entry_dropped(WorkerEntry *entry)
{
	Assert(entry->holds > 0 && entry->pid == 0);
	set_state(entry, WORKER_NOT_NEEDED);
}
