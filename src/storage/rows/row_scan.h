/*
 * row_scan.h
 *		The state of a scan, which reads items through one index. Only for
 *		files of storage/rows/ that read through a scan.
 */
#ifndef BLOGSTORE_ROW_SCAN_H
#define BLOGSTORE_ROW_SCAN_H

#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "access/genam.h"
#include "access/sdir.h"
#include "access/skey.h"

#define MAX_KEYS 3

/*
 * The state of prefetching for a scan (read_ahead.c): pointers to rows that
 * the scan has not read yet, but has fetched from its index, and whose heap
 * pages it has prefetched.
 */
typedef struct ReadAhead
{
	int64		rows;			/* how many rows the caller expects to read */
	/*
	 * The part of "rows" that is expected from this scan, if several scans are
	 * merged into one list. Otherwise the same as "rows".
	 */
	int64		share;
	int64		given;			/* how many rows the scan has returned */
	/*
	 * The number of pages that this process had read into shared buffers when
	 * read_ahead() was last called. If the process has read more since, a page
	 * of the scan was not in shared buffers.
	 */
	int64		reads;
	BlockNumber last;			/* the heap page that was prefetched last */
	/* The table access method's state for fetching rows by pointer. */
	struct IndexFetchTableData *fetch;
	ItemPointer row;			/* ring buffer of row pointers, or NULL */
	int			size;			/* the size of the ring buffer */
	/* the position in the ring buffer of the pointer that is read next */
	int			first;
	int			n;
	bool		ended;			/* true if the index has no further entries */
} ReadAhead;

struct ItemScan
{
	OpenLeaf	leaf;
	Relation	index;
	IndexScanDesc desc;
	ScanDirection direction;
	TupleTableSlot *slot;
	/*
	 * The partition that the scan reads, and the value of layout_stamp() when
	 * this partition was looked up. Both are set only in scans that
	 * item_scan_look() has begun.
	 */
	int			partition;
	uint64		stamp;
	/*
	 * If not NULL, the scan reads all row versions (SnapshotAny), and skips
	 * those that this snapshot does not show.
	 */
	Snapshot	filter;
	ReadAhead	ahead;
	/*
	 * The number of the column "hidden" if the scan skips hidden items.
	 * Otherwise 0.
	 */
	AttrNumber	hidden;
	ItemType	type;
	/*
	 * The properties that must not be NULL in the items that the scan returns,
	 * with a bit for each.
	 */
	uint32		needed;
	AccessPath	path;
	const Property *column;		/* the columns of "path", as properties */
	int			ncolumns;
	/* A copy of ItemQuery.after. The scan keys point to the values in it. */
	ItemPlace	after;
	ScanKeyData keys[MAX_KEYS];
	/* The parts of a row comparison, to which an element of "keys" points. */
	ScanKeyData row[MAX_PATH_COLUMNS];
};

/* read_ahead.c */
extern void read_ahead_begin(ReadAhead *ahead, int64 rows, int parts);
extern void read_ahead(ItemScan *scan);
extern bool read_ahead_next(ItemScan *scan);
extern void read_ahead_again(ReadAhead *ahead);
extern void read_ahead_end(ReadAhead *ahead);

#endif							/* BLOGSTORE_ROW_SCAN_H */
