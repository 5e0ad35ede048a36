/*
 * request_scan.c
 *		Running a query, from its arguments to its items.
 *
 * A query first checks its arguments. Then it chooses a source of items, by
 * calling a function of one of the files source_*.c. After that,
 * request_scan_next() reads one item at a time. result_set.c reads all items,
 * as the result of the query's SQL function. The plan node in custom_scan/
 * reads only as many items as the plan needs.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"

#include "utils/snapmgr.h"

/*
 * Check the tables and the row type, and read which users are being deleted.
 * Each query calls this function after it has checked its arguments, and
 * before it chooses a source. Errors: 55000 if there are no containers, or the
 * row type was altered.
 */
void
query_ready(RequestScan *scan)
{
	container_require();
	if (scan->desc != NULL)
		check_row_type(scan->desc, scan->query->type);
	else
		check_row_type_of(scan->row_type, scan->query->type);
	scan->deleted = deleted_users(GetActiveSnapshot());
}

/*
 * Release the query's own snapshot (scan->newer), which must be the active
 * one. Does nothing if the query has no snapshot of its own.
 */
static void
drop_snapshot(RequestScan *scan)
{
	if (scan->newer == NULL)
		return;
	PopActiveSnapshot();
	UnregisterSnapshot(scan->newer);
	scan->newer = NULL;
}

/*
 * Take a new snapshot, with which the query reads from now on. The new
 * snapshot must be active whenever the query reads.
 *
 * Called on a cluster if the caller's snapshot is too old: after it was taken,
 * the containers were distributed to the nodes, or a partition was moved to
 * this node.
 */
void
request_scan_renew_snapshot(RequestScan *scan)
{
	drop_snapshot(scan);
	scan->newer = RegisterSnapshot(GetLatestSnapshot());
	PushActiveSnapshot(scan->newer);
}

/*
 * Begin a query, whose arguments are in fcinfo. The query reads with the
 * active snapshot, which must stay registered until request_scan_end(). The
 * query allocates in the current memory context. The same context must be
 * current whenever request_scan_next() is called. Errors: those of the query.
 */
void
request_scan_begin(RequestScan *scan, const RequestQuery *query,
				   FunctionCallInfo fcinfo)
{
	const ClusterCalls *cluster;

	scan->query = query;
	scan->deleted = NULL;
	scan->page.size = -1;
	scan->include_hidden = false;
	scan->source = NULL;
	scan->out_of_view = false;
	scan->parents = NULL;
	scan->deltas = NULL;
	scan->newer = NULL;
	cluster_settle(false);
	cluster = cluster_calls();
	if (cluster != NULL)
		cluster->begin_query(scan, fcinfo);
	else
		query->begin(scan, fcinfo);
	scan->left = scan->source == NULL ? 0 : scan->page.size;
}

/*
 * Read the next item of a query, and count it as a row in the request's
 * statistics. The values in *item are valid until the next call. Returns false
 * after the last item.
 */
bool
request_scan_next(RequestScan *scan, BlogItem *item)
{
	if (scan->left == 0)
		return false;
	if (!scan->source->next(scan, item))
	{
		scan->left = 0;
		return false;
	}
	if (scan->left > 0)
		scan->left--;
	scan->cost.rows++;
	return true;
}

/* End a query. The caller need not have read all items. */
void
request_scan_end(RequestScan *scan)
{
	if (scan->source != NULL)
		scan->source->close(scan);
	scan->source = NULL;
	if (scan->parents != NULL)
		parent_cache_free(scan->parents);
	scan->parents = NULL;
	if (scan->deltas != NULL)
		item_scan_end(scan->deltas);
	scan->deltas = NULL;
	drop_snapshot(scan);
}
