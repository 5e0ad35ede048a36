/*
 * upgrade_lock.c
 *		Locking what is to be altered, so that others wait a tenth of a second for it at
 *		most.
 *
 * Writers hold a table to the end of their transactions, so a lock that keeps them out can
 * take long to come, and all who come later queue behind whoever waits for it. Therefore
 * it is taken when it is free, or waited for a moment, and tried again after a while in which
 * the others go on.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "settings.h"
#include "upgrade/upgrade.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* How long to wait for a lock, in ms. */
#define LOCK_WAIT "100"

/* How often to look whether a leaf is free, and how long to wait in between, in us. */
#define LOOKS 100
#define MOMENT 10000

/* How often to wait for it then, and how many moments that takes with the pause after. */
#define WAITS 5
#define MOMENTS_OF_WAIT 20

/*
 * Do some work in a subtransaction in which each lock is waited for a moment; false,
 * nothing done: others were in the way.
 */
bool
try_for_a_moment(void (*work) (void *arg), void *arg)
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
		work(arg);
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

/* A lock on a leaf that is to be waited for. */
typedef struct WantedLock
{
	Oid			relid;
	LOCKMODE	mode;
} WantedLock;

static void
wait_for_lock(void *arg)
{
	const WantedLock *wanted = arg;

	LockRelationOid(wanted->relid, wanted->mode);
}

/* Spend so much of the patience that there is in all; false: there is none left. */
static bool
be_patient(int *patience, int moments)
{
	CHECK_FOR_INTERRUPTS();
	*patience -= Min(*patience, moments);
	return *patience > 0;
}

/*
 * Lock a leaf in a mode that keeps others out, to the end of the transaction: if it is
 * free at any moment of a while, else by waiting in the queue for a moment now and then.
 * False: it was in use all the time.
 */
bool
leaf_lock_alone(Oid relid, LOCKMODE mode, int *patience)
{
	WantedLock	wanted = {relid, mode};

	/* who has it locked, to build an index, may wait for all that have a snapshot */
	InvalidateCatalogSnapshot();
	for (int i = 0; i < LOOKS; i++)
	{
		if (ConditionalLockRelationOid(relid, mode))
			return true;
		if (!be_patient(patience, 1))
			return false;
		pg_usleep(MOMENT);
	}
	for (int i = 0; i < WAITS; i++)
	{
		if (try_for_a_moment(wait_for_lock, &wanted))
			return true;
		if (!be_patient(patience, MOMENTS_OF_WAIT))
			return false;
		pg_usleep(MOMENT * MOMENTS_OF_WAIT / 2);
	}
	return false;
}
