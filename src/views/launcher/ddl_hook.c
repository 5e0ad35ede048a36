/*
 * ddl_hook.c
 *		ProcessUtility hook. Before a command that needs a database without
 *		sessions, the hook ends the worker of that database. After DDL that may
 *		have changed whether a database needs a worker, it starts one.
 *
 * These commands fail while a session is connected to the database: DROP
 * DATABASE, ALTER DATABASE RENAME, ALTER DATABASE SET TABLESPACE, and CREATE
 * DATABASE that copies the database. DROP DATABASE also fails while a slot of
 * the database is active. So the hook ends the worker, and keeps the launcher
 * from starting another one during the command.
 *
 * A user who may not run the command must not be able to end the worker. So
 * the hook first makes the same checks as the server (dbcommands.c). It reads
 * options with defGetString(), as the server does, because the grammar allows
 * values of any type.
 *
 * After CREATE EXTENSION, DROP EXTENSION and DROP SCHEMA, the hook starts a
 * worker. A worker that is not needed drops its slot and exits. The hook also
 * starts a worker after COMMIT PREPARED of a transaction that contained such a
 * command, start_worker() or create_containers(). COMMIT PREPARED also wakes a
 * running worker, because it may commit items.
 *
 * The hook also rejects statements that attached code must not run
 * (guard_check_statement()).
 *
 * Runs in backends, and in the worker for statements of attached code.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "views/launcher/worker_entries.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/syscache.h"

static ProcessUtility_hook_type previous_utility_hook = NULL;

/*
 * Keep the launcher from starting the worker of a database until
 * release_worker(). Returns the database's entry in shared memory, or NULL if
 * it has none.
 */
static pg_noinline WorkerEntry *
hold_worker(Oid dbid)
{
	WorkerEntry *entry;

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry = worker_entry_find(dbid);
	if (entry != NULL)
		worker_entry_hold(entry);
	LWLockRelease(launch_shared->lock);
	return entry;
}

/*
 * Undo hold_worker(), after the command has succeeded or failed. Also the
 * callback of PG_ENSURE_ERROR_CLEANUP.
 *
 * arg: the WorkerEntry of the database.
 */
static void
release_worker(int code, Datum arg)
{
	WorkerEntry *entry = (WorkerEntry *) DatumGetPointer(arg);

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	worker_entry_release(entry);
	LWLockRelease(launch_shared->lock);
	launcher_wake();
}

static void
database_dropped(WorkerEntry *entry)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	worker_entry_dropped(entry);
	LWLockRelease(launch_shared->lock);
}

/* ------------------------------------------------------------------------
 * Which database a command needs without sessions
 * ------------------------------------------------------------------------ */

static bool
may_create_databases(void)
{
	HeapTuple	tuple;
	bool		result;

	if (superuser())
		return true;
	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_authid) GETSTRUCT(tuple))->rolcreatedb;
	ReleaseSysCache(tuple);
	return result;
}

bool
database_is_template(Oid dbid)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(dbid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_database) GETSTRUCT(tuple))->datistemplate;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Return the OID of the database with the given name. Returns InvalidOid if
 * the database does not exist or the current user does not own it.
 */
static Oid
own_database(const char *name)
{
	Oid			dbid = get_database_oid(name, true);

	if (OidIsValid(dbid) && !compat_is_database_owner(dbid, GetUserId()))
		return InvalidOid;
	return dbid;
}

/*
 * Return the option with the given name. Returns NULL if the option is
 * missing, or given twice. The server rejects an option that is given twice.
 */
static DefElem *
statement_option(List *options, const char *name)
{
	DefElem    *found = NULL;
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, name) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = option;
	}
	return found;
}

/*
 * Return the OID of the template database of a CREATE DATABASE, or InvalidOid
 * if the current user may not copy that database.
 */
static Oid
database_copied(const CreatedbStmt *stmt)
{
	DefElem    *option = statement_option(stmt->options, "template");
	const char *name = "template1";
	Oid			dbid;

	if (!may_create_databases())
		return InvalidOid;
	if (option != NULL && option->arg != NULL)	/* DEFAULT is NULL */
		name = defGetString(option);
	dbid = get_database_oid(name, true);
	if (OidIsValid(dbid) && !database_is_template(dbid))
		return own_database(name);
	return dbid;
}

/*
 * Return the OID of the database that ALTER DATABASE SET TABLESPACE moves, or
 * InvalidOid if the current user may not move it.
 */
static Oid
database_moved(const AlterDatabaseStmt *stmt)
{
	DefElem    *option = statement_option(stmt->options, "tablespace");
	Oid			tablespace;

	if (option == NULL || option->arg == NULL ||
		list_length(stmt->options) != 1)
		return InvalidOid;
	tablespace = get_tablespace_oid(defGetString(option), true);
	if (!OidIsValid(tablespace) ||
		!compat_may_use_tablespace(tablespace, GetUserId()))
		return InvalidOid;
	return own_database(stmt->dbname);
}

/*
 * Return the OID of the database that must have no sessions while a command
 * runs. Returns InvalidOid if there is none, or if the command will fail.
 *
 * In a transaction block, all of these commands fail except RENAME. On the
 * current database, all fail except CREATE DATABASE.
 */
static pg_noinline Oid
database_needed(Node *stmt, ProcessUtilityContext context)
{
	bool		alone = context == PROCESS_UTILITY_TOPLEVEL &&
		!IsInTransactionBlock(true);
	Oid			dbid = InvalidOid;

	if (IsA(stmt, CreatedbStmt))
		return alone && !XactReadOnly ?
			database_copied((CreatedbStmt *) stmt) : InvalidOid;

	if (IsA(stmt, RenameStmt))
	{
		if (((RenameStmt *) stmt)->renameType == OBJECT_DATABASE &&
			!XactReadOnly && may_create_databases())
			dbid = own_database(((RenameStmt *) stmt)->subname);
	}
	else if (!alone || XactReadOnly)
		return InvalidOid;
	else if (IsA(stmt, DropdbStmt))
		dbid = own_database(((DropdbStmt *) stmt)->dbname);
	else if (IsA(stmt, AlterDatabaseStmt))
		dbid = database_moved((AlterDatabaseStmt *) stmt);
	return dbid == MyDatabaseId ? InvalidOid : dbid;
}

static bool
names_blogstore(List *objects)
{
	ListCell   *lc;

	foreach(lc, objects)
	{
		Node	   *name = lfirst(lc);

		if (name != NULL && IsA(name, String) &&
			strcmp(strVal(name), BLOGSTORE_SCHEMA) == 0)
			return true;
	}
	return false;
}

/*
 * Return whether a command may change whether this database needs a worker:
 * CREATE EXTENSION blogstore, or DROP of that extension or of its schema.
 */
static bool
changes_need(Node *stmt)
{
	ObjectType	type;

	if (IsA(stmt, CreateExtensionStmt))
		return strcmp(((CreateExtensionStmt *) stmt)->extname,
					  BLOGSTORE_SCHEMA) == 0;
	if (!IsA(stmt, DropStmt) || my_worker_entry() == NULL)
		return false;
	type = ((DropStmt *) stmt)->removeType;
	return (type == OBJECT_EXTENSION || type == OBJECT_SCHEMA) &&
		names_blogstore(((DropStmt *) stmt)->objects);
}

static bool
commits_prepared(Node *stmt)
{
	return IsA(stmt, TransactionStmt) &&
		((TransactionStmt *) stmt)->kind == TRANS_STMT_COMMIT_PREPARED;
}

#define NEXT_UTILITY \
	(previous_utility_hook ? previous_utility_hook : standard_ProcessUtility)
#define UTILITY_ARGUMENTS \
	pstmt, query, read_only_tree, context, params, query_env, dest, qc

/*
 * The hook: end the worker of a database that must have no sessions, run the
 * statement, and let the launcher start the worker again.
 *
 * hold_worker() and database_needed() are pg_noinline, because otherwise the
 * compiler warns that longjmp() may clobber their variables.
 */
static void
blogstore_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				  ProcessUtilityContext context, ParamListInfo params,
				  QueryEnvironment *query_env, DestReceiver *dest,
				  QueryCompletion *qc)
{
	Node	   *stmt = pstmt->utilityStmt;
	bool		prepared = commits_prepared(stmt);

	/*
	 * For COMMIT PREPARED: whether another transaction, usually the prepared
	 * one, holds the lock of start_stop_lock(). If so, a worker is started
	 * after the commit, and checks whether it is needed.
	 */
	bool		decides = prepared && start_stop_locked();
	Oid			dbid;
	WorkerEntry *entry;

	guard_check_statement(stmt);
	dbid = database_needed(stmt, context);
	entry = OidIsValid(dbid) ? hold_worker(dbid) : NULL;
	if (entry == NULL)
	{
		bool		look = changes_need(stmt);

		NEXT_UTILITY(UTILITY_ARGUMENTS);
		if (look)
			start_stop_lock();
		if (look || decides)
			worker_look_on_commit();

		/*
		 * XactLastRecEnd is the end of the last WAL record of this session:
		 * the commit record of the prepared transaction.
		 */
		if (prepared)
			worker_wake(XactLastRecEnd);
		return;
	}

	PG_ENSURE_ERROR_CLEANUP(release_worker, PointerGetDatum(entry));
	{
		worker_entry_end(entry);
		NEXT_UTILITY(UTILITY_ARGUMENTS);
		if (IsA(stmt, DropdbStmt))
			database_dropped(entry);
	}
	PG_END_ENSURE_ERROR_CLEANUP(release_worker, PointerGetDatum(entry));
	release_worker(0, PointerGetDatum(entry));
}

void
ddl_hook_init(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = blogstore_utility;
}
