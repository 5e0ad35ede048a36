/*
 * control.c
 *		Who stops or starts a database's worker, one transaction at a time.
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

#include "change_feed/change_feed.h"
#include "counts/counts.h"

#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/lock.h"

static void
control_tag(LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, DatabaseRelationId, MyDatabaseId, 1);
}

/* Take the lock, until the end of the transaction. */
void
control_lock(void)
{
	LOCKTAG		tag;

	control_tag(&tag);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/* Does another transaction hold it, a prepared one perhaps? */
bool
control_locked(void)
{
	LOCKTAG		tag;

	if (RecoveryInProgress())
		return false;
	control_tag(&tag);
	/* those who ask are not taken for each other */
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, ShareLock, false);
	return false;
}
