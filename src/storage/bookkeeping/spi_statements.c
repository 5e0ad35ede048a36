/*
 * spi_statements.c
 *		Statements on the bookkeeping tables and the containers, by SPI: prepared ones, and
 *		such as go through all items.
 *
 * A statement runs in a guard: names in it are those of pg_catalog, whatever
 * search_path the caller of the request has, and a statement that writes to a
 * container, or has to plan for one, can run what the owner has attached to it.
 *
 * Runs in any process, as the containers' owner; but for plan_run(), between
 * SPI_connect() and SPI_finish().
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
 * Errors: 42501 if policies on a table hold for its owner, too: statements would
 * silently take rows that they hide for missing.
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
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("policies on \"%s\" would hide rows from blogstore",
						get_rel_name(relid)),
				 errhint("Say ALTER TABLE ... NO FORCE ROW LEVEL SECURITY.")));
}

/*
 * Lock a container that a statement names, so that it is, and stays, what blogstore
 * has made, and shows all its rows. Errors: 42501, 55000.
 */
static void
lock_container(Container container)
{
	container_lock(container, false);
	container_require_columns(container);
	container_require_whole(container);
	table_shows_all(container_table_oid(container));
}

/*
 * Lock a table of the bookkeeping that a statement names, so that it is, and stays,
 * what blogstore has made, and shows all its rows. Errors: 42501, 55000.
 */
static void
lock_bookkeeping(Bookkeeping table, bool write)
{
	table_shows_all(bookkeeping_lock(table, write));
}

/*
 * Lock all tables that an import's statements name, so that each is, and stays, what
 * blogstore has made, and shows all its rows. Errors: 42501, 55000.
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
 * Lock the tables that a plan's statement is on, and be sure that it runs no code attached to
 * them that must not be run. Errors: 42501, 55000.
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

/* Which of blogstore's tables does a prepared statement name? */
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

/* Prepare a plan's statement for this connection to SPI. Its tables are locked. */
static SPIPlanPtr
prepare(KeptPlan *plan)
{
	SPIPlanPtr	made = SPI_prepare(plan->sql, plan->nargs, plan->argtypes);

	if (made == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", plan->sql,
			 SPI_result_code_string(SPI_result));
	/* what it does not say that it is on could be anybody's */
	if (tables_named(made) != plan->tables)
		elog(ERROR, "statement \"%s\" is on other tables than it says",
			 plan->sql);
	return made;
}

/* Prepare a plan's statement for good, if that has not been done. Its tables are locked. */
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

/* Raise an error if SPI's result code of a plan's statement is negative. */
static void
check_result(const KeptPlan *plan, int rc)
{
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", plan->sql,
			 SPI_result_code_string(rc));
}

/* Run a kept plan; returns SPI's result code, raises an error if negative. */
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
 * Run a kept plan whose rows nobody looks at; returns how many it found or
 * changed. Connects to SPI itself.
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

/* A uuid in a column of a plan's row; false, and all zero, if it is NULL. */
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
 * Run a kept plan without arguments, which reads, by the active snapshot, and
 * have its rows go to dest as they come.
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

/* As plan_send(), but the plan is not kept, because its statement changes between calls. */
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
 * Run a statement over whole containers: planned for its parameters, so that
 * only partitions that it can concern are opened, and not kept, for such a
 * plan is large. SPI has the result; locks and errors are those of plan_execute().
 */
void
plan_execute_once(KeptPlan *plan, Datum *values, bool read_only)
{
	int			nest = NewGUCNestLevel();
	int			share;
	Guard	   *guard;
	SPIPlanPtr	made;

	/*
	 * Row counts of tables that nobody has analysed lead to nested loops, and to sorts for
	 * merge joins; compiling expressions partition by partition costs more than it saves.
	 */
	setting_change("enable_nestloop", "off");
	setting_change("enable_mergejoin", "off");
	setting_change("enable_partitionwise_join", "off");
	setting_change("enable_partitionwise_aggregate", "off");
	setting_change("jit", "off");
	/* a dozen nodes keep what they have until the end: together what maintenance may take */
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
