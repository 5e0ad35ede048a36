/*
 * table_swap.c
 *		The last step of a distribution: locking out other transactions, and
 *		giving the new tables the names of the old ones.
 *
 * A request locks the table of posts before any other table
 * (cluster/remote/await_distribution.c). So once this transaction has locked
 * the table of posts, only the worker can hold locks of the others. But a
 * request keeps its lock until its transaction ends, and later requests queue
 * behind a waiting lock. So this transaction waits for the table of posts for
 * a tenth of a second only, and holds nothing meanwhile for which other
 * transactions could wait. If it does not get the lock, it lets the other
 * transactions continue, and tries again later. No deadlock can arise in this
 * way, neither on this server nor between nodes.
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

/*
 * How long, in ms, this transaction waits for the lock of the table of posts
 * in that lock's queue.
 */
#define LOCK_WAIT "100"

/*
 * How long, in ms, this transaction tries to take the other locks without
 * waiting in their queues: TRY_REST after it has locked the table of posts,
 * TRY_READERS to lock out readers after writers.
 */
#define TRY_REST 100
#define TRY_READERS 1000

/* The tables that are replaced. The table of posts is locked first. */
static const char *const replaced[] = {"posts", "users", "usernames"};

/*
 * Return the tables that the last step locks in a mode. If the old tables are
 * to be dropped, their partitions are among them.
 *
 * The view posts_with_counts, which is replaced, is among them, too. A reader
 * of the view locks it before the table of posts. If this transaction waited
 * for the view while it holds the table of posts, the two could deadlock.
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
 * Lock a table, and wait for that in the lock's queue for at most LOCK_WAIT
 * ms. Returns false if the lock is not free by then. The lock is taken in a
 * subtransaction, so that an error releases it.
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

/*
 * Unlock the tables of a list that come before a cell; all of them if the cell
 * is NULL.
 */
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
 * Lock all tables of a list, without waiting in the locks' queues. A lock that
 * is not free is tried again until ms milliseconds have passed. Returns false,
 * with none of them locked, if that was not enough.
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
 * Lock all tables of a list. If wait is true, first wait a moment for the
 * first one. Returns false, with none of them locked, if one is not free. The
 * locks belong to the resource owner of the transaction, not to that of the
 * caller, so that spread_unlock() can release them.
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
		/*
		 * lock_while_free() has locked the first table again, or has failed.
		 * Release one lock of that table.
		 */
		UnlockRelationOid(first, mode);
	CurrentResourceOwner = owner;
	return locked;
}

/*
 * Lock the containers so that no other transaction can write them, or if
 * readers is true, read them. Returns false, with no lock held, if other
 * transactions have locked them.
 */
bool
spread_lock(const Spread *spread, bool readers)
{
	LOCKMODE	mode = readers ? AccessExclusiveLock : ExclusiveLock;

	return lock_tables(tables_to_lock(spread, mode), mode, true);
}

/*
 * Lock the containers so that no other transaction can read them, once none
 * can write them. Returns false if there were always readers.
 */
bool
spread_lock_readers(const Spread *spread)
{
	return lock_tables(tables_to_lock(spread, AccessExclusiveLock),
					   AccessExclusiveLock, false);
}

/* Release the locks that spread_lock() has taken. */
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
 * Make the view posts_with_counts read the new tables. An existing view is
 * replaced and keeps its grants; a missing one is created.
 */
static void
renew_counts_view(const Creation *creation)
{
	if (creation->counts_view)
		create_counts_view(creation, create_cluster_view_sql);
	else
	{
		(void) create_run_sql(psprintf("CREATE OR REPLACE %s", create_cluster_view_sql));
		/*
		 * Citus has created the view on the nodes with the caller as its
		 * owner.
		 */
		create_give_counts_view(creation);
	}
}

/*
 * Give the new tables the names of the old ones, and drop the old ones unless
 * they are kept. The caller has locked all of them, and the table of jobs.
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
