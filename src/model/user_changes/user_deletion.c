/*
 * user_deletion.c
 *		The protocol of a user's deletion: from delete_user() to the last item, and
 *		what becomes of it when a user with this id is created anew.
 *
 * delete_user() deletes a first part of the user's items, queues a job and deletes
 * the user (deletion_begin()). From its commit on, as long as the job is there,
 * all of the user's items are hidden (users_being_deleted.c). A transaction that was under
 * way may have read the user before, and commit an item later. The worker does the job by a
 * sweep over the user's items; user_items_sweep.c has the phases. It keeps the job until the
 * views show that the items are gone.
 *
 * If a user is created with this id meanwhile, deletion_revive() makes the job a rename.
 *
 * deletion_begin() and deletion_revive() run in backends, all else in the worker.
 */
#include "postgres.h"

#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

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

	if (sweep != NULL && job->phase == SWEEP_VIEWS)
		return is_shown(sweep, shown);
	return sweep_ready(job);
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
	SweepOutcome outcome;

	if (sweep != NULL && job->phase == SWEEP_VIEWS)
	{
		job_finish(job);
		deleted_changed();
		sweep_end(sweep);
		return true;
	}
	outcome = sweep_step(job, deletion_chunk);
	if (outcome == SWEEP_IS_OVER)
		job_enter_phase(job, SWEEP_VIEWS);
	return outcome != SWEEP_HAS_TO_WAIT;
}
