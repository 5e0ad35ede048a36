/*
 * worker_entries.h
 *		Declarations shared by the files of views/launcher/ and by cluster/:
 *		the shared memory itself, and the transitions that the launcher and
 *		backends make.
 */
#ifndef BLOGSTORE_WORKER_ENTRIES_H
#define BLOGSTORE_WORKER_ENTRIES_H

#include "views/launcher/launcher.h"

#include "storage/lwlock.h"

typedef struct LaunchShared
{
	LWLock	   *lock;
	Latch	   *launcher;		/* NULL if no launcher is running */
	pg_atomic_uint32 deleting;	/* commits under way that change which users
								 * are being deleted */
	pg_atomic_uint64 user_deletions;	/* number of such commits so far */
	WorkerEntry entry[MAX_DATABASES];
} LaunchShared;

extern LaunchShared *launch_shared;

/* Longest pause before a failed worker is restarted, in ms. */
#define LAST_BACKOFF 60000

/* worker_entries.c */
extern void shared_init(void);
extern WorkerEntry *worker_entry_find(Oid dbid);
extern void launcher_wake(void);

/* worker_state.c: transitions. The caller holds the lock, except of _end() */
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
