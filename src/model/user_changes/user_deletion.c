/*
 * user_deletion.c
 *		Deleting a user's items, and creating a user again while they are being
 *		deleted.
 *
 * delete_user() deletes some of the user's items, queues a job, and deletes
 * the user (deletion_begin()). From its commit on, and as long as the job
 * exists, all items of the user are hidden (users_being_deleted.c). A
 * concurrent transaction may have read the user before, and commit an item
 * later. The worker therefore sweeps the user's items until none is left;
 * user_items_sweep.c describes the phases. It keeps the job until the views no
 * longer show the items.
 *
 * If a user with the same id is created before the job is done,
 * deletion_revive() deletes the remaining items and turns the job into a
 * rename.
 *
 * deletion_begin(), deletion_revive() and deletion_of_leftovers() run in
 * backends, the rest in the worker.
 */
#include "postgres.h"

#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/snapmgr.h"

/*
 * How many items delete_user() deletes itself, and how many one step of the
 * job.
 */
#define DELETED_AT_ONCE 200
#define DELETION_CHUNK 200

/*
 * Begin the deletion of a user whom the caller has locked: delete a first part
 * of the user's items, and queue a job for the rest. Errors: 55000.
 */
void
deletion_begin(const pg_uuid_t *user_id)
{
	/*
	 * under these levels, locking an item that has changed since the snapshot
	 * would fail (40001)
	 */
	if (!IsolationUsesXactSnapshot())
		delete_user_items(user_id, DELETED_AT_ONCE);
	job_queue(JOB_DELETION, user_id);
	deleted_changed();
}

/*
 * Delete all items that an earlier user with this id has left, and their
 * copies in the views, because a new user with the id is being created and the
 * items would no longer be hidden. Takes the lock on the views, which keeps
 * the worker from writing copies again with an older snapshot. The caller
 * fulfils the same conditions as that of deletion_revive(). Errors: 40001
 * under REPEATABLE READ and SERIALIZABLE if an item was changed after the
 * snapshot.
 */
void
deletion_of_leftovers(const pg_uuid_t *user_id)
{
	delete_user_items(user_id, 0);
	views_lock();
	delete_user_copies(user_id);
}

/*
 * If a user with this id is being deleted, delete the remaining items now, and
 * turn the job into a rename, which gives items that are committed later the
 * new user's name.
 *
 * The caller acts as the containers' owner, and has inserted the new user, so
 * that no other deletion can begin. Errors: 40001 under REPEATABLE READ and
 * SERIALIZABLE if the job has changed since the snapshot. Locks: the job's
 * row, the remaining items, and the views.
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
		return;					/* the job is done, or another transaction has
								 * turned it into a rename */
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

/* Delete a chunk of items. Returns false once the pass is complete. */
static bool
deletion_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {
		.leaf = delete_leaf, .user_id = &job->user_id, .chunk = DELETION_CHUNK
	};

	return sweep_go_on(job, sweep, &work);
}

/*
 * Return whether the views no longer show the items. The views show all that
 * was committed before the WAL position shown. Until the job is finished,
 * readers hide the user's copies in the views anyway.
 */
static bool
is_shown(Sweep *sweep, XLogRecPtr shown)
{
	if (sweep->committed == InvalidXLogRecPtr)
	{
		/* the last commit was that of the chunk that found no items left */
		sweep->committed = XactLastCommitEnd;
		/*
		 * this process commits asynchronously, but the views follow only
		 * flushed WAL
		 */
		XLogFlush(sweep->committed);
	}
	return shown >= sweep->committed;
}

/*
 * Return whether deletion_step() has anything to do now. The views show all
 * that was committed before the WAL position shown.
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
 * Do one step of a deletion. This transaction has locked the job, and
 * deletion_ready() was true. Returns false if other transactions have to end
 * first.
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
