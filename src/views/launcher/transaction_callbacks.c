/*
 * transaction_callbacks.c
 *		What a backend does about its database's worker when a transaction ends.
 *
 * A commit that wrote items wakes the worker: no polling, and no word of a
 * transaction that may yet roll back. What this transaction has done is noted by
 * the hooks of worker_hooks.h, and by the functions of this file that others call:
 *
 *		noted						at commit				at rollback
 *		--------------------------	----------------------	------------------
 *		posts were written									verify() looks at the
 *															views again
 *		items were written			the worker is woken,
 *									unless it rests;
 *									prepared ones wake
 *									it when COMMIT
 *									PREPARED is through
 *		containers, but no worker	the launcher starts it	noted still
 *		a worker may be needed		it looks whether it is
 *		the worker was stopped		it stays stopped		it is started
 *		who is being deleted has	counted (user_deletions())
 *		changed
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

/* What has been noted; the transaction's end forgets all but worker_missing. */
static bool items_written = false;
static SubTransactionId posts_written_in = InvalidSubTransactionId; /* or savepoint */
static bool worker_missing = false;
static bool look_wanted = false;
static SubTransactionId stopped_in = InvalidSubTransactionId;	/* or savepoint */
static bool deletions_changed = false;
static bool deletions_announced = false;

/* ------------------------------------------------------------------------
 * The hooks (worker_hooks.h)
 * ------------------------------------------------------------------------ */

/* This process has met containers: if they have no worker, ask for one. */
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

/* ------------------------------------------------------------------------
 * What others call
 * ------------------------------------------------------------------------ */

/* Has this transaction written posts, or counts of them, that the worker does not know of yet? */
bool
transaction_wrote_posts(void)
{
	return posts_written_in != InvalidSubTransactionId;
}

/* Ask for this database's worker at once, but on a standby. */
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

/* On commit, have the worker look whether it is needed and may run. */
void
worker_look_on_commit(void)
{
	look_wanted = true;
}

/*
 * Stop this database's worker now, and keep it down until the transaction ends,
 * whoever asks for it meanwhile. What becomes of it then is the transaction's to
 * say: the row in view_state keeps it down, or, rolled back, it starts again.
 * Returns false if there is no room for one more database.
 */
bool
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
	return entry != NULL;
}

/* ------------------------------------------------------------------------
 * The callbacks
 * ------------------------------------------------------------------------ */

/*
 * The commit that changes who is being deleted is about to show: announced
 * before, counted once it does, and only then over. A reader that finds
 * nothing announced, and then the count it knows, has missed none that its
 * snapshot could see.
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

/* The transaction, or savepoint, that has stopped the worker has ended. */
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

/* Have the worker of this database look, but on a standby. */
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
 * Wake the worker for a commit that has just been made, whose record ends at lsn, unless
 * it rests: whoever still finds it resting after the barrier has told it in time, for it
 * looks at wake_lsn when the rest is over.
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
			/* COMMIT PREPARED sees to the worker (ddl_hook.c) */
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
 * stop_worker(), or the first post that was written, in a savepoint: rolled back with it, or from
 * its release on a matter of the transaction around.
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

/*
 * Register with the transaction manager, and fill in worker_hooks, by which lower
 * folders tell of what they have done; once at load.
 */
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
