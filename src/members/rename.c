/*
 * rename.c
 *		The protocol of a rename: from edit_user() to the last item that carries
 *		the old name.
 *
 * edit_user() queues a job and writes the user's new name (rename_begin()). From
 * its commit on whoever writes an item of the user writes the new name on it; but
 * somebody may have read the old one before (sweep.c). The worker does the job in
 * steps, each a transaction that holds a lock on the job's row:
 *
 *	phase	 what is done in it		what it waits for		who moves it on
 *	-------	 ---------------------	----------------------	-------------------
 *	QUEUED	 nothing yet			its turn				rename_start()
 *	SWEEP	 the name is written	nothing: locked items	rename_finish(), or
 *			 on the user's items,	are skipped				where others write
 *			 leaf by leaf									or had items locked
 *															rename_wait(), or
 *															where something
 *															cannot be read
 *															rename_park()
 *	WAIT	 nothing				those who wrote when	rename_recheck()
 *									it started, and a
 *									pause for what was
 *									locked
 *	RECHECK	 the same as in SWEEP	locks on items, at		rename_finish(),
 *			 from the first leaf	last					rename_wait() or
 *			 on												rename_park(), as
 *															in SWEEP
 *	PARKED	 nothing				a pause, where an item	rename_start()
 *									could not be read, or
 *									jobs_restart_sweeps()
 *									when a table was
 *									mended or a partition
 *									attached
 *
 * A crash leaves the row as the last step saved it. The new worker does not know
 * whom the old one waited for, nor what it had skipped: rename_resume() has the
 * job go on with its first pass where that was, or else wait again, for those who
 * write by then. An error rolls the step back, and it is tried again.
 *
 * On a cluster a shard that has come to this node is gone through in the same phases, each item for
 * its author's name: an ARRIVAL, which goes on with its copies then (worker/arrivals.c).
 * An item whose author is not there was left by a deletion that this node is done with, and is
 * deleted.
 *
 * Where no worker can run the job waits until one can.
 *
 * rename_begin() runs in backends, all else in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "layout/layout.h"
#include "members/walk.h"

#include "utils/snapmgr.h"

StaticAssertDecl((int) ARRIVAL_SWEEP == RENAME_SWEEP &&
				 (int) ARRIVAL_WAIT == RENAME_WAIT &&
				 (int) ARRIVAL_RECHECK == RENAME_RECHECK,
				 "an arrival begins with the phases of a rename");

/* How many items are relabelled in one transaction. */
#define RENAME_CHUNK 1000

/*
 * Write a user's new name, whom the writer has locked, and have the user's items
 * relabelled. The job comes first; the change feed then knows that the name which
 * follows has one (change_feed/plugin.c). Errors: 55000.
 */
void
rename_begin(ItemWriter *writer, const BlogItem *user)
{
	job_queue(JOB_RENAME, item_uuid(user, PROP_ID));
	PushActiveSnapshot(GetTransactionSnapshot());
	item_writer_update(writer, user);
	PopActiveSnapshot();
}

/* ------------------------------------------------------------------------
 * From phase to phase
 * ------------------------------------------------------------------------ */

/*
 * QUEUED, PARKED -> SWEEP. The name written from here on is the user's present
 * one, so this does what later renames that have not begun have asked for.
 */
static Sweep *
rename_start(Job *job)
{
	Assert(job->phase == RENAME_QUEUED || job->phase == RENAME_PARKED);
	if (job->has_user)
		job_merge_renames(job);
	job_enter_phase(job, RENAME_SWEEP);
	return sweep_begin(job);
}

/* SWEEP -> SWEEP, WAIT, RECHECK -> WAIT: the worker is a new one. */
static Sweep *
rename_resume(Job *job)
{
	Sweep	   *sweep = sweep_begin(job);

	sweep->skipped = true;
	if (job->phase != RENAME_SWEEP)
		job_enter_phase(job, RENAME_WAIT);
	return sweep;
}

/* SWEEP, RECHECK -> WAIT */
static void
rename_wait(Job *job, Sweep *sweep)
{
	Assert(job->phase == RENAME_SWEEP || job->phase == RENAME_RECHECK);
	job_enter_phase(job, RENAME_WAIT);
	sweep_put_off(sweep);
}

/* WAIT -> RECHECK */
static void
rename_recheck(Job *job)
{
	Assert(job->phase == RENAME_WAIT);
	job_enter_phase(job, RENAME_RECHECK);
}

/* SWEEP, RECHECK -> PARKED */
static void
rename_park(Job *job, Sweep *sweep)
{
	Assert(job->phase == RENAME_SWEEP || job->phase == RENAME_RECHECK);
	job_enter_phase(job, RENAME_PARKED);
	sweep_park(sweep, job);
}

/* SWEEP, RECHECK -> the job is gone; of an arrival: its next phase */
static void
rename_finish(Job *job, Sweep *sweep)
{
	Assert(job->phase == RENAME_SWEEP || job->phase == RENAME_RECHECK);
	if (job->kind == JOB_ARRIVAL)
		job_enter_phase(job, ARRIVAL_COPIES);
	else
		job_finish(job);
	sweep_end(sweep);
}

/* ------------------------------------------------------------------------
 * A step
 * ------------------------------------------------------------------------ */

/* The partition that has come as a shard (partition_shard()); NO_PARTITION: it is not here any more. */
int
partition_of_shard(Oid shard)
{
	int			p = partition_first(CONTAINER_POSTS, ITEM_POST);

	while (p != NO_PARTITION &&
		   partition_shard(CONTAINER_POSTS, p) != shard)
		p = partition_after(CONTAINER_POSTS, ITEM_POST, p);
	return p;
}

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

/*
 * Relabel a chunk of a shard that has come; false once this pass is through. Authors who are not
 * there are believed to be gone once those have ended who wrote users before: a user may have
 * been made in a transaction that this node has still to commit.
 */
static bool
arrival_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {
		.leaf = relabel_leaf, .chunk = RENAME_CHUNK, .one_partition = true,
		.partition = partition_of_shard(job->shard),
		.nobodys_too = !sweep_has_writers(sweep)
	};

	if (work.partition == NO_PARTITION)
		return false;			/* it has gone on */
	return sweep_go_on(job, sweep, &work);
}

/* Relabel a chunk; false once this pass is through. */
static bool
rename_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {.leaf = relabel_leaf, .chunk = RENAME_CHUNK};
	uint64		left_out = left_out_count();

	if (job->kind == JOB_ARRIVAL)
		return arrival_chunk(job, sweep);

	if (job->has_user)
	{
		work.user_id = &job->user_id;
		work.username = get_username(&job->user_id);
		if (work.username == (Datum) 0)
		{
			/* deleted since, which is a job of its own; or not to be read now */
			sweep->left_out |= left_out_count() != left_out ||
				!container_whole(CONTAINER_USERS);
			return false;
		}
	}
	return sweep_go_on(job, sweep, &work);
}

/* Is there anything to do for a rename now, or has something to happen first? */
bool
rename_ready(const Job *job)
{
	Sweep	   *sweep = sweep_find(job);

	if (sweep == NULL)
		return true;
	switch (job->phase)
	{
		case RENAME_WAIT:
			return sweep_may_recheck(sweep);
		case RENAME_PARKED:
			return sweep_may_restart(sweep);
		default:
			return true;
	}
}

/*
 * Do one step of a rename, which this transaction has locked. Returns false if
 * there is nothing to do before some other transaction has ended.
 */
bool
rename_step(Job *job)
{
	Sweep	   *sweep = sweep_find(job);
	bool		more;

	if (job->phase == RENAME_QUEUED || job->phase == RENAME_PARKED)
		sweep = rename_start(job);
	else if (sweep == NULL)
		sweep = rename_resume(job);
	if (job->phase == RENAME_WAIT && !sweep_may_recheck(sweep))
		return false;
	if (job->phase == RENAME_WAIT)
		rename_recheck(job);

	PushActiveSnapshot(GetTransactionSnapshot());
	more = rename_chunk(job, sweep);
	PopActiveSnapshot();
	if (more)
		return true;
	if (!sweep_is_clean(sweep))
		rename_wait(job, sweep);
	else if (sweep_left_something(sweep))
		rename_park(job, sweep);
	else
		rename_finish(job, sweep);
	return true;
}
