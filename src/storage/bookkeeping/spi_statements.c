/*
 * spi_statements.c
 *		Runs statements on the bookkeeping tables and the containers through
 *		SPI: prepared statements, and statements over whole containers.
 *
 * A statement runs between guard_enter() and guard_leave() (guard.c), for two
 * reasons. First, names without a schema are then looked up in pg_catalog,
 * whatever the search_path of the session is. Second, code of the owner, such
 * as a trigger, can then do no harm. Such code can run when a statement writes
 * to a container, or is planned.
 *
 * Runs in any process, as the containers' owner. Except for plan_run(), the
 * functions are called between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/settings.h"
#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/bookkeeping/bookkeeping_tables.h"
#include "storage/bookkeeping/spi_statements.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/syscache.h"

/*
 * Raise an error (55000) if row-level security hides rows of a table from the
 * current user, who owns the table. blogstore must see all rows.
 */
static void
table_shows_all(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		forced;

	if (!HeapTupleIsValid(tuple))
		return;
	forced = ((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity &&
		((Form_pg_class) GETSTRUCT(tuple))->relforcerowsecurity;
	ReleaseSysCache(tuple);
	if (forced && !has_bypassrls_privilege(GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("policies on \"%s\" would hide rows from blogstore",
						get_rel_name(relid)),
				 errhint("Run ALTER TABLE ... NO FORCE ROW LEVEL SECURITY."),
				 err_fields(get_rel_name(relid), NULL, RULE_UNALTERED)));
}

/*
 * Lock a container that a statement names. Raise an error (55000) if the
 * container is not as blogstore made it, or row-level security hides rows.
 * Locks: AccessShareLock on the container's table and on all tables below it,
 * to the end of the transaction.
 */
static void
lock_container(Container container)
{
	container_lock(container, false);
	container_require_columns(container);
	container_require_whole(container);
	table_shows_all(container_table_oid(container));
}

static void
lock_bookkeeping(Bookkeeping table, bool write)
{
	table_shows_all(bookkeeping_lock(table, write));
}

/*
 * Lock and check all tables that the statements of an import name. Errors:
 * 55000. Locks: those of lock_container() and bookkeeping_lock().
 */
void
tables_lock_for_import(void)
{
	lock_container(CONTAINER_USERS);
	lock_container(CONTAINER_POSTS);
	lock_bookkeeping(BOOK_USERNAMES, true);
	lock_bookkeeping(BOOK_JOBS, false);
}

/*
 * Lock and check the containers and bookkeeping tables that a statement names.
 * Also check the code that the owner has attached to the containers. Errors:
 * 55000.
 */
static void
lock_tables(const KeptPlan *plan, bool write)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (plan->tables & ON_CONTAINER(c))
		{
			lock_container(c);
			container_require_served(c, write);
		}
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (plan->tables & ON_BOOKKEEPING(t))
			lock_bookkeeping(t, write);
}

/*
 * Return the tables of blogstore that a prepared statement names, as a bit
 * mask like KeptPlan.tables.
 */
static int
tables_named(SPIPlanPtr made)
{
	int			tables = 0;
	ListCell   *lc;

	foreach(lc, SPI_plan_get_plan_sources(made))
	{
		List	   *relids = ((CachedPlanSource *) lfirst(lc))->relationOids;

		for (int c = 0; c < N_CONTAINERS; c++)
			if (list_member_oid(relids, container_table_lookup(c)))
				tables |= ON_CONTAINER(c);
		for (int t = 0; t < N_BOOKKEEPING; t++)
			if (list_member_oid(relids, bookkeeping_lookup(t)))
				tables |= ON_BOOKKEEPING(t);
	}
	return tables;
}

static SPIPlanPtr
prepare(KeptPlan *plan)
{
	SPIPlanPtr	made = SPI_prepare(plan->sql, plan->nargs, plan->argtypes);

	if (made == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", plan->sql,
			 SPI_result_code_string(SPI_result));
	/* The caller has locked and checked only the tables in plan->tables. */
	if (tables_named(made) != plan->tables)
		elog(ERROR, "statement \"%s\" is on other tables than it says",
			 plan->sql);
	return made;
}

static void
prepare_kept(KeptPlan *plan)
{
	SPIPlanPtr	made;

	if (plan->plan != NULL)
		return;
	made = prepare(plan);
	if (SPI_keepplan(made) != 0)
		elog(ERROR, "could not keep \"%s\"", plan->sql);
	plan->plan = made;
}

static void
check_result(const KeptPlan *plan, int rc)
{
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", plan->sql,
			 SPI_result_code_string(rc));
}

/*
 * Run a statement, and keep its plan for the session. Returns the result code
 * of SPI_execute_plan(), which is not negative. The rows are in SPI_tuptable.
 *
 * values, nulls: the statement's parameters, as for SPI_execute_plan()
 * read_only: true if the statement only reads; it uses the active snapshot
 *
 * Errors: 55000, and those of the statement. Locks, to the end of the
 * transaction: RowExclusiveLock on each table that the statement names, or
 * AccessShareLock if it only reads.
 */
int
plan_execute(KeptPlan *plan, Datum *values, const char *nulls, bool read_only)
{
	int			rc;
	Guard	   *guard;

	lock_tables(plan, !read_only);
	guard = guard_enter();
	prepare_kept(plan);
	rc = SPI_execute_plan(plan->plan, values, nulls, read_only, 0);
	check_result(plan, rc);
	guard_leave(guard);
	return rc;
}

/*
 * Run a statement whose result rows are not needed, and keep its plan. Calls
 * SPI_connect() and SPI_finish() itself. Returns how many rows the statement
 * has found or changed. Arguments, errors and locks: those of plan_execute().
 */
uint64
plan_run(KeptPlan *plan, Datum *values, const char *nulls, bool read_only)
{
	uint64		rows;

	SPI_connect();
	plan_execute(plan, values, nulls, read_only);
	rows = SPI_processed;
	SPI_finish();
	return rows;
}

/*
 * Get a uuid from a column of a row in SPI_tuptable. If the column is NULL,
 * returns false and sets *out to zeros.
 */
bool
row_uuid(HeapTuple row, TupleDesc desc, int column, pg_uuid_t *out)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, column, &isnull);

	memset(out, 0, sizeof(*out));
	if (!isnull)
		*out = *DatumGetUUIDP(value);
	return !isnull;
}

/*
 * Run a SELECT without parameters, with the active snapshot, and send each
 * result row to "dest" at once. The plan is kept. Errors and locks: those of
 * plan_execute().
 */
void
plan_send(KeptPlan *plan, DestReceiver *dest)
{
	SPIExecuteOptions options = {.read_only = true,.dest = dest};
	Guard	   *guard;

	lock_tables(plan, false);
	guard = guard_enter();
	prepare_kept(plan);
	check_result(plan, SPI_execute_plan_extended(plan->plan, &options));
	guard_leave(guard);
}

/*
 * Run a SELECT like plan_send(). The plan is not kept, because the text of the
 * statement changes between calls. Errors and locks: those of plan_execute().
 */
void
plan_send_once(KeptPlan *plan, DestReceiver *dest)
{
	SPIExecuteOptions options = {.read_only = true,.dest = dest};
	Guard	   *guard;
	SPIPlanPtr	made;

	lock_tables(plan, false);
	guard = guard_enter();
	made = prepare(plan);
	check_result(plan, SPI_execute_plan_extended(made, &options));
	guard_leave(guard);
	SPI_freeplan(made);
}

/*
 * Run a statement over whole containers. The statement is planned with the
 * values of its parameters, so that partitions are pruned. The plan is not
 * kept, because it is large. The result rows are in SPI_tuptable. Errors and
 * locks: those of plan_execute().
 */
void
plan_execute_once(KeptPlan *plan, Datum *values, bool read_only)
{
	int			nest = NewGUCNestLevel();
	int			share;
	Guard	   *guard;
	SPIPlanPtr	made;

	/*
	 * Nested loops and merge joins are slow over whole containers, but the
	 * planner would choose them for tables without statistics. Partitionwise
	 * plans and JIT compilation cost more than they save.
	 */
	setting_change("enable_nestloop", "off");
	setting_change("enable_mergejoin", "off");
	setting_change("enable_partitionwise_join", "off");
	setting_change("enable_partitionwise_aggregate", "off");
	setting_change("jit", "off");
	/*
	 * About a dozen plan nodes can each use work_mem at the same time.
	 * Together they should use about maintenance_work_mem.
	 */
	share = maintenance_work_mem / 8;
	if (work_mem < share)
		setting_change("work_mem", psprintf("%dkB", share));
	setting_change("hash_mem_multiplier", "1");
	lock_tables(plan, !read_only);
	guard = guard_enter();
	made = prepare(plan);
	check_result(plan, SPI_execute_plan(made, values, NULL, read_only, 0));
	guard_leave(guard);
	SPI_freeplan(made);
	AtEOXact_GUC(true, nest);
}
