/*
 * worker.c
 *		The blogstore worker of one database: main function, turn loop, sleep.
 *
 * At its start the worker checks that it is needed and enabled, and finds or
 * creates its replication slot. It then repeats a turn: decode WAL, apply the
 * changes to the views (the copies of posts in users, and the feed), fold
 * deltas (add counts that wait in rows of their own to the posts' counters),
 * do jobs such as renames. views_phase.c describes the phases of the views,
 * and views/launcher/worker_state.c the states that other processes see.
 *
 * An ERROR ends the process, and the launcher starts a new one after a pause.
 * The new worker simply continues, because a refresh makes each copy equal to
 * the current state of its post. The worker exits without an error only if it
 * is not needed, is stopped, or was blocked by damage that has been repaired.
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

/*
 * Longest sleep after a turn, in ms: if the worker has nothing to do, if jobs
 * wait for other transactions, and if something has to be tried again soon.
 */
#define NAP_IDLE 1000
#define NAP_JOB 100
#define NAP_SOON 20

/*
 * The cause of a failure to write the views is shown in stat_worker after this
 * many consecutive failures, and then again after each TELL_EVERY.
 */
#define TELL_FIRST 10
#define TELL_EVERY 100

extern PGDLLEXPORT void blogstore_worker_main(Datum arg);

/* ------------------------------------------------------------------------
 * Getting ready
 * ------------------------------------------------------------------------ */

/* Show the current error in stat_worker. The caller rethrows it. */
static void
note_error(Worker *worker)
{
	ErrorData  *error;

	MemoryContextSwitchTo(worker->context);
	error = CopyErrorData();
	worker_entry_error(worker->entry, error->message);
}

/*
 * Override settings of the database or of the worker's role that would change
 * what the worker does.
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
		 * A commit of the worker does not wait for its WAL to be flushed, nor
		 * for a standby. apply_flush() flushes it before the worker confirms
		 * the slot.
		 */
		{"synchronous_commit", "off"}
	};

	for (int i = 0; i < lengthof(setting); i++)
		SetConfigOption(setting[i][0], setting[i][1], PGC_SUSET, PGC_S_SESSION);
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_SESSION);
	slot_allow_plugin();
}

/*
 * Wait until all tables exist, which takes a while on a new node of a cluster.
 * Exits if no worker is needed any more. Errors: 55000 if a table is damaged.
 */
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

/*
 * Check that the worker is needed and enabled, create or check the slot, and
 * start decoding. Exits if no worker is needed or may run.
 */
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

	/* may create a slot, which waits for all running transactions to end */
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
 * Flush the commits of sessions with synchronous_commit = off. Their end is
 * known from wake_lsn, but their WAL may not be flushed yet. The worker
 * decodes only flushed WAL, and a session may wait for the views to show its
 * commit.
 */
static void
flush_noted_commits(Worker *worker)
{
	XLogRecPtr	lsn = pg_atomic_read_u64(&worker->entry->wake_lsn);

	if (lsn != InvalidXLogRecPtr && lsn > GetFlushRecPtr(NULL))
		XLogFlush(lsn);
}

/*
 * Apply the changes in worker->dirty to the views. Returns false if another
 * transaction is in the way; the set keeps its contents then.
 */
static bool
apply_dirty(Worker *worker)
{
	int64		changes = dirty_changes(worker->dirty);

	/* if an error is thrown below, the flag stays set */
	worker->must_retry = true;
	worker->jobs |= dirty_jobs(worker->dirty);
	if (dirty_anything(worker->dirty))
		worker_invalidate_views(worker);
	if (dirty_writes(worker->dirty) && !batch_apply(worker->dirty))
		return false;
	fold_later(worker->dirty);
	dirty_clear(worker->dirty);
	worker->must_retry = false;
	worker->batch_applied = true;
	pg_atomic_fetch_add_u64(&worker->entry->batches, 1);
	pg_atomic_fetch_add_u64(&worker->entry->changes, changes);
	return true;
}

/*
 * Publish that the views show all commits before a WAL position, and wake the
 * processes that wait for that.
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
 * Publish, for wait_for_posts(), that the views show all changes before a WAL
 * position except those of counts. The position does not pass a transaction
 * that is held back because its commit is not visible to others yet
 * (held_back.c). No process waits for such changes, because the transaction
 * has not returned to its client.
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
 * Sleep for at most nap ms, until WAL is flushed beyond the position
 * "flushed", which this turn has read, or a process wakes the worker. On a
 * busy site rest instead (worker_pause.c). The conditions are checked before
 * sleeping, because a wait during the turn, such as one for a lock, may have
 * reset the latch that a commit had set.
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
 * Return how many ms the worker may sleep after a turn; 0 if it must not
 * sleep.
 *
 * behind: the turn has not reached the end of WAL. progress: state of the job
 * queue. fold: ms until deltas have to be folded, -1 if there are none. After
 * NAP_SOON the worker tries again what a concurrent transaction has blocked.
 */
static long
nap_after(const Worker *worker, bool behind, JobProgress progress, long fold)
{
	long		nap = NAP_IDLE;

	if (worker->failed_writes > 0)
		return NAP_SOON;
	if (behind || progress == JOBS_MORE || deferred_parts_left(worker) ||
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
	return Min(nap, deferred_next(worker));
}

/*
 * Apply the changes in worker->dirty, and rewrite the feed if
 * blogstore.feed_size has changed. Returns false if another transaction is in
 * the way; the caller tries again later.
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
 * Write the views and publish up to where they are current. position: end of
 * the WAL that is decoded. If another transaction is in the way, the published
 * positions stay as they are, and after several failures in a row stat_worker
 * shows the cause.
 */
static void
apply_and_tell(Worker *worker, XLogRecPtr position)
{
	uint64		turn;

	if (!write_views(worker))
	{
		if (++worker->failed_writes % TELL_EVERY == TELL_FIRST)
			worker_entry_error(worker->entry,
							   psprintf("could not write the views: %s", apply_in_the_way()));
		return;
	}
	worker->failed_writes = 0;
	publish_posts(worker, position);
	position = deferred_applied_to(worker, position, &turn);
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
 * The second half of a turn: apply the decoded changes, fold deltas, do jobs,
 * sleep. flushed: end of flushed WAL when the turn began. position: end of the
 * WAL that is decoded.
 */
static void
turn_apply(Worker *worker, XLogRecPtr flushed, XLogRecPtr position)
{
	JobProgress progress = JOBS_NONE;
	long		fold;
	long		nap;
	bool		more = false;

	worker_check_state(worker);
	if (worker->must_invalidate)
		worker_invalidate_views(worker);
	worker_check_layout(worker);
	apply_and_tell(worker, position);
	/* even if the views could not be written */
	fold = fold_step();

	if (worker->jobs)
	{
		progress = jobs_step();
		worker->jobs = progress != JOBS_NONE;
		if (progress != JOBS_MORE)
			ConditionVariableBroadcast(&worker->entry->progress);
	}
	if (worker->views < VIEWS_KEPT && worker->failed_writes == 0)
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
 * Do one turn: decode WAL, apply the changes, fold deltas, do jobs, and sleep
 * if nothing else is to be done. Called outside of a transaction, in the
 * memory context of the turn.
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
	 * Clear the flag before reading the end of flushed WAL. If a process sets
	 * it later, it gets another turn, which reads more WAL.
	 */
	pg_atomic_exchange_u32(&worker->entry->urgent, 0);

	/*
	 * Begin the turn before the flush, so that the turn reads every commit
	 * that was reported in wake_lsn before it began.
	 */
	worker->turn_number = told_begin_turn(&worker->entry->told);
	flush_noted_commits(worker);
	flushed = GetFlushRecPtr(NULL);
	position = decoder_read(worker->decoder, flushed);

	/*
	 * Look only now whether transactions that are held back have ended. A
	 * process that had seen such a transaction end may have written a mark
	 * into the WAL and now waits. If this turn has read the mark, it finds the
	 * transaction ended and applies its changes.
	 */
	held_back_release(worker->held, worker->dirty, &worker->entry->told);
	if (decoder_at_end(worker->decoder))
		told_complete_turn(&worker->entry->told);
	deferred_move_due(worker, position);
	turn_apply(worker, flushed, position);
	CHECK_FOR_INTERRUPTS();
}

/* Allocate the local state of a worker process. */
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
	worker->due_counts = dirty_create(worker->context);
	worker->held = held_back_create(worker->context);
	worker->checked = PG_UINT64_MAX;
	worker_slot_name(entry->dbid, worker->slot_name);
	return worker;
}

/*
 * Do turns until an error occurs. If the owner has caused the error by
 * damaging the tables, wait until they are repaired; see worker_block().
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
 * Main function of a worker process. arg: the number of its entry in shared
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
