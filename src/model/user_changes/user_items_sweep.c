/*
 * user_items_sweep.c
 *		Going over a user's items after a rename or a deletion, until none is left
 *		that was written beside it.
 *
 * A transaction that was under way when the user was renamed (deleted) may
 * have read the old name (the user), and commits an item with it later. Such
 * a transaction holds a lock on the leaf that it writes to, taken before it
 * read the user (need_user()). So the worker notes which transactions hold such locks, sweeps,
 * waits for those noted to end, and sweeps again.
 *
 * The worker does the job in steps, each a transaction that holds a lock on the job's row:
 *
 *	phase	 what is done in it		what it waits for		what follows
 *	-------	 ---------------------	----------------------	-------------------------
 *	QUEUED	 nothing yet			its turn				FIRST
 *	FIRST	 items are changed,		nothing: locked items	WAIT, if others write or
 *			 leaf by leaf			are skipped				had items locked; else the
 *															end, or VIEWS
 *	WAIT	 nothing				the transactions noted,	RECHECK
 *									and a pause for what
 *									was locked
 *	RECHECK	 the same as in FIRST,	locks on items, at		as after FIRST
 *			 from the first leaf	last
 *	VIEWS	 of a deletion nothing,	of a deletion the		the end
 *			 of an arrival copies	views, until they show
 *									that the items are gone
 *	PARKED	 nothing				a pause, after a step	FIRST
 *									has failed (job_steps.c)
 *
 * A crash leaves the row as the last step saved it. The new worker does not know
 * which transactions the old one waited for, nor what it had skipped: sweep_resume() has the
 * job go on with its first pass where that was, or else wait again, for the transactions that
 * write by then, which are never too few. An error rolls the step back, and it is tried again.
 *
 * Where no worker can run the job waits until one can.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* How long to leave locked items alone: twice as long each time, in ms. */
#define FIRST_PAUSE 50
#define LAST_PAUSE 5000

/*
 * After so long a pause, wait for a lock, one item at a time: a post that many
 * like all the time is never found free.
 */
#define PATIENT_PAUSE 400

static List *sweeps = NIL;		/* of Sweep, in TopMemoryContext */

/* What is known of a job's sweep; NULL: nothing, in this process. */
Sweep *
sweep_find(const Job *job)
{
	ListCell   *lc;

	foreach(lc, sweeps)
	{
		Sweep	   *sweep = lfirst(lc);

		if (memcmp(&sweep->job, &job->id, UUID_LEN) == 0)
			return sweep;
	}
	return NULL;
}

/* A job's sweep is over. */
void
sweep_end(Sweep *sweep)
{
	sweeps = list_delete_ptr(sweeps, sweep);
	if (sweep->writers != NULL)
		pfree(sweep->writers);
	pfree(sweep);
}

/* ------------------------------------------------------------------------
 * Who else writes
 * ------------------------------------------------------------------------ */

/*
 * Does a process hold its lock to vacuum, or to build an index without one? It
 * writes no items then.
 */
static bool
only_maintains(VirtualTransactionId holder)
{
	PGPROC	   *proc = compat_vxid_proc(holder);

	return proc != NULL &&
		(proc->statusFlags &
		 (PROC_IS_AUTOVACUUM | PROC_IN_VACUUM | PROC_IN_SAFE_IC)) != 0;
}

static void
add_writer(Sweep *sweep, VirtualTransactionId writer)
{
	if (only_maintains(writer))
		return;
	for (int i = 0; i < sweep->n; i++)
		if (VirtualTransactionIdEquals(sweep->writers[i], writer))
			return;
	if (sweep->writers == NULL)
		sweep->writers = palloc(sizeof(VirtualTransactionId));
	else
		sweep->writers = repalloc(sweep->writers,
							  sizeof(VirtualTransactionId) * (sweep->n + 1));
	sweep->writers[sweep->n++] = writer;
}

/* Note every transaction that writes to a leaf. */
static void
note_writers_of(Sweep *sweep, Container container, ItemType type, int partition)
{
	VirtualTransactionId *holders =
		partition_writers(container, type, partition);
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	for (int i = 0; VirtualTransactionIdIsValid(holders[i]); i++)
		add_writer(sweep, holders[i]);
	MemoryContextSwitchTo(old);
}

/* Has everyone noted ended? */
static bool
writers_ended(Sweep *sweep)
{
	while (sweep->n > 0)
	{
		if (!VirtualXactLock(sweep->writers[sweep->n - 1], false))
			return false;
		sweep->n--;
	}
	return true;
}

/*
 * Begin a job's sweep, or begin it anew: note every transaction that writes to the
 * posts container. The note counts once it is whole: an error on the way leaves
 * none.
 */
static Sweep *
sweep_begin(const Job *job)
{
	MemoryContext old;
	Sweep	   *sweep = sweep_find(job);

	if (sweep != NULL)
		sweep_end(sweep);
	sweep = MemoryContextAllocZero(TopMemoryContext, sizeof(Sweep));
	sweep->job = job->id;
	for (ItemType type = ITEM_POST; type <= ITEM_LIKE; type++)
		for (int p = partition_first(CONTAINER_POSTS, type); p != NO_PARTITION;
			 p = partition_after(CONTAINER_POSTS, type, p))
			note_writers_of(sweep, CONTAINER_POSTS, type, p);
	/* an item's author may be there as soon as they have ended */
	if (job->kind == JOB_ARRIVAL)
		note_writers_of(sweep, CONTAINER_USERS, ITEM_USER,
						partition_first(CONTAINER_USERS, ITEM_USER));

	old = MemoryContextSwitchTo(TopMemoryContext);
	sweeps = lappend(sweeps, sweep);
	MemoryContextSwitchTo(old);
	return sweep;
}

/* Are there any who were noted, and have not been seen to end? */
bool
sweep_has_writers(const Sweep *sweep)
{
	return sweep->n > 0;
}

/* ------------------------------------------------------------------------
 * A pass over all leaves
 * ------------------------------------------------------------------------ */

/*
 * Leaves of posts are swept type by type. The job's row has one number for how far
 * a sweep has come: the partition, and above it the type.
 */
#define LEAF_TYPE_SHIFT 29
#define LEAF_PARTITION_MASK ((1 << LEAF_TYPE_SHIFT) - 1)

/*
 * The leaf that a sweep has come to, the next one if there is none of its number;
 * false: it has been through all.
 */
static bool
sweep_leaf(Job *job, const SweepWork *work, ItemType *type, int *partition)
{
	int			from = job->partition & LEAF_PARTITION_MASK;

	*type = ITEM_POST + (job->partition >> LEAF_TYPE_SHIFT);
	for (; *type <= ITEM_LIKE; (*type)++, from = 0)
	{
		int			leaf;

		if (work->one_partition)
			*partition = from <= work->partition ? work->partition : NO_PARTITION;
		else
			*partition = partition_from(CONTAINER_POSTS, *type, from);
		if (*partition == NO_PARTITION)
			continue;
		leaf = ((*type - ITEM_POST) << LEAF_TYPE_SHIFT) | *partition;
		job->place.valid &= leaf == job->partition;
		job->partition = leaf;
		return true;
	}
	return false;
}

/*
 * Sweep a chunk by the active snapshot, which is newer than the look at who else
 * writes. Returns false once all leaves have been swept.
 */
bool
sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work)
{
	ItemWalk	walk;
	ItemType	type;
	int			partition;
	bool		more = sweep_leaf(job, work, &type, &partition);

	if (sweep->pause >= PATIENT_PAUSE)
		item_walk_init(&walk, 1, LockWaitBlock);
	else
		item_walk_init(&walk, work->chunk, LockWaitSkip);
	walk.place = job->place;
	walk.nobodys_too = work->nobodys_too;
	while (more)
	{
		if (!work->leaf(work, type, partition, &walk))
			break;
		walk.place.valid = false;
		job->partition++;
		more = sweep_leaf(job, work, &type, &partition);
	}
	job->place = walk.place;
	job->done += walk.changed;
	sweep->skipped |= walk.skipped;
	return more;
}

/* ------------------------------------------------------------------------
 * Between two passes
 * ------------------------------------------------------------------------ */

/* The next pass waits for those noted, and a while for what was locked. */
static void
sweep_put_off(Sweep *sweep)
{
	sweep->again = 0;
	if (sweep->skipped)
	{
		sweep->pause = Min(Max(2 * sweep->pause, FIRST_PAUSE), LAST_PAUSE);
		sweep->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												   sweep->pause);
	}
	sweep->skipped = false;
}

/* May the next pass begin? */
static bool
sweep_may_recheck(Sweep *sweep)
{
	return clock_reached(sweep->again, GetCurrentTimestamp(), LAST_PAUSE) &&
		writers_ended(sweep);
}

/* ------------------------------------------------------------------------
 * From phase to phase
 * ------------------------------------------------------------------------ */

/* Has a job's sweep begun? A job that was parked begins anew. */
bool
sweep_has_begun(const Job *job)
{
	return job->phase != SWEEP_QUEUED && job->phase != SWEEP_PARKED;
}

/* FIRST -> FIRST, others -> WAIT: the worker is a new one. */
static Sweep *
sweep_resume(Job *job)
{
	Sweep	   *sweep = sweep_begin(job);

	sweep->skipped = true;
	if (job->phase != SWEEP_FIRST)
		job_enter_phase(job, SWEEP_WAIT);
	return sweep;
}

/* Is there anything to do for a job now, or has something to happen first? */
bool
sweep_ready(const Job *job)
{
	Sweep	   *sweep = sweep_find(job);

	return sweep == NULL || job->phase != SWEEP_WAIT || sweep_may_recheck(sweep);
}

/* Do one step of a job, which this transaction has locked, but for what follows its sweep. */
SweepOutcome
sweep_step(Job *job, SweepChunk chunk)
{
	Sweep	   *sweep = sweep_find(job);
	bool		more;

	if (!sweep_has_begun(job))
	{
		job_enter_phase(job, SWEEP_FIRST);
		sweep = sweep_begin(job);
	}
	else if (sweep == NULL)
		sweep = sweep_resume(job);
	if (job->phase == SWEEP_WAIT)
	{
		if (!sweep_may_recheck(sweep))
			return SWEEP_HAS_TO_WAIT;
		job_enter_phase(job, SWEEP_RECHECK);
	}

	PushActiveSnapshot(GetTransactionSnapshot());
	more = chunk(job, sweep);
	PopActiveSnapshot();
	if (more)
		return SWEEP_GOES_ON;
	if (sweep->skipped || sweep_has_writers(sweep))
	{
		job_enter_phase(job, SWEEP_WAIT);
		sweep_put_off(sweep);
		return SWEEP_GOES_ON;
	}
	return SWEEP_IS_OVER;
}

/*
 * A chunk of a job was rolled back: what it had skipped is not known any more, and
 * if it had waited for a lock, that was in vain.
 */
void
sweep_failed(const Job *job)
{
	Sweep	   *sweep = sweep_find(job);

	if (sweep == NULL)
		return;
	sweep->skipped = true;
	sweep->pause = 0;
}
