/*
 * launcher.h
 *		The entries in shared memory through which launcher, workers and
 *		backends communicate, one per database with a worker.
 *
 *		launcher  --starts one worker for each database with containers
 *		backend   --wakes the worker at commit, or asks for a worker
 *		worker    --publishes how far it has come
 *
 * worker_state.c describes the states of a worker and their transitions.
 */
#ifndef BLOGSTORE_LAUNCHER_H
#define BLOGSTORE_LAUNCHER_H

#include "base/settings.h"
#include "views/change_feed/change_feed.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"

#define ERROR_LENGTH 256
#define JOB_COMMITTING PG_UINT64_MAX

typedef enum WorkerState
{
	WORKER_WANTED,				/* the launcher is to start the worker */
	WORKER_STARTING,			/* registered, but does not know yet whether it
								 * is needed */
	WORKER_CATCHING_UP,			/* the views are not served yet */
	WORKER_RUNNING,				/* the views are served */
	WORKER_BLOCKED,				/* tables are damaged; no slot until they are
								 * mended */
	WORKER_STOPPED,				/* by stop_worker(), until start_worker(); or
								 * because the server's settings do not allow
								 * decoding */
	WORKER_NOT_NEEDED			/* the database has no containers */
} WorkerState;

/* The worker of one database. */
typedef struct WorkerEntry
{
	/* written with the lock of LaunchShared held exclusively: */
	Oid			dbid;			/* InvalidOid if the entry is free */
	WorkerState state;
	bool		look_again;		/* the need for a worker may have changed since
								 * it started */
	int			stopper;		/* pid of a backend whose open transaction has
								 * called stop_worker(), or 0 */
	int			holds;			/* number of commands that need the database
								 * without sessions */
	int			pid;			/* 0 if no worker is attached */
	Latch	   *latch;			/* latch of the attached worker */
	int			failures;		/* consecutive failures, for the pause before a
								 * restart */
	TimestampTz next_start;		/* no restart before this time */
	TimestampTz started_at;
	char		last_error[ERROR_LENGTH];
	TimestampTz last_error_at;
	char		remedy[ERROR_LENGTH];	/* hint for last_error while blocked */

	/* written by the worker, except as noted, and read without lock: */
	TimestampTz caught_up_at;	/* when all flushed WAL was last applied */
	pg_atomic_uint32 served;	/* snapshots that see this transaction may use
								 * the views; invalid: none may */
	pg_atomic_uint32 unsent;	/* whether anything is still to be sent to
								 * other nodes */
	pg_atomic_uint32 feed_size; /* feed size that all nodes keep */
	pg_atomic_uint64 wake_lsn;	/* end of the last commit of interest to the
								 * worker; backends write it */
	pg_atomic_uint64 commits;	/* number of such commits, except the worker's
								 * own; backends write it */
	pg_atomic_uint32 urgent;	/* a process waits, so the worker must not rest
								 * before its next turn; set by that process,
								 * cleared by the worker */
	pg_atomic_uint32 resting;	/* the worker will run a turn soon, so commits
								 * need not wake it */
	pg_atomic_uint64 shown_lsn; /* the views show all commits before this */
	pg_atomic_uint64 posts_lsn; /* the same for posts; changes of their
								 * counts may be applied later */
	pg_atomic_uint64 jobs_lsn;	/* jobs have written to posts only before this;
								 * JOB_COMMITTING while a job commits */
	ToldPosts	told;
	pg_atomic_uint64 batches;
	pg_atomic_uint64 changes;
	ConditionVariable progress; /* broadcast when any of these advances */
} WorkerEntry;

/* launcher_init.c */
extern void launch_init(void);

/* worker_entries.c */
extern const char *worker_obstacle(const char **hint);
extern const char *worker_no_room(const char **hint);
extern void worker_require_room(void);
extern WorkerEntry *my_worker_entry(void);
extern bool my_worker_entry_copy(WorkerEntry *copy);
extern void worker_entry_error(WorkerEntry *entry, const char *message);
extern void worker_wake_at_once(WorkerEntry *entry);

/* worker_state.c: changes of the state by the worker itself */
extern WorkerEntry *worker_entry_attach(int number);
extern void worker_entry_catching_up(WorkerEntry *entry);
extern void worker_entry_running(WorkerEntry *entry);
extern void worker_entry_blocked(WorkerEntry *entry, const char *remedy);
extern void worker_entry_mended(void);
extern void worker_entry_leave(WorkerEntry *entry, WorkerState reason);

/* ddl_hook.c */
extern bool database_is_template(Oid dbid);

/* start_stop_lock.c: serializes transactions that stop or start the worker */
extern void start_stop_lock(void);

/* transaction_callbacks.c: actions at the end of a transaction */
extern bool transaction_wrote_posts(void);
extern void worker_request(void);
extern void worker_look_on_commit(void);
extern bool worker_stop(void);

#endif							/* BLOGSTORE_LAUNCHER_H */
