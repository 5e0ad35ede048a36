/*
 * worker_control.c
 *		Controlling the worker: wait_for_views(), wait_for_posts(),
 *		rebuild_views(), start_worker() and stop_worker().
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/error_fields.h"
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
SQL_FUNCTION(wait_for_posts);
SQL_FUNCTION(rebuild_views);
SQL_FUNCTION(start_worker);
SQL_FUNCTION(stop_worker);

/* How long a wait sleeps at most before it looks again, in ms. */
#define LOOK_AGAIN 50

/* How long wait_for_posts() waits at most, in ms. */
#define LONGEST_FOR_POSTS 60000

/*
 * Check that a worker can run. Errors: 55000 if none can run on this server;
 * 54000 if no worker is left for this database.
 */
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
				 errhint("%s", hint),
				 err_fields(NULL, NULL, RULE_WORKER)));
	worker_require_room();
}

/*
 * Check that this process is not the worker, in which a trigger of the owner
 * may call these functions. Errors: 55000.
 */
static void
need_other_process(const char *command)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL && entry->pid == MyProcPid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot run in the blogstore worker itself",
						command),
				 errhint("Do not call it in a trigger on tables that the worker writes."),
				 err_fields(NULL, NULL, RULE_WORKER)));
}

/* ------------------------------------------------------------------------
 * Waiting
 * ------------------------------------------------------------------------ */

/* A condition to wait for. It is called repeatedly until it returns true. */
typedef bool (*WaitTest) (void *arg);

/* Return the time at which a timeout ends, at most longest ms from now. */
static TimestampTz
deadline_after(const Interval *timeout, int longest)
{
	double		ms = timeout->time / 1000.0 +
		((double) timeout->month * DAYS_PER_MONTH + timeout->day) *
		(USECS_PER_DAY / 1000.0);

	if (ms >= longest)
		ms = longest;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   (int64) Max(ms, 0));
}

/* Wait until a condition is true. Returns false after the deadline. */
static bool
wait_until(WaitTest test, void *arg, TimestampTz deadline)
{
	TimestampTz began = GetCurrentTimestamp();

	for (;;)
	{
		WorkerEntry *entry;
		TimestampTz now;
		long		left;

		if (test(arg))
			return true;
		now = GetCurrentTimestamp();
		left = TimestampDifferenceMilliseconds(now, deadline);
		if (left <= 0 || now < began)
			return false;		/* timeout, or the clock was set back */
		entry = my_worker_entry();
		if (entry != NULL)
		{
			/*
			 * check again after preparing to sleep, so that no wakeup is
			 * missed
			 */
			ConditionVariablePrepareToSleep(&entry->progress);
			if (!test(arg))
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
}

/*
 * Check that a function that waits for the worker can run here. no_timeout
 * tells that its argument timeout is null. Errors: 22004 then; 25006 on a
 * standby; 55000 in the worker, or if there are no containers.
 */
static void
require_waiting(const char *function, bool no_timeout)
{
	if (no_timeout)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("timeout must not be null"),
				 errhint("Pass an interval, or leave it out for the default."),
				 err_fields(NULL, "timeout", RULE_NOT_NULL)));
	if (RecoveryInProgress())
		need_writable(function);
	need_other_process(function);
	container_require();
}

/* ------------------------------------------------------------------------
 * wait_for_views()
 * ------------------------------------------------------------------------ */

/*
 * Return whether a worker serves the views. If no worker is known, ask for
 * one. Errors: 55000 if the worker was stopped.
 */
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
				 errhint("Call blogstore.start_worker() to have the views updated again."),
				 err_fields(NULL, NULL, RULE_WORKER)));
	return entry->state == WORKER_RUNNING &&
		TransactionIdIsValid(pg_atomic_read_u32(&entry->served));
}

/* The steps of wait_for_views(). */
typedef enum WaitStep
{
	WAIT_WORKER,				/* until a worker serves the views */
	WAIT_APPLIED,				/* until all that was committed is applied */
	WAIT_JOBS,					/* until the jobs that exist then are done */
	WAIT_COMMITTED,				/* until it is known where their changes end in
								 * the WAL */
	WAIT_JOBS_APPLIED,			/* until the jobs' changes are applied */
	WAIT_DONE
} WaitStep;

/* How far wait_for_views() has come, and what it waits for. */
typedef struct Wait
{
	WaitStep	step;
	Datum		jobs;			/* array of their ids */
	int			n_jobs;
	XLogRecPtr	position;		/* WAL position to wait for */
} Wait;

/*
 * Begin to wait until all WAL up to now is applied. Writes a message to the
 * WAL, which the worker is certain to read.
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

/*
 * Return whether all changes before the mark are applied, and a worker serves
 * the views.
 */
static bool
mark_passed(const Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	/* on a cluster, other nodes have received the changes too */
	return worker_serves() && entry != NULL &&
		pg_atomic_read_u64(&entry->shown_lsn) >= wait->position &&
		pg_atomic_read_u32(&entry->unsent) == 0;
}

/*
 * If it is known where the jobs' changes end in the WAL, begin to wait for
 * that position. Returns false if a job is committing.
 */
static bool
wait_for_written(Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();
	uint64		lsn = entry ? pg_atomic_read_u64(&entry->jobs_lsn) : 0;

	if (lsn == JOB_COMMITTING)
		return false;
	wait->position = lsn;
	if (entry != NULL && pg_atomic_read_u64(&entry->shown_lsn) < lsn)
		wait_mark(wait);		/* writing the mark also flushes all WAL before
								 * it */
	return true;
}

/*
 * Advance through the steps as far as possible. Applied changes can queue
 * jobs, for example a name that was changed directly. The views must also show
 * what jobs have written, including jobs that ended during the wait. Returns
 * whether all steps are done.
 */
static bool
wait_advance(void *arg)
{
	Wait	   *wait = arg;

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
		/* the worker may not know yet of a job that was queued since */
		if (wait->n_jobs > 0 && entry != NULL)
			worker_wake_at_once(entry);
	}
	if (wait->step == WAIT_JOBS && !jobs_are_left(wait->jobs))
		wait->step = WAIT_COMMITTED;
	if (wait->step == WAIT_COMMITTED && wait_for_written(wait))
		wait->step = WAIT_JOBS_APPLIED;
	if (wait->step == WAIT_JOBS_APPLIED && mark_passed(wait))
		wait->step = WAIT_DONE;
	return wait->step == WAIT_DONE;
}

/*
 * blogstore.wait_for_views(timeout): wait until the views show what was
 * committed before the call, all counts included, and the jobs that existed
 * are done. Returns false after the timeout.
 *
 * Errors: 22004, 25006, 54000, 55000. Locks: none.
 */
static Datum
wait_for_views(PG_FUNCTION_ARGS)
{
	const ClusterCalls *cluster;
	bool		all;
	Wait		wait = {.step = WAIT_WORKER};

	require_waiting("wait_for_views()", PG_ARGISNULL(0));
	need_possible_worker();
	cluster = cluster_calls();
	if (cluster != NULL &&
		cluster->call_nodes("wait_for_views", (Oid[]) {INTERVALOID}, fcinfo, &all))
		PG_RETURN_BOOL(all);
	PG_RETURN_BOOL(wait_until(wait_advance, &wait,
							  deadline_after(PG_GETARG_INTERVAL_P(0), INT_MAX)));
}

/* ------------------------------------------------------------------------
 * wait_for_posts()
 *
 * It only reads what the worker publishes. It writes nothing and does not wake
 * the worker, so clients cannot have the worker do anything by it.
 * ------------------------------------------------------------------------ */

typedef struct PostsWait
{
	XLogRecPtr	position;		/* end of the last commit of a request */
	uint64		turn;			/* the worker's present or last turn */
	bool		on_cluster;
} PostsWait;

/* Note what to wait for: all posts that are committed by now. */
static void
posts_wait_begin(PostsWait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	wait->position = entry ? pg_atomic_read_u64(&entry->wake_lsn) : 0;
	wait->turn = entry ? pg_atomic_read_u64(&entry->told.turn) : 0;
	wait->on_cluster = cluster_calls() != NULL;
}

/*
 * Return whether lists show the posts that were committed before the wait
 * began.
 *
 * While the views are served, lists show these posts once the worker has
 * applied them. While the views are not served, lists read posts and show them
 * at once. The worker may start to serve the views at the end of a turn. A
 * turn that began after the wait has applied these posts by then. A turn that
 * was in progress when the wait began may not have, so wait for its end.
 *
 * On a cluster, another node may serve its views while this node does not. So
 * the wait goes on until this node serves its views.
 */
static bool
posts_shown(void *arg)
{
	const PostsWait *wait = arg;
	WorkerEntry *entry = my_worker_entry();
	uint64		ended;
	bool		served;

	if (entry == NULL)
		return !wait->on_cluster;
	ended = pg_atomic_read_u64(&entry->told.ended);
	pg_read_barrier();
	served = TransactionIdIsValid(pg_atomic_read_u32(&entry->served));
	if (!served)
		return !wait->on_cluster && ended >= wait->turn;
	return pg_atomic_read_u64(&entry->posts_lsn) >= wait->position &&
		pg_atomic_read_u32(&entry->unsent) == 0;
}

/*
 * blogstore.wait_for_posts(timeout): wait until list_feed() and
 * list_user_posts() show the posts committed before the call. Returns false
 * after the timeout.
 *
 * Errors: 22004, 25001, 25006, 55000. Locks: none.
 */
static Datum
wait_for_posts(PG_FUNCTION_ARGS)
{
	const ClusterCalls *cluster;
	bool		all;
	PostsWait	wait;

	require_waiting("wait_for_posts()", PG_ARGISNULL(0));
	if (transaction_wrote_posts())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("lists cannot show what this transaction has written before it is committed"),
				 errhint("Call wait_for_posts() after COMMIT."),
				 err_fields(NULL, NULL, RULE_COMMITTED)));
	cluster = cluster_calls();
	if (cluster != NULL &&
		cluster->call_nodes("wait_for_posts", (Oid[]) {INTERVALOID}, fcinfo, &all))
		PG_RETURN_BOOL(all);
	posts_wait_begin(&wait);
	PG_RETURN_BOOL(wait_until(posts_shown, &wait,
							  deadline_after(PG_GETARG_INTERVAL_P(0),
											 LONGEST_FOR_POSTS)));
}

/* ------------------------------------------------------------------------
 * rebuild_views(), start_worker(), stop_worker()
 * ------------------------------------------------------------------------ */

/*
 * blogstore.rebuild_views(): queue a rebuild of the views, unless one is
 * queued and has not begun.
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

/* Record whether the worker may run, and that the views are not complete. */
static void
set_enabled(bool enabled)
{
	ViewState	state;

	/* see what the previous holder of the lock has committed */
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
 * blogstore.start_worker(). Errors: 25006, 40001, 54000, 55000. Locks: the
 * start-stop lock, which other callers of start_worker() and stop_worker()
 * hold until their transactions end.
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
 * End this database's worker. Its entry in shared memory keeps it stopped
 * until the transaction ends. After a commit the row in view_state keeps it
 * stopped; after a rollback it starts again.
 */
static void
end_worker(void)
{
	/* another database may have taken the last entry in shared memory */
	while (!worker_stop())
		worker_require_room();
}

/*
 * Forget the applied position, because the slot was dropped on purpose. The
 * next start must not report the missing slot as a loss.
 */
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

/* Format a number of bytes. */
static const char *
size_text(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum(bytes)));
}

/*
 * blogstore.stop_worker(drop_slot): end the worker, and keep it from starting.
 * The worker ends before this transaction writes anything, so that neither
 * waits for the other.
 *
 * Errors: 22004, 25001, 25006, 54000, 55000. Locks: as start_worker().
 */
static Datum
stop_worker(PG_FUNCTION_ARGS)
{
	char		slot_name[NAMEDATALEN];

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("drop_slot must not be null"),
				 errhint("Pass true or false."),
				 err_fields(NULL, "drop_slot", RULE_NOT_NULL)));
	need_writable("stop_worker()");
	need_other_process("stop_worker()");
	container_require();
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("stop_worker() cannot run in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errhint("Use a READ COMMITTED transaction."),
				 err_fields(NULL, NULL, RULE_READ_COMMITTED)));

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
				 errhint("Call blogstore.start_worker() soon, or blogstore.stop_worker(drop_slot => true) to drop the slot.")));
	set_enabled(false);
	PG_RETURN_VOID();
}
