/*
 * job_steps.c
 *		Running the jobs of the queue (storage/bookkeeping/job_queue.c), one
 *		chunk at a time: rebuilds, renames, deletions, and arrivals of
 *		partitions.
 *
 * A chunk and the record of its progress are one transaction, so a job
 * continues where it was interrupted. The worker does not apply changes to the
 * views while a chunk runs. A chunk that waits too long for a lock is
 * therefore rolled back and tried again later.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "model/user_changes/user_changes.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Jobs read from the queue at a time, and failed jobs remembered. */
#define JOBS_AT_ONCE 100
#define MAX_FAILED 1000

/*
 * Delay before a failed job is retried, in ms: a job of one user, and a job of
 * all users.
 */
#define FAILED_PAUSE 30000
#define FAILED_PAUSE_ALL 600000

/* Time for jobs between two turns' decoding, in ms. */
#define TIME_FOR_JOBS 10

/*
 * Publish where the writes of jobs end, or JOB_COMMITTING while a chunk runs.
 * wait_for_views() finds a job done when its last chunk has committed, and
 * then waits until the views show WAL up to this position.
 */
static void
announce_commit(uint64 lsn)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL)
		pg_atomic_write_u64(&entry->jobs_lsn, lsn);
	pg_memory_barrier();
}

/* Return the position before which the views show all commits. */
static XLogRecPtr
views_shown(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry ? pg_atomic_read_u64(&entry->shown_lsn) : InvalidXLogRecPtr;
}

/* A rebuild has finished since jobs_request_rebuild() was last called. */
static bool rebuilt = false;

/*
 * Return whether a job has something to do now. If not, it waits for an event,
 * such as the end of transactions.
 */
static bool
is_ready(const Job *job)
{
	switch (job->kind)
	{
		case JOB_REBUILD:
			break;
		case JOB_DELETION:
			return deletion_ready(job, views_shown());
		case JOB_RENAME:
		case JOB_ARRIVAL:
			return sweep_ready(job);
	}
	return true;
}

/*
 * Return whether the next step of an arrival writes views, because its items
 * are swept, or it has no partition to sweep.
 */
bool
arrival_writes_views(const Job *job)
{
	return job->phase == SWEEP_VIEWS || !OidIsValid(job->partition_table);
}

/* Return whether the next step of a job writes views instead of items. */
static bool
writes_views(const Job *job)
{
	return job->kind == JOB_REBUILD ||
		(job->kind == JOB_ARRIVAL && arrival_writes_views(job));
}

/* Do one step of a locked job. Returns false if the job has to wait. */
static bool
do_step(Job *job)
{
	const ClusterCalls *cluster = cluster_calls();
	ClusterStep step = cluster != NULL ? cluster->job_step(job) : STEP_NOT_TAKEN;

	if (step != STEP_NOT_TAKEN)
		return step == STEP_DONE;
	switch (job->kind)
	{
		case JOB_REBUILD:
			break;
		case JOB_RENAME:
			return rename_step(job);
		case JOB_DELETION:
			return deletion_step(job);
		case JOB_ARRIVAL:
			/* the arrival was queued on a cluster that no longer exists */
			job_finish(job);
			return true;
	}
	rebuild_chunk(job);
	return true;
}

/* Argument and result of do_chunk(). */
typedef struct Chunk
{
	Job		   *job;
	bool		begun;			/* false if the transaction failed before
								 * do_chunk() */
	bool		moved;
} Chunk;

/*
 * Do one chunk of a job, in the current transaction. The job is locked before
 * any item, as in all code that locks both.
 */
static void
do_chunk(void *arg)
{
	Chunk	   *chunk = arg;
	Job		   *job = chunk->job;

	chunk->begun = true;
	if (!job_lock(job))
		return;
	if (!writes_views(job))
		announce_commit(JOB_COMMITTING);
	chunk->moved = do_step(job);
	if (chunk->moved && !job->finished)
		job_save(job);
}

/*
 * Jobs that failed, and when to retry them. A ring: new ones replace the
 * oldest.
 */
typedef struct FailedJob
{
	pg_uuid_t	id;
	TimestampTz again;
} FailedJob;

static FailedJob failed_jobs[MAX_FAILED];
static int	next_failed = 0;

static bool
failed_lately(const Job *job)
{
	for (int i = 0; i < MAX_FAILED; i++)
		if (memcmp(&failed_jobs[i].id, &job->id, UUID_LEN) == 0 &&
			!clock_reached(failed_jobs[i].again, GetCurrentTimestamp(),
						   FAILED_PAUSE_ALL))
			return true;
	return false;
}

/* Mark a job as parked, for the progress view. */
static void
park(void *arg)
{
	Job		   *job = arg;

	if (!job_lock(job) || job_is_parked(job))
		return;
	job_enter_phase(job, JOB_PARKED);
	job_save(job);
}

/*
 * A rename or deletion has failed, because of a constraint or trigger of the
 * owner, or an item that lacks a value. Park it and retry it after a pause.
 * Other jobs continue.
 */
static void
job_failed(const Job *job, const ErrorData *error)
{
	FailedJob  *failed = &failed_jobs[next_failed];
	int			pause = job->has_user ? FAILED_PAUSE : FAILED_PAUSE_ALL;
	WorkerEntry *entry = my_worker_entry();
	Job			parked = *job;
	ErrorData  *other;

	next_failed = (next_failed + 1) % MAX_FAILED;
	failed->id = job->id;
	failed->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), pause);
	if (entry != NULL)
		worker_entry_error(entry, error->message);
	ereport(LOG,
			(errmsg("blogstore job failed and will be retried in %d s: %s",
					pause / 1000, error->message)));

	/*
	 * If this fails, too, the job is not shown as parked, but is retried after
	 * the pause all the same.
	 */
	(void) apply_run(APPLY_STATE, park, &parked, &other);
}

/*
 * Run one chunk of a job. Returns false if the job has to wait or has failed.
 * An error of a job that writes views is thrown instead, because the views
 * cannot be kept without it.
 */
static bool
try_chunk(Job *job)
{
	bool		views = writes_views(job);
	Job			before = *job;
	Chunk		chunk = {.job = job};
	ErrorData  *error = NULL;
	ApplyResult result;

	if (!is_ready(job))
		return false;
	result = apply_run(views ? APPLY_VIEWS : APPLY_POSTS, do_chunk, &chunk,
					   views ? NULL : &error);
	if (!views)
		announce_commit(XactLastCommitEnd);
	if (result == APPLY_FAILED)
		job_failed(&before, error);
	if (result != APPLY_DONE && chunk.begun)
		sweep_failed(&before);
	if (result != APPLY_DONE || !chunk.moved)
	{
		*job = before;			/* the rollback has undone changes of *job */
		return false;
	}
	if (job->kind == JOB_REBUILD && job->finished)
		rebuilt = true;
	return true;
}

/* Where in the queue to continue, so that no job holds up the others. */
static int64 queue_offset = 0;
static int	queue_next = 0;
static int	queue_seen = 0;		/* jobs tried since one of them made
								 * progress */
static bool queue_moved = false;	/* some job has made progress since offset
									 * 0 */

/*
 * Read the next jobs of the queue into an array in the current memory context.
 */
static Job *
list_jobs(int *n)
{
	OwnerScope	scope;
	Job		   *jobs = palloc(sizeof(Job) * JOBS_AT_ONCE);

	apply_begin(&scope, APPLY_STATE);
	*n = jobs_list(queue_offset, jobs, JOBS_AT_ONCE);
	apply_end(&scope);
	return jobs;
}

/*
 * Run chunks of jobs, one chunk of each in turn, for about TIME_FOR_JOBS ms.
 * Updates of the views wait meanwhile. Called outside of a transaction;
 * allocates in the current memory context, which the caller resets. Returns
 * when to call it again.
 */
JobProgress
jobs_step(void)
{
	int			n;
	Job		   *jobs = list_jobs(&n);
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													TIME_FOR_JOBS);
	int64		offset = queue_offset;
	int			first = n > 0 ? queue_next % n : 0;
	/* if earlier calls saw other jobs, these may not be parked */
	JobProgress progress = offset > 0 || (n > 0 && queue_seen > 0) ?
		JOBS_WAITING : n > 0 ? JOBS_PARKED : JOBS_NONE;

	for (int i = 0; i < n && queue_seen < n; i++)
	{
		Job		   *job = &jobs[(first + i) % n];

		if (progress == JOBS_PARKED && !job_is_parked(job))
			progress = JOBS_WAITING;
		queue_seen++;
		if (failed_lately(job) || !try_chunk(job))
		{
			/*
			 * the chunk may have waited for a lock, and the next one may, too
			 */
			if (GetCurrentTimestamp() < until || queue_seen >= n)
				continue;
			queue_next = (first + i + 1) % n;
			return JOBS_SOON;
		}
		progress = JOBS_MORE;
		queue_moved = true;
		queue_seen = 0;
		queue_next = (first + i + !job->finished) % n;
		if (GetCurrentTimestamp() >= until)
			return JOBS_MORE;
	}

	/* all of these jobs are waiting: continue with the next ones */
	queue_seen = 0;
	queue_offset = n == JOBS_AT_ONCE ? offset + n : 0;
	if (queue_offset > 0)
		return queue_moved ? JOBS_MORE : JOBS_SOON;
	if (queue_moved)
		progress = JOBS_MORE;
	queue_moved = false;
	return progress;
}

/*
 * Return whether a requested rebuild is still to be done. If it has vanished
 * from the queue unfinished, for example because the owner deleted the row,
 * queue it again. Called in a transaction, as the containers' owner.
 */
bool
jobs_rebuild_pending(void)
{
	bool		pending = job_rebuild_is_queued();

	if (!pending && !rebuilt)
		jobs_request_rebuild();
	return !rebuilt || pending;
}

/*
 * Queue a rebuild, or make the queued one start over. Called in a transaction,
 * as the containers' owner.
 */
void
jobs_request_rebuild(void)
{
	job_queue_rebuild_anew();
	rebuilt = false;
}
