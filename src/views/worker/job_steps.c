/*
 * job_steps.c
 *		Doing the jobs of the queue (storage/bookkeeping/job_queue.c), one
 *		chunk at a time. A job is work that continues after the command that
 *		requested it: a rebuild of the views, a rename or deletion of a user,
 *		or, on a cluster, the arrival of a partition from another node.
 *
 * A chunk and the record of its progress are one transaction, so an
 * interrupted job continues where it was. The worker does not update the views
 * while a chunk runs. So a chunk that waits too long for a lock is rolled back
 * and tried again later.
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

/*
 * Number of jobs read from the queue at a time, and number of failed jobs that
 * are remembered.
 */
#define JOBS_AT_ONCE 100
#define MAX_FAILED 1000

/*
 * Pause before a failed job is tried again, in ms: a job of one user, and a
 * job of all users.
 */
#define FAILED_PAUSE 30000
#define FAILED_PAUSE_ALL 600000

/* How long jobs may run before the worker decodes WAL again, in ms. */
#define TIME_FOR_JOBS 10

/*
 * Publish the WAL position before which all writes of jobs lie, or
 * JOB_COMMITTING while a chunk runs. When a process waits for a job to appear
 * in the views and finds that the job has left the queue, it waits until the
 * views show everything up to this position.
 */
static void
announce_commit(uint64 lsn)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL)
		pg_atomic_write_u64(&entry->jobs_lsn, lsn);
	pg_memory_barrier();
}

/* Return the WAL position before which the views show all commits. */
static XLogRecPtr
views_shown(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry ? pg_atomic_read_u64(&entry->shown_lsn) : InvalidXLogRecPtr;
}

/* a rebuild has finished since jobs_request_rebuild() was last called */
static bool rebuilt = false;

/*
 * Return whether a job can continue now. Otherwise it waits for an event, such
 * as the end of transactions that may still write items.
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
 * Return whether the next step of an arrival writes views instead of items.
 * That is so when its items have been swept, that is, all have been brought up
 * to date, or when there is no partition to sweep.
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

/*
 * Do one step of a job that is locked in the queue. Returns false if the job
 * has to wait.
 */
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
			/*
			 * The job was queued when a partition arrived from another node.
			 * There is no cluster any more, so nothing is left to do.
			 */
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
	bool		begun;			/* do_chunk() was called, so the transaction
								 * had begun */
	bool		moved;
} Chunk;

/*
 * Do one chunk of a job, in the current transaction. Locks the job before any
 * item, as all code does that locks both.
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
 * The jobs that have failed, and when to try them again. A new one replaces
 * the oldest.
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

/* Mark a job as parked in the queue, so that the progress view shows it. */
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
 * Called when a rename or deletion has failed, because of a constraint or
 * trigger of the owner, or an item that lacks a value. Marks the job as
 * parked; it is tried again after a pause. Other jobs continue.
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
	 * If this fails, the progress view does not show the job as parked, but
	 * the worker still tries it again after the pause.
	 */
	(void) apply_run(APPLY_STATE, park, &parked, &other);
}

/*
 * Do one chunk of a job. Returns false if the job has to wait or has failed.
 * An error of a job that writes views is thrown instead, because without this
 * job the views cannot be kept up to date.
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
		*job = before;			/* the rollback has undone what the chunk
								 * changed in *job */
		return false;
	}
	if (job->kind == JOB_REBUILD && job->finished)
		rebuilt = true;
	return true;
}

/*
 * Where jobs_step() continues. It reads the queue in pages of JOBS_AT_ONCE
 * jobs, and goes to the next page when no job of this one can continue, so
 * that no job holds up the others.
 */
static int64 page_offset = 0;	/* number of jobs in the queue before the
								 * page */
static int	page_next = 0;		/* index in the page of the job to try next */
static int	page_idle = 0;		/* how many jobs were tried since a job of the
								 * page last made progress */
static bool any_moved = false;	/* some job has made progress since the first
								 * page was begun */

/*
 * Read the current page of the job queue, at most JOBS_AT_ONCE jobs from
 * page_offset on, into an array of *n jobs in the current memory context.
 */
static Job *
list_jobs(int *n)
{
	OwnerScope	scope;
	Job		   *jobs = palloc(sizeof(Job) * JOBS_AT_ONCE);

	apply_begin(&scope, APPLY_STATE);
	*n = jobs_list(page_offset, jobs, JOBS_AT_ONCE);
	apply_end(&scope);
	return jobs;
}

/* Return the result of jobs_step() if no job of the queue can continue. */
static JobProgress
idle_progress(const Job *jobs, int n)
{
	/* the jobs of earlier pages may not all be parked */
	if (page_offset > 0)
		return JOBS_WAITING;
	if (n == 0)
		return JOBS_NONE;
	for (int i = 0; i < n; i++)
		if (!job_is_parked(&jobs[i]))
			return JOBS_WAITING;
	return JOBS_PARKED;
}

/*
 * End the current page, which had n jobs: the next call of jobs_step() reads
 * the next page, or the first one after the end of the queue. idle: result if
 * no job of any page has made progress.
 */
static JobProgress
end_page(int n, JobProgress idle)
{
	JobProgress progress;

	page_idle = 0;
	if (n == JOBS_AT_ONCE)
	{
		page_offset += n;
		return any_moved ? JOBS_MORE : JOBS_SOON;
	}
	page_offset = 0;
	progress = any_moved ? JOBS_MORE : idle;
	any_moved = false;
	return progress;
}

/*
 * Do one chunk of each job of a page in turn, for about TIME_FOR_JOBS ms. The
 * views are not updated meanwhile. Called outside of a transaction; allocates
 * in the current memory context, which the caller resets. Returns when the
 * caller should call it again.
 */
JobProgress
jobs_step(void)
{
	int			n;
	Job		   *jobs = list_jobs(&n);
	JobProgress idle = idle_progress(jobs, n);
	int			first = n > 0 ? page_next % n : 0;
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													TIME_FOR_JOBS);

	for (int i = 0; i < n && page_idle < n; i++)
	{
		Job		   *job = &jobs[(first + i) % n];
		bool		moved = !failed_lately(job) && try_chunk(job);

		page_idle = moved ? 0 : page_idle + 1;
		any_moved |= moved;
		/* a finished job has left the queue, so the next has its index */
		page_next = (first + i + (job->finished ? 0 : 1)) % n;

		/* even a chunk without progress takes time, if it waits for a lock */
		if (GetCurrentTimestamp() < until)
			continue;
		if (moved)
			return JOBS_MORE;
		if (page_idle < n)
			return JOBS_SOON;
	}
	return end_page(n, idle);
}

/*
 * Return whether a rebuild that was requested has not finished yet. If it has
 * vanished from the queue unfinished, for example because the owner deleted
 * the row, queue it again. Called in a transaction, as the containers' owner.
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
 * Queue a rebuild; if one is queued already, make it start over. Called in a
 * transaction, as the containers' owner.
 */
void
jobs_request_rebuild(void)
{
	job_queue_rebuild_anew();
	rebuilt = false;
}
