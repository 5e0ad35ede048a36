/*
 * scan_node.h
 *		Scans as planned and as run, for this folder alone.
 *
 * A plan node's custom_private is a list of two: the query's number among
 * request_queries, and a list of the columns of the function's row that the scan
 * returns, in order, where 0 stands for the whole row. Its custom_exprs is a list of
 * one, the function call.
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
	bool		leaf;			/* read a leaf, this one */
	Container	container;
	Oid			leafid;
	Oid			indexid;
	bool		other_leaves;	/* and others, in other loops */
	bool		all_partitions; /* read those of posts, side by side */
	bool		out_of_view;	/* because the view does not hold them */
	int			leaves;			/* visits of leaves */
	int			leaves_noted;	/* of them, of this loop */
} ScanReads;

/* A scan as run. */
typedef struct QueryScanState
{
	CustomScanState css;
	const RequestQuery *query;
	FuncExpr   *call;
	List	   *args;			/* of the call: ExprStates */
	int			ncolumns;
	int			column[N_PROPERTIES + 1];	/* of the row, of each; WHOLE_ROW */
	bool		whole_row;		/* is one of them that? */
	uint32		wanted;			/* properties that they need, a bit each */
	bool		began;			/* the scan below has begun */
	bool		ended;			/* and has no more items */
	RequestScan scan;
	MemoryContext context;		/* of the scan; from the second loop on, its own */
	SubTransactionId subxact;	/* that execution has started in */
	Tuplestorestate *rest;		/* rows read ahead; NULL: none */
	TupleTableSlot *rest_row;	/* one of them */
	ScanReads	reads;
	TupleTableSlot *row;		/* of the row type, in EvalPlanQual() */
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
 * A scan's own snapshot is active while it reads, and no longer: rows are handed out in between.
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
