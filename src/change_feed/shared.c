/*
 * shared.c
 *		What launcher, workers and backends share: one entry a database.
 *
 * Runs in the postmaster (set-up) and in every process.
 */
#include "postgres.h"

#include "change_feed/change_feed.h"
#include "import/import.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

/* The back-off doubles from the first to the last, in milliseconds. */
#define FIRST_BACKOFF 500
#define LAST_BACKOFF 60000

FeedShared *feed_shared = NULL;

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void
feed_shmem_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(sizeof(FeedShared));
	RequestNamedLWLockTranche("blogstore", 1);
}

static void
feed_shmem_startup(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	feed_shared = ShmemInitStruct("blogstore", sizeof(FeedShared), &found);
	if (!found)
	{
		memset(feed_shared, 0, sizeof(FeedShared));
		pg_atomic_init_u32(&feed_shared->deleting, 0);
		pg_atomic_init_u64(&feed_shared->deletions, 0);
		feed_shared->lock = &GetNamedLWLockTranche("blogstore")->lock;
		for (int i = 0; i < MAX_DATABASES; i++)
		{
			WorkerEntry *entry = &feed_shared->entry[i];

			pg_atomic_init_u32(&entry->served, 0);
			pg_atomic_init_u64(&entry->wake_lsn, 0);
			pg_atomic_init_u64(&entry->shown_lsn, 0);
			pg_atomic_init_u64(&entry->jobs_lsn, 0);
			pg_atomic_init_u64(&entry->batches, 0);
			pg_atomic_init_u64(&entry->changes, 0);
			ConditionVariableInit(&entry->progress);
		}
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * What keeps a worker from running on this server, and what to do about it;
 * NULL if nothing does.
 */
const char *
worker_obstacle(const char **hint)
{
	*hint = NULL;
	if (feed_shared == NULL)
	{
		*hint = "Add blogstore to shared_preload_libraries, set wal_level = logical, and restart the server.";
		return "the library is not preloaded";
	}
	if (wal_level < WAL_LEVEL_LOGICAL)
	{
		*hint = "Set wal_level = logical and restart the server.";
		return "wal_level is below logical";
	}
	if (max_replication_slots == 0)
	{
		*hint = "Set max_replication_slots to at least one per database with containers, and restart the server.";
		return "max_replication_slots is 0";
	}
	return NULL;
}

/* The replication slot of a database's worker; name has NAMEDATALEN bytes. */
void
worker_slot_name(Oid dbid, char *name)
{
	snprintf(name, NAMEDATALEN, "blogstore_%u", dbid);
}

/*
 * The entry of a database; NULL if there is none and create is false, or if
 * all are taken. The caller holds the lock (exclusively to create).
 */
WorkerEntry *
worker_entry(Oid dbid, bool create)
{
	WorkerEntry *free_entry = NULL;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		WorkerEntry *entry = &feed_shared->entry[i];

		if (entry->dbid == dbid)
			return entry;
		if (entry->dbid == InvalidOid && free_entry == NULL)
			free_entry = entry;
	}
	if (!create || free_entry == NULL)
		return NULL;

	free_entry->state = WORKER_WANTED;
	free_entry->look_again = false;
	free_entry->stopper = 0;
	free_entry->holds = 0;
	free_entry->pid = 0;
	free_entry->latch = NULL;
	free_entry->failures = 0;
	free_entry->next_start = 0;
	free_entry->started_at = 0;
	free_entry->caught_up_at = 0;
	free_entry->last_error[0] = '\0';
	free_entry->last_error_at = 0;
	pg_atomic_write_u32(&free_entry->served, 0);
	pg_atomic_write_u64(&free_entry->wake_lsn, 0);
	pg_atomic_write_u64(&free_entry->shown_lsn, 0);
	pg_atomic_write_u64(&free_entry->jobs_lsn, 0);
	pg_atomic_write_u64(&free_entry->batches, 0);
	pg_atomic_write_u64(&free_entry->changes, 0);
	free_entry->dbid = dbid;
	return free_entry;
}

/* The entry of this process's database, remembered; NULL if there is none. */
WorkerEntry *
my_worker_entry(void)
{
	static WorkerEntry *mine = NULL;

	if (feed_shared == NULL)
		return NULL;
	if (mine == NULL || mine->dbid != MyDatabaseId)
	{
		LWLockAcquire(feed_shared->lock, LW_SHARED);
		mine = worker_entry(MyDatabaseId, false);
		LWLockRelease(feed_shared->lock);
	}
	return mine;
}

/* When a worker that failed so many times in a row may be started again. */
static TimestampTz
next_start(int failures)
{
	int64		wait = FIRST_BACKOFF;

	for (int i = 1; i < failures && wait < LAST_BACKOFF; i++)
		wait *= 2;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   Min(wait, LAST_BACKOFF));
}

/*
 * Have a worker look whether it is needed and may run: the one there is when it
 * ends, or a new one, but not while a transaction that has stopped it is under
 * way; then afterwards. The caller holds the lock exclusively.
 */
void
worker_entry_look(WorkerEntry *entry)
{
	if (entry->pid != 0 || entry->stopper != 0)
		entry->look_again = true;
	else
	{
		entry->state = WORKER_WANTED;
		entry->look_again = false;
		entry->failures = 0;
		entry->next_start = 0;
	}
}

/*
 * Free an entry that is not needed, once nobody has it in hand. The caller holds
 * the lock exclusively.
 */
void
worker_entry_leave(WorkerEntry *entry)
{
	if (entry->state == WORKER_NOT_NEEDED && entry->pid == 0 &&
		entry->holds == 0 && entry->stopper == 0)
		entry->dbid = InvalidOid;
}

/*
 * An entry's worker has ended, or never came up: what next? The caller holds
 * the lock exclusively.
 */
void
worker_entry_ended(WorkerEntry *entry, bool failed)
{
	pg_atomic_write_u32(&entry->served, 0);
	entry->pid = 0;
	entry->latch = NULL;
	if (entry->look_again && entry->stopper == 0 &&
		(entry->state == WORKER_NOT_NEEDED || entry->state == WORKER_STOPPED))
	{
		/* it left for a reason that is one no more: start_worker(), say */
		entry->next_start = 0;
		entry->state = WORKER_WANTED;
	}
	else if (entry->state == WORKER_NOT_NEEDED)
		worker_entry_leave(entry);
	else if (entry->state != WORKER_STOPPED)
	{
		if (entry->state == WORKER_RUNNING)
			entry->failures = 0;	/* it had worked: a new back-off */
		entry->failures += failed;
		entry->next_start = failed ? next_start(entry->failures) : 0;
		entry->state = WORKER_WANTED;
	}
	ConditionVariableBroadcast(&entry->progress);
}

/* Record an error where stat_worker shows it. */
void
worker_entry_error(WorkerEntry *entry, const char *message)
{
	LWLockAcquire(feed_shared->lock, LW_EXCLUSIVE);
	strlcpy(entry->last_error, message, ERROR_LENGTH);
	entry->last_error_at = GetCurrentTimestamp();
	LWLockRelease(feed_shared->lock);
}

void
launcher_wake(void)
{
	Latch	   *latch = feed_shared->launcher;

	if (latch != NULL)
		SetLatch(latch);
}

/* Have the launcher start a database's worker, unless it is stopped. */
void
worker_entry_want(Oid dbid)
{
	LWLockAcquire(feed_shared->lock, LW_EXCLUSIVE);
	(void) worker_entry(dbid, true);
	LWLockRelease(feed_shared->lock);
	launcher_wake();
}

/* Set up the change feed; called once by _PG_init. */
void
change_feed_init(void)
{
	notify_init();
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = feed_shmem_request;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = feed_shmem_startup;
	hold_init();

	/* pg_upgrade moves slots, and wants no one to hold or make them */
	if (!IsBinaryUpgrade)
		launcher_register();
}
