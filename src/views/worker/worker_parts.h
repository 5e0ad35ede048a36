/*
 * worker_parts.h
 *		Declarations shared by the files of views/worker/ and by cluster/,
 *		whose parts of a worker's turn run in the same process.
 *
 * The core of it is struct Worker, the local state of a worker process. The
 * functions are grouped by the file that defines them, and each is described
 * there.
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
 * How complete and up to date the views are. views_phase.c sets it and has the
 * table of transitions.
 */
typedef enum ViewsPhase
{
	VIEWS_UNKNOWN,				/* the worker has not looked yet */
	VIEWS_REBUILDING,			/* readers must not use the views until a
								 * rebuild is done */
	VIEWS_CATCHING_UP,			/* complete, but changes are still to be
								 * applied */
	VIEWS_KEPT,					/* up to date for the posts of this server. On
								 * a cluster, other nodes must still report
								 * that they keep their part */
	VIEWS_SERVED				/* readers may use the views */
} ViewsPhase;

typedef struct Worker
{
	WorkerEntry *entry;
	char		slot_name[NAMEDATALEN];
	MemoryContext context;
	MemoryContext turn;			/* reset after each turn */
	uint64		turn_number;
	DirtySet   *dirty;
	bool		kept;			/* the last attempt to apply dirty has failed;
								 * deferred_refresh.c leaves dirty alone until
								 * an attempt succeeds */
	DirtySet   *later;
	TimestampTz later_since;	/* when later was first found nonempty; 0 if it
								 * is empty */
	DirtySet   *counts;			/* posts of which only counts have changed */
	TimestampTz counts_since;	/* when the current count interval began */
	long		counts_done;	/* posts in counts refreshed during it */
	DirtySet   *taken;			/* counts of a finished interval that are still
								 * to be refreshed */
	XLogRecPtr	taken_at;		/* all changes before this are applied once
								 * taken is empty; invalid if unknown */
	uint64		taken_in;		/* turn in which taken was filled */
	HeldBack   *held;
	Decoder    *decoder;
	AppliedPosition position;		/* as stored in blogstore.change_feed */
	bool		applied;		/* a batch has been applied since
								 * worker_advance() last stored position */
	uint64		loads;			/* layout_loads() when last checked */
	uint64		checked;		/* layout_stamp() when the tables were last
								 * found undamaged */
	ViewsPhase	views;
	XLogRecPtr	serve_from;		/* WAL up to here must be applied before the
								 * views are served */
	XLogRecPtr	serve_at;		/* position at which that WAL had been decoded;
								 * invalid until then */
	XLogRecPtr	applied_to;		/* all changes before this are applied */
	bool		jobs;			/* the queue may hold jobs */
	bool		invalid;		/* the last attempt to invalidate the views has
								 * failed */
	bool		other_size;		/* the feed still has another size than
								 * blogstore.feed_size */
	int			in_vain;		/* consecutive failed attempts to write the
								 * views */
	TimestampTz checked_at;		/* last run of worker_check_state() */
	const ClusterCalls *cluster;	/* cluster_calls() when last checked */
	bool		busy;			/* many commits per second, see
								 * worker_pause.c */
	TimestampTz counted_at;		/* when commits were last counted */
	uint64		counted;		/* number of commits at that time */
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

/* blocked_by_damage.c: tables that the owner has damaged */
extern bool damage_look(Worker *worker);
extern void worker_block(Worker *worker, const ErrorData *error);

/* worker_pause.c: sleeping while commits accumulate */
extern void worker_sleep_between_looks(Worker *worker, long ms);
extern bool worker_rest(Worker *worker, long nap);

/* worker_position.c: the position up to which changes are applied */
extern void worker_take_position(Worker *worker);
extern void worker_hold_position(bool hold);
extern void worker_check_layout(Worker *worker);
extern void worker_advance(Worker *worker, XLogRecPtr applied);

/* ------------------------------------------------------------------------
 * Steps of a turn
 * ------------------------------------------------------------------------ */

/* deferred_refresh.c: changes that need not be applied at once */
extern void later_take(Worker *worker, XLogRecPtr position);
extern bool later_taking(const Worker *worker);
extern XLogRecPtr later_applied(Worker *worker, XLogRecPtr position,
								uint64 *turn);
extern long later_due(const Worker *worker);

/* worker_transaction.c: transactions of the worker */
typedef enum ApplyKind
{
	APPLY_STATE,				/* writes at most the bookkeeping tables */
	APPLY_POSTS,				/* writes items; the change feed decodes these
								 * writes */
	APPLY_COUNTS,				/* folds deltas; the change feed filters these
								 * writes out */
	APPLY_VIEWS					/* writes the views, holding the views' lock */
} ApplyKind;

typedef enum ApplyResult
{
	APPLY_DONE,					/* committed */
	APPLY_AGAIN,				/* rolled back because of a concurrent
								 * transaction; try again */
	APPLY_FAILED				/* rolled back by an error that the owner has
								 * caused; the caller gets the error */
} ApplyResult;

/* The cause of an error in the worker, which decides what the worker does. */
typedef enum ErrorCause
{
	CAUSE_OTHERS,				/* a concurrent transaction; the worker tries
								 * again soon */
	CAUSE_OWNER,				/* something that the owner has altered or
								 * attached; the error recurs until the owner
								 * undoes it */
	CAUSE_SERVER				/* disk full, out of memory, cancellation, lost
								 * connection: the process exits and is
								 * restarted */
} ErrorCause;

extern ErrorCause error_cause(ApplyKind kind, int sqlerrcode);
extern void apply_begin(OwnerScope *scope, ApplyKind kind);
extern void apply_end(OwnerScope *scope);
extern void apply_roll_back(void);
extern ApplyResult apply_run(ApplyKind kind, void (*step) (void *arg),
							 void *arg, ErrorData **error);
extern void apply_flush(void);
extern const char *apply_in_the_way(void);

/* refresh_batch.c: refreshing what a dirty set names */
extern bool batch_apply(const DirtySet *dirty);
extern bool batch_make_feed(void);

/* folding.c: adding deltas to the counters of their posts */
extern void fold_later(const DirtySet *dirty);
extern void fold_all_later(void);
extern long fold_step(void);

/* job_steps.c: the job queue */
typedef enum JobProgress
{
	JOBS_NONE,					/* the queue is empty */
	JOBS_PARKED,				/* all jobs left wait until a table is
								 * mended */
	JOBS_WAITING,				/* all jobs left are waiting; try again after a
								 * nap */
	JOBS_SOON,					/* time is up; continue with other jobs after a
								 * short nap */
	JOBS_MORE					/* continue at once */
} JobProgress;

extern JobProgress jobs_step(void);
extern bool arrival_writes_views(const Job *job);
extern bool jobs_rebuild_pending(void);
extern void jobs_request_rebuild(void);

/* views_rebuild.c */
extern void rebuild_chunk(Job *job);

#endif							/* BLOGSTORE_WORKER_PARTS_H */
