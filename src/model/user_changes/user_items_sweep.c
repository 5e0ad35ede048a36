/*
 * user_items_sweep.c
 *		Sweeping over the items of users for a job, including items that
 *		concurrent transactions are writing.
 *
 * A transaction can read a user's name before a rename commits, and commit an
 * item with the old name later. A transaction can also commit an item of a
 * user who has been deleted meanwhile. Each such transaction holds a lock on
 * the leaf that it writes to, and took this lock before it read the user's
 * item (need_user()). The worker therefore makes one pass over all leaves,
 * waits, and makes another pass:
 *
 *	1. Note which transactions hold locks on the leaves.
 *	2. Change the items.
 *	3. Wait for the noted transactions to end.
 *	4. Change the items that have appeared since.
 *
 * Three kinds of jobs sweep: a rename, a deletion, and an arrival. An arrival
 * (JOB_ARRIVAL) changes the items of all users in a partition that has moved
 * to this node of a cluster. Each step of a sweep is a transaction that holds
 * a lock on the job's row. The column phase of this row tells what the worker
 * does next:
 *
 *	phase	 what the worker does	what it waits for		next phase
 *	-------	 ---------------------	----------------------	-------------------
 *	QUEUED	 for an arrival:		the end of older jobs	FIRST
 *			 inserts the topics
 *			 of the posts;
 *			 else nothing
 *	FIRST	 changes the items,		nothing; it skips		WAIT if it has
 *			 leaf by leaf			locked items			skipped items or
 *															noted transactions.
 *															Otherwise a rename
 *															is done; a deletion
 *															or an arrival
 *															enters VIEWS
 *	WAIT	 nothing				the end of the noted	RECHECK
 *									transactions, and a
 *									pause if items were
 *									skipped
 *	RECHECK	 changes the items,		locked items, if the	as after FIRST
 *			 leaf by leaf, from		last pause was long
 *			 the first leaf on		(PATIENT_PAUSE); else
 *									nothing
 *	VIEWS	 for an arrival: makes	for a deletion: the		none; the job is
 *			 the copies of the		removal of the copies	done
 *			 posts in the views		from the views
 *	PARKED	 nothing				a pause, after a step	FIRST
 *									failed (job_steps.c)
 *
 * The job's row has the phase and the current leaf, which survive a crash. The
 * lists of noted transactions and of skipped items are lost. The new worker
 * process therefore notes all transactions that are writing now, and assumes
 * that items were skipped (sweep_resume()). A sweep in phase FIRST then
 * continues; a sweep in a later phase goes back to WAIT.
 *
 * If no worker is running, the job waits until one starts. Runs in the worker.
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

/*
 * How long the worker pauses after a pass that has skipped locked items, in
 * ms. After each such pass the pause doubles, from FIRST_PAUSE to LAST_PAUSE.
 */
#define FIRST_PAUSE 50
#define LAST_PAUSE 5000

/*
 * After a pause of at least this length (in ms), a step changes only one item,
 * and waits if the item is locked. Otherwise a post that is locked in every
 * pass, because many users like it, would never change.
 */
#define PATIENT_PAUSE 400

static List *sweeps = NIL;		/* list of Sweep; in TopMemoryContext */

/*
 * Return the Sweep of a job, or NULL if this process has not begun or resumed
 * a sweep for the job.
 */
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

void
sweep_end(Sweep *sweep)
{
	sweeps = list_delete_ptr(sweeps, sweep);
	if (sweep->writers != NULL)
		pfree(sweep->writers);
	pfree(sweep);
}

/*
 * Return whether a transaction is a VACUUM or builds an index concurrently.
 * Such a transaction holds a lock that conflicts with ShareLock, as a writer
 * of items does, but writes no items.
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

/*
 * Add to sweep->writers the transactions that hold a lock for writing to the
 * given leaf.
 */
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

/*
 * Return, without waiting, whether all transactions in sweep->writers have
 * ended. Removes from the array some or all transactions that have ended.
 */
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
 * Begin the sweep of a job, or begin it again: note all transactions that may
 * be writing posts, comments, likes or follows. The Sweep is added to the list
 * "sweeps" last, so an error leaves no incomplete Sweep in the list.
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
	for (WalkedItems items = 0; items < WALK_FOLLOWERS; items++)
	{
		const WalkedKind *kind = &walked_kinds[items];

		for (int p = partition_first(kind->container, kind->type);
			 p != NO_PARTITION;
			 p = partition_after(kind->container, kind->type, p))
			note_writers_of(sweep, kind->container, kind->type, p);
	}
	/*
	 * A job for a partition that was moved to this node (JOB_ARRIVAL) writes
	 * the name of each item's author on the item. The author may not exist
	 * yet. So note also the transactions that may be writing users, because
	 * one of them may insert the author.
	 */
	if (job->kind == JOB_ARRIVAL)
		note_writers_of(sweep, CONTAINER_USERS, ITEM_USER,
						partition_first(CONTAINER_USERS, ITEM_USER));

	old = MemoryContextSwitchTo(TopMemoryContext);
	sweeps = lappend(sweeps, sweep);
	MemoryContextSwitchTo(old);
	return sweep;
}

/*
 * Return whether the sweep must still wait for transactions that it has noted
 * (sweep->writers).
 */
bool
sweep_has_writers(const Sweep *sweep)
{
	return sweep->n > 0;
}

/*
 * A pass of a sweep visits the leaves of one kind of items after another. The
 * job's row stores the current leaf as one integer, job->partition. Its low
 * bits are the partition's number, and the bits above are the WalkedItems.
 */
#define LEAF_KIND_SHIFT 28
#define LEAF_PARTITION_MASK ((1 << LEAF_KIND_SHIFT) - 1)

/*
 * Find the leaf at which the pass continues: the leaf in the job's row or, if
 * that leaf no longer exists, the next leaf. Returns false at the end of the
 * pass.
 */
static bool
sweep_leaf(Job *job, const SweepWork *work, WalkedItems *items,
		   int *partition)
{
	int			from = job->partition & LEAF_PARTITION_MASK;

	*items = job->partition >> LEAF_KIND_SHIFT;
	for (; *items < N_WALKED_ITEMS; (*items)++, from = 0)
	{
		const WalkedKind *kind = &walked_kinds[*items];
		int			leaf;

		if (!work->one_partition)
			*partition = partition_from(kind->container, kind->type, from);
		else
			*partition = from <= work->partition ? work->partition : NO_PARTITION;
		if (*partition == NO_PARTITION)
			continue;
		leaf = (*items << LEAF_KIND_SHIFT) | *partition;
		job->place.valid &= leaf == job->partition;
		job->partition = leaf;
		return true;
	}
	return false;
}

/*
 * Do one step of a pass: change up to work->chunk items that the active
 * snapshot shows. Returns false once the last leaf has been visited.
 *
 * Further items can come only from the transactions in sweep->writers, which
 * were noted before the snapshot was taken.
 */
bool
sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work)
{
	ItemWalk	walk;
	WalkedItems items;
	int			partition;
	bool		more = sweep_leaf(job, work, &items, &partition);

	if (sweep->pause >= PATIENT_PAUSE)
		item_walk_init(&walk, 1, LockWaitBlock);
	else
		item_walk_init(&walk, work->chunk, LockWaitSkip);
	walk.place = job->place;
	walk.nobodys_too = work->nobodys_too;
	while (more)
	{
		if (!work->leaf(work, items, partition, &walk))
			break;
		walk.place.valid = false;
		job->partition++;
		more = sweep_leaf(job, work, &items, &partition);
	}
	job->place = walk.place;
	job->done += walk.changed;
	sweep->skipped |= walk.skipped;
	return more;
}

/*
 * Set sweep->again, the time at which the next pass may begin. If the pass
 * that has ended has skipped locked items, the next pass begins after a pause.
 */
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

static bool
sweep_may_recheck(Sweep *sweep)
{
	return clock_reached(sweep->again, GetCurrentTimestamp(), LAST_PAUSE) &&
		writers_ended(sweep);
}

/*
 * Return whether the worker has begun the sweep of a job. In phase PARKED,
 * after an error, the result is false, because the sweep will begin again.
 */
bool
sweep_has_begun(const Job *job)
{
	return job->phase != SWEEP_QUEUED && job->phase != SWEEP_PARKED;
}

/*
 * Resume a sweep that an earlier worker process has begun. A sweep in phase
 * FIRST continues; a sweep in a later phase goes back to WAIT. Assume that the
 * earlier process has skipped locked items.
 */
static Sweep *
sweep_resume(Job *job)
{
	Sweep	   *sweep = sweep_begin(job);

	sweep->skipped = true;
	if (job->phase != SWEEP_FIRST)
		job_enter_phase(job, SWEEP_WAIT);
	return sweep;
}

/*
 * Return whether sweep_step() can do something for a job now. The result is
 * false while the sweep pauses, or waits for the transactions in
 * sweep->writers.
 */
bool
sweep_ready(const Job *job)
{
	Sweep	   *sweep = sweep_find(job);

	return sweep == NULL || job->phase != SWEEP_WAIT || sweep_may_recheck(sweep);
}

/*
 * Do one step of a job's sweep, in any phase before VIEWS. The transaction has
 * locked the job's row. After the last pass, the result is SWEEP_IS_OVER. The
 * caller then finishes the job and calls sweep_end(), at once or after the
 * phase VIEWS.
 *
 * chunk: a callback that changes a limited number of items.
 */
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
 * Called after an error has rolled back a step of a sweep. Assume that the
 * step has skipped locked items. Reset the pause, so that the next step does
 * not wait for locked items (PATIENT_PAUSE).
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
