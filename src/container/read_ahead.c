/*
 * read_ahead.c
 *		Asking for the pages that a list's next items lie in, before it comes to them.
 *
 * The items of a list were written at different times, so that each lies in a page of its
 * own. Where these are in the cache nothing is to be gained, and nothing is done. A scan
 * that has had to read one asks the system for those that follow, as many at a time as
 * effective_io_concurrency says, as the server does for bitmap scans, which have no order
 * (nodeBitmapHeapscan.c). Which they are the index says: a B-tree's scan takes along all
 * rows that a page of the index has for it. With the next page of the index that begins anew.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/item_scan.h"

#include "access/nbtree.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* How many pages may be asked for at a time? Of other kinds of tables and indexes none is known. */
static int
pages_at_a_time(const ItemScan *scan)
{
	Relation	table = scan->leaf.rel;

	if (table->rd_tableam != GetHeapamTableAmRoutine() ||
		scan->index->rd_rel->relam != BTREE_AM_OID)
		return 0;
	return get_tablespace_io_concurrency(table->rd_rel->reltablespace);
}

/*
 * How many rows are likely to be read next? Of a list that several scans have a part in at
 * first as many as each has, and then as many as this one has given.
 */
static int64
rows_expected(const ItemScan *scan)
{
	return Min(scan->rows - scan->given, Max(scan->share, scan->given));
}

/*
 * Ask for pages of the rows that follow the present one in the page of the index, as far
 * as they are wanted. A page behind the one before it the system reads by itself.
 */
static void
ask(ItemScan *scan, int pages)
{
	const BTScanPosData *at = &((BTScanOpaque) scan->desc->opaque)->currPos;
	int			step = ScanDirectionIsBackward(scan->direction) ? -1 : 1;
	BlockNumber last = ItemPointerGetBlockNumber(&scan->desc->xs_heaptid);
	int64		rows = rows_expected(scan);

	if (scan->asked_of != at->currPage)
		scan->asked = at->itemIndex;
	scan->asked_of = at->currPage;
	for (int i = at->itemIndex + step;
		 i >= at->firstItem && i <= at->lastItem && pages > 0 && rows > 0;
		 i += step, rows--)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&at->items[i].heapTid);
		bool		follows = block == last + 1 && step > 0;

		if (block == last)
			continue;
		last = block;
		pages--;
		if ((i - scan->asked) * step <= 0)
			continue;
		scan->asked = i;
		if (!follows)
			PrefetchBuffer(scan->leaf.rel, MAIN_FORKNUM, block);
	}
}

/* Pages had to be read before a scan's present version was: ask for more, if more are wanted. */
void
item_scan_read_ahead(ItemScan *scan)
{
	int			pages;

	scan->reads = pgBufferUsage.shared_blks_read;
	if (scan->given < scan->rows && (pages = pages_at_a_time(scan)) > 0)
		ask(scan, pages);
}

/* Find the first rows of some scans, and ask for their pages. Returns the end of those. */
int
item_scans_ask(ItemScan *const *scan, int from, int n)
{
	int			to = from + 1;

	if (scan[from]->desc != NULL)
		to = Min(n, from + Max(pages_at_a_time(scan[from]), 1));
	for (int i = from; i < to && to - from > 1; i++)
	{
		ItemPointer row;

		if (scan[i]->desc == NULL)
			continue;
		row = index_getnext_tid(scan[i]->desc, scan[i]->direction);
		scan[i]->begun = row != NULL ? BEGUN_AT_ROW : BEGUN_EMPTY;
		if (row != NULL && pages_at_a_time(scan[i]) > 0)
			PrefetchBuffer(scan[i]->leaf.rel, MAIN_FORKNUM,
						   ItemPointerGetBlockNumber(row));
	}
	return to;
}
