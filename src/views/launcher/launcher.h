/*
 * launcher.h
 *		The shared memory through which the launcher, the workers and backends
 *		communicate: one entry per database with a worker.
 *
 *		launcher  --starts one worker for each database with containers
 *		backend   --wakes the worker at commit, or asks for a worker
 *		worker    --publishes up to which WAL position the views are current
 *
 * Containers are blogstore's partitioned tables (users, posts, feed). The
 * views are the copies of posts in users, and the feed; the worker of a
 * database keeps them up to date. worker_state.c describes the states of a
 * worker and their transitions.
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
	WORKER_WANTED,				/* the launcher should start the worker */

	/*
	 * The process is registered or running, but has not checked yet whether
	 * the database needs a worker.
	 */
	WORKER_STARTING,
	WORKER_CATCHING_UP,			/* the worker runs, but readers must not use
								 * the views yet */
	WORKER_RUNNING,				/* the worker runs, and readers use the
								 * views */

	/*
	 * The owner has damaged a table; the worker has dropped its slot and waits
	 * for the repair.
	 */
	WORKER_BLOCKED,

	/*
	 * No worker runs, because of stop_worker() or because the server's
	 * settings prevent logical decoding.
	 */
	WORKER_STOPPED,
	WORKER_NOT_NEEDED			/* the database has no containers */
} WorkerState;

/* The entry of one database in shared memory. */
typedef struct WorkerEntry
{
	/* Fields written while the lock of LaunchShared is held exclusively: */
	Oid			dbid;			/* the database; InvalidOid if the entry is
								 * free */
	WorkerState state;

	/*
	 * A commit may have changed whether a worker is needed since this one
	 * started. When it exits, the launcher starts another, which checks that.
	 */
	bool		look_again;
	int			stopper;		/* pid of the backend whose open transaction
								 * has called stop_worker(), or 0 */

	/*
	 * Number of running commands, such as DROP DATABASE, that keep the worker
	 * from being started.
	 */
	int			holds;
	int			pid;			/* pid of the worker, 0 if none is attached */
	Latch	   *latch;
	int			failures;		/* consecutive failures of workers; the pause
								 * before a restart grows with it */
	TimestampTz next_start;		/* the launcher starts no worker before this
								 * time */
	TimestampTz started_at;
	char		last_error[ERROR_LENGTH];
	TimestampTz last_error_at;
	char		remedy[ERROR_LENGTH];	/* hint that belongs to last_error,
										 * while the state is WORKER_BLOCKED */

	/*
	 * Fields that any process reads without the lock. Only the worker writes
	 * them, unless the comment names another writer.
	 */
	TimestampTz caught_up_at;	/* when the worker last had applied all WAL
								 * that was flushed */

	/*
	 * A transaction id. Readers whose snapshots see this transaction may use
	 * the views; if it is invalid, no reader may.
	 */
	pg_atomic_uint32 served;
	pg_atomic_uint32 unsent;	/* on a cluster: 1 while changes wait to be
								 * sent to other nodes */
	pg_atomic_uint32 feed_size; /* on a cluster: the number of feed rows that
								 * every node keeps */

	/*
	 * End of the last commit that wrote items. Committing backends raise it,
	 * and the worker flushes and decodes WAL up to there.
	 */
	pg_atomic_uint64 wake_lsn;

	/*
	 * Number of commits that wrote items, without those of the worker.
	 * Committing backends increment it; the worker measures by it how busy the
	 * site is.
	 */
	pg_atomic_uint64 commits;

	/*
	 * A process waits for the worker, so the worker must not sleep before its
	 * next turn. The waiting process sets the flag, and the worker clears it
	 * when a turn begins.
	 */
	pg_atomic_uint32 urgent;

	/*
	 * The worker sleeps for a short time that commits must not interrupt
	 * (worker_pause.c).
	 */
	pg_atomic_uint32 resting;
	pg_atomic_uint64 shown_lsn; /* the views show all commits before this WAL
								 * position */

	/*
	 * The views show all commits before this WAL position, except for changed
	 * counts, which may be applied later.
	 */
	pg_atomic_uint64 posts_lsn;

	/*
	 * WAL position before which all writes of jobs lie, for processes that
	 * wait for a job to appear in the views; JOB_COMMITTING while the worker
	 * commits such writes.
	 */
	pg_atomic_uint64 jobs_lsn;
	ToldPosts	told;
	pg_atomic_uint64 batches;
	pg_atomic_uint64 changes;
	ConditionVariable progress; /* broadcast when the worker publishes a new
								 * position or state, and when it ends */
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

/* worker_state.c: changes of the state that the worker makes itself */
extern WorkerEntry *worker_entry_attach(int number);
extern void worker_entry_catching_up(WorkerEntry *entry);
extern void worker_entry_running(WorkerEntry *entry);
extern void worker_entry_blocked(WorkerEntry *entry, const char *remedy);
extern void worker_entry_mended(void);
extern void worker_entry_leave(WorkerEntry *entry, WorkerState reason);

/* ddl_hook.c */
extern bool database_is_template(Oid dbid);

/* start_stop_lock.c: the lock of transactions that start or stop a worker */
extern void start_stop_lock(void);

/* transaction_callbacks.c: what a backend does at the end of a transaction */
extern bool transaction_wrote_posts(void);
extern void worker_request(void);
extern void worker_look_on_commit(void);
extern bool worker_stop(void);

#endif							/* BLOGSTORE_LAUNCHER_H */
