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
 * The prefetching state of an index scan (read_ahead.c). The scan has fetched
 * the TIDs of its next rows from the index, and has prefetched their heap
 * pages. A ring buffer has these TIDs.
 */
typedef struct ReadAhead
{
	/*
	 * Number of rows that the caller expects to read: PG_INT64_MAX for all
	 * rows, 0 if the number is not known. If 0, no heap page is prefetched,
	 * except the first one if the caller calls item_scan_ask().
	 */
	int64		rows;
	/*
	 * Number of rows that this scan is expected to return. Less than "rows" if
	 * several scans are merged into one list.
	 */
	int64		share;
	int64		given;			/* number of rows returned so far */
	/*
	 * The value of pgBufferUsage.shared_blks_read when read_ahead() was last
	 * called. If the value has grown, a page of the scan was not in shared
	 * buffers.
	 */
	int64		reads;
	BlockNumber last;			/* the heap page that was prefetched last */
	struct IndexFetchTableData *fetch;
	ItemPointer row;			/* a ring buffer of TIDs, or NULL */
	int			size;
	/* the next row to read is that of the TID row[first] */
	int			first;
	int			n;				/* number of TIDs in the ring buffer */
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
	 * The number of the partition that the scan reads. Valid as long as
	 * layout_stamp() returns "stamp". Only item_scan_look() sets these fields.
	 */
	int			partition;
	uint64		stamp;
	/*
	 * If not NULL: the scan reads all row versions (SnapshotAny), and skips
	 * those that are not visible to this snapshot.
	 */
	Snapshot	filter;
	ReadAhead	ahead;
	/* The column number of "hidden" if the scan skips hidden items; else 0. */
	AttrNumber	hidden;
	ItemType	type;
	/*
	 * A bit mask of fields (1 << PROP_...). If one of them is NULL in an item,
	 * the scan raises an error (22004).
	 */
	uint32		needed;
	AccessPath	path;
	const Property *column;		/* key columns of the index */
	int			ncolumns;
	/*
	 * A copy of ItemQuery.after, the place after which the scan begins.
	 * Elements of "keys" point to its uuids.
	 */
	ItemPlace	after;
	int			nkeys;			/* number of scan keys in "keys" */
	ScanKeyData keys[MAX_KEYS];
	/* The members of a row comparison. An element of "keys" points to them. */
	ScanKeyData row[MAX_PATH_COLUMNS];
};

/* read_ahead.c */
extern void read_ahead_begin(ReadAhead *ahead, int64 rows, int parts);
extern void read_ahead(ItemScan *scan);
extern bool read_ahead_next(ItemScan *scan);
extern void read_ahead_again(ReadAhead *ahead);
extern void read_ahead_end(ReadAhead *ahead);

#endif							/* BLOGSTORE_ROW_SCAN_H */
