/*
 * launcher.c
 *		The blogstore launcher: starts one worker in each database with
 *		containers (blogstore's tables), and restarts workers that have ended.
 *
 * The postmaster starts the launcher when recovery ends; on a standby, after
 * the promotion. The launcher first starts a worker in every valid database
 * that accepts connections and is not a template. A worker that finds no
 * containers exits. So restored and upgraded databases also get a worker.
 * Later, a backend may find containers without a worker. It then creates an
 * entry for its database in shared memory, and the launcher starts a worker.
 *
 * The launcher starts one worker at a time, so that many databases do not use
 * up all background worker slots at once. If a worker takes longer than
 * START_TIME to start, the launcher starts the next one.
 *
 * The launcher also looks for replication slots that no worker uses
 * (unused_slots.c).
 *
 * Runs in the launcher process, which is connected to no database.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/wait_events.h"
#include "views/change_feed/change_feed.h"
#include "views/launcher/worker_entries.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/*
 * Longest sleep of the launcher, in ms. The launcher also looks for dropped
 * databases and for slots that no worker uses at this interval.
 */
#define NAP_TIME 60000

/*
 * How long, in ms, the launcher waits for a worker to start before it starts
 * the next one. A worker that waits for a lock takes longer to start.
 */
#define START_TIME 3000

extern PGDLLEXPORT void blogstore_launcher_main(Datum arg);

static BackgroundWorkerHandle *handle[MAX_DATABASES];
static TimestampTz begun[MAX_DATABASES];	/* when the worker of each entry
											 * was last started */

/*
 * Database whose worker found no free background worker slot. InvalidOid if
 * there is none, or log_no_room() has logged it.
 */
static Oid	no_room = InvalidOid;
static List *to_probe = NIL;	/* databases that existed when the launcher
								 * started and that have no entry yet */

/* Set the fields that are the same for the launcher and the workers. */
static void
describe(BackgroundWorker *process, const char *name, const char *entry_point)
{
	memset(process, 0, sizeof(*process));
	process->bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	process->bgw_start_time = BgWorkerStart_RecoveryFinished;
	strlcpy(process->bgw_library_name, "blogstore",
			sizeof(process->bgw_library_name));
	strlcpy(process->bgw_function_name, entry_point,
			sizeof(process->bgw_function_name));
	strlcpy(process->bgw_name, name, BGW_MAXLEN);
	strlcpy(process->bgw_type, name, BGW_MAXLEN);
}

void
launcher_register(void)
{
	BackgroundWorker launcher;

	describe(&launcher, "blogstore launcher", "blogstore_launcher_main");
	launcher.bgw_restart_time = 1;
	RegisterBackgroundWorker(&launcher);
}

/*
 * Exit callback of the launcher: remove its latch from shared memory. Takes no
 * lock, because this process may already hold launch_shared->lock. A backend
 * may still set the latch of the ended process, which does no harm.
 */
static void
launcher_detach(int code, Datum arg)
{
	launch_shared->launcher = NULL;
}

/* Return whether the launcher runs. The library is preloaded. */
bool
launcher_runs(void)
{
	return launch_shared->launcher != NULL;
}

static bool
may_have_worker(const Database *database)
{
	return database->accepts && !database->is_template;
}

static void
probe_all(void)
{
	List	   *databases = list_databases();
	ListCell   *lc;

	foreach(lc, databases)
	{
		const Database *database = lfirst(lc);

		if (may_have_worker(database))
			to_probe = lappend_oid(to_probe, database->oid);
	}
	list_free_deep(databases);
}

/*
 * Create an entry in state WANTED for each database in the list "to_probe".
 * Databases for which no entry is free stay in the list.
 */
static void
want_probes(void)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	while (to_probe != NIL)
	{
		if (worker_entry_create(linitial_oid(to_probe)) == NULL)
			break;
		to_probe = list_delete_first(to_probe);
	}
	LWLockRelease(launch_shared->lock);
}

/*
 * Free the entries of databases that were dropped, accept no connections any
 * more, or became templates. Entries in use are kept.
 */
static void
forget_dropped(List *databases)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		WorkerEntry *entry = &launch_shared->entry[i];
		const Database *database;

		if (!OidIsValid(entry->dbid) || worker_entry_in_use(entry) ||
			handle[i] != NULL)
			continue;
		database = find_database(databases, entry->dbid);
		if (database == NULL || !may_have_worker(database))
			worker_entry_free(entry);
	}
	LWLockRelease(launch_shared->lock);
}

/*
 * Register a worker with the postmaster, which starts its process. Returns
 * false if no background worker slot is free (max_worker_processes).
 *
 * i: index of the worker's entry.
 */
static bool
start_worker(int i)
{
	BackgroundWorker worker;

	describe(&worker, "blogstore worker", "blogstore_worker_main");
	/* The launcher, not the postmaster, restarts the worker after a pause. */
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = Int32GetDatum(i);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, &handle[i]);
}

/*
 * Start the worker of an entry if its state is WANTED, the pause before a
 * restart is over, and no other worker is starting. The caller holds
 * launch_shared->lock exclusively.
 *
 * i: index of the entry
 * *starting: whether a worker is starting; set to true if the worker of this
 * entry is starting
 *
 * Returns the number of ms after which the launcher has to call this function
 * again, or -1 if another process will wake the launcher.
 */
static long
tend_entry(int i, bool *starting)
{
	WorkerEntry *entry = &launch_shared->entry[i];
	TimestampTz now = GetCurrentTimestamp();
	pid_t		pid;

	if (handle[i] != NULL)
	{
		if (GetBackgroundWorkerPid(handle[i], &pid) != BGWH_STOPPED)
		{
			if (entry->state != WORKER_STARTING ||
				clock_passed(begun[i], now, START_TIME))
				return -1;
			*starting = true;
			return START_TIME - TimestampDifferenceMilliseconds(begun[i], now);
		}
		pfree(handle[i]);
		handle[i] = NULL;

		/*
		 * The worker has ended without attaching to the entry. An attached
		 * worker sets the state itself at its exit.
		 */
		if (entry->state == WORKER_STARTING && entry->pid == 0)
			worker_entry_not_started(entry);
	}
	if (!OidIsValid(entry->dbid) || entry->state != WORKER_WANTED ||
		entry->holds > 0)
		return -1;
	if (!clock_reached(entry->next_start, now, LAST_BACKOFF))
		return TimestampDifferenceMilliseconds(now, entry->next_start) + 1;
	if (*starting)
		return -1;

	worker_entry_starting(entry);
	begun[i] = now;
	*starting = true;
	if (!start_worker(i))
	{
		no_room = entry->dbid;
		worker_entry_not_started(entry);
		entry->no_room_at = now;
		*starting = false;
		return TimestampDifferenceMilliseconds(now, entry->next_start) + 1;
	}
	return START_TIME;
}

/*
 * If tend_entry() has found no free background worker slot, log this. Called
 * without launch_shared->lock.
 */
static void
log_no_room(void)
{
	List	   *databases;
	const Database *database;

	if (!OidIsValid(no_room))
		return;
	databases = list_databases();
	database = find_database(databases, no_room);
	/* The database may have been dropped meanwhile. */
	if (database != NULL)
		ereport(LOG,
				(errmsg("no background worker slot is free for the blogstore worker of database \"%s\"",
						NameStr(database->name)),
				 errdetail("The launcher will try again later."),
				 errhint(NO_PROCESS_HINT)));
	list_free_deep(databases);
	no_room = InvalidOid;
}

/*
 * Start the workers whose entries are in state WANTED, one at a time. Returns
 * the number of ms for which the launcher may sleep.
 */
static long
tend_entries(void)
{
	long		sleep = NAP_TIME;
	bool		starting = false;

	want_probes();
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);

	/*
	 * The first pass visits the entries whose worker is registered with the
	 * postmaster, and finds out whether a worker is starting. The second pass
	 * visits the other entries.
	 */
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < MAX_DATABASES; i++)
			if ((handle[i] != NULL) == (turn == 0))
			{
				long		wait = tend_entry(i, &starting);

				if (wait >= 0 && wait < sleep)
					sleep = wait;
			}
	LWLockRelease(launch_shared->lock);
	log_no_room();
	return to_probe != NIL ? Min(sleep, 1000) : sleep;
}

static void
tend_server(bool slots)
{
	List	   *databases = list_databases();

	forget_dropped(databases);
	if (slots)
		tend_unused_slots(databases);
	list_free_deep(databases);
}

/*
 * Publish the launcher's latch in shared memory. If an earlier launcher
 * crashed while it started a worker, set the state of that worker's entry back
 * to WANTED.
 */
static void
launcher_attach(void)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	launch_shared->launcher = MyLatch;
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		WorkerEntry *entry = &launch_shared->entry[i];

		if (OidIsValid(entry->dbid) && entry->state == WORKER_STARTING &&
			entry->pid == 0)
			worker_entry_unattended(entry);
	}
	LWLockRelease(launch_shared->lock);
}

void
blogstore_launcher_main(Datum arg)
{
	/* when the launcher last looked for unused slots */
	TimestampTz tended = GetCurrentTimestamp();

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);

	/*
	 * The server ignores a SIGHUP that arrives before this function. So read
	 * the configuration again.
	 */
	ProcessConfigFile(PGC_SIGHUP);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	launcher_attach();
	before_shmem_exit(launcher_detach, (Datum) 0);
	MemoryContextSwitchTo(TopMemoryContext);
	probe_all();

	for (;;)
	{
		bool		reloaded = false;
		int			rc;

		rc = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					   tend_entries(), wait_event(WAIT_LAUNCHER_MAIN));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			reloaded = true;
		}
		if (reloaded || clock_passed(tended, GetCurrentTimestamp(), NAP_TIME))
		{
			tend_server(true);
			tended = GetCurrentTimestamp();
		}
		else if (rc & WL_TIMEOUT)
		{
			/*
			 * A worker may be due for a restart now. First free the entries of
			 * dropped databases, so that tend_entries() starts no workers for
			 * them.
			 */
			tend_server(false);
		}
	}
}
