/*
 * applied_position.c
 *		How far the worker has applied changes to the views. The only row of
 *		blogstore.change_feed has this WAL position.
 *
 * The worker writes the row about once a second, before it advances its
 * replication slot to the same position. After a crash, the row can lag behind
 * the views. A change can then be applied twice. That does no harm, because
 * the worker always writes the present state of a post.
 *
 * When the worker starts, it compares the row with the slot, to find out
 * whether changes were lost. Changes are lost if the slot was recreated or
 * advanced by hand. On a promoted standby, the slot can be a copy of the old
 * primary's slot. Changes are lost if this copy is ahead of the WAL that the
 * standby had received.
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
	"UPDATE " CHANGE_FEED_SQL " SET applied_lsn = '0/0' WHERE applied_lsn <> '0/0'",
	0, {0}, NULL
};

/*
 * Read the worker's position from blogstore.change_feed, with the active
 * snapshot. All fields become zero if the table is empty. Errors: 42501,
 * 55000. Locks: those of plan_execute().
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
 * Write the worker's position to blogstore.change_feed. Errors: 42501, 55000.
 * Locks: those of plan_execute().
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
 * Clear the worker's position in blogstore.change_feed. Called when the slot
 * is dropped on purpose, so that the next worker does not report a lost slot.
 * The row stays. Without it, the next worker would take the containers for new
 * ones, of which no change can have been missed. Errors: 42501, 55000. Locks:
 * those of plan_execute().
 */
void
applied_position_forget(void)
{
	SPI_connect();
	plan_execute(&forget_plan, NULL, NULL, false);
	SPI_finish();
}
