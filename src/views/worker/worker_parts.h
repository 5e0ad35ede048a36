/*
 * worker_parts.h
 *		What the files of views/worker/ and cluster/ share with each other.
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

/* How far the views are; set in views_phase.c, which tells how they follow. */
typedef enum ViewsPhase
{
	VIEWS_UNKNOWN,				/* nobody has looked yet */
	VIEWS_REBUILDING,			/* not to be trusted before a rebuild is done */
	VIEWS_CATCHING_UP,			/* complete, but not up to date */
	VIEWS_KEPT,					/* up to date, as far as the posts here go. On a cluster
								 * other nodes have to say so of theirs */
	VIEWS_SERVED				/* readers have them */
} ViewsPhase;

typedef struct Worker
{
	WorkerEntry *entry;
	char		slot_name[NAMEDATALEN];
	MemoryContext context;
	MemoryContext turn;			/* reset after each turn */
	uint64		turn_number;
	DirtySet   *dirty;
	bool		kept;			/* does it hold what could not be applied yet? */
	DirtySet   *later;
	TimestampTz later_since;	/* when later was found not empty; 0: it is */
	DirtySet   *counts;			/* posts of which counts alone have changed */
	TimestampTz counts_since;	/* when the present interval of them began */
	long		counts_done;	/* how many were refreshed in it */
	DirtySet   *taken;			/* those of an interval that is over, as far as
								 * they are still to be refreshed */
	XLogRecPtr	taken_at;		/* when they are, all is applied up to here;
								 * invalid: that cannot be said */
	uint64		taken_in;		/* the turn in which they were taken */
	HeldBack   *held;
	Decoder    *decoder;
	AppliedPosition position;		/* as written down */
	bool		applied;		/* was anything since? */
	uint64		loads;			/* layout_loads() at the last look */
	uint64		checked;		/* layout_stamp() when all tables were last found fit to
								 * be used */
	ViewsPhase	views;
	XLogRecPtr	serve_from;		/* WAL to be applied before they are served */
	XLogRecPtr	serve_at;		/* where all of that had been decoded; invalid: it
								 * has not */
	XLogRecPtr	applied_to;		/* all is applied up to here */
	bool		jobs;			/* may there be jobs in the queue? */
	bool		invalid;		/* are readers still to be taken off the views? */
	bool		other_size;		/* is the feed still of another size than is set? */
	int			in_vain;		/* how often in a row the views could not be
								 * written */
	TimestampTz checked_at;		/* when worker_check_state() last looked */
	const ClusterCalls *cluster;	/* cluster_calls() at the last look */
	bool		busy;			/* is the site? see worker_pause.c */
	TimestampTz counted_at;		/* when its commits were last counted */
	uint64		counted;		/* and how many there had been */
} Worker;

/* views_phase.c: the phases of the views, and the worker's end */
extern void worker_begin_views(Worker *worker, bool complete);
extern void worker_invalidate_views(Worker *worker);
extern void worker_views_rebuilt(Worker *worker);
extern void worker_keep_views(Worker *worker);
extern void worker_serve_views(Worker *worker);
extern void worker_serve_all(Worker *worker);
extern void worker_await_others(Worker *worker);
extern void worker_leave(Worker *worker, WorkerState reason);
extern void worker_retire(Worker *worker);

/* views_serving.c: when the views are fit for readers */
extern bool worker_needed(void);
extern void worker_read_state(ViewState *state);
extern void worker_abandon_views(void);
extern void worker_follow_settings(Worker *worker);
extern bool worker_fit_feed(Worker *worker);
extern void worker_try_keep(Worker *worker, XLogRecPtr flushed, XLogRecPtr position);
extern void worker_check_state(Worker *worker);

/* blocked_by_damage.c: what the owner has altered */
extern bool damage_look(Worker *worker);
extern void worker_block(Worker *worker, const ErrorData *error);

/* worker_pause.c: rests in which commits gather */
extern void worker_sleep_between_looks(Worker *worker, long ms);
extern bool worker_rest(Worker *worker, long nap);

/* worker_position.c: how far the worker has come */
extern void worker_take_position(Worker *worker);
extern void worker_hold_position(bool hold);
extern void worker_check_layout(Worker *worker);
extern void worker_advance(Worker *worker, XLogRecPtr applied);

/* ------------------------------------------------------------------------
 * What it does
 * ------------------------------------------------------------------------ */

/* deferred_refresh.c: what is not urgent */
extern void later_take(Worker *worker, XLogRecPtr position);
extern bool later_taking(const Worker *worker);
extern XLogRecPtr later_applied(Worker *worker, XLogRecPtr position,
								uint64 *turn);
extern long later_due(const Worker *worker);

/* worker_transaction.c: transactions of the worker */
typedef enum ApplyKind
{
	APPLY_STATE,				/* writes to the bookkeeping at most */
	APPLY_POSTS,				/* writes items; what follows is decoded */
	APPLY_COUNTS,				/* folds deltas; nothing follows */
	APPLY_VIEWS					/* writes views, and holds their lock */
} ApplyKind;

typedef enum ApplyResult
{
	APPLY_DONE,					/* committed */
	APPLY_AGAIN,				/* rolled back; to be tried again: another
								 * transaction was in the way */
	APPLY_FAILED				/* rolled back by an error of the owner's making,
								 * which is handed out */
} ApplyResult;

/* What has caused an error of the worker's. */
typedef enum ErrorCause
{
	CAUSE_OTHERS,				/* another transaction: it is tried again soon */
	CAUSE_OWNER,				/* what the owner has altered or attached: it comes again
								 * until that is undone */
	CAUSE_SERVER				/* a full disk, lack of memory, cancellation, a lost
								 * connection: the process ends, and is started again */
} ErrorCause;

extern ErrorCause error_cause(ApplyKind kind, int sqlerrcode);
extern void apply_begin(OwnerScope *scope, ApplyKind kind);
extern void apply_end(OwnerScope *scope);
extern void apply_roll_back(void);
extern ApplyResult apply_run(ApplyKind kind, void (*step) (void *arg),
							 void *arg, ErrorData **error);
extern void apply_flush(void);
extern const char *apply_in_the_way(void);

/* refresh_batch.c: what a dirty set names */
extern bool batch_apply(const DirtySet *dirty);
extern bool batch_make_feed(void);

/* folding.c: deltas into the posts that they count on */
extern void fold_later(const DirtySet *dirty);
extern void fold_all_later(void);
extern long fold_step(void);

/* job_steps.c: the queue of jobs, in turns */
typedef enum JobProgress
{
	JOBS_NONE,					/* the queue is empty */
	JOBS_PARKED,				/* those left wait for a change of tables */
	JOBS_WAITING,				/* look again after a while */
	JOBS_SOON,					/* others are to be looked at after a moment */
	JOBS_MORE					/* go on at once */
} JobProgress;

extern JobProgress jobs_step(void);
extern bool arrival_writes_views(const Job *job);
extern bool jobs_rebuild_pending(void);
extern void jobs_request_rebuild(void);

/* views_rebuild.c: one chunk of a job */
extern void rebuild_chunk(Job *job);

#endif							/* BLOGSTORE_WORKER_PARTS_H */
