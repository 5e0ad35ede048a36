/*
 * worker.c
 *		The blogstore worker of one database: decodes, applies, runs jobs.
 *
 * It looks whether it is needed and enabled, sees to its slot, and then turns in a
 * loop: decode, apply, run jobs. How far the views are is in views_phase.c, and the
 * worker's states as others see them are in views/launcher/worker_state.c.
 *
 * An ERROR ends the process; the launcher starts it again after a while, and
 * because refreshing is by state, it just goes on. Exits on its own only to
 * say that it is not needed or was stopped (worker_leave()).
 *
 * Memory contexts: "blogstore worker" for the life of the process, below it
 * "blogstore turn", reset in each turn of the loop.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* How long to sleep at most: without news; while a job waits for others. */
#define NAP_IDLE 1000
#define NAP_JOB 100
#define NAP_SOON 20

/* After so many tries in vain to write the views it is told why, and again after so many. */
#define TELL_FIRST 10
#define TELL_EVERY 100

extern PGDLLEXPORT void blogstore_worker_main(Datum arg);

/* ------------------------------------------------------------------------
 * Getting ready
 * ------------------------------------------------------------------------ */

/* Record an error where stat_worker shows it, then let it end the process. */
static void
note_error(Worker *worker)
{
	ErrorData  *error;

	MemoryContextSwitchTo(worker->context);
	error = CopyErrorData();
	worker_entry_error(worker->entry, error->message);
}

/* Settings of a database or role must not change what the worker does. */
static void
worker_settings(void)
{
	static const char *const setting[][2] = {
		{"search_path", ""},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"row_security", "off"},

		/*
		 * Commits show at once and are flushed before the slot is confirmed:
		 * apply_flush(). Neither they nor a shutdown wait for a standby.
		 */
		{"synchronous_commit", "off"}
	};

	for (int i = 0; i < lengthof(setting); i++)
		SetConfigOption(setting[i][0], setting[i][1], PGC_SUSET, PGC_S_SESSION);
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_SESSION);
	slot_allow_plugin();
}

/* Wait until all tables are there. Errors: 55000 if something is wrong with one. */
static void
await_tables(Worker *worker)
{
	for (;;)
	{
		bool		all;

		StartTransactionCommand();
		all = damage_look(worker);
		CommitTransactionCommand();
		if (all)
			return;
		worker_sleep_between_looks(worker, NAP_IDLE);
		if (!worker_needed())
			worker_retire(worker);
	}
}

/* See to the slot and begin to decode. */
static void
worker_prepare(Worker *worker)
{
	ViewState	state;
	const char *hint;

	if (!worker_needed())
		worker_retire(worker);
	worker_read_state(&state);
	if (worker_obstacle(&hint) != NULL && state.ready)
		worker_abandon_views();
	if (worker_obstacle(&hint) != NULL || !state.enabled)
		worker_leave(worker, WORKER_STOPPED);

	await_tables(worker);

	/* making a slot can take as long as the longest transaction */
	worker_begin_views(worker, state.ready);
	worker_take_position(worker);
	worker_follow_settings(worker);
	MemoryContextSwitchTo(worker->context);
	worker->decoder = decoder_open(worker->slot_name, worker->dirty,
								   worker->later, worker->held,
								   &worker->entry->told);
	worker->serve_from = GetFlushRecPtr(NULL);
}

/* ------------------------------------------------------------------------
 * The loop
 * ------------------------------------------------------------------------ */

/* Commits that were not waited for are flushed here: readers wait for them. */
static void
flush_noted_commits(Worker *worker)
{
	XLogRecPtr	lsn = pg_atomic_read_u64(&worker->entry->wake_lsn);

	if (lsn != InvalidXLogRecPtr && lsn > GetFlushRecPtr(NULL))
		XLogFlush(lsn);
}

/* Apply what the set holds; false if that has to be tried again. */
static bool
apply_dirty(Worker *worker)
{
	int64		changes = dirty_changes(worker->dirty);

	/* also if this ends in an error */
	worker->kept = true;
	worker->jobs |= dirty_jobs(worker->dirty);
	if (dirty_anything(worker->dirty))
		worker_invalidate_views(worker);
	if (dirty_writes(worker->dirty) && !batch_apply(worker->dirty))
		return false;
	fold_later(worker->dirty);
	dirty_clear(worker->dirty);
	worker->kept = false;
	worker->applied = true;
	pg_atomic_fetch_add_u64(&worker->entry->batches, 1);
	pg_atomic_fetch_add_u64(&worker->entry->changes, changes);
	return true;
}

/* Tell those who wait how far the views are. */
static void
publish(Worker *worker, XLogRecPtr position)
{
	WorkerEntry *entry = worker->entry;

	if (decoder_at_end(worker->decoder))
		entry->caught_up_at = GetCurrentTimestamp();
	if (pg_atomic_read_u64(&entry->shown_lsn) != position)
	{
		pg_atomic_write_u64(&entry->shown_lsn, position);
		ConditionVariableBroadcast(&entry->progress);
	}
}

/*
 * Publish up to where all posts are applied, for wait_for_posts(). Counts may
 * be deferred. A transaction that is held back has not ended, so nobody waits
 * for it.
 */
static void
publish_posts(Worker *worker, XLogRecPtr position)
{
	WorkerEntry *entry = worker->entry;

	position = held_back_limit(worker->held, position);
	if (pg_atomic_read_u64(&entry->posts_lsn) != position)
	{
		pg_atomic_write_u64(&entry->posts_lsn, position);
		ConditionVariableBroadcast(&entry->progress);
	}
}

/*
 * Sleep until there is news, beyond the WAL that the turn began with, or, on a busy
 * site, rest. Waits during the turn, for a lock say, may have reset the latch that a
 * commit had set, so look at what it left first.
 */
static void
worker_nap(Worker *worker, XLogRecPtr flushed, long nap)
{
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	if (!worker_rest(worker, nap) && GetFlushRecPtr(NULL) <= flushed &&
		pg_atomic_read_u64(&worker->entry->wake_lsn) <= flushed &&
		pg_atomic_read_u32(&worker->entry->urgent) == 0)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
						 WL_EXIT_ON_PM_DEATH, nap, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	pgstat_report_activity(STATE_RUNNING, NULL);
}

/*
 * How long to sleep after a turn, in milliseconds; 0: not at all. behind: has the
 * turn not come to the end of the WAL? progress: of the jobs. fold: after how many
 * milliseconds there will be deltas to fold; -1: nothing is known to be. What somebody
 * else is in the way of is tried again soon, and not at once.
 */
static long
nap_after(const Worker *worker, bool behind, JobProgress progress, long fold)
{
	long		nap = NAP_IDLE;

	if (worker->in_vain > 0)
		return NAP_SOON;
	if (behind || progress == JOBS_MORE || later_taking(worker) ||
		dirty_waited(worker->dirty))
		return 0;
	if (held_back_any(worker->held) || worker->views == VIEWS_CATCHING_UP ||
		progress == JOBS_SOON ||
		(worker->views < VIEWS_KEPT && worker->jobs && progress == JOBS_NONE))
		return NAP_SOON;
	if (progress == JOBS_WAITING)
		nap = NAP_JOB;
	if (fold >= 0)
		nap = Min(nap, fold);
	return Min(nap, later_due(worker));
}

/*
 * Write to the views what they lack: all that the set holds, and the feed if it is of another
 * size. False: that has to be tried again; the set is kept.
 */
static bool
write_views(Worker *worker)
{
	bool		fits = !worker->other_size || worker_fit_feed(worker);

	if (dirty_any(worker->dirty) && !apply_dirty(worker))
		return false;
	return fits;
}

/*
 * Write to the views what they lack, and tell so. If that has to be tried again, how far they
 * are stays what it was; now and then it is told why.
 */
static void
apply_and_tell(Worker *worker, XLogRecPtr position)
{
	uint64		turn;

	if (!write_views(worker))
	{
		if (++worker->in_vain % TELL_EVERY == TELL_FIRST)
			worker_entry_error(worker->entry,
							   psprintf("the views wait: %s", apply_in_the_way()));
		return;
	}
	worker->in_vain = 0;
	publish_posts(worker, position);
	position = later_applied(worker, position, &turn);
	if (position != InvalidXLogRecPtr)
	{
		worker->applied_to = position;
		/* before, the views may lack what a worker that has ended was told of */
		if (worker->views >= VIEWS_KEPT)
			told_applied(&worker->entry->told, turn);
		publish(worker, position);
		worker_advance(worker, position);
	}
}

/* What a turn does with what has been decoded, up to a position; it then sleeps. */
static void
turn_apply(Worker *worker, XLogRecPtr flushed, XLogRecPtr position)
{
	JobProgress progress = JOBS_NONE;
	long		fold;
	long		nap;
	bool		more = false;

	worker_check_state(worker);
	if (worker->invalid)
		worker_invalidate_views(worker);
	worker_check_layout(worker);
	apply_and_tell(worker, position);
	/* what is not in the views' way goes on also while they wait */
	fold = fold_step();

	if (worker->jobs)
	{
		progress = jobs_step();
		worker->jobs = progress != JOBS_NONE;
		if (progress != JOBS_MORE)
			ConditionVariableBroadcast(&worker->entry->progress);
	}
	if (worker->views < VIEWS_KEPT && worker->in_vain == 0)
		worker_try_keep(worker, flushed, position);
	if (worker->cluster != NULL)
		more = worker->cluster->worker_turn(worker);
	else if (worker->views == VIEWS_KEPT)
		worker_serve_views(worker);
	told_end_turn(&worker->entry->told);

	nap = more ? 0 : nap_after(worker, !decoder_at_end(worker->decoder), progress,
							   fold);
	if (nap > 0)
		worker_nap(worker, flushed, nap);
}

/* One turn: decode, apply, confirm; fold; some chunks of jobs; sleep if idle. */
static void
worker_turn(Worker *worker)
{
	XLogRecPtr	flushed;
	XLogRecPtr	position;

	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
		worker_follow_settings(worker);
	}

	/* what was flushed before is looked at now */
	pg_atomic_exchange_u32(&worker->entry->urgent, 0);
	/* flush and read all commits noted before the turn begins */
	worker->turn_number = told_begin_turn(&worker->entry->told);
	flush_noted_commits(worker);
	flushed = GetFlushRecPtr(NULL);
	position = decoder_read(worker->decoder, flushed);
	/*
	 * Only after WAL was read: who saw a transaction end that was held back asks
	 * for what comes later.
	 */
	held_back_release(worker->held, worker->dirty, &worker->entry->told);
	if (decoder_at_end(worker->decoder))
		told_complete_turn(&worker->entry->told);
	later_take(worker, position);
	turn_apply(worker, flushed, position);
	CHECK_FOR_INTERRUPTS();
}

/* What a worker keeps for the life of its process. */
static Worker *
make_worker(WorkerEntry *entry)
{
	Worker	   *worker;

	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext,
												"blogstore worker",
												ALLOCSET_DEFAULT_SIZES));
	worker = palloc0(sizeof(Worker));
	worker->entry = entry;
	worker->context = CurrentMemoryContext;
	worker->turn = AllocSetContextCreate(worker->context, "blogstore turn",
										 ALLOCSET_DEFAULT_SIZES);
	worker->dirty = dirty_create(worker->context);
	worker->later = dirty_create(worker->context);
	worker->counts = dirty_create(worker->context);
	worker->taken = dirty_create(worker->context);
	worker->held = held_back_create(worker->context);
	worker->checked = PG_UINT64_MAX;
	worker_slot_name(entry->dbid, worker->slot_name);
	return worker;
}

/*
 * Do what a worker does, until an error. If that is of the owner's making, and the containers
 * are damaged, wait until they are mended.
 */
static void
run(Worker *worker)
{
	ErrorData  *error;

	PG_TRY();
	{
		worker_prepare(worker);
		for (;;)
		{
			MemoryContextSwitchTo(worker->turn);
			worker_turn(worker);
			MemoryContextReset(worker->turn);
		}
	}
	PG_CATCH();
	{
		if (error_cause(APPLY_VIEWS, geterrcode()) != CAUSE_OWNER)
			PG_RE_THROW();
		MemoryContextSwitchTo(worker->context);
		error = CopyErrorData();
		apply_roll_back();
	}
	PG_END_TRY();

	MemoryContextSwitchTo(worker->context);
	worker_block(worker, error);
	ReThrowError(error);
}

/* Entry point of a worker; arg is the number of its entry. */
void
blogstore_worker_main(Datum arg)
{
	Worker	   *worker;
	WorkerEntry *entry;

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	entry = worker_entry_attach(DatumGetInt32(arg));
	if (entry == NULL)
		proc_exit(0);
	BackgroundWorkerInitializeConnectionByOid(entry->dbid, InvalidOid, 0);
	worker_settings();
	worker = make_worker(entry);
	pgstat_report_appname("blogstore worker");

	PG_TRY();
	{
		run(worker);
	}
	PG_CATCH();
	{
		note_error(worker);
		PG_RE_THROW();
	}
	PG_END_TRY();
}
