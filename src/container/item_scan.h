/*
 * item_scan.h
 *		A scan of a leaf, for the files of container/ that read by one.
 */
#ifndef BLOGSTORE_ITEM_SCAN_H
#define BLOGSTORE_ITEM_SCAN_H

#include "container/container.h"
#include "layout/leaf.h"
#include "rows/rows.h"

#include "access/genam.h"
#include "access/sdir.h"
#include "access/skey.h"

#define MAX_KEYS 3

/* Has the first row been found in the index, before it is read? */
typedef enum ScanBegun
{
	BEGUN_NOT,
	BEGUN_AT_ROW,
	BEGUN_EMPTY					/* there is none */
} ScanBegun;

struct ItemScan
{
	OpenLeaf	leaf;
	Relation	index;
	IndexScanDesc desc;			/* NULL: the leaf is left out */
	ScanDirection direction;
	TupleTableSlot *slot;
	bool		point;			/* one row at most, found already */
	bool		ahead;			/* that row is yet to be read */
	ItemPointerData found;
	Snapshot	snapshot;
	Snapshot	filter;			/* shown by hand by it; NULL: by the scan */
	ScanBegun	begun;
	ReadAhead	pages;			/* those that are asked for ahead */
	AttrNumber	hidden;			/* the column of what is passed by; 0: nothing is */
	ItemType	type;
	uint32		needed;			/* properties that items must have */
	AccessPath	path;
	const Property *column;		/* of the path, ncolumns of them */
	int			ncolumns;
	int			nwanted;		/* properties that are asked for: columns */
	AttrNumber	wanted[N_PROPERTIES];
	bool		must[N_PROPERTIES];	/* are they some that items must have? */
	int			nothers;		/* columns of others that items must have */
	AttrNumber	other[N_PROPERTIES];
	AttrNumber	last;			/* of all these columns */
	ItemPlace	after;			/* what the keys of a walk point to */
	ScanKeyData keys[MAX_KEYS];
	ScanKeyData row[MAX_PATH_COLUMNS];	/* members of a row comparison */
};

#endif							/* BLOGSTORE_ITEM_SCAN_H */
