/*
 * scan_node.h
 *		The plan node of a custom scan and its execution state, for this folder
 *		only.
 *
 * The plan node's custom_private is a list of two elements: the query's index
 * in request_queries[], and a list of the numbers of the columns that the scan
 * returns. Number 0 (WHOLE_ROW) is the whole row of the SQL function. The plan
 * node's custom_exprs is a list of one element, the function call.
 */
#ifndef BLOGSTORE_SCAN_NODE_H
#define BLOGSTORE_SCAN_NODE_H

#include "base/compat.h"
#include "requests/requests.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "utils/snapmgr.h"

#define WHOLE_ROW 0				/* column number that means the whole row */

/* What a scan has read in all loops, for EXPLAIN ANALYZE. */
typedef struct ScanReads
{
	/*
	 * Whether a leaf was read. The next three fields describe the leaf that
	 * was read last.
	 */
	bool		leaf;
	Container	container;
	Oid			leafid;
	Oid			indexid;
	bool		other_leaves;	/* whether more than one leaf was read */
	bool		all_partitions; /* whether all partitions of a container were
								 * read, and their rows merged */
	Container	whole_container;	/* this container */
	bool		out_of_view;	/* whether the feed was not read, because the
								 * page begins with posts older than those in
								 * the feed */
	int			leaves;			/* number of leaves that were read; a leaf that
								 * two loops have read counts twice */
	int			leaves_noted;	/* how many leaves of the current loop are
								 * already counted in "leaves" */
} ScanReads;

typedef struct QueryScanState
{
	CustomScanState css;
	const RequestQuery *query;
	FuncExpr   *call;
	List	   *args;
	int			ncolumns;
	int			column[N_PROPERTIES + 1];	/* numbers of the columns that the
											 * scan returns */
	bool		whole_row;
	uint32		wanted;			/* fields of the items that the scan needs, one
								 * bit for each Property */
	bool		began;			/* whether the query has begun in this loop of
								 * the scan */
	bool		ended;
	RequestScan scan;
	MemoryContext context;
	SubTransactionId subxact;	/* the subtransaction in which the scan
								 * began */
	Tuplestorestate *rest;		/* the remaining rows, if read_rest() has
								 * stored them, otherwise NULL */
	TupleTableSlot *rest_row;
	ScanReads	reads;
	TupleTableSlot *row;		/* slot for a whole row of the SQL function;
								 * NULL until one is needed */
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
 * If the query has a snapshot of its own (scan->newer), push it on the stack
 * of active snapshots, or pop it if "use" is false. The snapshot must be
 * active only while the query reads, and not while the executor runs other
 * code.
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
