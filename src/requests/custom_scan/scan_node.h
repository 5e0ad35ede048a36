/*
 * scan_node.h
 *		The plan node of a custom scan and its execution state, for this folder
 *		only.
 *
 * The plan node's custom_private is a list of two elements. The first is the
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

#define WHOLE_ROW 0				/* stands for the whole row in a list of
								 * columns */

/*
 * What a scan has read in all loops, for EXPLAIN ANALYZE. A leaf is a
 * partition's table for one type of items.
 */
typedef struct ScanReads
{
	bool		leaf;			/* was a leaf read? If so, the next three
								 * members are those of the last one */
	Container	container;
	Oid			leafid;
	Oid			indexid;
	bool		other_leaves;	/* was more than one leaf read? */
	bool		all_partitions; /* were all partitions of posts read at the
								 * same time? */
	bool		out_of_view;	/* was the feed complete, but did the page
								 * begin beyond its oldest post? */
	int			leaves;			/* number of visited leaves, in all loops */
	int			leaves_noted;	/* how many of these were visited in this
								 * loop */
} ScanReads;

typedef struct QueryScanState
{
	CustomScanState css;
	const RequestQuery *query;
	FuncExpr   *call;
	List	   *args;			/* the call's arguments, as ExprStates */
	int			ncolumns;
	int			column[N_PROPERTIES + 1];	/* columns of the function's row
											 * that the scan returns, by
											 * number; or WHOLE_ROW */
	bool		whole_row;		/* is one of these columns WHOLE_ROW? */
	uint32		wanted;			/* the properties that these columns need, one
								 * bit for each Property */
	bool		began;			/* has the query begun in this loop? */
	bool		ended;			/* has the query returned its last item? */
	RequestScan scan;
	MemoryContext context;		/* memory for the query in this loop */
	SubTransactionId subxact;	/* the subtransaction in which execution
								 * started */
	Tuplestorestate *rest;		/* rows that read_rest() has stored; NULL:
								 * none */
	TupleTableSlot *rest_row;	/* a slot for a row of rest */
	ScanReads	reads;
	TupleTableSlot *row;		/* a slot for a whole row of the function's
								 * type; NULL: not needed yet */
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
 * Activate or deactivate the query's own snapshot, if it has one. It is active
 * only while the query reads, not while the executor runs other code.
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
