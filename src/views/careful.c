/*
 * careful.c
 *		Going on with the rest when one item cannot be written.
 *
 * The tables are their owner's: a constraint, trigger or index on them may
 * refuse a copy that the worker writes, now and each time that it tries. After a
 * batch has failed so, the worker is careful for a while: it writes each item in
 * a subtransaction of its own, leaves out and remembers those that fail, and
 * tries these again later. Careful work costs more, so it ends when nothing has
 * failed for a while.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "clock.h"
#include "layout/layout.h"
#include "views/internal.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* When to try again what failed, in ms; how much of it is remembered. */
#define TRY_PAUSE 10000
#define MAX_FAILED 1000

static bool careful = false;
static TimestampTz look_again = 0;	/* when to try again, or stop being careful */
static PostKey failed[MAX_FAILED];
static int	n_failed = 0;
static bool feed_failed = false;
static bool all_failed = false;	/* more than are remembered */

/* Has something failed that is still to be tried again? */
bool
careful_left_any(void)
{
	return n_failed > 0 || feed_failed || all_failed;
}

/* Would an error come again, for what it was about, and not for the rest? */
bool
careful_concerns(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK):
		case ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES):
		case ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR):
		case ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR):
			return false;
		default:
			return sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

/*
 * A transaction of the worker has failed with an error: can careful work get
 * around it? If so, all work is careful from here on.
 */
bool
careful_begin(int sqlerrcode)
{
	if (careful || !careful_concerns(sqlerrcode))
		return false;
	careful = true;
	look_again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), TRY_PAUSE);
	return true;
}

/* Is all work careful at present? */
bool
careful_now(void)
{
	return careful;
}

/*
 * Do something, in a subtransaction if that is called for. Returns false, with
 * nothing done and told why, if it failed.
 */
bool
careful_do(void (*work) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	if (!careful)
	{
		work(arg);
		return true;
	}
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		/*
		 * What careful work has written in this transaction counts: a version
		 * that it has replaced already cannot be locked.
		 */
		PushActiveSnapshot(GetTransactionSnapshot());
		work(arg);
		PopActiveSnapshot();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!careful_concerns(error->sqlerrcode))
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		left_out_tell(error->message);
		FreeErrorData(error);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

/* A copy could not be written. */
void
careful_remember_copy(const PostKey *key)
{
	if (n_failed == MAX_FAILED)
		all_failed = true;
	else
		failed[n_failed++] = *key;
}

/* The feed could not be written. */
void
careful_remember_feed(void)
{
	feed_failed = true;
	nodes_unsure();
}

/*
 * Have what failed tried again, now and then, and when somebody waits for the
 * views. Returns true if all has to be built anew, since not all that failed is
 * remembered.
 */
bool
careful_try_again(DirtySet *dirty)
{
	bool		rebuild = all_failed;

	if (!careful ||
		(!clock_reached(look_again, GetCurrentTimestamp(), TRY_PAUSE) &&
		 !dirty_waited(dirty)))
		return false;
	look_again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), TRY_PAUSE);
	careful = n_failed > 0 || feed_failed || all_failed;
	for (int i = 0; i < n_failed && !rebuild; i++)
		dirty_add_post(dirty, &failed[i]);
	if (feed_failed && !rebuild)
		dirty_add_feed_view(dirty);
	n_failed = 0;
	feed_failed = all_failed = false;
	return rebuild;
}
