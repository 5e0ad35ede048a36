/*
 * ddl_hook.c
 *		The hook on DDL that concerns a worker: it gets out of the way of commands
 *		that need a database for themselves (DROP DATABASE, ALTER DATABASE RENAME
 *		or SET TABLESPACE, CREATE DATABASE ... TEMPLATE).
 *
 * These fail while anyone is connected, and DROP DATABASE also while a slot of
 * the database is active. The worker ends first, is not started meanwhile,
 * and starts again afterwards if the database is still there. It ends only for
 * who may run the command: the checks here are the server's own, made once more
 * before (dbcommands.c), and the statement is read by the server's own means,
 * for the grammar allows more than makes sense.
 *
 * CREATE and DROP EXTENSION and DROP SCHEMA are watched too: a worker that is
 * not running is started to look whether it is needed, and drops its slot if it
 * is not. So is COMMIT PREPARED, which may do what these, start_worker() or
 * create_containers() have left to it; and since what it commits may be items, the
 * worker is woken.
 *
 * Statements of code that the owner has attached are refused here, too, before anything else is
 * done for them (guard_check_statement()).
 *
 * Runs in backends, and that code in the worker.
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
 * Keep the worker of a database from being started. Returns its entry; NULL if
 * the database has none.
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

/* The command that held a worker is over, or has failed. */
static void
release_worker(int code, Datum arg)
{
	WorkerEntry *entry = (WorkerEntry *) DatumGetPointer(arg);

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	worker_entry_release(entry);
	LWLockRelease(launch_shared->lock);
	launcher_wake();
}

/* The database of a worker that is held was dropped. */
static void
database_dropped(WorkerEntry *entry)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	worker_entry_dropped(entry);
	LWLockRelease(launch_shared->lock);
}

/* ------------------------------------------------------------------------
 * Which database a command needs, and for whom
 * ------------------------------------------------------------------------ */

/* May the current user create databases? */
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

/* Is a database a template, which others are copied from? */
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

/* A database of the current user's by name; InvalidOid if it is none. */
static Oid
own_database(const char *name)
{
	Oid			dbid = get_database_oid(name, true);

	if (OidIsValid(dbid) && !compat_is_database_owner(dbid, GetUserId()))
		return InvalidOid;
	return dbid;
}

/*
 * An option of a statement by its name; NULL if it is missing, or given twice,
 * which the command refuses.
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

/* The database that CREATE DATABASE copies. */
static Oid
database_copied(const CreatedbStmt *stmt)
{
	DefElem    *option = statement_option(stmt->options, "template");
	const char *name = "template1";
	Oid			dbid;

	if (!may_create_databases())
		return InvalidOid;
	if (option != NULL && option->arg != NULL)	/* NULL: DEFAULT */
		name = defGetString(option);
	dbid = get_database_oid(name, true);
	if (OidIsValid(dbid) && !database_is_template(dbid))
		return own_database(name);
	return dbid;
}

/* The database that ALTER DATABASE moves to another tablespace. */
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
 * The database that a command needs for itself and this user may have it do that
 * to; InvalidOid for none. But for renaming, these commands fail in a transaction
 * block, and but for copying, in the database itself.
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

/* ------------------------------------------------------------------------
 * The hook
 * ------------------------------------------------------------------------ */

/* Does a list of names have the extension's, which is its schema's, too? */
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
 * May this command, once it is done, make a worker needed, or one that is stopped
 * useless?
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

/* Does it commit what somebody has prepared? */
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
 * Run a statement, with the worker of a database that it needs held. What looks at
 * the statement before is not inlined: its variables would be in doubt after an
 * error's longjmp(), as the compiler sees it.
 */
static void
blogstore_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				  ProcessUtilityContext context, ParamListInfo params,
				  QueryEnvironment *query_env, DestReceiver *dest,
				  QueryCompletion *qc)
{
	Node	   *stmt = pstmt->utilityStmt;
	bool		prepared = commits_prepared(stmt);
	/* what is prepared has the lock if it decides about the worker */
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
		/* the last record of this transaction is the other one's commit */
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

/* Install the hook; once at load. */
void
ddl_hook_init(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = blogstore_utility;
}
