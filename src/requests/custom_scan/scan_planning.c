/*
 * scan_planning.c
 *		Planning a call of one of blogstore's queries in FROM as a custom scan.
 *
 * The server calls set_rel_pathlist_hook for each relation in FROM. If the
 * relation is a call of a query's SQL function, this file replaces the path of
 * the function scan by a custom path. The custom scan returns items as they
 * are read, stops at a LIMIT, and shows in EXPLAIN what it reads.
 *
 * Calls in a target list are not replaced. Nor are calls WITH ORDINALITY, or
 * in a ROWS FROM with two functions. A call is also not replaced if the server
 * would not call the library's C function directly. An example is an SQL
 * function to which its owner has added a SET clause.
 *
 * The plan node contains the function call. The plan therefore depends on the
 * function, and any change of the function invalidates the plan.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/settings.h"
#include "requests/custom_scan/custom_scan.h"
#include "requests/custom_scan/scan_node.h"
#include "requests/requests.h"
#include "requests/results/results.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/*
 * The largest number of rows that the planner expects of a page, even if the
 * argument page_size is larger.
 */
#define MAX_FULL_PAGE 1000

static set_rel_pathlist_hook_type previous_hook = NULL;

static CustomScanMethods scan_methods[N_QUERIES];

/*
 * Find the query whose C function is named in a row of pg_proc. Returns the
 * query's index in request_queries[], or -1 if there is none.
 */
static int
query_of_row(HeapTuple tuple)
{
	const char *prefix = "blogstore_request_";
	bool		isnull;
	Datum		source;
	char	   *symbol;

	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang != ClanguageId)
		return -1;
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	symbol = isnull ? "" : TextDatumGetCString(source);
	if (strncmp(symbol, prefix, strlen(prefix)) != 0)
		return -1;
	for (int i = 0; i < N_QUERIES; i++)
		if (strcmp(symbol + strlen(prefix), request_queries[i]->name) == 0)
			return i;
	return -1;
}

/*
 * Find the query that an SQL function runs. Returns the query's index in
 * request_queries[], or -1 if the function runs no query.
 *
 * The result is also -1 if the server does not call the library's C function
 * directly. This is so if the SQL function has a SET clause, if a plugin has a
 * hook around the call, or if the C function is in another library.
 */
static int
query_lookup(Oid funcid)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	int			number;
	FmgrInfo	flinfo;

	if (!HeapTupleIsValid(tuple))
		return -1;
	number = query_of_row(tuple);
	ReleaseSysCache(tuple);
	if (number < 0)
		return -1;
	fmgr_info(funcid, &flinfo);
	return flinfo.fn_addr == request_queries[number]->function &&
		flinfo.fn_retset && !flinfo.fn_strict &&
		flinfo.fn_nargs <= MAX_QUERY_ARGS ? number : -1;
}

/*
 * Return whether a custom scan can evaluate the arguments of a call. It cannot
 * if an argument is volatile: a custom scan evaluates it in each loop, but a
 * function scan only once. The planner has already put named arguments in
 * order and added defaults.
 */
static bool
arguments_fit(List *args)
{
	return !expression_returns_set((Node *) args) &&
		!contain_volatile_functions((Node *) args);
}

static bool
row_fits(const RequestQuery *query, const FuncExpr *call)
{
	TupleDesc	desc;
	bool		fits;

	if (get_typtype(call->funcresulttype) != TYPTYPE_COMPOSITE)
		return false;
	desc = lookup_rowtype_tupdesc_noerror(call->funcresulttype, -1, true);
	if (desc == NULL)
		return false;
	fits = row_type_fits(desc, query->type);
	ReleaseTupleDesc(desc);
	return fits;
}

/*
 * Return the function call that a relation in FROM consists of. Returns NULL
 * if the relation is not a function call, or has a form that a custom scan
 * cannot replace, such as WITH ORDINALITY.
 */
static FuncExpr *
single_call(const RangeTblEntry *rte)
{
	RangeTblFunction *function;
	FuncExpr   *call;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality ||
		list_length(rte->functions) != 1)
		return NULL;
	function = linitial(rte->functions);
	call = (FuncExpr *) function->funcexpr;
	if (call == NULL || !IsA(call, FuncExpr) || function->funccolnames != NIL ||
		!call->funcretset || call->funcvariadic)
		return NULL;
	return call;
}

/*
 * Find the query that a relation in FROM calls. Returns the query's index in
 * request_queries[], or -1 if a custom scan cannot replace the relation.
 */
static int
query_of(const RangeTblEntry *rte)
{
	FuncExpr   *call = single_call(rte);
	int			number;

	if (call == NULL || call->funcid < FirstNormalObjectId)
		return -1;
	number = query_lookup(call->funcid);
	if (number < 0 || !arguments_fit(call->args) ||
		!row_fits(request_queries[number], call))
		return -1;
	return number;
}

static int
list_size(const Const *list)
{
	ArrayType  *array = DatumGetArrayTypeP(list->constvalue);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (PointerGetDatum(array) != list->constvalue)
		pfree(array);
	return n;
}

/*
 * Return the factor by which to multiply "rows", the server's estimate of the
 * number of rows. The server's estimate does not depend on the arguments. The
 * product is the argument page_size (at most MAX_FULL_PAGE), or the number of
 * ids in the query's array argument. The factor is 1 if the planner does not
 * know the argument's value.
 */
static double
page_factor(const RequestQuery *query, const FuncExpr *call, double rows)
{
	const Const *arg;
	int			size;

	if ((query->page_size_arg == 0 && !query->by_ids) || rows < 1)
		return 1;
	arg = query->by_ids ? llast(call->args) :
		list_nth(call->args, query->page_size_arg - 1);
	if (!IsA(arg, Const) || arg->constisnull)
		return 1;
	if (query->by_ids)
		return Max(list_size(arg), 1) / rows;
	size = DatumGetInt32(arg->constvalue);
	return size < 1 ? 1 : Min(size, MAX_FULL_PAGE) / rows;
}

static void
scale_rows(RelOptInfo *rel, Path *path, double factor)
{
	rel->tuples = clamp_row_est(rel->tuples * factor);
	rel->rows = clamp_row_est(rel->rows * factor);
	if (path->param_info != NULL)
		path->param_info->ppi_rows =
			clamp_row_est(path->param_info->ppi_rows * factor);
	path->rows = clamp_row_est(path->rows * factor);
	path->total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) * factor;
}

static Plan *plan_scan(PlannerInfo *root, RelOptInfo *rel,
					   struct CustomPath *best_path, List *tlist, List *clauses,
					   List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "blogstore",
	.PlanCustomPath = plan_scan
};

/*
 * The function in set_rel_pathlist_hook: replace the path of a function scan
 * by a custom path, if the function is one of blogstore's queries.
 */
static void
scan_add_path(PlannerInfo *root, RelOptInfo *rel, Index rti,
			  RangeTblEntry *rte)
{
	Path	   *path;
	CustomPath *ours;
	int			number;

	if (previous_hook)
		previous_hook(root, rel, rti, rte);
	if (!blogstore_enable_custom_scan || list_length(rel->pathlist) != 1)
		return;
	path = linitial(rel->pathlist);
	if (path->pathtype != T_FunctionScan)
		return;
	number = query_of(rte);
	if (number < 0)
		return;

	ours = makeNode(CustomPath);
	ours->path = *path;
	ours->path.type = T_CustomPath;
	ours->path.pathtype = T_CustomScan;
	ours->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	ours->custom_private = list_make1(makeInteger(number));
	ours->methods = &path_methods;
	scale_rows(rel, &ours->path, page_factor(request_queries[number],
											 single_call(rte), rel->tuples));
	rel->pathlist = list_make1(ours);
}

/*
 * Find the columns of relation relid in "expressions". Add each column to the
 * lists *columns (of column numbers) and *tlist, unless they already contain
 * it.
 */
static void
add_columns(List **tlist, List **columns, Index relid, Node *expressions)
{
	List	   *vars = pull_var_clause(expressions, PVC_RECURSE_AGGREGATES |
									   PVC_RECURSE_WINDOWFUNCS |
									   PVC_RECURSE_PLACEHOLDERS);
	ListCell   *cell;

	foreach(cell, vars)
	{
		Var		   *var = lfirst(cell);

		if (var->varno != relid || var->varlevelsup != 0 ||
			list_member_int(*columns, var->varattno))
			continue;
		*columns = lappend_int(*columns, var->varattno);
		*tlist = lappend(*tlist,
						 makeTargetEntry((Expr *) copyObject(var),
										 list_length(*columns), NULL, false));
	}
	list_free(vars);
}

/*
 * PlanCustomPath callback: make the plan node. The scan returns the columns of
 * the target list first, in their order. So if the target list has nothing but
 * columns, the executor needs no projection.
 */
static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *best_path,
		  List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	int			number = intVal(linitial(best_path->custom_private));
	List	   *quals = extract_actual_clauses(clauses, false);
	List	   *columns = NIL;
	List	   *given = NIL;

	add_columns(&given, &columns, rel->relid, (Node *) tlist);
	add_columns(&given, &columns, rel->relid,
				(Node *) best_path->path.pathtarget->exprs);
	add_columns(&given, &columns, rel->relid, (Node *) rel->reltarget->exprs);
	add_columns(&given, &columns, rel->relid, (Node *) quals);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = quals;
	scan->scan.scanrelid = 0;
	scan->flags = best_path->flags;
	scan->custom_exprs =
		list_make1(copyObject(single_call(planner_rt_fetch(rel->relid, root))));
	scan->custom_private = list_make2(makeInteger(number), columns);
	scan->custom_scan_tlist = given;
	scan->methods = &scan_methods[number];
	return &scan->scan.plan;
}

void
scan_init(void)
{
	for (int i = 0; i < N_QUERIES; i++)
	{
		CustomScanMethods *methods = &scan_methods[i];
		char		name[NAMEDATALEN];

		snprintf(name, sizeof(name), BLOGSTORE_SCHEMA ".%s",
				 request_queries[i]->name);
		methods->CustomName = MemoryContextStrdup(TopMemoryContext, name);
		methods->CreateCustomScanState = scan_create_state;
		RegisterCustomScanMethods(methods);
	}
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = scan_add_path;
}
