/*
 * worker.h
 *		The state of a worker, for worker.c, serve.c and advance.c alone.
 */
#ifndef BLOGSTORE_WORKER_H
#define BLOGSTORE_WORKER_H

#include "change_feed/change_feed.h"
#include "container/container.h"
#include "state/state.h"

typedef struct Worker
{
	WorkerEntry *entry;
	char		slot_name[NAMEDATALEN];
	MemoryContext context;
	MemoryContext batch;
	DirtySet   *dirty;
	DirtySet   *later;
	TimestampTz later_since;	/* when later was found not empty; 0: it is */
	HeldSet    *held;
	Decoder    *decoder;
	AppliedPosition position;		/* as written down */
	bool		applied;		/* was anything since? */
	uint64		loads;			/* container_loads() at the last look */
	uint64		looked_at;		/* container_changes() at the last look at what
								 * was left out */
	bool		serving;		/* are the views complete and up to date? */
	bool		rebuilding;		/* is a rebuild needed before they are? */
	XLogRecPtr	serve_from;		/* WAL to be applied before they are */
	bool		jobs;			/* may there be jobs in the queue? */
	TimestampTz checked_at;		/* when check_state() last looked */
} Worker;

/* worker.c */
extern void worker_leave(Worker *worker, WorkerState state);
extern void worker_retire(Worker *worker);

/* serve.c */
extern void worker_set_state(Worker *worker, WorkerState state);
extern bool worker_needed(void);
extern void worker_read_state(ViewState *state);
extern void worker_invalidate_views(Worker *worker);
extern void worker_follow_settings(Worker *worker);
extern void worker_flush_commits(void);
extern void worker_try_serve(Worker *worker, XLogRecPtr flushed);
extern void worker_check_state(Worker *worker);

/* advance.c */
extern void worker_take_position(Worker *worker);
extern void worker_check_layout(Worker *worker);
extern void worker_advance(Worker *worker, XLogRecPtr applied);

/* apply.c: transactions of the worker */
typedef enum ApplyKind
{
	APPLY_STATE,				/* writes to the bookkeeping at most */
	APPLY_POSTS,				/* writes items; what follows is decoded */
	APPLY_COUNTS,				/* folds deltas; nothing follows */
	APPLY_VIEWS					/* writes views, and holds their lock */
} ApplyKind;

extern void apply_begin(OwnerScope *scope, ApplyKind kind);
extern void apply_end(OwnerScope *scope);
extern bool apply_gave_way(MemoryContext context);
extern bool apply_batch(const DirtySet *dirty);
extern void apply_feed(void);
extern void apply_cancel(void);

/* fold.c */
extern void fold_later(const DirtySet *dirty);
extern void fold_all_later(void);
extern long fold_step(void);
extern void fold_everything(void);

/* jobs.c */
typedef enum JobProgress
{
	JOBS_NONE,					/* the queue is empty */
	JOBS_PARKED,				/* those left wait for a change of tables */
	JOBS_WAITING,				/* look again after a while */
	JOBS_MORE					/* go on at once */
} JobProgress;

extern JobProgress jobs_step(void);
extern bool jobs_rebuild_pending(void);
extern void jobs_request_rebuild(void);

/* rebuild.c: one chunk of a job */
extern void rebuild_chunk(Job *job);
extern int64 rebuild_estimate(void);

#endif							/* BLOGSTORE_WORKER_H */
