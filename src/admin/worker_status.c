/*
 * worker_status.c
 *		The functions behind the views blogstore.stat_worker,
 *		blogstore.stat_workers and blogstore.progress.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/retained_wal.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/preload.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "views/change_feed/change_feed.h"
#include "views/launcher/launcher.h"
#include "views/worker/worker.h"

#include "access/htup_details.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(blogstore_worker_status);
PG_FUNCTION_INFO_V1(blogstore_workers_status);
SQL_FUNCTION(get_progress);

/* The columns of stat_workers. stat_worker has all but the first. */
typedef enum StatusColumn
{
	STATUS_DATABASE,
	STATUS_STATE,
	STATUS_PID,
	STATUS_SLOT,
	STATUS_LAG_BYTES,
	STATUS_LAG_TIME,
	STATUS_APPLIED_LSN,
	STATUS_RETAINED_BYTES,
	STATUS_WAL_STATUS,
	STATUS_SAFE_WAL_SIZE,
	STATUS_BATCHES,
	STATUS_CHANGES,
	STATUS_REBUILDS,
	STATUS_LAST_REBUILD_REASON,
	STATUS_LAST_REBUILD_AT,
	STATUS_STARTED_AT,
	STATUS_LAST_ERROR,
	STATUS_LAST_ERROR_AT,
	STATUS_HINT
} StatusColumn;

#define N_STATUS (STATUS_HINT + 1)

/*
 * If an open transaction makes a slot retain more than this many bytes of WAL,
 * a hint in stat_worker names the transaction.
 */
#define RETAINED_MUCH ((int64) 64 * 1024 * 1024)

typedef struct Status
{
	Oid			dbid;			/* database whose worker the columns
								 * describe */
	Datum		value[N_STATUS];
	bool		isnull[N_STATUS];
} Status;

static void
status_set(Status *status, StatusColumn column, Datum value)
{
	status->value[column] = value;
	status->isnull[column] = false;
}

static void
status_text(Status *status, StatusColumn column, const char *text)
{
	status_set(status, column, CStringGetTextDatum(text));
}

static void
status_lag_time(Status *status, int64 time)
{
	Interval   *lag = palloc0(sizeof(Interval));

	lag->time = time;
	status_set(status, STATUS_LAG_TIME, IntervalPGetDatum(lag));
}

/*
 * Set the columns applied_lsn and lag_bytes.
 *
 * shown: the views show all commits before this WAL position
 * end: end of the WAL that this server has written or, as a standby, replayed
 */
static void
status_position(Status *status, XLogRecPtr shown, XLogRecPtr end)
{
	status_set(status, STATUS_APPLIED_LSN, LSNGetDatum(shown));
	status_set(status, STATUS_LAG_BYTES,
			   Int64GetDatum(shown < end ? end - shown : 0));
}

/*
 * Set the columns applied_lsn, lag_bytes and lag_time of a worker that runs.
 *
 * shown: the views show all commits before this WAL position
 * caught_up: the value of clock_elapsed() when the views last showed all WAL
 */
static void
status_lag(Status *status, XLogRecPtr shown, int64 caught_up)
{
	XLogRecPtr	flushed = GetFlushRecPtr(NULL);

	status_position(status, shown, flushed);
	status_lag_time(status, shown < flushed ?
					(clock_elapsed() - caught_up) * 1000 : 0);
}

/*
 * Set the columns slot, retained_bytes, wal_status and safe_wal_size. Also set
 * lag_bytes to the amount of WAL after the slot's confirmed position. If a
 * worker runs, status_lag() later replaces this value by the lag of the views.
 */
static void
status_slot(Status *status)
{
	char		name[NAMEDATALEN];
	XLogRecPtr	confirmed;

	worker_slot_name(status->dbid, name);
	if (SearchNamedReplicationSlot(name, true) == NULL)
		return;
	confirmed = slot_confirmed(name);
	status_text(status, STATUS_SLOT, name);
	slot_wal_read(name, &status->value[STATUS_RETAINED_BYTES],
				  &status->isnull[STATUS_RETAINED_BYTES]);
	if (confirmed != InvalidXLogRecPtr && !RecoveryInProgress())
	{
		XLogRecPtr	flushed = GetFlushRecPtr(NULL);

		status_set(status, STATUS_LAG_BYTES,
				   Int64GetDatum(flushed > confirmed ? flushed - confirmed : 0));
	}
}

/* Return whether a bookkeeping table can be read. If so, lock it. */
static bool
table_readable(Bookkeeping table)
{
	Oid			relid = bookkeeping_lookup(table);

	if (!container_usable(CONTAINER_POSTS) || !OidIsValid(relid))
		return false;
	LockRelationOid(relid, AccessShareLock);
	return bookkeeping_lookup(table) == relid &&
		bookkeeping_problem(table, relid, container_owner()) == NULL;
}

static const char *
state_name(const WorkerEntry *entry)
{
	switch (entry->state)
	{
		case WORKER_WANTED:
			return entry->failures > 0 ? "waiting to restart" : "starting";
		case WORKER_STARTING:
			return "starting";
		case WORKER_CATCHING_UP:
			return "catching up";
		case WORKER_RUNNING:
			return "running";
		case WORKER_BLOCKED:
			return "blocked";
		case WORKER_STOPPED:
			return "stopped";
		case WORKER_NOT_NEEDED:
			break;
	}
	return "no containers";
}

/*
 * Set a hint that names the oldest open transaction that has written. This is
 * done in two cases. If the worker is creating its slot, it has to wait for
 * such transactions. If the slot retains much WAL, the cause may be a
 * transaction that has been open for long.
 */
static void
status_oldest_writer(Status *status)
{
	char		name[NAMEDATALEN];
	int64		retained;
	bool		being_made;
	bool		old;
	char	   *writer;

	worker_slot_name(status->dbid, name);
	being_made = slot_is_being_made(name);
	retained = status->isnull[STATUS_RETAINED_BYTES] ? 0 :
		DatumGetInt64(status->value[STATUS_RETAINED_BYTES]);
	if (!being_made && retained <= RETAINED_MUCH)
		return;
	writer = oldest_writer(&old);
	if (writer == NULL)
		return;
	if (being_made)
		status_text(status, STATUS_HINT,
					psprintf("The replication slot will be created when this transaction ends: %s.",
							 writer));
	else if (old)
		status_text(status, STATUS_HINT,
					psprintf("The replication slot keeps %lld MB of WAL until this transaction ends: %s.",
							 (long long) (retained / (1024 * 1024)), writer));
}

/*
 * Set the columns that come from the worker's WorkerEntry in shared memory.
 *
 * entry: a copy of the WorkerEntry
 */
static void
status_from_entry(Status *status, const WorkerEntry *entry)
{
	XLogRecPtr	shown =
		pg_atomic_read_u64((pg_atomic_uint64 *) &entry->shown_lsn);

	status_text(status, STATUS_STATE, state_name(entry));
	status_set(status, STATUS_BATCHES,
			   Int64GetDatum(pg_atomic_read_u64((pg_atomic_uint64 *) &entry->batches)));
	status_set(status, STATUS_CHANGES,
			   Int64GetDatum(pg_atomic_read_u64((pg_atomic_uint64 *) &entry->changes)));
	status_set(status, STATUS_REBUILDS, Int64GetDatum(entry->rebuilds));
	if (entry->rebuilds > 0)
	{
		status_text(status, STATUS_LAST_REBUILD_REASON,
					entry->last_rebuild_reason);
		status_set(status, STATUS_LAST_REBUILD_AT,
				   TimestampTzGetDatum(entry->last_rebuild_at));
	}
	if (entry->pid != 0)
	{
		status_set(status, STATUS_PID, Int32GetDatum(entry->pid));
		status_set(status, STATUS_STARTED_AT,
				   TimestampTzGetDatum(entry->started_at));
		if (shown != InvalidXLogRecPtr && entry->state != WORKER_BLOCKED)
			status_lag(status, shown, entry->caught_up);
		status_oldest_writer(status);
	}
	else if (entry->holds > 0 && entry->state != WORKER_NOT_NEEDED)
		status_text(status, STATUS_HINT,
					"The worker starts when the command that copies, moves, renames or drops the database has ended.");
	if (entry->last_error_hint[0] != '\0' && status->isnull[STATUS_HINT])
		status_text(status, STATUS_HINT, entry->last_error_hint);
	if (entry->last_error[0] != '\0')
	{
		status_text(status, STATUS_LAST_ERROR, entry->last_error);
		status_set(status, STATUS_LAST_ERROR_AT,
				   TimestampTzGetDatum(entry->last_error_at));
	}
}

static void
status_no_containers(Status *status)
{
	bool		slot = !status->isnull[STATUS_SLOT];
	const char *hint;
	bool		room = worker_no_room(&hint) == NULL;

	if (room)
		hint = slot ?
			"Call blogstore.create_containers(), or blogstore.stop_worker(drop_slot => true) to drop the slot, which keeps all WAL." :
			"Call blogstore.create_containers().";
	else if (slot)
		hint = "Call blogstore.stop_worker(drop_slot => true) to drop the slot, which keeps all WAL.";
	status_text(status, STATUS_STATE, "no containers");
	status_text(status, STATUS_HINT, hint);
}

/*
 * Return the hint for a stopped worker: call start_worker(). Return another
 * hint if start_worker() would fail, because each WorkerEntry in shared memory
 * belongs to another database.
 *
 * kept: bytes of WAL that the worker's slot retains
 */
static const char *
stopped_hint(const Status *status, int64 kept)
{
	const char *hint = NULL;
	bool		room = status->dbid != MyDatabaseId ||
		worker_no_room(&hint) == NULL;

	if (!room && kept == 0)
		return hint;
	if (!room)
		return psprintf("Call blogstore.stop_worker(drop_slot => true) to drop the slot, which keeps %lld kB of WAL; the worker cannot be started, because %d other databases have containers.",
						(long long) (kept / 1024), MAX_DATABASES);
	return kept > 0 ?
		psprintf("Call blogstore.start_worker() to have the views updated again; until then the slot keeps %lld kB of WAL.",
				 (long long) (kept / 1024)) :
		"Call blogstore.start_worker() to have the views updated again.";
}

/*
 * Read from the table change_feed the WAL position that the worker has stored.
 * Returns false if there is no position, or the table cannot be read.
 */
static bool
read_position(AppliedPosition *position)
{
	OwnerScope	scope;

	if (!table_readable(BOOK_CHANGE_FEED))
		return false;
	owner_begin(&scope);
	applied_position_read(position);
	owner_end(&scope);
	return position->applied_lsn != InvalidXLogRecPtr;
}

/*
 * Set applied_lsn and lag_time for a stopped worker of this database. lag_time
 * is the time since the views last showed all WAL.
 *
 * caught_up: the value of clock_elapsed() when the views last showed all WAL;
 * 0 if no worker has run since the server started. If caught_up is 0, lag_time
 * is the time since the worker stored its position.
 */
static void
status_since(Status *status, int64 caught_up)
{
	AppliedPosition position;

	if (read_position(&position))
	{
		status_set(status, STATUS_APPLIED_LSN,
				   LSNGetDatum(position.applied_lsn));
		status_lag_time(status, caught_up != 0 ?
						(clock_elapsed() - caught_up) * 1000 :
						Max(GetCurrentTimestamp() - position.applied_at, 0));
	}
}

/*
 * Set the columns for a stopped worker.
 *
 * caught_up: the value of clock_elapsed() when the views last showed all WAL;
 * 0 if no worker has run since the server started
 */
static void
status_stopped(Status *status, int64 caught_up)
{
	char		name[NAMEDATALEN];

	status_text(status, STATUS_STATE, "stopped");
	if (status->dbid == MyDatabaseId)
		status_since(status, caught_up);
	worker_slot_name(status->dbid, name);
	status_text(status, STATUS_HINT, stopped_hint(status, slot_keeps(name)));
}

/*
 * Return whether stop_worker() has disabled the worker in the table
 * view_state. Returns false if the table cannot be read.
 */
static bool
stopped_by_row(void)
{
	ViewState	state;

	if (!table_readable(BOOK_VIEW_STATE))
		return false;
	view_state_read(&state);
	return !state.enabled;
}

/*
 * Return whether stop_worker() has stopped the worker. A WorkerEntry does not
 * show this until the worker has started. Before, this function reads the
 * table view_state.
 *
 * entry: a copy of the worker's WorkerEntry, or NULL if the database has none
 */
static bool
is_stopped(const WorkerEntry *entry)
{
	if (entry == NULL || entry->state == WORKER_WANTED ||
		entry->state == WORKER_STARTING)
		return stopped_by_row();
	return entry->state == WORKER_STOPPED;
}

/*
 * Set the columns for a worker that waits for a free background worker slot.
 *
 * noticed_at: when the launcher last found no free slot
 */
static void
status_no_process(Status *status, TimestampTz noticed_at)
{
	status_text(status, STATUS_LAST_ERROR, "no free background worker slot");
	status_set(status, STATUS_LAST_ERROR_AT, TimestampTzGetDatum(noticed_at));
	status_text(status, STATUS_HINT, NO_PROCESS_HINT);
}

static void
status_disabled(Status *status, const char *why, const char *hint)
{
	status_text(status, STATUS_STATE, "disabled");
	if (why != NULL)
		status_text(status, STATUS_LAST_ERROR, why);
	status_text(status, STATUS_HINT, hint);
}

/*
 * Set the columns for a standby. The views of a standby are those of the
 * primary at the WAL position that the standby has replayed.
 */
static void
status_standby(Status *status)
{
	AppliedPosition position;

	status_disabled(status, NULL,
					"This is a standby; the worker runs on the primary.");
	if (status->dbid == MyDatabaseId && read_position(&position))
		status_position(status, position.applied_lsn,
						GetXLogReplayRecPtr(NULL));
}

/*
 * Return the hint for a server that does not preload the library. If a slot
 * exists, the slot retains WAL, and the hint also says how to drop the slot.
 */
static const char *
preload_hint(const Status *status)
{
	if (status->isnull[STATUS_SLOT])
		return PRELOAD_HINT;
	return PRELOAD_HINT " Until then the slot keeps all WAL, and the server does not start with wal_level below " COMPAT_DECODING_LEVEL "; blogstore.stop_worker(drop_slot => true) drops the slot.";
}

/*
 * If no worker can run on this server, set the columns of the status view and
 * return true. Otherwise return false.
 */
static bool
status_of_server(Status *status)
{
	const char *hint;
	const char *obstacle;

	if (!library_preloaded)
		status_disabled(status, "the library is not preloaded",
						preload_hint(status));
	else if (RecoveryInProgress())
		status_standby(status);
	else if ((obstacle = worker_obstacle(&hint)) != NULL)
		status_disabled(status, obstacle, hint);
	else
		return false;
	return true;
}

/*
 * If no worker runs because the launcher does not run, say so in the hint,
 * unless the hint is set.
 */
static void
status_launcher(Status *status)
{
	if (status->isnull[STATUS_PID] && status->isnull[STATUS_HINT] &&
		!launcher_runs())
		status_text(status, STATUS_HINT, NO_LAUNCHER_HINT);
}

static void
status_here(Status *status)
{
	const char *hint;
	const char *obstacle;
	WorkerEntry entry;
	bool		found;

	status_slot(status);
	if (library_preloaded && !container_any_exists())
	{
		status_no_containers(status);
		return;
	}
	if (status_of_server(status))
		return;
	found = worker_entry_copy(status->dbid, &entry);
	if (found)
		status_from_entry(status, &entry);
	if (is_stopped(found ? &entry : NULL))
		status_stopped(status, found ? entry.caught_up : 0);
	else if (database_is_template(status->dbid))
		status_disabled(status, "the database is a template",
						TEMPLATE_HINT);
	else if (found && entry.no_room_at != 0)
		status_no_process(status, entry.no_room_at);
	else if (!found && (obstacle = worker_no_room(&hint)) != NULL)
		status_disabled(status, obstacle, hint);
	else if (!found)
		status_text(status, STATUS_STATE, "starting");
	status_launcher(status);
}

/*
 * Set the columns for the worker of another database, whose tables this
 * process cannot read. Returns false if it is not known whether that database
 * has containers. After a start of the server, only a worker of that database
 * can find this out.
 */
static bool
status_elsewhere(Status *status)
{
	WorkerEntry entry;
	bool		found = library_preloaded &&
		worker_entry_copy(status->dbid, &entry);

	status_slot(status);
	if (status->isnull[STATUS_SLOT] &&
		(!found || entry.state == WORKER_NOT_NEEDED ||
		 (entry.last_error[0] == '\0' && entry.no_room_at == 0 &&
		  (entry.state == WORKER_WANTED || entry.state == WORKER_STARTING))))
		return false;
	if (status_of_server(status))
		return true;
	if (!found)
		status_disabled(status, "the slot has no worker",
						launcher_runs() ?
						"Look at blogstore.stat_worker in the database. If it accepts no connections, drop the slot with pg_drop_replication_slot()." :
						NO_LAUNCHER_HINT);
	else
		status_from_entry(status, &entry);
	if (found && entry.state == WORKER_STOPPED)
		status_stopped(status, entry.caught_up);
	else if (found && entry.no_room_at != 0)
		status_no_process(status, entry.no_room_at);
	status_launcher(status);
	return true;
}

/*
 * Set all columns for the worker of a database. Returns false if the database
 * has no worker, or was dropped.
 */
static bool
status_read(Status *status, Oid dbid)
{
	char	   *database = get_database_name(dbid);

	memset(status->value, 0, sizeof(status->value));
	memset(status->isnull, true, sizeof(status->isnull));
	status->dbid = dbid;
	if (database == NULL)
		return false;
	status_set(status, STATUS_DATABASE,
			   DirectFunctionCall1(namein, CStringGetDatum(database)));
	if (dbid != MyDatabaseId)
		return status_elsewhere(status);
	status_here(status);
	return container_any_exists() || !status->isnull[STATUS_SLOT];
}

/* blogstore.get_worker_status(): return one row for this database's worker. */
Datum
blogstore_worker_status(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Status		status;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row type");
	desc = BlessTupleDesc(desc);
	(void) status_read(&status, MyDatabaseId);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc,
													  &status.value[STATUS_STATE],
													  &status.isnull[STATUS_STATE])));
}

/*
 * Return a list of the OIDs of the databases that may have containers: this
 * database, those with a WorkerEntry in shared memory, and those with a
 * replication slot of blogstore.
 */
static List *
databases_to_show(void)
{
	List	   *result = library_preloaded ? worker_entry_databases() : NIL;

	for (int i = 0; i < max_replication_slots; i++)
	{
		char		name[NAMEDATALEN];
		Oid			dbid;

		if (slot_of_blogstore(i, &dbid, name))
			result = list_append_unique_oid(result, dbid);
	}
	return list_append_unique_oid(result, MyDatabaseId);
}

/*
 * blogstore.get_workers_status(): return one row for each database of the
 * server that has containers.
 */
Datum
blogstore_workers_status(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, databases_to_show())
	{
		Status		status;

		if (status_read(&status, lfirst_oid(lc)))
			tuplestore_putvalues(info->setResult, info->setDesc, status.value,
								 status.isnull);
	}
	return (Datum) 0;
}

/*
 * blogstore.get_progress(): return one row for each job that is not done.
 * Returns no rows if there are no containers.
 */
static Datum
get_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	if (container_exists())
		jobs_show(info->setResult, info->setDesc, rebuild_estimate());
	return (Datum) 0;
}
