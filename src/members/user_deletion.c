/*
 * user_deletion.c
 *		The protocol of a user's deletion: from delete_user() to the last item, and
 *		what becomes of it when a user with this id is created anew.
 *
 * delete_user() deletes a first part of the user's items, queues a job and deletes
 * the user (deletion_begin()). From its commit on, as long as the job is there,
 * all of the user's items are hidden (deleted.c). Somebody may have read the user
 * before, and commit an item later (sweep.c). The worker does the job in steps,
 * each a transaction that holds a lock on the job's row:
 *
 *	phase	 what is done in it		what it waits for		who moves it on
 *	-------	 ---------------------	----------------------	---------------------
 *	QUEUED	 nothing yet			its turn				deletion_start()
 *	SWEEP	 the user's items are	nothing: locked items	deletion_show(), or
 *			 deleted, with what		are skipped				where others write or
 *			 hangs on them, leaf	 						had items locked
 *			 by leaf										deletion_wait(), or
 *															where something
 *															cannot be read
 *															deletion_park()
 *	WAIT	 nothing				those who wrote when	deletion_recheck()
 *									it started, and a
 *									pause for what was
 *									locked
 *	RECHECK	 the same as in SWEEP	locks on items, at		deletion_show(),
 *			 from the first leaf	last					deletion_wait() or
 *			 on												deletion_park(), as
 *															in SWEEP
 *	SHOW	 nothing				the views, until they	deletion_finish()
 *									show that the items
 *									are gone
 *	PARKED	 nothing				a pause, where an item	deletion_start()
 *									could not be read, or
 *									jobs_restart_sweeps()
 *									when a table was
 *									mended or a partition
 *									attached
 *	any		 a user is created		those who hold the		deletion_revive(): the
 *			 with this id			job's row				job becomes a rename
 *
 * A crash leaves the row as the last step saved it. The new worker does not know
 * whom the old one waited for, nor what it had skipped: deletion_resume() has the
 * job go on with its first pass where that was, or else wait again, for those who
 * write by then. An error rolls the step back, and it is tried again.
 *
 * Where no worker can run the job waits until one can, and the items stay hidden.
 *
 * Most phases are those of a rename (rename.c). What both have in common but does
 * not lie in sweep.c stands twice, so that each can be read, and changed, by itself.
 *
 * deletion_begin() and deletion_revive() run in backends, all else in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "layout/layout.h"
#include "members/walk.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/snapmgr.h"

/* How many items delete_user() deletes itself; how many a step does. */
#define DELETED_AT_ONCE 200
#define DELETION_CHUNK 200

/*
 * A user is about to be deleted, whom the caller has locked: delete the user's
 * items, or queue that. Errors: 55000.
 */
void
deletion_begin(const pg_uuid_t *user_id)
{
	/* locking what has changed since would fail (40001) */
	if (!IsolationUsesXactSnapshot())
		delete_user_items(user_id, DELETED_AT_ONCE);
	job_queue(JOB_DELETION, user_id);
	deleted_changed();
}

/*
 * A user is made anew of whom there may be items: delete them, copies too, since
 * they would not be hidden any more. The lock keeps the worker from writing them again
 * by an older snapshot. As deletion_revive().
 */
void
deletion_of_leftovers(const pg_uuid_t *user_id)
{
	container_require_whole(CONTAINER_POSTS);
	delete_user_items(user_id, 0);
	views_lock();
	delete_user_copies(user_id);
}

/*
 * A user is made anew while being deleted: delete what is left now, and have the job
 * go on as one that gives late items of the old user the new name.
 *
 * The caller acts as the containers' owner, and has written the user, so that
 * no other deletion can begin. Errors: 40001 if the transaction keeps a snapshot
 * that does not show the job as it is.
 */
void
deletion_revive(const pg_uuid_t *user_id)
{
	bool		there = job_lock_deletion(user_id);

	if (!there && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent deletion of a user"),
				 errhint("Retry the transaction.")));
	if (!there)
		return;					/* deleted meanwhile, or made anew by another */
	deletion_of_leftovers(user_id);
	job_make_rename(user_id);
	CommandCounterIncrement();
	deleted_changed();
}

/* ------------------------------------------------------------------------
 * From phase to phase
 * ------------------------------------------------------------------------ */

/* QUEUED, PARKED -> SWEEP */
static Sweep *
deletion_start(Job *job)
{
	Assert(job->phase == DELETION_QUEUED || job->phase == DELETION_PARKED);
	job_enter_phase(job, DELETION_SWEEP);
	return sweep_begin(job);
}

/* SWEEP -> SWEEP, WAIT, RECHECK, SHOW -> WAIT: the worker is a new one. */
static Sweep *
deletion_resume(Job *job)
{
	Sweep	   *sweep = sweep_begin(job);

	sweep->skipped = true;
	if (job->phase != DELETION_SWEEP)
		job_enter_phase(job, DELETION_WAIT);
	return sweep;
}

/* SWEEP, RECHECK -> WAIT */
static void
deletion_wait(Job *job, Sweep *sweep)
{
	Assert(job->phase == DELETION_SWEEP || job->phase == DELETION_RECHECK);
	job_enter_phase(job, DELETION_WAIT);
	sweep_put_off(sweep);
}

/* WAIT -> RECHECK */
static void
deletion_recheck(Job *job)
{
	Assert(job->phase == DELETION_WAIT);
	job_enter_phase(job, DELETION_RECHECK);
}

/* SWEEP, RECHECK -> PARKED */
static void
deletion_park(Job *job, Sweep *sweep)
{
	Assert(job->phase == DELETION_SWEEP || job->phase == DELETION_RECHECK);
	job_enter_phase(job, DELETION_PARKED);
	sweep_park(sweep, job);
}

/* SWEEP, RECHECK -> SHOW */
static void
deletion_show(Job *job)
{
	Assert(job->phase == DELETION_SWEEP || job->phase == DELETION_RECHECK);
	job_enter_phase(job, DELETION_SHOW);
}

/* SHOW -> the job is gone */
static void
deletion_finish(Job *job, Sweep *sweep)
{
	Assert(job->phase == DELETION_SHOW);
	job_finish(job);
	deleted_changed();
	sweep_end(sweep);
}

/* ------------------------------------------------------------------------
 * A step
 * ------------------------------------------------------------------------ */

static bool
delete_leaf(const SweepWork *work, ItemType type, int partition,
			ItemWalk *walk)
{
	return delete_items(work->user_id, type, partition, walk);
}

/* Delete a chunk; false once this pass is through. */
static bool
deletion_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {
		.leaf = delete_leaf, .user_id = &job->user_id, .chunk = DELETION_CHUNK
	};

	return sweep_go_on(job, sweep, &work);
}

/*
 * Do the views, which show all that was committed before a place, show that the
 * items are gone? As long as the job is there its user's copies are hidden,
 * whatever the views say.
 */
static bool
is_shown(Sweep *sweep, XLogRecPtr shown)
{
	if (sweep->committed == InvalidXLogRecPtr)
	{
		/* the last one was of the chunk that found nothing left */
		sweep->committed = XactLastCommitEnd;
		/* the worker does not wait for its commits, but reads only flushed WAL */
		XLogFlush(sweep->committed);
	}
	return shown >= sweep->committed;
}

/*
 * Is there anything to do for a deletion now, or has something to happen first?
 * shown: what was committed before here is in the views.
 */
bool
deletion_ready(const Job *job, XLogRecPtr shown)
{
	Sweep	   *sweep = sweep_find(job);

	if (sweep == NULL)
		return true;
	switch (job->phase)
	{
		case DELETION_WAIT:
			return sweep_may_recheck(sweep);
		case DELETION_SHOW:
			return is_shown(sweep, shown);
		case DELETION_PARKED:
			return sweep_may_restart(sweep);
		default:
			return true;
	}
}

/*
 * Do one step of a deletion, which this transaction has locked, and which was
 * ready. Returns false if there is nothing to do before some other transaction
 * has ended.
 */
bool
deletion_step(Job *job)
{
	Sweep	   *sweep = sweep_find(job);
	bool		more;

	if (job->phase == DELETION_QUEUED || job->phase == DELETION_PARKED)
		sweep = deletion_start(job);
	else if (sweep == NULL)
		sweep = deletion_resume(job);
	if (job->phase == DELETION_SHOW)
	{
		deletion_finish(job, sweep);
		return true;
	}
	if (job->phase == DELETION_WAIT && !sweep_may_recheck(sweep))
		return false;
	if (job->phase == DELETION_WAIT)
		deletion_recheck(job);

	PushActiveSnapshot(GetTransactionSnapshot());
	more = deletion_chunk(job, sweep);
	PopActiveSnapshot();
	if (more)
		return true;
	if (!sweep_is_clean(sweep))
		deletion_wait(job, sweep);
	else if (sweep_left_something(sweep))
		deletion_park(job, sweep);
	else
		deletion_show(job);
	return true;
}
