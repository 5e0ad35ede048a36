/*
 * views.h
 *		The views: copies of posts in users, and the feed, written from the
 *		present state of the posts container.
 *
 * Refreshing is by state: whatever happened to a post, its copies are made
 * what the post is now. Doing it twice, late or in another order gives the
 * same, so the change feed needs no record of what it has applied.
 *
 * Whoever writes a view holds the views' lock to the end of the transaction:
 * the worker, and repair().
 */
#ifndef BLOGSTORE_VIEWS_H
#define BLOGSTORE_VIEWS_H

#include "change_feed/change_feed.h"

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

/* careful.c: what fails for one item alone */
extern bool careful_begin(MemoryContext context);
extern bool careful_now(void);
extern bool careful_do(void (*work) (void *arg), void *arg);
extern void careful_remember(const PostKey *key);
extern void careful_remember_feed(void);
extern bool careful_try_again(DirtySet *dirty);

/* copies.c */
extern bool copies_key(const pg_uuid_t *post_id, PostKey *key);
extern void copies_refresh(PostKey *keys, int n);

/* feed.c */
extern void feed_refresh(const PostKey *keys, int n);
extern void feed_rebuild(void);

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
extern void jobs_restart_sweeps(void);
extern void jobs_request_renames(const pg_uuid_t *users, int n, bool all);

/* rebuild.c, sweep.c: one chunk of a job */
typedef struct Job
{
	pg_uuid_t	id;
	char		kind[16];		/* rebuild, rename, deletion */
	bool		has_user;
	pg_uuid_t	user_id;		/* whose; a rename without is of everyone */
	int			phase;
	int			partition;
	ItemPlace	place;			/* how far, in that partition */
	int64		done;
	int64		total;			/* -1: unknown */
	bool		finished;
} Job;

static inline bool
job_is(const Job *job, const char *kind)
{
	return strcmp(job->kind, kind) == 0;
}

extern void rebuild_chunk(Job *job);
extern int64 rebuild_estimate(void);
extern bool sweep_ready(const Job *job);
extern bool sweep_chunk(Job *job);
extern void sweep_failed(const Job *job);

#define REBUILD_COPIES 1
#define REBUILD_LEFTOVERS 2
#define REBUILD_FEED 3

#define SWEEP_FIRST 1
#define SWEEP_WAIT 2
#define SWEEP_AGAIN 3
#define SWEEP_SHOW 4
#define SWEEP_PARKED 5

/* How many items a job handles in one transaction; how many posts it locks. */
#define JOB_CHUNK 1000
#define PURGE_CHUNK 200

#endif							/* BLOGSTORE_VIEWS_H */
