/*
 * worker_entries.h
 *		What the files of views/launcher/ and cluster/ share with each other.
 */
#ifndef BLOGSTORE_WORKER_ENTRIES_H
#define BLOGSTORE_WORKER_ENTRIES_H

#include "views/launcher/launcher.h"

#include "storage/lwlock.h"

typedef struct LaunchShared
{
	LWLock	   *lock;
	Latch	   *launcher;		/* NULL: no launcher is running */
	pg_atomic_uint32 deleting;	/* commits under way that change who is
								 * being deleted */
	pg_atomic_uint64 user_deletions;	/* such commits ever */
	WorkerEntry entry[MAX_DATABASES];
} LaunchShared;

extern LaunchShared *launch_shared;

/* The longest pause before a worker that has failed is started again, in milliseconds. */
#define LAST_BACKOFF 60000

/* worker_entries.c */
extern void shared_init(void);
extern WorkerEntry *worker_entry_find(Oid dbid);
extern void launcher_wake(void);

/* worker_state.c: transitions; but for _end() the caller holds the lock */
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

/* launcher.c */
extern void launcher_register(void);

/* transaction_callbacks.c, ddl_hook.c */
extern void transaction_callbacks_init(void);
extern void ddl_hook_init(void);

/* transaction_callbacks.c */
extern void worker_wake(XLogRecPtr lsn);

#endif							/* BLOGSTORE_WORKER_ENTRIES_H */
