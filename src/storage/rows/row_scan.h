/*
 * row_scan.h
 *		The state of a scan, for the files of storage/rows/ that read through
 *		one.
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
 * Index entries that were fetched before their rows are read (read_ahead.c).
 */
typedef struct ReadAhead
{
	int64		rows;			/* number of rows that the scan is expected to
								 * return */
	int64		share;			/* part of them, if other scans share the
								 * list */
	int64		given;			/* number of rows returned so far */
	int64		reads;			/* pages that the backend had read at the last
								 * check */
	BlockNumber last;			/* the page that was prefetched last */
	struct IndexFetchTableData *fetch;	/* for fetching the entries' rows */
	ItemPointer row;			/* ring of entries; NULL until the first is
								 * fetched */
	int			size;			/* capacity of the ring */
	int			first;			/* index of the first of the n entries */
	int			n;
	bool		ended;			/* the index has no more entries */
} ReadAhead;

struct ItemScan
{
	OpenLeaf	leaf;
	Relation	index;
	IndexScanDesc desc;
	ScanDirection direction;
	TupleTableSlot *slot;
	int			partition;		/* partition of the key, and layout_stamp()
								 * when it was looked up */
	uint64		stamp;
	Snapshot	filter;			/* snapshot that selects versions; NULL: the
								 * scan's own */
	ReadAhead	ahead;
	AttrNumber	hidden;			/* number of the column "hidden"; 0: hidden
								 * items are returned */
	ItemType	type;
	uint32		needed;			/* properties that items must have, as bits */
	AccessPath	path;
	const Property *column;		/* the path's ncolumns columns */
	int			ncolumns;
	ItemPlace	after;			/* the position that keys point to */
	ScanKeyData keys[MAX_KEYS];
	ScanKeyData row[MAX_PATH_COLUMNS];	/* members of a row comparison */
};

/* read_ahead.c */
extern void read_ahead_begin(ReadAhead *ahead, int64 rows, int parts);
extern void read_ahead(ItemScan *scan);
extern bool read_ahead_next(ItemScan *scan);
extern void read_ahead_again(ReadAhead *ahead);
extern void read_ahead_end(ReadAhead *ahead);

#endif							/* BLOGSTORE_ROW_SCAN_H */
