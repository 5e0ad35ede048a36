/*
 * table_swap.c
 *		The last step of a distribution: locking others out and giving the
 *		new tables the names of the old ones.
 *
 * A request locks the table of posts before any leaf
 * (cluster/remote/await_distribution.c). So it is enough to wait for that
 * table: after that, requests hold no other lock, only the worker does. But
 * requests hold it until their transactions end, and later ones queue behind a
 * waiting lock. So this waits only briefly, while it holds nothing that
 * another transaction could wait for. If it fails, it lets the others continue
 * and tries again later. In this way no deadlock can arise, neither on this
 * server nor between nodes.
 *
 * Runs in a backend, in SPI.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "cluster/distribute/distribute.h"
#include "cluster/operations/operations.h"

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

/* How long to retry locks without waiting in the queue, in ms. */
#define TRY_REST 100
#define TRY_READERS 1000

/* Tables to be replaced. The first one is locked before the others. */
static const char *const replaced[] = {"posts", "users", "usernames"};

/*
 * Return the tables to be locked in the last step, with their partitions if
 * these are to be dropped. The view posts_with_counts is replaced under the
 * same lock. A reader of it locks the view before the table of posts, so the
 * view must not be locked later, with waiting.
 */
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
	if (mode == AccessExclusiveLock && !spread->creation.counts_view)
		tables = lappend_oid(tables, table_lookup(COUNTS_VIEW));
	return lappend_oid(tables, bookkeeping_lookup(BOOK_JOBS));
}

/*
 * Lock a table, waiting in the queue for at most LOCK_WAIT. Returns false if
 * that was in vain. The lock is taken in a subtransaction, so that an error
 * releases it.
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

/* Release the locks of a list up to a cell; NULL: all. */
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

/*
 * Lock tables without waiting in the queue, retrying for ms milliseconds.
 * Returns false, with none locked, if that was in vain.
 */
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

/*
 * Lock tables. The locks belong to the resource owner of the transaction, not
 * to that of the caller, so that spread_unlock() can release them.
 */
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
		UnlockRelationOid(first, mode);	/* release the second lock on it, or,
										 * after a failure, the only one */
	CurrentResourceOwner = owner;
	return locked;
}

/*
 * Lock out writers, or readers, too. Returns false, with no lock held, if
 * other transactions are in the way.
 */
bool
spread_lock(const Spread *spread, bool readers)
{
	LOCKMODE	mode = readers ? AccessExclusiveLock : ExclusiveLock;

	return lock_tables(tables_to_lock(spread, mode), mode, true);
}

/*
 * Lock out readers, too, after writers. Returns false if readers have never
 * left the tables free.
 */
bool
spread_lock_readers(const Spread *spread)
{
	return lock_tables(tables_to_lock(spread, AccessExclusiveLock),
					   AccessExclusiveLock, false);
}

/* Release the locks of spread_lock(). */
void
spread_unlock(const Spread *spread, bool readers)
{
	LOCKMODE	mode = readers ? AccessExclusiveLock : ExclusiveLock;
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	unlock_until(tables_to_lock(spread, mode), NULL, mode);
	CurrentResourceOwner = owner;
}

static void
rename_table(const char *from, const char *to)
{
	(void) create_run_sql(psprintf("ALTER TABLE " BLOGSTORE_SCHEMA ".%s RENAME TO %s",
								   quote_identifier(from), quote_identifier(to)));
}

/*
 * Have the view posts_with_counts read the new tables. If it exists, its
 * grants stay; otherwise it is created.
 */
static void
renew_counts_view(const Creation *creation)
{
	if (creation->counts_view)
		create_counts_view(creation, create_cluster_view_sql);
	else
	{
		(void) create_run_sql(psprintf("CREATE OR REPLACE %s", create_cluster_view_sql));
		/* Citus has created it on the nodes for the caller */
		create_give_counts_view(creation);
	}
}

/*
 * Rename the new tables to the names of the old ones, and drop the old ones
 * unless they are kept. All of them, and jobs, are locked.
 */
void
spread_swap(const Spread *spread)
{
	for (int i = 0; i < lengthof(replaced); i++)
	{
		char	   *old = psprintf("%s" OLD_SUFFIX, replaced[i]);

		rename_table(replaced[i], old);
		rename_table(psprintf("%s" NEW_SUFFIX, replaced[i]), replaced[i]);
		if (i == 0)
			renew_counts_view(&spread->creation);
		if (!spread->keep)
			(void) create_run_sql(psprintf("DROP TABLE " BLOGSTORE_SCHEMA ".%s", old));
	}
}
