/*
 * worker_entries.h
 *		The shared memory of the launcher and the workers, and the functions by
 *		which the launcher and backends change the state of a worker.
 *
 * Only views/launcher/ and cluster/ include this header.
 */
#ifndef BLOGSTORE_WORKER_ENTRIES_H
#define BLOGSTORE_WORKER_ENTRIES_H

#include "views/launcher/launcher.h"

#include "nodes/pg_list.h"
#include "storage/lwlock.h"

typedef struct LaunchShared
{
	LWLock	   *lock;
	Latch	   *launcher;

	/*
	 * Number of commits in progress that begin or end the deletion of a user.
	 * While it is not 0, a cached list of the users being deleted must not be
	 * used.
	 */
	pg_atomic_uint32 deleting;

	/*
	 * Number of finished commits that began or ended the deletion of a user. A
	 * cached list of the users being deleted is out of date if this number has
	 * changed since the list was read.
	 */
	pg_atomic_uint64 user_deletions;
	WorkerEntry entry[MAX_DATABASES];
} LaunchShared;

extern LaunchShared *launch_shared;

/* Longest pause before the launcher restarts a failed worker, in ms. */
#define LAST_BACKOFF 60000

/* worker_entries.c */
extern void shared_init(void);
extern WorkerEntry *worker_entry_find(Oid dbid);
extern void launcher_wake(void);

/*
 * worker_state.c. The caller holds launch_shared->lock exclusively, except for
 * worker_entry_end().
 */
extern WorkerEntry *worker_entry_create(Oid dbid);
extern void worker_entry_starting(WorkerEntry *entry);
extern void worker_entry_not_started(WorkerEntry *entry);
extern void worker_entry_unattended(WorkerEntry *entry);
extern void worker_entry_look(WorkerEntry *entry);
extern void worker_entry_stop(WorkerEntry *entry);
extern void worker_entry_stop_ended(WorkerEntry *entry, bool rolled_back);
extern void worker_entry_hold(WorkerEntry *entry);
extern void worker_entry_release(WorkerEntry *entry);
extern void worker_entry_dropped(WorkerEntry *entry);
extern bool worker_entry_in_use(const WorkerEntry *entry);
extern void worker_entry_free(WorkerEntry *entry);
extern void worker_entry_end(WorkerEntry *entry);

/* start_stop_lock.c */
extern bool start_stop_locked(void);

typedef struct Database
{
	Oid			oid;
	NameData	name;
	bool		accepts;		/* whether the database is valid and accepts
								 * connections */
	bool		is_template;
} Database;

/* databases.c */
extern List *list_databases(void);
extern const Database *find_database(List *databases, Oid oid);

/* launcher.c */
extern void launcher_register(void);

/* unused_slots.c */
extern void tend_unused_slots(List *databases);

/* transaction_callbacks.c, ddl_hook.c */
extern void transaction_callbacks_init(void);
extern void ddl_hook_init(void);

/* transaction_callbacks.c */
extern void worker_wake(XLogRecPtr lsn);

#endif							/* BLOGSTORE_WORKER_ENTRIES_H */
