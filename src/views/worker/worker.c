/*
 * worker.c
 *		The blogstore worker of one database: main function, turn loop,
 *		sleep.
 *
 * At its start the worker checks that it is needed and enabled, and finds or
 * creates its replication slot. Then it repeats a turn: decode WAL, apply the
 * changes to the views, fold deltas, run jobs. views_phase.c describes the
 * phases of the views, and views/launcher/worker_state.c the states that other
 * processes see.
 *
 * An ERROR ends the process, and the launcher starts a new one after a pause.
 * The new worker simply continues, because refreshing sets each copy to the
 * current state of its post. The worker exits by itself only if it is not
 * needed, is stopped, or was blocked by damage that has been mended.
 *
 * Memory contexts: "blogstore worker" lives as long as the process. Its child
 * "blogstore turn" is reset after each turn.
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

/* Longest sleep in ms: when idle, while jobs wait, and when a retry is due. */
#define NAP_IDLE 1000
#define NAP_JOB 100
#define NAP_SOON 20

/*
 * Consecutive failures to write the views before the cause is shown in
 * stat_worker, and between further reports.
 */
#define TELL_FIRST 10
#define TELL_EVERY 100

extern PGDLLEXPORT void blogstore_worker_main(Datum arg);

/* ------------------------------------------------------------------------
 * Getting ready
 * ------------------------------------------------------------------------ */

/* Record the current error for stat_worker. The caller rethrows it. */
static void
note_error(Worker *worker)
{
	ErrorData  *error;

	MemoryContextSwitchTo(worker->context);
	error = CopyErrorData();
	worker_entry_error(worker->entry, error->message);
}

/*
 * Override settings of the database or the role that would change what the
 * worker does.
 */
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
		 * Commits become visible at once. apply_flush() flushes them before
		 * the slot is confirmed. Neither commits nor shutdown wait for a
		 * standby.
		 */
		{"synchronous_commit", "off"}
	};

	for (int i = 0; i < lengthof(setting); i++)
		SetConfigOption(setting[i][0], setting[i][1], PGC_SUSET, PGC_S_SESSION);
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_SESSION);
	slot_allow_plugin();
}

/* Wait until all tables exist. Errors: 55000 if a table is damaged. */
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

/* Check that the worker may run, get the slot ready, and open the decoder. */
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

	/* creating a slot waits for all running transactions to end */
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

/*
 * Flush commits that were reported through wake_lsn but not flushed, as with
 * synchronous_commit = off. Only flushed WAL is decoded, and readers wait for
 * it.
 */
static void
flush_noted_commits(Worker *worker)
{
	XLogRecPtr	lsn = pg_atomic_read_u64(&worker->entry->wake_lsn);

	if (lsn != InvalidXLogRecPtr && lsn > GetFlushRecPtr(NULL))
		XLogFlush(lsn);
}

/*
 * Apply the contents of worker->dirty. Returns false if the attempt has to be
 * repeated; the set is kept then.
 */
static bool
apply_dirty(Worker *worker)
{
	int64		changes = dirty_changes(worker->dirty);

	/* stays set if an error is thrown below */
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

/*
 * Publish the position before which the views show all commits, and wake
 * processes that wait for it.
 */
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
 * Publish the position before which all changes of posts are applied, for
 * wait_for_posts(). Changes of counts may be deferred. A transaction that is
 * held back has not ended, so no process waits for its changes.
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
 * Sleep until there is new WAL beyond what this turn has read, or, on a busy
 * site, for the pause of worker_pause.c. A wait during the turn, such as for a
 * lock, may have reset the latch that a commit had set, so check the
 * conditions before sleeping.
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
 * Return how long to sleep after a turn, in ms; 0 for no sleep.
 *
 * behind: the turn has not reached the end of WAL. progress: state of the job
 * queue. fold: ms until deltas are due to be folded, -1 if none are known.
 * Work that a concurrent transaction has blocked is retried after NAP_SOON.
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
 * Apply worker->dirty, and rewrite the feed if blogstore.feed_size has
 * changed. Returns false if the attempt has to be repeated; worker->dirty is
 * kept then.
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
 * Write the views and publish how far they are. position: end of the decoded
 * WAL. If the attempt has to be repeated, the published position stays, and
 * the cause is reported to stat_worker from time to time.
 */
static void
apply_and_tell(Worker *worker, XLogRecPtr position)
{
	uint64		turn;

	if (!write_views(worker))
	{
		if (++worker->in_vain % TELL_EVERY == TELL_FIRST)
			worker_entry_error(worker->entry,
							   psprintf("could not write the views: %s", apply_in_the_way()));
		return;
	}
	worker->in_vain = 0;
	publish_posts(worker, position);
	position = later_applied(worker, position, &turn);
	if (position != InvalidXLogRecPtr)
	{
		worker->applied_to = position;

		/*
		 * Before VIEWS_KEPT the views may lack changes that an earlier worker
		 * decoded but did not apply.
		 */
		if (worker->views >= VIEWS_KEPT)
			told_applied(&worker->entry->told, turn);
		publish(worker, position);
		worker_advance(worker, position);
	}
}

/*
 * Apply what the turn has decoded, fold, run jobs, then sleep. flushed: end of
 * flushed WAL when the turn began. position: end of the decoded WAL.
 */
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
	/* folding and jobs continue even if the views could not be written */
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

/*
 * Run one turn: decode, apply, fold, run jobs, and sleep if there is nothing
 * else to do. Called outside of a transaction, in the turn's memory context.
 */
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

	/*
	 * Clear the flag before reading the end of flushed WAL. A process that
	 * sets it later requests another turn.
	 */
	pg_atomic_exchange_u32(&worker->entry->urgent, 0);
	/* begin the turn before the flush, so it reads all commits noted before */
	worker->turn_number = told_begin_turn(&worker->entry->told);
	flush_noted_commits(worker);
	flushed = GetFlushRecPtr(NULL);
	position = decoder_read(worker->decoder, flushed);

	/*
	 * Release held-back transactions only after reading WAL. If this turn has
	 * read the mark of a process that had seen such a transaction end, the
	 * transaction is found ended here.
	 */
	held_back_release(worker->held, worker->dirty, &worker->entry->told);
	if (decoder_at_end(worker->decoder))
		told_complete_turn(&worker->entry->told);
	later_take(worker, position);
	turn_apply(worker, flushed, position);
	CHECK_FOR_INTERRUPTS();
}

/* Allocate the state of a worker process. */
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
 * Run turns until an error. If the owner has caused the error by damaging the
 * tables, wait until they are mended; see worker_block().
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

/*
 * Main function of a worker process. arg is the number of its entry in shared
 * memory.
 */
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
