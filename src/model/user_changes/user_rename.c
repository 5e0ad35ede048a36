/*
 * user_rename.c
 *		Renaming a user: giving the user's items the new name.
 *
 * edit_user() queues a job and writes the user's new name (user_item.c). Items
 * that are written after its commit get the new name, but a transaction in
 * progress may have read the old one. The worker therefore sweeps the user's
 * items until none has the old name; user_items_sweep.c describes the phases.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/* How many items one transaction relabels. */
#define RENAME_CHUNK 1000

/*
 * Return the user's name as the active snapshot shows it, or 0 if the user
 * does not exist.
 */
static Datum
get_username(const pg_uuid_t *user_id)
{
	BlogItem	user;

	return user_find(user_id, &user) ? user.value[PROP_USERNAME] : (Datum) 0;
}

static bool
relabel_leaf(const SweepWork *work, ItemType type, int partition,
			 ItemWalk *walk)
{
	return relabel_items(work->user_id, work->username, type, partition, walk);
}

/* Relabel a chunk of items. Returns false once the pass is complete. */
static bool
rename_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {.leaf = relabel_leaf, .chunk = RENAME_CHUNK};

	if (job->has_user)
	{
		work.user_id = &job->user_id;
		work.username = get_username(&job->user_id);
		if (work.username == (Datum) 0)
			return false;		/* deleted since; the deletion has a job of its
								 * own */
	}
	return sweep_go_on(job, sweep, &work);
}

/*
 * Do one step of a rename. This transaction has locked the job. Returns false
 * if other transactions have to end first.
 */
bool
rename_step(Job *job)
{
	SweepOutcome outcome;

	/*
	 * The sweep writes the user's current name, so it also does the work of
	 * later renames of this user that have not begun.
	 */
	if (job->has_user && !sweep_has_begun(job))
		job_merge_renames(job);
	outcome = sweep_step(job, rename_chunk);
	if (outcome == SWEEP_IS_OVER)
	{
		job_finish(job);
		sweep_end(sweep_find(job));
	}
	return outcome != SWEEP_HAS_TO_WAIT;
}
