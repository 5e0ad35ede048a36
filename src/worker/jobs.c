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

#include "change_feed/change_feed.h"
#include "container/container.h"
#include "import/import.h"
#include "layout/item.h"
#include "members/members.h"
#include "state/plans.h"
#include "state/state.h"
#include "views/views.h"
#include "worker/worker.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* How many jobs to look at in a turn; of how many to remember a failure. */
#define JOBS_AT_ONCE 100
#define MAX_FAILED 1000

/* How long to leave a job alone that failed, in milliseconds. */
#define FAILED_PAUSE 30000

/* How long to work on jobs between two looks at the WAL, in milliseconds. */
#define TIME_FOR_JOBS 10

static KeptPlan list_plan = {
	"SELECT id::uuid, kind::text, user_id::uuid, phase::integer,"
	" partition_number::integer, position_first::uuid,"
	" position_date::timestamptz, position_last::uuid, done::bigint,"
	" total::bigint"
	" FROM blogstore.jobs"
	" WHERE kind = 'rebuild' OR kind = 'rename'"
	" OR (kind = 'deletion' AND user_id IS NOT NULL)"
	" ORDER BY kind <> 'rebuild', created_at, id"
	" LIMIT 100 OFFSET $1",
	1, {INT8OID}, NULL
};

static KeptPlan lock_plan = {
	"SELECT 1 FROM blogstore.jobs WHERE id = $1 AND kind = $2"
	" FOR UPDATE SKIP LOCKED",
	2, {UUIDOID, TEXTOID}, NULL
};

static KeptPlan save_plan = {
	"UPDATE blogstore.jobs SET phase = $2, partition_number = $3,"
	" position_first = $4, position_date = $5, position_last = $6, done = $7,"
	" total = $8,"
	" started_at = coalesce(started_at, pg_catalog.clock_timestamp())"
	" WHERE id = $1",
	8, {UUIDOID, INT4OID, INT4OID, UUIDOID, TIMESTAMPTZOID, UUIDOID, INT8OID,
	INT8OID}, NULL
};

static KeptPlan delete_plan = {
	"DELETE FROM blogstore.jobs WHERE id = $1", 1, {UUIDOID}, NULL
};

static KeptPlan restart_rebuild_plan = {
	"UPDATE blogstore.jobs SET phase = 0, partition_number = 0,"
	" position_first = NULL, done = 0, total = NULL, started_at = NULL"
	" WHERE kind = 'rebuild'",
	0, {0}, NULL
};

/* for one user, unless the name will be seen to anyway */
static KeptPlan rename_plan = {
	"INSERT INTO blogstore.jobs (id, kind, user_id)"
	" SELECT $1, 'rename', $2 WHERE NOT EXISTS"
	" (SELECT FROM blogstore.jobs WHERE kind = 'rename' AND phase = 0"
	" AND user_id IS NOT DISTINCT FROM $2)",
	2, {UUIDOID, UUIDOID}, NULL
};

/* what is attached is swept like what was there */
static KeptPlan restart_sweeps_plan = {
	"UPDATE blogstore.jobs SET phase = 0, partition_number = 0,"
	" position_first = NULL, position_date = NULL, position_last = NULL"
	" WHERE kind IN ('rename', 'deletion')",
	0, {0}, NULL
};

static KeptPlan any_rebuild_plan = {
	"SELECT 1 FROM blogstore.jobs WHERE kind = 'rebuild'", 0, {0}, NULL
};

/* A column of the present row; all bits zero for NULL. */
static Datum
get_column(HeapTuple row, TupleDesc desc, int column, bool *isnull)
{
	Datum		value = SPI_getbinval(row, desc, column, isnull);

	return *isnull ? (Datum) 0 : value;
}

static bool
get_uuid(HeapTuple row, TupleDesc desc, int column, pg_uuid_t *out)
{
	bool		isnull;
	Datum		value = get_column(row, desc, column, &isnull);

	if (!isnull)
		*out = *DatumGetUUIDP(value);
	return !isnull;
}

/* A row of list_plan as a job. */
static void
job_from_row(Job *job, HeapTuple row, TupleDesc desc)
{
	bool		isnull;
	Datum		value;

	memset(job, 0, sizeof(*job));
	(void) get_uuid(row, desc, 1, &job->id);
	strlcpy(job->kind, TextDatumGetCString(SPI_getbinval(row, desc, 2, &isnull)),
			sizeof(job->kind));
	job->has_user = get_uuid(row, desc, 3, &job->user_id);
	job->phase = DatumGetInt32(get_column(row, desc, 4, &isnull));
	job->partition = DatumGetInt32(get_column(row, desc, 5, &isnull));
	job->place.valid = get_uuid(row, desc, 6, &job->place.first);
	job->place.date = DatumGetTimestampTz(get_column(row, desc, 7, &isnull));
	(void) get_uuid(row, desc, 8, &job->place.last);
	job->done = DatumGetInt64(get_column(row, desc, 9, &isnull));
	value = get_column(row, desc, 10, &isnull);
	job->total = isnull ? -1 : DatumGetInt64(value);
	/* what nobody but the owner can have written begins anew */
	if (job->phase < 0 || job->phase > SWEEP_PARKED || job->partition < 0)
		job->phase = job->partition = 0;
}

/* Jobs of the queue from an offset on, rebuilds before others. */
static Job *
list_jobs(int64 offset, int *n)
{
	OwnerScope	scope;
	Datum		value = Int64GetDatum(offset);
	Job		   *jobs = palloc(sizeof(Job) * JOBS_AT_ONCE);

	apply_begin(&scope, APPLY_STATE);
	SPI_connect();
	plan_execute(&list_plan, &value, NULL, true);
	*n = (int) Min(SPI_processed, JOBS_AT_ONCE);
	for (int i = 0; i < *n; i++)
		job_from_row(&jobs[i], SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	SPI_finish();
	apply_end(&scope);
	return jobs;
}

/*
 * Take a job for this transaction; false if it is not there any more as what
 * it was, or is about to be something else (deleted_revive()).
 */
static bool
lock_job(const Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->id), CStringGetTextDatum(job->kind)
	};
	bool		there;

	SPI_connect();
	plan_execute(&lock_plan, values, NULL, false);
	there = SPI_processed > 0;
	SPI_finish();
	return there;
}

/* Write down how far a job is, or that it is done. */
static void
save_job(const Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->id), Int32GetDatum(job->phase),
		Int32GetDatum(job->partition), UUIDPGetDatum(&job->place.first),
		TimestampTzGetDatum(job->place.date), UUIDPGetDatum(&job->place.last),
		Int64GetDatum(job->done), Int64GetDatum(job->total)
	};
	char		nulls[] = "        ";

	if (!job->place.valid)
		nulls[3] = nulls[4] = nulls[5] = 'n';
	if (job->total < 0)
		nulls[7] = 'n';
	SPI_connect();
	if (job->finished)
		plan_execute(&delete_plan, values, NULL, false);
	else
		plan_execute(&save_plan, values, nulls, false);
	SPI_finish();
	if (job->finished && job_is(job, "deletion"))
		deleted_changed();
}

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

/* Has a rebuild come to its end since the last one was asked for here? */
static bool rebuilt = false;

/*
 * Do one chunk of a job in a transaction; false if it has to wait. The lock on
 * the job comes before those on items, as in deleted_revive().
 */
static bool
run_chunk(Job *job)
{
	OwnerScope	scope;
	bool		rebuild = job_is(job, "rebuild");
	bool		moved;

	if (!rebuild && !sweep_ready(job))
		return false;
	apply_begin(&scope, rebuild ? APPLY_VIEWS : APPLY_POSTS);
	moved = lock_job(job);
	if (moved && !rebuild)
		announce_commit(JOB_COMMITTING);
	if (moved && rebuild)
		rebuild_chunk(job);
	else if (moved)
		moved = sweep_chunk(job);
	if (moved)
		save_job(job);
	apply_end(&scope);
	if (!rebuild)
		announce_commit(XactLastCommitEnd);
	else if (moved && job->finished)
		rebuilt = true;
	return moved;
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

	next_failed = (next_failed + 1) % MAX_FAILED;
	failed->id = job->id;
	failed->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												FAILED_PAUSE);
	if (entry != NULL)
		worker_entry_error(entry, error->message);
	ereport(LOG,
			(errmsg("blogstore job failed and is tried again in %d s: %s",
					FAILED_PAUSE / 1000, error->message)));
}

/*
 * A chunk failed, and the error is being handled: roll back, and have it tried
 * again later, or with more care. Where neither helps, the error goes on.
 */
static void
chunk_failed(const Job *job, MemoryContext context)
{
	ErrorData  *error;

	if (apply_gave_way(context))
		return;
	if (job_is(job, "rebuild"))
	{
		if (!careful_begin(context))
			PG_RE_THROW();
		return;
	}
	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	apply_cancel();
	MemoryContextSwitchTo(context);
	note_failed(job, error);
}

static bool
try_chunk(Job *job)
{
	MemoryContext context = CurrentMemoryContext;
	Job			before = *job;
	volatile bool moved = false;

	PG_TRY();
	{
		moved = run_chunk(job);
	}
	PG_CATCH();
	{
		sweep_failed(&before);
		announce_commit(XactLastCommitEnd);
		chunk_failed(job, context);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	if (!moved)
		*job = before;			/* as it is in the table */
	return moved;
}

/* Where in the queue to go on: no job holds up the others. */
static int64 queue_offset = 0;
static int	queue_next = 0;
static bool queue_moved = false;	/* since it was last at the start */

/*
 * Do chunks of the jobs that can go on, one of each in turn, for a short while:
 * the views of everyone wait meanwhile. Allocates in the current memory
 * context, which the caller resets.
 */
JobProgress
jobs_step(void)
{
	int			n;
	Job		   *jobs = list_jobs(queue_offset, &n);
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													TIME_FOR_JOBS);
	int64		offset = queue_offset;
	int			first = n > 0 ? queue_next % n : 0;
	JobProgress progress = offset > 0 ? JOBS_WAITING :
		n > 0 ? JOBS_PARKED : JOBS_NONE;

	for (int i = 0; i < n; i++)
	{
		Job		   *job = &jobs[(first + i) % n];

		if (progress == JOBS_PARKED && job->phase != SWEEP_PARKED)
			progress = JOBS_WAITING;
		if (failed_lately(job) || !try_chunk(job))
			continue;
		progress = JOBS_MORE;
		queue_moved = true;
		queue_next = (first + i + !job->finished) % n;
		if (GetCurrentTimestamp() >= until)
			return JOBS_MORE;
	}

	/* on to the next ones, or back to the first */
	queue_offset = n == JOBS_AT_ONCE ? offset + n : 0;
	if (queue_offset > 0)
		return JOBS_MORE;
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
	bool		pending;

	SPI_connect();
	plan_execute(&any_rebuild_plan, NULL, NULL, true);
	pending = SPI_processed > 0;
	SPI_finish();
	if (!pending && !rebuilt)
		jobs_request_rebuild();
	return !rebuilt || pending;
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
	rebuilt = false;
}

/* Queue renames of users whose names were changed directly. The same. */
void
jobs_request_renames(const pg_uuid_t *users, int n, bool all)
{
	SPI_connect();
	for (int i = 0; i < n + all; i++)
	{
		pg_uuid_t	id;
		Datum		values[2];

		new_id(&id);
		values[0] = UUIDPGetDatum(&id);
		values[1] = i < n ? UUIDPGetDatum(&users[i]) : (Datum) 0;
		plan_execute(&rename_plan, values, i < n ? "  " : " n", false);
	}
	SPI_finish();
}

/* Have all renames and deletions begin anew. The same. */
void
jobs_restart_sweeps(void)
{
	SPI_connect();
	plan_execute(&restart_sweeps_plan, NULL, NULL, false);
	SPI_finish();
}
