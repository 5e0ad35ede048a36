/*
 * plans.c
 *		Prepared statements on the bookkeeping tables (SPI).
 *
 * Runs in any process, between SPI_connect() and SPI_finish(), as the
 * containers' owner.
 */
#include "postgres.h"

#include "container/bookkeeping.h"
#include "container/plans.h"

#include "utils/guc.h"

/* Does a statement name a table of blogstore's schema? */
static bool
names_table(const char *sql, const char *table)
{
	char	   *name = psprintf(BLOGSTORE_SCHEMA ".%s", table);
	bool		names = strstr(sql, name) != NULL;

	pfree(name);
	return names;
}

/*
 * Lock the tables that a statement names, so that they are, and stay, those that
 * blogstore has made. Errors: 55000.
 */
static void
lock_tables(KeptPlan *plan)
{
	if (!plan->looked_at)
	{
		for (int t = 0; t < N_BOOKKEEPING; t++)
			plan->table[t] = names_table(plan->sql, bookkeeping_name(t));
		for (int c = 0; c < N_CONTAINERS; c++)
			plan->container[c] = names_table(plan->sql, container_table(c));
		plan->looked_at = true;
	}
	for (int c = 0; c < N_CONTAINERS; c++)
		if (plan->container[c])
			container_lock(c, false);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (plan->table[t])
			(void) bookkeeping_lock(t);
}

/* Prepare a plan's statement, if that has not been done. */
static void
prepare(KeptPlan *plan)
{
	SPIPlanPtr	made;

	if (plan->plan != NULL)
		return;
	made = SPI_prepare(plan->sql, plan->nargs, plan->argtypes);
	if (made == NULL || SPI_keepplan(made) != 0)
		elog(ERROR, "could not prepare \"%s\": %s", plan->sql,
			 SPI_result_code_string(SPI_result));
	plan->plan = made;
}

/*
 * What names in a statement mean from here on, until the GUC nest level that is
 * returned ends: those of pg_catalog, whatever search_path the caller of the
 * request has, since the statement runs with the rights of the owner.
 */
static int
own_names(void)
{
	int			nest = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	return nest;
}

/* Run a kept plan; returns SPI's result code, raises an error if negative. */
int
plan_execute(KeptPlan *plan, Datum *values, const char *nulls, bool read_only)
{
	int			rc;
	int			nest;

	lock_tables(plan);
	nest = own_names();
	prepare(plan);
	rc = SPI_execute_plan(plan->plan, values, nulls, read_only, 0);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", plan->sql,
			 SPI_result_code_string(rc));
	AtEOXact_GUC(true, nest);
	return rc;
}

/*
 * Run a kept plan without arguments, which reads, by the active snapshot, and
 * have its rows go to dest as they come.
 */
void
plan_send(KeptPlan *plan, DestReceiver *dest)
{
	SPIExecuteOptions options = {.read_only = true,.dest = dest};
	int			rc;
	int			nest;

	lock_tables(plan);
	nest = own_names();
	prepare(plan);
	rc = SPI_execute_plan_extended(plan->plan, &options);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", plan->sql,
			 SPI_result_code_string(rc));
	AtEOXact_GUC(true, nest);
}
