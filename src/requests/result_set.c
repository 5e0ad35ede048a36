/*
 * result_set.c
 *		Running a query as an SQL function that returns all items as a set.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "requests/request_helpers.h"
#include "requests/request_stats.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "utils/memutils.h"
#include "utils/tuplestore.h"

static void
add_row(ReturnSetInfo *info, const BlogItem *item, ItemType type)
{
	Datum		values[N_PROPERTIES];
	bool		nulls[N_PROPERTIES];

	item_columns(item, type, values, nulls);
	tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
}

Datum
query_return_set(FunctionCallInfo fcinfo, const RequestQuery *query)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	RequestScan scan;
	BlogItem	item;

	stats_begin(&scan.cost, query->request);
	InitMaterializedSRF(fcinfo, 0);
	scan.desc = info->setDesc;
	scan.wanted = ALL_PROPERTIES;
	scan.row_context = AllocSetContextCreate(CurrentMemoryContext,
											 "blogstore row",
											 ALLOCSET_DEFAULT_SIZES);
	request_scan_begin(&scan, query, fcinfo);
	while (request_scan_next(&scan, &item))
	{
		MemoryContext old;

		old = MemoryContextSwitchTo(scan.row_context);
		add_row(info, &item, query->type);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scan.row_context);
	}
	request_scan_end(&scan);
	stats_end(&scan.cost);
	return (Datum) 0;
}
