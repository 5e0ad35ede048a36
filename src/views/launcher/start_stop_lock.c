/*
 * start_stop_lock.c
 *		A lock for transactions that start or stop the worker of their
 *		database.
 *
 * stop_worker(), start_worker() and create_containers() take this lock, and so
 * does DDL that may change whether a worker is needed. A transaction keeps the
 * lock until it ends or rolls back to an earlier savepoint. So the next
 * transaction that takes the lock sees the changes of the previous one.
 *
 * A prepared transaction keeps the lock. COMMIT PREPARED finds that the lock
 * is held, and starts a worker, which checks whether it is needed.
 *
 * The lock is a heavyweight lock. Its tag names the database and a subobject
 * number that no object has. No other code takes this lock, and no SQL command
 * can.
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
