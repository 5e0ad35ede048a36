/*
 * job_queue.c
 *		The queue of jobs, in the table blogstore.jobs. A job is work that the
 *		worker does in steps (JobKind).
 *
 * A transaction that requests a job inserts a row. The worker decodes the
 * insert and does the job. After each step, the worker updates the row, so
 * that it can continue after a restart. The phases of a job are explained
 * where its work is done:
 *
 *		rebuild						views/worker/views_rebuild.c
 *		rename, deletion, arrival	model/user_changes/user_items_sweep.c
 *
 * Runs in backends and in the worker. The caller must act as the owner of
 * blogstore's tables (owner_begin()), unless a function's comment says that
 * the function does so. Errors of all functions that run statements: 42501,
 * and 55000 if blogstore.jobs is not as blogstore made it.
 */
#include "postgres.h"

#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_type.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"

#define REBUILD "rebuild"
#define RENAME "rename"
#define DELETION "deletion"
#define ARRIVAL "arrival"

#define MAX_PHASES 6

/*
 * For each JobKind: its name in blogstore.jobs, and the names of its phases
 * for the view blogstore.progress.
 */
static const struct
{
	const char *name;
	/*
	 * the name of each phase; NULL if this kind of job does not have the phase
	 */
	const char *phase[MAX_PHASES];
}			kinds[N_JOB_KINDS] =
{
	[JOB_REBUILD] = {REBUILD, {
			[REBUILD_QUEUED] = "waiting",
			[REBUILD_COPIES] = "copies",
			[REBUILD_TOPICS] = "topics",
			[REBUILD_FEED] = "feed"
	}},
	[JOB_RENAME] = {RENAME, {
			[SWEEP_QUEUED] = "waiting",
			[SWEEP_FIRST] = "sweep",
			[SWEEP_WAIT] = "waiting",
			[SWEEP_RECHECK] = "recheck",
			[SWEEP_PARKED] = "parked"
	}},
	[JOB_DELETION] = {DELETION, {
			[SWEEP_QUEUED] = "waiting",
			[SWEEP_FIRST] = "sweep",
			[SWEEP_WAIT] = "waiting",
			[SWEEP_RECHECK] = "recheck",
			[SWEEP_VIEWS] = "showing",
			[SWEEP_PARKED] = "parked"
	}},
	[JOB_ARRIVAL] = {ARRIVAL, {
			[SWEEP_QUEUED] = "topics",
			[SWEEP_FIRST] = "sweep",
			[SWEEP_WAIT] = "waiting",
			[SWEEP_RECHECK] = "recheck",
			[SWEEP_VIEWS] = "copies",
			[SWEEP_PARKED] = "parked"
	}}
};

/* SQL statements use 0 for the phase of a job that has not begun. */
StaticAssertDecl((int) REBUILD_QUEUED == JOB_QUEUED && JOB_QUEUED == 0,
				 "a job that has not begun is in phase 0");

/*
 * Return the JobKind with a given name; JOB_DELETION if the name is unknown.
 * Only the owner can have written an unknown name to blogstore.jobs. Such a
 * job is shown in the view blogstore.progress, but the worker ignores it.
 */
JobKind
job_kind(const char *name)
{
	for (JobKind kind = JOB_REBUILD; kind < N_JOB_KINDS; kind++)
		if (strcmp(kinds[kind].name, name) == 0)
			return kind;
	return JOB_DELETION;
}

/*
 * Return the name of a job's phase for the view blogstore.progress; NULL if
 * jobs of this kind have no such phase.
 */
const char *
job_phase_name(JobKind kind, int phase)
{
	if (phase < 0 || phase >= MAX_PHASES)
		return NULL;
	return kinds[kind].phase[phase];
}

bool
job_is_parked(const Job *job)
{
	return job->kind != JOB_REBUILD && job->phase == JOB_PARKED;
}

/* ------------------------------------------------------------------------
 * Requesting jobs
 * ------------------------------------------------------------------------ */

static KeptPlan queue_plan = {
	ON_JOBS,
	"INSERT INTO " JOBS_SQL " (id, kind, user_id) VALUES ($1, $2, $3)",
	3, {UUIDOID, TEXTOID, UUIDOID}, NULL
};

static KeptPlan queue_once_plan = {
	ON_JOBS,
	"INSERT INTO " JOBS_SQL " (id, kind, user_id)"
	" SELECT $1, $2, $3 WHERE NOT EXISTS"
	" (SELECT FROM " JOBS_SQL " WHERE kind = $2 AND phase = 0"
	" AND user_id IS NOT DISTINCT FROM $3)",
	3, {UUIDOID, TEXTOID, UUIDOID}, NULL
};

static void
queue_by(KeptPlan *plan, JobKind kind, const pg_uuid_t *user_id)
{
	pg_uuid_t	id;
	Datum		values[3];

	new_id(&id);
	values[0] = UUIDPGetDatum(&id);
	values[1] = CStringGetTextDatum(kinds[kind].name);
	values[2] = user_id ? UUIDPGetDatum(user_id) : (Datum) 0;
	(void) plan_run(plan, values, user_id ? "   " : "  n", false);
}

/*
 * Queue a job.
 *
 * user_id: the user to be renamed or deleted; NULL to correct the usernames in
 *     all items, or to rebuild the views
 */
void
job_queue(JobKind kind, const pg_uuid_t *user_id)
{
	queue_by(&queue_plan, kind, user_id);
}

/*
 * Queue a job. Does nothing if a job of the same kind for the same user is
 * queued already, and the worker has not begun that job.
 *
 * user_id: as in job_queue()
 */
void
job_queue_once(JobKind kind, const pg_uuid_t *user_id)
{
	queue_by(&queue_once_plan, kind, user_id);
}

/*
 * Queue a job for a partition that has moved to this node of a cluster
 * (JOB_ARRIVAL). With InvalidOid, queue one job for all partitions that have
 * left the node. The OID is stored in the last four bytes of the column
 * user_id.
 */
void
job_queue_arrival(Oid partition_table)
{
	pg_uuid_t	key = {0};
	uint32		number = pg_hton32(partition_table);

	memcpy(key.data + UUID_LEN - sizeof(number), &number, sizeof(number));
	job_queue_once(JOB_ARRIVAL, &key);
}

/*
 * Return the partition's OID, which job_queue_arrival() has stored in the last
 * bytes of a job's user_id.
 */
static Oid
partition_of_job(const pg_uuid_t *key)
{
	uint32		number;

	memcpy(&number, key->data + UUID_LEN - sizeof(number), sizeof(number));
	return pg_ntoh32(number);
}

static KeptPlan restart_rebuilds_plan = {
	ON_JOBS,
	"UPDATE " JOBS_SQL " SET phase = 0, partition_number = 0,"
	" position_first = NULL, done = 0, total = NULL, started_at = NULL"
	" WHERE kind = '" REBUILD "'",
	0, {0}, NULL
};

/*
 * Queue a rebuild of the views. If a rebuild is queued already, let the worker
 * begin that rebuild anew.
 */
void
job_queue_rebuild_anew(void)
{
	if (plan_run(&restart_rebuilds_plan, NULL, NULL, false) == 0)
		job_queue(JOB_REBUILD, NULL);
}

static KeptPlan restart_sweeps_plan = {
	ON_JOBS,
	"UPDATE " JOBS_SQL " SET phase = 0, partition_number = 0,"
	" position_first = NULL, position_date = NULL, position_middle = NULL,"
	" position_last = NULL"
	" WHERE kind IN ('" RENAME "', '" DELETION "', '" ARRIVAL "')",
	0, {0}, NULL
};

/*
 * Let the worker begin all queued renames, deletions and arrivals anew. Called
 * after a partition was attached, because jobs that had begun may have missed
 * the items in that partition.
 */
void
jobs_restart_sweeps(void)
{
	(void) plan_run(&restart_sweeps_plan, NULL, NULL, false);
}

/*
 * Queue renames of n users, whose names the owner has changed by SQL.
 *
 * all: also queue a job that corrects the usernames in all items
 */
void
jobs_request_renames(const pg_uuid_t *users, int n, bool all)
{
	for (int i = 0; i < n; i++)
		job_queue_once(JOB_RENAME, &users[i]);
	if (all)
		job_queue_once(JOB_RENAME, NULL);
}

static KeptPlan any_rebuild_plan = {
	ON_JOBS,
	"SELECT 1 FROM " JOBS_SQL " WHERE kind = '" REBUILD "'", 0, {0}, NULL
};

bool
job_rebuild_is_queued(void)
{
	return plan_run(&any_rebuild_plan, NULL, NULL, true) > 0;
}

/* ------------------------------------------------------------------------
 * Doing jobs, in the worker
 * ------------------------------------------------------------------------ */

static KeptPlan list_plan = {
	ON_JOBS,
	"SELECT id::uuid, kind::text, user_id::uuid, phase::integer,"
	" partition_number::integer, position_first::uuid,"
	" position_date::timestamptz, position_last::uuid, done::bigint,"
	" total::bigint, position_middle::uuid"
	" FROM " JOBS_SQL
	" WHERE kind = '" REBUILD "' OR kind = '" RENAME "'"
	" OR (kind IN ('" DELETION "', '" ARRIVAL "') AND user_id IS NOT NULL)"
	" ORDER BY kind <> '" REBUILD "', created_at, id"
	" LIMIT $1 OFFSET $2",
	2, {INT8OID, INT8OID}, NULL
};

static KeptPlan lock_plan = {
	ON_JOBS,
	"SELECT 1 FROM " JOBS_SQL " WHERE id = $1 AND kind = $2"
	" FOR UPDATE SKIP LOCKED",
	2, {UUIDOID, TEXTOID}, NULL
};

static KeptPlan save_plan = {
	ON_JOBS,
	"UPDATE " JOBS_SQL " SET phase = $2, partition_number = $3,"
	" position_first = $4, position_date = $5, position_last = $6, done = $7,"
	" total = $8, position_middle = $9,"
	" started_at = coalesce(started_at, pg_catalog.clock_timestamp())"
	" WHERE id = $1",
	9, {UUIDOID, INT4OID, INT4OID, UUIDOID, TIMESTAMPTZOID, UUIDOID, INT8OID,
	INT8OID, UUIDOID}, NULL
};

static KeptPlan finish_plan = {
	ON_JOBS,
	"DELETE FROM " JOBS_SQL " WHERE id = $1", 1, {UUIDOID}, NULL
};

static Datum
get_column(HeapTuple row, TupleDesc desc, int column, bool *isnull)
{
	Datum		value = SPI_getbinval(row, desc, column, isnull);

	return *isnull ? (Datum) 0 : value;
}

static void
job_from_row(Job *job, HeapTuple row, TupleDesc desc)
{
	bool		isnull;
	Datum		value;

	memset(job, 0, sizeof(*job));
	(void) row_uuid(row, desc, 1, &job->id);
	job->kind = job_kind(TextDatumGetCString(get_column(row, desc, 2, &isnull)));
	job->has_user = row_uuid(row, desc, 3, &job->user_id);
	if (job->kind == JOB_ARRIVAL)
	{
		job->partition_table = partition_of_job(&job->user_id);
		job->has_user = false;
	}
	job->phase = DatumGetInt32(get_column(row, desc, 4, &isnull));
	job->partition = DatumGetInt32(get_column(row, desc, 5, &isnull));
	job->place.valid = row_uuid(row, desc, 6, &job->place.first);
	job->place.date = DatumGetTimestampTz(get_column(row, desc, 7, &isnull));
	(void) row_uuid(row, desc, 8, &job->place.last);
	job->done = DatumGetInt64(get_column(row, desc, 9, &isnull));
	value = get_column(row, desc, 10, &isnull);
	job->total = isnull ? -1 : DatumGetInt64(value);
	(void) row_uuid(row, desc, 11, &job->place.middle);
	/*
	 * Only the owner can have written an invalid phase or partition. Begin the
	 * job anew.
	 */
	if (job_phase_name(job->kind, job->phase) == NULL || job->partition < 0)
	{
		job->phase = JOB_QUEUED;
		job->partition = 0;
	}
	if (job->done < 0 || job->done > PG_INT64_MAX / 2)
		job->done = 0;
}

/*
 * Read at most "limit" jobs into "jobs", and skip the first "offset" jobs of
 * the queue. Rebuilds come before other jobs. Returns how many jobs were read.
 */
int
jobs_list(int64 offset, Job *jobs, int limit)
{
	Datum		values[] = {Int64GetDatum(limit), Int64GetDatum(offset)};
	int			n;

	SPI_connect();
	plan_execute(&list_plan, values, NULL, true);
	n = (int) Min(SPI_processed, limit);
	for (int i = 0; i < n; i++)
		job_from_row(&jobs[i], SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	SPI_finish();
	return n;
}

/*
 * Take the row lock (FOR UPDATE) on a job's row in blogstore.jobs until the
 * transaction ends. Returns false, without waiting, if another transaction has
 * the row locked. Also returns false if the row was deleted, or its kind has
 * changed (job_make_rename()).
 */
bool
job_lock(Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->id), CStringGetTextDatum(kinds[job->kind].name)
	};

	job->locked = plan_run(&lock_plan, values, NULL, false) > 0;
	return job->locked;
}

/*
 * Begin a phase of a job, at the first partition. The caller has called
 * job_lock(), and calls job_save() later.
 */
void
job_enter_phase(Job *job, int phase)
{
	Assert(job->locked && !job->finished);
	Assert(job_phase_name(job->kind, phase) != NULL);
	job->phase = phase;
	job->partition = 0;
	job->place.valid = false;
}

/*
 * Save the phase and progress of a job in its row. The caller has called
 * job_lock().
 */
void
job_save(const Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->id), Int32GetDatum(job->phase),
		Int32GetDatum(job->partition), UUIDPGetDatum(&job->place.first),
		TimestampTzGetDatum(job->place.date), UUIDPGetDatum(&job->place.last),
		Int64GetDatum(job->done), Int64GetDatum(job->total),
		UUIDPGetDatum(&job->place.middle)
	};
	char		nulls[] = "         ";

	Assert(job->locked && !job->finished);
	if (!job->place.valid)
		nulls[3] = nulls[4] = nulls[5] = nulls[8] = 'n';
	if (job->total < 0)
		nulls[7] = 'n';
	(void) plan_run(&save_plan, values, nulls, false);
}

/* Delete the row of a job that is done. The caller has called job_lock(). */
void
job_finish(Job *job)
{
	Datum		id = UUIDPGetDatum(&job->id);

	Assert(job->locked && !job->finished);
	(void) plan_run(&finish_plan, &id, NULL, false);
	job->finished = true;
}

static KeptPlan merge_plan = {
	ON_JOBS,
	"DELETE FROM " JOBS_SQL " WHERE kind = '" RENAME "' AND user_id = $1"
	" AND id <> $2 AND phase = 0",
	2, {UUIDOID, UUIDOID}, NULL
};

/*
 * Delete the other renames of a job's user that the worker has not begun.
 * These renames are not needed, because the job writes the user's newest name.
 */
void
job_merge_renames(const Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->user_id), UUIDPGetDatum(&job->id)
	};

	(void) plan_run(&merge_plan, values, NULL, false);
}

/* ------------------------------------------------------------------------
 * Users being deleted
 * ------------------------------------------------------------------------ */

static KeptPlan deletions_plan = {
	ON_JOBS,
	"SELECT DISTINCT user_id::uuid FROM (" USERS_BEING_DELETED_SQL ") AS d"
	" ORDER BY 1",
	0, {0}, NULL
};

static KeptPlan lock_deletion_plan = {
	ON_JOBS,
	"SELECT 1 FROM " JOBS_SQL " WHERE kind = '" DELETION "' AND user_id = $1"
	" FOR UPDATE",
	1, {UUIDOID}, NULL
};

static KeptPlan make_rename_plan = {
	ON_JOBS,
	"UPDATE " JOBS_SQL " SET kind = '" RENAME "', phase = 0,"
	" partition_number = 0, position_first = NULL, position_date = NULL,"
	" position_middle = NULL, position_last = NULL WHERE kind = '" DELETION "' AND user_id = $1",
	1, {UUIDOID}, NULL
};

/*
 * Return the ids of the users who are being deleted according to the active
 * snapshot. The array is sorted, and in the current memory context; it is NULL
 * if there are no such users. Sets *n to their number. Acts as the owner of
 * blogstore's tables.
 */
pg_uuid_t *
jobs_deleting(int *n)
{
	MemoryContext context = CurrentMemoryContext;
	OwnerScope	scope;
	pg_uuid_t  *users = NULL;

	*n = 0;
	/* scanning an empty table is cheaper than running a statement */
	if (!bookkeeping_first_row(BOOK_JOBS, NULL, NULL))
		return NULL;
	owner_begin(&scope);
	SPI_connect();
	plan_execute(&deletions_plan, NULL, NULL, true);
	*n = (int) SPI_processed;
	if (*n > 0)
		users = MemoryContextAlloc(context, sizeof(pg_uuid_t) * *n);
	for (int i = 0; i < *n; i++)
		(void) row_uuid(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1,
						&users[i]);
	SPI_finish();
	owner_end(&scope);
	return users;
}

/*
 * Take the row lock (FOR UPDATE) on the job that deletes a user, until the
 * transaction ends. Waits for other transactions that have the row locked.
 * Returns false if there is no such job.
 */
bool
job_lock_deletion(const pg_uuid_t *user_id)
{
	Datum		key = UUIDPGetDatum(user_id);

	return plan_run(&lock_deletion_plan, &key, NULL, false) > 0;
}

/*
 * Turn the deletion of a user into a rename. Called when a new user gets the
 * id of a user who is being deleted. The rename writes the new user's name to
 * the items that are left of the deleted user. The caller has called
 * job_lock_deletion().
 */
void
job_make_rename(const pg_uuid_t *user_id)
{
	Datum		key = UUIDPGetDatum(user_id);

	(void) plan_run(&make_rename_plan, &key, NULL, false);
}
