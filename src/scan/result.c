/*
 * result.c
 *		Scans whose rows are the result of a statement as they are.
 *
 * To begin a scan the server works out what its rows look like, by two lists: what
 * it gives, and what its plan node makes of that. Each column is looked up in the
 * catalogs for either, which costs a tenth of reading one row. At the top of a plan
 * nobody but the scan itself asks for the second list. Where that says no more than
 * the first it is taken out of the finished plan, and the scan has the one description
 * stand for both.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "scan/internal.h"
#include "scan/scan.h"

#include "nodes/primnodes.h"
#include "nodes/value.h"
#include "optimizer/planner.h"

static planner_hook_type previous_planner = NULL;

/* Does a node give the columns of the scan, in their order, and nothing else? */
static bool
gives_columns(const CustomScan *scan)
{
	const List *result = scan->scan.plan.targetlist;
	ListCell   *cell;
	int			n = 0;

	foreach(cell, result)
	{
		const TargetEntry *entry = lfirst(cell);
		const Var  *var = (const Var *) entry->expr;

		n++;
		if (entry->resjunk || entry->resno != n || !IsA(var, Var) ||
			var->varno != INDEX_VAR || var->varattno != n)
			return false;
	}
	return n > 0 && n == list_length(scan->custom_scan_tlist);
}

/* Have the scan's columns stand for those of its node, under their names. */
static void
merge_lists(CustomScan *scan)
{
	ListCell   *given;
	ListCell   *wanted;

	forboth(given, scan->custom_scan_tlist, wanted, scan->scan.plan.targetlist)
		((TargetEntry *) lfirst(given))->resname =
			((TargetEntry *) lfirst(wanted))->resname;
	scan->scan.plan.targetlist = NIL;
	scan->custom_private = lappend(scan->custom_private,
								   makeInteger(SCAN_IS_RESULT));
}

/* The hook: the finished plan of a statement. */
static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int options,
			   ParamListInfo params)
{
	PlannedStmt *stmt = previous_planner ?
		previous_planner(parse, query_string, options, params) :
		standard_planner(parse, query_string, options, params);
	CustomScan *scan = (CustomScan *) stmt->planTree;

	if (stmt->commandType == CMD_SELECT && IsA(scan, CustomScan) &&
		scan->methods->CreateCustomScanState == scan_create_state &&
		scan->scan.plan.qual == NIL && gives_columns(scan))
		merge_lists(scan);
	return stmt;
}

/* Have the planner hand finished plans over; called once by scan_init(). */
void
scan_result_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_statement;
}
