/*
 * worker_control.c
 *		Operating the worker: wait_for_views(), rebuild_views(),
 *		start_worker(), stop_worker().
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "base/worker_hooks.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"
#include "views/change_feed/change_feed.h"
#include "views/launcher/launcher.h"

#include "access/transam.h"
#include "access/xact.h"
#include "fmgr.h"
#include "replication/message.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

SQL_FUNCTION(wait_for_views);
SQL_FUNCTION(rebuild_views);
SQL_FUNCTION(start_worker);
SQL_FUNCTION(stop_worker);

/* How long a waiter sleeps at most before it looks again, in milliseconds. */
#define LOOK_AGAIN 50

/* Raise 55000 where no worker can run, and 54000 where this database cannot have one. */
static void
need_possible_worker(void)
{
	const char *hint;
	const char *obstacle = worker_obstacle(&hint);

	if (obstacle != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no blogstore worker can run on this server: %s",
						obstacle),
				 errhint("%s", hint)));
	worker_require_room();
}

/* Raise 55000 in the worker, whom a trigger of the owner's has call this. */
static void
need_other_process(const char *command)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL && entry->pid == MyProcPid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot run in the blogstore worker itself",
						command),
				 errhint("Do not call it in a trigger on what the worker writes.")));
}

/* ------------------------------------------------------------------------
 * wait_for_views()
 * ------------------------------------------------------------------------ */

static TimestampTz
deadline_after(const Interval *timeout)
{
	double		ms = timeout->time / 1000.0 +
		((double) timeout->month * DAYS_PER_MONTH + timeout->day) *
		(USECS_PER_DAY / 1000.0);

	if (ms >= INT_MAX)
		ms = INT_MAX;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   (int64) Max(ms, 0));
}

/* Is a worker serving the views? Raises 55000 if it was stopped. */
static bool
worker_serves(void)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry == NULL)
	{
		worker_request();
		return false;
	}
	if (entry->state == WORKER_STOPPED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the blogstore worker is stopped"),
				 errhint("Call blogstore.start_worker() to have the views kept again.")));
	return entry->state == WORKER_RUNNING &&
		TransactionIdIsValid(pg_atomic_read_u32(&entry->served));
}

typedef enum WaitStep
{
	WAIT_WORKER,				/* until a worker serves the views */
	WAIT_APPLIED,				/* until what was committed has been applied */
	WAIT_JOBS,					/* until the jobs there are then are done */
	WAIT_COMMITTED,				/* until it is known what they wrote */
	WAIT_JOBS_APPLIED,			/* until that has been applied */
	WAIT_DONE
} WaitStep;

typedef struct Wait
{
	WaitStep	step;
	Datum		jobs;			/* array of their ids */
	int			n_jobs;
	XLogRecPtr	position;		/* the mark */
} Wait;

/*
 * Begin to wait for all WAL before now, by a message written for the purpose,
 * which the worker is sure to come to.
 */
static void
wait_mark(Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	wait->position = compat_log_message(WAIT_MARK, "", 0);
	XLogFlush(wait->position);
	if (entry != NULL)
		worker_wake_at_once(entry);
}

/* Has all before the mark been applied to views that are served? */
static bool
mark_passed(const Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	/* on a cluster: also at the other nodes, what goes there */
	return worker_serves() && entry != NULL &&
		pg_atomic_read_u64(&entry->shown_lsn) >= wait->position &&
		pg_atomic_read_u32(&entry->unsent) == 0;
}

/* Is it known up to where jobs have written? Then wait for that. */
static bool
wait_for_written(Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();
	uint64		lsn = entry ? pg_atomic_read_u64(&entry->jobs_lsn) : 0;

	if (lsn == JOB_COMMITTING)
		return false;
	wait->position = lsn;
	if (entry != NULL && pg_atomic_read_u64(&entry->shown_lsn) < lsn)
		wait_mark(wait);		/* flushes what is before it */
	return true;
}

/*
 * Go as far as possible. What is applied may ask for jobs (a name changed
 * directly does), and what jobs write is to show too, also those that were
 * done while this waited.
 */
static void
wait_advance(Wait *wait)
{
	if (wait->step == WAIT_WORKER && worker_serves())
	{
		wait_mark(wait);
		wait->step = WAIT_APPLIED;
	}
	if (wait->step == WAIT_APPLIED && mark_passed(wait))
	{
		WorkerEntry *entry = my_worker_entry();

		wait->jobs = jobs_to_wait_for(&wait->n_jobs);
		wait->step = wait->n_jobs > 0 ? WAIT_JOBS : WAIT_COMMITTED;
		/* it may not have heard of one that has come since */
		if (wait->n_jobs > 0 && entry != NULL)
			worker_wake_at_once(entry);
	}
	if (wait->step == WAIT_JOBS && !jobs_are_left(wait->jobs))
		wait->step = WAIT_COMMITTED;
	if (wait->step == WAIT_COMMITTED && wait_for_written(wait))
		wait->step = WAIT_JOBS_APPLIED;
	if (wait->step == WAIT_JOBS_APPLIED && mark_passed(wait))
		wait->step = WAIT_DONE;
}

/*
 * blogstore.wait_for_views(timeout): read your writes.
 *
 * Errors: 22004, 25006, 54000, 55000. Locks: none.
 */
static Datum
wait_for_views(PG_FUNCTION_ARGS)
{
	const ClusterCalls *cluster;
	bool		all;
	TimestampTz began = GetCurrentTimestamp();
	TimestampTz deadline;
	Wait		wait;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("timeout must not be null"),
				 errhint("Pass an interval, or leave it out for 30 seconds.")));
	if (RecoveryInProgress())
		need_writable("wait_for_views()");
	need_other_process("wait_for_views()");
	container_require();
	need_possible_worker();
	cluster = cluster_calls();
	if (cluster != NULL &&
		cluster->call_nodes("wait_for_views", (Oid[]) {INTERVALOID}, fcinfo, &all))
		PG_RETURN_BOOL(all);

	deadline = deadline_after(PG_GETARG_INTERVAL_P(0));
	wait.step = WAIT_WORKER;
	for (;;)
	{
		WorkerEntry *entry;
		TimestampTz now;
		long		left;

		wait_advance(&wait);
		if (wait.step == WAIT_DONE)
			break;
		now = GetCurrentTimestamp();
		left = TimestampDifferenceMilliseconds(now, deadline);
		if (left <= 0 || now < began)
			break;				/* it is time, or the clock was set back */
		entry = my_worker_entry();
		if (entry != NULL)
		{
			/* look once more when sleep is prepared: nothing is missed then */
			ConditionVariablePrepareToSleep(&entry->progress);
			wait_advance(&wait);
			if (wait.step != WAIT_DONE)
				(void) ConditionVariableTimedSleep(&entry->progress,
												   Min(left, LOOK_AGAIN),
												   PG_WAIT_EXTENSION);
			ConditionVariableCancelSleep();
		}
		else
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
							 WL_EXIT_ON_PM_DEATH, Min(left, LOOK_AGAIN),
							 PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_BOOL(wait.step == WAIT_DONE);
}

/* ------------------------------------------------------------------------
 * rebuild_views(), start_worker(), stop_worker()
 * ------------------------------------------------------------------------ */

/*
 * blogstore.rebuild_views(): queue a rebuild, unless one waits to begin.
 *
 * Errors: 25006, 54000, 55000.
 */
static Datum
rebuild_views(PG_FUNCTION_ARGS)
{
	const ClusterCalls *cluster;
	bool		all;
	OwnerScope	scope;

	need_writable("rebuild_views()");
	container_require();
	need_possible_worker();
	cluster = cluster_calls();
	if (cluster != NULL &&
		cluster->call_nodes("rebuild_views", NULL, fcinfo, &all))
		PG_RETURN_VOID();

	owner_begin(&scope);
	job_queue_once(JOB_REBUILD, NULL);
	owner_end(&scope);
	worker_hooks.item_written(false);
	PG_RETURN_VOID();
}

/* Write down whether the worker may run; the views begin as not complete. */
static void
set_enabled(bool enabled)
{
	ViewState	state;

	/* what the one before has committed, whatever this transaction sees */
	PushActiveSnapshot(GetLatestSnapshot());
	view_state_read(&state);
	if (state.enabled != enabled)
	{
		state.enabled = enabled;
		state.ready = false;
		view_state_write(&state);
	}
	PopActiveSnapshot();
}

/*
 * blogstore.start_worker(). Errors: 25006, 40001, 54000, 55000. Locks: waits for who
 * else starts or stops the worker.
 */
static Datum
start_worker(PG_FUNCTION_ARGS)
{
	need_writable("start_worker()");
	container_require();
	need_possible_worker();
	start_stop_lock();
	set_enabled(true);
	worker_look_on_commit();
	PG_RETURN_VOID();
}

/*
 * End this database's worker now. Its entry keeps it down until the transaction
 * ends, whoever asks for it meanwhile: then the row in view_state does, or,
 * rolled back, the worker starts again.
 */
static void
end_worker(void)
{
	/* another database may have taken the last entry meanwhile */
	while (!worker_stop())
		worker_require_room();
}

/* The slot was let go: that there is none at the next start is no loss. */
static void
forget_position(void)
{
	OwnerScope	scope;

	PushActiveSnapshot(GetTransactionSnapshot());
	owner_begin(&scope);
	applied_position_forget();
	owner_end(&scope);
	PopActiveSnapshot();
}

/* A number of bytes for people. */
static const char *
size_text(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum(bytes)));
}

/*
 * blogstore.stop_worker(drop_slot). The worker ends before this transaction
 * writes anything, so that the two never wait for each other.
 *
 * Errors: 22004, 25001, 25006, 54000, 55000. Locks: waits for who else starts or stops
 * the worker.
 */
static Datum
stop_worker(PG_FUNCTION_ARGS)
{
	char		slot_name[NAMEDATALEN];

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("drop_slot must not be null"),
				 errhint("Pass true or false.")));
	need_writable("stop_worker()");
	need_other_process("stop_worker()");
	container_require();
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("stop_worker() cannot run with a snapshot of the past"),
				 errhint("Use a READ COMMITTED transaction.")));

	start_stop_lock();
	end_worker();
	worker_slot_name(MyDatabaseId, slot_name);
	if (PG_GETARG_BOOL(0))
	{
		slot_drop(slot_name);
		forget_position();
	}
	else if (SearchNamedReplicationSlot(slot_name, true) != NULL)
		ereport(WARNING,
				(errmsg("replication slot \"%s\" keeps all WAL from now on",
						slot_name),
				 errdetail("It keeps %s already.", size_text(slot_keeps(slot_name))),
				 errhint("Call blogstore.start_worker() soon, or blogstore.stop_worker(drop_slot => true) to let it go.")));
	set_enabled(false);
	PG_RETURN_VOID();
}
