/*
 * user_deletion.c
 *		Deleting a user's items, and creating a user again while an earlier
 *		user with the same id is being deleted.
 *
 * delete_user() deletes some of the user's items, queues a job for the rest,
 * and deletes the user's own item. After the commit, no request shows items of
 * the user as long as the job exists (users_being_deleted.c).
 *
 * A concurrent transaction that has read the user's item can still commit a
 * post, comment or like of the user. The worker therefore sweeps over the
 * user's items until no such transaction is left (user_items_sweep.c). The job
 * ends when the views contain no copies of the user's posts.
 *
 * A new user with the same id can be created while the job exists.
 * deletion_revive() then deletes the remaining items, and turns the job into a
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
 * How many items delete_user() itself deletes, and how many items the worker
 * deletes in one step of the job.
 */
#define DELETED_AT_ONCE 200
#define DELETION_CHUNK 200

/*
 * Begin the deletion of a user: delete some of the user's items, and queue the
 * job that deletes the rest. The caller has locked the row of the user's item
 * FOR UPDATE. Errors: 55000.
 */
void
deletion_begin(const pg_uuid_t *user_id)
{
	/*
	 * Under REPEATABLE READ and SERIALIZABLE, locking an item that was changed
	 * after the snapshot would fail (40001), so leave all items to the worker.
	 */
	if (!IsolationUsesXactSnapshot())
		delete_user_items(user_id, DELETED_AT_ONCE);
	job_queue(JOB_DELETION, user_id);
	deleted_changed();
}

/*
 * Delete all items that an earlier user with this id has left, and the copies
 * of the earlier user's posts in the views. Called when a new user with the id
 * is created, because requests would show these items as the new user's. The
 * caller has inserted the new user's item, and acts as the containers' owner.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if an item was changed
 * after the snapshot. Locks: the rows of the items; the lock on the views
 * (views_lock()), so that the worker cannot write the copies again with an
 * older snapshot.
 */
void
deletion_of_leftovers(const pg_uuid_t *user_id)
{
	delete_user_items(user_id, 0);
	views_lock();
	delete_user_copies(user_id);
}

/*
 * Called when a new user has been inserted. If an earlier user with this id is
 * being deleted, delete the earlier user's remaining items, and turn the job
 * into a rename. Other transactions may still commit items of the earlier
 * user. The rename writes the new user's name on these items.
 *
 * The caller acts as the containers' owner. No other deletion of a user with
 * this id can begin before the new user's item is committed. Errors: 40001
 * under REPEATABLE READ and SERIALIZABLE if the job was changed after the
 * snapshot. Locks: the rows of the job and of the remaining items; the views
 * (views_lock()).
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
		return;					/* The worker has finished the job, or another
								 * transaction has turned it into a rename. */
	deletion_of_leftovers(user_id);
	job_make_rename(user_id);
	CommandCounterIncrement();
	deleted_changed();
}

static bool
delete_leaf(const SweepWork *work, WalkedItems items, int partition,
			ItemWalk *walk)
{
	return delete_items(work->user_id, items, partition, walk);
}

/*
 * SweepChunk callback: delete up to DELETION_CHUNK items of the job's user.
 * Returns false when the last leaf has been visited.
 */
static bool
deletion_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {
		.leaf = delete_leaf, .user_id = &job->user_id, .chunk = DELETION_CHUNK
	};

	return sweep_go_on(job, sweep, &work);
}

/*
 * Return whether the views show the deletion, and so contain no copies of the
 * deleted posts. The job must not end earlier, because requests leave out
 * these copies only while the job exists.
 *
 * shown: the WAL position up to which the worker has applied all committed
 *		changes to the views.
 */
static bool
is_shown(Sweep *sweep, XLogRecPtr shown)
{
	if (sweep->committed == InvalidXLogRecPtr)
	{
		/*
		 * The last transaction of this process was the step that deleted the
		 * last items.
		 */
		sweep->committed = XactLastCommitEnd;
		/*
		 * Flush the WAL, because the commits of this process are asynchronous.
		 * The worker applies only flushed WAL to the views.
		 */
		XLogFlush(sweep->committed);
	}
	return shown >= sweep->committed;
}

/*
 * Return whether deletion_step() can do something for a job now.
 *
 * shown: the WAL position up to which the worker has applied all committed
 *		changes to the views.
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
 * Do one step of a job that deletes a user's items. The transaction has locked
 * the job's row, and deletion_ready() has returned true. Returns false if the
 * sweep has to wait for other transactions.
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
