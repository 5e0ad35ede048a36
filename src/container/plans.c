/*
 * plans.c
 *		Prepared statements on the bookkeeping tables (SPI).
 *
 * Runs in any process, between SPI_connect() and SPI_finish(), as the
 * containers' owner.
 */
#include "postgres.h"

#include "container/plans.h"

#include "utils/guc.h"

/*
 * Run a kept plan; returns SPI's result code, raises an error if negative.
 *
 * Names and operators are those of pg_catalog, whatever search_path the caller
 * of the request has: the statement runs with the rights of the owner.
 */
int
plan_execute(KeptPlan *plan, Datum *values, const char *nulls, bool read_only)
{
	int			rc;
	int			nest = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	if (plan->plan == NULL)
	{
		SPIPlanPtr	made = SPI_prepare(plan->sql, plan->nargs, plan->argtypes);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare \"%s\": %s", plan->sql,
				 SPI_result_code_string(SPI_result));
		plan->plan = made;
	}
	rc = SPI_execute_plan(plan->plan, values, nulls, read_only, 0);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", plan->sql,
			 SPI_result_code_string(rc));
	AtEOXact_GUC(true, nest);
	return rc;
}
