/*
 * row_scan.h
 *		A scan of a leaf, for the files of storage/rows/ that read by one.
 */
#ifndef BLOGSTORE_ROW_SCAN_H
#define BLOGSTORE_ROW_SCAN_H

#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "access/genam.h"
#include "access/sdir.h"
#include "access/skey.h"

#define MAX_KEYS 3

/* Entries of the index that were taken before their rows are read (read_ahead.c). */
typedef struct ReadAhead
{
	int64		rows;			/* that the scan is expected to return */
	int64		share;			/* of them, if other scans return the others */
	int64		given;			/* rows that were returned */
	int64		reads;			/* pages that the backend had read at the last look */
	BlockNumber last;			/* the page that was asked for last */
	struct IndexFetchTableData *fetch;	/* of the entries' rows */
	ItemPointer row;			/* the entries, a ring; NULL: none was ever taken */
	int			size;			/* of the ring */
	int			first;			/* of n entries */
	int			n;
	bool		ended;			/* the index has no more */
} ReadAhead;

struct ItemScan
{
	OpenLeaf	leaf;
	Relation	index;
	IndexScanDesc desc;
	ScanDirection direction;
	TupleTableSlot *slot;
	int			partition;		/* that a key led to, and what layout_stamp() said */
	uint64		stamp;
	Snapshot	filter;			/* shown by hand by it; NULL: by the scan */
	ReadAhead	ahead;
	AttrNumber	hidden;			/* the column of what is passed by; 0: nothing is */
	ItemType	type;
	uint32		needed;			/* properties that items must have */
	AccessPath	path;
	const Property *column;		/* of the path, ncolumns of them */
	int			ncolumns;
	ItemPlace	after;			/* what the keys of a walk point to */
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
