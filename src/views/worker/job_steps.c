/*
 * job_steps.c
 *		Doing the jobs in the queue (storage/bookkeeping/job_queue.c): rebuilds, renames,
 *		deletions; one chunk at a time.
 *
 * A chunk and the note of how far it went are one transaction, so a job
 * resumes where it stood. A chunk that meets a row lock held for long gives
 * way and is tried again later: the views of everyone do not wait for it.
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

/* How many jobs to look at in a turn; of how many to remember a failure. */
#define JOBS_AT_ONCE 100
#define MAX_FAILED 1000

/* How long to leave a job alone that failed, in ms: of one user; of all. */
#define FAILED_PAUSE 30000
#define FAILED_PAUSE_ALL 600000

/* How long to work on jobs between two looks at the WAL, in milliseconds. */
#define TIME_FOR_JOBS 10

/*
 * Who waits for the views (wait_for_views()) finds a job done as soon as its
 * last chunk is committed, and needs to know then what is still to be applied
 * of it.
 */
static void
announce_commit(uint64 lsn)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL)
		pg_atomic_write_u64(&entry->jobs_lsn, lsn);
	pg_memory_barrier();
}

/* Up to where the views show what was committed. */
static XLogRecPtr
views_shown(void)
{
	WorkerEntry *entry = my_worker_entry();

	return entry ? pg_atomic_read_u64(&entry->shown_lsn) : InvalidXLogRecPtr;
}

/* Has a rebuild come to its end since the last one was asked for here? */
static bool rebuilt = false;

/* Has a job anything to do now, or has something to happen first? */
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

/* Is an arrival done with the items, or has none to look at? Views follow. */
bool
arrival_writes_views(const Job *job)
{
	return job->phase == SWEEP_VIEWS || !OidIsValid(job->partition_table);
}

/* Does the next step of a job write to the views, rather than to items? */
static bool
writes_views(const Job *job)
{
	return job->kind == JOB_REBUILD ||
		(job->kind == JOB_ARRIVAL && arrival_writes_views(job));
}

/* Do one step of a locked job; false if it has to wait. */
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
			/* the cluster of which it was left is no more */
			job_finish(job);
			return true;
	}
	rebuild_chunk(job);
	return true;
}

/* A chunk of a job: did it do anything, or has it to wait? */
typedef struct Chunk
{
	Job		   *job;
	bool		begun;			/* or was somebody in the way before? */
	bool		moved;
} Chunk;

/*
 * Do one chunk of a job, in a transaction. The job is locked before any item, which
 * is the order of all who lock both.
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

/* Jobs that failed, and when to try them again. */
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

/* Have others see that a job is parked. */
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
 * A rename or deletion cannot be carried out, because of a constraint or trigger of the
 * owner's, or an item that lacks a value. Nothing else waits for it: it is parked, and begins
 * anew later.
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
			(errmsg("blogstore job failed and is tried again in %d s: %s",
					pause / 1000, error->message)));
	/* if that fails it stays as it was, and is left alone all the same */
	(void) apply_run(APPLY_STATE, park, &parked, &other);
}

/*
 * Do one chunk of a job; false if it has to wait, or has failed. What writes views does not fail: its
 * error is raised.
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
		*job = before;			/* as it is in the table */
		return false;
	}
	if (job->kind == JOB_REBUILD && job->finished)
		rebuilt = true;
	return true;
}

/* Where in the queue to go on: no job holds up the others. */
static int64 queue_offset = 0;
static int	queue_next = 0;
static int	queue_seen = 0;		/* of these jobs, since one of them moved */
static bool queue_moved = false;	/* since it was last at the start */

/* Jobs of the queue, from where it was left, in the current memory context. */
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
 * Do chunks of the jobs that can go on, one of each in turn, for a short while:
 * the views of everyone wait meanwhile. Allocates in the current memory
 * context, which the caller resets.
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
	/* of jobs that were looked at before it is not known any more */
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
			/* it may have waited for a lock, and the next one is to do so, too */
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

	/* on to the next ones, or back to the first */
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
 * Has the rebuild that was asked for still to be done? One that has gone from the
 * queue without coming to its end, as by its owner's hand, is queued again. In
 * a transaction, as the containers' owner.
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
 * Queue a rebuild, or have the one in the queue begin anew. In a transaction, as
 * the containers' owner.
 */
void
jobs_request_rebuild(void)
{
	job_queue_rebuild_anew();
	rebuilt = false;
}
