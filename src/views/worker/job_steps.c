/*
 * job_steps.c
 *		Does the jobs of the queue (storage/bookkeeping/job_queue.c), one chunk
 *		at a time. Jobs are rebuilds of the views, and renames and deletions of
 *		users. On a cluster, a job of the kind JOB_ARRIVAL works on a partition
 *		that came from another node.
 *
 * A chunk is one transaction, which also records the progress of the job. So
 * an interrupted job continues after its last chunk. The worker does not
 * update the views while a chunk runs. So a chunk that waits too long for a
 * lock is rolled back and tried again later.
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
 * JOBS_AT_ONCE: number of jobs that jobs_step() reads from the queue at once.
 * MAX_FAILED: number of failed jobs that the worker remembers.
 */
#define JOBS_AT_ONCE 100
#define MAX_FAILED 1000

/*
 * Pause before a failed job is tried again, in ms. FAILED_PAUSE_ALL is for a
 * job that writes the names of all users.
 */
#define FAILED_PAUSE 30000
#define FAILED_PAUSE_ALL 600000

/* How long the worker does jobs before it decodes WAL again, in ms. */
#define TIME_FOR_JOBS 10

/*
 * Publish a value of WorkerEntry.jobs_lsn, for processes that wait until the
 * views show finished jobs.
 *
 * lsn: a WAL position after all commits in which the worker has written items
 * for a job; JOB_COMMITTING while such a transaction runs
 */
static void
announce_commit(uint64 lsn)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL)
		pg_atomic_write_u64(&entry->jobs_lsn, lsn);
	pg_memory_barrier();
}

static XLogRecPtr
views_shown(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry ? pg_atomic_read_u64(&entry->shown_lsn) : InvalidXLogRecPtr;
}

/*
 * True if the views were complete when the worker started, or if a rebuild has
 * finished since. False again after jobs_request_rebuild().
 */
static bool rebuilt = false;

/*
 * Return whether a job can continue now. Otherwise the job waits for an event,
 * such as the end of transactions that may still write items.
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
 * Return whether the next step of a job of the kind JOB_ARRIVAL writes views
 * instead of items. If a partition has come from another node, the job inserts
 * the topics of the partition's posts, then updates the items of the
 * partition, and then the other views. If partitions have left this node, the
 * job updates only the views.
 */
bool
arrival_writes_views(const Job *job)
{
	return job->phase == SWEEP_VIEWS || !OidIsValid(job->partition_table) ||
		(job->phase == SWEEP_QUEUED && job->partition == TOPICS_LACKING);
}

static bool
writes_views(const Job *job)
{
	return job->kind == JOB_REBUILD ||
		(job->kind == JOB_ARRIVAL && arrival_writes_views(job));
}

/*
 * Do one step of a job, whose row in the queue is locked. Returns false if the
 * job has to wait.
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
			 * The job was queued on a node of a cluster, but this server is no
			 * longer in a cluster. So nothing is left to do.
			 */
			job_finish(job);
			return true;
	}
	rebuild_chunk(job);
	return true;
}

typedef struct Chunk
{
	Job		   *job;
	bool		begun;			/* whether do_chunk() was called */
	bool		moved;
} Chunk;

/*
 * Do one chunk of a job, in the current transaction. Locks the job's row
 * before any item, as all code does that locks both. So no deadlock is
 * possible.
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

/* A job that has failed, and when it is tried again. */
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

/*
 * Mark a job as parked, for the view blogstore.progress. A parked job has
 * failed, and will be tried again later.
 */
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
 * Called when a job that writes items has failed because of attached code, or
 * of the items. Marks the job as parked, and has it tried
 * again after a pause. Other jobs continue.
 */
static void
job_failed(const Job *job, const ErrorData *error)
{
	static LogRate rate;
	FailedJob  *failed = &failed_jobs[next_failed];
	int			pause = job->kind == JOB_RENAME && !job->has_user ?
		FAILED_PAUSE_ALL : FAILED_PAUSE;
	WorkerEntry *entry = my_worker_entry();
	Job			parked = *job;
	ErrorData  *other;

	Assert(error != NULL);
	next_failed = (next_failed + 1) % MAX_FAILED;
	failed->id = job->id;
	failed->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), pause);
	if (entry != NULL)
		worker_entry_error(entry, ERROR_JOB, error->message, error->hint);
	if (log_rate_allows(&rate))
		ereport(LOG,
				(errmsg("blogstore job failed and will be retried in %d s: %s",
						pause / 1000, error->message),
				 job->has_user ? errdetail("The user is %s.", id_text(&job->user_id)) : 0,
				 apply_error_place(error)));

	/*
	 * If park() fails, too, the view blogstore.progress does not show the job
	 * as parked. The job is tried again after the pause in any case.
	 */
	(void) apply_run(APPLY_STATE, park, &parked, &other);
}

/*
 * Report the beginning and the end of a rebuild that rebuild_views() has
 * requested. Such a rebuild begins while the views are complete. Also report
 * the beginning of a rebuild that this worker has found to be necessary when
 * it started. views_phase.c reports the rest. Called after each chunk.
 *
 * begins: whether this was the first chunk
 */
static void
follow_rebuild(const Job *job, bool begins)
{
	static int64 since = 0;		/* when a requested rebuild began */

	if (begins && rebuilt)
	{
		rebuild_begins("blogstore.rebuild_views() was called.");
		since = clock_elapsed();
	}
	else if (begins && !rebuild_has_begun())
		rebuild_begins("The worker had been stopped, or the last rebuild had not finished.");
	if (!job->finished)
		return;
	if (since != 0)
		rebuild_ends(since);
	since = 0;
	rebuilt = true;
}

/*
 * Do one chunk of a job. Returns false if the job has to wait or has failed.
 *
 * If a job that writes views fails, throws the error. Without this job the
 * worker cannot keep the views up to date.
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
		*job = before;			/* The changes of the chunk in the database are
								 * undone. Undo those in *job, too. */
		return false;
	}
	if (job->kind == JOB_REBUILD)
		follow_rebuild(job, before.phase == REBUILD_QUEUED);
	return true;
}

/*
 * Where jobs_step() continues in the job queue. It reads the queue in pages of
 * JOBS_AT_ONCE jobs. If no job of a page can continue, it reads the next page.
 */
static int64 page_offset = 0;	/* how many jobs of the queue precede the page
								 * that jobs_step() reads next */
static int	page_next = 0;
static int	page_idle = 0;		/* how many jobs in a row jobs_step() has tried
								 * without progress */
static bool any_moved = false;	/* whether a job has made progress since
								 * jobs_step() last read the first page */

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

/*
 * Return the result of jobs_step() if no job can continue.
 *
 * jobs: the n jobs of the current page of the queue
 */
static JobProgress
idle_progress(const Job *jobs, int n)
{
	/* Earlier pages, not in "jobs", may have jobs that have not failed. */
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
 * End the current page of the job queue, which has n jobs. The next call of
 * jobs_step() reads the next page. If the current page is the last one, the
 * next call reads the first page.
 *
 * idle: the result if this is the last page, and no job of the queue has made
 * progress
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
 * Do one chunk of each job in a page of the queue, for about TIME_FOR_JOBS ms.
 * The worker does not update the views meanwhile. Called outside of a
 * transaction. Allocates in the current memory context, which the caller
 * resets. The result tells the caller when to call this function again.
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
		/* A finished job has left the queue, so the next job has its index. */
		page_next = (first + i + (job->finished ? 0 : 1)) % n;

		/* A chunk without progress may have waited for a lock. */
		if (GetCurrentTimestamp() < until)
			continue;
		if (moved)
			return JOBS_MORE;
		if (page_idle < n)
			return JOBS_SOON;
	}
	return end_page(n, idle);
}

void
jobs_views_complete(void)
{
	rebuilt = true;
}

/*
 * Return whether a rebuild was requested and has not finished. If its job is
 * missing from the queue, for example because the owner deleted the row, queue
 * the job again. Called in a transaction, as the containers' owner.
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
 * Queue a rebuild. If a rebuild is in the queue already, make it start over.
 * Called in a transaction, as the containers' owner.
 */
void
jobs_request_rebuild(void)
{
	job_queue_rebuild_anew();
	rebuilt = false;
}
