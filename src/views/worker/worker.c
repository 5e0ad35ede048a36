/*
 * worker.c
 *		The blogstore worker of one database: main function, main loop, sleep.
 *
 * At its start the worker checks that it is needed and enabled, and finds or
 * creates its slot. Then it repeats its main loop. Each round decodes WAL,
 * applies the changes to the views, folds deltas, publishes scheduled posts,
 * and does jobs. Identifiers call a round a turn. views_phase.c describes the
 * phases of the views.
 *
 * An ERROR ends the process, and the launcher starts a new worker after a
 * pause. The new worker simply continues, because a refresh makes each copy
 * equal to the current state of its post. A worker exits without an error if
 * it is not needed, is stopped, or was blocked by damage that has been
 * repaired.
 *
 * Memory contexts: "blogstore worker" lives as long as the process. Its child
 * "blogstore turn" is reset after each round of the main loop.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/wait_events.h"
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

/*
 * Longest sleep after a round of the main loop, in ms.
 *
 * NAP_IDLE: the worker has nothing to do
 * NAP_JOB: jobs wait for other transactions
 * NAP_SOON: the worker has to try something again soon
 */
#define NAP_IDLE 1000
#define NAP_JOB 100
#define NAP_SOON 20

/*
 * stat_worker shows why the worker cannot write the views after TELL_FIRST
 * failures in a row, and again after each TELL_EVERY further failures.
 */
#define TELL_FIRST 10
#define TELL_EVERY 100

extern PGDLLEXPORT void blogstore_worker_main(Datum arg);

static void
note_error(Worker *worker)
{
	ErrorData  *error;

	MemoryContextSwitchTo(worker->context);
	error = CopyErrorData();
	worker_entry_error(worker->entry, ERROR_VIEWS, error->message,
					   error->hint);
}

static void
database_context(void *arg)
{
	errcontext("blogstore worker of database \"%s\"", worker_database());
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
		 * Commits of the worker wait neither for a flush nor for a standby.
		 * apply_flush() flushes them before the slot is confirmed.
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
 * Wait until all tables exist. On a new node of a cluster this takes a while.
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
 * Check or create the slot, and start decoding. Exits if the worker is not
 * needed or not enabled, or if settings prevent logical decoding.
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

	/*
	 * If worker_take_position() creates a slot, it waits for the end of all
	 * running transactions. Set the first phase before, so that the launcher
	 * can start other workers during the wait.
	 */
	worker_begin_views(worker, state.ready);
	worker_take_position(worker);
	worker_follow_settings(worker);
	MemoryContextSwitchTo(worker->context);
	worker->decoder = decoder_open(worker->slot_name, worker->dirty,
								   worker->later, worker->held,
								   &worker->entry->told);
	worker->serve_from = GetFlushRecPtr(NULL);
}

/*
 * Flush the commits of sessions with synchronous_commit = off, up to wake_lsn.
 * Such a session may wait for the views to show its commit, but the worker
 * decodes only flushed WAL.
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
 * transaction prevents this. The changes then stay in worker->dirty.
 */
static bool
apply_dirty(Worker *worker)
{
	int64		changes = dirty_changes(worker->dirty);

	/* If an error is thrown below, must_retry stays true. */
	worker->must_retry = true;
	worker->jobs |= dirty_jobs(worker->dirty);
	if (dirty_anything(worker->dirty))
		worker_invalidate_views(worker, "A table was truncated, topics were written, or too many posts were changed at once.");
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
 * processes that wait for this position.
 */
static void
publish(Worker *worker, XLogRecPtr position)
{
	WorkerEntry *entry = worker->entry;

	if (decoder_at_end(worker->decoder))
		entry->caught_up = clock_elapsed();
	if (pg_atomic_read_u64(&entry->shown_lsn) != position)
	{
		pg_atomic_write_u64(&entry->shown_lsn, position);
		ConditionVariableBroadcast(&entry->progress);
	}
}

/*
 * Publish, for wait_for_posts(), that the views show all changes before a WAL
 * position, except changed counts.
 *
 * If a transaction is held back until other processes see its commit
 * (held_back.c), publish a position before this transaction. Its client has
 * not been told of the commit yet, so no process waits for it.
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
 * Sleep after a round of the main loop, for at most "nap" ms, or until a
 * process wakes the worker. On a busy site, worker_rest() does this, and
 * commits do not end the sleep. On any other site, the worker does not sleep
 * if there is WAL to read.
 *
 * flushed: the end of the WAL that this round has read
 *
 * The latch does not tell reliably whether there is WAL to read. A wait
 * earlier in this round, such as one for a lock, may have reset the latch.
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
						 WL_EXIT_ON_PM_DEATH, nap, wait_event(WAIT_WORKER_MAIN));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	pgstat_report_activity(STATE_RUNNING, NULL);
}

/*
 * Return how many ms the worker may sleep after a round of the main loop; 0 if
 * it must not sleep.
 *
 * behind: whether the round has not reached the end of WAL
 * progress: result of jobs_step()
 * fold: result of fold_step()
 * next_publish: result of publish_step()
 */
static long
nap_after(const Worker *worker, bool behind, JobProgress progress, long fold,
		  long next_publish)
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
	if (next_publish >= 0)
		nap = Min(nap, next_publish);
	return Min(nap, deferred_next(worker));
}

static bool
write_views(Worker *worker)
{
	bool		fits = !worker->other_size || worker_fit_feed(worker);

	if (dirty_any(worker->dirty) && !apply_dirty(worker))
		return false;
	return fits;
}

/*
 * Write the views, and publish up to which WAL position they are current. If
 * another transaction prevents this, the published position stays. After
 * TELL_FIRST failures in a row, stat_worker shows the cause.
 *
 * position: end of the decoded WAL
 */
static void
apply_and_tell(Worker *worker, XLogRecPtr position)
{
	uint64		turn;

	if (!write_views(worker))
	{
		if (++worker->failed_writes % TELL_EVERY == TELL_FIRST)
			worker_entry_error(worker->entry, ERROR_VIEWS,
							   psprintf("could not write the views: %s", apply_in_the_way()),
							   NULL);
		return;
	}
	if (worker->failed_writes >= TELL_FIRST && worker->views == VIEWS_SERVED)
		worker_entry_recovered(worker->entry, ERROR_VIEWS);
	worker->failed_writes = 0;
	publish_posts(worker, position);
	position = deferred_applied_to(worker, position, &turn);
	if (position != InvalidXLogRecPtr)
	{
		worker->applied_to = position;

		/*
		 * Before the phase VIEWS_KEPT, the views may lack changes that an
		 * earlier worker has decoded.
		 */
		if (worker->views >= VIEWS_KEPT)
			told_applied(&worker->entry->told, turn);
		publish(worker, position);
		worker_advance(worker, position);
	}
}

/*
 * The second half of a round of the main loop: apply the decoded changes, fold
 * deltas, publish scheduled posts, do jobs, sleep.
 *
 * flushed: end of flushed WAL when the round began
 * position: end of the decoded WAL
 */
static void
turn_apply(Worker *worker, XLogRecPtr flushed, XLogRecPtr position)
{
	JobProgress progress = JOBS_NONE;
	long		fold;
	long		next_publish;
	long		nap;
	bool		more = false;

	worker_check_state(worker);
	if (worker->must_invalidate)
		worker_invalidate_views(worker, worker->must_invalidate);
	worker_check_layout(worker);
	apply_and_tell(worker, position);
	hint_send();
	/* Do the following even if the views could not be written. */
	fold = fold_step();
	next_publish = publish_step();

	if (worker->jobs)
	{
		progress = jobs_step();
		worker->jobs = progress != JOBS_NONE;
		if (progress == JOBS_NONE)
			worker_entry_recovered(worker->entry, ERROR_JOB);
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
							   fold, next_publish);
	if (nap > 0)
		worker_nap(worker, flushed, nap);
}

/*
 * Do one round of the main loop: decode WAL, apply the changes, fold deltas,
 * publish scheduled posts, do jobs, and sleep if there is nothing else to do.
 * Called outside of a transaction, in the memory context worker->turn.
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
	 * Clear the flag "urgent" before reading the end of flushed WAL. If a
	 * process sets the flag later, the worker does not sleep after this round,
	 * and the next round reads more WAL.
	 */
	pg_atomic_exchange_u32(&worker->entry->urgent, 0);

	/*
	 * Publish the number of this round before flush_noted_commits() reads
	 * wake_lsn. wait_for_posts() first reads wake_lsn, and then the number. So
	 * if it gets the number of an earlier round, this round decodes all
	 * commits before the wake_lsn that wait_for_posts() has read.
	 */
	worker->turn_number = told_begin_turn(&worker->entry->told);
	flush_noted_commits(worker);
	flushed = GetFlushRecPtr(NULL);
	position = decoder_read(worker->decoder, flushed);

	/*
	 * Release held-back transactions only after the decoding. A process that
	 * has seen such a transaction end may write a logical message
	 * (wait_for_views()). The round that decodes this message must also apply
	 * the changes of that transaction.
	 */
	held_back_release(worker->held, worker->dirty, &worker->entry->told);
	if (decoder_at_end(worker->decoder))
		told_complete_turn(&worker->entry->told);
	deferred_move_due(worker, position);
	turn_apply(worker, flushed, position);
	CHECK_FOR_INTERRUPTS();
}

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
 * Repeat the main loop until an error is thrown. If the owner has caused the
 * error by damaging the tables, wait until they are repaired (worker_block()).
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
 * Main function of a worker process.
 *
 * arg: index of the worker's entry in shared memory.
 */
void
blogstore_worker_main(Datum arg)
{
	Worker	   *worker;
	WorkerEntry *entry;
	ErrorContextCallback callback = {.callback = database_context};

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);

	/*
	 * The server ignores a SIGHUP that arrives before this function. So read
	 * the configuration in the first round of the main loop.
	 */
	ConfigReloadPending = true;
	BackgroundWorkerUnblockSignals();
	entry = worker_entry_attach(DatumGetInt32(arg));
	if (entry == NULL)
		proc_exit(0);
	BackgroundWorkerInitializeConnectionByOid(entry->dbid, InvalidOid, 0);
	worker_database_read();
	error_context_stack = &callback;
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
