/*
 * upgrade_builder.c
 *		A process that builds an index of a large leaf beside its writers, and how a
 *		backend has it do so.
 *
 * CREATE INDEX CONCURRENTLY begins and ends transactions, and waits for those that were
 * there before. upgrade_containers() cannot do that in its own transactions, whose caller may
 * be a procedure or a DO block; so a background worker does it in transactions of its own,
 * while the backend waits without a snapshot or a lock that could be in its way. If the
 * backend is cancelled or ends, so does the worker; what is left of the index is not valid
 * then, and dropped when somebody calls again.
 *
 * The worker becomes the leaf's owner before it looks at anything of the database. It is
 * none of the launcher's: the library need not be preloaded for it.
 *
 * Runs in backends, and in background workers of its own.
 */
#include "postgres.h"

#include "compat.h"
#include "upgrade/upgrade.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "libpq/pqsignal.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define BUILDER_NAME "blogstore index builder"

extern PGDLLEXPORT void blogstore_index_builder_main(Datum arg);

/* What the worker is told. */
typedef struct BuildOrder
{
	Oid			database;
	Oid			owner;			/* of the leaf */
	LargeBuild	build;
	/* settings of the session that it builds for */
	int			maintenance_work_mem;
	int			parallel_workers;
	int			lock_timeout;
} BuildOrder;

StaticAssertDecl(sizeof(BuildOrder) <= BGW_EXTRALEN,
				 "an order has to fit into what a worker is registered with");

/* ------------------------------------------------------------------------
 * In the backend
 * ------------------------------------------------------------------------ */

static void
stop_builder(int code, Datum handle)
{
	TerminateBackgroundWorker((BackgroundWorkerHandle *) DatumGetPointer(handle));
}

/*
 * Have the index of a large leaf built, and wait for that, between two steps: in a
 * transaction that has done nothing so far. Whether there is an index now shows from the
 * catalogs. False: the server has no room for another process.
 */
bool
leaf_build_beside(const LargeBuild *build, Oid owner)
{
	BackgroundWorker process;
	BackgroundWorkerHandle *handle;
	BuildOrder	order = {
		MyDatabaseId, owner, *build, maintenance_work_mem,
		max_parallel_maintenance_workers, LockTimeout
	};

	memset(&process, 0, sizeof(process));
	process.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	process.bgw_start_time = BgWorkerStart_RecoveryFinished;
	process.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(process.bgw_library_name, "blogstore",
			sizeof(process.bgw_library_name));
	strlcpy(process.bgw_function_name, "blogstore_index_builder_main",
			sizeof(process.bgw_function_name));
	strlcpy(process.bgw_name, BUILDER_NAME, BGW_MAXLEN);
	strlcpy(process.bgw_type, BUILDER_NAME, BGW_MAXLEN);
	memcpy(process.bgw_extra, &order, sizeof(order));
	process.bgw_notify_pid = MyProcPid;

	/* it waits for all who have a snapshot of before */
	InvalidateCatalogSnapshot();
	if (!RegisterDynamicBackgroundWorker(&process, &handle))
		return false;
	PG_ENSURE_ERROR_CLEANUP(stop_builder, PointerGetDatum(handle));
	{
		if (WaitForBackgroundWorkerShutdown(handle) == BGWH_POSTMASTER_DIED)
			ereport(FATAL,
					(errcode(ERRCODE_ADMIN_SHUTDOWN),
					 errmsg("postmaster exited while an index was being built")));
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_builder, PointerGetDatum(handle));
	pfree(handle);
	return true;
}

/* ------------------------------------------------------------------------
 * In the worker
 * ------------------------------------------------------------------------ */

static void
set_number(const char *name, int value)
{
	char		text[16];

	snprintf(text, sizeof(text), "%d", value);
	SetConfigOption(name, text, PGC_USERSET, PGC_S_SESSION);
}

/* Settings of the database must not change what is done, those of the caller may. */
static void
builder_settings(const BuildOrder *order)
{
	static const char *const setting[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"}
	};

	for (int i = 0; i < lengthof(setting); i++)
		SetConfigOption(setting[i][0], setting[i][1], PGC_SUSET, PGC_S_SESSION);
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_SESSION);
	set_number("maintenance_work_mem", order->maintenance_work_mem);
	set_number("max_parallel_maintenance_workers", order->parallel_workers);
	set_number("lock_timeout", order->lock_timeout);
}

/*
 * Lock the leaf against who would do the same; false: it has the index by now, or has gone, or
 * is somebody else's.
 */
static bool
lock_leaf(const LargeBuild *wanted)
{
	/* whoever has the lock may wait for all that have a snapshot */
	InvalidateCatalogSnapshot();
	LockRelationOid(wanted->leaf, ShareUpdateExclusiveLock);
	return leaf_lacks_index(wanted);
}

/*
 * Build the index, unless somebody else has had it under way, and has been waited for. Ends the
 * transaction, once or more often; another has begun then. Locks: ShareUpdateExclusiveLock on
 * the leaf. Waits for who has it locked so, for all who write to the leaf when it begins, and
 * for all whose snapshot is older than the index.
 */
static void
build(const LargeBuild *wanted)
{
	ObjectAddress begun;
	ObjectAddresses *all = new_object_addresses();
	bool		valid = true;

	if (!lock_leaf(wanted))
		return;
	pgstat_report_activity(STATE_RUNNING,
						   psprintf("blogstore.upgrade_containers(): index of %s",
									get_rel_name(wanted->leaf)));
	ObjectAddressSet(begun, RelationRelationId,
					 leaf_index_begun(wanted->leaf, wanted->index, &valid));
	if (OidIsValid(begun.objectId) && !valid)
	{
		/* what is left of a build that was cut short, as DROP INDEX CONCURRENTLY does it */
		PushActiveSnapshot(GetTransactionSnapshot());
		add_exact_object_address(&begun, all);
		performMultipleDeletions(all, DROP_RESTRICT,
								 PERFORM_DELETION_CONCURRENTLY);
		CommitTransactionCommand();
		StartTransactionCommand();
		if (!lock_leaf(wanted))
			return;
		begun.objectId = leaf_index_begun(wanted->leaf, wanted->index, &valid);
	}
	if (!OidIsValid(begun.objectId))
		leaf_build_index(wanted->leaf, wanted->index, true);
}

/* Entry point; the order is in what the worker was registered with. */
void
blogstore_index_builder_main(Datum arg)
{
	BuildOrder	order;

	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(order.database, InvalidOid, 0);
	builder_settings(&order);
	pgstat_report_appname(BUILDER_NAME);
	/* outside of transactions, so that it holds in all of them */
	SetUserIdAndSecContext(order.owner, 0);
	StartTransactionCommand();
	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext,
												BUILDER_NAME,
												ALLOCSET_DEFAULT_SIZES));
	build(&order.build);
	CommitTransactionCommand();
}
