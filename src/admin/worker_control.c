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
#include "base/wait_events.h"
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

SQL_FUNCTION(wait_for_views);
SQL_FUNCTION(wait_for_posts);
SQL_FUNCTION(rebuild_views);
SQL_FUNCTION(start_worker);
PG_FUNCTION_INFO_V1(blogstore_stop_worker);

/* Longest sleep before a waiting function tests its condition again, in ms. */
#define LOOK_AGAIN 50

/* Longest timeout of wait_for_posts(), in ms. */
#define LONGEST_FOR_POSTS 60000

/*
 * Check that this database has a worker or can get one. Errors: 55000 if no
 * worker can run on this server or in this database; 54000 if MAX_DATABASES
 * other databases of the server already use blogstore.
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
	if (database_is_template(MyDatabaseId))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no blogstore worker can run in a template database"),
				 errhint(TEMPLATE_HINT),
				 err_fields(NULL, NULL, RULE_WORKER)));
	worker_require_room();
}

/*
 * Check that this process is not the worker. The owner's triggers run in the
 * worker, too, and may call these SQL functions. Errors: 55000.
 *
 * command: name of the SQL function, for the error message
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
 * A condition that wait_until() waits for. Returns whether the condition is
 * met.
 */
typedef bool (*WaitTest) (void *arg);

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
 * Call test(arg) repeatedly until it returns true, with sleeps in between.
 * Returns false if the deadline passes first.
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
			/* the deadline has passed, or the clock was set back */
			return false;
		entry = my_worker_entry();
		if (entry != NULL)
		{
			/*
			 * ConditionVariablePrepareToSleep() comes before the test, so that
			 * a wakeup between the test and the sleep is not lost.
			 */
			ConditionVariablePrepareToSleep(&entry->progress);
			if (!test(arg))
				(void) ConditionVariableTimedSleep(&entry->progress,
												   Min(left, LOOK_AGAIN),
												   wait_event(WAIT_FOR_VIEWS));
			ConditionVariableCancelSleep();
		}
		else
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
							 WL_EXIT_ON_PM_DEATH, Min(left, LOOK_AGAIN),
							 wait_event(WAIT_FOR_VIEWS));
			ResetLatch(MyLatch);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Check that wait_for_views() or wait_for_posts() can run. Errors: 22004 if
 * no_timeout; 25006 on a standby; 55000 in the worker, or if there are no
 * containers.
 *
 * no_timeout: whether the SQL function was called with a null timeout
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
 * Return whether the worker runs and lets readers use the views. If the
 * database has no worker, ask the launcher to start one. Errors: 55000 if
 * stop_worker() has stopped the worker.
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

/* The steps of wait_for_views(), in this order. */
typedef enum WaitStep
{
	WAIT_WORKER,				/* wait until the worker lets readers use the
								 * views */
	WAIT_APPLIED,				/* wait until the views show all that was
								 * committed before the call */
	WAIT_JOBS,					/* wait until the jobs that were queued at the
								 * end of WAIT_APPLIED are done */
	WAIT_COMMITTED,				/* wait until it is known where in the WAL the
								 * writes of finished jobs end */
	WAIT_JOBS_APPLIED,			/* wait until the views show what finished
								 * jobs wrote */
	WAIT_DONE
} WaitStep;

typedef struct Wait
{
	WaitStep	step;
	Datum		jobs;			/* array of the ids of the jobs that WAIT_JOBS
								 * waits for */
	int			n_jobs;
	XLogRecPtr	position;		/* the views must show all changes before this
								 * WAL position */
} Wait;

/*
 * Set wait->position to the current end of the WAL, by writing a logical
 * message, and wake the worker.
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

static bool
mark_passed(const Wait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	/*
	 * on a cluster, unsent is 0 once the worker has sent all changes to other
	 * nodes
	 */
	return worker_serves() && entry != NULL &&
		pg_atomic_read_u64(&entry->shown_lsn) >= wait->position &&
		pg_atomic_read_u32(&entry->unsent) == 0;
}

/*
 * Set wait->position to the end of what the worker's jobs have written to the
 * WAL. Returns false, without waiting, if this position is not known yet,
 * because the worker is committing a job's transaction.
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
		wait_mark(wait);		/* also flushes the WAL of the jobs */
	return true;
}

/*
 * Do the steps of wait_for_views() whose conditions are met. Returns whether
 * all steps are done.
 *
 * If the owner has updated a username directly, the worker queues a rename job
 * when it applies the update. So the ids of queued jobs are read only when the
 * views show all earlier commits.
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
		/*
		 * the worker may be asleep, and not know of a job that was queued just
		 * now
		 */
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
 * was committed before the call, all counts included. Then wait until the
 * queued jobs are done, and the views show their results. Returns false after
 * the timeout.
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
 * ------------------------------------------------------------------------ */

/*
 * State of one call of wait_for_posts(). Untrusted clients may call this
 * function, and must not be able to make the worker work more. So the function
 * writes nothing and does not wake the worker.
 */
typedef struct PostsWait
{
	/*
	 * When the call began, the last commit that wrote items had ended at this
	 * WAL position.
	 */
	XLogRecPtr	position;

	/*
	 * The number of the round of the worker's main loop that was in progress
	 * when the call began. If none was in progress, the number of the last
	 * round.
	 */
	uint64		turn;
	bool		on_cluster;
} PostsWait;

static void
posts_wait_begin(PostsWait *wait)
{
	WorkerEntry *entry = my_worker_entry();

	wait->position = entry ? pg_atomic_read_u64(&entry->wake_lsn) : 0;
	wait->turn = entry ? pg_atomic_read_u64(&entry->told.turn) : 0;
	wait->on_cluster = cluster_calls() != NULL;
}

/*
 * Return whether list_feed() and list_user_posts() show all posts that were
 * committed before the call of wait_for_posts().
 *
 * If readers may use the views, the two functions read the views. In this
 * case, posts_shown() tests whether the views show these posts.
 *
 * Otherwise the two functions read the container posts, which has the posts at
 * once. But at the end of a round of its main loop, the worker may allow
 * readers to use the views. If that round began before the call, the views may
 * lack the posts. So posts_shown() returns false until the round that was in
 * progress when the call began has ended.
 *
 * On a cluster, readers on another node may use the views while readers on
 * this node may not. So posts_shown() returns false until readers on this node
 * may use the views.
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
 * blogstore.rebuild_views(): queue a job that rebuilds the views, unless such
 * a job is queued and has not begun.
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
 * Set view_state.enabled, which says whether the worker may run. A change of
 * this value also sets view_state.ready to false, so that readers do not use
 * the views. Returns whether the value has changed.
 */
static bool
set_enabled(bool enabled)
{
	ViewState	state;
	bool		changed;

	/*
	 * a new snapshot, which sees what the previous holder of the start-stop
	 * lock committed
	 */
	PushActiveSnapshot(GetLatestSnapshot());
	view_state_read(&state);
	changed = state.enabled != enabled;
	if (changed)
	{
		state.enabled = enabled;
		state.ready = false;
		view_state_write(&state);
	}
	PopActiveSnapshot();
	return changed;
}

/*
 * Clear the WAL position that the table change_feed has. Called if the slot
 * was dropped while the worker was stopped. If the position stayed, the next
 * worker would report that the slot was lost.
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

/*
 * blogstore.start_worker(): enable the worker. The launcher starts it at
 * commit.
 *
 * If the slot of a stopped worker does not exist, the slot was dropped on
 * purpose, for example by drop_slots(). The function then clears the WAL
 * position in the table change_feed (forget_position()).
 *
 * Errors: 25006, 40001, 54000, 55000. Locks: the start-stop lock (heavyweight,
 * exclusive) until the transaction ends.
 */
static Datum
start_worker(PG_FUNCTION_ARGS)
{
	char		slot_name[NAMEDATALEN];

	need_writable("start_worker()");
	container_require();
	need_possible_worker();
	start_stop_lock();
	worker_slot_name(MyDatabaseId, slot_name);
	if (set_enabled(true) &&
		SearchNamedReplicationSlot(slot_name, true) == NULL)
		forget_position();
	worker_look_on_commit();
	PG_RETURN_VOID();
}

static const char *
size_text(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum(bytes)));
}

/*
 * blogstore.stop_worker(drop_slot): stop the worker until start_worker() is
 * called.
 *
 * The function stops the worker before it writes to view_state. Otherwise the
 * worker could wait for a lock on view_state, while this function waits for
 * the worker to exit.
 *
 * Even if the containers were dropped or altered, or the library is no longer
 * preloaded, the slot still retains WAL. So drop_slot works in these cases,
 * too. The function then does not write to view_state.
 *
 * Errors: 22004, 25001, 25006; 55000 if drop_slot is false and no worker can
 * run; 55006 if another process than the worker uses the slot. Locks: the
 * start-stop lock (heavyweight, exclusive) until the transaction ends.
 */
Datum
blogstore_stop_worker(PG_FUNCTION_ARGS)
{
	char		slot_name[NAMEDATALEN];
	bool		drop;
	bool		usable;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("drop_slot must not be null"),
				 errhint("Pass true or false."),
				 err_fields(NULL, "drop_slot", RULE_NOT_NULL)));
	drop = PG_GETARG_BOOL(0);
	need_writable("stop_worker()");
	worker_slot_name(MyDatabaseId, slot_name);
	if (!library_preloaded && drop)
	{
		slot_drop(slot_name);
		PG_RETURN_VOID();
	}
	need_preload();
	need_other_process("stop_worker()");
	usable = container_usable(CONTAINER_POSTS) &&
		container_usable(CONTAINER_USERS);
	if (!usable && !drop)
		container_require();
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("stop_worker() cannot run in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errhint("Use a READ COMMITTED transaction."),
				 err_fields(NULL, NULL, RULE_READ_COMMITTED)));

	start_stop_lock();
	worker_stop();
	if (drop)
		slot_drop(slot_name);
	else if (SearchNamedReplicationSlot(slot_name, true) != NULL)
		ereport(WARNING,
				(errmsg("replication slot \"%s\" keeps all WAL from now on",
						slot_name),
				 errdetail("It keeps %s already.", size_text(slot_keeps(slot_name))),
				 errhint("Call blogstore.start_worker() soon, or blogstore.stop_worker(drop_slot => true) to drop the slot.")));
	if (usable && drop)
		forget_position();
	if (usable)
		(void) set_enabled(false);
	else
		worker_look_on_commit();
	PG_RETURN_VOID();
}
