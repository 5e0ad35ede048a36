/*
 * worker_parts.h
 *		Declarations shared by the files of views/worker/, and by cluster/,
 *		whose parts of a worker's turn run in the same process.
 *
 * A turn is one round of the worker's main loop: decode WAL, apply the changes
 * to the views, do other work, sleep. The views are the copies of posts in
 * users, and the feed. Their changes are collected in dirty sets: sets of the
 * keys of posts and users that may be out of date in the views
 * (views/change_feed/dirty_set.c).
 *
 * struct Worker holds the local state of a worker process. The functions are
 * grouped by the file that defines them, and each is described there.
 */
#ifndef BLOGSTORE_WORKER_PARTS_H
#define BLOGSTORE_WORKER_PARTS_H

#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/rows/rows.h"
#include "views/change_feed/change_feed.h"
#include "views/launcher/launcher.h"
#include "views/worker/worker.h"

/* ------------------------------------------------------------------------
 * The worker
 * ------------------------------------------------------------------------ */

/*
 * How complete and up to date the views are. Only views_phase.c changes the
 * phase; it has a table of the transitions.
 */
typedef enum ViewsPhase
{
	VIEWS_UNKNOWN,				/* the worker has not looked at the views
								 * yet */
	VIEWS_REBUILDING,			/* the views are being rebuilt, and readers
								 * must not use them */
	VIEWS_CATCHING_UP,			/* the views are complete, but the worker has
								 * not yet applied all changes */

	/*
	 * The views are complete and up to date for the posts of this server. On a
	 * cluster, the worker waits until the other nodes report the same.
	 */
	VIEWS_KEPT,
	VIEWS_SERVED				/* the views are up to date, and readers use
								 * them */
} ViewsPhase;

typedef struct Worker
{
	WorkerEntry *entry;
	char		slot_name[NAMEDATALEN];
	MemoryContext context;
	MemoryContext turn;			/* reset after each round of the worker's main
								 * loop */
	uint64		turn_number;	/* number of the current round of the loop */
	DirtySet   *dirty;

	/*
	 * The last attempt to apply dirty has failed and must be repeated. Until
	 * it succeeds, no deferred changes are added to dirty.
	 */
	bool		must_retry;
	DirtySet   *later;
	TimestampTz later_since;	/* when a change was first put into later; 0 if
								 * later is empty */
	DirtySet   *counts;			/* posts of which only counts have changed, not
								 * due yet */
	TimestampTz counts_since;	/* when the current interval of count refreshes
								 * began */
	long		counts_done;	/* posts whose counts were refreshed in that
								 * interval */

	/*
	 * Posts whose changed counts are due. Each turn moves a part of them to
	 * dirty.
	 */
	DirtySet   *due_counts;

	/*
	 * When due_counts is empty, all changes before this WAL position are
	 * applied. Invalid if no such position is known.
	 */
	XLogRecPtr	due_lsn;
	uint64		due_turn;		/* turn_number when due_counts was filled */
	HeldBack   *held;
	Decoder    *decoder;
	AppliedPosition position;	/* the stored position of the worker, the row
								 * of blogstore.change_feed */
	bool		batch_applied;	/* a batch was applied since the position was
								 * last stored */

	/*
	 * Value of layout_loads() when the worker last compared the partitions
	 * with those that the views were built from.
	 */
	uint64		loads;
	uint64		checked;		/* layout_stamp() when the worker last found no
								 * table damaged */
	ViewsPhase	views;

	/*
	 * End of the WAL that existed when the worker started or a rebuild ended.
	 * The views are served once all of it is applied.
	 */
	XLogRecPtr	serve_from;

	/*
	 * End of the decoded WAL at the first time when everything up to
	 * serve_from was decoded; invalid until then.
	 */
	XLogRecPtr	serve_at;
	XLogRecPtr	applied_to;		/* all changes before this WAL position are
								 * applied to the views */
	bool		jobs;			/* the queue may hold jobs; if false, the
								 * worker does not look */

	/*
	 * The last attempt to mark the views as incomplete has failed and must be
	 * repeated.
	 */
	bool		must_invalidate;
	bool		other_size;		/* blogstore.feed_size has changed, and the
								 * feed has not been rewritten yet */
	int			failed_writes;	/* consecutive failed attempts to write the
								 * views */
	TimestampTz checked_at;		/* when worker_check_state() last ran */

	/*
	 * The cluster's functions, NULL if the server is no node of a cluster;
	 * updated in each turn.
	 */
	const ClusterCalls *cluster;
	bool		busy;			/* many commits per second, so the worker
								 * pauses between turns (worker_pause.c) */
	TimestampTz counted_at;		/* when the number of commits was last read */
	uint64		counted;		/* the number of commits at counted_at */
} Worker;

/* views_phase.c: phases of the views, and exit of the worker */
extern void worker_begin_views(Worker *worker, bool complete);
extern void worker_invalidate_views(Worker *worker);
extern void worker_views_rebuilt(Worker *worker);
extern void worker_keep_views(Worker *worker);
extern void worker_serve_views(Worker *worker);
extern void worker_serve_all(Worker *worker);
extern void worker_await_others(Worker *worker);
extern void worker_leave(Worker *worker, WorkerState reason);
extern void worker_retire(Worker *worker);

/* views_serving.c: whether readers may use the views */
extern bool worker_needed(void);
extern void worker_read_state(ViewState *state);
extern void worker_abandon_views(void);
extern void worker_follow_settings(Worker *worker);
extern bool worker_fit_feed(Worker *worker);
extern void worker_try_keep(Worker *worker, XLogRecPtr flushed, XLogRecPtr position);
extern void worker_check_state(Worker *worker);

/*
 * blocked_by_damage.c: what the worker does when the owner has damaged tables
 */
extern bool damage_look(Worker *worker);
extern void worker_block(Worker *worker, const ErrorData *error);

/* worker_pause.c: sleeping while commits accumulate */
extern void worker_sleep_between_looks(Worker *worker, long ms);
extern bool worker_rest(Worker *worker, long nap);

/* worker_position.c: the WAL position up to which changes are applied */
extern void worker_take_position(Worker *worker);
extern void worker_hold_position(bool hold);
extern void worker_check_layout(Worker *worker);
extern void worker_advance(Worker *worker, XLogRecPtr applied);

/* ------------------------------------------------------------------------
 * Steps of a turn
 * ------------------------------------------------------------------------ */

/* deferred_refresh.c: changes that are not applied at once */
extern void deferred_move_due(Worker *worker, XLogRecPtr position);
extern bool deferred_parts_left(const Worker *worker);
extern XLogRecPtr deferred_applied_to(Worker *worker, XLogRecPtr position,
									  uint64 *turn);
extern long deferred_next(const Worker *worker);

/* worker_transaction.c: the transactions in which the worker works */
typedef enum ApplyKind
{
	APPLY_STATE,				/* the transaction writes only bookkeeping
								 * tables, if anything */

	/*
	 * The transaction writes users, posts, comments or likes. The worker
	 * decodes these writes later, as it decodes those of other transactions.
	 */
	APPLY_POSTS,

	/*
	 * The transaction adds deltas to the counters of posts. The change feed
	 * does not report its writes.
	 */
	APPLY_COUNTS,
	APPLY_VIEWS					/* the transaction holds the views' lock and
								 * writes the views */
} ApplyKind;

typedef enum ApplyResult
{
	APPLY_DONE,					/* the transaction has committed */

	/*
	 * A concurrent transaction was in the way. The transaction is rolled back,
	 * and the caller tries again.
	 */
	APPLY_AGAIN,

	/*
	 * An error that the owner of the tables has caused, for example by a
	 * trigger. The transaction is rolled back, and the caller gets the error.
	 */
	APPLY_FAILED
} ApplyResult;

/* The cause of an error in the worker, which decides what the worker does. */
typedef enum ErrorCause
{
	CAUSE_OTHERS,				/* a concurrent transaction: the worker tries
								 * again soon */

	/*
	 * The owner of the tables, by altering them or by code attached to them.
	 * The error recurs until the owner undoes that.
	 */
	CAUSE_OWNER,

	/*
	 * The server: disk full, out of memory, cancellation, a lost connection.
	 * The process exits, and the launcher starts another.
	 */
	CAUSE_SERVER
} ErrorCause;

extern ErrorCause error_cause(ApplyKind kind, int sqlerrcode);
extern void apply_begin(OwnerScope *scope, ApplyKind kind);
extern void apply_end(OwnerScope *scope);
extern void apply_roll_back(void);
extern ApplyResult apply_run(ApplyKind kind, void (*step) (void *arg),
							 void *arg, ErrorData **error);
extern void apply_flush(void);
extern const char *apply_in_the_way(void);

/* refresh_batch.c: updating the views for the keys of a dirty set */
extern bool batch_apply(const DirtySet *dirty);
extern bool batch_make_feed(void);

/*
 * folding.c: adding deltas, rows with changes of counts, to the posts'
 * counters
 */
extern void fold_later(const DirtySet *dirty);
extern void fold_all_later(void);
extern long fold_step(void);

/* job_steps.c: doing the jobs of the queue */
typedef enum JobProgress
{
	JOBS_NONE,					/* the queue is empty */
	JOBS_PARKED,				/* all jobs wait for the owner to repair a
								 * table */
	JOBS_WAITING,				/* no job can continue now; call again after a
								 * nap */

	/*
	 * The time is up and no job has moved; continue with other jobs after a
	 * short nap.
	 */
	JOBS_SOON,
	JOBS_MORE					/* some job has moved; call again at once */
} JobProgress;

extern JobProgress jobs_step(void);
extern bool arrival_writes_views(const Job *job);
extern bool jobs_rebuild_pending(void);
extern void jobs_request_rebuild(void);

/* views_rebuild.c */
extern void rebuild_chunk(Job *job);

#endif							/* BLOGSTORE_WORKER_PARTS_H */
