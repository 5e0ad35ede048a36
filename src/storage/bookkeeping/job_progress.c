/*
 * job_progress.c
 *		Statements that report on blogstore.jobs: which jobs a caller can wait
 *		for, and how much of each job is done. Also replaces NULLs in the
 *		table.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "storage/bookkeeping/bookkeeping.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

static KeptPlan unparked_plan = {
	ON_JOBS,
	"SELECT id::uuid, xmin::xid FROM " JOBS_SQL
	" WHERE phase <> $1 AND id IS NOT NULL",
	1, {INT4OID}, NULL
};

static KeptPlan left_plan = {
	ON_JOBS,
	"SELECT 1 FROM " JOBS_SQL " WHERE id = ANY ($1) AND phase <> $2 LIMIT 1",
	2, {UUIDARRAYOID, INT4OID}, NULL
};

/*
 * Return the ids of the jobs for which a caller can wait, as an array in the
 * current memory context. Sets *count to their number. Parked jobs
 * (JOB_PARKED) are left out, because they fail until the owner has repaired a
 * table. Jobs of the current transaction are left out, because the worker does
 * not see them before the commit. Acts as the owner of blogstore's tables.
 * Errors: 42501, 55000.
 */
Datum
jobs_to_wait_for(int *count)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext old;
	OwnerScope	scope;
	Datum		parked = Int32GetDatum(JOB_PARKED);
	Datum	   *ids;
	int			n = 0;
	ArrayType  *array;

	owner_begin(&scope);
	PushActiveSnapshot(GetLatestSnapshot());
	SPI_connect();
	plan_execute(&unparked_plan, &parked, NULL, true);
	ids = palloc(sizeof(Datum) * Max(SPI_processed, 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		bool		isnull;
		Datum		xmin = SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &isnull);

		if (!TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin)))
			ids[n++] = SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull);
	}
	old = MemoryContextSwitchTo(context);
	array = construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR);
	MemoryContextSwitchTo(old);
	SPI_finish();
	PopActiveSnapshot();
	owner_end(&scope);
	*count = n;
	return PointerGetDatum(array);
}

/*
 * Return whether blogstore.jobs still has a job with one of these ids. Jobs
 * that have failed and will be tried again (JOB_PARKED) do not count. Acts as
 * the owner of blogstore's tables. Errors: 42501, 55000.
 *
 * ids: an array of uuid, from jobs_to_wait_for()
 */
bool
jobs_are_left(Datum ids)
{
	OwnerScope	scope;
	Datum		values[] = {ids, Int32GetDatum(JOB_PARKED)};
	bool		left;

	owner_begin(&scope);
	PushActiveSnapshot(GetLatestSnapshot());
	left = plan_run(&left_plan, values, NULL, true) > 0;
	PopActiveSnapshot();
	owner_end(&scope);
	return left;
}

static KeptPlan progress_plan = {
	ON_JOBS,
	"SELECT kind::text, CASE WHEN kind <> 'arrival' THEN user_id::uuid END,"
	" phase::integer, done::bigint,"
	" total::bigint, rate, started_at::timestamptz,"
	" CASE WHEN rate > 0 AND total >= done AND (total - done) / rate < 1e9 THEN"
	" (pg_catalog.now() + (total - done) / rate * interval '1 s')::timestamptz END"
	" FROM (SELECT kind, user_id, phase, done, started_at, created_at, id,"
	" CASE WHEN kind = 'rebuild' THEN coalesce(total, $1) END AS total,"
	" done / nullif(extract(epoch FROM"
	" pg_catalog.clock_timestamp() - began)::float8, 0) AS rate"
	/* the owner may have written an infinite started_at; show NULL instead */
	" FROM (SELECT kind, user_id, phase, done, total, started_at, created_at, id,"
	" CASE WHEN pg_catalog.isfinite(started_at) THEN started_at END AS began"
	" FROM " JOBS_SQL ") AS written) AS j ORDER BY created_at, id",
	1, {INT8OID}, NULL
};

enum
{
	SHOWN_KIND,
	SHOWN_USER_ID,
	SHOWN_PHASE,
	SHOWN_DONE,
	SHOWN_TOTAL,
	SHOWN_RATE,
	SHOWN_STARTED_AT,
	SHOWN_END,
	N_SHOWN
};

/*
 * Return the name of a job's phase for the view blogstore.progress; NULL if
 * the phase has no name. The owner may have written NULL or an invalid value
 * to any column of blogstore.jobs.
 *
 * values, nulls: a result row of progress_plan
 */
static const char *
shown_phase(const Datum *values, const bool *nulls)
{
	JobKind		kind;

	if (nulls[SHOWN_STARTED_AT] ||
		TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(values[SHOWN_STARTED_AT])))
		return job_phase_name(JOB_REBUILD, REBUILD_QUEUED);
	if (nulls[SHOWN_PHASE])
		return NULL;
	kind = nulls[SHOWN_KIND] ? JOB_DELETION :
		job_kind(TextDatumGetCString(values[SHOWN_KIND]));
	return job_phase_name(kind, DatumGetInt32(values[SHOWN_PHASE]));
}

/*
 * Append a row of the view blogstore.progress to "out" for each job. Acts as
 * the owner of blogstore's tables. Errors: 42501, 55000.
 *
 * rebuild_total: the number of items to show for a rebuild that has not begun
 */
void
jobs_show(Tuplestorestate *out, TupleDesc desc, int64 rebuild_total)
{
	OwnerScope	scope;
	Datum		total = Int64GetDatum(rebuild_total);

	owner_begin(&scope);
	SPI_connect();
	plan_execute(&progress_plan, &total, NULL, true);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[N_SHOWN];
		bool		nulls[N_SHOWN];
		const char *phase;

		for (int c = 0; c < N_SHOWN; c++)
			values[c] = SPI_getbinval(SPI_tuptable->vals[i],
									  SPI_tuptable->tupdesc, c + 1, &nulls[c]);
		phase = shown_phase(values, nulls);
		nulls[SHOWN_PHASE] = phase == NULL;
		if (phase != NULL)
			values[SHOWN_PHASE] = CStringGetTextDatum(phase);
		tuplestore_putvalues(out, desc, values, nulls);
	}
	SPI_finish();
	owner_end(&scope);
}

static KeptPlan mend_plan = {
	ON_JOBS,
	"UPDATE " JOBS_SQL " SET phase = coalesce(phase, 0),"
	" partition_number = coalesce(partition_number, 0),"
	" done = coalesce(done, 0),"
	" created_at = coalesce(created_at, clock_timestamp())"
	" WHERE num_nulls(phase, partition_number, done, created_at) > 0",
	0, {0}, NULL
};

bool
job_column_is_mendable(const char *column)
{
	static const char *const mendable[] = {
		"phase", "partition_number", "done", "created_at"
	};

	for (int i = 0; i < lengthof(mendable); i++)
		if (strcmp(column, mendable[i]) == 0)
			return true;
	return false;
}

/*
 * If the owner has set columns of blogstore.jobs to NULL, give these columns
 * their initial values. For example, a job whose phase was NULL begins anew.
 * Called by repair(). Errors: 42501, 55000.
 */
void
jobs_mend(void)
{
	(void) plan_run(&mend_plan, NULL, NULL, false);
}
