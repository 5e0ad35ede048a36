/*
 * user_rename.c
 *		Renaming a user: writing the new name on the user's items.
 *
 * edit_user() writes the new name to the user's own item, and queues a job
 * (user_item.c). Transactions that begin after the commit write the new name
 * on new items. Transactions that began earlier may have read the old name,
 * and may still write it on new items. The worker therefore sweeps over the
 * user's items until no item has the old name (user_items_sweep.c).
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/* How many items get the new name in one step, which is one transaction. */
#define RENAME_CHUNK 1000

static Datum
get_username(const pg_uuid_t *user_id)
{
	BlogItem	user;

	return user_find(user_id, &user) ? user.value[PROP_USERNAME] : (Datum) 0;
}

static bool
relabel_leaf(const SweepWork *work, WalkedItems items, int partition,
			 ItemWalk *walk)
{
	return relabel_items(work->user_id, work->username, items, partition, walk);
}

/*
 * SweepChunk callback: write the current name of the job's user on up to
 * RENAME_CHUNK items. Returns false when the last leaf has been visited.
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
			return false;		/* The user has been deleted. Another job
								 * deletes the user's items. */
	}
	return sweep_go_on(job, sweep, &work);
}

/*
 * Do one step of a job that renames a user. The transaction has locked the
 * job's row. Returns false if the sweep has to wait for other transactions.
 */
bool
rename_step(Job *job)
{
	SweepOutcome outcome;

	/*
	 * Before this job begins its sweep, delete other jobs that rename the same
	 * user and have not begun. This job does their work, because it writes the
	 * user's newest name.
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
