/*
 * worker_state.c
 *		The states of a database's worker, as all processes see them.
 *
 * WorkerEntry.state is set here alone, by one function for each kind of change,
 * with the lock of views/launcher/ held exclusively. Functions marked with * take it
 * themselves; the callers of the others hold it. The prefix worker_entry_ is left
 * out.
 *
 *		function		who calls it			from			to
 *		--------------	----------------------	--------------	----------------
 *		create			who misses a worker		no entry		WANTED
 *		starting		launcher				WANTED			STARTING
 *		not_started		launcher: no process	STARTING		WANTED, later
 *						came, or attached
 *		unattended		next launcher, after a	STARTING		WANTED
 *						crash: none attached
 *		attach *		worker					STARTING		STARTING
 *		catching_up *	worker					STARTING		CATCHING_UP
 *												CATCHING_UP		CATCHING_UP
 *												RUNNING			CATCHING_UP
 *		running *		worker					CATCHING_UP		RUNNING
 *		blocked *		worker: the containers	STARTING		BLOCKED
 *						are damaged				CATCHING_UP
 *												RUNNING
 *												BLOCKED
 *		leave *			worker, before its exit	STARTING		STOPPED or
 *												CATCHING_UP		NOT_NEEDED
 *												RUNNING
 *												BLOCKED
 *		detach *		worker, at its exit		STARTING		WANTED, later if
 *												CATCHING_UP		it has failed
 *												RUNNING
 *												BLOCKED
 *												STOPPED			STOPPED (+)
 *												NOT_NEEDED		no entry (+)
 *		stop			stop_worker()			any				STOPPED
 *		stop_ended		the end of who stopped	STOPPED			STOPPED (+), or
 *						it										WANTED: undone
 *		look			a commit after which a	any, without	WANTED
 *						worker may be needed	a process
 *												any other		unchanged (+)
 *		dropped			DROP DATABASE			any, without	NOT_NEEDED
 *												a process
 *		free			launcher: no database	any, unused		no entry
 *
 * (+) Where somebody has called for a look meanwhile (look_again), it is made now:
 * the worker is WANTED.
 *
 * A worker that stop_worker() has set to STOPPED stays so, whatever it asks for
 * itself: catching_up, running, blocked and leave do nothing then. Commands that need the
 * database for themselves keep a worker from being started by a number beside
 * the state (hold, release).
 *
 * After an error the worker is wanted again after a while, which doubles each
 * time in a row (next_start()); one that had come as far as RUNNING begins at
 * the shortest. The postmaster never starts a worker again by itself.
 *
 * Runs in the launcher, the workers and backends.
 */
#include "postgres.h"

#include "base/characters.h"
#include "views/launcher/worker_entries.h"

#include <signal.h>

#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* The back-off doubles from this one to LAST_BACKOFF, in milliseconds. */
#define FIRST_BACKOFF 500

/* Does this process, a worker, exit because it wants to? */
static bool leaving = false;

/* The only place that writes a state. */
static void
set_state(WorkerEntry *entry, WorkerState state)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	Assert(OidIsValid(entry->dbid));
	entry->state = state;
}

/* ------------------------------------------------------------------------
 * Entries come and go
 * ------------------------------------------------------------------------ */

/* The entry of a database, made if need be; NULL if all are taken. */
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
	entry->caught_up_at = 0;
	entry->last_error[0] = '\0';
	entry->last_error_at = 0;
	entry->remedy[0] = '\0';
	pg_atomic_write_u32(&entry->served, InvalidTransactionId);
	/* another database's may have been here before */
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

/* Has some process an entry in hand? */
bool
worker_entry_in_use(const WorkerEntry *entry)
{
	return entry->pid != 0 || entry->holds != 0 || entry->stopper != 0;
}

/* Free an entry, whose database is gone or has no containers. */
void
worker_entry_free(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	Assert(!worker_entry_in_use(entry));
	entry->dbid = InvalidOid;
}

/* Free an entry that is not needed, once nobody has it in hand. */
static void
free_unneeded(WorkerEntry *entry)
{
	if (entry->state == WORKER_NOT_NEEDED && !worker_entry_in_use(entry))
		worker_entry_free(entry);
}

/* ------------------------------------------------------------------------
 * A worker ends, or does not begin
 * ------------------------------------------------------------------------ */

/* When a worker that failed so many times in a row may be started again. */
static TimestampTz
next_start(int failures)
{
	int64		wait = FIRST_BACKOFF;

	for (int i = 1; i < failures && wait < LAST_BACKOFF; i++)
		wait *= 2;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   Min(wait, LAST_BACKOFF));
}

/* Have the worker started again: at once, or, if it failed, after a while. */
static void
start_again(WorkerEntry *entry, bool failed)
{
	if (entry->state == WORKER_RUNNING || entry->state == WORKER_BLOCKED)
		entry->failures = 0;	/* it had worked: a new back-off */
	if (failed)
		entry->failures++;
	entry->next_start = failed ? next_start(entry->failures) : 0;
	set_state(entry, WORKER_WANTED);
}

/* No process keeps the views any more. */
static void
worker_gone(WorkerEntry *entry)
{
	pg_atomic_write_u32(&entry->served, InvalidTransactionId);
	told_end_turn(&entry->told);
	entry->pid = 0;
	entry->latch = NULL;
	ConditionVariableBroadcast(&entry->progress);
}

/* At the exit of a worker, when it has let go of the slot and the database. */
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
				/* it left for a reason that is one no more: start_worker(), say */
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
 * End an entry's worker, and wait until its process is gone (reaped). The caller
 * has seen to it that it is not started again.
 */
void
worker_entry_end(WorkerEntry *entry)
{
	int			last = 0;

	ConditionVariablePrepareToSleep(&entry->progress);
	for (;;)
	{
		int			pid;

		/* under the lock the process is there, and no other has its pid */
		LWLockAcquire(launch_shared->lock, LW_SHARED);
		pid = entry->pid;
		if (pid != 0)
			(void) kill(pid, SIGTERM);
		LWLockRelease(launch_shared->lock);
		if (pid == 0)
			break;
		last = pid;
		(void) ConditionVariableTimedSleep(&entry->progress, 100,
										   PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	for (int i = 0; last != 0 && i < 1000 && kill(last, 0) == 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(5000L);
	}
}

/* ------------------------------------------------------------------------
 * By the launcher
 * ------------------------------------------------------------------------ */

/* The launcher is about to start the worker. */
void
worker_entry_starting(WorkerEntry *entry)
{
	Assert(entry->state == WORKER_WANTED);
	Assert(entry->pid == 0 && entry->holds == 0);
	set_state(entry, WORKER_STARTING);
}

/* The worker could not be started, or ended before it attached. */
void
worker_entry_not_started(WorkerEntry *entry)
{
	Assert(entry->state == WORKER_STARTING && entry->pid == 0);
	worker_gone(entry);
	start_again(entry, true);
}

/* The launcher that started the worker is gone, and nobody waits for it. */
void
worker_entry_unattended(WorkerEntry *entry)
{
	Assert(entry->state == WORKER_STARTING && entry->pid == 0);
	set_state(entry, WORKER_WANTED);
}

/* ------------------------------------------------------------------------
 * By the worker
 * ------------------------------------------------------------------------ */

/*
 * Take an entry, by its number, until this process exits; NULL if somebody else
 * has it, or nobody wants a worker.
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
		entry->caught_up_at = entry->started_at;
		/* the one before may have ended in a rest, or in a commit of a job */
		pg_atomic_write_u32(&entry->resting, 0);
		/* on a cluster it finds out before views are served */
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

/* Set the state of this process's entry, unless stop_worker() has. */
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
		launcher_wake();		/* the next one may start */
}

/* The worker knows that it is needed, and the views are not served yet. */
void
worker_entry_catching_up(WorkerEntry *entry)
{
	set_own_state(entry, WORKER_CATCHING_UP);
}

/* The views are served. */
void
worker_entry_running(WorkerEntry *entry)
{
	set_own_state(entry, WORKER_RUNNING);
}

/*
 * The containers are damaged, as the entry's error says, and the worker waits until they are
 * mended. remedy: what to do about it.
 */
void
worker_entry_blocked(WorkerEntry *entry, const char *remedy)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	message_copy(entry->remedy, remedy, ERROR_LENGTH);
	LWLockRelease(launch_shared->lock);
	set_own_state(entry, WORKER_BLOCKED);
}

/*
 * The worker has waited until the containers were mended, and is about to exit: another is to
 * start at once.
 */
void
worker_entry_mended(void)
{
	leaving = true;
}

/* The worker is about to exit, for a reason that is no failure. */
void
worker_entry_leave(WorkerEntry *entry, WorkerState reason)
{
	Assert(reason == WORKER_STOPPED || reason == WORKER_NOT_NEEDED);
	set_own_state(entry, reason);
	leaving = true;
}

/* ------------------------------------------------------------------------
 * By backends
 * ------------------------------------------------------------------------ */

/*
 * Have a worker look whether it is needed and may run: the one there is when it
 * ends, or a new one, but not while a transaction that has stopped it is under
 * way; then afterwards.
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
 * stop_worker(): nothing starts the worker before this process's transaction has
 * ended (worker_entry_stop_ended()), nor afterwards if it commits.
 */
void
worker_entry_stop(WorkerEntry *entry)
{
	entry->stopper = MyProcPid;
	entry->look_again = false;
	set_state(entry, WORKER_STOPPED);
}

/*
 * The transaction that has stopped the worker has ended: rolled back, the worker
 * starts again; committed, it looks only if that was asked for meanwhile.
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

/* Keep the worker from being started: a command needs the database alone. */
void
worker_entry_hold(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	entry->holds++;
}

/* The command is over. */
void
worker_entry_release(WorkerEntry *entry)
{
	Assert(LWLockHeldByMeInMode(launch_shared->lock, LW_EXCLUSIVE));
	Assert(entry->holds > 0);
	entry->holds--;
	free_unneeded(entry);
}

/* The command has dropped the database. */
void
worker_entry_dropped(WorkerEntry *entry)
{
	Assert(entry->holds > 0 && entry->pid == 0);
	set_state(entry, WORKER_NOT_NEEDED);
}
