/*
 * jobs.c
 *		The queue of jobs: rebuilds, renames, deletions; one chunk at a time.
 *
 * A chunk and the note of how far it went are one transaction, so a job
 * resumes where it stood. A chunk that meets a row lock held for long gives
 * way and is tried again later: the views of everyone do not wait for it.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "container/plans.h"
#include "views/views.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define MAX_JOBS_SEEN 100

/* How long to leave a job alone that failed, in milliseconds. */
#define FAILED_PAUSE 30000

static KeptPlan list_plan = {
	"SELECT id::uuid, kind::text, user_id::uuid, phase::integer,"
	" partition_number::integer, position::uuid, done::bigint, total::bigint"
	" FROM blogstore.jobs ORDER BY kind <> 'rebuild', created_at, id LIMIT 100",
	0, {0}, NULL
};

static KeptPlan save_plan = {
	"UPDATE blogstore.jobs SET phase = $2, partition_number = $3,"
	" position = $4, done = $5, total = $6,"
	" started_at = coalesce(started_at, pg_catalog.clock_timestamp())"
	" WHERE id = $1",
	6, {UUIDOID, INT4OID, INT4OID, UUIDOID, INT8OID, INT8OID}, NULL
};

static KeptPlan delete_plan = {
	"DELETE FROM blogstore.jobs WHERE id = $1", 1, {UUIDOID}, NULL
};

static KeptPlan restart_rebuild_plan = {
	"UPDATE blogstore.jobs SET phase = 0, partition_number = 0,"
	" position = NULL, done = 0, total = NULL, started_at = NULL"
	" WHERE kind = 'rebuild'",
	0, {0}, NULL
};

static KeptPlan any_rebuild_plan = {
	"SELECT 1 FROM blogstore.jobs WHERE kind = 'rebuild'", 0, {0}, NULL
};

/* A row of list_plan as a job. */
static void
job_from_row(Job *job, HeapTuple row, TupleDesc desc)
{
	bool		isnull;
	Datum		value;
	char	   *kind;

	memset(job, 0, sizeof(*job));
	job->id = *DatumGetUUIDP(SPI_getbinval(row, desc, 1, &isnull));
	kind = TextDatumGetCString(SPI_getbinval(row, desc, 2, &isnull));
	job->rebuild = strcmp(kind, "rebuild") == 0;
	job->deletion = strcmp(kind, "deletion") == 0;
	value = SPI_getbinval(row, desc, 3, &isnull);
	if (!isnull)
		job->user_id = *DatumGetUUIDP(value);
	job->phase = DatumGetInt32(SPI_getbinval(row, desc, 4, &isnull));
	job->partition = DatumGetInt32(SPI_getbinval(row, desc, 5, &isnull));
	value = SPI_getbinval(row, desc, 6, &job->has_position);
	job->has_position = !job->has_position;
	if (job->has_position)
		job->position = *DatumGetUUIDP(value);
	job->done = DatumGetInt64(SPI_getbinval(row, desc, 7, &isnull));
	value = SPI_getbinval(row, desc, 8, &isnull);
	job->total = isnull ? -1 : DatumGetInt64(value);
}

/* The first jobs of the queue, rebuilds before others. */
static Job *
list_jobs(int *n)
{
	OwnerScope	scope;
	MemoryContext context = CurrentMemoryContext;
	Job		   *jobs;

	jobs = MemoryContextAlloc(context, sizeof(Job) * MAX_JOBS_SEEN);
	apply_begin(&scope, APPLY_STATE);
	SPI_connect();
	plan_execute(&list_plan, NULL, NULL, true);
	*n = (int) Min(SPI_processed, MAX_JOBS_SEEN);
	for (int i = 0; i < *n; i++)
		job_from_row(&jobs[i], SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	SPI_finish();
	apply_end(&scope);
	MemoryContextSwitchTo(context);
	return jobs;
}

/* Write down how far a job is, or that it is done. */
static void
save_job(const Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->id), Int32GetDatum(job->phase),
		Int32GetDatum(job->partition), UUIDPGetDatum(&job->position),
		Int64GetDatum(job->done), Int64GetDatum(job->total)
	};
	char		nulls[] = "      ";

	nulls[3] = job->has_position ? ' ' : 'n';
	nulls[5] = job->total >= 0 ? ' ' : 'n';
	SPI_connect();
	if (job->finished)
		plan_execute(&delete_plan, values, NULL, false);
	else
		plan_execute(&save_plan, values, nulls, false);
	SPI_finish();
}

/* Do one chunk of a job in a transaction; false if it has to wait. */
static bool
run_chunk(Job *job)
{
	OwnerScope	scope;
	bool		moved = true;

	apply_begin(&scope, job->rebuild ? APPLY_VIEWS : APPLY_POSTS);
	if (job->rebuild)
		rebuild_chunk(job);
	else
		moved = sweep_chunk(job);
	if (moved)
		save_job(job);
	apply_end(&scope);
	return moved;
}

/* Jobs that failed, and when to try them again. */
typedef struct FailedJob
{
	pg_uuid_t	id;
	TimestampTz again;
} FailedJob;

static FailedJob failed_jobs[MAX_JOBS_SEEN];
static int	next_failed = 0;

static bool
failed_lately(const Job *job)
{
	for (int i = 0; i < MAX_JOBS_SEEN; i++)
		if (memcmp(&failed_jobs[i].id, &job->id, UUID_LEN) == 0 &&
			GetCurrentTimestamp() < failed_jobs[i].again)
			return true;
	return false;
}

/*
 * A rename or deletion cannot be carried out, because of a constraint or
 * trigger of the owner's, say. The views of all others do not wait for it:
 * tell, and try again later.
 */
static void
note_failed(const Job *job, const ErrorData *error)
{
	FailedJob  *failed = &failed_jobs[next_failed];
	WorkerEntry *entry = my_worker_entry();

	next_failed = (next_failed + 1) % MAX_JOBS_SEEN;
	failed->id = job->id;
	failed->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												FAILED_PAUSE);
	if (entry != NULL)
		worker_entry_error(entry, error->message);
	ereport(LOG,
			(errmsg("blogstore job failed and is tried again in %d s: %s",
					FAILED_PAUSE / 1000, error->message)));
}

static bool
try_chunk(Job *job)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool moved = false;

	PG_TRY();
	{
		moved = run_chunk(job);
	}
	PG_CATCH();
	{
		if (!apply_gave_way(context))
		{
			ErrorData  *error;

			if (job->rebuild)
				PG_RE_THROW();
			MemoryContextSwitchTo(context);
			error = CopyErrorData();
			FlushErrorState();
			apply_cancel();
			MemoryContextSwitchTo(context);
			note_failed(job, error);
		}
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return moved;
}

/*
 * Do one chunk of the first job that can go on. Allocates in the current
 * memory context, which the caller resets.
 */
JobProgress
jobs_step(void)
{
	int			n;
	Job		   *jobs = list_jobs(&n);

	for (int i = 0; i < n; i++)
		if (!failed_lately(&jobs[i]) && try_chunk(&jobs[i]))
			return JOBS_MORE;
	return n > 0 ? JOBS_WAITING : JOBS_NONE;
}

/* Is a rebuild in the queue? In a transaction, as the containers' owner. */
bool
jobs_rebuild_pending(void)
{
	bool		pending;

	SPI_connect();
	plan_execute(&any_rebuild_plan, NULL, NULL, true);
	pending = SPI_processed > 0;
	SPI_finish();
	return pending;
}

/* Queue a rebuild, or have the one in the queue begin anew. The same. */
void
jobs_request_rebuild(void)
{
	bool		there;

	SPI_connect();
	plan_execute(&restart_rebuild_plan, NULL, NULL, false);
	there = SPI_processed > 0;
	SPI_finish();
	if (!there)
		job_enqueue("rebuild", NULL);
}
