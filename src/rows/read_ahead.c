/*
 * read_ahead.c
 *		Asking for the pages that a list's next rows lie in, before it comes to them.
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
#include "rows/rows.h"

#include "access/nbtree.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/*
 * A scan begins of which rows rows may well be read (< 0: all), together with the other
 * ones of so many parts.
 */
void
read_ahead_begin(ReadAhead *ahead, int64 rows, int parts)
{
	ahead->rows = rows < 0 ? PG_INT64_MAX : rows;
	ahead->share = parts > 1 ? ahead->rows / parts + 1 : ahead->rows;
	ahead->given = 0;
	ahead->reads = pgBufferUsage.shared_blks_read;
	ahead->asked_of = InvalidBlockNumber;
}

/* How many pages may be asked for at a time? Of other kinds of tables and indexes none is known. */
int
read_ahead_pages(IndexScanDesc scan)
{
	Relation	table = scan->heapRelation;

	if (table->rd_tableam != GetHeapamTableAmRoutine() ||
		scan->indexRelation->rd_rel->relam != BTREE_AM_OID)
		return 0;
	return get_tablespace_io_concurrency(table->rd_rel->reltablespace);
}

/*
 * How many rows are likely to be read next? Of a list that several scans have a part in at
 * first as many as each has, and then as many as this one has given.
 */
static int64
rows_expected(const ReadAhead *ahead)
{
	return Min(ahead->rows - ahead->given, Max(ahead->share, ahead->given));
}

/*
 * Ask for pages of the rows that follow the present one in the page of the index, as far
 * as they are wanted. A page behind the one before it the system reads by itself.
 */
static void
ask(ReadAhead *ahead, IndexScanDesc scan, int step, int pages)
{
	const BTScanPosData *at = &((BTScanOpaque) scan->opaque)->currPos;
	BlockNumber last = ItemPointerGetBlockNumber(&scan->xs_heaptid);
	int64		rows = rows_expected(ahead);

	if (ahead->asked_of != at->currPage)
		ahead->asked = at->itemIndex;
	ahead->asked_of = at->currPage;
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
		if ((i - ahead->asked) * step <= 0)
			continue;
		ahead->asked = i;
		if (!follows)
			PrefetchBuffer(scan->heapRelation, MAIN_FORKNUM, block);
	}
}

/* Pages had to be read before a scan's present row was: ask for more, if more are wanted. */
void
read_ahead(ReadAhead *ahead, IndexScanDesc scan, ScanDirection direction)
{
	int			pages;

	ahead->reads = pgBufferUsage.shared_blks_read;
	if (ahead->given < ahead->rows && (pages = read_ahead_pages(scan)) > 0)
		ask(ahead, scan, ScanDirectionIsBackward(direction) ? -1 : 1, pages);
}

/* Find a scan's first row, which is yet to be read, and ask for its page; false: there is none. */
bool
read_ahead_first(IndexScanDesc scan, ScanDirection direction)
{
	ItemPointer row = index_getnext_tid(scan, direction);

	if (row != NULL && read_ahead_pages(scan) > 0)
		PrefetchBuffer(scan->heapRelation, MAIN_FORKNUM,
					   ItemPointerGetBlockNumber(row));
	return row != NULL;
}
