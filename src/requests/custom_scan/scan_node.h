/*
 * scan_node.h
 *		The plan node and its execution state, for this folder only.
 *
 * The node's custom_private is a list of two elements. The first is the
 * query's number in request_queries. The second is the list of the columns of
 * the function's row that the scan returns, in order; 0 stands for the whole
 * row. Its custom_exprs is a list of one element, the function call.
 */
#ifndef BLOGSTORE_SCAN_NODE_H
#define BLOGSTORE_SCAN_NODE_H

#include "base/compat.h"
#include "requests/requests.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "utils/snapmgr.h"

#define WHOLE_ROW 0				/* in the list of columns */

/* What a scan has read, for EXPLAIN ANALYZE. */
typedef struct ScanReads
{
	bool		leaf;			/* was a leaf read? The last one is leafid. */
	Container	container;
	Oid			leafid;
	Oid			indexid;
	bool		other_leaves;	/* were several leaves read? */
	bool		all_partitions; /* were all partitions of posts read? */
	bool		out_of_view;	/* was a view ready, but the page outside of
								 * it? */
	int			leaves;			/* number of visited leaves */
	int			leaves_noted;	/* of these, counted in this loop */
} ScanReads;

/* The execution state of a scan. */
typedef struct QueryScanState
{
	CustomScanState css;
	const RequestQuery *query;
	FuncExpr   *call;
	List	   *args;			/* arguments of the call, as ExprStates */
	int			ncolumns;
	int			column[N_PROPERTIES + 1];	/* columns of the function's row,
											 * or WHOLE_ROW */
	bool		whole_row;		/* is one of them WHOLE_ROW? */
	uint32		wanted;			/* properties that they need, one bit each */
	bool		began;			/* has the query begun in this loop? */
	bool		ended;			/* has it returned its last item? */
	RequestScan scan;
	MemoryContext context;		/* of the query; from the second loop on, a
								 * context of its own */
	SubTransactionId subxact;	/* in which execution started */
	Tuplestorestate *rest;		/* rows read ahead; NULL: none */
	TupleTableSlot *rest_row;	/* one of these rows */
	ScanReads	reads;
	TupleTableSlot *row;		/* a row of the function's type */
	FmgrInfo	flinfo;
	union
	{
		FunctionCallInfoBaseData info;
		char		space[SizeForFunctionCallInfo(MAX_QUERY_ARGS)];
	}			fcinfo;
} QueryScanState;

/* scan_execution.c */
extern Node *scan_create_state(CustomScan *plan);

/* scan_explain.c */
extern void scan_explain(CustomScanState *node, List *ancestors,
						 ExplainState *es);

/*
 * Activate or deactivate a query's own snapshot. It is active only while the
 * query reads, not while the rows are used.
 */
static inline void
use_own_snapshot(const RequestScan *scan, bool use)
{
	if (likely(scan->newer == NULL))
		return;
	if (use)
		PushActiveSnapshot(scan->newer);
	else
		PopActiveSnapshot();
}

#endif							/* BLOGSTORE_SCAN_NODE_H */
