/*
 * request_stats.c
 *		Counting the cost and the errors of requests, for the view
 *		blogstore.stat_requests.
 *
 * The counters are in shared memory. All processes of a database add to the
 * same counters, atomically and without a lock. A request that ends without an
 * error adds its cost at its end. A histogram counts the calls by their
 * duration; the number of all calls is the sum of its buckets.
 *
 * An error is counted when it is raised. While a request runs, a callback of
 * this file is on the server's stack of error context callbacks. The server
 * calls these callbacks when an error is raised.
 *
 * Runs in every process that serves requests.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "requests/request_stats.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include <math.h>

SQL_FUNCTION(read_request_stats);
SQL_FUNCTION(reset_stats);
PG_FUNCTION_INFO_V1(blogstore_request_names);

/*
 * The view stat_requests shows the cost of each request in request units. One
 * unit is the cost of reading an item of 1 kB by its key, which takes
 * BUFFERS_PER_UNIT buffers. Writing 1 kB of WAL costs UNITS_PER_WAL_KB units.
 * Document stores, too, charge about five times as much for a write as for a
 * read.
 */
#define BUFFERS_PER_UNIT 4.0
#define UNITS_PER_WAL_KB 5.0

/*
 * A histogram counts the calls of a request by their duration. Bucket b ends
 * at 2^(FIRST_BUCKET_BITS + (b + 1) / 2) nanoseconds, which is sqrt(2) times
 * the end of the bucket before. The first bucket ends at 1.4 microseconds. The
 * last bucket begins at 3.2 minutes and has no end.
 */
#define N_BUCKETS 56
#define FIRST_BUCKET_BITS 10

#define N_COLUMNS 17

typedef enum RequestMeasure
{
	MEASURE_ROWS,
	MEASURE_CALLER_ERRORS,
	MEASURE_SERVER_ERRORS,
	MEASURE_TIME,				/* total time in nanoseconds; MEASURE_MAX_TIME
								 * is in nanoseconds, too */
	MEASURE_MAX_TIME,
	MEASURE_HIT,
	MEASURE_READ,
	MEASURE_WAL,
	N_MEASURES
} RequestMeasure;

/* The counters of one SQL function, such as create_post(), in a database. */
typedef struct RequestCounters
{
	pg_atomic_uint64 reset_at;
	pg_atomic_uint64 measure[N_MEASURES];
	pg_atomic_uint64 calls[N_BUCKETS];	/* number of calls in each bucket of
										 * the histogram */
} RequestCounters;

typedef struct StatsDatabase
{
	Oid			dbid;			/* the database; InvalidOid if this
								 * StatsDatabase is unused. Protected by
								 * StatsShared.lock */
	RequestCounters request[N_REQUESTS];
} StatsDatabase;

typedef struct StatsShared
{
	LWLock	   *lock;
	StatsDatabase database[MAX_DATABASES];
} StatsShared;

static const char *const request_names[N_REQUESTS][2] = {
#define COMMAND(constant, code, name) [constant] = {code, #name},
#define QUERY COMMAND
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY
};

static StatsShared *shared = NULL;
static StatsDatabase of_process;	/* counters of this process alone; used if
									 * StatsShared has no room for this
									 * database */
static StatsDatabase *mine = NULL;	/* counters that this process adds to:
									 * those of its database, or of_process.
									 * NULL until its first request */

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void
stats_shmem_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(sizeof(StatsShared));
	RequestNamedLWLockTranche("blogstore requests", 1);
}

static void
stats_shmem_startup(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("blogstore requests", sizeof(StatsShared), &found);
	if (!found)
	{
		shared->lock = &GetNamedLWLockTranche("blogstore requests")->lock;
		for (int i = 0; i < MAX_DATABASES; i++)
			shared->database[i].dbid = InvalidOid;
	}
	LWLockRelease(AddinShmemInitLock);
}

void
stats_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = stats_shmem_request;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = stats_shmem_startup;
}

static void
counters_init(StatsDatabase *database)
{
	database->dbid = MyDatabaseId;
	for (int r = 0; r < N_REQUESTS; r++)
	{
		RequestCounters *counters = &database->request[r];

		pg_atomic_init_u64(&counters->reset_at, GetCurrentTimestamp());
		for (int m = 0; m < N_MEASURES; m++)
			pg_atomic_init_u64(&counters->measure[m], 0);
		for (int b = 0; b < N_BUCKETS; b++)
			pg_atomic_init_u64(&counters->calls[b], 0);
	}
}

/*
 * Return the counters of this database, which are made at the first call.
 * Returns of_process if StatsShared has no room for another database. The
 * caller holds StatsShared.lock exclusively.
 */
static StatsDatabase *
find_database(void)
{
	StatsDatabase *unused = &of_process;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		StatsDatabase *database = &shared->database[i];

		if (database->dbid == MyDatabaseId)
			return database;
		if (database->dbid == InvalidOid && unused == &of_process)
			unused = database;
	}
	counters_init(unused);
	return unused;
}

static void
stats_attach(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine = find_database();
	LWLockRelease(shared->lock);
}

/*
 * Return whether errors with this SQLSTATE count as errors of the server, not
 * of the caller. Such an error means that the server or blogstore could not
 * serve the request, or that the caller has to retry the request.
 */
static bool
is_server_error(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_TO_CATEGORY(ERRCODE_CONNECTION_EXCEPTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_TRIGGERED_ACTION_EXCEPTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK):
		case ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES):
		case ERRCODE_TO_CATEGORY(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE):
		case ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR):
		case ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR):
			return true;
		default:
			return false;
	}
}

/*
 * Error context callback of a running request: count the error. If the request
 * has caught an earlier error, that error no longer counts, and is subtracted.
 *
 * The server also calls this function for notices and warnings. Most of these
 * are in the SQLSTATE classes 00 and 01, which are not counted. A notice with
 * the SQLSTATE of an error is counted until stats_pause() subtracts it.
 */
static void
count_error(void *arg)
{
	RequestStart *start = arg;
	int			category = ERRCODE_TO_CATEGORY(geterrcode());

	if (category == ERRCODE_SUCCESSFUL_COMPLETION ||
		category == ERRCODE_WARNING)
		return;
	if (start->error != NULL)
		stats_forget_error(start);
	start->error = &mine->request[start->request].measure
		[is_server_error(geterrcode()) ? MEASURE_SERVER_ERRORS : MEASURE_CALLER_ERRORS];
	pg_atomic_fetch_add_u64(start->error, 1);
}

/* Undo count_error(): subtract the counted error from its counter. */
void
stats_forget_error(RequestStart *start)
{
	pg_atomic_fetch_sub_u64(start->error, 1);
	start->error = NULL;
}

/*
 * Begin to measure a request: store the values of the clock and of the
 * server's counters of buffers and WAL. Errors that are raised from now on
 * until stats_pause() are counted.
 */
void
stats_begin(RequestStart *start, Request request)
{
	start->counted = blogstore_track_requests;
	start->rows = 0;
	if (!start->counted)
		return;
	if (unlikely(mine == NULL))
		stats_attach();
	start->request = request;
	start->hit = pgBufferUsage.shared_blks_hit;
	start->read = pgBufferUsage.shared_blks_read;
	start->wal = pgWalUsage.wal_bytes;
	start->error = NULL;
	start->on_error.callback = count_error;
	start->on_error.arg = start;
	start->on_error.previous = error_context_stack;
	error_context_stack = &start->on_error;
	INSTR_TIME_SET_CURRENT(start->time);
}

/* Return the histogram's bucket for a duration in nanoseconds. */
static int
bucket_of(uint64 took)
{
	int			bits;
	bool		upper;

	if (took < UINT64_C(1) << FIRST_BUCKET_BITS)
		return 0;
	bits = pg_leftmost_one_pos64(took);
	/*
	 * Compare "took" with sqrt(2) * 2^bits. Both sides are shifted left by (63
	 * - bits), so that the right side is sqrt(2) * 2^63.
	 */
	upper = took << (63 - bits) >= UINT64_C(0xB504F333F9DE6484);
	return Min(2 * (bits - FIRST_BUCKET_BITS) + upper, N_BUCKETS - 1);
}

/*
 * Add to a counter. Does nothing if "by" is zero, which saves an atomic
 * operation: most requests read no page or write no WAL.
 */
static inline void
grow(pg_atomic_uint64 *value, uint64 by)
{
	if (by != 0)
		pg_atomic_fetch_add_u64(value, by);
}

static inline void
grow_to(pg_atomic_uint64 *value, uint64 to)
{
	uint64		now = pg_atomic_read_u64(value);

	while (now < to && !pg_atomic_compare_exchange_u64(value, &now, to))
		;
}

/*
 * Add the cost of a request to the counters. The request has ended without an
 * error, and the caller has called stats_pause().
 */
void
stats_add(const RequestStart *spent)
{
	RequestCounters *counters;
	uint64		took;

	if (!spent->counted)
		return;
	counters = &mine->request[spent->request];
	took = compat_nanoseconds(spent->time);
	grow_to(&counters->measure[MEASURE_MAX_TIME], took);
	grow(&counters->measure[MEASURE_TIME], took);
	grow(&counters->measure[MEASURE_ROWS], spent->rows);
	grow(&counters->measure[MEASURE_HIT], spent->hit);
	grow(&counters->measure[MEASURE_READ], spent->read);
	grow(&counters->measure[MEASURE_WAL], spent->wal);
	grow(&counters->calls[bucket_of(took)], 1);
}

void
stats_end(RequestStart *start)
{
	stats_pause(start);
	stats_add(start);
}

/*
 * Return the duration, in nanoseconds, that a percentage of all calls did not
 * exceed. The result is the end of a bucket, but at most the longest duration.
 *
 * calls: the number of calls in each bucket
 * all: the number of all calls, which is not 0
 * longest: the duration of the longest call
 */
static double
percentile(const uint64 *calls, uint64 all, int percent, uint64 longest)
{
	uint64		below = 0;

	for (int b = 0; b < N_BUCKETS - 1; b++)
	{
		below += calls[b];
		if (below >= all / 100.0 * percent)
			return Min(exp2(FIRST_BUCKET_BITS + (b + 1) / 2.0), longest);
	}
	return longest;
}

static void
add_row(ReturnSetInfo *out, Request request)
{
	RequestCounters *counters = &mine->request[request];
	const char *code = request_names[request][0];
	uint64		v[N_MEASURES];
	uint64		calls[N_BUCKETS];
	uint64		all = 0;
	double		units;
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};
	int			n = 0;

	for (int b = 0; b < N_BUCKETS; b++)
	{
		calls[b] = pg_atomic_read_u64(&counters->calls[b]);
		all += calls[b];
	}
	for (int m = 0; m < N_MEASURES; m++)
		v[m] = pg_atomic_read_u64(&counters->measure[m]);
	units = (v[MEASURE_HIT] + v[MEASURE_READ]) / BUFFERS_PER_UNIT +
		v[MEASURE_WAL] / 1024.0 * UNITS_PER_WAL_KB;

	nulls[n] = code == NULL;
	values[n++] = code == NULL ? (Datum) 0 : CStringGetTextDatum(code);
	values[n++] = CStringGetTextDatum(request_names[request][1]);
	values[n++] = Int64GetDatum(all);
	values[n++] = Int64GetDatum(v[MEASURE_ROWS]);
	values[n++] = Int64GetDatum(v[MEASURE_CALLER_ERRORS]);
	values[n++] = Int64GetDatum(v[MEASURE_SERVER_ERRORS]);
	values[n++] = Float8GetDatum(v[MEASURE_TIME] / 1e6);
	for (int i = 0; i < 3; i++)
	{
		static const int percents[] = {50, 95, 99};

		nulls[n] = all == 0;
		values[n++] = all == 0 ? (Datum) 0 :
			Float8GetDatum(percentile(calls, all, percents[i], v[MEASURE_MAX_TIME]) / 1e6);
	}
	values[n++] = Float8GetDatum(v[MEASURE_MAX_TIME] / 1e6);
	values[n++] = Int64GetDatum(v[MEASURE_HIT]);
	values[n++] = Int64GetDatum(v[MEASURE_READ]);
	values[n++] = Int64GetDatum(v[MEASURE_WAL]);
	values[n++] = Float8GetDatum(units);
	nulls[n] = all == 0;
	values[n++] = all == 0 ? (Datum) 0 : Float8GetDatum(units / all);
	values[n++] = TimestampTzGetDatum(pg_atomic_read_u64(&counters->reset_at));
	Assert(n == N_COLUMNS);
	tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
}

static Datum
read_request_stats(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	if (mine == NULL)
		stats_attach();
	for (int r = 0; r < N_REQUESTS; r++)
		add_row((ReturnSetInfo *) fcinfo->resultinfo, r);
	return (Datum) 0;
}

/*
 * Reset the counters of one kind of request. What other processes add during
 * the reset may be kept or lost.
 */
static void
counters_reset(RequestCounters *counters)
{
	for (int m = 0; m < N_MEASURES; m++)
		pg_atomic_write_u64(&counters->measure[m], 0);
	for (int b = 0; b < N_BUCKETS; b++)
		pg_atomic_write_u64(&counters->calls[b], 0);
	pg_atomic_write_u64(&counters->reset_at, GetCurrentTimestamp());
}

/*
 * Return the request whose SQL function has the given name. Errors: 22023 if
 * there is no such request.
 */
static Request
find_request(const char *name)
{
	for (int r = 0; r < N_REQUESTS; r++)
		if (strcmp(name, request_names[r][1]) == 0)
			return r;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized request \"%.*s\"",
					bytes_clip(name, strlen(name), NAMEDATALEN - 1), name),
			 errhint("The column function of stat_requests lists the requests."),
			 err_fields(NULL, "function", RULE_RANGE)));
}

/*
 * reset_request_stats(): reset the counters of the request that the argument
 * names, or of all requests if the argument is NULL. Errors: 22023 if there is
 * no such request.
 */
static Datum
reset_stats(PG_FUNCTION_ARGS)
{
	if (mine == NULL)
		stats_attach();
	if (!PG_ARGISNULL(0))
		counters_reset(&mine->request[find_request(text_to_cstring(PG_GETARG_TEXT_PP(0)))]);
	else
		for (int r = 0; r < N_REQUESTS; r++)
			counters_reset(&mine->request[r]);
	PG_RETURN_VOID();
}

/*
 * blogstore.request_names(): return the names of the SQL functions of all
 * requests, for grant_requests() and create_api().
 */
Datum
blogstore_request_names(PG_FUNCTION_ARGS)
{
	Datum		name[N_REQUESTS];

	for (int r = 0; r < N_REQUESTS; r++)
		name[r] = CStringGetTextDatum(request_names[r][1]);
	PG_RETURN_ARRAYTYPE_P(construct_array(name, N_REQUESTS, TEXTOID, -1, false,
										  TYPALIGN_INT));
}
