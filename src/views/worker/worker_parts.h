/*
 * worker_parts.h
 *		Declarations shared by the files of views/worker/, and by cluster/,
 *		which takes part in each round of the worker's main loop.
 *
 * A round (a "turn" in identifiers) decodes WAL, applies the changes to the
 * views, does other work, and sleeps. Dirty sets collect the changes: the keys
 * of posts and users that may be out of date in the views
 * (views/change_feed/dirty_set.c).
 *
 * struct Worker is the local state of a worker process. The functions are
 * grouped by the file that defines them.
 */
#ifndef BLOGSTORE_WORKER_PARTS_H
#define BLOGSTORE_WORKER_PARTS_H

#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/rows/rows.h"
#include "views/change_feed/change_feed.h"
#include "views/launcher/launcher.h"
#include "views/worker/worker.h"

/*
 * How complete and up to date the views are. Only views_phase.c changes the
 * phase. It has a table of the transitions.
 */
typedef enum ViewsPhase
{
	VIEWS_UNKNOWN,				/* the worker has not read yet whether the
								 * views are complete */
	VIEWS_REBUILDING,			/* the views are being rebuilt, and readers
								 * must not use them */
	VIEWS_CATCHING_UP,			/* the views are complete, but do not show all
								 * changes yet */

	/*
	 * The views are complete and up to date for the posts of this node. On a
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
	MemoryContext turn;			/* memory context, reset after each round of
								 * the main loop */
	uint64		turn_number;
	DirtySet   *dirty;

	/*
	 * Whether the last attempt to apply the set "dirty" has failed. Until a
	 * new attempt succeeds, no deferred changes are added to the set.
	 */
	bool		must_retry;
	DirtySet   *later;
	TimestampTz later_since;	/* when the set "later" got its first change; 0
								 * if the set is empty */
	DirtySet   *counts;			/* posts whose changed counts the worker does
								 * not apply to the views yet */
	TimestampTz counts_since;	/* beginning of the current
								 * blogstore.count_refresh_interval */

	/*
	 * Number of posts whose counts were moved to due_counts since the time
	 * counts_since.
	 */
	long		counts_done;

	/*
	 * Posts whose changed counts are to be applied now. Each round of the main
	 * loop moves a part of these posts to the set "dirty".
	 */
	DirtySet   *due_counts;

	/*
	 * When all counts in due_counts are applied, the views show all changes
	 * before this WAL position. InvalidXLogRecPtr if no such position is
	 * known.
	 */
	XLogRecPtr	due_lsn;
	uint64		due_turn;		/* number of the round of the main loop that
								 * filled due_counts */
	HeldBack   *held;
	Decoder    *decoder;
	AppliedPosition position;	/* the row of blogstore.change_feed: the stored
								 * position of the worker */
	bool		batch_applied;	/* whether changes were applied since the
								 * position was last stored */

	/*
	 * Value of layout_loads() when the worker last checked whether partitions
	 * were attached or detached. The worker checks again only if the value has
	 * changed.
	 */
	uint64		loads;
	uint64		checked;		/* value of layout_stamp() when the worker last
								 * found no container damaged */
	ViewsPhase	views;

	/*
	 * End of WAL when the worker started or a rebuild ended. Readers may use
	 * the views only after all changes before this position are applied.
	 */
	XLogRecPtr	serve_from;

	/*
	 * Readers may use the views when all changes before this WAL position are
	 * applied. The first round of the main loop that decodes all flushed WAL,
	 * at least up to serve_from, sets this position to the end of the decoded
	 * WAL. InvalidXLogRecPtr before that round.
	 */
	XLogRecPtr	serve_at;
	XLogRecPtr	applied_to;		/* the views show all changes before this WAL
								 * position */
	bool		jobs;			/* whether the job queue may have jobs; if
								 * false, the worker does not read it */

	/*
	 * If the worker has failed to mark the views as incomplete: the reason for
	 * marking them, for the next attempt. Otherwise NULL.
	 */
	const char *must_invalidate;

	/*
	 * When the rebuild of the views began, or this worker continued it
	 * (clock_elapsed()). 0 if readers have used the views since.
	 */
	int64		rebuild_began;
	bool		other_size;		/* whether blogstore.feed_size has changed and
								 * the feed was not rewritten since */
	int			failed_writes;
	TimestampTz checked_at;

	/*
	 * The cluster's functions, or NULL if this server is not a node of a
	 * cluster. Read again in each round of the main loop.
	 */
	const ClusterCalls *cluster;

	/*
	 * Whether the site has many commits per second, so that the worker pauses
	 * between the rounds of its main loop (worker_pause.c).
	 */
	bool		busy;
	TimestampTz counted_at;		/* when the worker last read
								 * WorkerEntry.commits */
	uint64		counted;		/* the value of WorkerEntry.commits that the
								 * worker last read */
} Worker;

/* views_phase.c */
extern void worker_begin_views(Worker *worker, bool complete);
extern void worker_invalidate_views(Worker *worker, const char *reason);
extern void worker_views_rebuilt(Worker *worker);
extern void worker_keep_views(Worker *worker);
extern void worker_serve_views(Worker *worker);
extern void worker_serve_all(Worker *worker);
extern void worker_await_others(Worker *worker);
extern void worker_leave(Worker *worker, WorkerState reason);
extern void worker_retire(Worker *worker);

/* views_serving.c */
extern bool worker_needed(void);
extern void worker_read_state(ViewState *state);
extern void worker_abandon_views(void);
extern void worker_follow_settings(Worker *worker);
extern bool worker_fit_feed(Worker *worker);
extern void worker_try_keep(Worker *worker, XLogRecPtr flushed, XLogRecPtr position);
extern void worker_check_state(Worker *worker);

/* blocked_by_damage.c */
extern bool damage_look(Worker *worker);
extern void worker_block(Worker *worker, const ErrorData *error);

/* worker_pause.c */
extern void worker_sleep_between_looks(Worker *worker, long ms);
extern bool worker_rest(Worker *worker, long nap);

/* worker_position.c */
extern void worker_take_position(Worker *worker);
extern void worker_hold_position(bool hold);
extern void worker_check_layout(Worker *worker);
extern void worker_advance(Worker *worker, XLogRecPtr applied);

/* deferred_refresh.c */
extern void deferred_move_due(Worker *worker, XLogRecPtr position);
extern bool deferred_parts_left(const Worker *worker);
extern XLogRecPtr deferred_applied_to(Worker *worker, XLogRecPtr position,
									  uint64 *turn);
extern long deferred_next(const Worker *worker);

/* worker_transaction.c */
typedef enum ApplyKind
{
	APPLY_STATE,				/* the transaction writes at most bookkeeping
								 * tables */

	/*
	 * The transaction writes users, posts, comments or likes. The worker
	 * decodes these writes later, like those of other sessions.
	 */
	APPLY_POSTS,

	/* The transaction folds deltas. The output plugin skips its writes. */
	APPLY_COUNTS,
	APPLY_VIEWS					/* the transaction calls views_lock() and
								 * writes the views */
} ApplyKind;

typedef enum ApplyResult
{
	APPLY_DONE,

	/*
	 * The transaction was rolled back, because a concurrent transaction
	 * prevented it. The caller tries again.
	 */
	APPLY_AGAIN,

	/*
	 * The transaction was rolled back, because of an error that the owner of
	 * the tables has caused, for example by a trigger. The caller gets the
	 * error.
	 */
	APPLY_FAILED
} ApplyResult;

/* The cause of an error in the worker, which decides what the worker does. */
typedef enum ErrorCause
{
	CAUSE_OTHERS,				/* a concurrent transaction: the worker tries
								 * again soon */

	/*
	 * The owner of the tables, who has altered them or attached code to them.
	 * The error recurs until the owner undoes that.
	 */
	CAUSE_OWNER,

	/*
	 * The server: disk full, out of memory, cancellation, a lost connection to
	 * another node. The process exits, and the launcher starts another.
	 */
	CAUSE_SERVER
} ErrorCause;

extern void worker_database_read(void);
extern const char *worker_database(void);
extern ErrorCause error_cause(ApplyKind kind, int sqlerrcode);
extern void apply_begin(OwnerScope *scope, ApplyKind kind);
extern void apply_end(OwnerScope *scope);
extern void apply_roll_back(void);
extern ApplyResult apply_run(ApplyKind kind, void (*step) (void *arg),
							 void *arg, ErrorData **error);
extern void apply_flush(void);
extern const char *apply_in_the_way(void);
extern int	apply_error_place(const ErrorData *error);

/* refresh_batch.c */
extern bool batch_apply(const DirtySet *dirty);
extern bool batch_make_feed(void);

/* live_hints.c */
extern void hint_prepare(const PostKey *posts, int n, List *topics,
						 bool feed);
extern void hint_forget(void);
extern void hint_send(void);
extern void hint_send_all(void);

/* folding.c */
extern void fold_later(const DirtySet *dirty);
extern void fold_all_later(void);
extern long fold_step(void);

/* scheduled_posts.c */
extern long publish_step(void);

/* job_steps.c */
typedef enum JobProgress
{
	JOBS_NONE,
	JOBS_PARKED,				/* all jobs wait until the owner repairs a
								 * table */
	JOBS_WAITING,				/* no job can continue now; call jobs_step()
								 * again after a sleep (NAP_JOB) */

	/*
	 * The jobs tried so far have made no progress, but jobs later in the queue
	 * may. Call jobs_step() again after a short sleep (NAP_SOON).
	 */
	JOBS_SOON,
	JOBS_MORE					/* a job has made progress; call jobs_step()
								 * again at once */
} JobProgress;

extern JobProgress jobs_step(void);
extern bool arrival_writes_views(const Job *job);
extern void jobs_views_complete(void);
extern bool jobs_rebuild_pending(void);
extern void jobs_request_rebuild(void);

/* views_rebuild.c */
extern void rebuild_begins(const char *reason);
extern bool rebuild_has_begun(void);
extern void rebuild_ends(int64 since);
extern void rebuild_chunk(Job *job);

#endif							/* BLOGSTORE_WORKER_PARTS_H */
