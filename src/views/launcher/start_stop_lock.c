/*
 * start_stop_lock.c
 *		The lock that serializes transactions which decide whether a worker
 *		runs.
 *
 * stop_worker(), start_worker(), create_containers() and DDL that changes the
 * need for a worker take this lock. They keep it until the transaction ends,
 * or the savepoint in which it was taken is rolled back. So each of them sees
 * the result of the previous one. A prepared transaction keeps the lock, too;
 * COMMIT PREPARED recognizes by the lock that the need for a worker may
 * change.
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

/* Take the lock until the end of the transaction. */
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
