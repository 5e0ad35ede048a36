/*
 * user_rename.c
 *		Renaming a user: writing the new name on the user's items.
 *
 * edit_user() writes the user's new name to the user item and queues a job
 * (user_item.c). Items that are written after its commit get the new name. A
 * transaction that is in progress at that time may have read the old name, and
 * commit an item with it later. The worker therefore goes over the user's
 * items until none has the old name. user_items_sweep.c describes the phases.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/* How many items get the new name in one transaction. */
#define RENAME_CHUNK 1000

/*
 * Return the user's name in the active snapshot, or 0 if the user does not
 * exist.
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

/*
 * SweepChunk callback: write the new name on up to RENAME_CHUNK items. Returns
 * false when all items have been visited.
 */
static bool
rename_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {.leaf = relabel_leaf, .chunk = RENAME_CHUNK};

	if (job->has_user)
	{
		work.user_id = &job->user_id;
		work.username = get_username(&job->user_id);
		if (work.username == (Datum) 0)
			return false;		/* The user has been deleted since. Another job
								 * deletes the items. */
	}
	return sweep_go_on(job, sweep, &work);
}

/*
 * Do one step of a rename, in a transaction that has locked the job. Returns
 * false if other transactions have to end first.
 */
bool
rename_step(Job *job)
{
	SweepOutcome outcome;

	/*
	 * Delete other rename jobs of this user that have not begun. This job
	 * writes the user's newest name, so it does their work too.
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
