/*
 * worker_control.c
 *		SQL functions that control a database's worker, which keeps the views
 *		up to date: wait_for_views(), wait_for_posts(), rebuild_views(),
 *		start_worker() and stop_worker().
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

/* Longest sleep before a waiting function tests its condition again, in ms. */
#define LOOK_AGAIN 50

/* Longest time that wait_for_posts() waits, in ms. */
#define LONGEST_FOR_POSTS 60000

/*
 * Check that this database can have a worker. Errors: 55000 if no worker can
 * run on this server; 54000 if too many other databases have one.
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
 * Check that this process is not the worker. A trigger of the owner, which the
 * worker runs, may call these functions. Errors: 55000.
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

/*
 * A function that returns whether what a function waits for has happened. It
 * is called repeatedly with the same argument until it returns true.
 */
typedef bool (*WaitTest) (void *arg);

/* Return the time at which a timeout ends, at most "longest" ms from now. */
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

/*
 * Call test(arg) until it returns true, sleeping between the calls. Returns
 * false if the deadline has passed.
 */
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
			/* the time is up, or the clock was set back */
			return false;
		entry = my_worker_entry();
		if (entry != NULL)
		{
			/*
			 * Test again after preparing to sleep, so that no wakeup between
			 * the two is missed.
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
 * Check that a function that waits for the worker can run here. no_timeout:
 * its argument timeout is null. Errors: 22004 if it is null; 25006 on a
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
 * Return whether a worker serves the views, so that readers use them. If the
 * database has no worker, ask the launcher for one. Errors: 55000 if the
 * worker was stopped.
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

/* What wait_for_views() waits for, one step after another. */
typedef enum WaitStep
{
	WAIT_WORKER,				/* a worker serves the views */
	WAIT_APPLIED,				/* the views show everything that was committed
								 * before the call */
	WAIT_JOBS,					/* the jobs that are queued by then are done */
	WAIT_COMMITTED,				/* it is known where the writes of jobs end in
								 * the WAL */
	WAIT_JOBS_APPLIED,			/* the views show the writes of these jobs */
	WAIT_DONE
} WaitStep;

/* State of one call of wait_for_views(). */
typedef struct Wait
{
	WaitStep	step;
	Datum		jobs;			/* the ids of the jobs that WAIT_JOBS waits
								 * for, as an array */
	int			n_jobs;
	XLogRecPtr	position;		/* WAL position before which the views must
								 * show all changes */
} Wait;

/*
 * Begin to wait until the views show all WAL written by now. Writes a message
 * to the WAL, so that the worker has something to decode behind all other
 * changes.
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
 * Return whether the views show all changes before wait->position, and a
 * worker serves the views.
 */
static bool
mark_passed(const Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	/* on a cluster, the worker has also sent all changes to other nodes */
	return worker_serves() && entry != NULL &&
		pg_atomic_read_u64(&entry->shown_lsn) >= wait->position &&
		pg_atomic_read_u32(&entry->unsent) == 0;
}

/*
 * If it is known where the writes of jobs end in the WAL, begin to wait until
 * the views show them. Returns false if the worker is committing such writes.
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
		wait_mark(wait);		/* wait_mark() also flushes the WAL up to
								 * lsn */
	return true;
}

/*
 * Take as many steps as possible; return whether the last one is done. The
 * jobs are read from the queue only after the changes are applied, because
 * these can queue jobs, for example for a username that was written directly.
 * The views must also show what jobs have written that ended during the wait.
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
		/* the worker may not know yet of a job that was just queued */
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
 * blogstore.wait_for_views(timeout): wait until the views show everything that
 * was committed before the call, all counts included, and the jobs that are
 * queued are done. Returns false after the timeout.
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

/* What one call of wait_for_posts() waits for. */
typedef struct PostsWait
{
	/* End of the last commit that had written items when the call began. */
	XLogRecPtr	position;

	/*
	 * Number of the worker's turn (a round of its main loop) that was in
	 * progress when the call began; otherwise of the last one.
	 */
	uint64		turn;
	bool		on_cluster;
} PostsWait;

/*
 * Begin a wait for posts: note where the last commit that wrote items ends,
 * and the worker's current turn.
 */
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
 * at once. The worker may start to serve the views at the end of a turn. If
 * the turn began after the wait, it has applied these posts by then. A turn
 * that was in progress when the wait began may not have, so the function waits
 * for its end.
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
 * list_user_posts() show all posts that were committed before the call.
 * Returns false after the timeout.
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
 * queued that has not begun.
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

/*
 * Store in view_state whether the worker may run. If that changes, also note
 * that the views are not complete.
 */
static void
set_enabled(bool enabled)
{
	ViewState	state;

	/* see what the previous holder of the start-stop lock has committed */
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
 * blogstore.start_worker(): enable the worker, and have it started at commit.
 *
 * Errors: 25006, 40001, 54000, 55000. Locks: the start-stop lock, which each
 * caller of start_worker() or stop_worker() holds until its transaction ends.
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
 * End this database's worker. Until the transaction ends, the entry in shared
 * memory keeps the worker stopped. After a commit, the row of view_state keeps
 * it stopped; after a rollback, the launcher starts it again.
 */
static void
end_worker(void)
{
	/* another database may have taken the last entry in shared memory */
	while (!worker_stop())
		worker_require_room();
}

/*
 * Clear the stored position of the worker, because its slot was dropped on
 * purpose. Otherwise the next worker would report the missing slot as a loss.
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

static const char *
size_text(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum(bytes)));
}

/*
 * blogstore.stop_worker(drop_slot): end the worker, and keep it from starting.
 * The worker is ended before this transaction writes anything, because
 * otherwise each could wait for the other.
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
