/*
 * worker_entries.c
 *		The shared memory of the launcher, the workers and backends: one entry
 *		(WorkerEntry) for each database with a worker.
 *
 * This file allocates the shared memory, finds entries, and has the functions
 * that use an entry without changing its state. worker_state.c has the
 * functions that change the state.
 *
 * The set-up runs in the postmaster, the rest in any process.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "storage/layout/layout.h"
#include "views/launcher/worker_entries.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

LaunchShared *launch_shared = NULL;

/*
 * How long worker_require_room() waits for an entry to become free, in ms.
 * After a start of the server, databases without containers have entries until
 * their workers have exited.
 */
#define PROBE_TIME 5000

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void
shared_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(sizeof(LaunchShared));
	RequestAddinShmemSpace(layout_hints_size());
	RequestNamedLWLockTranche("blogstore", 1);
}

static void
shared_startup(void)
{
	bool		found;
	bool		hints_found;
	void	   *hints;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	launch_shared = ShmemInitStruct("blogstore", sizeof(LaunchShared), &found);
	if (!found)
	{
		memset(launch_shared, 0, sizeof(LaunchShared));
		pg_atomic_init_u32(&launch_shared->deleting, 0);
		pg_atomic_init_u64(&launch_shared->user_deletions, 0);
		launch_shared->lock = &GetNamedLWLockTranche("blogstore")->lock;
		for (int i = 0; i < MAX_DATABASES; i++)
		{
			WorkerEntry *entry = &launch_shared->entry[i];

			pg_atomic_init_u32(&entry->served, InvalidTransactionId);
			pg_atomic_init_u32(&entry->unsent, 0);
			pg_atomic_init_u32(&entry->feed_size, 0);
			pg_atomic_init_u64(&entry->wake_lsn, 0);
			pg_atomic_init_u64(&entry->commits, 0);
			pg_atomic_init_u32(&entry->urgent, 0);
			pg_atomic_init_u32(&entry->resting, 0);
			pg_atomic_init_u64(&entry->shown_lsn, 0);
			pg_atomic_init_u64(&entry->posts_lsn, 0);
			pg_atomic_init_u64(&entry->jobs_lsn, 0);
			pg_atomic_init_u64(&entry->batches, 0);
			pg_atomic_init_u64(&entry->changes, 0);
			told_init(&entry->told);
			ConditionVariableInit(&entry->progress);
		}
	}
	hints = ShmemInitStruct("blogstore hints", layout_hints_size(), &hints_found);
	layout_hints_attach(hints, !hints_found);
	LWLockRelease(AddinShmemInitLock);
}

void
shared_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = shared_request;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shared_startup;
}

/*
 * Return a message that names the setting that prevents logical decoding on
 * this server. Returns NULL if there is none. A worker needs logical decoding.
 *
 * *hint: receives advice about the setting
 */
const char *
worker_obstacle(const char **hint)
{
	*hint = NULL;
	if (!compat_can_decode())
	{
		*hint = "Set wal_level = " COMPAT_DECODING_LEVEL " and restart the server.";
		return "wal_level is below " COMPAT_DECODING_LEVEL;
	}
	if (max_replication_slots == 0)
	{
		*hint = "Set max_replication_slots to at least one per database with containers, and restart the server.";
		return "max_replication_slots is 0";
	}
	return NULL;
}

/*
 * Return the entry of a database, or NULL if the database has none. With
 * InvalidOid as dbid, return a free entry. The caller holds
 * launch_shared->lock.
 */
WorkerEntry *
worker_entry_find(Oid dbid)
{
	Assert(LWLockHeldByMe(launch_shared->lock));
	for (int i = 0; i < MAX_DATABASES; i++)
		if (launch_shared->entry[i].dbid == dbid)
			return &launch_shared->entry[i];
	return NULL;
}

/*
 * Return the entry of this process's database, or NULL if the database has
 * none. Caches the entry. Takes launch_shared->lock in share mode if no entry
 * is cached, or if the cached entry was given to another database.
 */
WorkerEntry *
my_worker_entry(void)
{
	static WorkerEntry *mine = NULL;

	if (mine == NULL || mine->dbid != MyDatabaseId)
	{
		LWLockAcquire(launch_shared->lock, LW_SHARED);
		mine = worker_entry_find(MyDatabaseId);
		LWLockRelease(launch_shared->lock);
	}
	return mine;
}

/*
 * Copy the entry of a database to *copy. Returns false if the database has no
 * entry. Takes launch_shared->lock in share mode.
 */
bool
worker_entry_copy(Oid dbid, WorkerEntry *copy)
{
	WorkerEntry *entry;

	LWLockAcquire(launch_shared->lock, LW_SHARED);
	entry = worker_entry_find(dbid);
	if (entry != NULL)
		*copy = *entry;
	LWLockRelease(launch_shared->lock);
	return entry != NULL;
}

List *
worker_entry_databases(void)
{
	Oid			dbid[MAX_DATABASES];
	List	   *result = NIL;

	LWLockAcquire(launch_shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_DATABASES; i++)
		dbid[i] = launch_shared->entry[i].dbid;
	LWLockRelease(launch_shared->lock);
	for (int i = 0; i < MAX_DATABASES; i++)
		if (OidIsValid(dbid[i]))
			result = lappend_oid(result, dbid[i]);
	return result;
}

/*
 * Return whether this database has an entry or can get one.
 *
 * *unsure: set to true if all entries are taken, but one of their workers has
 * not started yet. That worker frees its entry if its database has no
 * containers.
 */
static bool
look_for_room(bool *unsure)
{
	bool		room;

	*unsure = false;
	LWLockAcquire(launch_shared->lock, LW_SHARED);
	room = worker_entry_find(MyDatabaseId) != NULL ||
		worker_entry_find(InvalidOid) != NULL;
	for (int i = 0; i < MAX_DATABASES && !room; i++)
		*unsure |= launch_shared->entry[i].started_at == 0 &&
			launch_shared->entry[i].failures == 0;
	LWLockRelease(launch_shared->lock);
	return room;
}

/*
 * Return a message that all entries are taken by other databases. Returns NULL
 * if this database has an entry or can get one.
 *
 * *hint: receives advice for the user
 */
const char *
worker_no_room(const char **hint)
{
	bool		unsure;

	*hint = "Drop the containers in a database that does not need them, or drop that database.";
	return look_for_room(&unsure) ? NULL :
		psprintf("more than %d databases have blogstore containers", MAX_DATABASES);
}

/*
 * Throw an error if this database has no entry and all entries are taken.
 * Errors: 54000.
 *
 * After a start of the server, databases without containers have entries until
 * their workers have exited. So the function first waits up to PROBE_TIME.
 */
void
worker_require_room(void)
{
	const char *hint;
	const char *problem;
	bool		unsure;

	for (int waited = 0; !look_for_room(&unsure) && unsure && waited < PROBE_TIME; waited++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000L);
	}
	problem = worker_no_room(&hint);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s", problem),
				 errhint("%s", hint),
				 err_fields(NULL, NULL, RULE_WORKER)));
}

/*
 * Store an error message in an entry, for the view stat_worker.
 *
 * subject: the operation that has failed. When it succeeds,
 * worker_entry_recovered() removes the message.
 * hint: the hint of the error, or NULL
 */
void
worker_entry_error(WorkerEntry *entry, ErrorSubject subject,
				   const char *message, const char *hint)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	message_copy(entry->last_error, message, ERROR_LENGTH);
	message_copy(entry->last_error_hint, hint ? hint : "", ERROR_LENGTH);
	entry->last_error_subject = subject;
	entry->last_error_at = GetCurrentTimestamp();
	LWLockRelease(launch_shared->lock);
}

/*
 * Remove the error from an entry after the operation "subject" has succeeded.
 * Takes no lock if the entry has no such error. Called by the worker. While
 * the worker runs, no other process writes these fields.
 */
void
worker_entry_recovered(WorkerEntry *entry, ErrorSubject subject)
{
	if (entry->last_error[0] == '\0' || entry->last_error_subject != subject)
		return;
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry->last_error[0] = '\0';
	entry->last_error_hint[0] = '\0';
	entry->last_error_at = 0;
	LWLockRelease(launch_shared->lock);
}

void
worker_entry_rebuild(WorkerEntry *entry, const char *reason)
{
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry->rebuilds++;
	message_copy(entry->last_rebuild_reason, reason, ERROR_LENGTH);
	entry->last_rebuild_at = GetCurrentTimestamp();
	LWLockRelease(launch_shared->lock);
}

/*
 * Wake the worker for a process that waits for it. Also ends a sleep that
 * commits do not end (worker_pause.c).
 */
void
worker_wake_at_once(WorkerEntry *entry)
{
	Latch	   *latch = entry->latch;

	pg_atomic_write_u32(&entry->urgent, 1);
	if (latch != NULL)
		SetLatch(latch);
}

void
launcher_wake(void)
{
	Latch	   *latch = launch_shared->launcher;

	if (latch != NULL)
		SetLatch(latch);
}
