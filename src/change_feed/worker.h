/*
 * worker.h
 *		The state of a worker, for worker.c, serve.c and advance.c alone.
 */
#ifndef BLOGSTORE_WORKER_H
#define BLOGSTORE_WORKER_H

#include "change_feed/change_feed.h"
#include "container/container.h"

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
	FeedPosition position;		/* as written down */
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

#endif							/* BLOGSTORE_WORKER_H */
