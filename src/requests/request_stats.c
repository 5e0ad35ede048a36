/*
 * request_stats.c
 *		Counting the cost of requests, for the view blogstore.stat_requests.
 *
 * Each process counts in its own slot in shared memory. No other process
 * writes to the slot, so counting a request takes two clock readings and no
 * lock. The view adds up the slots of all processes in its database. A process
 * that exits adds its slot to the database's totals.
 *
 * Each database has an epoch, a number that is incremented when the counters
 * are reset. A slot stores the epoch that the database had when the slot was
 * last zeroed. If the database's epoch has changed since, the view ignores the
 * slot, and the process of the slot zeroes it at its next request.
 *
 * Runs in every process that serves requests.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "base/settings.h"
#include "requests/request_stats.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

SQL_FUNCTION(get_request_stats);
SQL_FUNCTION(reset_request_stats);
PG_FUNCTION_INFO_V1(blogstore_request_names);

/*
 * The view stat_requests shows the cost of each request in request units. One
 * unit is the cost of reading an item of 1 kB by its key, which takes
 * BUFFERS_PER_UNIT buffers. Writing 1 kB of WAL costs UNITS_PER_WAL_KB units,
 * which is about what document stores charge for writes in comparison with
 * reads.
 */
#define BUFFERS_PER_UNIT 4.0
#define UNITS_PER_WAL_KB 5.0

typedef enum RequestMeasure
{
	MEASURE_CALLS,
	MEASURE_TIME,				/* in nanoseconds, as MEASURE_MAX_TIME */
	MEASURE_MAX_TIME,
	MEASURE_HIT,
	MEASURE_READ,
	MEASURE_WAL,
	N_MEASURES
} RequestMeasure;

typedef struct RequestCounters
{
	pg_atomic_uint64 value[N_REQUESTS][N_MEASURES];
} RequestCounters;

/* The totals of a database. All members are protected by StatsShared.lock. */
typedef struct StatsDatabase
{
	Oid			dbid;			/* the database; InvalidOid in an unused
								 * entry */
	pg_atomic_uint32 epoch;		/* number of resets so far; readers need no
								 * lock */
	TimestampTz reset_at;
	RequestCounters ended;		/* counters of the processes that have exited
								 * since the last reset */
} StatsDatabase;

/* The counters of one process. Only this process writes to them. */
typedef struct StatsSlot
{
	pg_atomic_uint32 database;	/* index in StatsShared.database, plus one; 0
								 * in an unused slot */
	pg_atomic_uint32 epoch;
	RequestCounters counters;
} StatsSlot;

typedef struct StatsShared
{
	LWLock	   *lock;
	StatsDatabase database[MAX_DATABASES];
	StatsSlot	slot[FLEXIBLE_ARRAY_MEMBER];	/* by proc number */
} StatsShared;

static const char *const request_names[N_REQUESTS][2] = {
#define COMMAND(constant, code, name) [constant] = {code, #name},
#define QUERY COMMAND
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY
};

static StatsShared *shared = NULL;
static StatsSlot own_slot;		/* counters of this process if my_database is
								 * NULL */
static StatsSlot *mine = NULL;	/* the counters of this process: its slot in
								 * shared memory or own_slot; NULL until its
								 * first request */
static StatsDatabase *my_database = NULL;

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static Size
stats_size(void)
{
	return add_size(offsetof(StatsShared, slot),
					mul_size(sizeof(StatsSlot), MaxBackends));
}

static void
stats_shmem_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(stats_size());
	RequestNamedLWLockTranche("blogstore requests", 1);
}

static void
counters_zero(RequestCounters *counters)
{
	for (int r = 0; r < N_REQUESTS; r++)
		for (int m = 0; m < N_MEASURES; m++)
			pg_atomic_write_u64(&counters->value[r][m], 0);
}

static void
stats_shmem_startup(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("blogstore requests", stats_size(), &found);
	if (!found)
	{
		memset(shared, 0, stats_size());
		shared->lock = &GetNamedLWLockTranche("blogstore requests")->lock;
		for (int i = 0; i < MAX_DATABASES; i++)
		{
			pg_atomic_init_u32(&shared->database[i].epoch, 0);
			counters_zero(&shared->database[i].ended);
		}
		for (int i = 0; i < MaxBackends; i++)
		{
			pg_atomic_init_u32(&shared->slot[i].database, 0);
			pg_atomic_init_u32(&shared->slot[i].epoch, 0);
			counters_zero(&shared->slot[i].counters);
		}
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

/* Add counters to *sum. Of MEASURE_MAX_TIME, take the maximum. */
static void
counters_add(RequestCounters *sum, RequestCounters *counters)
{
	for (int r = 0; r < N_REQUESTS; r++)
		for (int m = 0; m < N_MEASURES; m++)
		{
			uint64		a = pg_atomic_read_u64(&sum->value[r][m]);
			uint64		b = pg_atomic_read_u64(&counters->value[r][m]);

			pg_atomic_write_u64(&sum->value[r][m],
								m == MEASURE_MAX_TIME ? Max(a, b) : a + b);
		}
}

/*
 * Return the totals of this database, or NULL if StatsShared has no room for
 * another database. The caller holds StatsShared.lock exclusively.
 */
static StatsDatabase *
find_database(void)
{
	StatsDatabase *unused = NULL;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		StatsDatabase *database = &shared->database[i];

		if (database->dbid == MyDatabaseId)
			return database;
		if (database->dbid == InvalidOid && unused == NULL)
			unused = database;
	}
	if (unused != NULL)
	{
		unused->dbid = MyDatabaseId;
		unused->reset_at = GetCurrentTimestamp();
	}
	return unused;
}

/*
 * before_shmem_exit callback: add this process's counters to the totals of the
 * database, unless the totals have been reset since this process last zeroed
 * its slot.
 */
static void
stats_detach(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (pg_atomic_read_u32(&mine->epoch) ==
		pg_atomic_read_u32(&my_database->epoch))
		counters_add(&my_database->ended, &mine->counters);
	pg_atomic_write_u32(&mine->database, 0);
	LWLockRelease(shared->lock);
	mine = &own_slot;
	my_database = NULL;
}

/*
 * Choose the counters that this process increases: its slot in shared memory,
 * or, if StatsShared has no room for this database's totals, own_slot. Zero
 * the slot.
 */
static void
stats_attach(void)
{
	mine = &own_slot;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	my_database = find_database();
	if (my_database != NULL)
	{
		mine = &shared->slot[compat_proc_number()];
		counters_zero(&mine->counters);
		pg_atomic_write_u32(&mine->epoch,
							pg_atomic_read_u32(&my_database->epoch));
		pg_atomic_write_u32(&mine->database,
							my_database - shared->database + 1);
	}
	LWLockRelease(shared->lock);
	if (my_database != NULL)
		before_shmem_exit(stats_detach, (Datum) 0);
}

/*
 * Begin to measure a request: store the values of the clock and of the
 * server's counters.
 */
void
stats_begin(RequestStart *start)
{
	start->counted = blogstore_track_requests;
	if (!start->counted)
		return;
	start->hit = pgBufferUsage.shared_blks_hit;
	start->read = pgBufferUsage.shared_blks_read;
	start->wal = pgWalUsage.wal_bytes;
	INSTR_TIME_SET_CURRENT(start->time);
}

/* Increase a counter to which only this process writes. */
static inline void
grow(pg_atomic_uint64 *value, uint64 by)
{
	pg_atomic_write_u64(value, pg_atomic_read_u64(value) + by);
}

/*
 * Add the cost of a request to this process's counters. The request has ended
 * without an error, and stats_pause() has been called.
 */
void
stats_add(const RequestStart *spent, Request request)
{
	uint64		took;
	pg_atomic_uint64 *value;

	if (!spent->counted)
		return;
	took = compat_nanoseconds(spent->time);
	if (mine == NULL)
		stats_attach();
	if (my_database != NULL && unlikely(pg_atomic_read_u32(&mine->epoch) !=
										pg_atomic_read_u32(&my_database->epoch)))
	{
		counters_zero(&mine->counters);
		pg_atomic_write_u32(&mine->epoch,
							pg_atomic_read_u32(&my_database->epoch));
	}
	value = mine->counters.value[request];
	grow(&value[MEASURE_CALLS], 1);
	grow(&value[MEASURE_TIME], took);
	if (took > pg_atomic_read_u64(&value[MEASURE_MAX_TIME]))
		pg_atomic_write_u64(&value[MEASURE_MAX_TIME], took);
	grow(&value[MEASURE_HIT], spent->hit);
	grow(&value[MEASURE_READ], spent->read);
	grow(&value[MEASURE_WAL], spent->wal);
}

void
stats_end(RequestStart *start, Request request)
{
	stats_pause(start);
	stats_add(start, request);
}

/*
 * Add up the counters of all processes in this database. Returns the time of
 * the last reset.
 */
static TimestampTz
stats_sum(RequestCounters *sum)
{
	TimestampTz since = MyStartTimestamp;

	counters_zero(sum);
	if (mine == NULL)
		stats_attach();
	if (my_database == NULL)
	{
		counters_add(sum, &own_slot.counters);
		return since;
	}
	LWLockAcquire(shared->lock, LW_SHARED);
	since = my_database->reset_at;
	counters_add(sum, &my_database->ended);
	for (int i = 0; i < MaxBackends; i++)
	{
		StatsSlot  *slot = &shared->slot[i];

		if (pg_atomic_read_u32(&slot->database) ==
			(uint32) (my_database - shared->database + 1) &&
			pg_atomic_read_u32(&slot->epoch) ==
			pg_atomic_read_u32(&my_database->epoch))
			counters_add(sum, &slot->counters);
	}
	LWLockRelease(shared->lock);
	return since;
}

static Datum
get_request_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	RequestCounters *sum = palloc(sizeof(RequestCounters));
	TimestampTz since;

	InitMaterializedSRF(fcinfo, 0);
	since = stats_sum(sum);
	for (int r = 0; r < N_REQUESTS; r++)
	{
		uint64		v[N_MEASURES];
		Datum		values[11];
		bool		nulls[11] = {false};

		for (int m = 0; m < N_MEASURES; m++)
			v[m] = pg_atomic_read_u64(&sum->value[r][m]);
		nulls[0] = request_names[r][0] == NULL;
		if (!nulls[0])
			values[0] = CStringGetTextDatum(request_names[r][0]);
		values[1] = CStringGetTextDatum(request_names[r][1]);
		values[2] = Int64GetDatum(v[MEASURE_CALLS]);
		values[3] = Float8GetDatum(v[MEASURE_TIME] / 1e6);
		values[4] = Float8GetDatum(v[MEASURE_MAX_TIME] / 1e6);
		values[5] = Int64GetDatum(v[MEASURE_HIT]);
		values[6] = Int64GetDatum(v[MEASURE_READ]);
		values[7] = Int64GetDatum(v[MEASURE_WAL]);
		values[8] = Float8GetDatum((v[MEASURE_HIT] + v[MEASURE_READ]) / BUFFERS_PER_UNIT +
								   v[MEASURE_WAL] / 1024.0 * UNITS_PER_WAL_KB);
		nulls[9] = v[MEASURE_CALLS] == 0;
		if (!nulls[9])
			values[9] = Float8GetDatum(DatumGetFloat8(values[8]) / v[MEASURE_CALLS]);
		values[10] = TimestampTzGetDatum(since);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static Datum
reset_request_stats(PG_FUNCTION_ARGS)
{
	if (mine == NULL)
		stats_attach();
	if (my_database == NULL)
	{
		counters_zero(&own_slot.counters);
		PG_RETURN_VOID();
	}
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	pg_atomic_fetch_add_u32(&my_database->epoch, 1);
	counters_zero(&my_database->ended);
	my_database->reset_at = GetCurrentTimestamp();
	LWLockRelease(shared->lock);
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
