/*
 * transaction_callbacks.c
 *		Wakes, starts or stops the worker of a database at the end of a
 *		backend's transaction.
 *
 * A commit that wrote items wakes the worker. So the worker need not poll, and
 * rollbacks do not disturb it. Functions of this file set flags during the
 * transaction. Code outside of views/ calls these functions through the hooks
 * of worker_hooks.h. At the end of the transaction, callbacks act on the
 * flags:
 *
 *		flag						at commit				at rollback
 *		--------------------------	----------------------	------------------
 *		posts_written_in			cleared					cleared
 *		items_written				wakes the worker,		cleared
 *									unless it pauses
 *									(worker_pause.c)
 *		worker_missing				asks the launcher for	kept
 *									a worker
 *		look_wanted					a worker checks			cleared
 *									whether it is needed
 *		stopped_in					the worker stays		the worker is
 *									stopped					started
 *		deletions_changed			counted for				cleared
 *									user_deletions()
 *
 * COMMIT PREPARED does the work of items_written and look_wanted for a
 * prepared transaction (ddl_hook.c).
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/worker_hooks.h"
#include "views/launcher/worker_entries.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"

/*
 * Flags of the current transaction (see the table at the top of the file).
 * posts_written_in and stopped_in name the subtransaction that has set the
 * flag, so that its rollback can clear the flag.
 */
static bool items_written = false;
static SubTransactionId posts_written_in = InvalidSubTransactionId;
static bool worker_missing = false;
static bool look_wanted = false;
static SubTransactionId stopped_in = InvalidSubTransactionId;
static bool deletions_changed = false;
static bool deletions_announced = false;

/*
 * Called when this process has found containers in its database. If the
 * database has no worker, the launcher is asked for one at the commit.
 */
static void
containers_found(void)
{
	if (IsParallelWorker() || MyBackendType == B_BG_WORKER ||
		my_worker_entry() != NULL)
		return;
	worker_missing = true;
}

static void
item_written(bool posts)
{
	items_written = true;
	if (posts && posts_written_in == InvalidSubTransactionId)
		posts_written_in = GetCurrentSubTransactionId();
}

static void
containers_created(void)
{
	worker_require_room();
	items_written = true;
	start_stop_lock();
	worker_look_on_commit();
}

static void
user_deletions_changing(void)
{
	items_written = true;
	deletions_changed = true;
}

static bool
user_deletions(uint64 *stamp)
{
	*stamp = 0;
	if (pg_atomic_read_u32(&launch_shared->deleting) != 0)
		return false;
	pg_read_barrier();
	*stamp = pg_atomic_read_u64(&launch_shared->user_deletions);
	return true;
}

static TransactionId
views_served(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry == NULL ? InvalidTransactionId : pg_atomic_read_u32(&entry->served);
}

/*
 * Return whether this transaction has written posts or counts. The views lack
 * these changes before the commit, so the caller must not read the views.
 */
bool
transaction_wrote_posts(void)
{
	return posts_written_in != InvalidSubTransactionId;
}

/*
 * Ask the launcher for a worker of this database, at once, even if this
 * transaction rolls back later. Does nothing if the database already has an
 * entry in shared memory, or the server is a standby.
 */
void
worker_request(void)
{
	worker_missing = false;
	if (RecoveryInProgress() || my_worker_entry() != NULL)
		return;
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	(void) worker_entry_create(MyDatabaseId);
	LWLockRelease(launch_shared->lock);
	launcher_wake();
}

/*
 * Have the launcher start a worker when this transaction commits. The worker
 * exits if it is not needed or not enabled.
 */
void
worker_look_on_commit(void)
{
	look_wanted = true;
}

/*
 * Stop this database's worker for stop_worker(), and wait until its process
 * has ended. Does nothing if all entries belong to other databases, because
 * this database then has no worker.
 *
 * The launcher starts no worker before the calling transaction ends. After a
 * rollback, the launcher starts the worker again. After a commit, a new worker
 * would exit at once, because the caller has disabled it in the table
 * view_state.
 */
void
worker_stop(void)
{
	WorkerEntry *entry;

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry = worker_entry_create(MyDatabaseId);
	if (entry != NULL)
	{
		if (stopped_in == InvalidSubTransactionId)
			stopped_in = GetCurrentSubTransactionId();
		worker_entry_stop(entry);
	}
	LWLockRelease(launch_shared->lock);
	if (entry != NULL)
		worker_entry_end(entry);
}

/*
 * Called before a commit that begins or ends the deletion of a user.
 * launch_shared->deleting counts such commits while they are in progress.
 * launch_shared->user_deletions counts the finished ones (count_deletions()).
 *
 * A reader caches the list of users that are being deleted. The reader uses
 * the cached list only if user_deletions has not changed since the list was
 * read. While "deleting" is not 0, the reader does not use the cached list.
 */
static void
announce_deletions(void)
{
	if (!deletions_changed)
		return;
	pg_atomic_fetch_add_u32(&launch_shared->deleting, 1);
	deletions_announced = true;
}

static void
count_deletions(void)
{
	if (deletions_announced)
	{
		pg_atomic_fetch_add_u64(&launch_shared->user_deletions, 1);
		pg_atomic_fetch_sub_u32(&launch_shared->deleting, 1);
	}
	deletions_changed = false;
	deletions_announced = false;
}

static void
stop_ended(bool rolled_back)
{
	WorkerEntry *entry;

	stopped_in = InvalidSubTransactionId;
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry = worker_entry_find(MyDatabaseId);
	if (entry != NULL)
		worker_entry_stop_ended(entry, rolled_back);
	LWLockRelease(launch_shared->lock);
	launcher_wake();
}

static void
worker_look(void)
{
	WorkerEntry *entry;

	if (RecoveryInProgress())
		return;
	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry = worker_entry_create(MyDatabaseId);
	if (entry != NULL)
		worker_entry_look(entry);
	LWLockRelease(launch_shared->lock);
	launcher_wake();
}

/*
 * Wake the worker after a commit. A worker that has set the flag "resting" is
 * not woken (worker_pause.c).
 *
 * lsn: the end of the commit record
 *
 * This function raises wake_lsn before it reads "resting". The worker clears
 * "resting" before it reads wake_lsn. So a worker that is not woken decodes
 * this commit after its pause.
 */
void
worker_wake(XLogRecPtr lsn)
{
	WorkerEntry *entry = my_worker_entry();
	uint64		before;
	Latch	   *latch;

	if (entry == NULL)
		return;
	before = pg_atomic_read_u64(&entry->wake_lsn);
	while (before < lsn &&
		   !pg_atomic_compare_exchange_u64(&entry->wake_lsn, &before, lsn))
		;
	latch = entry->latch;
	if (latch != MyLatch)
		pg_atomic_fetch_add_u64(&entry->commits, 1);
	pg_memory_barrier();
	if (latch != NULL && pg_atomic_read_u32(&entry->resting) == 0)
		SetLatch(latch);
}

static void
transaction_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			announce_deletions();
			return;
		case XACT_EVENT_COMMIT:
			if (worker_missing)
				worker_request();
			if (items_written)
				worker_wake(XactLastCommitEnd);
			if (stopped_in != InvalidSubTransactionId)
				stop_ended(false);
			if (look_wanted)
				worker_look();
			break;
		case XACT_EVENT_ABORT:
			if (stopped_in != InvalidSubTransactionId)
				stop_ended(true);
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (stopped_in != InvalidSubTransactionId)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has stopped the blogstore worker"),
						 errhint("Call blogstore.stop_worker() in a transaction of its own."),
						 err_fields(NULL, NULL, RULE_ONE_PHASE)));
			return;
		case XACT_EVENT_PREPARE:
			/* COMMIT PREPARED will wake the worker (ddl_hook.c). */
			break;
		default:
			return;
	}
	count_deletions();
	items_written = false;
	posts_written_in = InvalidSubTransactionId;
	look_wanted = false;
}

/*
 * Callback at the end of a subtransaction. A commit passes the flags to the
 * parent transaction. A rollback clears posts_written_in, and starts the
 * worker again if the subtransaction has stopped it.
 */
static void
subtransaction_end(SubXactEvent event, SubTransactionId mine,
				   SubTransactionId parent, void *arg)
{
	if (posts_written_in == mine && event == SUBXACT_EVENT_COMMIT_SUB)
		posts_written_in = parent;
	else if (posts_written_in == mine && event == SUBXACT_EVENT_ABORT_SUB)
		posts_written_in = InvalidSubTransactionId;
	if (stopped_in != mine)
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		stopped_in = parent;
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		stop_ended(true);
}

void
transaction_callbacks_init(void)
{
	RegisterXactCallback(transaction_end, NULL);
	RegisterSubXactCallback(subtransaction_end, NULL);
	worker_hooks.containers_found = containers_found;
	worker_hooks.containers_created = containers_created;
	worker_hooks.item_written = item_written;
	worker_hooks.views_served = views_served;
	worker_hooks.user_deletions_changing = user_deletions_changing;
	worker_hooks.user_deletions = user_deletions;
}
