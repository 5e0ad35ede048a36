/*
 * user_rename.c
 *		The protocol of a rename: from edit_user() to the last item that carries
 *		the old name.
 *
 * edit_user() queues a job and writes the user's new name (user_item.c). After its commit
 * new items of the user get the new name, but a transaction that was under way may have read
 * the old one. The worker does the job by a sweep over the user's items; user_items_sweep.c has
 * the phases.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "model/user_changes/user_items_walk.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/* How many items are relabelled in one transaction. */
#define RENAME_CHUNK 1000

/* The user's name; 0 if there is no such user. By the active snapshot. */
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

/* Relabel a chunk; false once this pass is through. */
static bool
rename_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {.leaf = relabel_leaf, .chunk = RENAME_CHUNK};

	if (job->has_user)
	{
		work.user_id = &job->user_id;
		work.username = get_username(&job->user_id);
		if (work.username == (Datum) 0)
			return false;		/* deleted since, which is a job of its own */
	}
	return sweep_go_on(job, sweep, &work);
}

/*
 * Do one step of a rename, which this transaction has locked. Returns false if there is nothing
 * to do before some other transaction has ended.
 */
bool
rename_step(Job *job)
{
	SweepOutcome outcome;

	/*
	 * The name written from here on is the user's present one, so this does what later
	 * renames that have not begun have asked for.
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
