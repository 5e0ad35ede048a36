/*
 * hold.c
 *		Getting the worker out of the way of commands that need a database for
 *		themselves: DROP DATABASE, ALTER DATABASE RENAME or SET TABLESPACE,
 *		CREATE DATABASE ... TEMPLATE.
 *
 * They fail while anyone is connected, and DROP DATABASE also while a slot of
 * the database is active. The worker ends first, is not started meanwhile,
 * and starts again afterwards if the database is still there. CREATE and DROP
 * EXTENSION and DROP SCHEMA are watched too: a worker that is not running is
 * started to look whether it is needed, and drops its slot if it is not.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "change_feed/change_feed.h"
#include "compat.h"

#include <signal.h>

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

static ProcessUtility_hook_type previous_utility_hook = NULL;

/* Wait until a process that is on its way out is gone (reaped). */
static void
wait_for_exit(int pid)
{
	for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(5000L);
	}
}

/*
 * End an entry's worker, and wait until it is gone. The caller has seen to it
 * that it is not started again.
 */
void
worker_end(WorkerEntry *entry)
{
	int			last = 0;

	ConditionVariablePrepareToSleep(&entry->progress);
	for (;;)
	{
		int			pid;

		LWLockAcquire(feed_shared->lock, LW_SHARED);
		pid = entry->pid;
		LWLockRelease(feed_shared->lock);
		if (pid == 0)
			break;
		last = pid;
		(void) kill(pid, SIGTERM);
		(void) ConditionVariableTimedSleep(&entry->progress, 100,
										   PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	if (last != 0)
		wait_for_exit(last);
}

static void
hold_release(int code, Datum arg)
{
	WorkerEntry *entry = (WorkerEntry *) DatumGetPointer(arg);

	LWLockAcquire(feed_shared->lock, LW_EXCLUSIVE);
	if (entry->holds > 0)
		entry->holds--;
	if (entry->state == WORKER_NOT_NEEDED && entry->pid == 0)
		entry->dbid = InvalidOid;	/* the database was dropped */
	LWLockRelease(feed_shared->lock);
	launcher_wake();
}

/* The database that a command needs for itself; InvalidOid for none. */
static Oid
database_needed(Node *stmt)
{
	const char *name = NULL;
	ListCell   *lc;
	Oid			dbid;

	if (IsA(stmt, DropdbStmt))
		name = ((DropdbStmt *) stmt)->dbname;
	else if (IsA(stmt, AlterDatabaseStmt))
		name = ((AlterDatabaseStmt *) stmt)->dbname;
	else if (IsA(stmt, RenameStmt) &&
			 ((RenameStmt *) stmt)->renameType == OBJECT_DATABASE)
		name = ((RenameStmt *) stmt)->subname;
	else if (IsA(stmt, CreatedbStmt))
	{
		name = "template1";
		foreach(lc, ((CreatedbStmt *) stmt)->options)
		{
			DefElem    *option = lfirst_node(DefElem, lc);

			if (strcmp(option->defname, "template") == 0 && option->arg)
				name = strVal(option->arg);
		}
	}
	if (name == NULL)
		return InvalidOid;
	dbid = get_database_oid(name, true);
	/* those who may not run the command do not stop a worker either */
	if (OidIsValid(dbid) && !compat_is_database_owner(dbid, GetUserId()))
		return InvalidOid;
	return dbid;
}

/* May this command make a worker needed, or one that is stopped useless? */
static bool
changes_need(Node *stmt)
{
	ObjectType	type;

	if (IsA(stmt, CreateExtensionStmt))
		return strcmp(((CreateExtensionStmt *) stmt)->extname,
					  "blogstore") == 0;
	if (!IsA(stmt, DropStmt))
		return false;
	type = ((DropStmt *) stmt)->removeType;
	return type == OBJECT_EXTENSION || type == OBJECT_SCHEMA;
}

#define NEXT_UTILITY \
	(previous_utility_hook ? previous_utility_hook : standard_ProcessUtility)
#define UTILITY_ARGUMENTS \
	pstmt, query, read_only_tree, context, params, query_env, dest, qc

static void
blogstore_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				  ProcessUtilityContext context, ParamListInfo params,
				  QueryEnvironment *query_env, DestReceiver *dest,
				  QueryCompletion *qc)
{
	Oid			dbid = InvalidOid;
	WorkerEntry *entry = NULL;

	if (changes_need(pstmt->utilityStmt))
		notify_starting();
	if (context == PROCESS_UTILITY_TOPLEVEL)
		dbid = database_needed(pstmt->utilityStmt);
	if (OidIsValid(dbid))
	{
		LWLockAcquire(feed_shared->lock, LW_EXCLUSIVE);
		entry = worker_entry(dbid, false);
		if (entry != NULL)
			entry->holds++;
		LWLockRelease(feed_shared->lock);
	}
	if (entry == NULL)
	{
		NEXT_UTILITY(UTILITY_ARGUMENTS);
		return;
	}

	PG_ENSURE_ERROR_CLEANUP(hold_release, PointerGetDatum(entry));
	{
		worker_end(entry);
		NEXT_UTILITY(UTILITY_ARGUMENTS);
		if (IsA(pstmt->utilityStmt, DropdbStmt))
			entry->state = WORKER_NOT_NEEDED;
	}
	PG_END_ENSURE_ERROR_CLEANUP(hold_release, PointerGetDatum(entry));
	hold_release(0, PointerGetDatum(entry));
}

/* Install the hook; once by _PG_init, when preloaded. */
void
hold_init(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = blogstore_utility;
}
