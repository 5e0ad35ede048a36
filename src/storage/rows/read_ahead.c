/*
 * read_ahead.c
 *		Prefetches the heap pages of a scan's next rows.
 *
 * The items of a list were written at different times, so they are on
 * different heap pages. As long as these pages are in shared buffers, a scan
 * reads them one at a time, like any index scan. When a page is not in shared
 * buffers, the scan fetches the next entries from the index. It prefetches the
 * heap pages of their rows, up to effective_io_concurrency pages. Then it
 * reads the rows in the order of the index.
 *
 * Entries are fetched ahead only with an MVCC snapshot. With any other
 * snapshot, VACUUM could reuse the line pointers of rows before the scan reads
 * the rows.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/rows/row_scan.h"
#include "storage/rows/rows.h"

#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"

/*
 * Set up the prefetching state of a scan.
 *
 * rows: number of rows that the caller expects to read; -1 for all rows. If
 *     several scans are merged into one list, the number for the whole list.
 * parts: number of scans that are merged into the list
 */
void
read_ahead_begin(ReadAhead *ahead, int64 rows, int parts)
{
	memset(ahead, 0, sizeof(*ahead));
	ahead->rows = rows < 0 ? PG_INT64_MAX : rows;
	ahead->share = parts > 1 ? ahead->rows / parts + 1 : ahead->rows;
	ahead->reads = pgBufferUsage.shared_blks_read;
	ahead->last = InvalidBlockNumber;
}

/*
 * Return how many heap pages may be prefetched at a time for a scan; 0 if no
 * page may be prefetched.
 */
int
item_scan_ask_limit(const ItemScan *scan)
{
	if (!IsMVCCSnapshot(scan->desc->xs_snapshot) ||
		scan->leaf.rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return 0;
	return get_tablespace_io_concurrency(scan->leaf.rel->rd_rel->reltablespace);
}

/*
 * Fetch the next entry from a scan's index, if there is one, and prefetch the
 * heap page of the entry's row.
 *
 * limit: maximum number of entries that are fetched ahead
 */
static void
take_entry(ItemScan *scan, int limit)
{
	ReadAhead  *ahead = &scan->ahead;
	ItemPointer row = index_getnext_tid(scan->desc, scan->direction);
	BlockNumber block;

	Assert(limit > 0);
	ahead->ended = row == NULL;
	if (ahead->ended)
		return;
	if (ahead->row == NULL)
	{
		ahead->row = palloc(sizeof(ItemPointerData) * limit);
		ahead->size = limit;
		ahead->fetch = compat_index_fetch_begin(scan->leaf.rel);
	}
	ahead->row[(ahead->first + ahead->n++) % ahead->size] = *row;
	block = ItemPointerGetBlockNumber(row);
	if (block != ahead->last)
		PrefetchBuffer(scan->leaf.rel, MAIN_FORKNUM, block);
	ahead->last = block;
}

/*
 * Prefetch the heap page of a scan's first row. Called before the scan has
 * read a row.
 */
void
item_scan_ask(ItemScan *scan)
{
	int			limit = item_scan_ask_limit(scan);

	if (limit > 0)
		take_entry(scan, limit);
}

/*
 * Prefetch the heap pages of a scan's next rows. Called if a page had to be
 * read into shared buffers since the scan returned the previous row.
 *
 * Prefetches only rows that the scan is expected to return. If several scans
 * are merged into one list, each is expected to return an equal share of the
 * list. If a scan has returned more than its share, it is expected to return
 * as many rows again.
 */
void
read_ahead(ItemScan *scan)
{
	ReadAhead  *ahead = &scan->ahead;
	int64		expected = Min(ahead->rows - ahead->given,
							   Max(ahead->share, ahead->given));
	int			limit;

	ahead->reads = pgBufferUsage.shared_blks_read;
	if (ahead->ended || expected <= ahead->n)
		return;
	limit = ahead->row != NULL ? ahead->size : item_scan_ask_limit(scan);
	if (ahead->last == InvalidBlockNumber)
		ahead->last = ItemPointerGetBlockNumber(&scan->slot->tts_tid);
	while (ahead->n < Min(limit, expected) && !ahead->ended)
		take_entry(scan, limit);
}

/*
 * Read the rows of the index entries that were fetched ahead, up to the first
 * row that is visible to the snapshot. Returns false if there is no such row.
 */
bool
read_ahead_next(ItemScan *scan)
{
	ReadAhead  *ahead = &scan->ahead;

	while (ahead->n > 0)
	{
		ItemPointerData row = ahead->row[ahead->first];
		bool		again = false;

		ahead->first = (ahead->first + 1) % ahead->size;
		ahead->n--;
		if (table_index_fetch_tuple(ahead->fetch, &row, scan->desc->xs_snapshot,
									scan->slot, &again, NULL))
		{
			pgstat_count_heap_fetch(scan->index);
			return true;
		}
	}
	return false;
}

void
read_ahead_again(ReadAhead *ahead)
{
	ahead->n = 0;
	ahead->given = 0;
	ahead->ended = false;
}

void
read_ahead_end(ReadAhead *ahead)
{
	if (ahead->row == NULL)
		return;
	table_index_fetch_end(ahead->fetch);
	pfree(ahead->row);
}
