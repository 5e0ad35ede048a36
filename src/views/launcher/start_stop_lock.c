/*
 * start_stop_lock.c
 *		The lock of transactions that start or stop the worker of their
 *		database.
 *
 * stop_worker(), start_worker(), create_containers(), and DDL that may change
 * whether a worker is needed take this lock. They keep it until the
 * transaction ends or the savepoint is rolled back in which they took it. So
 * each of them sees the result of the previous one. A prepared transaction
 * also keeps the lock. COMMIT PREPARED recognizes by the lock that a worker
 * has to check whether it is needed.
 *
 * The lock is an object lock on a subobject of the database that does not
 * exist. No other code takes it, and no SQL command can.
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
 * Take the lock exclusively, until the transaction ends. Waits while another
 * transaction holds it.
 */
void
start_stop_lock(void)
{
	LOCKTAG		tag;

	start_stop_tag(&tag);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/*
 * Return whether another transaction, possibly a prepared one, holds the lock.
 */
bool
start_stop_locked(void)
{
	LOCKTAG		tag;

	if (RecoveryInProgress())
		return false;
	start_stop_tag(&tag);
	/* share mode, so that concurrent calls of this function do not conflict */
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, ShareLock, false);
	return false;
}
