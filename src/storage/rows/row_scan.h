/*
 * row_scan.h
 *		The state of a scan, which reads items through one index. For the
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
 * Row pointers that a scan has fetched from its index, and whose heap pages it
 * has prefetched, before it reads the rows (read_ahead.c).
 */
typedef struct ReadAhead
{
	int64		rows;			/* rows that the scan is expected to return */
	/*
	 * If several scans together are expected to return these rows: one scan's
	 * part of them. Otherwise all.
	 */
	int64		share;
	int64		given;			/* rows that the scan has returned so far */
	/*
	 * How many pages this backend had read when read_ahead() last looked. If
	 * it has read more since, a page of the scan was not in shared buffers.
	 */
	int64		reads;
	BlockNumber last;			/* the page that was prefetched last */
	/* The state by which the rows behind the pointers are read. */
	struct IndexFetchTableData *fetch;
	ItemPointer row;			/* ring buffer of pointers; NULL at first */
	int			size;			/* the size of the ring buffer */
	int			first;			/* index of the first of the n pointers */
	int			n;
	bool		ended;			/* the index has no further entries */
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
	 * it was looked up. Only for scans that item_scan_look() has begun.
	 */
	int			partition;
	uint64		stamp;
	/*
	 * If not NULL: the scan reads all row versions, and skips those that this
	 * snapshot does not show.
	 */
	Snapshot	filter;
	ReadAhead	ahead;
	/*
	 * The number of the column "hidden", if hidden items are skipped;
	 * otherwise 0.
	 */
	AttrNumber	hidden;
	ItemType	type;
	/* The properties that each item must have, with a bit for each. */
	uint32		needed;
	AccessPath	path;
	const Property *column;		/* the access path's columns */
	int			ncolumns;
	/* A copy of ItemQuery.after, to which keys point. */
	ItemPlace	after;
	ScanKeyData keys[MAX_KEYS];
	ScanKeyData row[MAX_PATH_COLUMNS];	/* the parts of a row comparison in
										 * keys */
};

/* read_ahead.c */
extern void read_ahead_begin(ReadAhead *ahead, int64 rows, int parts);
extern void read_ahead(ItemScan *scan);
extern bool read_ahead_next(ItemScan *scan);
extern void read_ahead_again(ReadAhead *ahead);
extern void read_ahead_end(ReadAhead *ahead);

#endif							/* BLOGSTORE_ROW_SCAN_H */
