/*
 * launcher.c
 *		The blogstore launcher: starts one worker in each database with
 *		containers, and restarts workers that have ended.
 *
 * The postmaster starts the launcher after recovery, so on a standby it starts
 * with the promotion. The launcher first starts a worker in every valid
 * database that accepts connections and is not a template. A worker that finds
 * no containers (blogstore's tables) exits. In this way restored and upgraded
 * databases get a worker although they have no replication slot yet. Later, a
 * backend that finds containers without a worker creates an entry in shared
 * memory, which tells the launcher to start one.
 *
 * The launcher starts one worker at a time, so that many databases do not use
 * up all background worker slots at once. If a worker takes longer than
 * START_TIME to start, the launcher starts the next one.
 *
 * Runs in the launcher process, which is connected to no database.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "views/change_feed/change_feed.h"
#include "views/launcher/worker_entries.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
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
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * Interval, in ms, between checks for dropped databases if nothing wakes the
 * launcher.
 */
#define NAP_TIME 60000

/*
 * How long the launcher waits for a starting worker before it starts the next
 * one, in ms. A worker that is starting may wait much longer, for a lock in
 * its database.
 */
#define START_TIME 3000

extern PGDLLEXPORT void blogstore_launcher_main(Datum arg);

static BackgroundWorkerHandle *handle[MAX_DATABASES];
static TimestampTz begun[MAX_DATABASES];	/* when the worker of each entry
											 * was last started */

/*
 * Bytes of WAL that the slot of a stopped worker retained at the last warning;
 * 0: not warned.
 */
static int64 warned[MAX_DATABASES];

/*
 * Database whose worker could not be started, for the log; InvalidOid: none.
 */
static Oid	no_room = InvalidOid;
static List *to_probe = NIL;	/* databases that the launcher found at its
								 * start and that still lack an entry */

/* Fill in a registration with the postmaster, of the launcher or a worker. */
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

/*
 * Register the launcher with the postmaster. Called once, when the server
 * loads the library.
 */
void
launcher_register(void)
{
	BackgroundWorker launcher;

	describe(&launcher, "blogstore launcher", "blogstore_launcher_main");
	launcher.bgw_restart_time = 1;
	RegisterBackgroundWorker(&launcher);
}

/*
 * Exit callback of the launcher: withdraw its latch. Does not take the lock of
 * the shared memory, because this process may already hold it. A backend that
 * has just read the old pointer sets the latch of an ended process, which does
 * no harm.
 */
static void
launcher_detach(int code, Datum arg)
{
	launch_shared->launcher = NULL;
}

/*
 * Return the OIDs of all databases in which a worker may run: valid, accepting
 * connections, no template. The list is in TopMemoryContext.
 */
static List *
list_databases(void)
{
	List	   *result = NIL;
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database db = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old;

		if (!db->datallowconn || db->datistemplate ||
			compat_database_is_invalid(db))
			continue;
		old = MemoryContextSwitchTo(TopMemoryContext);
		result = lappend_oid(result, db->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	return result;
}

/*
 * Create an entry in state WANTED for each database in to_probe, and remove
 * the database from that list. Stops when no entry is free.
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
 * Free the unused entries of databases that were dropped or no longer accept
 * connections.
 */
static void
forget_dropped(void)
{
	List	   *databases = list_databases();

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		WorkerEntry *entry = &launch_shared->entry[i];

		if (OidIsValid(entry->dbid) && !worker_entry_in_use(entry) &&
			handle[i] == NULL && !list_member_oid(databases, entry->dbid))
			worker_entry_free(entry);
	}
	LWLockRelease(launch_shared->lock);
	list_free(databases);
}

/*
 * Register the worker of entry number i with the postmaster. Returns false if
 * no background worker slot is free (max_worker_processes).
 */
static bool
start_worker(int i)
{
	BackgroundWorker worker;

	describe(&worker, "blogstore worker", "blogstore_worker_main");
	/* the launcher restarts the worker itself, with increasing pauses */
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = Int32GetDatum(i);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, &handle[i]);
}

/*
 * Start the worker of entry number i if the entry is in state WANTED and its
 * restart pause is over. The caller holds the lock exclusively.
 *
 * *starting tells whether some worker is starting. If so, this one is not
 * started yet; if this one is started, *starting is set.
 *
 * Returns after how many ms the entry has to be looked at again, or -1 if the
 * launcher will be woken before that is necessary.
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
		 * A worker that has attached to the entry sets the state itself when
		 * it exits. This one ended before it attached.
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
		return -1;				/* only one worker starts at a time */

	worker_entry_starting(entry);
	begun[i] = now;
	*starting = true;
	if (!start_worker(i))
	{
		no_room = entry->dbid;
		worker_entry_not_started(entry);
		strlcpy(entry->last_error,
				"no free background worker slot; raise max_worker_processes",
				ERROR_LENGTH);
		entry->last_error_at = now;
		*starting = false;
		return TimestampDifferenceMilliseconds(now, entry->next_start) + 1;
	}
	return START_TIME;
}

/*
 * Log that no background worker slot was free, if tend_entry() has noted that.
 * The caller does not hold the lock.
 */
static void
log_no_room(void)
{
	if (!OidIsValid(no_room))
		return;
	ereport(LOG,
			(errmsg("no background worker slot is free for the blogstore worker of database %u",
					no_room),
			 errdetail("The launcher will try again later."),
			 errhint("Raise max_worker_processes and restart the server.")));
	no_room = InvalidOid;
}

/*
 * Start the workers that are wanted. Returns how long the launcher may sleep,
 * in ms.
 */
static long
tend_entries(void)
{
	long		sleep = NAP_TIME;
	bool		starting = false;

	want_probes();
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);

	/*
	 * The first pass looks at entries whose worker has a process, to find out
	 * whether a worker is starting. The second pass may start one.
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

/*
 * Log a warning for each stopped worker whose slot retains more WAL than
 * max_wal_size. The warning is repeated when the amount has doubled.
 */
static void
warn_of_stopped(void)
{
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		WorkerEntry *entry = &launch_shared->entry[i];
		char		name[NAMEDATALEN];
		Oid			dbid;
		bool		stopped;
		int64		kept;

		LWLockAcquire(launch_shared->lock, LW_SHARED);
		dbid = entry->dbid;
		stopped = entry->state == WORKER_STOPPED;
		LWLockRelease(launch_shared->lock);
		if (!OidIsValid(dbid) || !stopped)
		{
			warned[i] = 0;
			continue;
		}
		worker_slot_name(dbid, name);
		kept = slot_keeps(name);
		if (kept < (int64) max_wal_size_mb * 1024 * 1024 ||
			kept < 2 * warned[i])
			continue;
		warned[i] = kept;
		ereport(WARNING,
				(errmsg("replication slot \"%s\" of a stopped blogstore worker keeps %lld MB of WAL",
						name, (long long) (kept / (1024 * 1024))),
				 errhint("In its database, call blogstore.start_worker(), or drop the slot with blogstore.stop_worker(drop_slot => true).")));
	}
}

/*
 * Publish the launcher's latch. If an earlier launcher has crashed while a
 * worker was starting, set the worker's entry back to WANTED.
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
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	launcher_attach();
	before_shmem_exit(launcher_detach, (Datum) 0);
	to_probe = list_databases();

	for (;;)
	{
		long		sleep = tend_entries();
		int			rc;

		rc = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					   sleep, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (rc & WL_TIMEOUT)
		{
			forget_dropped();
			warn_of_stopped();
		}
	}
}
