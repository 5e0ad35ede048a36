/*
 * retained_wal.c
 *		How much WAL a replication slot retains, and the oldest open
 *		transaction that has written.
 *
 * Logical decoding reads each transaction as a whole. So a slot retains all
 * WAL from the beginning of the oldest open transaction that has written. This
 * transaction may be in any database of the server. The creation of a slot
 * waits for the end of all transactions that were open when the creation
 * began.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/retained_wal.h"
#include "base/settings.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#define SLOT_WAL_SQL \
	"SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()" \
	" THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END," \
	" CASE WHEN wal_status <> 'lost' THEN restart_lsn END)::bigint," \
	" wal_status, safe_wal_size" \
	" FROM pg_replication_slots WHERE slot_name = $1"

/*
 * Selects a description of the oldest open transaction that has written, and
 * whether it is older than 30 s. xact_start is null if the transaction's
 * process has track_activities = off.
 */
#define OLDEST_WRITER_SQL \
	"SELECT described || coalesce(date_trunc('second', began)::text, 'an unknown time')," \
	" coalesce(began < clock_timestamp() - interval '30 s', true)" \
	" FROM (SELECT format('process %s in database \"%s\", open since ', pid, datname), xact_start, backend_xid" \
	" FROM pg_stat_activity WHERE backend_xid IS NOT NULL" \
	" UNION ALL SELECT format('prepared transaction \"%s\" in database \"%s\", prepared at ', gid, database), prepared, transaction" \
	" FROM pg_prepared_xacts) AS writer (described, began, xid)" \
	" ORDER BY age(xid) DESC LIMIT 1"

/*
 * Run a query on system views, and store the columns of its first row in value
 * and isnull. Returns false if the query has no rows.
 *
 * The query runs as a superuser. Otherwise the server would show the
 * transactions of other roles only to members of pg_read_all_stats. A role
 * that reads stat_worker need not be a member.
 *
 * argument: the value of $1
 * value, isnull: receive the n columns
 */
static bool
read_server_view(const char *sql, const char *argument, int n, Datum *value,
				 bool *isnull)
{
	Oid			type = NAMEOID;
	Datum		name = DirectFunctionCall1(namein, CStringGetDatum(argument));
	int			nest = NewGUCNestLevel();
	Oid			user;
	int			sec_context;
	bool		found;

	GetUserIdAndSecContext(&user, &sec_context);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID,
						   sec_context | SECURITY_LOCAL_USERID_CHANGE);
	setting_change("search_path", SAFE_SEARCH_PATH);
	SPI_connect();
	if (SPI_execute_with_args(sql, 1, &type, &name, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not run \"%s\"", sql);
	found = SPI_processed > 0;
	for (int i = 0; i < n && found; i++)
	{
		Form_pg_attribute att = TupleDescAttr(SPI_tuptable->tupdesc, i);

		value[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
								 i + 1, &isnull[i]);
		if (!isnull[i])
			value[i] = SPI_datumTransfer(value[i], att->attbyval, att->attlen);
	}
	SPI_finish();
	AtEOXact_GUC(true, nest);
	SetUserIdAndSecContext(user, sec_context);
	return found;
}

/*
 * Read three values of a slot: how many bytes of WAL it retains, and the
 * columns wal_status and safe_wal_size of pg_replication_slots. If the slot
 * has lost WAL, the first value is NULL. Changes nothing if the slot does not
 * exist.
 *
 * value, isnull: receive the N_SLOT_WAL values
 */
void
slot_wal_read(const char *slot, Datum *value, bool *isnull)
{
	(void) read_server_view(SLOT_WAL_SQL, slot, N_SLOT_WAL, value, isnull);
}

/*
 * Return a description of the oldest open transaction of the server that has
 * written. The description names the process, or the gid of a prepared
 * transaction; the database; and when the transaction began or was prepared.
 * Returns NULL if there is no such transaction.
 *
 * old: set to whether the transaction has been open, or prepared, for more
 * than 30 s or an unknown time
 */
char *
oldest_writer(bool *old)
{
	Datum		value[2];
	bool		isnull[2];

	if (!read_server_view(OLDEST_WRITER_SQL, "", lengthof(value), value, isnull))
		return NULL;
	*old = DatumGetBool(value[1]);
	return TextDatumGetCString(value[0]);
}
