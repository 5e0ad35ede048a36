/*
 * user_deletion.c
 *		Deleting a user's items, and creating a user again while the items of
 *		an earlier user with the same id are being deleted.
 *
 * delete_user() deletes some of the user's items, queues a job
 * (deletion_begin()), and deletes the user's own item. From the commit of this
 * transaction on, and as long as the job exists, no request shows items of the
 * user (users_being_deleted.c). A concurrent transaction may have read the
 * user's item before, and commit a post, comment or like of the user later.
 * The worker therefore sweeps over the user's items until no such transaction
 * is left. user_items_sweep.c describes the phases. The worker keeps the job
 * until the views no longer contain copies of the user's posts.
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
 * DELETED_AT_ONCE: how many items delete_user() itself deletes.
 * DELETION_CHUNK: how many items the worker deletes in one step of the job.
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
 * is created, because requests would show these items as the new user's.
 *
 * The function takes the lock on the views (views_lock()), so that the worker
 * cannot write the copies again with an older snapshot. The caller has
 * inserted the new user's item, and acts as the containers' owner. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if an item was changed after
 * the snapshot.
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
 * being deleted, delete the earlier user's remaining items now, and turn the
 * job that deletes them into a rename. The rename writes the new user's name
 * on items of the earlier user that other transactions commit later.
 *
 * The caller acts as the containers' owner. While the new user's item is not
 * committed, no other deletion of a user with this id can begin. Errors: 40001
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
delete_leaf(const SweepWork *work, ItemType type, int partition,
			ItemWalk *walk)
{
	return delete_items(work->user_id, type, partition, walk);
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
 * Return whether the worker has removed the copies of the deleted posts from
 * the views. The job must not end earlier, because requests leave out these
 * copies only while the job exists.
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
		 * The transaction that this process committed last is the step that
		 * deleted the last items.
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
 * Return whether deletion_step() can do something for a job now, instead of
 * waiting.
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
 * the job's row, and deletion_ready() has returned true. Returns false if
 * nothing was done, because the sweep has to wait for other transactions.
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
