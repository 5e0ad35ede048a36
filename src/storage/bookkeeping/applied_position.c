/*
 * applied_position.c
 *		Up to where in the WAL the worker has applied changes to the views:
 *		the one row of blogstore.change_feed.
 *
 * The worker writes the row about once a second, before it advances its
 * replication slot to that position. It does not need the row to continue
 * after a crash, because it applies the present state of posts, not changes.
 * When the worker starts, the row shows whether the slot is still the one with
 * which the views were maintained. The slot may have been recreated or
 * advanced by hand, or the server may be a promoted standby whose slot is
 * ahead of the WAL that it had received.
 *
 * Runs in the worker and in backends.
 */
#include "postgres.h"

#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_type.h"
#include "utils/pg_lsn.h"

static KeptPlan read_plan = {
	ON_CHANGE_FEED,
	"SELECT applied_lsn::pg_lsn, applied_at::timestamptz, timeline::bigint,"
	" system_identifier::bigint, layout::bigint FROM " CHANGE_FEED_SQL,
	0, {0}, NULL
};

static KeptPlan write_plan = {
	ON_CHANGE_FEED,
	"INSERT INTO " CHANGE_FEED_SQL " (only_row, applied_lsn, applied_at,"
	" timeline, system_identifier, layout) VALUES (true, $1, $2, $3, $4, $5)"
	" ON CONFLICT (only_row) DO UPDATE SET applied_lsn = $1, applied_at = $2,"
	" timeline = $3, system_identifier = $4, layout = $5",
	5, {PG_LSNOID, TIMESTAMPTZOID, INT8OID, INT8OID, INT8OID}, NULL
};

static KeptPlan forget_plan = {
	ON_CHANGE_FEED,
	"DELETE FROM " CHANGE_FEED_SQL, 0, {0}, NULL
};

/*
 * Read the row with the active snapshot; if there is none, all fields become
 * zero. Errors: 42501, 55000. Locks: those of plan_execute().
 */
void
applied_position_read(AppliedPosition *position)
{
	memset(position, 0, sizeof(*position));
	SPI_connect();
	plan_execute(&read_plan, NULL, NULL, true);
	if (SPI_processed > 0)
	{
		HeapTuple	row = SPI_tuptable->vals[0];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;

		position->applied_lsn = DatumGetLSN(SPI_getbinval(row, desc, 1, &isnull));
		position->applied_at =
			DatumGetTimestampTz(SPI_getbinval(row, desc, 2, &isnull));
		position->timeline = DatumGetInt64(SPI_getbinval(row, desc, 3, &isnull));
		position->system_identifier =
			DatumGetInt64(SPI_getbinval(row, desc, 4, &isnull));
		position->layout = DatumGetInt64(SPI_getbinval(row, desc, 5, &isnull));
	}
	SPI_finish();
}

/*
 * Insert or update the row. Errors: 42501, 55000. Locks: those of
 * plan_execute().
 */
void
applied_position_write(const AppliedPosition *position)
{
	Datum		values[] = {
		LSNGetDatum(position->applied_lsn),
		TimestampTzGetDatum(position->applied_at),
		Int64GetDatum(position->timeline),
		Int64GetDatum(position->system_identifier),
		Int64GetDatum(position->layout)
	};

	SPI_connect();
	plan_execute(&write_plan, values, NULL, false);
	SPI_finish();
}

/*
 * Delete the row, so that it is not known up to where changes were applied.
 * Errors: 42501, 55000. Locks: those of plan_execute().
 */
void
applied_position_forget(void)
{
	SPI_connect();
	plan_execute(&forget_plan, NULL, NULL, false);
	SPI_finish();
}
