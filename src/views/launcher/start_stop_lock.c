/*
 * start_stop_lock.c
 *		A lock for transactions that start or stop the worker of their
 *		database.
 *
 * A transaction takes this lock in stop_worker(), start_worker(),
 * create_containers(), and after DDL that may change whether a worker is
 * needed. It keeps the lock until it ends, or until the savepoint is rolled
 * back in which it took the lock. So the next of these transactions sees what
 * the previous one has done. A prepared transaction also keeps the lock.
 * COMMIT PREPARED finds it locked, and therefore starts a worker, which checks
 * whether it is needed.
 *
 * The lock is a heavyweight lock on a subobject of the database that does not
 * exist. No other code takes this lock, and no SQL command can.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "views/launcher/worker_entries.h"

#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/lock.h"

static void
start_stop_tag(LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, DatabaseRelationId, MyDatabaseId, 1);
}

/*
 * Take the start-stop lock of this database in exclusive mode, until the
 * transaction ends. Waits while another transaction holds the lock.
 */
void
start_stop_lock(void)
{
	LOCKTAG		tag;

	start_stop_tag(&tag);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/*
 * Return whether another transaction, possibly a prepared one, holds the
 * start-stop lock.
 */
bool
start_stop_locked(void)
{
	LOCKTAG		tag;

	if (RecoveryInProgress())
		return false;
	start_stop_tag(&tag);
	/* Share mode does not conflict with concurrent calls of this function. */
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, ShareLock, false);
	return false;
}
