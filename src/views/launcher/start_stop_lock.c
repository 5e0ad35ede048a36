/*
 * start_stop_lock.c
 *		The lock of who stops or starts a database's worker.
 *
 * stop_worker(), start_worker() and what else decides whether a worker is
 * needed take one lock, and keep it until their transaction ends, or the
 * savepoint that it was taken in is rolled back. So each of them finds what the
 * one before has left. A prepared transaction keeps the lock, too, which is how
 * COMMIT PREPARED learns that there may be something to look at.
 *
 * The lock is an object lock on a part of the database that does not exist as
 * such: nothing else takes it, and nobody can by a command of their own.
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

/* Take the lock, until the end of the transaction. */
void
start_stop_lock(void)
{
	LOCKTAG		tag;

	start_stop_tag(&tag);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/* Does another transaction hold the lock, a prepared one perhaps? */
bool
start_stop_locked(void)
{
	LOCKTAG		tag;

	if (RecoveryInProgress())
		return false;
	start_stop_tag(&tag);
	/* those who ask are not taken for each other */
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, ShareLock, false);
	return false;
}
