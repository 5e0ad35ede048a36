/*
 * scan_execution.c
 *		Executing a custom scan, which replaces a function scan of one of
 *		blogstore's queries. The custom scan returns each row as soon as it has
 *		read the row.
 *
 * Like the function scan, the custom scan checks the current user's EXECUTE
 * privilege whenever execution starts. It evaluates the arguments once for
 * each loop. It counts a call in the server's function statistics and in
 * blogstore's request statistics. It reads with the statement's snapshot, by
 * the same code as the SQL function (requests/request_scan.c).
 *
 * The executor runs other code between two rows of an open scan. The request
 * statistics do not include the time, the buffers and the errors of that code.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "requests/custom_scan/scan_node.h"
#include "requests/requests.h"
#include "requests/results/results.h"

#include "access/htup_details.h"
#include "access/heaptoast.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "pgstat.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

/*
 * Check that the current user may execute the query's SQL function, as the
 * server's init_sexpr() does. Errors: 42501.
 */
static void
check_execute(Oid funcid)
{
	AclResult	aclresult = compat_function_aclcheck(funcid, GetUserId());

	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, OBJECT_FUNCTION, get_func_name(funcid));
	InvokeFunctionExecuteHook(funcid);
}

/*
 * Set state->column to the columns that the scan returns, and state->wanted to
 * the fields of items that these columns need.
 */
static void
find_columns(QueryScanState *state, List *columns)
{
	int			n;
	const Property *prop = item_properties(state->query->type, &n);
	ListCell   *cell;

	state->ncolumns = list_length(columns);
	foreach(cell, columns)
	{
		int			column = lfirst_int(cell);

		Assert(column >= WHOLE_ROW && column <= n);
		state->column[foreach_current_index(cell)] = column;
		state->whole_row |= column == WHOLE_ROW;
		state->wanted |= column == WHOLE_ROW ? ALL_PROPERTIES :
			UINT32_C(1) << prop[column - 1];
	}
}

static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	QueryScanState *state = (QueryScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	state->call = linitial_node(FuncExpr, plan->custom_exprs);
	check_execute(state->call->funcid);
	state->args = ExecInitExprList(state->call->args, &node->ss.ps);
	find_columns(state, lsecond(plan->custom_private));
	state->flinfo.fn_oid = state->call->funcid;
	state->flinfo.fn_stats = TRACK_FUNC_PL;	/* what fmgr_info() sets for C
											 * functions */
	state->context = estate->es_query_cxt;
	state->subxact = GetCurrentSubTransactionId();
	InitFunctionCallInfoData(state->fcinfo.info, &state->flinfo,
							 list_length(state->call->args), state->call->inputcollid,
							 NULL, NULL);
}

/*
 * Add to state->reads, for EXPLAIN ANALYZE, the leaves that the query has read
 * since the previous call of this function.
 */
static void
note_reads(QueryScanState *state)
{
	ScanReads  *reads = &state->reads;
	const RequestScan *scan = &state->scan;
	SourceReads now = {0};

	reads->out_of_view |= scan->out_of_view;
	if (scan->source == NULL || scan->source->explain == NULL)
		return;
	scan->source->explain(scan, &now);
	if (now.all_partitions)
	{
		reads->all_partitions = true;
		reads->whole_container = now.container;
	}
	if (now.leaves <= reads->leaves_noted)
		return;
	reads->other_leaves |= now.leaves > reads->leaves_noted + 1 ||
		(reads->leaf && reads->leafid != now.leaf);
	reads->leaves += now.leaves - reads->leaves_noted;
	reads->leaves_noted = now.leaves;
	reads->leaf = true;
	reads->container = now.container;
	reads->leafid = now.leaf;
	reads->indexid = now.index;
}

static void
evaluate_arguments(QueryScanState *state)
{
	NullableDatum *arg = state->fcinfo.info.args;
	ListCell   *cell;

	foreach(cell, state->args)
	{
		arg->value = ExecEvalExprSwitchContext(lfirst(cell),
											   state->css.ss.ps.ps_ExprContext,
											   &arg->isnull);
		arg++;
	}
}

static void
begin_request(QueryScanState *state)
{
	RequestScan *scan = &state->scan;

	evaluate_arguments(state);
	stats_begin(&scan->cost, state->query->request);
	scan->desc = NULL;
	scan->row_type = state->call->funcresulttype;
	scan->row_context = state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
	scan->wanted = state->wanted;
	request_scan_begin(scan, state->query, &state->fcinfo.info);
	state->reads.leaves_noted = 0;
	state->began = true;
	if (state->css.ss.ps.instrument != NULL)
		note_reads(state);
}

/*
 * Count one call of the SQL function in the server's function statistics. The
 * time was already added while the rows were read.
 */
static void
count_call(QueryScanState *state)
{
	PgStat_FunctionCallUsage usage;

	pgstat_init_function_usage(&state->fcinfo.info, &usage);
	pgstat_end_function_usage(&usage, true);
}

static void
end_request(QueryScanState *state)
{
	if (state->began && !state->ended)
	{
		stats_resume(&state->scan.cost);
		use_own_snapshot(&state->scan, true);
		request_scan_end(&state->scan);
		stats_pause(&state->scan.cost);
		stats_add(&state->scan.cost);
		count_call(state);
	}
	state->began = false;
	state->ended = false;
}

/*
 * Read the next item of the query. The first call begins the query. Returns
 * false after the last item.
 */
static bool
take_item(QueryScanState *state, BlogItem *item)
{
	RequestScan *scan = &state->scan;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool		found;

	if (!state->began)
	{
		begin_request(state);
		found = request_scan_next(scan, item);
		stats_pause(&scan->cost);
	}
	else
	{
		stats_resume(&scan->cost);
		use_own_snapshot(scan, true);
		found = request_scan_next(scan, item);
		stats_pause(&scan->cost);
	}
	use_own_snapshot(scan, false);
	if (state->css.ss.ps.instrument != NULL)
		note_reads(state);
	MemoryContextSwitchTo(old);
	return found;
}

static bool
take_item_tracked(QueryScanState *state, BlogItem *item)
{
	PgStat_FunctionCallUsage usage;
	bool		found;

	pgstat_init_function_usage(&state->fcinfo.info, &usage);
	found = take_item(state, item);
	pgstat_end_function_usage(&usage, false);
	return found;
}

/*
 * Return a slot that can hold a whole result row of the query's SQL function.
 * The first call makes the slot. Errors: 55000 if the row type has been
 * altered, which is possible while a cursor is open.
 */
static TupleTableSlot *
row_slot(QueryScanState *state)
{
	Oid			row_type = state->call->funcresulttype;
	MemoryContext old;
	TupleDesc	desc;

	check_row_type_of(row_type, state->query->type);
	if (state->row == NULL)
	{
		old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
		desc = lookup_rowtype_tupdesc_copy(row_type, -1);
		state->row = ExecInitExtraTupleSlot(state->css.ss.ps.state, desc,
											&TTSOpsVirtual);
		MemoryContextSwitchTo(old);
	}
	return state->row;
}

/*
 * Return an item as one value of the SQL function's row type, allocated in the
 * memory context for one item.
 */
static Datum
make_row(QueryScanState *state, const Datum *value, const bool *isnull)
{
	TupleDesc	desc = row_slot(state)->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(state->scan.row_context);
	HeapTuple	tuple = toast_build_flattened_tuple(desc, (Datum *) value,
													(bool *) isnull);
	Datum		row = heap_copy_tuple_as_datum(tuple, desc);

	MemoryContextSwitchTo(old);
	return row;
}

static TupleTableSlot *
store_row(QueryScanState *state, const Datum *value, const bool *isnull)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int i = 0; i < state->ncolumns; i++)
	{
		int			column = state->column[i];

		slot->tts_isnull[i] = column != WHOLE_ROW && isnull[column - 1];
		slot->tts_values[i] = column == WHOLE_ROW ?
			make_row(state, value, isnull) : value[column - 1];
	}
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_row(QueryScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	BlogItem	item;
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
	bool		found;

	ExecClearTuple(slot);
	if (state->ended)
		return slot;
	if (unlikely(pgstat_track_functions > state->flinfo.fn_stats))
		found = take_item_tracked(state, &item);
	else
		found = take_item(state, &item);
	if (!found)
	{
		MemoryContext old = MemoryContextSwitchTo(state->context);

		end_request(state);
		MemoryContextSwitchTo(old);
		state->began = true;
		state->ended = true;
		return slot;
	}
	item_columns(&item, state->query->type, value, isnull);
	return store_row(state, value, isnull);
}

/*
 * Read all remaining rows into a tuplestore, and end the query.
 *
 * Called when a cursor fetches a row in a subtransaction that began after the
 * cursor was opened. The subtransaction may have rewritten a leaf (CLUSTER).
 * Its rollback would then remove the leaf's new files. The scan must therefore
 * not keep a leaf open that it has opened in the subtransaction.
 */
static void
read_rest(QueryScanState *state)
{
	ScanState  *node = &state->css.ss;
	MemoryContext query = node->ps.state->es_query_cxt;
	MemoryContext old = MemoryContextSwitchTo(query);
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	state->rest = tuplestore_begin_heap(false, false, work_mem);
	if (state->rest_row == NULL)
		state->rest_row = ExecInitExtraTupleSlot(node->ps.state,
												 slot->tts_tupleDescriptor,
												 &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
	for (;;)
	{
		(void) next_row(state);
		if (TTS_EMPTY(slot))
			break;
		tuplestore_puttupleslot(state->rest, slot);
		ResetExprContext(node->ps.ps_ExprContext);
	}
}

/*
 * Return the next row that read_rest() has stored. Errors: 55000 if the SQL
 * function's row type has been altered.
 */
static TupleTableSlot *
next_of_rest(QueryScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	if (state->whole_row)
		check_row_type_of(state->call->funcresulttype,
						  state->query->type);
	if (tuplestore_gettupleslot(state->rest, true, false, state->rest_row))
		return ExecCopySlot(slot, state->rest_row);
	return ExecClearTuple(slot);
}

static void
drop_rest(QueryScanState *state)
{
	if (state->rest == NULL)
		return;
	ExecClearTuple(state->rest_row);
	tuplestore_end(state->rest);
	state->rest = NULL;
}

static TupleTableSlot *
scan_access(ScanState *node)
{
	QueryScanState *state = (QueryScanState *) node;

	if (unlikely(GetCurrentSubTransactionId() != state->subxact) &&
		state->rest == NULL && !state->ended)
		read_rest(state);
	return unlikely(state->rest != NULL) ? next_of_rest(state) : next_row(state);
}

/*
 * ExecScan() recheck method, for EvalPlanQual. The executor calls this method
 * when it evaluates a join again, because another transaction has updated a
 * joined row.
 *
 * Like a scan of a table, this scan takes its row from its rowmark, if it has
 * one. Otherwise the scan runs again for the recheck, and each call of this
 * method returns the scan's next row.
 */
static bool
scan_recheck(ScanState *node, TupleTableSlot *slot)
{
	QueryScanState *state = (QueryScanState *) node;
	CustomScan *plan = (CustomScan *) node->ps.plan;
	EPQState   *epqstate = node->ps.state->es_epq_active;
	int			rti = bms_singleton_member(plan->custom_relids);
	TupleTableSlot *row;

	if (epqstate->relsubs_done[rti - 1])
		return false;
	if (epqstate->relsubs_rowmark[rti - 1] == NULL)
	{
		row = scan_access(node);	/* not within TupIsNull(), a macro that
									 * evaluates its argument twice */
		return !TupIsNull(row);
	}
	epqstate->relsubs_done[rti - 1] = true;
	row = row_slot(state);
	if (!EvalPlanQualFetchRowMark(epqstate, rti, row) || TupIsNull(row))
		return false;
	state->scan.row_context = node->ps.ps_ExprContext->ecxt_per_tuple_memory;
	store_row(state, row->tts_values, row->tts_isnull);
	return true;
}

static TupleTableSlot *
scan_execute(CustomScanState *node)
{
	return ExecScan(&node->ss, scan_access, scan_recheck);
}

static void
scan_end(CustomScanState *node)
{
	end_request((QueryScanState *) node);
	drop_rest((QueryScanState *) node);
}

/*
 * ReScanCustomScan callback: end the query. When the executor asks for the
 * next row, the query begins again with new arguments. The first loop of a
 * scan allocates in the executor's query context. Later loops allocate in a
 * context of the scan, which is reset before each loop.
 */
static void
scan_rescan(CustomScanState *node)
{
	QueryScanState *state = (QueryScanState *) node;
	EState	   *estate = node->ss.ps.state;

	end_request(state);
	drop_rest(state);
	if (state->context == estate->es_query_cxt)
		state->context = AllocSetContextCreate(estate->es_query_cxt,
											   "blogstore scan",
											   ALLOCSET_DEFAULT_SIZES);
	else
		MemoryContextReset(state->context);
	ExecScanReScan(&node->ss);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "blogstore",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_execute,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.ExplainCustomScan = scan_explain
};

/*
 * CreateCustomScanState callback: allocate the execution state of a scan.
 * scan_begin() fills in most of it.
 */
Node *
scan_create_state(CustomScan *plan)
{
	QueryScanState *state = palloc0(sizeof(QueryScanState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->query = request_queries[intVal(linitial(plan->custom_private))];
	return (Node *) state;
}
