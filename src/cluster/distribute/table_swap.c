/*
 * table_swap.c
 *		The last step of a distribution: locking out other transactions, and
 *		giving the new tables the names of the old ones.
 *
 * A request locks the table of posts before any other table
 * (cluster/remote/await_distribution.c). So once this transaction has locked
 * the table of posts, only the worker can have locks on other tables.
 *
 * All later requests queue behind this transaction while it waits for the
 * table of posts. So this transaction waits only a tenth of a second. During
 * this wait, it has no lock for which a request could wait. So no deadlock can
 * arise, neither on this server nor between nodes. If this transaction does
 * not get the lock, it pauses and tries again. Other transactions continue
 * during the pause.
 *
 * Runs in a backend. The caller has called SPI_connect().
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

/* lock_timeout, in ms, for the lock on the table of posts. */
#define LOCK_WAIT "100"

/*
 * How long, in ms, lock_while_free() tries to lock all tables.
 *
 * TRY_REST: used when the table of posts has just been locked
 * TRY_READERS: used when writers are already locked out
 */
#define TRY_REST 100
#define TRY_READERS 1000

/* The tables that are replaced. "posts" comes first, and is locked first. */
static const char *const replaced[] = {"posts", "users", "usernames"};

/*
 * Return the tables that the last step locks in the given mode.
 *
 * AccessExclusiveLock is also taken on the view posts_with_counts, and on the
 * partitions if they are to be dropped. Readers lock the view before the table
 * of posts. So this transaction must not wait for the view after it has locked
 * the table of posts.
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
 * Lock a table, waiting at most LOCK_WAIT ms. Returns whether the table is
 * locked now. The lock is taken in a subtransaction, because a lock timeout is
 * an error.
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
 * Unlock the tables of a list that come before the cell "until". If "until" is
 * NULL, unlock all tables of the list.
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
 * Lock all tables of a list without waiting in a lock's queue. If another
 * transaction has locked a table, try again each millisecond. Returns false,
 * with no table locked, if that takes longer than "ms" milliseconds.
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
 * Lock all tables of a list in the given mode. Returns false, with no table
 * locked, if other transactions prevent that.
 *
 * wait: whether to wait in the lock queue of the first table, for at most
 *	LOCK_WAIT ms
 *
 * The locks belong to the resource owner of the transaction, because
 * spread_unlock() may be called under another resource owner.
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
		 * Release the lock that lock_for_a_moment() has taken on the first
		 * table. If lock_while_free() has succeeded, its own lock on this
		 * table remains.
		 */
		UnlockRelationOid(first, mode);
	CurrentResourceOwner = owner;
	return locked;
}

/*
 * Lock the containers so that no other transaction can write them. If
 * "readers" is true, no other transaction can read them either. Returns false,
 * with no lock held, if another transaction prevents that. Locks:
 * ExclusiveLock; AccessExclusiveLock if "readers" is true.
 */
bool
spread_lock(const Spread *spread, bool readers)
{
	LOCKMODE	mode = readers ? AccessExclusiveLock : ExclusiveLock;

	return lock_tables(tables_to_lock(spread, mode), mode, true);
}

/*
 * Lock the containers in AccessExclusiveLock mode, after spread_lock() has
 * locked out writers. Returns false if readers prevent that for TRY_READERS
 * ms.
 */
bool
spread_lock_readers(const Spread *spread)
{
	return lock_tables(tables_to_lock(spread, AccessExclusiveLock),
					   AccessExclusiveLock, false);
}

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
		 * On the other nodes, Citus has made the caller the owner of the view.
		 * Give the view to the containers' owner.
		 */
		create_give_counts_view(creation);
	}
}

/*
 * Give the new tables the names of the old ones. Drop the old tables unless
 * spread->keep is true. The caller has locked all these tables, and the table
 * "jobs", in AccessExclusiveLock mode.
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
