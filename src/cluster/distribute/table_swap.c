/*
 * table_swap.c
 *		The last step: keeping others out, and giving the new tables the names of the old.
 *
 * Whoever reads or writes has the table of posts locked before any leaf
 * (cluster/remote/await_distribution.c), so that one is waited for, and with it all that
 * requests have locked is free, but for what the worker has. Others hold it to the end of their transactions, and
 * queue behind whoever waits. So it is waited for a moment only, while nothing else is held that anybody could wait
 * for, and tried again after a while in which the others go on: nobody meets a deadlock,
 * neither one that this server finds nor one that Citus does.
 *
 * Runs in a backend, in SPI.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "cluster/distribute/distribute.h"

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "storage/layout/layout.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

/* How long to wait for a lock in the queue, in ms. */
#define LOCK_WAIT "100"

/* How long to try for locks without waiting in the queue, in ms. */
#define TRY_REST 100
#define TRY_READERS 1000

/* The tables that get others in their place; the first is locked before the others. */
static const char *const replaced[] = {"posts", "users", "usernames"};

/* Those that nobody may write to in the last step, and their partitions if they are to be dropped. */
static List *
tables_to_lock(const Spread *spread, LOCKMODE mode)
{
	List	   *tables = NIL;

	for (int i = 0; i < lengthof(replaced); i++)
	{
		Oid			table = table_lookup(replaced[i]);

		if (mode == AccessExclusiveLock && !spread->keep)
			tables = list_concat(tables, find_all_inheritors(table, NoLock, NULL));
		else
			tables = lappend_oid(tables, table);
	}
	return lappend_oid(tables, bookkeeping_lookup(BOOK_JOBS));
}

/*
 * Lock a table, and wait in the queue for LOCK_WAIT at most; false: in vain. The lock is
 * taken in a subtransaction, which an error leaves without it.
 */
static bool
lock_for_a_moment(Oid relid, LOCKMODE mode)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		int			nest = NewGUCNestLevel();

		setting_change("lock_timeout", LOCK_WAIT);
		LockRelationOid(relid, mode);
		AtEOXact_GUC(true, nest);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		int			code = geterrcode();

		if (code != ERRCODE_LOCK_NOT_AVAILABLE &&
			code != ERRCODE_T_R_DEADLOCK_DETECTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

/* Let go those locks of a list that come before one; NULL: all. */
static void
unlock_until(List *tables, ListCell *until, LOCKMODE mode)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		if (lc == until)
			break;
		UnlockRelationOid(lfirst_oid(lc), mode);
	}
}

/* Lock tables without waiting in the queue; false, and none is locked: not within so many ms. */
static bool
lock_while_free(List *tables, LOCKMODE mode, int ms)
{
	TimestampTz since = GetCurrentTimestamp();
	ListCell   *lc;

	foreach(lc, tables)
		while (!ConditionalLockRelationOid(lfirst_oid(lc), mode))
		{
			CHECK_FOR_INTERRUPTS();
			if (clock_passed(since, GetCurrentTimestamp(), ms))
			{
				unlock_until(tables, lc, mode);
				return false;
			}
			pg_usleep(1000);
		}
	return true;
}

/* The locks are the transaction's, whoever calls: so that they can be let go. */
static bool
lock_tables(List *tables, LOCKMODE mode, bool wait)
{
	ResourceOwner owner = CurrentResourceOwner;
	Oid			first = linitial_oid(tables);
	bool		locked = true;

	if (wait && !lock_for_a_moment(first, mode))
		return false;
	CurrentResourceOwner = CurTransactionResourceOwner;
	locked = lock_while_free(tables, mode, wait ? TRY_REST : TRY_READERS);
	if (wait)
		UnlockRelationOid(first, mode);	/* it was locked twice, or is let go */
	CurrentResourceOwner = owner;
	return locked;
}

/*
 * Lock writers out, or readers too; false, and nobody is locked out: others have been in
 * the way.
 */
bool
spread_lock(const Spread *spread, bool readers)
{
	LOCKMODE	mode = readers ? AccessExclusiveLock : ExclusiveLock;

	return lock_tables(tables_to_lock(spread, mode), mode, true);
}

/* Once writers are locked out, lock readers out too; false: there has always been one. */
bool
spread_lock_readers(const Spread *spread)
{
	return lock_tables(tables_to_lock(spread, AccessExclusiveLock),
					   AccessExclusiveLock, false);
}

/* Let in again who was locked out. */
void
spread_unlock(const Spread *spread, bool readers)
{
	LOCKMODE	mode = readers ? AccessExclusiveLock : ExclusiveLock;
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	unlock_until(tables_to_lock(spread, mode), NULL, mode);
	CurrentResourceOwner = owner;
}

/* Give a table another name. */
static void
rename_table(const char *from, const char *to)
{
	(void) create_run_sql(psprintf("ALTER TABLE " BLOGSTORE_SCHEMA ".%s RENAME TO %s",
								   quote_identifier(from), quote_identifier(to)));
}

/* Put the new tables in place of the old, which are locked; jobs are, too. */
void
spread_swap(const Spread *spread)
{
	for (int i = 0; i < lengthof(replaced); i++)
	{
		char	   *old = psprintf("%s" OLD_SUFFIX, replaced[i]);

		rename_table(replaced[i], old);
		rename_table(psprintf("%s" NEW_SUFFIX, replaced[i]), replaced[i]);
		if (!spread->keep)
			(void) create_run_sql(psprintf("DROP TABLE " BLOGSTORE_SCHEMA ".%s", old));
	}
}
