/*
 * read_ahead.c
 *		Asking for the pages of a scan's next rows before the scan reads them.
 *
 * The items of a list were written at different times, so each lies in a page of its
 * own. An index scan reads these pages one after another. When a scan has had to read a
 * page that was not in the server's cache, it takes the next entries from the index and
 * has the operating system begin to read their pages, up to effective_io_concurrency of
 * them at a time. The scan then fetches the rows of these entries in their order. While
 * all pages are in the cache, nothing is taken ahead.
 *
 * Entries are taken ahead only by an MVCC snapshot, which keeps VACUUM from putting
 * other rows in the place of those that it shows.
 *
 * Runs in any process.
 */
#include "postgres.h"

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
 * Prepare for a scan that is expected to return rows rows (< 0: all of them), together
 * with parts - 1 other scans of the same list.
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

/* Return how many pages may be asked for at a time. */
int
item_scan_ask_limit(const ItemScan *scan)
{
	if (!IsMVCCSnapshot(scan->desc->xs_snapshot) ||
		scan->leaf.rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return 0;
	return get_tablespace_io_concurrency(scan->leaf.rel->rd_rel->reltablespace);
}

/* Take the next entry from the index, and ask for its row's page, if there is one. */
static void
take_entry(ItemScan *scan, int limit)
{
	ReadAhead  *ahead = &scan->ahead;
	ItemPointer row = index_getnext_tid(scan->desc, scan->direction);
	BlockNumber block;

	ahead->ended = row == NULL;
	if (ahead->ended)
		return;
	if (ahead->row == NULL)
	{
		ahead->row = palloc(sizeof(ItemPointerData) * limit);
		ahead->size = limit;
		ahead->fetch = table_index_fetch_begin(scan->leaf.rel);
	}
	ahead->row[(ahead->first + ahead->n++) % ahead->size] = *row;
	block = ItemPointerGetBlockNumber(row);
	if (block != ahead->last)
		PrefetchBuffer(scan->leaf.rel, MAIN_FORKNUM, block);
	ahead->last = block;
}

/* Ask for the page of a scan's first row, which is not read yet. */
void
item_scan_ask(ItemScan *scan)
{
	int			limit = item_scan_ask_limit(scan);

	if (limit > 0)
		take_entry(scan, limit);
}

/*
 * A page had to be read since the scan's last row: ask for pages of the next rows, as
 * far as rows are wanted. Where several scans share a list, a scan is taken to go on
 * for its share, and after that for as many rows again as it has returned.
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

/* Fetch the next row that was taken ahead and that the snapshot shows; false: none. */
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

/* Forget what was taken ahead: the scan begins again. */
void
read_ahead_again(ReadAhead *ahead)
{
	ahead->n = 0;
	ahead->given = 0;
	ahead->ended = false;
}

/* End. */
void
read_ahead_end(ReadAhead *ahead)
{
	if (ahead->row == NULL)
		return;
	table_index_fetch_end(ahead->fetch);
	pfree(ahead->row);
}
