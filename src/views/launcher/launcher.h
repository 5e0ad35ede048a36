/*
 * launcher.h
 *		Which databases have a worker, and what it, the launcher and backends
 *		tell each other.
 *
 *		launcher  --starts one worker for each database with containers
 *		backend   --at commit wakes the worker, or asks the launcher for it
 *		worker    --shows how far it has come
 *
 * The states of a worker, and who sets them when: worker_state.c.
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
	WORKER_WANTED,				/* the launcher is to start it (again) */
	WORKER_STARTING,			/* registered, or not sure that it is needed */
	WORKER_CATCHING_UP,			/* reading what was written without it */
	WORKER_RUNNING,				/* the views are served */
	WORKER_BLOCKED,				/* the containers are damaged: no slot, until they are
								 * mended */
	WORKER_STOPPED,				/* by stop_worker(), until start_worker(); or WAL
								 * cannot be decoded with the server's settings */
	WORKER_NOT_NEEDED			/* the database has no containers */
} WorkerState;

/* One database's worker. */
typedef struct WorkerEntry
{
	/* written under the lock of views/launcher/: */
	Oid			dbid;			/* InvalidOid: the entry is free */
	WorkerState state;
	bool		look_again;		/* what the worker decides by has changed */
	int			stopper;		/* pid of a process that has stopped the worker in
								 * a transaction under way; 0: none */
	int			holds;			/* commands that need the database alone */
	int			pid;			/* 0: no worker is attached */
	Latch	   *latch;			/* of the attached worker */
	int			failures;		/* in a row, for the back-off */
	TimestampTz next_start;		/* not before then */
	TimestampTz started_at;
	char		last_error[ERROR_LENGTH];
	TimestampTz last_error_at;
	char		remedy[ERROR_LENGTH];	/* what to do about it, while blocked */

	/* written by the worker, read by all, without the lock: */
	TimestampTz caught_up_at;	/* when everything flushed was last shown */
	pg_atomic_uint32 served;	/* may readers use the views? Those whose snapshot
								 * sees this transaction; invalid: no */
	pg_atomic_uint32 unsent;	/* is anything still to be sent to other nodes? */
	pg_atomic_uint32 feed_size; /* of the feed, as all nodes keep it */
	pg_atomic_uint64 wake_lsn;	/* a commit that the worker is to look at, written
								 * by who made it */
	pg_atomic_uint64 commits;	/* such commits so far, but the worker's own */
	pg_atomic_uint32 urgent;	/* is the worker not to rest before it has looked?
								 * Set by who waits, cleared by the worker */
	pg_atomic_uint32 resting;	/* does the worker come by itself in a moment, so
								 * that commits need not wake it? */
	pg_atomic_uint64 shown_lsn; /* the views show all commits before */
	pg_atomic_uint64 posts_lsn; /* the views show all posts committed before;
								 * their counts may be late */
	pg_atomic_uint64 jobs_lsn;	/* what jobs wrote to posts lies before;
								 * JOB_COMMITTING: more is being committed */
	ToldPosts	told;
	pg_atomic_uint64 batches;
	pg_atomic_uint64 changes;
	ConditionVariable progress; /* broadcast when any of these moves on */
} WorkerEntry;

/* launcher_init.c */
extern void launch_init(void);

/* worker_entries.c: entries */
extern const char *worker_obstacle(const char **hint);
extern const char *worker_no_room(const char **hint);
extern void worker_require_room(void);
extern WorkerEntry *my_worker_entry(void);
extern bool my_worker_entry_copy(WorkerEntry *copy);
extern void worker_entry_error(WorkerEntry *entry, const char *message);
extern void worker_wake_at_once(WorkerEntry *entry);

/* worker_state.c: what the worker itself does to its entry's state */
extern WorkerEntry *worker_entry_attach(int number);
extern void worker_entry_catching_up(WorkerEntry *entry);
extern void worker_entry_running(WorkerEntry *entry);
extern void worker_entry_blocked(WorkerEntry *entry, const char *remedy);
extern void worker_entry_mended(void);
extern void worker_entry_leave(WorkerEntry *entry, WorkerState reason);

/* ddl_hook.c */
extern bool database_is_template(Oid dbid);

/* start_stop_lock.c: one transaction at a time stops or starts the worker */
extern void start_stop_lock(void);

/* transaction_callbacks.c: what a transaction asks for */
extern bool transaction_wrote_posts(void);
extern void worker_request(void);
extern void worker_look_on_commit(void);
extern bool worker_stop(void);

#endif							/* BLOGSTORE_LAUNCHER_H */
