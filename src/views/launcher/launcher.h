/*
 * launcher.h
 *		The shared memory through which the launcher, the workers and backends
 *		communicate. Each database with a worker has one entry (WorkerEntry).
 *
 *		launcher  --starts one worker for each database with containers
 *		backend   --wakes the worker at commit, or asks for a worker
 *		worker    --publishes up to which WAL position the views are current
 *
 * worker_state.c describes the states of a worker and the changes between
 * them.
 */
#ifndef BLOGSTORE_LAUNCHER_H
#define BLOGSTORE_LAUNCHER_H

#include "base/settings.h"
#include "views/change_feed/change_feed.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"

#define ERROR_LENGTH 256
#define JOB_COMMITTING PG_UINT64_MAX

/* Hint if no background worker slot is free. */
#define NO_PROCESS_HINT "Raise max_worker_processes and restart the server."

/* Hint in a template database, which gets no worker. */
#define TEMPLATE_HINT "Run ALTER DATABASE ... IS_TEMPLATE false."

/* Hint if the launcher does not run. */
#define NO_LAUNCHER_HINT "The launcher does not run. If the server's log says \"too many background workers\", raise max_worker_processes and restart the server."

typedef enum WorkerState
{
	WORKER_WANTED,				/* the launcher should start the worker */

	/*
	 * The process is registered or running, but has not yet checked whether
	 * the database needs a worker.
	 */
	WORKER_STARTING,
	WORKER_CATCHING_UP,			/* the worker runs, but readers must not use
								 * the views yet */
	WORKER_RUNNING,				/* the worker runs, and readers may use the
								 * views */

	/*
	 * The containers' owner has damaged a table. The worker has dropped its
	 * slot and waits until the table is repaired.
	 */
	WORKER_BLOCKED,

	/*
	 * No worker runs, because stop_worker() was called, or the server's
	 * settings prevent logical decoding.
	 */
	WORKER_STOPPED,
	WORKER_NOT_NEEDED			/* the database has no containers */
} WorkerState;

/* The operation that has failed with the error that stat_worker shows. */
typedef enum ErrorSubject
{
	ERROR_VIEWS,				/* keeping the views up to date */
	ERROR_JOB,					/* a rename or deletion */
	ERROR_FOLD,					/* adding deltas to counters */
	ERROR_PUBLISH				/* publishing a scheduled post */
} ErrorSubject;

typedef struct WorkerEntry
{
	/*
	 * Processes that write the fields up to "last_rebuild_at" hold
	 * launch_shared->lock exclusively.
	 */
	Oid			dbid;			/* the database, or InvalidOid if the entry is
								 * free */
	WorkerState state;

	/*
	 * Whether the launcher starts another worker after the running one has
	 * ended. Set by a commit that may have changed whether a worker is needed.
	 */
	bool		look_again;
	int			stopper;		/* pid of the backend whose open transaction
								 * has called stop_worker(); 0 if none */

	/*
	 * Number of running commands that keep the launcher from starting the
	 * worker, for example DROP DATABASE.
	 */
	int			holds;
	int			pid;
	Latch	   *latch;

	/*
	 * How often the worker has failed in a row. The pause before a restart
	 * doubles with each failure.
	 */
	int			failures;
	TimestampTz next_start;		/* the launcher does not start the worker
								 * before this time */
	TimestampTz started_at;

	/*
	 * Time at which the launcher last found no free background worker slot for
	 * the worker; 0 if it has registered the worker since.
	 */
	TimestampTz no_room_at;

	/*
	 * Message and hint of the last error. Empty strings if there was none, or
	 * if the operation that failed has succeeded since
	 * (worker_entry_recovered()).
	 */
	char		last_error[ERROR_LENGTH];
	char		last_error_hint[ERROR_LENGTH];
	ErrorSubject last_error_subject;
	TimestampTz last_error_at;

	/*
	 * Number of rebuilds of the views that have begun, and the reason and time
	 * of the last one.
	 */
	int64		rebuilds;
	char		last_rebuild_reason[ERROR_LENGTH];
	TimestampTz last_rebuild_at;

	/*
	 * Any process reads the following fields without a lock. Only the worker
	 * writes them, unless the comment of a field names other writers.
	 */
	int64		caught_up;		/* time (clock_elapsed()) when a worker last
								 * had applied all flushed WAL. Before the
								 * first such time: when a worker began to
								 * catch up; 0 if none has */

	/*
	 * Xid of the transaction that the worker committed to let readers use the
	 * views (serve_from_now()). A reader uses the views only if its snapshot
	 * sees this transaction. If the xid is invalid, no reader uses the views.
	 */
	pg_atomic_uint32 served;
	pg_atomic_uint32 unsent;	/* on a cluster: 1 while changes have to be
								 * sent to other nodes */
	pg_atomic_uint32 feed_size; /* on a cluster: number of rows of the feed
								 * that every node keeps */

	/*
	 * End of the last commit that wrote items. Committing backends raise this
	 * position, and the worker flushes and decodes WAL up to it.
	 */
	pg_atomic_uint64 wake_lsn;

	/*
	 * Number of commits that wrote items, except those of the worker.
	 * Committing backends increment it. The worker computes from it whether
	 * the site is busy (worker_pause.c).
	 */
	pg_atomic_uint64 commits;

	/*
	 * 1 if a process waits for the worker, so that the worker must not sleep
	 * after this round of its main loop. The waiting process sets the flag,
	 * and the worker clears it at the beginning of a round.
	 */
	pg_atomic_uint32 urgent;

	/*
	 * 1 while the worker sleeps for a short time during which commits must not
	 * wake it (worker_pause.c).
	 */
	pg_atomic_uint32 resting;
	pg_atomic_uint64 shown_lsn; /* the views show all commits before this WAL
								 * position */

	/*
	 * The views show all commits before this WAL position, except for changed
	 * counts.
	 */
	pg_atomic_uint64 posts_lsn;

	/*
	 * A WAL position after all commits in which the worker has written items
	 * for a job. When the views show all commits before this position, they
	 * show the effects of all finished jobs. The value is JOB_COMMITTING while
	 * such a transaction runs, because the end of its commit record is not
	 * known yet.
	 */
	pg_atomic_uint64 jobs_lsn;
	ToldPosts	told;
	pg_atomic_uint64 batches;
	pg_atomic_uint64 changes;
	ConditionVariable progress; /* broadcast when the worker publishes a new
								 * position or state, and when it ends */
} WorkerEntry;

/* launcher.c */
extern bool launcher_runs(void);

/* launcher_init.c */
extern void launch_init(void);

/* worker_entries.c */
extern const char *worker_obstacle(const char **hint);
extern const char *worker_no_room(const char **hint);
extern void worker_require_room(void);
extern WorkerEntry *my_worker_entry(void);
extern bool worker_entry_copy(Oid dbid, WorkerEntry *copy);
extern List *worker_entry_databases(void);
extern void worker_entry_error(WorkerEntry *entry, ErrorSubject subject,
							   const char *message, const char *hint);
extern void worker_entry_recovered(WorkerEntry *entry, ErrorSubject subject);
extern void worker_entry_rebuild(WorkerEntry *entry, const char *reason);
extern void worker_wake_at_once(WorkerEntry *entry);

/* worker_state.c */
extern WorkerEntry *worker_entry_attach(int number);
extern void worker_entry_catching_up(WorkerEntry *entry);
extern void worker_entry_running(WorkerEntry *entry);
extern void worker_entry_blocked(WorkerEntry *entry);
extern void worker_entry_mended(void);
extern void worker_entry_leave(WorkerEntry *entry, WorkerState reason);

/* ddl_hook.c */
extern bool database_is_template(Oid dbid);

/* start_stop_lock.c */
extern void start_stop_lock(void);

/* transaction_callbacks.c */
extern bool transaction_wrote_posts(void);
extern void worker_request(void);
extern void worker_look_on_commit(void);
extern void worker_stop(void);

#endif							/* BLOGSTORE_LAUNCHER_H */
